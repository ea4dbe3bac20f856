"""The answer has the number of pages and of entries."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from starloom.lab.nebula.world.checked_world import CheckedWorld, Checkpoint
from starloom.lab.nebula.world.files.ground import Ground


def checks(world: CheckedWorld) -> Iterator[Checkpoint]:
    words = world.answer.text.replace(",", " ").replace(":", " ").replace("}", " ").split()
    yield "the pages", str(world.truth["pages"]) in words, 1
    yield "the entries", str(world.truth["entries"]) in words, 2


PAGES, ENTRIES = 7, 131


def lay(ground: Ground) -> dict[str, Any]:
    """Seven pages that lead from one to the next, with 131 entries together."""
    draw = ground.draw("list")
    ends = [0, *sorted(draw.sample(range(1, ENTRIES), PAGES - 1)), ENTRIES]
    for number in range(1, PAGES + 1):
        rows = "".join(f"<li>entry {n}</li>\n" for n in range(ends[number - 1], ends[number]))
        link = f'<a href="list-{number + 1}.html">next</a>' if number < PAGES else ""
        ground.write("srv-a", f"site/list-{number}.html", f"<html><ul>\n{rows}</ul>{link}</html>\n")
    return {"pages": PAGES, "entries": ENTRIES}
