"""The answer shows the one line that differs, as each of the two has it."""

from __future__ import annotations

from collections.abc import Iterator

from starloom.lab.nebula.seen import Checkpoint, Seen


def checks(w: Seen) -> Iterator[Checkpoint]:
    mine, other = w.truth["lines"]
    yield "the line of srv-a", mine in w.answer.text, 1
    yield "the line of srv-b", other in w.answer.text, 1
    yield "no line that is the same", bool(w.answer.items) and w.truth["same"] not in w.answer.text, 1
