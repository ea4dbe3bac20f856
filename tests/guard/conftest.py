from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest_asyncio

from tests.edge.world import World, a_world
from tests.store.conftest import world as redis_world

__all__ = ["redis_world", "world"]


@pytest_asyncio.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with a_world(tmp_path, lab=True) as opened:
        yield opened
