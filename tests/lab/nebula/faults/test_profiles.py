"""The draw of faults and of noise, and their moments: the same for the same seed, and of every kind over the tasks."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from starloom.lab.nebula.faults.profiles import (
    NOISE_SHARES,
    PROFILES,
    SHARES,
    ProfileUnknown,
    listed,
    noise_of,
    read_profiles,
    strikes,
)
from starloom.lab.nebula.task import all_tasks, chosen
from starloom.lab.nebula.world.checked_world import PLACE, AnswerSeen, CheckedWorld, calls_of, neutral, take_snapshot
from starloom.lab.nebula.world.devices import NAMES
from starloom.lab.nebula.world.files.ground import Ground
from starloom.lab.nebula.world.world_program import FOR_GOOD, MOMENT, NOISE, Refused, call, noise_at
from starloom_protocol.records.lab import CAN, FaultKind

pytestmark = pytest.mark.quick
TASKS = [task.id for task in all_tasks()]


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("P0", ("P0",)),
        ("P3,P1", ("P3", "P1")),
        ("P0..P5", tuple(PROFILES)),
        ("P4, P1..P2,P1", ("P4", "P1", "P2")),
    ],
)
def test_profiles_are_read_one_or_several(text: str, read: tuple[str, ...]) -> None:
    assert read_profiles(text) == read


@pytest.mark.parametrize(
    ("text", "said"), [("", "nothing is none of"), ("P0..", "nothing is none of"), ("p1", "p1 is")]
)
def test_what_is_no_profile_is_refused(text: str, said: str) -> None:
    with pytest.raises(ProfileUnknown, match=said):
        read_profiles(text)


def test_profiles_are_told_as_they_are_written() -> None:
    assert listed(("P0",)) == "P0"
    assert listed(("P0", "P3")) == "P0,P3"
    assert listed(tuple(PROFILES)) == "P0..P5"
    assert listed(("P2", "P1", "P0")) == "P2,P1,P0"


@pytest.mark.parametrize("profile", list(PROFILES))
def test_the_same_seed_draws_the_same_faults_and_each_can_happen(profile: str) -> None:
    for task in TASKS:
        drawn = strikes(profile, task, 1)
        assert drawn == strikes(profile, task, 1)
        assert len(drawn) == (0 if profile in ("P0", "P2") else 1)
        for strike in drawn:
            assert sorted(strike.order) == sorted(NAMES)
            assert strike.fault is None or strike.fault.kind in CAN[strike.fault.target]


def test_over_the_tasks_each_kind_share_and_device_is_drawn() -> None:
    drawn = [strike for task in TASKS for strike in strikes("P1", task, 1)]
    assert {strike.share for strike in drawn} == set(SHARES)
    assert {strike.fault.kind for strike in drawn if strike.fault} == {FaultKind.KILL, FaultKind.CUT}
    assert {strike.order[0] for strike in drawn} == set(NAMES)
    assert strikes("P1", TASKS[0], 1) != strikes("P1", TASKS[0], 2)


@pytest.mark.parametrize(
    ("share", "tasks", "reached"),
    [(0.1, 10, 1), (0.5, 10, 5), (0.9, 10, 9), (0.9, 3, 2), (0.9, 1, 0), (0.1, 3, 0)],
)
def test_a_fault_is_due_at_its_share_while_a_task_is_under_way(share: float, tasks: int, reached: int) -> None:
    strike = next(one for task in TASKS for one in strikes("P1", task, 1) if one.share == share)
    assert not strike.due(reached, tasks, 0)
    assert not strike.due(reached - 1, tasks, 1)
    assert strike.due(reached, tasks, 1)
    assert not strike.due(0, 0, 1)


def test_the_hub_can_be_hit_while_no_device_works() -> None:
    (strike,) = strikes("P4", TASKS[0], 1)
    assert strike.due(10, 10, 0)


def test_the_device_is_the_first_of_the_order_that_works() -> None:
    (strike,) = strikes("P3", TASKS[0], 1)
    assert strike.for_good
    assert strike.device({strike.order[3], strike.order[1]}) == strike.order[1]


def test_noise_comes_in_its_shares_and_a_tool_that_is_out_of_order_stays_so() -> None:
    noise = {"task": "t", **NOISE_SHARES}
    kinds: Counter[str] = Counter()
    for seed in range(40):
        for tool in range(50):
            profile = {"seed": seed, "device": "desk"}
            drawn = [noise_at(profile, noise, f"a.{tool}", number) for number in (1, 2, 3)]
            assert drawn == [noise_at(profile, noise, f"a.{tool}", number) for number in (1, 2, 3)]
            assert len(set(drawn)) == 1 or "hard" not in drawn
            kinds.update(drawn)
    shares = {kind: count / kinds.total() for kind, count in kinds.items()}
    assert shares == {
        "": pytest.approx(0.85, abs=0.02),
        "hard": pytest.approx(0.03, abs=0.01),
        "transient": pytest.approx(0.05, abs=0.01),
        "lying": pytest.approx(0.02, abs=0.01),
        "slow": pytest.approx(0.05, abs=0.01),
    }


def noisy(ground: Ground, kind: str, tool: str, **args: object) -> tuple[object, list[float]]:
    """Call a tool of the desk while every call has one kind of noise; return its answer and how long it slept."""
    world = ground.root / "desk" / "world"
    (world / NOISE).write_text(json.dumps({"task": "t", kind: 1.0}))
    area, _, name = tool.partition(".")
    slept: list[float] = []
    try:
        return call(area, world, name, dict(args), slept.append), slept
    except Refused as refused:
        return str(refused), slept


def test_a_lie_says_yes_and_does_nothing_and_reading_cannot_lie(ground: Ground) -> None:
    before = ground.state("desk", "mail")
    said, _ = noisy(ground, "lying", "mail.send", to="ann@example.org", subject="s", text="t")
    assert said == {"id": "s-1", "to": ["ann@example.org"]}
    assert ground.state("desk", "mail") == before
    noisy(ground, "lying", "mail.list")
    lied, read = calls_of(ground.root)
    assert (lied.lied, lied.counts) == (True, False)
    assert not read.lied


@pytest.mark.parametrize(("kind", "said"), [("transient", MOMENT), ("hard", FOR_GOOD)])
def test_a_tool_that_fails_does_nothing(ground: Ground, kind: str, said: str) -> None:
    before = ground.state("desk", "mail")
    assert noisy(ground, kind, "mail.send", to="ann@example.org", subject="s", text="t")[0] == said
    assert ground.state("desk", "mail") == before


def test_a_slow_call_takes_ten_times_as_long(ground: Ground) -> None:
    _, (slow,) = noisy(ground, "slow", "mail.list")
    (ground.root / "desk" / "world" / "calls.jsonl").unlink()
    _, (usual,) = noisy(ground, "none", "mail.list")
    assert slow == pytest.approx(10 * usual)


def test_only_one_profile_makes_noise() -> None:
    assert [profile for profile in PROFILES if noise_of(profile, "t")] == ["P2"]


def test_a_neutral_change_is_not_the_task_s_and_must_stay(ground: Ground, laid: Path) -> None:
    before = take_snapshot(laid)
    change = neutral(ground, "t", 1)
    seen = CheckedWorld(before, take_snapshot(ground.root), AnswerSeen("succeeded"))
    (device,) = (name for name in NAMES if seen.changed(name))
    assert seen.changed(device) == [PLACE]
    assert change.said == f"{PLACE} was written on {device}"
    assert [name for name in NAMES if change.known_to(seen).changed(name)] == []
    (ground.files(device) / PLACE).unlink()
    gone = change.known_to(CheckedWorld(before, take_snapshot(ground.root), AnswerSeen("succeeded")))
    assert gone.changed(device) == [PLACE]


def test_a_meeting_that_others_move_is_known_to_the_check_and_moved_once(ground: Ground) -> None:
    (task,) = chosen(["37"])
    assert task.fixture is not None
    assert task.change is not None
    task.fixture(ground)
    words = ground.facts.words()
    first, second = task.change(ground), task.change(ground)
    design = ground.state("desk", "cal")["events"][2]
    assert (design["day"], design["start"]) == (words["monday"], "16:00")
    assert first.truth == {"moved_meanwhile": {"e-3": "16:00"}}
    assert second.truth == {}


def test_what_a_task_declares_of_faults_is_a_profile_with_a_reason() -> None:
    for task in all_tasks():
        assert set(task.about.faults) <= set(PROFILES) - {"P0"}
        assert all(len(reason) > 20 for reason in task.about.faults.values())
