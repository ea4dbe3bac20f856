"""Proposals: a plan that ended clean is kept for its author, who may make it a recipe. By code; no model is asked.

Owns which ends are clean enough, that a shape is proposed to a person once, and the bounds. Writes no recipe text: the
planner makes it from the kept plan, and shows none that would not make the same plan again.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from typing import Final

import msgspec
from msgspec.structs import replace

from starloom.core.people import inquiries
from starloom.core.people.approvals import questions
from starloom.core.people.recipes.shapes import looks_secret, shape_of, words_look_secret
from starloom.core.people.recipes.tracing import Traced, Untraced, trace
from starloom.core.state.inputs import RecipeProposalDismissed
from starloom.core.state.model import Constellation
from starloom.core.state.work import Put, Refusal, Work, fault
from starloom_protocol.records.edits import LoweredPlan
from starloom_protocol.records.entities import Dependency, Head, RecipeProposal, TaskRecord, TaskSpec, Version
from starloom_protocol.stream.authors import ENGINE, MODEL, who
from starloom_protocol.stream.events import EventKind
from starloom_protocol.values import parse
from starloom_protocol.vocabulary import Approval, Code, ConstellationState, Gate, PrincipalKind, Reason, TaskState

OPEN: Final = "open"
"""The proposal is offered to its person. In each other state only the mark of its shape stays."""
KEPT: Final = "kept"
"""Its person made it a recipe."""
DISMISSED: Final = "dismissed"
"""Its person refused it for good."""
PASSED: Final = "passed"
"""It was given up for newer ones."""
LEFT: Final = "left"
"""It cannot be a recipe; `because` says why."""
TRY_LABEL: Final = "try"
"""The label of constellations that only try one row of a plan."""
TEST_LABEL: Final = "test"
"""The label of constellations that only test a device, such as the one that ends its pairing."""
NOTICE_LABEL: Final = "notice"
"""The label of constellations that only show a notice of a schedule on a device: nobody asked for them."""
HELPER_LABELS: Final = (TRY_LABEL, TEST_LABEL, NOTICE_LABEL)
"""A constellation with one of these is no request of a person, whoever its author is."""
MARKS_MOST: Final = 500
"""The most shapes of a person that are remembered; then those that were only passed over are proposed again."""
ALL_MOST: Final = 5_000
"""The marks of all people together."""
TASKS_MOST: Final = 40
"""A longer plan is not proposed, as nobody would read its recipe."""
WORDS_CHARS_MOST: Final = 300
PLAN_CHARS_MOST: Final = 32 * 1024
_PERSON: Final = f"{PrincipalKind.PERSON}:"
_EXPANDS: Final = "expand"
"""The author of versions that come from a list's children."""
_QUIET_SKIPS: Final = frozenset({None, Reason.NOT_CHOSEN, Reason.ENOUGH})


def propose(work: Work, constellation: Constellation) -> None:
    """Keep the plan of a constellation that has just ended as a proposal, if it is one that its author may want."""
    most = work.shard.settings.proposals_most
    head, first = constellation.head, constellation.versions.get("1")
    if not most or first is None or len(first.added) > TASKS_MOST or not _is_asked_by_a_person(head, first):
        return
    words = head.request or head.name
    if not words.strip() or len(words) > WORDS_CHARS_MOST or words_look_secret(words):
        return
    looks = [name for one in inquiries.rounds(constellation) for name in one.tasks] if constellation.jobs else []
    if not _is_clean(constellation, looks):
        return
    specs = [constellation.specs[name] for name in first.added if name in constellation.specs]
    if len(specs) != len(first.added) or not all(map(_is_plain, specs)):
        return
    traced, because = Traced(specs, []), ""
    if looks or constellation.questions:
        try:
            traced = trace(work.shard.fleet, constellation, specs, words, looks)
        except Untraced as untraced:
            because = str(untraced)
    proposal = _proposal(work, constellation, traced, words, because)
    if proposal is not None:
        _keep(work, proposal)


def _proposal(
    work: Work, constellation: Constellation, traced: Traced, words: str, because: str
) -> RecipeProposal | None:
    """Return a proposal, or with `because` the mark of a plan that is left; None for one that is not kept at all."""
    head = constellation.head
    if not all(map(_is_plain, traced.specs)) or any(words_look_secret(one.answer) for one in traced.answers):
        return None
    plan = _plan_of(constellation, traced.specs)
    text = msgspec.json.encode(plan).decode()
    if len(text) > PLAN_CHARS_MOST:
        return None
    owner = who(head.author)
    shape = shape_of(traced.specs, plan.dependencies, [one.answer for one in traced.answers])
    return RecipeProposal(
        answers=traced.answers,
        at_ms=work.at_ms,
        because=because,
        constellation=head.id,
        id=sha256(f"{owner}\0{shape}".encode()).hexdigest()[:24],
        owner=owner,
        plan="" if because else text,
        request=words,
        shape=shape,
        state=LEFT if because else OPEN,
    )


def _keep(work: Work, proposal: RecipeProposal) -> None:
    """Keep a proposal of a shape that its person has not seen, within the bounds."""
    owner, most = proposal.owner, work.shard.settings.proposals_most
    marks_by_id = work.shard.access.proposals
    if proposal.id in marks_by_id and marks_by_id[proposal.id].state != LEFT:
        return
    marks = [mark for mark in marks_by_id.values() if mark.owner == owner and mark.id != proposal.id]
    passed_marks = sorted((mark for mark in marks if mark.state == PASSED), key=_age)
    if (len(marks) >= MARKS_MOST and not passed_marks) or len(marks_by_id) >= ALL_MOST:
        return
    puts: list[Put] = [("proposal", passed_marks[0].id, None)] if len(marks) >= MARKS_MOST else []
    opened = sorted((mark for mark in marks if mark.state == proposal.state), key=_age)
    puts += [("proposal", old.id, _closed(old, PASSED)) for old in opened[: max(0, len(opened) + 1 - most)]]
    puts.append(("proposal", proposal.id, proposal))
    kind = EventKind.RECIPE_PROPOSED if proposal.state == OPEN else EventKind.RECIPE_PROPOSAL_CLOSED
    work.emit(work.shard.access, kind, proposal.id, puts, note=proposal.constellation, by=ENGINE)


def open_proposal(work: Work, proposal: str) -> RecipeProposal:
    """Return an open proposal of the author of the present input.

    Raises:
        Refusal: there is none, or it is for somebody else; the refusal does not say which.
    """
    record = work.shard.access.proposals.get(proposal)
    if record is None or record.owner != who(work.by) or record.state != OPEN:
        hint = "See `starloom recipe proposals`."
        raise Refusal(fault(Code.NOT_FOUND, f"there is no proposal {proposal[:64]} for you", "proposal", hint))
    return record


def close(work: Work, proposal: RecipeProposal, state: str, *, recipe: str = "") -> None:
    """Close a proposal; its mark stays, so that its shape is not proposed again."""
    put: Put = ("proposal", proposal.id, _closed(proposal, state, recipe))
    work.emit(work.shard.access, EventKind.RECIPE_PROPOSAL_CLOSED, proposal.id, [put], note=state)


def on_dismissed(work: Work, item: RecipeProposalDismissed) -> None:
    """Dismiss a proposal for good."""
    proposal = open_proposal(work, item.proposal)
    close(work, proposal, DISMISSED)
    work.answer({"id": proposal.id})


def _closed(proposal: RecipeProposal, state: str, recipe: str = "") -> RecipeProposal:
    return replace(proposal, answers=[], because="", plan="", recipe=recipe, request="", state=state)


def _age(mark: RecipeProposal) -> tuple[int, str]:
    return mark.at_ms, mark.id


def is_request_of(head: Head, by: str) -> bool:
    """Return whether this author asked for it: no schedule began it, and it is no helper of one."""
    return who(head.author) == who(by) and head.schedule is None and head.labels.keys().isdisjoint(HELPER_LABELS)


def _is_asked_by_a_person(head: Head, first: Version) -> bool:
    """Return whether a person asked for it once, and a model or that person wrote its plan."""
    return (
        head.author.startswith(_PERSON)
        and head.recipe is None
        and head.schedule is None
        and head.origin is None
        and head.labels.keys().isdisjoint(HELPER_LABELS)
        and (first.author == MODEL or not head.request)
    )


def _is_clean(constellation: Constellation, looks: Sequence[str]) -> bool:
    """Return whether everything went as planned: no edit, no recovery beyond a retry, no hint of a person on the way.

    A planner's looks and questions are judged by `tracing`.
    """
    head = constellation.head
    return (
        head.state is ConstellationState.SUCCEEDED
        and head.undone_from is None
        and not head.given_up
        and all(number == "1" or version.author == _EXPANDS for number, version in constellation.versions.items())
        and all(question.kind in (questions.KIND, inquiries.KIND) for question in constellation.questions.values())
        and all(_went_well(record) for name, record in constellation.tasks.items() if name not in looks)
        and any(
            record.state is TaskState.SUCCEEDED for name, record in constellation.tasks.items() if name not in looks
        )
        and not any(
            (spec.look and spec.id not in looks) or spec.superseded_by or spec.instead_of
            for spec in constellation.specs.values()
        )
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
        sentences=head.sentences,
        rules=[replace(rule, fired=0, fired_for={}) for rule in constellation.rules.values()],
        specs=specs,
    )


def _gates(constellation: Constellation) -> list[Dependency]:
    return [
        constellation.deps[key] for key in sorted(constellation.deps) if constellation.deps[key].gate is not Gate.DATA
    ]
