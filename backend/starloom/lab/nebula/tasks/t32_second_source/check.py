"""The answer has the rate of srv-b and names it."""

from __future__ import annotations

from collections.abc import Iterator

from starloom.lab.nebula.seen import Checkpoint, Seen


def checks(w: Seen) -> Iterator[Checkpoint]:
    said = [value for _, value in w.answer.items]
    yield "the rate", str(w.truth["rate"]) in w.answer.text, 2
    yield "the source", bool(said) and w.answer.says("srv-b"), 1
