"""The contract suite on both stores."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.store.contract import StoreContract
from tests.store.harness import MemoryWorld, World


class TestMemory(StoreContract):
    @pytest.fixture
    async def world(self) -> AsyncIterator[World]:
        world = MemoryWorld()
        yield world
        await world.close()


class TestRedis(StoreContract):
    """Its world is that of `conftest`."""
