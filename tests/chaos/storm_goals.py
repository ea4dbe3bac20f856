"""Goals in a storm: a model server that is killed as well, goals with a step that may run once, and their judge.

A goal reads the note of its device, then runs a program that witnesses itself, then answers. A person allows the
program, lets a goal go on once, and stops it the second time that it gets nowhere.
"""

from __future__ import annotations

import json
import random
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from starloom.client.view import View
from starloom_protocol.records.entities import Job, Question
from starloom_protocol.vocabulary import FINAL_GROUP_STATES, GroupState
from tests.chaos.model_server import NOTE, RUNS
from tests.chaos.stack import Accepted, Stack
from tests.chaos.test_models import ModelServer, use
from tests.chaos.witness import Witness

GOAL = "why"
TOOLS = ("fs.read", "shell.run")
AWAY_S = (0.0, 2.0, 10.0)


class StormGoals:
    """The model server of a storm, and the goals that its clients ask for."""

    def __init__(self, stack: Stack, devices: tuple[str, ...]) -> None:
        self._stack, self._devices = stack, devices
        self._server = ModelServer(stack)

    def start(self) -> None:
        """Serve, put a note on each device, and have the hub use the model."""
        for name in self._devices:
            folder = self._stack.home / "folders" / name
            folder.mkdir(parents=True, exist_ok=True)
            (folder / NOTE).write_text("the note\n")
        self._server.start()
        use(self._stack, self._server)

    def kill(self, chance: random.Random) -> None:
        """Kill the model server, and bring it back after a while."""
        self._server.kill()
        time.sleep(chance.choice(AWAY_S))
        self._server.start()

    def drawn(self, name: str, chance: random.Random) -> dict[str, Any]:
        """Return a plan with a goal on one device."""
        assert isinstance(self._stack.place, Witness)
        lasts_s = chance.choice((0.05, 0.3, 1.0, 3.0))
        program = self._stack.place.timed(name, f"{GOAL}.2", lasts_s)["args"]["argv"]
        goal = {
            "id": GOAL,
            "goal": f"Find the note of {name}.{RUNS}{json.dumps(program)}",
            "device": {"name": chance.choice(self._devices)},
            "may": {"tools": list(TOOLS)},
            "gives": {"note": "text"},
            "until": [{"output": "/note", "op": "contains", "value": "note"}],
            "budget": {"steps": 4, "within_s": 600},
        }
        return {"starloom": 1, "name": name, "tasks": [goal]}


def answer_to(question: Question, asked_before: int) -> str:
    """Return what the person of a goal says to its question; the approval of a plan has no choices."""
    values = {choice.value for choice in question.choices}
    if "allow" in values or not values:
        return "allow"
    return "go_on" if "go_on" in values and not asked_before else "stop"


def faults_of_goals(requests: Mapping[str, Accepted], devices: Mapping[str, str]) -> list[str]:
    """Return what goals did that they may not: a step made twice, a call outside of the envelope, an end unexplained.

    `devices` are the names of devices by id.
    """
    return [f"{one.name}: {fault}" for one in requests.values() for fault in _faults(one.view, devices)]


def ends_of_goals(requests: Mapping[str, Accepted]) -> Counter[str]:
    """Return how many goals ended in each state."""
    groups = (one.view.groups.get(GOAL) for one in requests.values())
    return Counter(str(group.state) for group in groups if group is not None)


def _faults(view: View, devices: Mapping[str, str]) -> Iterator[str]:
    if GOAL not in view.groups or not view.final:
        return
    device = view.specs[GOAL].device
    steps = [spec for name, spec in view.specs.items() if spec.group == GOAL and spec.tool]
    calls = [(spec.tool, spec.args) for spec in steps]
    for call in {call for call in calls if calls.count(call) > 1}:
        yield f"the step {call[0]} was made {calls.count(call)} times"
    for spec in steps:
        if spec.tool not in TOOLS:
            yield f"{spec.id} calls {spec.tool}, which the envelope does not name"
        ran = view.tasks[spec.id].device
        if device is None or (ran is not None and devices.get(ran) != device.name):
            yield f"{spec.id} ran on {devices.get(ran or '', ran)}, which the envelope does not name"
    yield from _end(view)


def _end(view: View) -> Iterator[str]:
    group = view.groups.get(GOAL)
    jobs = [job for job in view.each("job", Job).values() if job.kind == "goal"]
    if group is None or group.state not in FINAL_GROUP_STATES:
        yield "its constellation is over and it is not"
    elif group.state is GroupState.FAILED and not any(job.fault is not None and job.fault.reason for job in jobs):
        yield "it failed without a reason"
