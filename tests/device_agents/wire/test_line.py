"""The agent's line over a real websocket: messages in order, whichever way each comes."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager

import pytest
from websockets.asyncio.client import connect
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed

from starloom_agent.wire.line import UNSENT_BYTES, Line


class Peer:
    """The other end: sends what it is told, keeps what it hears."""

    def __init__(self, socket: ServerConnection) -> None:
        self.socket = socket
        self.heard: list[str | bytes] = []

    async def say(self, *messages: str | list[str]) -> None:
        """Send messages, one of a list in parts, and wait until all of them have arrived."""
        for message in messages:
            await self.socket.send(message)
        await (await self.socket.ping())


@asynccontextmanager
async def a_line() -> AsyncIterator[tuple[Line, Peer]]:
    peers: asyncio.Queue[Peer] = asyncio.Queue()

    async def talk(socket: ServerConnection) -> None:
        peer = Peer(socket)
        peers.put_nowait(peer)
        async for message in socket:
            peer.heard.append(message)

    async with serve(talk, "127.0.0.1", 0, compression=None) as server:
        port = next(iter(server.sockets)).getsockname()[1]
        line = await connect(f"ws://127.0.0.1:{port}", compression=None, proxy=None, create_connection=Line)
        assert isinstance(line, Line)
        try:
            yield line, await peers.get()
        finally:
            await line.close()


def words(messages: Iterable[bytes]) -> list[str]:
    return [message.decode() for message in messages]


async def test_whole_messages_are_taken_in_their_turn() -> None:
    async with a_line() as (line, peer):
        taken: list[bytes] = []
        line.take = taken.append
        await peer.say("one", "two")
        assert words(taken) == ["one", "two"]


async def test_what_was_not_read_before_is_not_overtaken() -> None:
    async with a_line() as (line, peer):
        taken: list[bytes] = []
        await peer.say("early")
        line.take = taken.append
        await peer.say("late")
        assert taken == []
        assert words([await line.read(), await line.read()]) == ["early", "late"]
        await peer.say("now")
        assert words(taken) == ["now"]


async def test_a_message_in_parts_is_read_and_what_follows_it_comes_behind() -> None:
    async with a_line() as (line, peer):
        told: list[str] = []
        line.take = lambda message: told.append(f"taken {message.decode()}")

        async def read() -> None:
            while True:
                told.append(f"read {(await line.read()).decode()}")

        reading = asyncio.create_task(read())
        for number in range(20):
            await peer.say(f"whole {number}", [f"pa{number}", "rt", "s"], [f"only{number}"])
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)
        assert [text.partition(" ")[2] for text in told] == [
            text for number in range(20) for text in (f"whole {number}", f"pa{number}rts", f"only{number}")
        ]
        assert told[0].startswith("taken")
        assert told[1].startswith("read")


async def test_what_is_written_now_arrives_in_order_with_what_is_sent() -> None:
    async with a_line() as (line, peer):
        assert line.write_now(b"first")
        await line.send(b"second", text=True)
        assert line.write_now(b"third")
        await (await line.ping())
        assert peer.heard == ["first", "second", "third"]


async def test_nothing_is_written_to_a_line_that_is_not_free_or_has_ended() -> None:
    async with a_line() as (line, peer):
        peer.socket.transport.pause_reading()
        while line.transport.get_write_buffer_size() == 0:
            assert line.write_now(b"x" * 1_000_000)
        assert not line.write_now(b"and more")
        peer.socket.transport.abort()
        with pytest.raises(ConnectionClosed):
            await line.read()
        assert not line.write_now(b"late")


async def test_the_system_keeps_little_unsent() -> None:
    async with a_line() as (line, _):
        taken = line.transport.get_extra_info("socket")
        assert taken.getsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT) == UNSENT_BYTES
