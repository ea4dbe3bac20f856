"""An agent that died behind an open tunnel is started again over ssh; one that its owner has stopped is not."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from starloom.host.ports import free_port
from starloom.host.servers import remote, reviving, ssh, tunnels
from starloom.host.servers.ssh import run_there
from tests.ssh_server import SshServer, ssh_server
from tests.waiting import PATIENCE_S

AWAY, HERE = reviving.DeviceSeen("web 1", online=False), reviving.DeviceSeen("web 1", online=True)


@pytest.fixture
def server() -> Iterator[SshServer]:
    folder = Path(tempfile.mkdtemp(prefix="sl-ssh-"))
    with ssh_server(folder / "s") as made:
        yield made
    shutil.rmtree(folder, ignore_errors=True)


def agent_there(server: SshServer, *, says: str = "the agent runs, process 7", code: int = 0) -> Path:
    """Put a program in the agent's place that notes every call and says this; return the agent's home."""
    home = server.home / "agent"
    program = home / "venv" / "bin" / "starloom-agent"
    program.parent.mkdir(parents=True)
    (home / "run").mkdir()
    (home / "hub.json").write_text("{}")
    program.write_text(f'#!/bin/sh\necho "$1" >>{home}/calls\necho "{says}"\nexit {code}\n')
    program.chmod(0o755)
    return home


def calls(home: Path) -> list[str]:
    path = home / "calls"
    return path.read_text().split() if path.exists() else []


def watch(server: SshServer, home: Path) -> reviving.Watch:
    return reviving.Watch(ssh.Target("server", config=str(server.config)), str(home), run_there, lambda: None)


async def after_absence(watched: reviving.Watch) -> None:
    """Let the watch see a device that is away, and again when its time has come; wait for what that starts."""
    watched.look(AWAY, 0.0)
    watched.look(AWAY, reviving.ABSENT_S)
    async with asyncio.timeout(PATIENCE_S):
        await watched.until_tried()


def test_an_absence_has_its_time_its_pauses_and_its_end() -> None:
    absence = reviving.Absence()
    assert not absence.observe(100.0, online=False)
    assert not absence.observe(100.0 + reviving.ABSENT_S - 0.1, online=False)
    now_s, pauses = 100.0 + reviving.ABSENT_S, []
    for _ in range(reviving.TRIES_MOST):
        assert absence.observe(now_s, online=False)
        absence.note_try(now_s)
        pause_s = 1.0
        while not absence.observe(now_s + pause_s, online=False) and pause_s < 1000:
            pause_s += 1.0
        pauses.append(pause_s)
        now_s += pause_s
    assert pauses[:5] == [10.0, 20.0, 40.0, 80.0, 120.0]
    assert pauses[-1] == 1000.0, "after the last try there is none"


def test_a_device_that_dies_at_every_start_does_not_get_its_tries_again() -> None:
    absence = reviving.Absence(tries=reviving.TRIES_MOST)
    assert not absence.observe(0.0, online=True)
    assert not absence.observe(1.0, online=False)
    assert not absence.observe(1.0 + 2 * reviving.PAUSE_MOST_S, online=False)
    assert not absence.observe(500.0, online=True)
    assert not absence.observe(500.0 + reviving.SETTLED_S, online=True)
    assert not absence.observe(600.0, online=False)
    assert absence.observe(600.0 + reviving.ABSENT_S, online=False)


async def test_an_agent_that_died_is_started_again(server: SshServer) -> None:
    home = agent_there(server)
    watched = watch(server, home)
    await after_absence(watched)
    assert calls(home) == ["start"]
    assert watched.state == reviving.STARTED
    assert watched.fault == f"try 1 of {reviving.TRIES_MOST} to start the agent there: the agent runs, process 7"
    watched.look(HERE, 100.0)
    assert (watched.state, watched.fault, watched.way) == (reviving.ONLINE, "", "")


async def test_before_its_time_nothing_is_started_and_the_line_to_type_is_told(server: SshServer) -> None:
    home = agent_there(server)
    watched = watch(server, home)
    watched.look(AWAY, 0.0)
    await watched.until_tried()
    assert calls(home) == []
    assert watched.state == reviving.AWAY
    done = await asyncio.to_thread(
        subprocess.run, ["sh", "-c", watched.way], capture_output=True, text=True, check=True, timeout=PATIENCE_S
    )
    assert done.stdout == "the agent runs, process 7\n"
    assert calls(home) == ["start"]


STOPPED_BY = {
    "the mark of `starloom-agent stop`": "run/stopped-by-owner",
    "the status that an agent writes which was told to end": "run/status.json",
}


@pytest.mark.parametrize("sign", STOPPED_BY)
async def test_an_agent_that_its_owner_stopped_stays_stopped(server: SshServer, sign: str) -> None:
    home = agent_there(server)
    (home / STOPPED_BY[sign]).write_text('{"pid":7,"reason":"stopped by its owner","state":"stopped"}')
    watched = watch(server, home)
    await after_absence(watched)
    watched.look(AWAY, 10_000.0)
    await watched.until_tried()
    assert calls(home) == []
    assert watched.state == reviving.STOPPED
    assert "owner of the server" in watched.fault
    assert "starloom-agent start" in watched.way


async def test_an_agent_that_has_left_is_not_started(server: SshServer) -> None:
    home = agent_there(server)
    (home / "hub.json").unlink()
    watched = watch(server, home)
    await after_absence(watched)
    assert calls(home) == []
    assert watched.state == reviving.LEFT


async def test_the_last_try_is_told_as_given_up_with_the_reason(server: SshServer) -> None:
    home = agent_there(server, says="the agent ended at once: no room", code=1)
    watched = watch(server, home)
    await after_absence(watched)
    assert (watched.state, "no room" in watched.fault) == (reviving.AWAY, True)
    watched.absence.tries = reviving.TRIES_MOST - 1
    watched.look(AWAY, 10_000_000.0)
    await watched.until_tried()
    assert watched.state == reviving.GIVEN_UP
    assert watched.fault.startswith(f"try {reviving.TRIES_MOST} of {reviving.TRIES_MOST}")
    watched.look(AWAY, 20_000_000.0)
    await watched.until_tried()
    assert calls(home) == ["start", "start"]


async def test_an_agent_that_runs_unconnected_is_told_with_its_own_reason(server: SshServer) -> None:
    said = "the agent runs already, process 7, and does not reach its hub: cannot reach http://127.0.0.1:8470: HTTP 421"
    watched = watch(server, agent_there(server, says=said))
    await after_absence(watched)
    assert (watched.state, watched.fault) == (reviving.UNCONNECTED, said)
    assert "starloom-agent status" in watched.way


async def test_a_server_that_refuses_ssh_is_told_and_not_raised(server: SshServer) -> None:
    async def refuses(target: ssh.Target, _text: str, _within_s: float) -> tuple[int, str, str]:
        raise ssh.refused(target, "the computer does not answer", "Is it on?")

    watched = watch(server, agent_there(server))
    watched.run = refuses
    await after_absence(watched)
    assert watched.state == reviving.AWAY
    assert "does not answer" in watched.fault


async def test_a_tunnel_does_not_start_what_its_owner_stopped(server: SshServer) -> None:
    home = agent_there(server)
    held = " ".join(remote.hold(str(home))[2:])
    argv = ["sh", "-c", held]

    async def held_once() -> None:
        done = await asyncio.to_thread(
            subprocess.run, argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True
        )
        assert remote.UP in done.stdout

    await held_once()
    assert calls(home) == ["start"]
    (home / "run" / "stopped-by-owner").touch()
    await held_once()
    assert calls(home) == ["start"]


async def test_the_keeper_watches_open_tunnels_and_tells_the_present_name(server: SshServer) -> None:
    home = server.folder / "hub"
    there = agent_there(server)
    asked: list[str] = []
    said: list[str] = []
    up = asyncio.Event()

    def say(text: str) -> None:
        said.append(text)
        up.set()

    async def look(device: str) -> reviving.DeviceSeen:
        asked.append(device)
        return AWAY

    made = tunnels.Record(
        destination="server",
        config=str(server.config),
        remote_port=free_port(),
        hub_host="127.0.0.1",
        hub_port=free_port(),
        home=str(there),
        device="web-1",
        device_id="dev-7",
    )
    tunnels.keep(home, made)
    keeper = tunnels.Keeper(home, say)
    await keeper.watch(look)
    assert asked == []
    keeping = asyncio.create_task(keeper.run())
    try:
        async with asyncio.timeout(PATIENCE_S):
            await up.wait()
        await keeper.watch(look)
        assert asked == ["dev-7"]
        found = tunnels.conditions(home)["dev-7"]
        assert (found.state, found.agent, found.name) == ("up", reviving.AWAY, "web 1")
        assert "starloom-agent start" in found.hint
        assert not any("the agent of web 1" in text for text in said), "an agent that is only late is not worth a line"
        told, way = tunnels.troubles(home)["web 1"]
        assert told == "its tunnel is up, its agent away: the agent there does not answer"
        assert "starloom-agent start" in way
        keeper._watches["dev-7"].look(AWAY, 10_000_000.0)
        await keeper._watches["dev-7"].until_tried()
        assert any(text.startswith("the agent of web 1 is started again: try 1 of ") for text in said)
    finally:
        keeping.cancel()
        await asyncio.gather(keeping, return_exceptions=True)
