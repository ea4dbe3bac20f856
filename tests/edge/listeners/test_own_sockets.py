"""The hub's Unix sockets: private, for its own user, TLS where tunnels end, gone when it stops."""

from __future__ import annotations

import asyncio
import socket
import ssl
import stat
from pathlib import Path

import pytest

from starloom.edge.listeners import own_sockets
from starloom.edge.listeners.own_sockets import OwnSockets
from starloom.process.sockets import SOCKET_PATH_BYTES_MAX, make_private, socket_path
from starloom_agent.wire.dialling import pin_of
from tests.edge.world import World, a_world


async def asked(path: Path, world: World, context: ssl.SSLContext | None = None) -> bytes:
    """Return the first line of the answer to a small request; nothing if the connection is cut."""
    named = "127.0.0.1" if context else None
    reader, writer = await asyncio.open_unix_connection(str(path), ssl=context, server_hostname=named)
    host = f"127.0.0.1:{world.hub.settings.port}"
    writer.write(f"GET /healthz HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
    try:
        return await reader.readline()
    except ConnectionError:
        return b""
    finally:
        writer.transport.abort()


async def test_both_sockets_serve_and_are_gone_at_the_end(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        own = OwnSockets(tmp_path, world.hub.now_ms, 1)
        places = await own.open(world.app)
        for path in (places.hub, places.tunnel):
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
            assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
            assert len(bytes(path)) <= SOCKET_PATH_BYTES_MAX
        assert b"200" in await asked(places.hub, world)
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        _, writer = await asyncio.open_unix_connection(str(places.tunnel), ssl=context, server_hostname="127.0.0.1")
        assert pin_of(writer.get_extra_info("ssl_object").getpeercert(True)) == places.tunnel_pin
        writer.transport.abort()
        assert b"200" in await asked(places.tunnel, world, context)
        await own.close()
        again = OwnSockets(tmp_path, world.hub.now_ms, 1)
        assert (await again.open(world.app)).tunnel_pin == places.tunnel_pin
        await again.close()
    assert not places.hub.exists()
    assert not places.tunnel.exists()


async def test_what_a_killed_hub_left_is_in_nobodys_way(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        path = socket_path(tmp_path / own_sockets.RUN, own_sockets.HUB_SOCKET)
        make_private(path.parent)
        with socket.socket(socket.AF_UNIX) as left:
            left.bind(str(path))
        own = OwnSockets(tmp_path, world.hub.now_ms, 1)
        assert (await own.open(world.app)).hub == path
        assert b"200" in await asked(path, world)
        await own.close()


async def test_another_user_is_cut_off_before_it_is_heard(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(own_sockets, "peer_uid", lambda _: 4_000_000)
    async with a_world(tmp_path) as world:
        own = OwnSockets(tmp_path, world.hub.now_ms, 1)
        assert await asked((await own.open(world.app)).hub, world) == b""
        await own.close()
    assert "event=foreign_user uid=4000000" in caplog.text


async def test_a_folder_of_another_user_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with a_world(tmp_path) as world:
        own = OwnSockets(tmp_path, world.hub.now_ms, 1)
        monkeypatch.setattr("starloom.process.sockets.os.getuid", lambda: 4_000_000)
        with pytest.raises(OSError, match="belongs to another user"):
            await own.open(world.app)
        await own.close()
