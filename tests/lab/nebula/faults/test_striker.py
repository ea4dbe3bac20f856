"""The striker on a world without processes: a fault comes at its share, ends in time, and all is whole afterwards."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any, cast

import pytest

from starloom.client.view import View
from starloom.lab.nebula.faults.profiles import PROFILES, Strike, strikes
from starloom.lab.nebula.faults.striker import AFTER_S, Striker
from starloom.lab.nebula.task import all_tasks
from starloom.lab.nebula.world.nebula_world import NebulaWorld
from starloom_protocol.records.entities import TaskRecord
from starloom_protocol.records.lab import FaultKind
from starloom_protocol.vocabulary import TaskState
from tests.cli.events import CONSTELLATION, Log
from tests.waiting import PATIENCE_S

pytestmark = pytest.mark.quick
IDS = {"d-desk": "desk", "d-gpu": "gpu"}


class World:
    """Notes what is done to it; no agent of it can be killed twice."""

    devices = ("desk", "gpu")

    def __init__(self) -> None:
        self.done: list[str] = []
        self.alive = set(self.devices)

    def device_names(self) -> dict[str, str]:
        return IDS

    def agent(self, name: str) -> object | None:
        return object() if name in self.alive else None

    def kill_agent(self, name: str) -> None:
        self.alive.remove(name)
        self.done.append(f"kill {name}")

    def start_agent(self, name: str) -> None:
        self.alive.add(name)
        self.done.append(f"start {name}")

    def join_again(self, name: str) -> None:
        self.done.append(f"join {name}")

    def wait_until_whole(self) -> None:
        self.done.append("whole")


def view_at(ended: int, tasks: int, device: str = "d-desk") -> View:
    """Return a view in which so many tasks have ended and the next one runs on a device."""
    log, view = Log(), View(CONSTELLATION)
    puts: dict[str, Any] = {}
    for number in range(tasks):
        state = TaskState.SUCCEEDED if number < ended else TaskState.RUNNING
        puts[f"task__t{number}"] = TaskRecord(state=state, since_ms=0, device=device)
    log.add("planned", **puts)
    view.apply(log.rows)
    return view


def a_strike(profile: str, kind: FaultKind | None = None) -> Strike:
    drawn = (strike for task in all_tasks() for strike in strikes(profile, task.id, 1))
    return next(one for one in drawn if one.share == 0.5 and (kind is None or (one.fault and one.fault.kind is kind)))


def striker_of(strike: Strike, changed: str = "", beside: str = "") -> tuple[Striker, World, list[float], list[float]]:
    world, clock, slept = World(), [0.0], list[float]()
    made = Striker(
        cast(NebulaWorld, world),
        [strike],
        1,
        lambda: changed,
        beside=beside,
        now=lambda: clock[0],
        sleep=lambda s: slept.append(s),
    )
    return made, world, clock, slept


def test_an_agent_is_killed_at_its_share_where_a_task_runs_and_is_back_in_time() -> None:
    striker, world, clock, slept = striker_of(a_strike("P1", FaultKind.KILL))
    striker.turn(view_at(1, 4))
    assert world.done == []
    striker.turn(view_at(2, 4, "d-gpu"))
    clock[0] = 4.9
    striker.turn(view_at(2, 4))
    assert world.done == ["kill gpu"]
    clock[0] = 5.0
    striker.turn(view_at(2, 4))
    striker.turn(view_at(2, 4))
    assert world.done == ["kill gpu", "start gpu"]
    assert striker.struck == ["the agent of gpu is killed (SIGKILL) for 5 s, at 2 of 4 tasks"]
    assert striker.lost == ""
    striker.whole()
    assert world.done == ["kill gpu", "start gpu", "whole"]
    assert slept == [AFTER_S]


def test_tasks_of_the_hub_are_struck_at_the_device_whose_work_is_under_way_beside_them() -> None:
    strike = replace(a_strike("P1", FaultKind.KILL), order=("desk", "gpu"))
    striker, world, _, _ = striker_of(strike)
    striker.turn(view_at(2, 4, ""))
    assert world.done == []
    striker, world, _, _ = striker_of(strike, beside="gpu")
    striker.turn(view_at(2, 4, ""))
    assert world.done == ["kill gpu"]


def test_an_agent_is_killed_while_the_model_is_asked_at_the_stage_and_before_its_reply() -> None:
    strike = replace(a_strike("P1", FaultKind.KILL), stage="reviewing", order=("desk", "gpu"))
    striker, world, _, _ = striker_of(strike)
    striker.note_stage("planning")
    striker.turn(view_at(4, 4))
    assert world.done == []
    calling = threading.Thread(target=striker.note_stage, args=("reviewing",))
    calling.start()
    while not striker.struck:
        striker.turn(view_at(4, 4, "d-gpu"))
    calling.join(PATIENCE_S)
    assert not calling.is_alive()
    assert world.done == ["kill gpu"]
    assert striker.struck == ["the agent of gpu is killed (SIGKILL) for 5 s, while the model is asked (reviewing)"]
    striker.note_stage("reviewing")


def test_the_stages_of_a_scripted_model_change_no_other_draw() -> None:
    stages = ("planning", "answering")
    for task in all_tasks():
        (plain,), (staged,) = strikes("P1", task.id, 1), strikes("P1", task.id, 1, stages)
        assert replace(staged, stage="") == plain
    drawn = {strikes("P1", task.id, 1, stages)[0].stage for task in all_tasks()}
    assert drawn == {"", *stages}


def test_a_lost_device_stays_away_until_the_run_is_over_and_joins_as_a_new_one() -> None:
    striker, world, clock, _ = striker_of(a_strike("P3"))
    striker.turn(view_at(2, 4))
    clock[0] = 1_000.0
    striker.turn(view_at(3, 4))
    assert world.done == ["kill desk"]
    assert striker.lost == "d-desk"
    striker.whole()
    assert world.done == ["kill desk", "join desk", "start desk", "whole"]


def test_a_fault_that_lasts_is_taken_back_when_the_run_is_over_before_it() -> None:
    striker, world, _, _ = striker_of(a_strike("P1", FaultKind.KILL))
    striker.turn(view_at(2, 4))
    striker.whole()
    assert world.done == ["kill desk", "start desk", "whole"]


def test_a_fault_that_cannot_happen_is_said_and_not_tried_again() -> None:
    striker, world, _, _ = striker_of(a_strike("P1", FaultKind.KILL))
    world.alive.clear()
    for _ in range(2):
        striker.turn(view_at(2, 4))
    assert len(striker.struck) == 1
    assert striker.struck[0].startswith("not broken: the agent of desk is killed (SIGKILL): its agent is dead already")


def test_the_world_changes_once() -> None:
    striker, world, _, slept = striker_of(a_strike("P5"), "a file was written")
    for _ in range(2):
        striker.turn(view_at(2, 4))
    striker.whole()
    assert striker.struck == ["a file was written, at 2 of 4 tasks"]
    assert (world.done, slept) == ([], [])


def test_a_run_whose_moment_never_came_is_left_alone() -> None:
    for profile in set(PROFILES) - {"P0", "P2"}:
        striker, world, _, slept = striker_of(a_strike(profile))
        striker.whole()
        assert (striker.struck, world.done, slept) == ([], [], [])
