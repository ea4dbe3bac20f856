"""The tasks of live constellations whose plan has a rule on progress, and the name that each rule reads.

A view of the log, so that it is whole again after a restart. Reads no output; `agents.progress_lines` does.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from starloom_protocol.records.entities import Head, TaskSpec, decode_entity
from starloom_protocol.stream.feed import ACCESS, FLEET, Event
from starloom_protocol.vocabulary import FINAL_CONSTELLATION_STATES
from starloom_protocol.wire.frames import LeaseRef

_SIGN: Final = b'"stop_when"'


class StopRules:
    """The name that each task with a rule on progress reports: constellation -> task -> name."""

    def __init__(self) -> None:
        self._names: dict[str, dict[str, str]] = {}

    def reset(self) -> None:
        """Forget everything."""
        self._names.clear()

    def take(self, stream: str, entities: Mapping[str, bytes]) -> None:
        """Take the tasks of one constellation as committed."""
        for key, raw in entities.items():
            if key.startswith("spec/"):
                self._put(stream, key, raw)

    def apply(self, event: Event) -> None:
        if event.stream in (FLEET, ACCESS):
            return
        for key, raw in event.puts.items():
            if key.startswith("spec/"):
                self._put(event.stream, key, None if raw is None else bytes(raw))
            elif key == "head" and raw is not None and event.stream in self._names:
                head = decode_entity(key, bytes(raw))
                if isinstance(head, Head) and head.state in FINAL_CONSTELLATION_STATES:
                    del self._names[event.stream]

    def name_of(self, at: LeaseRef) -> str | None:
        """Return the name that a task's rule reads, None for a task without one."""
        return self._names.get(at.constellation, {}).get(at.task)

    def _put(self, stream: str, key: str, raw: bytes | None) -> None:
        task = key.partition("/")[2]
        if raw is None or _SIGN not in raw:
            self._names.get(stream, {}).pop(task, None)
            return
        spec = decode_entity(key, raw)
        if isinstance(spec, TaskSpec) and spec.stop_when is not None:
            self._names.setdefault(stream, {})[task] = spec.stop_when.name
