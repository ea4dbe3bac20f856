"""Tunnels and looking at a server, over a real SSH server of this machine."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest

from starloom.cli import enrolling, ssh, tunnels
from starloom.cli.problems import Problem
from starloom.lab.ports import free_port
from tests.ssh_server import SshServer, ssh_server
from tests.waiting import PATIENCE_S


@pytest.fixture
def folder() -> Iterator[Path]:
    made = Path(tempfile.mkdtemp(prefix="sl-ssh-"))
    yield made
    shutil.rmtree(made, ignore_errors=True)


@pytest.fixture
def server(folder: Path) -> Iterator[SshServer]:
    with ssh_server(folder / "s") as made:
        yield made


def target(server: SshServer) -> ssh.Target:
    return ssh.Target("server", config=str(server.config))


@asynccontextmanager
async def hub() -> AsyncIterator[int]:
    """Listen as a hub would, and say one word to whoever comes."""

    async def greet(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"hub\n")
        await writer.drain()
        writer.close()

    listening = await asyncio.start_server(greet, "127.0.0.1", 0)
    async with listening:
        yield listening.sockets[0].getsockname()[1]


def record(server: SshServer, hub_port: int, **more: object) -> tunnels.Record:
    made = tunnels.Record(
        destination="server",
        config=str(server.config),
        remote_port=free_port(),
        hub_host="127.0.0.1",
        hub_port=hub_port,
        home=str(server.home / "agent"),
        device="far",
    )
    return msgspec.structs.replace(made, **more)


async def heard(port: int) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        async with asyncio.timeout(PATIENCE_S):
            return await reader.readline()
    finally:
        writer.close()


async def answers(port: int) -> bool:
    try:
        await heard(port)
    except OSError:
        return False
    return True


async def test_a_tunnel_carries_and_comes_back_after_a_cut(server: SshServer) -> None:
    waited: list[float] = []

    async def no_wait(seconds: float) -> None:
        waited.append(seconds)

    async with hub() as port:
        tunnel = tunnels.Tunnel(record(server, port), sleep=no_wait)
        tunnel.start()
        try:
            await tunnel.until_up()
            assert await heard(tunnel.record.remote_port) == b"hub\n"
            server.cut()
            async with asyncio.timeout(PATIENCE_S):
                await tunnel.faulted.wait()
                await tunnel.up.wait()
            assert await heard(tunnel.record.remote_port) == b"hub\n"
            assert tunnel.starts >= 2
            assert waited[0] == tunnels.PAUSE_S
        finally:
            await tunnel.stop()
        # The server closes the port once it has noticed that its client is gone.
        async with asyncio.timeout(PATIENCE_S):
            while await answers(tunnel.record.remote_port):
                pass


async def test_a_taken_port_is_a_fault_with_its_way_out_and_the_pauses_grow(server: SshServer) -> None:
    waited: list[float] = []
    enough = asyncio.Event()

    async def note(seconds: float) -> None:
        waited.append(seconds)
        if len(waited) == 3:
            enough.set()
            await asyncio.Event().wait()

    async with hub() as port:
        tunnel = tunnels.Tunnel(record(server, port, remote_port=port), sleep=note)
        tunnel.start()
        try:
            with pytest.raises(Problem, match="does not open the tunnel's port") as caught:
                await tunnel.until_up()
            assert "--remote-port" in caught.value.hint
            async with asyncio.timeout(PATIENCE_S):
                await enough.wait()
        finally:
            await tunnel.stop()
    assert waited == [1.0, 2.0, 4.0]


async def test_the_keeper_follows_the_records_and_writes_how_they_are(server: SshServer, folder: Path) -> None:
    home = folder / "home"
    news, looks = asyncio.Event(), asyncio.Queue[None]()

    # An item stands for one look at the records: `put` lets the keeper look, `join` waits until it has.
    async def until_next_look(_: float) -> None:
        looks.task_done()
        await looks.get()

    keeper = tunnels.Keeper(home, lambda _: news.set(), sleep=until_next_look)
    looks.put_nowait(None)
    await looks.get()
    keeping = asyncio.create_task(keeper.run())
    try:
        async with hub() as port:
            kept = record(server, port)
            tunnels.keep(home, kept)
            assert tunnels.path_of(home, "far").stat().st_mode & 0o077 == 0
            looks.put_nowait(None)
            async with asyncio.timeout(PATIENCE_S):
                await news.wait()
            assert tunnels.conditions(home)["far"].state == "up"
            assert await heard(kept.remote_port) == b"hub\n"
            assert tunnels.forget(home, "far")
            assert not tunnels.forget(home, "far")
            looks.put_nowait(None)
            async with asyncio.timeout(PATIENCE_S):
                await looks.join()
            assert tunnels.conditions(home) == {}
            with pytest.raises(OSError):
                await heard(kept.remote_port)
    finally:
        keeping.cancel()
        await asyncio.gather(keeping, return_exceptions=True)


def test_a_record_that_cannot_be_read_is_told_and_harms_no_other(folder: Path) -> None:
    (folder / tunnels.FOLDER).mkdir()
    tunnels.path_of(folder, "bad").write_text("{}")
    found = tunnels.records(folder)
    assert "bad.json cannot be read" in str(found["bad"])


# -- looking at a server


async def test_a_server_is_looked_at(server: SshServer) -> None:
    busy = free_port()
    found = await enrolling.look(target(server), "~/agent", busy)
    assert (found.home, found.port, found.venv, found.writable) == (str(server.home / "agent"), busy, True, True)
    assert not (server.home / "agent").exists()


async def test_an_unknown_host_key_is_left_to_the_person(folder: Path) -> None:
    with ssh_server(folder / "s", known=False) as unknown, pytest.raises(Problem, match="host key") as caught:
        await enrolling.look(target(unknown), "~/agent", 1)
    assert "compare the fingerprint" in caught.value.hint


async def test_a_key_that_is_not_accepted_is_told(server: SshServer) -> None:
    (server.folder / "authorized_keys").write_text("")
    with pytest.raises(Problem, match="did not accept a key"):
        await enrolling.look(target(server), "~/agent", 1)


PYTHONS = {
    "no Python": "",
    "its Python is Python 3.9.2": '#!/bin/sh\n[ "$1" = -V ] && echo Python 3.9.2 && exit 0\nexit 1\n',
}


@pytest.mark.parametrize("reason", PYTHONS)
async def test_no_or_an_old_python_there_is_told(folder: Path, reason: str) -> None:
    programs = folder / "bin"
    programs.mkdir()
    for name in ("sh", "cat", "mktemp", "rm"):
        (programs / name).symlink_to(str(shutil.which(name)))
    if PYTHONS[reason]:
        (programs / "python3").write_text(PYTHONS[reason])
        (programs / "python3").chmod(0o755)
    with ssh_server(folder / "s", path=programs) as server, pytest.raises(Problem, match=reason):
        await enrolling.look(target(server), "~/agent", 1)
