"""The contract file is the OpenAPI document of now; the generated clients follow it."""

from __future__ import annotations

from tests.edge.contract import CONTRACT, text_of
from tests.edge.world import World


async def test_the_contract_is_fresh(world: World) -> None:
    assert CONTRACT.read_text(encoding="utf-8") == text_of(world.app), "a route changed: run `make gen`"
