"""A store on a Redis of its own, which ends with its test."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.store.harness import RedisWorld


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[RedisWorld]:
    async with RedisWorld(tmp_path) as world:
        yield world
