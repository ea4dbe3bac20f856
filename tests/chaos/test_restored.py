"""A backup put back in place of what came after it, while the agent that did the work lives on."""

from __future__ import annotations

import shutil
import signal
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psutil
import pytest

from tests.chaos.stack import Stack, running
from tests.chaos.work import plan
from tests.installation import home_for
from tests.waiting import SLOWER, until

pytestmark = pytest.mark.chaos
TASKS = ("kept", "done", "cut", "later")
PARTS = ("redis", "keys", "blobs")


@pytest.fixture
def stack(request: pytest.FixtureRequest) -> Iterator[Stack]:
    with home_for(request) as home, running(Stack(home), ("north",)) as made:
        yield made


def back_up(stack: Stack, to: Path) -> None:
    """Copy history, keys and shared files of a hub that runs, as the documentation says."""
    to.mkdir()
    with closing(sqlite3.connect(stack.database)) as source, closing(sqlite3.connect(to / "starloom.db")) as target:
        source.backup(target)
    for name in ("keys", "blobs"):
        shutil.copytree(stack.hub_home / name, to / name)


def test_a_restored_backup_repeats_nothing_and_says_so(stack: Stack) -> None:
    name = "restored"
    places = {task: f"{name}/{task}" for task in TASKS}
    tasks = [stack.place.task(name, task, device="north") for task in TASKS]
    request = stack.submit(plan(name, tasks, chain=True))
    stack.place.open(places["kept"])
    until(lambda: stack.succeeded(request) == 1 and stack.place.begun(places["done"]), "the first is done")
    copy = stack.home / "copy"
    back_up(stack, copy)
    stack.place.open(places["done"])
    until(lambda: stack.succeeded(request) == 2 and stack.place.begun(places["cut"]), "work goes on after the copy")

    service = psutil.Process(stack.supervisor.pid).children(recursive=True)
    stack.supervisor.send_signal(signal.SIGKILL)
    stack.supervisor.wait(30 * SLOWER)
    until(lambda: not [one for one in service if one.is_running()], "the service is gone", 20 * SLOWER)
    for path in (*stack.hub_home.glob("starloom.db*"), *(stack.hub_home / part for part in PARTS)):
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    shutil.copytree(copy, stack.hub_home, dirs_exist_ok=True)
    stack.keep_what_is_durable()
    stack.start_again()

    stack.until_task(request, "cut", "unknown", "succeeded")
    stack.place.open(places["cut"], places["later"])
    until(lambda: len(stack.place.begun(places["later"])) == 1 or _is_unknown(stack, request.id), "it goes on")
    if _is_unknown(stack, request.id):
        stack.control(request, "mark", "cut", state="succeeded")
    assert stack.until_final(request) == "succeeded"
    assert [line.name for line in stack.place.begun()] == list(places.values()), "each began once"
    (device,) = stack.client.get("/devices")["items"]
    assert "this history is older than what north remembers" in device["remembers"]


def _is_unknown(stack: Stack, constellation: str) -> bool:
    found = stack.client.get(f"/constellations/{constellation}/why")
    return any(item["state"] == "unknown" and item["task"] == "cut" for item in found["items"])
