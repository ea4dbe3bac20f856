"""What a device says of its battery and its owner: in steps, only when it changed, nothing without one."""

from __future__ import annotations

from pathlib import Path

from starloom_agent.work.device_conditions import Conditions, battery


def supply(folder: Path, name: str, **words: str) -> None:
    (folder / name).mkdir(exist_ok=True)
    for word, value in words.items():
        (folder / name / word).write_text(value + "\n")


def test_the_machines_own_battery_is_told_in_steps(tmp_path: Path) -> None:
    assert battery(tmp_path / "none") == {}
    supply(tmp_path, "AC", type="Mains")
    assert battery(tmp_path) == {}
    supply(tmp_path, "A0-mouse", type="Battery", scope="Device", capacity="3", status="Discharging")
    assert battery(tmp_path) == {}
    supply(tmp_path, "BAT0", type="Battery", capacity="57", status="Discharging")
    assert battery(tmp_path) == {"battery": "50", "charging": "false"}
    supply(tmp_path, "BAT0", capacity="100", status="Full")
    assert battery(tmp_path) == {"battery": "100", "charging": "true"}


def test_only_a_change_is_said_again(tmp_path: Path) -> None:
    now = [0.0]
    supply(tmp_path, "BAT0", type="Battery", capacity="57", status="Discharging")
    conditions = Conditions(lambda: now[0], tmp_path, tmp_path)
    assert conditions.greeting()[0].facts["battery"] == "50"
    supply(tmp_path, "BAT0", capacity="19")
    assert conditions.changed() == []
    now[0] = 31.0
    (frame,) = conditions.changed()
    assert frame.facts == {"battery": "10", "charging": "false"}
    now[0] = 62.0
    assert conditions.changed() == []
    assert Conditions(lambda: 0.0, tmp_path, tmp_path / "none").greeting() == []


def test_an_owner_who_comes_and_goes_is_told(tmp_path: Path) -> None:
    conditions = Conditions(lambda: 0.0, tmp_path, tmp_path / "none")
    conditions.owner_is_here = True
    assert conditions.greeting()[0].facts == {"owner_present": "true"}
    assert conditions.changed() == []
    conditions.owner_is_here = False
    assert conditions.changed()[0].facts == {"owner_present": "false"}
    conditions.owner_is_here = True
    conditions.changed()
    conditions.owner_is_here = None
    assert conditions.changed()[0].facts == {"owner_present": "false"}, "nothing can tell any more"
    assert conditions.changed() == []
