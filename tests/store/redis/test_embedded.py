"""The embedded Redis as a process: starting, ending with its parent, orphans, and places that are too long."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import AsyncIterator
from pathlib import Path

import psutil
import pytest
from redis.asyncio import Redis

from starloom.process.sockets import SOCKET_PATH_BYTES_MAX
from starloom.store.port import Unavailable
from starloom.store.redis.embedded import EmbeddedRedis
from tests.waiting import PATIENCE_S, REDIS_WAITS


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[EmbeddedRedis]:
    server = EmbeddedRedis(tmp_path)
    await server.start()
    yield server
    await server.stop()


async def run(server: EmbeddedRedis, *args: str) -> object:
    async with Redis.from_url(server.url, **REDIS_WAITS) as client:
        return await client.execute_command(*args)  # type: ignore[no-untyped-call]


async def until_gone(pid: int) -> None:
    await asyncio.to_thread(_wait, pid)


def _wait(pid: int) -> None:
    try:
        psutil.Process(pid).wait(PATIENCE_S)
    except psutil.NoSuchProcess:
        return


async def test_it_answers_keeps_its_data_and_listens_nowhere_else(server: EmbeddedRedis) -> None:
    assert server.alive()
    assert server.pid is not None
    assert psutil.Process(server.pid).net_connections("inet") == []
    assert (server.socket.stat().st_mode & 0o077) == 0
    await run(server, "SET", "a", "kept")
    await server.stop()
    assert not server.alive()
    assert not server.socket.exists()
    await server.start()
    assert await run(server, "GET", "a") == b"kept"


async def test_its_settings_are_those_that_durability_needs(server: EmbeddedRedis) -> None:
    wanted = {
        "appendonly": "yes",
        "appendfsync": "everysec",
        "maxmemory-policy": "noeviction",
        "aof-load-truncated": "yes",
    }
    for name, value in wanted.items():
        found = await run(server, "CONFIG", "GET", name)
        assert str(value).encode() in (found.values() if isinstance(found, dict) else found), name  # type: ignore[operator]


async def test_starting_twice_is_one_server(server: EmbeddedRedis) -> None:
    pid = server.pid
    await server.start()
    assert server.pid == pid


async def test_an_orphan_of_the_same_data_is_ended_first(tmp_path: Path) -> None:
    orphan, heir = EmbeddedRedis(tmp_path), EmbeddedRedis(tmp_path)
    await orphan.start()
    await run(orphan, "SET", "a", "kept")
    old = orphan.pid
    assert old is not None
    await heir.start()
    try:
        assert not orphan.alive()
        assert heir.pid != old
        assert await run(heir, "GET", "a") == b"kept"
    finally:
        await heir.stop()
        await orphan.stop()


async def test_a_foreign_process_under_the_old_number_is_left_alone(tmp_path: Path) -> None:
    server = EmbeddedRedis(tmp_path)
    server.data_dir.mkdir(parents=True)
    (server.data_dir / "valkey.pid").write_text(f"{os.getpid()} {os.getppid()} 1")
    await server.start()
    assert server.alive()
    await server.stop()


HUB = textwrap.dedent(
    """
    import asyncio, pathlib, sys
    from starloom.store.redis.embedded import EmbeddedRedis
    async def main():
        server = EmbeddedRedis(pathlib.Path(sys.argv[1]))
        await server.start()
        print(server.pid, flush=True)
        await asyncio.Event().wait()
    asyncio.run(main())
    """
)


@pytest.mark.skipif(sys.platform != "linux", reason="the death signal is Linux's; elsewhere the pidfile does it")
async def test_it_ends_with_its_parent_even_by_sigkill_but_not_for_a_second_hub(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parent = await asyncio.create_subprocess_exec(sys.executable, "-c", HUB, str(tmp_path), stdout=subprocess.PIPE)
    try:
        assert parent.stdout is not None
        pid = int(await parent.stdout.readline())
        second = EmbeddedRedis(tmp_path)
        with pytest.raises(Unavailable, match=rf"another hub \(process {parent.pid}\) runs on"):
            await second.start()
        booted_s = psutil.boot_time()
        with monkeypatch.context() as date_set:
            date_set.setattr("psutil._pslinux.boot_time", lambda: booted_s + 3_600)
            with pytest.raises(Unavailable, match="another hub"):
                await second.start()
        assert psutil.Process(pid).is_running()
    finally:
        parent.kill()
        await parent.wait()
    await until_gone(pid)
    assert not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    await second.start()
    assert await run(second, "PING") in (b"PONG", True)
    await second.stop()


async def test_the_supervisor_starts_it_again(server: EmbeddedRedis) -> None:
    await run(server, "SET", "a", "kept")
    old = server.pid
    assert old is not None
    again = asyncio.Event()
    supervisor = asyncio.create_task(server.supervise(again.set))
    os.kill(old, signal.SIGKILL)
    await asyncio.wait_for(again.wait(), PATIENCE_S)
    assert server.alive()
    assert server.pid != old
    assert await run(server, "GET", "a") == b"kept"
    await server.stop()
    await asyncio.wait_for(supervisor, PATIENCE_S)


async def test_a_long_home_gets_a_short_socket(tmp_path: Path) -> None:
    home = tmp_path / ("a-long-name" * 9)
    server = EmbeddedRedis(home)
    assert len(os.fsencode(server.socket)) <= SOCKET_PATH_BYTES_MAX
    assert not server.socket.is_relative_to(home)
    await server.start()
    try:
        assert await run(server, "PING") in (b"PONG", True)
        assert (server.socket.parent.stat().st_mode & 0o077) == 0
    finally:
        await server.stop()
        server.socket.parent.rmdir()


async def test_a_server_that_cannot_start_says_why(tmp_path: Path) -> None:
    server = EmbeddedRedis(tmp_path)
    (server.data_dir / "appendonlydir").mkdir(parents=True)
    (server.data_dir / "appendonlydir" / "appendonly.aof.manifest").write_text("nonsense\n")
    with pytest.raises(Unavailable, match=r"its log .*valkey\.log ends"):
        await server.start()
    assert not server.alive()
