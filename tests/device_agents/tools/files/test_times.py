"""A copy has the time of its original, and an undo brings back the file that was there with its own time."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest

from tests.device_agents.tools.conftest import Device

THEN = 1_000_000_000
FORMER = 900_000_000


def _write(device: Device, row: dict[str, Any], clash: str) -> Any:
    return device.call("fs.write", files=[row], under="in", on_clash=clash)


def _get(device: Device, row: dict[str, Any], clash: str) -> Any:
    return device.call("artifact.get", artifact=row, to="in/file", on_clash=clash)


BRINGERS: list[Callable[..., Any]] = [_write, _get]


def _sent(device: Device, mtime_s: float = THEN) -> dict[str, Any]:
    os.utime(device.write("from/file", "new"), (mtime_s, mtime_s))
    (row,) = device.call("artifact.put", paths=["from/file"])["files"]
    found: dict[str, Any] = row
    return found


@pytest.mark.parametrize("bring", BRINGERS)
@pytest.mark.parametrize("mtime_s", [THEN, THEN + 0.123456789, 4_000_000_000, -86_400])
def test_a_copy_has_the_time_of_its_original(device: Device, bring: Callable[..., Any], mtime_s: float) -> None:
    found = bring(device, _sent(device, mtime_s), "rename")
    assert found.get("changed", []) == []
    assert (device.folder / "in/file").stat().st_mtime == int(mtime_s)


@pytest.mark.parametrize("bring", BRINGERS)
def test_an_undo_brings_back_the_former_time(device: Device, bring: Callable[..., Any]) -> None:
    old = device.write("in/file", "old")
    os.utime(old, (FORMER, FORMER))
    found = bring(device, _sent(device), "replace")
    assert (old.read_text(), old.stat().st_mtime) == ("new", THEN)
    device.call("fs.trash", paths=found["added"])
    assert (old.read_text(), old.stat().st_mtime) == ("old", FORMER)


def test_a_file_that_is_there_and_equal_keeps_its_time(device: Device) -> None:
    here = device.write("in/file", "new")
    os.utime(here, (FORMER, FORMER))
    found = _write(device, _sent(device), "rename")
    assert (found["kept"], found["changed"], here.stat().st_mtime) == (1, [], FORMER)


@pytest.mark.parametrize("bring", BRINGERS)
@pytest.mark.parametrize("mtime_s", [2**62, -(2**62)])
def test_a_time_that_no_system_stores_stops_no_copy(device: Device, bring: Callable[..., Any], mtime_s: int) -> None:
    found = bring(device, {**_sent(device), "mtime_s": mtime_s}, "rename")
    assert (device.folder / "in/file").read_text() == "new"
    if bring is _write:
        assert [row["why"] for row in found["changed"]] == ["this device does not keep its time"]


def test_a_copy_onto_another_file_system_has_the_time(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("starloom_agent.toolkit.beneath._made_alike", lambda *_: False)
    _write(device, _sent(device), "rename")
    assert (device.folder / "in/file").stat().st_mtime == THEN


def test_a_listed_time_is_read_from_the_file_again(device: Device) -> None:
    """The row may be old: the file is sent as it is now, and so is its time."""
    os.utime(device.write("from/file", "new"), (THEN, THEN))
    (row,) = device.call("artifact.put", paths=[{"path": "from/file", "mtime_s": FORMER}])["files"]
    assert row["mtime_s"] == THEN
