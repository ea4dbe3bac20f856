"""T169: a Host with another port of this computer counts on the hub's own sockets only, and for no page."""

from __future__ import annotations

import asyncio
import ssl
from pathlib import Path

import pytest

from starloom.edge.listeners.own_sockets import OwnSockets
from tests.edge.world import World, a_world

FORMER = ("127.0.0.1:9470", "localhost:9470", "[::1]:9470")
NO_ADDRESS = ("evil.example:9470", "127.0.0.1.evil.example", "192.0.2.7:8470", "localhost.evil.example:8470", "")
OF_A_PAGE = (
    "Origin: https://127.0.0.1:9470",
    "Origin: null",
    "Cookie: starloom=x",
    "Sec-Fetch-Site: same-origin",
    "Sec-Fetch-Mode: navigate",
)


async def status(path: Path, host: str, *lines: str, tls: bool) -> int:
    context = ssl.create_default_context() if tls else None
    if context is not None:
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    named = "127.0.0.1" if tls else None
    reader, writer = await asyncio.open_unix_connection(str(path), ssl=context, server_hostname=named)
    said = "\r\n".join(["GET /healthz HTTP/1.1", f"Host: {host}", *lines, "Connection: close"])
    writer.write(f"{said}\r\n\r\n".encode())
    line = await reader.readline()
    writer.transport.abort()
    return int(line.split()[1])


async def asked(world: World, home: Path, host: str, *lines: str) -> set[int]:
    """Return the answers by both sockets."""
    own = OwnSockets(home, world.hub.now_ms, 1)
    places = await own.open(world.app)
    try:
        return {await status(path, host, *lines, tls=path == places.tunnel) for path in (places.hub, places.tunnel)}
    finally:
        await own.close()


@pytest.mark.parametrize("host", FORMER)
async def test_t169_a_device_comes_by_the_address_it_joined_with(tmp_path: Path, host: str) -> None:
    async with a_world(tmp_path) as world:
        assert await asked(world, tmp_path, host) == {200}


@pytest.mark.parametrize("host", NO_ADDRESS)
async def test_t169_another_name_is_refused_by_the_sockets_too(tmp_path: Path, host: str) -> None:
    async with a_world(tmp_path) as world:
        assert await asked(world, tmp_path, host) == {421}


@pytest.mark.parametrize("line", OF_A_PAGE)
async def test_t169_a_page_does_not_come_by_a_former_address(tmp_path: Path, line: str) -> None:
    async with a_world(tmp_path) as world:
        assert await asked(world, tmp_path, FORMER[0], line) == {421}
