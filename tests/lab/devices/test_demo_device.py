"""A simulated device is broken by real means and healed again; what lasts beside it stays."""

from __future__ import annotations

import asyncio
import struct
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import psutil
import pytest
import pytest_asyncio

from starloom.host.agents import LocalAgent
from starloom.host.processes import Child, Program
from starloom.lab.devices.demo_device import DemoDevice
from starloom.lab.injection import Impossible
from starloom.lab.proxy.fault_proxy import FaultProxy
from starloom_protocol.records.lab import CAN, FaultKind, FaultTarget
from tests.waiting import until

GREETING = b"here"
DEVICE, LINK = FaultTarget.DEVICE, FaultTarget.LINK

# Stands in for the agent: says that it is there, then writes as long as it may.
AGENT = """
import signal, sys
print("up", flush=True)
signal.pause()
"""


class Broken(DemoDevice):
    """A device whose agent is a few lines."""

    def __init__(self, folder: Path, proxy: FaultProxy) -> None:
        agent = LocalAgent(folder / "agents" / "toy", "toy", proxy.url, demo=True, lab=True)
        super().__init__(agent, proxy, folder, lambda _: None)
        self.log = folder / "toy.log"
        self._child = Child(Program("toy", [sys.executable, "-c", AGENT], log=self.log, piped=True), lambda _: None)

    @property
    def process(self) -> psutil.Process:
        found = self._process()
        assert found is not None, "the agent is dead"
        return found

    @property
    def dead(self) -> bool:
        return self._process() is None

    @property
    def clock_s(self) -> float:
        return float(struct.unpack("<d", self._clock.read_bytes())[0])


async def greet(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(GREETING)
    await writer.drain()
    writer.close()


@pytest_asyncio.fixture
async def toy(tmp_path: Path) -> AsyncIterator[Broken]:
    target = await asyncio.start_server(greet, "127.0.0.1", 0)
    proxy = FaultProxy("127.0.0.1", target.sockets[0].getsockname()[1])
    await proxy.start()
    made = Broken(tmp_path, proxy)
    await made.start()
    await asyncio.to_thread(until, lambda: made.log.exists() and made.log.read_text() == "up\n", "the agent is up")
    yield made
    await made.stop()
    target.close()
    await target.wait_closed()


async def can_dial(toy: Broken) -> bool:
    """Say whether the link lets a connection through to its target."""
    reader, writer = await asyncio.open_connection("127.0.0.1", toy.proxy.port)
    try:
        return await reader.read() == GREETING
    except ConnectionResetError:
        return False
    finally:
        writer.close()


async def test_a_killed_agent_is_started_again(toy: Broken) -> None:
    first = toy.process.pid
    injected, said = await toy.inject(DEVICE, FaultKind.KILL, 0.0, 2.0)
    assert (toy.dead, said) == (True, "the agent of toy is killed (SIGKILL), for 2 s")
    assert not await can_dial(toy)
    assert await toy.heal(injected) == "the agent of toy is started again"
    assert toy.process.pid != first
    assert await can_dial(toy)


async def test_a_frozen_agent_goes_on(toy: Broken) -> None:
    injected, _ = await toy.inject(DEVICE, FaultKind.FREEZE, 0.0, 2.0)
    await asyncio.to_thread(until, lambda: toy.process.status() == psutil.STATUS_STOPPED, "the agent is stopped")
    await toy.heal(injected)
    await asyncio.to_thread(until, lambda: toy.process.status() != psutil.STATUS_STOPPED, "the agent goes on")


async def test_a_clock_is_wrong_and_right_again(toy: Broken) -> None:
    injected, said = await toy.inject(DEVICE, FaultKind.CLOCK_SKEW, -60.0, 2.0)
    assert (toy.clock_s, "60 s behind" in said) == (-60.0, True)
    await toy.heal(injected)
    assert toy.clock_s == 0.0


@pytest.mark.skipif(not hasattr(psutil.Process, "rlimit"), reason="Linux alone limits another process")
async def test_no_file_grows_on_a_full_disk(toy: Broken) -> None:
    injected, _ = await toy.inject(DEVICE, FaultKind.DISK_FULL, 0.0, 2.0)
    assert toy.process.rlimit(psutil.RLIMIT_FSIZE)[0] == 0
    await toy.heal(injected)
    assert toy.process.rlimit(psutil.RLIMIT_FSIZE)[0] != 0


async def test_a_link_is_whole_again_but_for_what_still_lasts(toy: Broken) -> None:
    cut, said = await toy.inject(LINK, FaultKind.CUT, 0.0, 2.0)
    slow, _ = await toy.inject(LINK, FaultKind.DELAY, 0.01, 2.0)
    assert said == "the link of toy is cut, for 2 s"
    await toy.heal(slow)
    assert not await can_dial(toy)
    await toy.heal(cut)
    assert await can_dial(toy)


async def test_what_is_dead_is_not_broken_again(toy: Broken) -> None:
    kill, _ = await toy.inject(DEVICE, FaultKind.KILL, 0.0, 2.0)
    for kind in CAN[DEVICE]:
        with pytest.raises(Impossible, match="dead already"):
            await toy.inject(DEVICE, kind, 0.0, 2.0)
    await toy.heal(kill)


async def test_words_that_were_given_are_those_of_the_next_fault_alone(toy: Broken) -> None:
    toy.told_next = "cut after 5 bytes"
    first, said = await toy.inject(LINK, FaultKind.CUT, 0.0, 2.0)
    second, then = await toy.inject(LINK, FaultKind.FREEZE, 0.0, 2.0)
    assert (said, then) == ("cut after 5 bytes", "the link of toy passes nothing on, for 2 s")
    await toy.heal(second)
    await toy.heal(first)


async def test_it_ends_also_while_it_is_frozen(toy: Broken) -> None:
    await toy.inject(DEVICE, FaultKind.FREEZE, 0.0, 60.0)
    process = toy.process
    await toy.stop()
    assert not process.is_running()


async def test_what_can_be_broken_is_what_the_vocabulary_has(toy: Broken) -> None:
    assert set(toy.possible_faults) == {"device", "link"}
    assert toy.possible_faults["link"] == [str(kind) for kind in CAN[LINK]]
