"""A goal of two tiers on a real hub, worker and agent, with two model servers: the small one loops, the larger one
finishes; a worker that is killed between the escalation and the next turn loses nothing and makes nothing twice."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import pytest

from starloom.client.routes import get_constellation_report
from starloom_protocol.records.entities import Job
from starloom_protocol.records.models import ModelCall
from tests.chaos.conftest import Settled
from tests.chaos.model_server import DEVICE, NOTE, REACHED, STEP
from tests.chaos.stack import Accepted, Stack, running
from tests.chaos.test_models import SETTINGS, WITHIN_S
from tests.chaos.test_terminal import starloom
from tests.installation import home_for
from tests.models.server import FakeModel, Json, Say
from tests.models.threaded import a_model
from tests.waiting import PATIENCE_S, until

pytestmark = pytest.mark.chaos
OVER: Final[Json] = {"kind": "hand_over", "to": "next_tier", "because": "it is too hard for me"}
_numbers = itertools.count(1)


@dataclass
class Servers:
    """Two model servers. The larger one answers while `go_on` is set."""

    small: FakeModel
    large: FakeModel
    go_on: threading.Event

    def asked(self, server: FakeModel, words: str) -> list[Json]:
        return [one for one in server.asked if words in str(one["messages"])]


@dataclass
class Gate:
    """A larger model that waits until it may answer."""

    go_on: threading.Event = field(default_factory=threading.Event)

    def answer(self, asked: Json) -> Say:
        assert self.go_on.wait(PATIENCE_S)
        return Say(tool=REACHED if "DATA results of step" in str(asked["messages"]) else STEP)


def _small(asked: Json) -> Say:
    """Make the same call again and again, or hand over at once where the goal is a hard one."""
    return Say(tool=OVER if "hard" in str(asked["messages"]) else STEP)


@pytest.fixture(scope="module")
def servers() -> Iterator[Servers]:
    gate = Gate()
    gate.go_on.set()
    with a_model(_small) as small, a_model(gate.answer) as large:
        yield Servers(small, large, gate.go_on)


@pytest.fixture(scope="module")
def stack(request: pytest.FixtureRequest, servers: Servers) -> Iterator[Stack]:
    """A service whose goals have two tiers, with the agent `north`."""
    settings = {
        **SETTINGS,
        "STARLOOM_LLM_URL": servers.large.url,
        "STARLOOM_LLM_MODEL": "large",
        "STARLOOM_LLM_SMALL_URL": servers.small.url,
        "STARLOOM_LLM_SMALL_MODEL": "tiny",
    }
    with home_for(request) as home, running(Stack(home, settings), (DEVICE,)) as made:
        folder = home / "folders" / DEVICE
        folder.mkdir(parents=True, exist_ok=True)
        (folder / NOTE).write_text("the note\n")
        yield made


def pursue(stack: Stack, kind: str) -> tuple[str, Accepted]:
    name = f"the {kind} note number {next(_numbers)} of the attic"
    why: dict[str, Any] = {
        "id": "why",
        "goal": f"Find {name}.",
        "device": {"name": DEVICE},
        "gives": {"note": "text"},
        "until": [{"output": "/note", "op": "contains", "value": "note"}],
        "budget": {"steps": 6, "within_s": round(4 * WITHIN_S)},
    }
    return name, stack.submit({"starloom": 1, "name": name, "tasks": [why]})


def goal_of(stack: Stack, request: Accepted) -> Job:
    (job,) = [job for job in stack.look(request).each("job", Job).values() if job.kind == "goal"]
    return job


def test_the_small_model_loops_and_the_larger_one_finishes(stack: Stack, servers: Servers, settled: Settled) -> None:
    name, request = pursue(stack, "usual")
    assert stack.until_final(request, WITHIN_S) == "succeeded", stack.describe(request)
    assert (len(servers.asked(servers.small, name)), len(servers.asked(servers.large, name))) == (4, 1)
    job = goal_of(stack, request)
    assert job.goal is not None
    assert [turn.kind for turn in job.goal.turns] == ["step", "step", "told", "escalated"]
    assert (job.goal.tier, job.goal.turns_by) == ("worker", {"small": 4, "worker": 1})
    # What the small model used is part of the goal's budget: five calls of 120 tokens.
    assert (job.calls, job.tokens) == (5, 600)
    calls = stack.look(request).each("call", ModelCall).values()
    assert [(call.tier, call.model) for call in calls] == [("small", "tiny")] * 4 + [("worker", "large")]
    events = [event for event in request.seen.values() if event.kind == "goal_escalated"]
    assert [(event.about, event.by, event.note) for event in events] == [
        ("why", "engine", "worker goes on: the same call of fs.read for a third time")
    ]
    report: Any = stack.client.get(get_constellation_report(request.id))["model"]
    assert (report["turns"], report["escalations"]) == ({"small": 4, "worker": 1}, 1)
    for words, told in {
        ("show", request.id): "escalated to worker: the same call of fs.read for a third time",
        ("why", "why", request.id): "Turns of its models: 4 of small and 1 of worker",
        ("report", request.id): "Turns of goals: 4 by small, 1 by worker; 1 escalation.",
        ("transcript", request.id): "Goal: tiny (tier small), 100 tokens in",
    }.items():
        printed = starloom(stack, *words).stdout
        assert told in " ".join(printed.split()), printed
    settled()


def test_a_worker_killed_between_the_escalation_and_its_turn_loses_nothing(
    stack: Stack, servers: Servers, settled: Settled
) -> None:
    servers.go_on.clear()
    try:
        name, request = pursue(stack, "hard")
        until(lambda: servers.asked(servers.large, name), "the larger model is asked", WITHIN_S)
        job = goal_of(stack, request)
        assert job.goal is not None
        assert (job.goal.tier, [turn.by for turn in job.goal.turns]) == ("worker", ["model"])
        stack.kill_worker()
    finally:
        servers.go_on.set()
    stack.until_up()
    assert stack.until_final(request, WITHIN_S) == "succeeded", stack.describe(request)
    job = goal_of(stack, request)
    assert job.goal is not None
    assert [turn.kind for turn in job.goal.turns] == ["escalated", "step"]
    assert job.goal.turns_by == {"small": 1, "worker": 2}
    assert len(servers.asked(servers.small, name)) == 1, "the small model is asked no more"
    assert len(servers.asked(servers.large, name)) == 3, "only the turn of the killed worker is asked for again"
    settled()
