"""Findings between real processes: one branch finds, the other takes it with its source and age, and looks again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.chaos.conftest import Settled
from tests.chaos.stack import Stack
from tests.chaos.test_terminal import newest, starloom, written

pytestmark = pytest.mark.chaos

TOPIC = "system of north"
LOOK: dict[str, Any] = {
    "id": "look",
    "tool": "system.info",
    "device": {"name": "north"},
    "finds": {"topic": TOPIC, "value": "/system"},
}
USE: dict[str, Any] = {
    "id": "use",
    "tool": "lab.echo",
    "device": {"name": "south"},
    "inputs": {"value": {"finding": TOPIC}},
}


def one_line(text: str) -> str:
    return " ".join(text.split())


def test_one_branch_finds_and_the_other_uses_it_with_its_source(stack: Stack, settled: Settled, tmp_path: Path) -> None:
    result = [{"title": "System", "from": "use", "output": "/value"}]
    done = starloom(stack, "submit", "-f", written(tmp_path, "shared", LOOK, USE, result=result), "--wait")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "It rests on a finding: system of north from look on north." in one_line(done.stdout)
    assert "use took the finding system of north of look on north, 0 s old then" in one_line(
        starloom(stack, "show").stdout
    )
    why = one_line(starloom(stack, "why", "use").stdout)
    assert "value is the finding “system of north” of look on north, 0 s old then." in why
    states = {task["id"]: task["state"] for task in newest(stack)["tasks"]}
    assert states == {"look": "succeeded", "use": "succeeded"}
    settled()


def test_a_finding_that_grew_old_is_looked_at_again(stack: Stack, settled: Settled, tmp_path: Path) -> None:
    turns = {"max": 2, "every_s": 3}
    slow = {"id": "slow", "tool": "lab.echo", "device": {"name": "south"}, "repeat": turns}
    fresh = {**USE, "inputs": {"value": {"finding": TOPIC, "fresh_s": 1}}}
    path = written(tmp_path, "stale", LOOK, slow, fresh, dependencies=[{"from": "slow", "to": "use"}])
    done = starloom(stack, "submit", "-f", path, "--wait")
    assert done.returncode == 0, done.stdout + done.stderr
    found = newest(stack)
    states = {task["id"]: task["state"] for task in found["tasks"]}
    assert states["look-again"] == "succeeded"
    replayed = starloom(stack, "replay", found["id"])
    assert replayed.returncode == 0, replayed.stdout + replayed.stderr
    shown = one_line(starloom(stack, "show").stdout)
    assert "use took the finding system of north of look-again on north" in shown
    settled()


def test_a_topic_that_nothing_publishes_is_refused_with_the_nearest(stack: Stack, tmp_path: Path) -> None:
    wrong = {**USE, "inputs": {"value": {"finding": "system of nord"}}}
    done = starloom(stack, "submit", "-f", written(tmp_path, "wrong-topic", LOOK, wrong))
    assert done.returncode == 2
    assert "Did you mean `system of north`?" in one_line(done.stderr)
