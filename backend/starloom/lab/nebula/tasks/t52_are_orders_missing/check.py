"""The answer says no, with the counts of both sides."""

from __future__ import annotations

from collections.abc import Iterator

from starloom.lab.nebula.seen import Checkpoint, Seen


def checks(w: Seen) -> Iterator[Checkpoint]:
    count = w.truth["count"]
    values = [value for _, value in w.answer.items]
    said = [part for value in values for part in _numbers(value)]
    yield "the count of both", said.count(count) == 2, 2
    yield "none is missing", 0 in said, 1
    yield "it says so", w.answer.says("missing"), 1


def _numbers(value: object) -> list[int]:
    if isinstance(value, dict):
        return [number for part in value.values() for number in _numbers(part)]
    if isinstance(value, list):
        return [number for part in value for number in _numbers(part)]
    return [value] if isinstance(value, int) and not isinstance(value, bool) else []
