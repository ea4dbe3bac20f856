"""The contract suite on both stores."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.store.contract import StoreContract
from tests.store.harness import MemoryWorld, RedisWorld, World


class TestMemory(StoreContract):
    @pytest.fixture
    async def world(self) -> AsyncIterator[World]:
        world = MemoryWorld()
        yield world
        await world.close()


class TestRedis(StoreContract):
    @pytest.fixture
    async def world(self, tmp_path: Path) -> AsyncIterator[World]:
        world = RedisWorld(tmp_path)
        await world.start()
        yield world
        await world.close()
