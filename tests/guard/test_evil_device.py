"""A device that lies about everything but its key changes nothing beside its own open attempt."""

from __future__ import annotations

from typing import get_args

import msgspec

from starloom_protocol.records.edits import EditOperation
from tests.edge.world import World
from tests.guard.evil_device import OPERATIONS, TAGS, Stage

CONNECTIONS = 60
"""Of each half: before the result of its own attempt, and after."""


def test_every_operation_of_an_edit_is_tried() -> None:
    tried = msgspec.json.decode(msgspec.json.encode(OPERATIONS), type=list[EditOperation])
    assert {type(operation) for operation in tried} == set(get_args(EditOperation))


async def test_t26_a_device_changes_nothing_but_its_own_attempt(world: World) -> None:
    stage = Stage(world)
    await stage.besiege(CONNECTIONS, first=0)
    assert stage.wrong == []
    assert TAGS - set(stage.tried) == set()
    assert stage.said["refused"] > 50
    assert stage.said["ignored"] > 50
    assert {event.about for event in stage.refusals()} == {"connect", "offer", "report"}
