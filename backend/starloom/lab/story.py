"""The story of a run, in order: faults, reactions of the engine, the end. Pure: built from the log and from notes.

Times are seconds since the hub accepted the request, or since a given moment.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from starloom_protocol.api.lab import StoryRow
from starloom_protocol.records.entities import Attempt, TaskRecord, decode_entity
from starloom_protocol.stream.feed import Event
from starloom_protocol.text.presentation import presentation
from starloom_protocol.vocabulary import AttemptEnd, TaskState

LINES_MAX: Final = 400
FAULT, HEALED, ENGINE, NOTE = "fault", "healed", "engine", "note"
_QUIET: Final = (TaskState.WAITING, TaskState.READY, TaskState.LEASED)


@dataclass(frozen=True)
class Line:
    """One line of a story; `kind` is fault, healed, engine or note."""

    at_s: float
    kind: str
    text: str


class Story:
    """Collects lines; at most `LINES_MAX` of the engine's, so that a plan of thousands of tasks can be read.

    `heard` is called with each line at once; `lines` returns them in the order of their times.
    """

    def __init__(self, on_line: Callable[[Line], None] | None = None, began_ms: int | None = None) -> None:
        self._lines: list[Line] = []
        self._on_line = on_line
        self._began_ms = began_ms
        self._last_words: dict[str, str] = {}
        self._left_out = 0

    def note(self, at_ms: int, kind: str, text: str) -> None:
        """Add an action or observation of the lab at a time of this machine."""
        self._add(Line(self._since(at_ms), kind, text))

    def _add(self, line: Line) -> None:
        self._lines.append(line)
        if self._on_line is not None:
            self._on_line(line)

    def read(self, events: Iterable[Event], devices: Mapping[str, str]) -> None:
        """Add the lines for events of the constellation."""
        for event in events:
            if self._began_ms is None:
                self._began_ms = event.at_ms
            for text in self._worth(event, devices):
                if sum(line.kind == ENGINE for line in self._lines) >= LINES_MAX:
                    self._left_out += 1
                else:
                    self._add(Line(self._since(event.at_ms), ENGINE, text))

    def lines(self) -> list[Line]:
        """Return all lines in the order of their times."""
        in_order = sorted(self._lines, key=lambda line: line.at_s)
        if self._left_out:
            in_order.append(Line(in_order[-1].at_s, NOTE, f"{self._left_out} further lines of the engine are left out"))
        return in_order

    def document(self) -> list[StoryRow]:
        return [{"at_s": line.at_s, "kind": line.kind, "text": line.text} for line in self.lines()]

    def text(self) -> str:
        """Return the story as text for a person: faults stand out."""
        marks = {FAULT: "FAULT ", HEALED: "over  ", ENGINE: "      ", NOTE: "      "}
        return "\n".join(f"{line.at_s:7.2f} s  {marks[line.kind]}{line.text}" for line in self.lines())

    def _since(self, at_ms: int) -> float:
        return 0.0 if self._began_ms is None else round((at_ms - self._began_ms) / 1000, 3)

    def _worth(self, event: Event, devices: Mapping[str, str]) -> list[str]:
        sentences = []
        for key, raw in event.puts.items():
            kind, _, name = key.partition("/")
            if raw is None or kind not in ("task", "attempt", "version"):
                continue
            if kind == "version":
                sentences.append(f"version {name} of the plan, by {event.by}")
                continue
            record = decode_entity(key, raw)
            if isinstance(record, TaskRecord):
                sentences += self._task(name, record, devices)
            elif isinstance(record, Attempt) and record.end not in (None, AttemptEnd.OK):
                sentences += self._attempt(key, name, record, devices)
        if event.kind == "task_absent":
            sentences.append(f"{event.about}: its device is not heard from; {event.note or 'the engine waits'}")
        if event.kind == "result_late":
            sentences.append(f"{event.about}: a late result came and changes nothing")
        return sentences

    def _task(self, name: str, record: TaskRecord, devices: Mapping[str, str]) -> list[str]:
        look = presentation(record.state, record.reason, attempt=record.attempt, checked=record.checked)
        on = f" on {devices.get(record.device, record.device)}" if record.device else ""
        words = look.word + on
        if self._last_words.get(name) == words or (record.state in _QUIET and record.attempt < 2 and not record.reason):
            return []
        self._last_words[name] = words
        return [f"{name}: {words}"]

    def _attempt(self, key: str, name: str, record: Attempt, devices: Mapping[str, str]) -> list[str]:
        task, _, number = name.rpartition("/")
        effect = f"; effect {record.effect}" if record.effect else ""
        words = f"{record.end}{effect}{f'; {record.detail}' if record.detail else ''}"
        if self._last_words.get(key) == words:
            return []
        self._last_words[key] = words
        return [f"{task}: attempt {number} on {devices.get(record.device, record.device)} ended: {words}"]
