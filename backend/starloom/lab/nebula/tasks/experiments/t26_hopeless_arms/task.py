"""best.json has the best rate; arms were stopped, each before it had done half of its steps."""

from __future__ import annotations

import json
from collections.abc import Iterator

from starloom.lab.nebula.world.checked_world import CheckedWorld, Checkpoint
from starloom.lab.nebula.world.files.others import BEST_LR
from starloom_protocol.records.entities import Attempt, decode_entity

STEPS = 40


def checks(world: CheckedWorld) -> Iterator[Checkpoint]:
    yield "the best rate", json.loads(world.text("gpu", "best.json"))["lr"] == BEST_LR, 1
    yield "of the whole training", json.loads(world.text("gpu", "best.json"))["steps"] == STEPS, 1
    done = list(_steps_of_stopped(world))
    yield "arms were stopped", bool(done), 1
    yield "before half of their work", bool(done) and max(done) < STEPS // 2, 1


def _steps_of_stopped(world: CheckedWorld) -> Iterator[int]:
    """Yield how many steps each stopped arm had reported."""
    for event in world.events:
        if event.kind == "task_cancelled":
            for key, raw in event.puts.items():
                attempt = decode_entity(key, bytes(raw)) if key.startswith("attempt/") else None
                if isinstance(attempt, Attempt) and attempt.progress is not None:
                    yield attempt.progress.lines
