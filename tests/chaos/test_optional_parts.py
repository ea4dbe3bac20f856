"""Optional parts that give way to a deadline, on a real hub and a real agent: the run ends in time without them."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.chaos.conftest import Settled
from tests.chaos.stack import Stack
from tests.chaos.test_terminal import starloom
from tests.chaos.work import plan
from tests.waiting import SLOWER

pytestmark = pytest.mark.chaos
CALL_S = 2 * SLOWER
WITHIN_S = 60 * SLOWER


@pytest.fixture
def lasting(stack: Stack) -> Iterator[None]:
    """Each program of the test ends so long after it began."""
    over = threading.Event()

    def open_gates() -> None:
        began: dict[str, float] = {}
        while not over.wait(0.02):
            for line in stack.place.lines():
                if line.what == "begin" and time.monotonic() - began.setdefault(line.name, time.monotonic()) >= CALL_S:
                    stack.place.gate(line.name).touch()

    thread = threading.Thread(target=open_gates)
    thread.start()
    yield
    over.set()
    thread.join()


def program(stack: Stack, name: str, task: str, **more: Any) -> dict[str, Any]:
    return stack.place.task(name, task, device="north", repeatability="pure", **more)


@pytest.mark.usefixtures("lasting")
def test_a_run_leaves_its_last_optional_parts_out_and_ends_in_time(stack: Stack, settled: Settled) -> None:
    known = stack.submit(plan("known", [program(stack, "known", f"known{number}") for number in range(4)]))
    assert stack.until_final(known, WITHIN_S) == "succeeded", stack.describe(known)
    name = "in-time"
    parts = [program(stack, name, f"part{number}", optional=True) for number in range(5)]
    document = plan(name, [program(stack, name, "first"), *parts], chain=True)
    document["policy"]["drop_optional_below"] = 0.5
    made = stack.client.create("/constellations", {"plan": document, "deadline_s": round(4.5 * CALL_S)})
    request = stack.remember(str(made["id"]), name)
    assert stack.until_final(request, WITHIN_S) == "succeeded", stack.describe(request)
    tasks = stack.look(request).tasks
    left_out = [part for part, task in tasks.items() if task.reason == "left_out"]
    assert "part4" in left_out, {part: (task.state, task.reason) for part, task in tasks.items()}
    assert tasks["first"].state == "succeeded"
    assert all(tasks[part].attempt == 0 for part in left_out)
    answer = starloom(stack, "result", request.id).stdout
    assert "to end in time, as its plan says" in " ".join(answer.split()), answer
    settled()
