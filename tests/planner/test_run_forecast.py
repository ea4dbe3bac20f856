"""Forecasts of a running constellation: its end, its deadline, *what if*, where they are silent, and their bounds."""

from __future__ import annotations

from typing import Any

import pytest

from starloom.core.placement.pace import key_of, with_sample
from starloom.core.placement.queue_position import Held, held_by_others
from starloom.core.state.apply import load
from starloom.core.state.inputs import ConditionReceived, EditProposed
from starloom.core.state.model import Constellation
from starloom.planner.fleet import FleetSnapshot
from starloom.planner.forecast.plans import Change
from starloom.planner.forecast.runs import STEPS_MOST, EditRefused, RunAsked, run_forecast
from starloom_protocol.api.previews import RunCourse, RunWhatIf
from starloom_protocol.records.edits import AddTask, RemoveTask
from starloom_protocol.records.entities import ForEach, Policy
from starloom_protocol.records.fleet import Pace
from starloom_protocol.stream.feed import FLEET
from starloom_protocol.vocabulary import Approval, Op
from tests.builders import Driver, plan, task, when

TAKES_MS = 10_000
FEW = 240
"""Tasks that the plays of a test have in all, unless it is about their number."""


def driver(*devices: str, slots: int = 1, calls: int = 5, tool: str = "t.pure") -> Driver:
    """A fleet whose devices are known to take ten seconds for a call."""
    made = Driver(*devices, slots=slots)
    rows = {}
    for name in devices:
        row = Pace(device=f"d-{name}", last_ms=0, tool=tool)
        for number in range(calls):
            row = with_sample(row, TAKES_MS + number, 10, 0)
        rows[f"pace/{key_of(tool, row.device, 0)}"] = row
    load(made.shard, FLEET, 0, dict(rows))
    return made


def asked(made: Driver, name: str = "c1", **more: Any) -> RunWhatIf:
    fleet = made.shard.fleet
    view = FleetSnapshot.of(fleet.devices, fleet.offers, paces=fleet.paces)
    found = made.shard.constellations[name]
    counted = more.pop("counted", lambda _steps: None)
    more.setdefault("steps", FEW)
    return run_forecast(RunAsked(name, found.seq, made.now_ms, made.folded[name], **more), view, counted)


def now_of(found: RunWhatIf) -> RunCourse:
    assert found["now"] is not None, found["said"]
    return found["now"]


def then_of(found: RunWhatIf) -> RunCourse:
    assert found["then"] is not None, found["said"]
    return found["then"]


def around(course: RunCourse, expected_ms: int) -> None:
    """Each of two middling times may be off; a third is more than that."""
    assert expected_ms * 0.75 < course["end_ms"] < expected_ms * 1.35 + 1


def chain_of(length: int) -> Any:
    return plan(task("t0"), *(task(f"t{n}", f"x=t{n - 1}") for n in range(1, length)))


def test_the_rest_of_a_run_begins_with_what_runs_now() -> None:
    made = driver("one")
    made.submit(chain_of(3))
    begun_ms = made.now_ms
    made.now_ms += 4_000
    found = now_of(asked(made))
    assert [one["task"] for one in found["tasks"]] == ["t0", "t1", "t2"]
    assert found["tasks"][0]["begin_ms"] == begun_ms
    assert found["tasks"][0]["device"] == "d-one"
    assert abs(found["tasks"][2]["end_ms"] - begun_ms - 3 * TAKES_MS) < 100
    assert found["low_ms"] is not None
    assert found["high_ms"] is not None
    assert made.now_ms < found["low_ms"] < found["end_ms"] < found["high_ms"]


def test_what_has_ended_is_not_played_again() -> None:
    made = driver("one")
    made.submit(chain_of(3))
    made.now_ms += TAKES_MS
    made.result(made.take()[0])
    found = now_of(asked(made))
    assert [one["task"] for one in found["tasks"]] == ["t1", "t2"]
    assert abs(found["tasks"][1]["end_ms"] - made.now_ms - 2 * TAKES_MS) < 100


def test_a_question_changes_nothing() -> None:
    made = driver("one", "two")
    found = made.submit(plan(*(task(f"t{n}") for n in range(6))))
    before = (dict(made.folded["c1"]), found.seq, dict(made.shard.queued), made.shard.fleet.used)
    first = asked(made, change=Change(without=("d-one",)), words="Without one")
    assert asked(made, change=Change(without=("d-one",)), words="Without one") == first
    assert (made.folded["c1"], found.seq, made.shard.queued, made.shard.fleet.used) == before
    made.folded_equals_state()


def test_a_deadline_has_a_chance_that_sinks_as_time_goes_by() -> None:
    made = driver("one")
    made.submit(chain_of(4), deadline_s=60)
    early = now_of(asked(made))["chance"]
    made.now_ms += 55_000
    late = now_of(asked(made))["chance"]
    assert early is not None
    assert late is not None
    assert early > 0.8 > 0.2 > late
    made.submit(chain_of(1), "c2")
    assert now_of(asked(made, "c2"))["chance"] is None


def test_a_device_that_is_off_moves_its_tasks_and_the_end() -> None:
    made = driver("one", "two")
    made.submit(plan(*(task(f"t{n}") for n in range(8))))
    found = asked(made, change=Change(without=("d-one",)), words="Without one")
    now, then = now_of(found), then_of(found)
    assert {one["device"] for one in now["tasks"]} == {"d-one", "d-two"}
    assert {one["device"] for one in then["tasks"]} == {"d-two"}
    assert then["end_ms"] - made.now_ms > 1.5 * (now["end_ms"] - made.now_ms)
    assert found["said"].startswith("Without one, it should end about ")
    assert found["said"].endswith(" later.")


def test_another_device_like_one_makes_the_end_earlier() -> None:
    made = driver("one")
    made.submit(plan(*(task(f"t{n}") for n in range(8))))
    found = asked(made, change=Change(copies=("d-one",)), words="With a copy of one")
    assert "d-one-copy" in {one["device"] for one in then_of(found)["tasks"]}
    assert then_of(found)["end_ms"] < now_of(found)["end_ms"]
    assert found["said"].endswith(" earlier.")


def test_a_copy_that_can_take_nothing_changes_nothing() -> None:
    made = driver("one")
    made.submit(plan(task("a", device="one"), task("b", "x=a", device="one")))
    made.now_ms += 2 * TAKES_MS
    found = asked(made, change=Change(copies=("d-one",)), words="With a copy of one")
    assert found["now"] == found["then"]
    assert found["said"] == "With a copy of one, it should end at about the same time."


def test_work_that_may_not_be_repeated_has_no_end_without_its_device() -> None:
    made = driver("one", "two", tool="t.never")
    made.submit(plan(task("a", tool="t.never"), policy=Policy(approval=Approval.NEVER)))
    device = made.take()[0].device
    found = asked(made, change=Change(without=(device,)), words="Without it")
    assert found["then"] is None
    assert "may not be repeated, so a person would have to decide" in found["said"]


def test_an_edit_is_judged_and_not_made() -> None:
    made = driver("one")
    constellation = made.submit(chain_of(2))

    def edit(*operations: Any) -> EditProposed:
        return EditProposed(
            id="e", at_ms=made.now_ms, by="person:ann", constellation="c1", base_version=1, operations=list(operations)
        )

    found = asked(made, edit=edit(AddTask(spec=task("t9", "x=t1"))), words="With this edit")
    assert [one["task"] for one in then_of(found)["tasks"]] == ["t0", "t1", "t9"]
    assert now_of(found)["end_ms"] < then_of(found)["end_ms"]
    assert constellation.head.version == 1
    assert "t9" not in constellation.specs
    with pytest.raises(EditRefused, match="t0"):
        asked(made, edit=edit(RemoveTask(id="t0")), words="With this edit")


def test_slots_of_others_are_busy_until_their_work_ends() -> None:
    made = driver("one")
    made.submit(chain_of(1), "c2")
    made.submit(chain_of(1))
    held = held_by_others(made.shard, "c1")
    assert held == [Held("d-one", made.now_ms, TAKES_MS)] or abs(held[0].expects_ms - TAKES_MS) < 100
    alone, beside = now_of(asked(made)), now_of(asked(made, occupied=held))
    assert abs(alone["tasks"][0]["begin_ms"] - made.now_ms) < 10
    assert beside["tasks"][0]["begin_ms"] - made.now_ms > 0.9 * TAKES_MS


def test_a_list_over_devices_is_played_before_it_is_expanded() -> None:
    made = driver("one", "two")
    made.submit(plan(task("a"), task("g", "x=a", for_each=ForEach(source="a", output="/l"))))
    assert asked(made)["said"] == "A result decides how many tasks it has, so there is no expected end."


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ((task("a"), task("b", "x=a", person="Go on?")), "It will ask a person"),
        ((task("a"), task("b"), when("a>b", "/x", Op.EQ, 1)), "A result decides which tasks run"),
        ((task("a", tool="t.idem"),), "t.idem ran too seldom for an estimate"),
        ((task("a"), task("b", "x=a", device="nowhere")), "No device that is there can take all of its open tasks"),
    ],
    ids=["a person", "a branch", "an unknown tool", "no device"],
)
def test_a_run_has_no_forecast_where_it_would_be_a_guess(parts: tuple[Any, ...], said: str) -> None:
    made = driver("one")
    made.submit(plan(*parts), deadline_s=600)
    found = asked(made)
    assert found["now"] is None
    assert found["said"].startswith(said)


def test_steps_without_a_figure_are_named_and_the_rest_is_told() -> None:
    made = driver("one")
    made.submit(plan(task("a"), task("b", "x=a"), task("store", "x=b", tool="t.idem")), deadline_s=600)
    found = asked(made, change=Change(copies=("d-one",)), words="With a copy of one")
    assert abs(now_of(found)["end_ms"] - made.now_ms - 2 * TAKES_MS) < 2_000
    assert now_of(found)["left_out"] == ["store"]
    assert [one["task"] for one in now_of(found)["tasks"]] == ["a", "b"]
    assert now_of(found)["chance"] is None
    lacking = "Not in it: store, whose tool ran too seldom for a figure; three calls are enough."
    assert found["said"] == f"With a copy of one, it should end at about the same time. {lacking}"
    assert asked(made)["said"].endswith(f" s. {lacking}")


def test_a_list_and_a_running_task_without_a_figure_are_left_out() -> None:
    made = driver("one", "two")
    made.submit(plan(task("a"), task("b", tool="t.idem"), task("g", tool="t.idem", for_each=ForEach(times=3))))
    found = now_of(asked(made))
    assert sorted(found["left_out"]) == ["b", "g"]
    assert [one["task"] for one in found["tasks"]] == ["a"]


def test_a_device_in_quiet_hours_is_named_with_the_tasks_that_wait() -> None:
    made = driver("one")
    facts = {"courtesy": "no", "courtesy_why": "quiet_hours", "courtesy_until": "07:00"}
    made.do(ConditionReceived(id=made.ident(), by="device:d-one", device="d-one", facts=facts, session=1))
    made.submit(chain_of(1), deadline_s=600)
    said = asked(made)["said"]
    assert "its open tasks: t0, so there is no expected end" in said
    assert said.endswith("one takes no new work, because its quiet hours last until 07:00 by its clock.")


def test_a_paused_and_an_ended_run_have_none() -> None:
    made = driver("one")
    made.submit(chain_of(1))
    made.control("pause")
    assert asked(made)["said"] == "It is paused, so there is no expected end."
    made.control("resume")
    made.run()
    assert asked(made)["said"] == "It has ended."


def test_a_branch_that_is_decided_no_longer_matters() -> None:
    made = driver("one")
    made.submit(plan(task("a"), task("b"), when("a>b", "/x", Op.EQ, 1)))
    made.result(made.take()[0], {"x": 1})
    found = asked(made)
    assert found["now"] is None or [one["task"] for one in found["now"]["tasks"]] == ["b"]


def test_five_thousand_open_tasks_are_played_once_and_within_a_bound() -> None:
    made = driver("one", "two", slots=50)
    made.whole = False
    made.submit(plan(*(task(f"t{n}") for n in range(5_000))), deadline_s=600)
    steps: list[int] = []
    found = now_of(asked(made, counted=steps.append, steps=STEPS_MOST))
    assert (found["plays"], found["low_ms"], found["chance"]) == (0, None, None)
    assert len(found["tasks"]) == 5_000
    assert steps[0] <= 5_000 + 1_000
    small = driver("one")
    small.submit(chain_of(20))
    now_of(asked(small, counted=steps.append, steps=STEPS_MOST))
    assert steps[1] <= STEPS_MOST + 1_000


def test_the_copy_is_the_same_before_every_play() -> None:
    """Plays are undone: a play after a hundred others gives what it gives first."""
    made = driver("one", "two", slots=2)
    made.submit(plan(task("g", for_each=ForEach(times=6, max_parallel=2))))
    first = asked(made)
    assert now_of(first) == now_of(asked(made))
    found: Constellation = made.shard.constellations["c1"]
    assert len(now_of(first)["tasks"]) == len(found.tasks) == 6
