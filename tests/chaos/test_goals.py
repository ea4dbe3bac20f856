"""Worker, hub and model server killed while a goal is pursued on a real agent: no step is made twice, none is lost."""

from __future__ import annotations

import itertools
import json
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from starloom.client.view import View
from starloom_protocol.records.entities import Attempt, Job
from tests.chaos.conftest import Settled
from tests.chaos.model_server import DEVICE
from tests.chaos.stack import Accepted, Stack
from tests.chaos.test_models import SETTINGS, SWEEP_S, WITHIN_S, ModelServer, judge, serving
from tests.chaos.test_terminal import starloom
from tests.tiers import first_in_test
from tests.waiting import until

pytestmark = pytest.mark.chaos
__all__ = ["SETTINGS"]
_numbers = itertools.count(1)
TARGETS: Final = ("worker", "hub", "model")
TURNS: Final = (0, 1, 2)
CASES: Final = [(turn, target) for turn in TURNS for target in TARGETS]


@pytest.fixture(scope="module")
def model(stack: Stack) -> Iterator[ModelServer]:
    with serving(stack) as server:
        yield server


def plan(name: str, **goal: Any) -> dict[str, Any]:
    why = {
        "id": "why",
        "goal": f"Find {name} of the attic.",
        "device": {"name": DEVICE},
        "gives": {"note": "text"},
        "until": [{"output": "/note", "op": "contains", "value": "note"}],
        "budget": {"steps": 4, "within_s": round(4 * WITHIN_S)},
        **goal,
    }
    told = {"id": "told", "tool": "lab.echo", "inputs": {"value": {"from": "why", "output": "/note"}}}
    return {"starloom": 1, "name": name, "tasks": [why, told]}


def pursue(stack: Stack) -> tuple[str, Accepted]:
    name = f"the note number {next(_numbers)}"
    return name, stack.submit(plan(name))


def judge_steps(stack: Stack, model: ModelServer, request: Accepted, name: str, kills: Counter[str]) -> None:
    """Hold the log against the server's count and the devices: two steps, each made once."""
    view = stack.look(request)
    steps = [task for task in view.tasks if task.startswith("why.") and task != "why.answer"]
    assert steps == ["why.1", "why.2"]
    assert all(view.tasks[task].attempt == 1 for task in steps), "a step was made twice"
    (job,) = [job for job in view.each("job", Job).values() if job.kind == "goal"]
    assert job.goal is not None
    assert [turn.kind for turn in job.goal.turns if turn.kind == "step"] == ["step", "step"]
    asked = model.calls.of(name)
    assert len(asked) <= 3 + sum(kills.values()), "a turn was asked more often than its worker was killed"
    judge(stack, model, Named(request, name), kills=kills)


def until_called(model: ModelServer, name: str, count: int, what: str = "asked") -> None:
    until(lambda: len(model.calls.of(name, what)) >= count, f"the model has {what} {count} times", WITHIN_S)


class Named(Accepted):
    """A request under the words by which the model server knows it."""

    def __init__(self, request: Accepted, name: str) -> None:
        self.__dict__.update(request.__dict__)
        self.__dict__["name"] = name


def test_a_goal_is_reached_by_steps_on_a_real_agent(stack: Stack, model: ModelServer, settled: Settled) -> None:
    name, request = pursue(stack)
    assert stack.until_final(request, WITHIN_S) == "succeeded", stack.describe(request)
    judge_steps(stack, model, request, name, Counter())
    assert len(model.calls.of(name)) == 3
    settled()


def test_the_command_line_runs_a_goal_and_gives_it_a_hint(
    stack: Stack, model: ModelServer, settled: Settled, tmp_path: Path
) -> None:
    name = f"the note number {next(_numbers)}"
    path = tmp_path / "why.json"
    path.write_text(json.dumps(plan(name)))
    previewed = starloom(stack, "submit", "-f", str(path), "--preview")
    # Beside the other columns, in lines of a narrow terminal.
    unknown = "Not known yet whether the goal why stays inside its budget"
    for words in ("A model makes steps on", f"{DEVICE}, by the tools of it", "that only read.", unknown):
        assert words in previewed.stdout, previewed.stdout
    model.calls.hold("working")
    try:
        assert starloom(stack, "submit", "-f", str(path)).returncode == 0
        until_called(model, name, 1)
        hinted = starloom(stack, "hint", "read the note twice", "-t", "why")
        assert (hinted.returncode, hinted.stdout.partition(";")[0]) == (0, "the goal why has your hint")
        running = starloom(stack, "show")
        assert f"budget: {unknown}" in running.stdout + running.stderr
    finally:
        model.calls.let_go("working")
    done = starloom(stack, "watch")
    assert done.returncode == 0, done.stdout + done.stderr
    shown = starloom(stack, "show").stdout
    for line in ("goal why: 2 of 4 steps, 360 tokens", "hint: read the note twice", "to see who wrote it", "fs.stat"):
        assert line in shown, shown
    settled()


def test_the_command_line_forks_a_goal_from_a_step(
    stack: Stack, model: ModelServer, settled: Settled, tmp_path: Path
) -> None:
    path = tmp_path / "why.json"
    path.write_text(json.dumps(plan(f"the note number {next(_numbers)}")))
    assert starloom(stack, "submit", "-f", str(path), "--wait").returncode == 0
    made = starloom(stack, "fork", "--task", "why.2")
    assert made.returncode == 0, made.stderr
    forked = made.stdout.partition(" ")[0]
    done = starloom(stack, "watch", forked)
    assert done.returncode == 0, done.stdout + done.stderr
    view = stack.look(Accepted(forked, "", View(forked)))
    steps = [task for task in view.tasks if task.startswith("why.") and task != "why.answer"]
    assert steps == ["why.1", "why.2"]
    attempts = view.each("attempt", Attempt)
    taken = {task: attempts[f"{task}/{view.tasks[task].attempt}"].origin for task in steps}
    assert (taken["why.1"] is not None, taken["why.2"]) == (True, None), "the first step is used, the second one made"
    settled()


@pytest.mark.parametrize("case", first_in_test(CASES), ids=lambda case: f"{case[1]}-at-turn-{case[0]}")
def test_a_kill_at_any_turn_makes_no_step_twice(
    stack: Stack, model: ModelServer, settled: Settled, case: tuple[int, str]
) -> None:
    turn, target = case
    model.calls.hold("working")
    name, request = pursue(stack)
    try:
        for before in range(turn):
            until_called(model, name, before + 1)
            model.calls.let_go("working")
            until_called(model, name, before + 1, "said")
            model.calls.hold("working")
        until_called(model, name, turn + 1)
        {"worker": stack.kill_worker, "hub": stack.kill_hub, "model": model.kill}[target]()
        if target == "model":
            model.start()
        elif target == "hub":
            stack.until_up()
            # The call goes on while the hub looks for jobs without a worker.
            time.sleep(SWEEP_S)
    finally:
        model.calls.let_go("working")
    stack.until_up()
    assert stack.until_final(request, WITHIN_S) == "succeeded", stack.describe(request)
    judge_steps(stack, model, request, name, Counter({target: 1}))
    settled()
