"""An agent that is started where it cannot write, or on a ledger that nobody can trust."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from starloom_agent.home.directory import AgentHome
from starloom_agent.home.identity import load_or_make
from starloom_agent.work.ledger import Ledger, LedgerCorrupt
from tests.chaos.small_disk import full, on_small_disk, seen
from tests.device_agents.stand_in import HubStandIn, lease
from tests.device_agents.started import joined_home
from tests.store.sql.torn import tear
from tests.waiting import SLOWER, until

BOUND_S = 60 * SLOWER
DISK = "2m"
ATTEMPTS = 400
HELD = 'read -r _ < "$0"; exec "$@"'
"""Keeps the agent from beginning before its disk is full."""


@pytest.fixture
async def hub() -> AsyncIterator[HubStandIn]:
    async with HubStandIn() as made:
        yield made


@pytest.fixture
def home(tmp_path: Path, hub: HubStandIn) -> AgentHome:
    made = joined_home(tmp_path / "agent", hub)
    load_or_make(made.key)
    return made


def command(home: AgentHome) -> list[str]:
    return [sys.executable, "-m", "starloom_agent", "run", "--home", str(home.root), "--reconnect-most-s", "1"]


@contextmanager
def spawned(argv: list[str], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Start an agent whose words go to a disk that has room; end it."""
    with log.open("wb") as out:
        process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=out, stderr=out)
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(BOUND_S) == 0, log.read_text()


async def said(log: Path, words: str) -> None:
    await asyncio.to_thread(until, lambda: words in log.read_text(), f"the agent says {words!r}", BOUND_S)


async def test_an_agent_started_on_a_full_disk_waits_for_room(home: AgentHome, hub: HubStandIn, tmp_path: Path) -> None:
    log, gate = tmp_path / "agent.log", tmp_path / "gate"
    os.mkfifo(gate)
    argv = on_small_disk(["sh", "-c", HELD, str(gate), *command(home)], home.root, DISK)
    with spawned(argv, log) as process:
        # It opens for reading only when the disk is there.
        writing = await asyncio.to_thread(gate.open, "w")
        with full(seen(process.pid, home.root)):
            with writing:
                writing.write("begin\n")
            await said(log, f"the disk of {home.root} is full")
            await said(log, "waits until there is room")
            assert process.poll() is None
            assert hub.hellos == []
        await hub.connected()
        await said(log, "there is room again")
    assert "Traceback" not in log.read_text()


def torn_ledger(home: AgentHome) -> None:
    ledger = Ledger(home.ledger)
    for number in range(ATTEMPTS):
        ledger.accepted(lease(f"t{number}"), effect="maybe", once=True)
        ledger.started(lease(f"t{number}"))
    ledger.close()
    tear(home.ledger)


async def test_no_agent_starts_on_a_corrupt_ledger(home: AgentHome, hub: HubStandIn) -> None:
    torn_ledger(home)
    before = home.ledger.read_bytes()
    process = await asyncio.create_subprocess_exec(*command(home), stderr=asyncio.subprocess.PIPE)
    async with asyncio.timeout(BOUND_S):
        _, raw = await process.communicate()
    words = raw.decode()
    assert process.returncode == 1
    assert f"the ledger {home.ledger} is corrupt" in words
    assert "The way out: stop this agent, move ledger.sqlite*" in words
    assert "Traceback" not in words
    assert hub.hellos == []
    assert home.ledger.read_bytes() == before


def test_a_corrupt_page_met_later_is_told_as_one(home: AgentHome) -> None:
    torn_ledger(home)
    ledger = Ledger(home.ledger)
    with pytest.raises(LedgerCorrupt, match="is corrupt"):
        [ledger.fences_of("c1", f"t{number}") for number in range(ATTEMPTS)]
    ledger._db.close()
