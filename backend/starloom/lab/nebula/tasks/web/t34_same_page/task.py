"""The answer shows the one line that differs, as each of the two has it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from starloom.lab.nebula.world.checked_world import CheckedWorld, Checkpoint
from starloom.lab.nebula.world.files.ground import Ground


def checks(world: CheckedWorld) -> Iterator[Checkpoint]:
    mine, other = world.truth["lines"]
    yield "the line of srv-a", mine in world.answer.text, 1
    yield "the line of srv-b", other in world.answer.text, 1
    yield "no line that is the same", bool(world.answer.items) and world.truth["same"] not in world.answer.text, 1


def lay(ground: Ground) -> dict[str, Any]:
    """Two pages that differ in one line."""
    draw = ground.draw("notice")
    lines = [f"<p>Notice {draw.randrange(10_000, 99_999)}</p>" for _ in range(20)]
    at = draw.randrange(1, len(lines))
    other = [*lines[:at], "<p>Closed on Monday</p>", *lines[at + 1 :]]
    for server, page in (("srv-a", lines), ("srv-b", other)):
        ground.write(server, "site/notice.html", "\n".join(page) + "\n")
    return {"lines": [lines[at], other[at]], "same": lines[at - 1]}
