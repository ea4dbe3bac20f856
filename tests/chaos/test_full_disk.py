"""A disk that is really full: under the hub with its history and its Redis, and under an agent's ledger."""

from __future__ import annotations

import sqlite3
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path

import pytest

from starloom.client.problems import Problem
from starloom.lab.proxy.fault_proxy import FaultProxy
from tests.chaos.conftest import Settled
from tests.chaos.small_disk import copied, full, on_small_disk, seen
from tests.chaos.stack import Stack, running
from tests.chaos.submitter import Submitter
from tests.chaos.work import echoes, plan
from tests.installation import home_for
from tests.waiting import until

pytestmark = pytest.mark.chaos

HUB_DISK, AGENT_DISK = "96m", "4m"
CROWD, LANES = 200, 2
FULL_S = 3.0


class OnSmallDisks(Stack):
    """The hub's home and the home of the agent `west` each lie on a small disk of its own."""

    def spawn(self, argv: Sequence[str], log: str, more: Mapping[str, str] | None = None) -> subprocess.Popen[bytes]:
        if log == "supervisor":
            process = super().spawn(on_small_disk(argv, self.home, HUB_DISK), log, more)
            self.hub_home = seen(process.pid, self.home)
            return process
        if log == "agent-west":
            argv = on_small_disk(argv, self.agent_home, AGENT_DISK)
        return super().spawn(argv, log, more)

    @property
    def agent_home(self) -> Path:
        return self.home / "agents" / "west"

    @property
    def agent_disk(self) -> Path:
        return seen(self.agent("west").pid, self.agent_home)

    @property
    def history(self) -> Path:
        return copied(self.database, self.home / "copies" / "history")

    def ledgers(self) -> dict[str, Path]:
        ledger = copied(self.agent_disk / "ledger.sqlite", self.home / "copies" / "west")
        return {**super().ledgers(), "west": ledger}

    def _socket(self) -> Path:
        return seen(self.supervisor.pid, super()._socket())


@pytest.fixture(scope="module")
def stack(request: pytest.FixtureRequest) -> Iterator[OnSmallDisks]:
    with home_for(request) as home, running(OnSmallDisks(home), ("north", "west"), ("east",)) as made:
        yield made


def found_by_check(database: Path) -> list[str]:
    """Return what SQLite says of every page of a file."""
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as sql:
        return [str(row[0]) for row in sql.execute("PRAGMA integrity_check")]


def condition(stack: Stack) -> dict[str, str]:
    """Return what the device `west` says of itself."""
    (found,) = [item for item in stack.client.get("/devices")["items"] if item["name"] == "west"]
    return dict(found["condition"])


def works(stack: Stack) -> bool:
    return stack.client.outside("/readyz")[0] == 200


def test_a_hub_whose_disk_is_full_stays_up_says_so_and_goes_on(stack: OnSmallDisks, settled: Settled) -> None:
    name = "hub-disk"
    strike, after = f"{name}/strike", f"{name}/after"
    tasks = [stack.place.task(name, task, device="north") for task in ("strike", "after")]
    request = stack.submit(plan(name, tasks, chain=True))
    stack.fault(lambda proxy: proxy.delay(0.03))
    crowd = stack.submit(echoes(f"{name}-crowd", CROWD, side_by_side=LANES, device="east"))
    until(lambda: stack.place.begun(strike), "the program has begun")
    until(lambda: stack.succeeded(crowd) > 10, "the crowd is under way")
    hub, redis = stack.hub.pid, stack.redis.pid
    with Submitter(stack, f"{name}-more") as submitter:
        submitter.more(3)
        with full(stack.hub_home):
            until(lambda: not works(stack), "the hub says that it cannot do work")
            began, accepted = time.monotonic(), submitter.count
            stack.place.open(strike, after)
            until(lambda: stack.place.ended(strike), "the program ends all the same")
            while time.monotonic() - began < FULL_S:
                assert stack.client.outside("/healthz")[0] == 200
                assert stack.client.get(f"/constellations/{request.id}")["id"] == request.id
                assert not works(stack)
            with pytest.raises(Problem) as told:
                stack.client.post("/constellations", {"plan": echoes(f"{name}-refused", 1)})
            assert told.value.code == "disk_full", told.value
            assert f"the disk of {stack.home}" in told.value.reason, "the folder is named"
            assert "MB free" in told.value.reason
            assert "Free some space" in told.value.hint
            assert "disk" in stack.client.outside("/readyz")[1]["waits_for"][0]
            explained = stack.client.get(f"/constellations/{request.id}/why")["items"]
            assert all("the disk of" in item["sentence"] for item in explained), explained
            assert submitter.count == accepted, "something was acknowledged that no disk has"
            assert not stack.place.begun(after), "work that may not be repeated began before the history had it"
            assert stack.succeeded(crowd) < LANES * CROWD, "the fault would be none if all were done before it"
        until(lambda: works(stack), "the hub can do work again")
        submitter.more(3)
    assert (stack.hub.pid, stack.redis.pid) == (hub, redis)
    stack.fault(FaultProxy.heal)
    for one in (request, crowd, *submitter.accepted):
        assert stack.until_final(one) == "succeeded"
    assert [len(stack.place.begun(task)) for task in (strike, after)] == [1, 1]
    settled()


def test_no_file_is_torn_when_all_of_it_is_read_again(stack: OnSmallDisks, settled: Settled) -> None:
    name = "hub-disk-killed"
    # So that work is left to be written down once the disk is full.
    stack.fault(lambda proxy: proxy.delay(0.03))
    crowd = stack.submit(echoes(name, CROWD, side_by_side=LANES, device="east"))
    until(lambda: stack.succeeded(crowd) > 10, "the crowd is under way")
    with stack.supervisor_held():
        with full(stack.hub_home):
            until(lambda: not works(stack), "the hub says that it cannot do work")
            stack.kill_hub()
            stack.kill_redis()
        assert found_by_check(stack.history) == ["ok"]
        stack.keep_what_is_durable()
    stack.until_up()
    stack.fault(FaultProxy.heal)
    assert stack.until_final(crowd) == "succeeded"
    settled()


def test_what_an_agent_cannot_write_down_does_not_begin_and_what_it_did_is_not_lost(
    stack: OnSmallDisks, settled: Settled
) -> None:
    name = "agent-disk"
    first, second = f"{name}/first", f"{name}/second"
    request = stack.submit(plan(name, [stack.place.task(name, "first", device="west")]))
    until(lambda: stack.place.begun(first), "the first program has begun")
    agent = stack.agent("west").pid
    with full(stack.agent_disk):
        stack.place.open(first, second)
        other = stack.submit(plan(f"{name}-2", [stack.place.task(name, "second", device="west")]))
        until(lambda: stack.place.ended(first), "the first program ends all the same")
        until(lambda: condition(stack).get("disk") == "full", "the hub knows of the disk")
        assert condition(stack)["disk_folder"] == str(stack.agent_home)
        for asked, task in ((request, "first"), (other, "second")):
            explained = stack.client.get(f"/constellations/{asked.id}/why", task_id=task)["sentence"]
            assert f"has a full disk ({stack.agent_home})" in explained, explained
        time.sleep(FULL_S)  # a lease and more: the silence itself is what is looked at
        assert not stack.place.begun(second), "it began without being written down"
        assert stack.look(request).tasks["first"].state == "running", "its end was told before it was written down"
    for one in (request, other):
        assert stack.until_final(one) == "succeeded"
    assert [len(stack.place.begun(task)) for task in (first, second)] == [1, 1]
    assert stack.agent("west").pid == agent
    assert found_by_check(stack.ledgers()["west"]) == ["ok"]
    settled()
