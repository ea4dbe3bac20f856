"""A model's reply becomes a plan document, a question, a refusal, or faults to mend. Text is data: nothing is run.

Lenient about the text around the JSON (prose, fences), strict about its content.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from starloom.core.people.inquiries import CHOICE_CHARS_MOST, CHOICES_MOST
from starloom.core.plan.goals.tiers import TO
from starloom.core.state.inputs import EachOf, FoundPart
from starloom.planner.model.answers import AnswerKind
from starloom.planner.model.port import Reply
from starloom_protocol.plan import DocumentRefused, read_document
from starloom_protocol.records.entities import Cite, Fault, Read
from starloom_protocol.vocabulary import CODES, Code

TEXT_MOST = 500
STARTS_MOST = 50
NEEDS_MOST = 8
_THOUGHT = re.compile(r"</think(?:ing)?>", re.IGNORECASE)
"""The end of the thinking that some models write into their text; its beginning may stand in the server's template."""

PLANNING_FORM: Final = "`kind` must be plan, look, answer, recipe, more_tools, question or cannot"


@dataclass(frozen=True)
class Wished:
    """A plan document, not checked yet."""

    document: dict[str, Any]


@dataclass(frozen=True)
class Picked:
    """A recipe with values, not checked yet."""

    recipe: str
    params: dict[str, Any]


@dataclass(frozen=True)
class LookedCall:
    """One call of a look, not checked yet."""

    device: str
    tool: str
    args: dict[str, Any]


@dataclass(frozen=True)
class Looked:
    """A wish to look first: calls, parts of results to read, and why. `shown` are the tools that were asked for."""

    calls: list[LookedCall]
    reads: list[Read]
    why: str
    shown: tuple[str, ...] = ()


@dataclass(frozen=True)
class Asked:
    """One question to the person who asked, with answers that it offers and the `usual` one of them."""

    text: str
    choices: tuple[str, ...] = ()
    usual: str = ""


@dataclass(frozen=True)
class Declined:
    """The model says that it cannot, or will not. `needs` are grants with devices that would make it possible.

    `withdrawn`: the person took the request back in the answer to a question.
    """

    text: str
    needs: tuple[tuple[str, str], ...] = ()
    withdrawn: bool = False


@dataclass(frozen=True)
class Changed:
    """Operations of an edit, not checked yet, and why."""

    operations: list[Any]
    text: str


@dataclass(frozen=True)
class Unchanged:
    """A reviewer leaves the plan unchanged."""


@dataclass(frozen=True)
class Worded:
    """An answer in words and the results that it cites, not checked yet."""

    text: str
    cites: list[Any]


@dataclass(frozen=True)
class Judged:
    """A verdict: yes, no or unclear, why, and the results that it cites, not checked yet."""

    holds: str
    because: str
    cites: list[Any]


@dataclass(frozen=True)
class Chosen:
    """A choice between results: the task of one, or none, and why; not checked yet."""

    choice: str
    because: str


@dataclass(frozen=True)
class Stepped:
    """A step of a goal: its calls, why, and the results that it rests on; nothing of it is checked yet."""

    calls: list[LookedCall]
    note: str
    cites: list[Cite]
    finds: tuple[FoundPart, ...] = ()
    each_of: EachOf | None = None


@dataclass(frozen=True)
class Reached:
    """The answer of a goal and the results that it rests on, not checked yet."""

    value: Any
    note: str
    cites: list[Cite]
    finds: tuple[FoundPart, ...] = ()


@dataclass(frozen=True)
class HandedOver:
    """The model of a goal hands over to the next tier or to a person, for this reason."""

    to: str
    because: str


@dataclass(frozen=True)
class MoreTools:
    """The model wants to see the tools nearest to these words."""

    words: str


@dataclass(frozen=True)
class GaveUp:
    """A reviewer sees no edit that reaches the aim, for this reason."""

    because: str


Answered = (
    Wished | Picked | Looked | MoreTools | Asked | Declined | Changed | Unchanged | GaveUp | Worded | Judged | Fault
)


def read_reply(reply: Reply, form: str = PLANNING_FORM) -> Answered:
    """Return the content of a reply; the model must mend a fault. `form` says what this stage takes, for that fault."""
    if reply.refused:
        return Declined(short(reply.text) or "the model refused to answer")
    if reply.cut:
        return _unreadable("the answer was cut off at its length limit; write a shorter plan")
    if not reply.text.strip():
        return _unreadable("the answer was empty")
    answer = _object_in(without_thoughts(reply.text))
    if isinstance(answer, Fault):
        return answer
    if "starloom" in answer or "tasks" in answer:
        return Wished(answer)
    if "holds" in answer:
        return _verdict_in(answer)
    # Small models leave the kind out where `plan` says it.
    kind = answer.get("kind", AnswerKind.PLAN if isinstance(answer.get("plan"), dict) else None)
    if kind == AnswerKind.PLAN:
        plan = answer.get("plan")
        return Wished(plan) if isinstance(plan, dict) and plan else _unreadable("`plan` must be a plan, as an object")
    if kind == AnswerKind.RECIPE:
        name, params = answer.get("recipe"), answer.get("params", {})
        if isinstance(name, str) and isinstance(params, dict):
            return Picked(name, params)
        return _unreadable("an answer of kind recipe needs `recipe` and `params`")
    if kind == AnswerKind.MORE_TOOLS:
        words = answer.get("words")
        query = short(words) if isinstance(words, str) else ""
        return MoreTools(query) if query else _unreadable("an answer of kind more_tools needs `words`")
    if kind == AnswerKind.LOOK:
        return _look_in(answer)
    text = answer.get("text")
    if kind in (AnswerKind.NO_CHANGE, AnswerKind.ACCEPT):
        return Unchanged()
    if kind == AnswerKind.GIVE_UP:
        because = answer.get("because", text)
        if not isinstance(because, str) or not short(because):
            return _unreadable("an answer of kind give_up needs `because`")
        return GaveUp(short(because))
    if kind == AnswerKind.EDIT:
        operations = answer.get("operations")
        if not isinstance(operations, list) or not operations:
            return _unreadable("an answer of kind edit needs `operations`, a list")
        return Changed(operations, short(text) if isinstance(text, str) else "")
    if kind == AnswerKind.ANSWER:
        cites = answer.get("cites", [])
        if not isinstance(text, str) or not text.strip() or not isinstance(cites, list):
            return _unreadable("an answer of kind answer needs `text`, and `cites`, a list")
        # A model's text may hold signs that steer a terminal; ends of lines are kept, since a list has them.
        return Worded("".join(sign if sign.isprintable() or sign == "\n" else " " for sign in text), cites)
    if kind in (AnswerKind.QUESTION, AnswerKind.CANNOT):
        if not isinstance(text, str) or not short(text):
            return _unreadable(f"an answer of kind {kind} needs `text`")
        if kind == AnswerKind.QUESTION:
            return _question(short(text), answer)
        return Declined(short(text), _needs(answer.get("needs")), answer.get("withdrawn") is True)
    return _unreadable(form)


def read_choice(reply: Reply) -> Chosen | Fault:
    """Return the choice that a reply holds; the model must mend a fault. An object with another field is none."""
    if reply.refused or reply.cut:
        return _unreadable("the answer was cut off or refused; name one result, or none")
    answer = _object_in(without_thoughts(reply.text))
    if isinstance(answer, Fault):
        return answer
    choice, because = answer.get("choice"), answer.get("because")
    usable = isinstance(choice, str) and isinstance(because, str) and bool(short(because))
    if not usable or set(answer) != {"choice", "because"}:
        return _unreadable("a choice has the fields choice and because, two texts, and no other")
    return Chosen(str(choice), short(str(because)))


Turned = Stepped | Reached | HandedOver | GaveUp | Fault


def read_turn(reply: Reply, *, tiered: bool = False) -> Turned:
    """Return the turn of a goal that a reply holds; the model must mend a fault.

    Only a goal of several tiers is handed over.
    """
    if reply.refused:
        return GaveUp(short(reply.text) or "the model refused to answer")
    if reply.cut:
        return _unreadable("the answer was cut off at its length limit; write a shorter one")
    answer = _object_in(without_thoughts(reply.text))
    if isinstance(answer, Fault):
        return answer
    kind, note = answer.get("kind"), answer.get("note", "")
    if not isinstance(note, str):
        return _unreadable("`note` is a text")
    if kind == AnswerKind.GIVE_UP:
        because = answer.get("because", note)
        usable = isinstance(because, str) and bool(short(because))
        return GaveUp(short(because)) if usable else _unreadable("an answer of kind give_up needs `because`")
    if tiered and kind == AnswerKind.HAND_OVER:
        return _hand_over_in(answer)
    if kind not in (AnswerKind.STEP, AnswerKind.ANSWER):
        return _unreadable(f"`kind` must be step, answer{', hand_over' if tiered else ''} or give_up")
    try:
        cites = msgspec.convert(answer.get("cites") or [], list[Cite])
        finds = msgspec.convert(answer.get("finds") or [], tuple[FoundPart, ...])
        if kind == AnswerKind.ANSWER:
            if "value" not in answer:
                return _unreadable("an answer of kind answer needs `value`")
            return Reached(answer["value"], short(note), cites, finds)
        listed = answer.get("calls")
        if not isinstance(listed, list) or not listed or not all(isinstance(item, dict) for item in listed):
            return _unreadable("an answer of kind step needs `calls`, a list")
        calls = [msgspec.convert({"args": {}, "device": "", **item}, LookedCall) for item in listed]
        each_of = msgspec.convert(answer["for_each"], EachOf) if answer.get("for_each") is not None else None
    except msgspec.ValidationError as error:
        reason = "a call has `device`, `tool` and `args`, a cite `task` and `pointer`, a finding `topic` too"
        return _unreadable(f"{reason}: {error}")
    return Stepped(calls, short(note), cites, finds, each_of)


def _hand_over_in(answer: dict[str, Any]) -> HandedOver | Fault:
    to, because = answer.get("to"), answer.get("because")
    if to not in TO or not isinstance(because, str) or not short(because):
        return _unreadable(f"an answer of kind hand_over needs `to`, which is {' or '.join(TO)}, and `because`")
    return HandedOver(to, short(because))


def _question(text: str, answer: dict[str, Any]) -> Asked | Fault:
    """Return a question with its choices; the usual answer is one of them."""
    listed, usual = answer.get("choices") or [], answer.get("default") or ""
    if not isinstance(listed, list) or not isinstance(usual, str) or not all(isinstance(one, str) for one in listed):
        return _unreadable("`choices` of a question are texts, and `default` is one of them")
    choices = dict.fromkeys(line for one in [*listed, usual] if (line := short(one)))
    if len(choices) > CHOICES_MOST or any(len(one) > CHOICE_CHARS_MOST for one in choices):
        most = f"{CHOICES_MOST} choices of at most {CHOICE_CHARS_MOST} characters"
        return _unreadable(f"a question has at most {most}, `default` among them")
    return Asked(text, tuple(choices), short(usual))


def _needs(value: Any) -> tuple[tuple[str, str], ...]:
    """Return the grants with devices that an answer names; what has another form says nothing."""
    rows = value[:NEEDS_MOST] if isinstance(value, list) else []
    pairs = [(row.get("grant"), row.get("device", "")) for row in rows if isinstance(row, dict)]
    return tuple((grant, device) for grant, device in pairs if isinstance(grant, str) and isinstance(device, str))


def _verdict_in(answer: dict[str, Any]) -> Judged | Fault:
    """Return a verdict; an object with another field, or with a word of its own, is none."""
    holds, because, cites = answer.get("holds"), answer.get("because"), answer.get("cites", [])
    if holds not in ("yes", "no", "unclear") or set(answer) - {"holds", "because", "cites"}:
        return _unreadable("a verdict has the fields holds (yes, no or unclear), because and cites, and no other")
    if not isinstance(because, str) or not short(because) or not isinstance(cites, list):
        return _unreadable("a verdict needs `because`, a text, and `cites`, a list")
    return Judged(holds, short(because), cites)


def _look_in(answer: dict[str, Any]) -> Looked | Fault:
    """Return the calls and reads of a look; what is not one of both is a fault with its place."""
    listed, why = answer.get("calls"), answer.get("why", "")
    if not isinstance(listed, list) or not listed or not isinstance(why, str):
        return _unreadable("an answer of kind look needs `calls`, a list, and `why`, a text")
    calls: list[LookedCall] = []
    reads: list[Read] = []
    for at, item in enumerate(listed):
        part = item.get("read") if isinstance(item, dict) else None
        try:
            if part is not None:
                reads.append(msgspec.convert(part, Read))
                continue
            calls.append(msgspec.convert({"args": {}, **item}, LookedCall))
        except (msgspec.ValidationError, TypeError) as error:
            reason = f"calls[{at}] needs `device`, `tool` and `args`, or `read` with `task`: {error}"
            return _unreadable(reason)
    return Looked(calls, reads, short(why))


def without_thoughts(text: str) -> str:
    """Return a text without the thinking before it, whose drafts are no answer."""
    if text.lstrip().startswith("{"):
        return text
    end = _THOUGHT.search(text)
    return text[end.end() :] if end is not None else text


def _object_in(text: str) -> dict[str, Any] | Fault:
    """Return the one JSON object in a text, which may stand between prose or in a fence.

    The first object with content is taken and then read strictly, like any document: no names twice, no numbers that
    JSON does not know, not too deep.
    """
    decoder = json.JSONDecoder()
    start, tries = text.find("{"), 0
    fault: Fault | None = None
    while start != -1 and tries < STARTS_MOST:
        tries += 1
        try:
            _, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            start = text.find("{", start + 1)
            continue
        try:
            return read_document(text[start:end])
        except DocumentRefused as refused:
            fault = fault or refused.fault
        start = text.find("{", end)
    return fault or _unreadable("the answer holds no whole JSON object")


def short(text: str) -> str:
    """Return one line of printable text, short enough to be shown to a person."""
    line = " ".join("".join(sign if sign.isprintable() else " " for sign in text[: 4 * TEXT_MOST]).split())
    return line if len(line) <= TEXT_MOST else line[: TEXT_MOST - 1] + "\u2026"


def _unreadable(reason: str) -> Fault:
    return Fault(code=Code.MODEL_ANSWER, hint=CODES[Code.MODEL_ANSWER].hint, place="answer", reason=reason)
