"""The disk under the hub's data folder, looked at when it is asked."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.edge.world import World


async def read(world: World) -> dict[str, object]:
    async with world.client() as http:
        found = await http.get("/api/v1/disk")
    assert found.status_code == 200, found.text
    told: dict[str, object] = found.json()
    return told


async def test_the_disk_of_the_data_folder_is_told(world: World, tmp_path: Path) -> None:
    told = await read(world)
    whole = shutil.disk_usage(tmp_path).total
    assert (told["folder"], told["whole_bytes"], told["fault"]) == (str(tmp_path), whole, "")
    free = told["free_bytes"]
    assert isinstance(free, int)
    assert 0 <= free < whole


async def test_a_disk_that_cannot_be_read_is_said(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_folder: Path) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(shutil, "disk_usage", broken)
    told = await read(world)
    assert (told["free_bytes"], told["whole_bytes"], told["fault"]) == (None, None, "Permission denied")
    async with world.client() as http:
        assert "starloom_disk_free_bytes" not in (await http.get("/metrics")).text
