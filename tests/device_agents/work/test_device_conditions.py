"""What a device says of its battery and its owner: in steps, only when it changed, nothing without one."""

from __future__ import annotations

from pathlib import Path

from starloom_agent.policy.courtesy import CourtesyRule
from starloom_agent.work.device_conditions import HEARD_WITHIN_S, Conditions, battery
from starloom_protocol.vocabulary import Courtesy
from tests.device_agents.platforms.test_batteries import supply


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


def test_a_clock_that_is_off_is_told_in_steps_until_it_is_right(tmp_path: Path) -> None:
    now, wall = [100.0], [1_000_000.0]
    conditions = Conditions(lambda: now[0], tmp_path, tmp_path / "none", wall=lambda: wall[0])
    assert conditions.greeting() == [], "no hub has told its time"
    conditions.take_hub_time(1_000_000_000)
    assert conditions.greeting() == []
    now[0], wall[0] = 160.0, 1_003_660.0
    assert conditions.changed()[0].facts == {"clock": "3600"}
    assert (conditions.clock_ahead_s, conditions.changed()) == (3600, [])
    wall[0] += 50
    assert conditions.changed() == [], "it runs off slowly"
    wall[0] += 20
    assert conditions.changed()[0].facts == {"clock": "3670"}
    assert conditions.greeting()[0].facts == {"clock": "3670"}, "a hub that is met again hears of it again"
    wall[0] = 1_000_060.0
    assert conditions.changed()[0].facts == {"clock": ""}
    assert (conditions.clock_ahead_s, conditions.changed()) == (0, [])
    wall[0] -= 7200
    assert conditions.changed()[0].facts == {"clock": "-7200"}


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


def test_a_rule_is_told_as_its_outcome_and_cause_alone(tmp_path: Path) -> None:
    now, minute = [0.0], [12 * 60]
    conditions = Conditions(lambda: now[0], tmp_path, tmp_path / "none", lambda: minute[0])
    conditions.rule = CourtesyRule(when_in_use=Courtesy.NO, quiet_hours="22:00-07:00")
    assert conditions.greeting()[0].facts == {"courtesy": "yes", "courtesy_why": ""}
    conditions.owner_is_here = True
    facts = conditions.changed()[0].facts
    assert facts == {"owner_present": "true", "courtesy": "no", "courtesy_why": "in_use"}
    assert conditions.changed() == []
    assert conditions.refusal() == "", "work that was on its way is done"
    now[0] += HEARD_WITHIN_S
    assert "wants no new work now" in conditions.refusal()
    minute[0] = 23 * 60
    quiet = {"courtesy": "no", "courtesy_why": "quiet_hours", "courtesy_until": "07:00"}
    assert conditions.changed()[0].facts == quiet
    conditions.owner_is_here, minute[0] = False, 12 * 60
    over = {"courtesy": "yes", "courtesy_why": "", "courtesy_until": ""}
    assert conditions.changed()[0].facts == {"owner_present": "false", **over}
    assert conditions.refusal() == ""
    conditions.rule = None
    assert conditions.changed()[0].facts == {"courtesy": "", "courtesy_why": ""}
    assert conditions.changed() == []


def test_work_that_a_hub_gives_before_it_hears_of_a_no_is_done_after_each_welcome(tmp_path: Path) -> None:
    now = [0.0]
    conditions = Conditions(lambda: now[0], tmp_path, tmp_path / "none", lambda: 23 * 60)
    conditions.rule = CourtesyRule(quiet_hours="22:00-07:00")
    conditions.greeting()
    now[0] += HEARD_WITHIN_S
    assert "wants no new work now" in conditions.refusal()
    assert conditions.greeting()[0].facts["courtesy"] == "no"
    assert conditions.refusal() == "", "the hub was restarted and gave work at the welcome"
    now[0] += HEARD_WITHIN_S
    assert "wants no new work now" in conditions.refusal()
