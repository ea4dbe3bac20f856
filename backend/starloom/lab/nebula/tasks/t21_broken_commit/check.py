"""The answer is the commit at which the test fails for the first time."""

from __future__ import annotations

from collections.abc import Iterator

from starloom.lab.nebula.seen import Checkpoint, Seen


def checks(w: Seen) -> Iterator[Checkpoint]:
    broken = w.truth["broken"]
    yield "the commit", broken[:7] in w.answer.text, 3
    yield "no other one", bool(w.answer.items) and not any(one[:7] in w.answer.text for one in w.truth["others"]), 1
