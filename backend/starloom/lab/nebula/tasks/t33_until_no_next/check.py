"""The answer has the number of pages and of entries."""

from __future__ import annotations

from collections.abc import Iterator

from starloom.lab.nebula.seen import Checkpoint, Seen


def checks(w: Seen) -> Iterator[Checkpoint]:
    words = w.answer.text.replace(",", " ").replace(":", " ").replace("}", " ").split()
    yield "the pages", str(w.truth["pages"]) in words, 1
    yield "the entries", str(w.truth["entries"]) in words, 2
