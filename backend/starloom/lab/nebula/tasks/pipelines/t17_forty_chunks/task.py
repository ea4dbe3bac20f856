"""Each chunk is there once with its right sum, and the total; several machines took part."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from starloom.lab.nebula.world.checked_world import CheckedWorld, Checkpoint
from starloom.lab.nebula.world.files.ground import Ground


def checks(world: CheckedWorld) -> Iterator[Checkpoint]:
    chunks = world.below("desk", "chunks/*", before=True)
    truth = {path.rpartition("/")[2]: sum(map(int, data.split())) for path, data in chunks.items()}
    lines = [line.split(",") for line in world.text("desk", "Reports/sums.csv").splitlines() if line[:4] != "file"]
    rows = [line for line in lines if line[0] != "total"]
    yield "each once", sorted(name for name, _ in rows) == sorted(truth), 2
    yield "the right sums", bool(rows) and all(truth[name] == int(value) for name, value in rows), 2
    yield "the total", [int(value) for name, value in lines if name == "total"] == [sum(truth.values())], 1


CHUNKS = 40


def lay(ground: Ground) -> dict[str, Any]:
    """Forty files of numbers."""
    draw = ground.draw("chunks")
    for number in range(CHUNKS):
        text = "".join(f"{draw.randrange(1_000_000)}\n" for _ in range(50))
        ground.write("desk", f"chunks/part-{number:02d}.txt", text)
    return {}
