"""Forty files of numbers."""

from __future__ import annotations

from typing import Any

from starloom.lab.nebula.base.ground import Ground

CHUNKS = 40


def lay(ground: Ground) -> dict[str, Any]:
    draw = ground.draw("chunks")
    for number in range(CHUNKS):
        text = "".join(f"{draw.randrange(1_000_000)}\n" for _ in range(50))
        ground.write("desk", f"chunks/part-{number:02d}.txt", text)
    return {}
