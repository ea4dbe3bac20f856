"""Courtesy: what a device takes while somebody uses it, on battery and in quiet hours; and rules that are wrong."""

from __future__ import annotations

from typing import Any

import pytest

from starloom_agent.policy.commands import PolicyFault
from starloom_agent.policy.courtesy import CourtesyRule, Seen, courtesy_now, rule_of
from starloom_agent.policy.policy import Policy, policy_of
from starloom_protocol.vocabulary import Courtesy, CourtesyCause

NO, LESS, YES = Courtesy.NO, Courtesy.LESS, Courtesy.YES
NIGHT = CourtesyRule(quiet_hours="22:00-07:00")
BATTERY = CourtesyRule(on_battery_below=30)
NOON = 12 * 60


@pytest.mark.parametrize(
    ("rule", "seen", "minute", "expected"),
    [
        (CourtesyRule(), Seen(in_use=True), NOON, (LESS, CourtesyCause.IN_USE)),
        (CourtesyRule(when_in_use=NO), Seen(in_use=True), NOON, (NO, CourtesyCause.IN_USE)),
        (CourtesyRule(when_in_use=YES), Seen(in_use=True), NOON, (YES, None)),
        (CourtesyRule(when_in_use=NO), Seen(in_use=None), NOON, (YES, None)),
        (
            CourtesyRule(on_battery_below=30),
            Seen(battery_percent=20, charging=False),
            NOON,
            (NO, CourtesyCause.BATTERY),
        ),
        (CourtesyRule(on_battery_below=30), Seen(battery_percent=30, charging=False), NOON, (YES, None)),
        (CourtesyRule(on_battery_below=30), Seen(battery_percent=20, charging=True), NOON, (YES, None)),
        (CourtesyRule(on_battery_below=30), Seen(), NOON, (YES, None)),
        (NIGHT, Seen(), 22 * 60, (NO, CourtesyCause.QUIET_HOURS)),
        (NIGHT, Seen(), 6 * 60 + 59, (NO, CourtesyCause.QUIET_HOURS)),
        (NIGHT, Seen(), 7 * 60, (YES, None)),
        (CourtesyRule(quiet_hours="09:00-10:00"), Seen(in_use=True), 9 * 60, (NO, CourtesyCause.QUIET_HOURS)),
        (CourtesyRule(quiet_hours="09:00-10:00"), Seen(in_use=True), 10 * 60, (LESS, CourtesyCause.IN_USE)),
    ],
)
def test_courtesy_follows_from_the_rule_and_the_condition(
    rule: CourtesyRule, seen: Seen, minute: int, expected: tuple[Courtesy, CourtesyCause | None]
) -> None:
    assert courtesy_now(rule, seen, minute) == expected


def test_a_rule_is_written_and_read_as_it_is() -> None:
    rule = CourtesyRule(when_in_use=NO, on_battery_below=30, quiet_hours="22:00-07:00")
    policy = Policy(courtesy=rule)
    assert policy_of(policy.plain()) == policy
    assert rule_of({"on_battery_below": 30, "when_in_use": "no", "quiet_hours": "22:00-07:00"}) == rule
    assert "courtesy" not in Policy().plain(), "a policy without a rule keeps its hash"


@pytest.mark.parametrize(
    ("plain", "place"),
    [
        ([], "courtesy"),
        ({"heat": 3}, "courtesy.heat"),
        ({"when_in_use": "never"}, "courtesy.when_in_use"),
        ({"on_battery_below": 101}, "courtesy.on_battery_below"),
        ({"on_battery_below": "-1"}, "courtesy.on_battery_below"),
        ({"quiet_hours": "25:00-07:00"}, "courtesy.quiet_hours"),
        ({"quiet_hours": 7}, "courtesy.quiet_hours"),
    ],
)
def test_a_wrong_rule_is_refused_with_its_place(plain: Any, place: str) -> None:
    with pytest.raises(PolicyFault, match=f"^{place}: "):
        policy_of({"courtesy": plain})


def test_quiet_hours_are_taken_away_by_off_or_nothing_and_a_wrong_value_names_both() -> None:
    assert [rule_of({"quiet_hours": word}).quiet_hours for word in ("off", "")] == ["", ""]
    with pytest.raises(PolicyFault, match=r"is not like 22:00-07:00, nor off or \"\" for none"):
        rule_of({"quiet_hours": "never"})
