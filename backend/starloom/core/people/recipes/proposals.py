"""Proposals: a plan that ended clean is kept for its author, who may make it a recipe. By code; no model is asked.

Owns which ends are clean enough, that a shape is proposed to a person once, and the bounds; and which constant of a
plan may become a parameter, which looks secret, and the hash of a plan with these left open. Writes no recipe text: the
planner makes it from the kept plan, and shows none that would not make the same plan again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from starloom.core.people import approvals
from starloom.core.state.inputs import RecipeProposalDismissed
from starloom.core.state.model import Constellation
from starloom.core.state.work import Put, Refusal, Work, fault
from starloom_protocol.records.edits import LoweredPlan
from starloom_protocol.records.entities import Dependency, Head, RecipeProposal, TaskRecord, TaskSpec, Version
from starloom_protocol.stream.authors import MODEL, who
from starloom_protocol.stream.events import EventKind
from starloom_protocol.values import canonical, parse
from starloom_protocol.vocabulary import Approval, Code, ConstellationState, Gate, PrincipalKind, Reason, TaskState

OPEN, KEPT, DISMISSED, PASSED = "open", "kept", "dismissed", "passed"
TRY_LABEL: Final = "try"
"""The label of constellations that only try one row of a plan."""
MARKS_MOST: Final = 500
"""So many shapes of a person are remembered; then those that were only passed over are proposed again."""
ALL_MOST: Final = 5_000
TASKS_MOST: Final = 40
WORDS_CHARS_MOST: Final = 300
PLAN_CHARS_MOST: Final = 32 * 1024
_PERSON: Final = f"{PrincipalKind.PERSON}:"
_EXPANDS: Final = "expand"
_QUIET_SKIPS: Final = frozenset({None, Reason.NOT_CHOSEN, Reason.ENOUGH})


def propose(work: Work, constellation: Constellation) -> None:
    """Keep the plan of a constellation that has just ended as a proposal, if it is one that its author may want."""
    most = work.shard.settings.proposals_most
    head, first = constellation.head, constellation.versions.get("1")
    if not most or first is None or len(first.added) > TASKS_MOST or not _is_asked_by_a_person(head, first):
        return
    words = head.request or head.name
    if not words.strip() or len(words) > WORDS_CHARS_MOST or words_look_secret(words) or not _is_clean(constellation):
        return
    specs = [constellation.specs[name] for name in first.added if name in constellation.specs]
    if len(specs) != len(first.added) or not all(map(_is_plain, specs)):
        return
    plan = _plan_of(constellation, specs)
    text = msgspec.json.encode(plan).decode()
    if len(text) > PLAN_CHARS_MOST:
        return
    owner, shape = who(head.author), shape_of(specs, plan.dependencies)
    made = RecipeProposal(
        at_ms=work.at_ms,
        constellation=head.id,
        id=sha256(f"{owner}\0{shape}".encode()).hexdigest()[:24],
        owner=owner,
        plan=text,
        request=words,
        shape=shape,
    )
    known = work.shard.access.proposals
    if made.id in known:
        return
    marks = [mark for mark in known.values() if mark.owner == owner]
    passed = sorted((mark for mark in marks if mark.state == PASSED), key=_age)
    if (len(marks) >= MARKS_MOST and not passed) or len(known) >= ALL_MOST:
        return
    puts: list[Put] = [("proposal", passed[0].id, None)] if len(marks) >= MARKS_MOST else []
    opened = sorted((mark for mark in marks if mark.state == OPEN), key=_age)
    puts += [("proposal", old.id, _closed(old, PASSED)) for old in opened[: max(0, len(opened) + 1 - most)]]
    puts.append(("proposal", made.id, made))
    work.emit(work.shard.access, EventKind.RECIPE_PROPOSED, made.id, puts, note=head.id, by="engine")


def open_one(work: Work, proposal: str) -> RecipeProposal:
    """Return an open proposal of the author of the present input.

    Raises:
        Refusal: there is none, or it is for somebody else; the refusal does not say which.
    """
    found = work.shard.access.proposals.get(proposal)
    if found is None or found.owner != who(work.by) or found.state != OPEN:
        hint = "See `starloom recipe proposals`."
        raise Refusal(fault(Code.NOT_FOUND, f"there is no proposal {proposal[:64]} for you", "proposal", hint))
    return found


def close(work: Work, found: RecipeProposal, state: str, *, recipe: str = "") -> None:
    """Close a proposal; its mark stays, so that its shape is not proposed again."""
    put: Put = ("proposal", found.id, _closed(found, state, recipe))
    work.emit(work.shard.access, EventKind.RECIPE_PROPOSAL_CLOSED, found.id, [put], note=state)


def on_dismissed(work: Work, item: RecipeProposalDismissed) -> None:
    """Dismiss a proposal for good."""
    found = open_one(work, item.proposal)
    close(work, found, DISMISSED)
    work.answer({"id": found.id})


def _closed(found: RecipeProposal, state: str, recipe: str = "") -> RecipeProposal:
    return replace(found, plan="", recipe=recipe, request="", state=state)


def _age(mark: RecipeProposal) -> tuple[int, str]:
    return mark.at_ms, mark.id


def _is_asked_by_a_person(head: Head, first: Version) -> bool:
    """Return whether a person asked for it once, and a model or that person wrote its plan."""
    return (
        head.author.startswith(_PERSON)
        and head.recipe is None
        and head.schedule is None
        and head.origin is None
        and TRY_LABEL not in head.labels
        and (first.author == MODEL or not head.request)
    )


def _is_clean(constellation: Constellation) -> bool:
    """Return whether everything went as planned: no edit, no recovery beyond a retry, no word of a person on the way.

    What a look found or a person was asked is in the plan, but not in the words, so such a plan is none that the words
    make again.
    """
    head = constellation.head
    return (
        head.state is ConstellationState.SUCCEEDED
        and head.undone_from is None
        and not head.given_up
        and all(number == "1" or version.author == _EXPANDS for number, version in constellation.versions.items())
        and all(question.kind == approvals.KIND for question in constellation.questions.values())
        and all(_went_well(record) for record in constellation.tasks.values())
        and not any(spec.look or spec.superseded_by or spec.instead_of for spec in constellation.specs.values())
    )


def _went_well(record: TaskRecord) -> bool:
    if record.state is TaskState.SKIPPED:
        return record.reason in _QUIET_SKIPS
    return (
        record.state is TaskState.SUCCEEDED and record.round == 1 and not record.reviews and record.marked is None
    ) and not record.confirmed


def _is_plain(spec: TaskSpec) -> bool:
    """Return whether a task can be written as a row again, and holds nothing that looks secret."""
    return not (
        spec.nested or spec.goal or spec.group or spec.any_of or spec.verifies or spec.undoes or spec.person
    ) and not any(looks_secret(name, value) for name, value in parse(spec.args).items())


def _plan_of(constellation: Constellation, specs: list[TaskSpec]) -> LoweredPlan:
    """Return the plan as it was made: without what lists added, and with the usual approval."""
    head, names = constellation.head, {spec.id for spec in specs}
    return LoweredPlan(
        dependencies=[edge for edge in _gates(constellation) if {edge.source, edge.target} <= names],
        hash=head.plan_hash or "",
        name=head.name,
        policy=replace(head.policy, approval=Approval.RISKY),
        results=head.results,
        rules=[replace(rule, fired=0, fired_for={}) for rule in constellation.rules.values()],
        specs=specs,
    )


def _gates(constellation: Constellation) -> list[Dependency]:
    return [
        constellation.deps[key] for key in sorted(constellation.deps) if constellation.deps[key].gate is not Gate.DATA
    ]


_ADDRESS: Final = re.compile(r"https?://")
_PATH_NAMES: Final = frozenset(
    {"cwd", "dir", "directory", "file", "folder", "from", "path", "paths", "root", "strip", "target", "to", "under"}
)
_PATH: Final = re.compile(r"(~|\.{0,2}/)")
_SECRET_NAMES: Final = re.compile(
    r"pass(word|phrase)?|secret|token|api_?key|private_?key|authorization|credential|cookie", re.IGNORECASE
)
_SECRET_VALUES: Final = re.compile(
    r"(Bearer |Basic |ghp_|github_pat_|sk-|xox[abp]-|AKIA|-----BEGIN)|[A-Za-z0-9+/_-]{40,}={0,2}$"
)
_HASH: Final = re.compile(r"[0-9a-f]{64}$")
_PLACES: Final = frozenset({"family", "id", "same", "source", "target", "task"})
_OPEN: Final = "?"


def slot_type(name: str, value: Any) -> str | None:
    """Return the type that an argument has as a parameter; None for one that stays as it is."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return "integer" if isinstance(value, int) else "number"
    if isinstance(value, str):
        if _ADDRESS.match(value):
            return "url"
        return "path" if value and (name in _PATH_NAMES or _PATH.match(value)) else None
    if isinstance(value, list) and value and all(isinstance(one, str) for one in value):
        return name if name in ("argv", "hosts") else None
    return None


def looks_secret(name: str, value: Any) -> bool:
    """Return whether a value, or one within it, has the name or the form of a secret. A `secret` node is none."""
    if isinstance(value, Mapping):
        return set(value) != {"secret"} and any(looks_secret(str(key), one) for key, one in value.items())
    if isinstance(value, list):
        return any(looks_secret(name, one) for one in value)
    if not isinstance(value, str) or not value or _HASH.match(value):
        return False
    return _SECRET_NAMES.search(name) is not None or _SECRET_VALUES.match(value) is not None


def words_look_secret(words: str) -> bool:
    """Return whether a word has the form of a secret."""
    return any(_SECRET_VALUES.match(word.strip("\"'`,;()")) is not None for word in words.split())


def shape_of(specs: Iterable[TaskSpec], dependencies: Iterable[Dependency]) -> str:
    """Return the hash of a plan in which devices, paths, addresses, numbers and the names of tasks are open."""
    listed = list(specs)
    numbers = {spec.id: f"#{at}" for at, spec in enumerate(listed)}
    tasks = [_opened({**msgspec.to_builtins(spec), "args": _args_opened(spec.args)}, numbers) for spec in listed]
    edges = sorted(canonical(_opened(msgspec.to_builtins(edge), numbers)) for edge in dependencies)
    return sha256(canonical({"edges": edges, "tasks": tasks}).encode()).hexdigest()


def _args_opened(args: str) -> dict[str, Any]:
    return {name: slot_type(name, value) or value for name, value in parse(args).items()}


def _opened(value: Any, numbers: Mapping[str, str], name: str = "") -> Any:
    if isinstance(value, dict):
        return {
            key: _OPEN if name in ("any", "device", "devices") and key in ("id", "name") and one else one
            for key, one in ((key, _opened(one, numbers, key)) for key, one in value.items() if key != "changed_in")
        }
    if isinstance(value, list):
        return [_opened(one, numbers, name) for one in value]
    return numbers.get(value, value) if isinstance(value, str) and name in _PLACES else value
