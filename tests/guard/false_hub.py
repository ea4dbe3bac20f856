"""A hub that is not the hub, on the port where an agent looks for its own: what it says, and what it is given for it.

It knows what anybody can learn: the key id that the real hub names to every stranger, and what the real hub answers to
a hello. It speaks raw text, so that it says what no codec of ours would.
"""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Awaitable, Callable
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from websockets.asyncio.client import ClientConnection, connect
from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.exceptions import ConnectionClosed

from starloom_protocol.wire import frames as f
from starloom_protocol.wire.channel import hub_proof, transcript

AT = {"constellation": "c-false", "task": "t", "attempt": 1, "incarnation": 1}
WELCOME = {
    "t": "welcome",
    "alive_interval_s": 1.0,
    "device_name": "mine",
    "http_token": "false",
    "hub_time_ms": 0,
    "lease_grace_s": 5.0,
    "lease_ttl_s": 15.0,
    "received": 0,
    "session": 1,
}
ORDER = {
    "t": "dispatch",
    "args": "{}",
    "at": AT,
    "fence_after_s": 0.0,
    "repeatability": "pure",
    "start_to_close_s": 30.0,
    "tool": "system.info",
}
Frames = list[dict[str, Any]]


def message(number: int, *frames: dict[str, Any]) -> str:
    return json.dumps({"n": number, "f": frames})


def frames_of(text: str | bytes) -> Frames:
    """Return the frames of a message, whatever stands behind it."""
    found, _ = json.JSONDecoder().raw_decode(text.decode() if isinstance(text, bytes) else text)
    return list(found["f"])


def share() -> str:
    return base64.b64encode(X25519PrivateKey.generate().public_key().public_bytes_raw()).decode()


class FalseHub:
    """Answers each connection by one `trick`; `real` is the socket address of the hub that it stands before."""

    def __init__(self, real: str, trick: str) -> None:
        self.trick = trick
        self.obeyed: list[str] = []
        self.heard: list[str] = []
        self.tokens: list[str] = []
        self.tried = asyncio.Event()
        self._real = real
        self._server: Server | None = None
        self._recorded: dict[str, Any] = {}
        self._tricks: dict[str, Callable[[dict[str, Any]], Awaitable[dict[str, Any]]]] = {
            "omits the signature": self._unsigned,
            "names an older version": self._older,
            "signs with another key": self._signed_by_another,
            "replays a recorded challenge": self._replayed,
            "passes on what another device was told": self._of_another,
        }

    async def start(self) -> int:
        """Listen; return the port."""
        self._recorded = await self._ask_real(self._a_hello())
        self._server = await serve(self._serve, "127.0.0.1", 0, compression=None)
        return int(next(iter(self._server.sockets)).getsockname()[1])

    async def stop(self) -> None:
        if self._server is not None:
            self._server.close()
            await self._server.wait_closed()

    async def _serve(self, socket: ServerConnection) -> None:
        try:
            if self.trick == "relays":
                await self._relay(socket)
            else:
                (hello,) = frames_of(await socket.recv())
                await socket.send(message(1, await self._tricks[self.trick](hello)))
                self.heard += [frame["t"] for frame in frames_of(await socket.recv())]
                await self._order(socket, 2)
        except ConnectionClosed:
            return
        finally:
            self.tried.set()

    async def _order(self, socket: ServerConnection, number: int) -> None:
        await socket.send(message(number, WELCOME))
        await socket.send(message(number + 1, ORDER))
        async for text in socket:
            self._note(frames_of(text))

    def _note(self, frames: Frames) -> None:
        self.obeyed += [frame["t"] for frame in frames if frame.get("at") == AT]

    async def _unsigned(self, hello: dict[str, Any]) -> dict[str, Any]:
        return {"t": "challenge", "hub": self._recorded["hub"], "nonce": "n", "version": max(hello["versions"])}

    async def _older(self, hello: dict[str, Any]) -> dict[str, Any]:
        return {"t": "challenge", "hub": self._recorded["hub"], "nonce": "n", "version": 2}

    async def _signed_by_another(self, hello: dict[str, Any]) -> dict[str, Any]:
        fields = {name: value for name, value in hello.items() if name != "t"}
        challenge = f.Challenge(hub=self._recorded["hub"], key_share=share(), nonce="n", version=max(hello["versions"]))
        signed = Ed25519PrivateKey.generate().sign(hub_proof(transcript(f.Hello(**fields), challenge)))
        unsigned = {"t": "challenge", "hub": challenge.hub, "key_share": challenge.key_share, "nonce": "n"}
        return {**unsigned, "signature": base64.b64encode(signed).decode(), "version": challenge.version}

    async def _replayed(self, hello: dict[str, Any]) -> dict[str, Any]:
        return self._recorded

    async def _of_another(self, hello: dict[str, Any]) -> dict[str, Any]:
        return await self._ask_real({**self._a_hello(), "key_share": hello.get("key_share", share())})

    def _a_hello(self) -> dict[str, Any]:
        names = {"device": "d-nobody", "instance": "i", "key": "a2V5", "key_share": share(), "ledger": "l"}
        return {"t": "hello", **names, "next_report": 1, "version": "0.1.0", "versions": [3]}

    async def _ask_real(self, hello: dict[str, Any]) -> dict[str, Any]:
        async with connect(self._real, compression=None) as socket:
            await socket.send(message(1, hello))
            return frames_of(await socket.recv())[0]

    async def _relay(self, socket: ServerConnection) -> None:
        """Pass on what both say, and put in an order of one's own."""
        async with connect(self._real, compression=None) as real:
            passing = asyncio.create_task(self._pass_on(real, socket))
            try:
                async for text in socket:
                    self._note(frames_of(text))
                    await real.send(text)
            finally:
                passing.cancel()
                await asyncio.gather(passing, return_exceptions=True)

    async def _pass_on(self, real: ClientConnection, socket: ServerConnection) -> None:
        number = 0
        async for text in real:
            await socket.send(text)
            number += 1
            found = frames_of(text)
            self.tokens += [frame["http_token"] for frame in found if frame["t"] == "welcome"]
            if number == 3:
                said = str(text)
                body = message(number + 1, ORDER)
                await socket.send(body + said[said.rindex("}") + 1 :])
