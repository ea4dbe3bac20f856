"""The text that a model has written so far becomes a sketch: the tasks, looks or words that can be read already.

Pure and bounded. Reads for a picture only: what is unfinished, wrong or too much is left out without a fault, because
the whole answer is judged elsewhere. Must not be used for anything that is kept or carried out.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal

import msgspec
from msgspec.structs import replace
from pydantic_core import from_json

from starloom.planner.model.answers import OF_STAGE, AnswerKind, Stage
from starloom.planner.model.port import Piece
from starloom.planner.model.reading import short, without_thoughts
from starloom_protocol.plan.language.models import TASK_ID
from starloom_protocol.stream.sketches import (
    AFTER_MOST,
    ANSWER_CHARS_MOST,
    CALLS_MOST,
    SKETCH_BYTES_MOST,
    TASKS_MOST,
    TEXT_CHARS_MOST,
    WORD_CHARS_MOST,
    Sketch,
    SketchCall,
    SketchTask,
)

READ_CHARS_MOST: Final = 128 * 1024
"""So much of a text is read, four times a second; the largest plan of the suite has a tenth of it."""
STARTS_MOST: Final = 8
LEFT_OUT_MOST: Final = 10_000
_KINDS: Final = frozenset({*OF_STAGE[Stage.PLANNING], *OF_STAGE[Stage.REVIEWING]})
_WORDS: Final[Mapping[str, str]] = {
    AnswerKind.PLAN: "name",
    AnswerKind.LOOK: "why",
    AnswerKind.RECIPE: "recipe",
    AnswerKind.MORE_TOOLS: "words",
}
"""The field of each kind of answer that says something to a person; `text` for the others."""

Json = Mapping[str, Any]
_Partial = Literal["on", "trailing-strings"]
"""Whether a text at the end that is half written is left out or kept."""


class SketchPad:
    """Takes the pieces of a job's replies and gives the sketch of the newest. `worker` has the job."""

    def __init__(self, job: str, worker: str) -> None:
        self._job = job[:WORD_CHARS_MOST]
        self._worker = worker[:200]
        self.calls = 0
        self._since_ms = 0
        self._begin()

    def _begin(self) -> None:
        self._text: dict[str, list[str]] = {"call": [], "text": []}
        self._read_chars = self._chars = self._thought_chars = self._tokens = 0

    def hear(self, piece: Piece, now_ms: int) -> None:
        """Take a piece; the beginning of another reply voids what was there."""
        if piece.part == "begun":
            self._begin()
            self.calls += 1
            self._since_ms = now_ms
        elif piece.part == "told":
            self._tokens = max(self._tokens, piece.tokens)
        elif piece.part == "thought":
            self._thought_chars += len(piece.text)
        else:
            self._chars += len(piece.text)
            room = READ_CHARS_MOST - self._read_chars
            if room > 0:
                self._text[piece.part].append(piece.text[:room])
                self._read_chars += min(room, len(piece.text))

    def drawn(self) -> Sketch:
        """Return the sketch of what was heard so far, at most `SKETCH_BYTES_MOST` bytes of it."""
        bare = Sketch(
            call=self.calls,
            chars=self._chars,
            job=self._job,
            since_ms=self._since_ms,
            thought_chars=self._thought_chars,
            tokens=self._tokens,
            worker=self._worker,
        )
        sketch = sketch_of("".join(self._text["call"] or self._text["text"]), bare)
        while len(msgspec.json.encode(sketch)) > SKETCH_BYTES_MOST:
            fewer = sketch.tasks[: len(sketch.tasks) * 3 // 4]
            sketch = replace(sketch, tasks=fewer, left_out=sketch.left_out + len(sketch.tasks) - len(fewer))
        return sketch


def sketch_of(text: str, bare: Sketch) -> Sketch:
    """Return a sketch with all that can be read in an unfinished answer."""
    answer = _object_in(without_thoughts(text))
    kind_field = answer.get("kind")
    kind = kind_field if isinstance(kind_field, str) else ""
    plan: Any = answer if "tasks" in answer or "starloom" in answer else answer.get("plan")
    if kind not in _KINDS:
        kind = "plan" if isinstance(plan, dict) else ""
    sketch = replace(bare, kind=kind)
    if kind == "plan":
        return _plan(plan if isinstance(plan, dict) else {}, sketch)
    if kind == "answer":
        # Words may come letter by letter; of a plan, an id that is half written would be another id.
        words = _object_in(without_thoughts(text), "trailing-strings").get("text")
        return replace(sketch, answer=_printable(words)[:ANSWER_CHARS_MOST])
    words = _line(answer.get(_WORDS.get(kind, "text")), TEXT_CHARS_MOST)
    calls = answer.get("calls") if kind == "look" else None
    return replace(sketch, words=words, looks=list(_look_calls(calls)) if isinstance(calls, list) else [])


def _plan(plan: Json, sketch: Sketch) -> Sketch:
    listed = plan.get("tasks")
    rows = listed if isinstance(listed, list) else []
    after = _dependencies(plan.get("dependencies"))
    tasks: dict[str, SketchTask] = {}
    for row in rows:
        identity = _id(row.get("id")) if isinstance(row, dict) else ""
        if identity and identity not in tasks:
            tasks[identity] = _task(identity, row, after.get(identity, {}))
        if len(tasks) == TASKS_MOST:
            break
    left_out = min(max(len(rows) - len(tasks), 0), LEFT_OUT_MOST) if len(tasks) == TASKS_MOST else 0
    return replace(
        sketch, left_out=left_out, tasks=list(tasks.values()), words=_line(plan.get("name"), TEXT_CHARS_MOST)
    )


def _task(identity: str, row: Json, after: Mapping[str, None]) -> SketchTask:
    inputs, each = row.get("inputs"), row.get("for_each")
    froms = [item.get("from") for item in inputs.values() if isinstance(item, dict)] if isinstance(inputs, dict) else []
    froms.append(each.get("from") if isinstance(each, dict) else None)
    sources = dict.fromkeys((*after, *(_id(name) for name in froms)))
    sources.pop("", None)
    sources.pop(identity, None)
    return SketchTask(
        after=list(sources)[:AFTER_MOST],
        device=_device(row.get("device")),
        each=isinstance(each, dict),
        id=identity,
        person=isinstance(row.get("person"), str),
        tool=_line(row.get("tool")),
    )


def _dependencies(value: object) -> dict[str, dict[str, None]]:
    after: dict[str, dict[str, None]] = {}
    for item in value if isinstance(value, list) else []:
        one, other = (_id(item.get("from")), _id(item.get("to"))) if isinstance(item, dict) else ("", "")
        if one and other:
            after.setdefault(other, {})[one] = None
    return after


def _id(value: object) -> str:
    """Return an id of a task; empty for anything else."""
    return value if isinstance(value, str) and TASK_ID.fullmatch(value) else ""


def _device(value: object) -> str:
    """Return the words of a selector: a name, else its labels or its system."""
    if not isinstance(value, dict):
        return ""
    labels = value.get("labels")
    names = [label for label in labels if isinstance(label, str)] if isinstance(labels, list) else []
    return _line(value.get("name") or value.get("id")) or _line(", ".join(names[:4])) or _line(value.get("os"))


def _look_calls(calls: list[Any]) -> Iterator[SketchCall]:
    for call in calls[:CALLS_MOST]:
        if isinstance(call, dict) and isinstance(call.get("tool"), str):
            yield SketchCall(device=_line(call.get("device")), tool=_line(call["tool"]))


def _line(value: object, most: int = WORD_CHARS_MOST) -> str:
    """Return one line of printable text; empty for anything else."""
    return short(value)[:most] if isinstance(value, str) else ""


def _printable(value: object) -> str:
    """Return the printable signs of a text and the ends of its lines; empty for anything else."""
    text = value[: 2 * ANSWER_CHARS_MOST] if isinstance(value, str) else ""
    return "".join(sign if sign.isprintable() or sign == "\n" else " " for sign in text)


def _object_in(text: str, partial: _Partial = "on") -> dict[str, Any]:
    """Return the first object of an unfinished text that has content, as far as it is written."""
    start, tries = text.find("{"), 0
    while start != -1 and tries < STARTS_MOST:
        tries += 1
        content = _unfinished(text[start:], partial)
        if isinstance(content, dict) and content:
            return content
        start = text.find("{", start + 1)
    return {}


def _unfinished(text: str, partial: _Partial) -> object:
    try:
        return from_json(text, allow_partial=partial)
    except ValueError:
        pass  # prose may follow a whole object
    try:
        return json.JSONDecoder().raw_decode(text)[0]
    except (ValueError, RecursionError):
        return None
