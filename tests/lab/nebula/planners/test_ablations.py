"""Ablations: which there are, how the hub carries them out, and the figures of their cost."""

from __future__ import annotations

from typing import Any

import pytest

from starloom.engine.settings import EngineSettings
from starloom.lab.nebula.planners.baselines import (
    ABLATIONS,
    BASELINES,
    IN_THE_HUB,
    WORDS,
    AblationUnknown,
    in_the_hub,
    in_the_plan,
    plan_of,
    read_ablations,
)
from starloom.lab.nebula.reports.costs import COST_HEAD, costs
from starloom.lab.nebula.scoring.honesty import End
from starloom.process.settings import load
from tests.builders import Driver, plan, task

pytestmark = pytest.mark.quick


class Figures:
    def __init__(self, wall_ms: int, attempts: int) -> None:
        self.wall_ms, self.attempts = wall_ms, attempts


class Run:
    """The parts of a run that a cost reads."""

    def __init__(
        self, name: str, baseline: str, *, end: End = End.MET, wall_ms: int = 1_000, attempts: int = 2
    ) -> None:
        self.task = type("Task", (), {"id": name})()
        self.used = type("Used", (), {"tokens": 10 * attempts})()
        self.figures = Figures(wall_ms, attempts)
        self.profile, self.baseline, self.seed = "P0", baseline, 1
        self.end, self.success = end, end is End.MET


def test_names_are_read_whole_or_refused() -> None:
    assert read_ablations("static, no-experience") == ("static", "no-experience")
    with pytest.raises(AblationUnknown, match="nothing is none of static"):
        read_ablations("static,nothing")
    assert set(in_the_plan(ABLATIONS)) == set(BASELINES)
    assert in_the_hub(ABLATIONS) == tuple(IN_THE_HUB)
    assert tuple(WORDS) == (*BASELINES, *IN_THE_HUB)


def test_those_of_the_hub_are_settings_that_a_hub_reads() -> None:
    for name, variables in IN_THE_HUB.items():
        settings = load(environment=variables).settings
        made = EngineSettings(
            "h", random_placement=settings.placement == "random", experience=settings.experience
        ).shard_settings()
        assert (made.random_placement, made.pace_rows_most == 0, made.hedge_at_p90 == 0) == (
            (1, False, False) if name == "random-placement" else (0, True, True)
        )
        assert plan_of("starloom: 1\n", name) == "starloom: 1\n"


def test_a_task_is_placed_by_its_name_alone_and_the_same_again() -> None:
    found: list[dict[str, str]] = []
    for _ in range(2):
        driver = Driver("one", "two", "three", slots=20)
        driver.shard.settings.random_placement = 1
        driver.submit(plan(*(task(f"t{number}") for number in range(20))))
        found.append({item.at.task: item.device for item in driver.take()})
    assert found[0] == found[1]
    assert len(set(found[0].values())) == 3


def test_costs_stand_beside_the_same_tasks_of_the_full_run() -> None:
    runs: Any = [
        Run("a", ""),
        Run("b", ""),
        Run("a", "seq", wall_ms=3_000, attempts=3),
        Run("b", "seq", end=End.HONEST, wall_ms=9_000),
        Run("c", "seq"),
    ]
    (cost,) = costs(runs)
    assert (cost.name, cost.runs, cost.met, cost.met_full, cost.lost, cost.won) == ("seq", 2, 1, 2, 1, 0)
    assert (cost.time_s, cost.time_full_s, cost.slower) == (3.0, 1.0, 2.0)
    assert cost.row() == ["P0 seq", "1/2", "2/2", "1", "1", "0", "3.0", "1.0", "+200%", "1", "10"]
    assert len(cost.row()) == len(COST_HEAD)
    assert costs(runs[:2]) == []


def test_a_cost_tells_an_honest_end_from_a_faulty_one() -> None:
    ends = (End.MET, End.HONEST, End.FOOLED, End.NOT_MET, End.HUNG, End.FALSE_DONE, End.DOUBLED)
    runs: Any = [run for end in ends for run in (Run(end, ""), Run(end, "norecover", end=end))]
    (cost,) = costs(runs)
    assert (cost.runs, cost.met, cost.honest, cost.faulty) == (7, 1, 2, 4)
    assert (cost.document()["honest"], cost.document()["faulty"]) == (2, 4)
