from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import psutil
import pytest

from starloom.host import ports, processes
from starloom.host.agents import OVER
from starloom.host.processes import Child, Program, log_tail
from starloom_agent.install.service import EXIT_REFUSED
from tests.waiting import PATIENCE_S


async def until(condition: Callable[[], bool]) -> None:
    """Wait for something that another process does; the operating system tells nobody of it."""
    async with asyncio.timeout(PATIENCE_S):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.01)


SLEEPER = "import signal; signal.pause()"


class Kept:
    """Children that end with the test, and what they said."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.heard = asyncio.Event()
        self.children: list[Child] = []

    def say(self, text: str) -> None:
        self.said.append(text)
        self.heard.set()

    async def start(self, code: str, *, restart: bool = True, log: Path | None = None) -> Child:
        child = Child(Program("thing", [sys.executable, "-c", code], log=log), self.say, restart=restart)
        self.children.append(child)
        await child.start()
        return child


@pytest.fixture
async def kept() -> AsyncIterator[Kept]:
    made = Kept()
    yield made
    await asyncio.gather(*(child.kill() for child in made.children))


async def test_the_log_of_a_program_that_goes_on_begins_anew(
    kept: Kept, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "LOG_BYTES_MAX", 1000)
    monkeypatch.setattr(processes, "LOG_LOOK_S", 0.01)
    log, former = tmp_path / "out.log", tmp_path / "out.log.1"
    said = "import signal; print('x' * 2000, flush=True); signal.sigwait([signal.SIGUSR1]); print('more', flush=True)"
    child = await kept.start(
        f"import signal; signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1]); {said}; signal.pause()", log=log
    )
    await until(lambda: former.is_file() and log.stat().st_size == 0)
    assert former.read_text() == "x" * 2000 + "\n"
    assert child.pid is not None
    os.kill(child.pid, signal.SIGUSR1)
    await until(lambda: log.read_text() == "more\n")
    assert child.starts == 1


async def test_a_log_that_is_full_does_not_hold_up_the_program(kept: Kept) -> None:
    argv = [sys.executable, "-c", "print('x' * 1_000_000)"]
    child = Child(Program("thing", argv, log=Path("/dev/full"), piped=True), kept.say, restart=False)
    kept.children.append(child)
    await child.start()
    async with asyncio.timeout(PATIENCE_S):
        await child.ended.wait()
    assert child.exit_code == 0


async def test_an_agent_that_its_hub_refuses_for_good_is_not_started_again(kept: Kept) -> None:
    assert list(OVER) == [EXIT_REFUSED]
    child = Child(Program("agent nas", [sys.executable, "-c", "raise SystemExit(3)"], final_exits=OVER), kept.say)
    kept.children.append(child)
    await child.start()
    async with asyncio.timeout(PATIENCE_S):
        await child.ended.wait()
    assert child.starts == 1
    assert kept.said == ["agent nas ended: the hub does not know this device any more, so it is not started again"]


async def test_one_that_dies_is_started_again(kept: Kept) -> None:
    child = await kept.start(SLEEPER)
    first = child.pid
    assert first is not None
    os.kill(first, signal.SIGKILL)
    await until(lambda: child.starts == 2)
    assert child.pid not in (None, first)
    assert "SIGKILL" in kept.said[0]


async def test_one_whose_program_is_away_for_a_moment_is_started_once_it_is_back(kept: Kept, tmp_path: Path) -> None:
    program, away = tmp_path / "program", tmp_path / "away"
    program.write_text("#!/bin/sh\nsleep 600\n")
    program.chmod(0o755)
    child = Child(Program("thing", [str(program)]), kept.say)
    kept.children.append(child)
    await child.start()
    program.rename(away)
    os.kill(child.pid or 0, signal.SIGKILL)
    await until(lambda: any("cannot be started" in text for text in kept.said))
    assert not child.ended.is_set()
    away.rename(program)
    await until(lambda: child.starts == 2)
    assert child.pid is not None


async def test_one_that_waits_for_its_next_start_is_stopped_at_once(
    kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "PAUSE_S", 3_600.0)
    child = await kept.start("raise SystemExit(1)")
    await until(lambda: any("starting it again" in text for text in kept.said))
    await child.stop()
    assert (child.starts, child.pid, child.ended.is_set()) == (1, None, True)


async def test_stop_ends_it_for_good(kept: Kept) -> None:
    child = await kept.start(SLEEPER)
    pid = child.pid
    await child.stop()
    assert child.ended.is_set()
    assert child.starts == 1
    assert not psutil.pid_exists(pid or 0)
    await child.stop()


async def test_one_that_ignores_sigterm_is_ended_by_force(kept: Kept, tmp_path: Path) -> None:
    log = tmp_path / "out.log"
    code = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('deaf', flush=True); signal.pause()"
    child = await kept.start(code, log=log)
    await until(lambda: "deaf" in log.read_text())
    await child.stop(0.1)
    assert child.exit_code == -signal.SIGKILL
    assert "by force" in kept.said[-1]


async def test_without_restart_the_end_is_known(kept: Kept, tmp_path: Path) -> None:
    child = await kept.start("print('hello'); raise SystemExit(3)", restart=False, log=tmp_path / "out.log")
    async with asyncio.timeout(PATIENCE_S):
        await child.ended.wait()
    assert child.exit_code == 3
    assert log_tail(tmp_path / "out.log") == "    hello"


async def test_a_quoted_log_has_no_lines_of_earlier_starts(kept: Kept, tmp_path: Path) -> None:
    log = tmp_path / "out.log"
    log.write_text("Traceback of yesterday\n")
    child = await kept.start("print('hello')", restart=False, log=log)
    async with asyncio.timeout(PATIENCE_S):
        await child.ended.wait()
    assert log_tail(log, child.log_from) == "    hello"
    log.write_text("short\n")
    assert log_tail(log, child.log_from) == "    short", "the log was emptied meanwhile"


async def test_a_killed_one_can_be_started_again(kept: Kept) -> None:
    child = await kept.start(SLEEPER)
    first = child.pid
    await child.kill()
    gone = child.pid
    await child.start()
    assert gone is None
    assert child.pid not in (first, None)
    assert not child.ended.is_set()


@pytest.mark.skipif(sys.platform != "linux", reason="a death signal is Linux's")
async def test_nothing_outlives_a_killed_parent(kept: Kept, tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    parent = f"""
import asyncio, sys
from pathlib import Path
from starloom.host.processes import Child, Program

async def main():
    child = Child(Program("inner", [sys.executable, "-c", {SLEEPER!r}]), print)
    await child.start()
    Path({str(pid_file)!r}).write_text(str(child.pid))
    await asyncio.Event().wait()

asyncio.run(main())
"""
    child = await kept.start(parent, restart=False)
    await until(lambda: pid_file.exists() and bool(pid_file.read_text()))
    inner = psutil.Process(int(pid_file.read_text()))
    await child.kill()
    await until(lambda: not inner.is_running() or inner.status() == psutil.STATUS_ZOMBIE)


def test_a_busy_port_is_named_with_its_process() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert not ports.is_free("127.0.0.1", port)
        assert f"pid {os.getpid()}" in ports.owner(port)
        near = ports.free_near("127.0.0.1", port)
        assert near is not None
        assert near > port
        assert ports.is_free("127.0.0.1", near)
