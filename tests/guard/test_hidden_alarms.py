"""T195: a device that lies takes away, raises or floods the alarms of a schedule that watches others too."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from starloom.planner.recipes.catalogue import load_catalogue, plan_recipe
from starloom_protocol.records.edits import LoweredPlan
from starloom_protocol.records.entities import Condition, SentenceSpec
from starloom_protocol.records.specs import SentenceValue
from starloom_protocol.vocabulary import NotifyWhen, Op
from tests.builders import plan, task
from tests.core.clockwork import Clockwork
from tests.planner.fleets import sample

WELL = {"rows": [{"device": "nas", "severity": 1, "why": ""}], "lead": "fine"}
TROUBLE = {"rows": [{"device": "nas", "severity": 2, "why": "its disk fails"}], "lead": "nas"}


def watch() -> LoweredPlan:
    """Return a plan that tells of the worst row of a table, in which each device has one."""
    values = {name: SentenceValue(output=f"/rows/0/{name}", source="table") for name in ("device", "why")}
    trouble = SentenceSpec(
        alarm=True,
        condition=Condition(op=Op.GE, output="/rows/0/severity", value="2"),
        source="table",
        text="There is trouble on {device}: {why}.",
        values=values,
    )
    fine = Condition(op=Op.EQ, output="/lead", value='"fine"')
    well = SentenceSpec(condition=fine, source="table", text="Nothing wrong was seen.")
    return replace(plan(task("table"), name="Health"), sentences=[trouble, well])


class Watched(Clockwork):
    def __init__(self) -> None:
        super().__init__()
        self.save(watch(), notify=NotifyWhen.FAILURE)
        self.hour = 0

    def fires(self, value: Any) -> str:
        """Run the next firing with this table; return the news, which is then seen."""
        self.hour += 1
        self.turn_to(f"2026-06-01T{self.hour:02}:00")
        self.run(self.firings()[-1], value)
        return self.news()


def worst(**row: Any) -> dict[str, Any]:
    """Return a table in which the row of a device that lies stands before the one in trouble."""
    return {"rows": [{"device": "evil", "severity": 99, **row}, *TROUBLE["rows"]], "lead": "evil; nas"}


LIES: dict[str, dict[str, Any]] = {
    "no reason": {},
    "an empty reason": {"why": ""},
    "a list": {"why": ["fine"]},
    "a number beyond use": {"why": 10**400},
    "no name": {"device": "", "why": "x"},
}


@pytest.mark.parametrize("lie", LIES)
def test_t195_a_row_that_cannot_be_told_takes_no_alarm_away(lie: str) -> None:
    watched = Watched()
    assert watched.fires(WELL) == ""
    assert watched.fires(worst(**LIES[lie])), "trouble begins, and is told"
    assert watched.alarm()
    assert "well again" not in watched.fires(worst(**LIES[lie]))
    assert watched.alarm()
    assert watched.fires(WELL).startswith("it is well again.")


@pytest.mark.parametrize("why", ["Nothing wrong was seen.", "it is well again.", "all is well.\nRestart everything"])
def test_t195_a_reason_passes_for_no_sentence_of_the_hub(why: str) -> None:
    watched = Watched()
    told = watched.fires(worst(why=why))
    assert told.startswith("There is trouble on 'evil': '"), told
    assert "\n" not in told


def test_t195_a_device_that_flaps_is_told_of_in_one_notice() -> None:
    watched = Watched()
    for number in range(12):
        watched.hour += 1
        watched.turn_to(f"2026-06-01T{watched.hour:02}:00")
        watched.run(watched.firings()[-1], TROUBLE if number % 2 else WELL)
    notice = watched.schedule().notice
    assert notice is not None
    assert (notice.count, len(notice.text) < 500) == (12 - 1, True)


def test_t195_an_alarm_ends_with_its_schedule() -> None:
    watched = Watched()
    watched.fires(TROUBLE)
    name = watched.schedule().id
    assert not watched.order("remove").faults
    assert not watched.shard.fleet.schedules
    assert not [timer for timer in watched.timers if timer.entity == name and timer.due_ms <= watched.now_ms]


def test_t195_a_recipe_that_watches_many_says_when_there_is_trouble() -> None:
    """Without a condition of its own an alarm hangs on values, which the device of the worst row chooses."""
    catalogue = load_catalogue()
    for name in ("disk-space", "fleet-health", "site-check"):
        recipe = catalogue.get(name)
        assert recipe is not None
        planned = plan_recipe(recipe, {"url": "http://127.0.0.1:9/"} if name == "site-check" else {}, sample()).plan
        assert planned is not None, name
        alarms = [one for one in planned.sentences if one.alarm]
        assert alarms, name
        assert all(one.condition is not None for one in alarms), name
