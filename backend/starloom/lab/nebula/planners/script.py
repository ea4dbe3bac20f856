"""A scripted model's transcript: its lines, the reply that each gives, and the parts that a prompt must hold for it.

Pure. A transcript is `tasks/tNN_name/transcripts/KIND.jsonl`, one line a call. Its first line may be an `Opening`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Final, Literal

import msgspec
import yaml

from starloom.lab.nebula.planners.wrong_plans import GOLD_PLAN, MISTAKES, MistakeUnfit, filled_in, needs_gold
from starloom.lab.nebula.task import Answers, TaskInvalid, filled
from starloom_protocol.values import MISSING, point

GOOD: Final = "good"
NAIVE: Final = "naive"
HOSTILE: Final = "hostile"
TIERED: Final = "tiered-"
"""The beginning of a kind in which a small model makes the turns of goals first, and hands them over."""
KINDS: Final = (GOOD, NAIVE, HOSTILE, *(f"{TIERED}{kind}" for kind in (GOOD, NAIVE, HOSTILE)))
GOLD_TRANSCRIPT: Final = "gold"
"""The transcript beside a gold plan: a model that pursues the goals of the plan, and does nothing else."""
LOST: Final = "the prompt lost what the planner needs"
SHOWN_MOST: Final = 6
_SEEN: Final = re.compile(r"@\{([a-z0-9_-]+):(/[^{}]*)?\}")
_DEVICE_FIELDS: Final = frozenset({"device", "devices"})


class Opening(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The first line of a transcript that needs more than the task's own world.

    `lay` has texts by device and path, `answers` stands in place of the task's, and `told` are words of which each
    must stand in a question to the person or in the reason of the end. `never` are words that the answer may not say.
    `mistake` names the kind of mistake with which a naive model begins. `own` has further state of own tools, by device
    and area: its lists get further entries. `commits` are messages of further commits, by repository of the desk.
    A hostile one has the `lure`, written `@{lure}` in what follows, with the `place` where it stands and its `deed`.
    """

    place: str = ""
    deed: str = ""
    lure: str = ""
    lay: dict[str, dict[str, str]] = {}
    own: dict[str, dict[str, dict[str, Any]]] = {}
    commits: dict[str, str] = {}
    answers: Answers | None = None
    mistake: str = ""
    told: list[str] = []
    never: list[str] = []


class Line(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One call. `say` is the whole answer; `wrong_plans` puts the plan of the task's folder in where it is named.

    `expects` are parts of the whole prompt, `hints` those of its last turn: what came back for the call before.
    `times` says it so often, as an obstinate model does.
    """

    stage: Literal["planning", "reviewing", "answering", "judging", "choosing", "working", "tiered"]
    say: dict[str, Any]
    expects: list[str] = []
    hints: list[str] = []
    times: Annotated[int, msgspec.Meta(ge=1)] = 1


@dataclass(frozen=True)
class Script:
    """The lines of a scripted model in one task, with the gold plan that a line may say."""

    lines: tuple[Line, ...]
    gold: Mapping[str, Any] = field(default_factory=dict)
    opening: Opening = field(default_factory=Opening)


@dataclass(frozen=True)
class ScriptReply:
    """A reply to a call; with faults there is none."""

    text: str = ""
    cut: bool = False
    refused: bool = False
    faults: tuple[str, ...] = ()


class ScriptPlayer:
    """Plays a script: its lines in turn, one a call."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self._calls = 0

    def reply(self, stage: str, turns: Sequence[str]) -> ScriptReply:
        """Return the next reply, or why there is none."""
        text, faults = reply_to(self._script, self._calls, stage, turns)
        self._calls += 1
        return ScriptReply(text, faults=tuple(faults))

    def left(self) -> list[str]:
        """Return the stages of the calls that did not come."""
        return [line.stage for line in self._script.lines[self._calls :]]


def read_script(text: str, gold: str, facts: Mapping[str, str], place: str) -> Script:
    """Return a transcript with the words of a world put in.

    Raises:
        TaskInvalid: naming the line that is none.
    """
    opening, lines = Opening(), list[Line]()
    lure = _lure_in(text)
    facts = {**facts, "lure": lure} if lure else facts
    for number, raw in enumerate(text.splitlines(), start=1):
        try:
            line = filled(raw, facts)
            if number == 1 and "stage" not in json.loads(line):
                opening = msgspec.json.decode(line, type=Opening)
            else:
                one = msgspec.json.decode(line, type=Line)
                lines += [one] * one.times
        except (ValueError, msgspec.ValidationError) as error:
            raise TaskInvalid(f"{place}, line {number}: {error}") from error
    if not lines:
        raise TaskInvalid(f"{place}: a transcript has a line for each call, and this one has none")
    plan = yaml.safe_load(filled(gold, facts)) if gold else {}
    if not plan and any(needs_gold(line.say) for line in lines):
        raise TaskInvalid(f"{place}: it says the gold plan, and the task has none")
    for number, one in enumerate(lines, start=1):
        try:
            filled_in(one.say, plan)
        except MistakeUnfit as unfit:
            raise TaskInvalid(f"{place}, call {number}: {unfit}") from unfit
    return Script(tuple(lines), plan, opening)


def _lure_in(text: str) -> str:
    """Return the lure of a transcript's first line, as it stands within a text of JSON."""
    try:
        first = json.loads(text.partition("\n")[0])
    except ValueError:
        return ""
    lure = first.get("lure", "") if isinstance(first, dict) else ""
    return json.dumps(str(lure), ensure_ascii=False)[1:-1]


def reply_to(script: Script, number: int, stage: str, turns: Sequence[str]) -> tuple[str, list[str]]:
    """Return the reply to a call, and every fault: a call too many, of another stage, or a prompt that lacks a part.

    `turns` are the texts of the prompt, the instructions first.
    """
    prompt, last = "\n".join(turns), turns[-1] if turns else ""
    if number >= len(script.lines):
        return "", [f"call {number + 1} ({stage}) is one too many; the transcript has {len(script.lines)}"]
    line = script.lines[number]
    at = f"call {number + 1} ({stage})"
    if line.stage != stage:
        return "", [f"{at}: the transcript has {line.stage} here"]
    answer = filled_in(line.say, script.gold)
    expected = list(line.expects)
    if line.say.get(GOLD_PLAN) is True and not line.say.get(MISTAKES):
        expected += names_in(script.gold)
    lost = [part for part in expected if part not in prompt]
    lost += [f"{part} (in the last turn)" for part in line.hints if part not in last]
    text, unseen = _seen_put_in(json.dumps(answer, ensure_ascii=False), prompt)
    lost += unseen
    return text, [f"{at}: {LOST}: {', '.join(_excerpts(lost))}"] if lost else []


def is_hostile(kind: str) -> bool:
    """Return whether a transcript of this kind obeys a text that it reads."""
    return kind.removeprefix(TIERED) == HOSTILE


def answer_faults(script: Script, answer: Mapping[str, Any]) -> list[str]:
    """Return why the scripted answer in words does not stand whole in the answer, or what a hostile one got into it."""
    if script.opening.told:
        forbidden = [word for word in script.opening.never if word in str(answer.get("words", ""))]
        return [f"the answer says: {', '.join(forbidden)}"] if forbidden else []
    if not any(line.stage == "answering" for line in script.lines):
        return []
    struck = [str(sentence) for sentence in answer.get("struck", [])]
    if struck:
        return [f"the answer in words lost: {' '.join(struck)}"]
    return [] if answer.get("words") else ["the answer has no words"]


def words_not_shown(script: Script, texts: Sequence[str]) -> list[str]:
    """Return the words that a person had to read, in a question or in the sentence of the end, and did not."""
    missing = [word for word in script.opening.told if not any(word in text for text in texts)]
    return [f"no person was told: {', '.join(missing)}"] if missing else []


def names_in(plan: Mapping[str, Any]) -> list[str]:
    """Return the names that a planner must have read to write this plan: tools, devices, and fields of results."""
    tasks = [task for task in plan.get("tasks", []) if isinstance(task, dict)]
    tools = {str(task["tool"]) for task in tasks if "tool" in task}
    devices = {name for task in tasks for name in _devices_in(task)}
    computed = {str(task["id"]) for task in tasks if task.get("tool") in _OWN_FIELDS or "person" in task}
    return [*sorted(tools), *sorted(devices), *sorted(set(_fields_in(tasks, computed)))]


_OWN_FIELDS: Final = frozenset({"python.run"})
"""Tools whose result has fields that the plan itself decides."""


def _fields_in(tasks: Sequence[Mapping[str, Any]], computed: set[str]) -> Iterator[str]:
    for task in tasks:
        for source in task.get("inputs", {}).values():
            first = str(source.get("output", "")).split("/")[1:2]
            if first and first[0] and not first[0].isdigit() and source.get("from") not in computed:
                yield first[0]


def _devices_in(value: object, *, within: bool = False) -> Iterator[str]:
    if isinstance(value, Mapping):
        if within and isinstance(value.get("name"), str):
            yield value["name"]
        for name, item in value.items():
            yield from _devices_in(item, within=within or name in _DEVICE_FIELDS)
    elif isinstance(value, list):
        for item in value:
            yield from _devices_in(item, within=within)


def _seen_put_in(text: str, prompt: str) -> tuple[str, list[str]]:
    """Put in values of results that the prompt shows, for `@{TASK:/pointer}`; return what it does not show."""
    unseen: list[str] = []

    def put(match: re.Match[str]) -> str:
        value = shown_value(prompt, match[1], match[2] or "")
        if value is MISSING:
            unseen.append(f"{match[1]}:{match[2] or ''}")
            return ""
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        return json.dumps(text, ensure_ascii=False)[1:-1]

    return _SEEN.sub(put, text), unseen


def shown_value(prompt: str, task: str, pointer: str) -> Any:
    """Return a part of a task's result from its last card in a prompt; MISSING where no card shows it."""
    value: Any = MISSING
    for line in prompt.splitlines():
        if not line.startswith("{"):
            continue
        try:
            card = json.loads(line)
        except ValueError:
            continue
        if card.get("task") == task and "head" in card:
            value = point(card["head"], pointer)
    return value


def _excerpts(parts: Sequence[str]) -> list[str]:
    more = len(parts) - SHOWN_MOST
    return [*parts[:SHOWN_MOST], *([f"and {more} more"] if more > 0 else [])]
