"""The battery of the machine: found by its kind and not by its name, and one that cannot be is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from starloom_agent.platforms.batteries import Battery, own_battery


def supply(folder: Path, name: str, **words: str) -> None:
    (folder / name).mkdir(exist_ok=True)
    for word, value in words.items():
        (folder / name / word).write_text(value + "\n")


@pytest.mark.parametrize("name", ["BAT0", "CMB0", "macsmc-battery"])
def test_a_battery_is_known_by_its_kind(name: str, tmp_path: Path) -> None:
    supply(tmp_path, "A0-mouse", type="Battery", scope="Device", capacity="3", status="Discharging")
    supply(tmp_path, "AC", type="Mains", capacity="100")
    supply(tmp_path, name, type="Battery", scope="System", capacity="57", status="Discharging")
    assert own_battery(tmp_path) == Battery(57, charging=False)


@pytest.mark.parametrize("capacity", ["", "-1", "101", "1000000000", "half"])
def test_a_charge_that_cannot_be_is_none(capacity: str, tmp_path: Path) -> None:
    supply(tmp_path, "BAT0", type="Battery", capacity=capacity, status="Discharging")
    assert own_battery(tmp_path) is None
    assert own_battery(tmp_path / "none") is None
