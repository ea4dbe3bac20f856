"""Days until a disk is full, from what was free before."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

import pytest

from starloom_agent.home.directory import write_private
from starloom_agent.toolkit.files import filling
from starloom_agent.tools.system import disk
from tests.device_agents.tools.conftest import Device

DAY_S = 24 * 3600
GIB = 1024**3


def test_the_first_day_knows_nothing(tmp_path: Path) -> None:
    samples = filling.noted(tmp_path, "1", total=100 * GIB, free=50 * GIB, now_s=1000)
    assert samples == [(1000, 50 * GIB)]
    assert filling.outlook(samples) == {
        "days_left": None,
        "outlook": "measured for less than a day; ask again tomorrow",
    }


def test_a_disk_that_fills_up_says_in_how_many_days(tmp_path: Path) -> None:
    for day in range(11):
        samples = filling.noted(tmp_path, "1", total=100 * GIB, free=(50 - day) * GIB, now_s=day * DAY_S)
    assert filling.outlook(samples) == {"days_left": 40, "outlook": "1024 MiB more a day, over 10 days"}
    assert filling.outlook([(0, GIB), (DAY_S, GIB)])["outlook"] == "not filling up, over a day"
    assert filling.outlook([(0, GIB), (2 * DAY_S, 2 * GIB)])["days_left"] is None
    slow = filling.outlook([(0, 100_000 * GIB), (DAY_S, 100_000 * GIB - 2 * 1024**2)])
    assert slow == {"days_left": None, "outlook": "2 MiB more a day, over a day"}


def test_one_measurement_an_hour_is_kept_and_only_of_thirty_days(tmp_path: Path) -> None:
    filling.noted(tmp_path, "1", total=10, free=5, now_s=0)
    soon = filling.noted(tmp_path, "1", total=10, free=4, now_s=60)
    assert soon == [(0, 5), (60, 4)]
    assert filling.noted(tmp_path, "1", total=10, free=3, now_s=3600) == [(0, 5), (3600, 3)]
    assert filling.noted(tmp_path, "1", total=10, free=2, now_s=31 * DAY_S) == [(31 * DAY_S, 2)]


def test_another_disk_or_size_begins_anew_and_a_clock_set_back_is_no_history(tmp_path: Path) -> None:
    filling.noted(tmp_path, "1", total=10, free=5, now_s=DAY_S)
    assert filling.noted(tmp_path, "2", total=10, free=1, now_s=2 * DAY_S) == [(2 * DAY_S, 1)]
    assert filling.noted(tmp_path, "1", total=20, free=9, now_s=2 * DAY_S) == [(2 * DAY_S, 9)]
    assert filling.noted(tmp_path, "2", total=10, free=3, now_s=100) == [(100, 3)]


def test_a_damaged_note_begins_anew_and_disks_are_bounded(tmp_path: Path) -> None:
    (tmp_path / "disk-free.json").write_text("{half")
    for number in range(40):
        filling.noted(tmp_path, str(number), total=10, free=5, now_s=number)
    assert len((tmp_path / "disk-free.json").read_text().split("total")) - 1 == 32


def test_another_call_waits_until_a_measurement_is_noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []

    def writing(path: Path, data: bytes) -> None:
        other = os.open(tmp_path, os.O_RDONLY)
        with pytest.raises(BlockingIOError):
            fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.close(other)
        seen.append(path.name)
        write_private(path, data)

    monkeypatch.setattr(filling, "write_private", writing)
    for number in range(2):
        filling.noted(tmp_path, "1", total=10, free=5, now_s=number * 3600)
    assert seen == ["disk-free.json"] * 2
    with pytest.raises(FileNotFoundError):
        filling.noted(tmp_path / "gone", "1", total=10, free=5, now_s=0)


def test_the_tool_tells_of_it_where_the_agent_keeps_notes(
    device: Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "days_left" not in device.call("disk.usage")
    context = device.context()
    context.notes = tmp_path
    monkeypatch.setattr(disk, "_now_s", lambda: 0)
    assert disk.usage(context, disk.Usage())["days_left"] is None
    monkeypatch.setattr(disk, "_now_s", lambda: 3 * DAY_S)
    assert "over 3 days" in disk.usage(context, disk.Usage())["outlook"]
    context.notes = tmp_path / "not" / "there"
    assert disk.usage(context, disk.Usage())["outlook"] == "earlier measurements could not be kept"
    assert "could not be noted" in device.said.lines[-1]
