"""The figures of a device: from the system, within what can be, said again and again."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from starloom_agent.work import vitals
from starloom_protocol.wire.frames import VITALS_EVERY_S


def test_figures_are_due_at_once_then_at_their_pace_and_anew_for_each_session() -> None:
    now = [100.0]
    clock = vitals.VitalClock(lambda: now[0])
    assert [clock.is_due(), clock.is_due()] == [True, False]
    now[0] += VITALS_EVERY_S
    assert [clock.is_due(), clock.is_due()] == [True, False]
    clock.begin()
    assert clock.is_due()


def test_this_machine_has_load_memory_and_disk(tmp_path: Path) -> None:
    frame = vitals.read_vitals(tmp_path)
    assert 0 <= frame.load_percent <= vitals.LOAD_MOST
    assert 0 < frame.memory_percent <= 100
    assert 0 <= frame.disk_percent <= 100


def test_a_disk_is_as_full_as_df_and_the_tools_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(total=252, used=60, free=43))
    assert vitals.read_vitals(tmp_path).disk_percent == 59


def test_what_the_system_does_not_tell_is_left_unsaid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vitals, "own_battery", lambda: None)
    monkeypatch.setattr(vitals, "memory_bytes", lambda: None)
    monkeypatch.delattr("os.getloadavg")
    frame = vitals.read_vitals(tmp_path / "gone")
    assert frame == type(frame)()


def test_more_load_than_a_hub_believes_is_said_as_the_most(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.getloadavg", lambda: (1e6, 0.0, 0.0))
    assert vitals.read_vitals(tmp_path).load_percent == vitals.LOAD_MOST
