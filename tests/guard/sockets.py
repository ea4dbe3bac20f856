"""Damaged messages over live sockets of a whole hub in this process, from a device that has joined and proved itself.

Beside it a second device works on its own task. Whatever the first sends, the hub goes on, the second one's work stays
as it was, and a message that is refused leaves the first one's work as it was, too.
"""

from __future__ import annotations

import copy
import json
import logging
import random
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec

from starloom_protocol.wire import frames as f
from starloom_protocol.wire.session import Side
from tests.edge.world import Agent, World, Ws, an_offer, chain, settle
from tests.guard.frames import FAMILY
from tests.guard.mutate import damage

C = "/api/v1/constellations"
OWN_END = ("the agent ", "goodbye")
"""How the hub calls an end that the agent asked for: what came before it in the same message counts."""

MESSAGES_MOST = 12
"""Messages that one connection sends at most before it is left for another."""


class Attacker(Agent):
    """A device that comes from another address each time, so that limits do not end the attack."""

    dials = 0

    async def reach(self, world: World) -> Ws:
        self.dials += 1
        ws = world.socket("/aip/v1")
        address = f"10.{self.dials >> 16 & 255}.{self.dials >> 8 & 255}.{self.dials & 255}"
        ws._scope["client"] = (address, 40000)
        return await ws.open()


class Faults(logging.Handler):
    """Remembers what the hub logged as its own error."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.seen: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info or "alarm" not in record.getMessage():
            self.seen.append(record.getMessage())


class Siege:
    """One hub under attack. `unhandled` holds what went wrong, each with its seed."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.attacker = Attacker("attacker")
        self.victim = Agent("victim")
        self.said: Counter[str] = Counter()
        self.unhandled: list[tuple[int, str]] = []
        self.faults = Faults()
        self._works: dict[str, str] = {}
        self._family: list[Any] = []

    async def open(self) -> None:
        """Join both devices and give each a task that goes on."""
        logging.getLogger().addHandler(self.faults)
        for agent in (self.victim, self.attacker):
            tool = f"t.{agent.name}"
            async with self.world.client() as http:
                made = (await http.post("/api/v1/enrollments", json={"preapproved": True})).json()
                answer = await http.post("/agent/join", json=agent.ask(made["code"]))
                assert answer.json()["state"] == "approved"
            await agent.connect(self.world, offer=an_offer(tool))
            self._works[agent.name] = (await self.world.submit(chain(tool)))["id"]
            dispatch = await agent.next(f.Dispatch)
            at = msgspec.to_builtins(dispatch.at)
            for frame in copy.deepcopy(FAMILY[Side.AGENT]):
                self._family.append(with_attempt(frame, at))
        assert self.attacker.ws is not None
        await self.attacker.ws.leave()

    def close(self) -> None:
        logging.getLogger().removeHandler(self.faults)

    async def work_of(self, name: str, *, whole: bool = True) -> str:
        """Return what the hub says of a device's work, as text to compare."""
        async with self.world.client() as http:
            found = (await http.get(f"{C}/{self._works[name]}")).json()
        if whole:
            return json.dumps(found, sort_keys=True)
        tasks = [[task.get(key) for key in ("id", "state", "attempt")] for task in found.get("tasks", [])]
        return json.dumps([found["state"], found["version"], tasks])

    async def attack(self, seed: int) -> int:
        """Open one connection and send damaged messages until the hub ends it; return how many were sent."""
        random_ = random.Random(seed)
        others = await self.work_of("victim")
        sent = 0
        try:
            early = random_.random() < 0.15
            await (self.attacker.dial(self.world) if early else self._connect())
            number = self.attacker.session._sent + 1
            for _ in range(MESSAGES_MOST):
                own = await self.work_of("attacker", whole=False)
                text = self._message(random_, number)
                closed = await self._send(text)
                sent += 1
                number += _number(text) == number
                if closed:
                    self.said["refused"] += 1
                    assert await self.work_of("attacker", whole=False) == own or closed.startswith(OWN_END), (
                        "a refused message changed the work"
                    )
                    break
                self.said["taken"] += 1
            assert await self.work_of("victim") == others, "the work of another device has changed"
            assert not self.faults.seen, self.faults.seen[0]
        except Exception as error:
            self.unhandled.append((seed, repr(error)))
            self.faults.seen.clear()
        finally:
            await self._leave(seed)
        return sent

    async def _connect(self) -> None:
        await self.attacker.connect(self.world, offer=an_offer("t.attacker"))

    def _message(self, random_: random.Random, number: int) -> str:
        frames = [random_.choice(self._family) for _ in range(random_.choice((1, 1, 1, 3)))]
        message = {"n": number, "f": frames}
        # Sound frames that name another's work are an attack as well.
        return json.dumps(message) if random_.random() < 0.25 else damage(random_, message, self._family)

    async def _send(self, text: str) -> str:
        """Send one message; return the reason if the hub has ended the connection."""
        ws = self.attacker.ws
        assert ws is not None
        # Sealed as the device's own: what is tried is what the hub makes of it, not whether it is let through.
        await ws.send(self.attacker.sealed(text))
        await settle(20)
        while not ws._from_app.empty():
            message = ws._from_app.get_nowait()
            if message["type"] == "websocket.close":
                ws.close_code = message["code"]
                return str(message.get("reason") or "goodbye")
        return ""

    async def _leave(self, seed: int) -> None:
        ws = self.attacker.ws
        if ws is None or ws.task is None:
            return
        try:
            await ws.leave()
        except Exception as error:
            self.unhandled.append((seed, f"the endpoint raised {error!r}"))
        await settle(10)


def with_attempt(frame: Any, at: dict[str, Any]) -> Any:
    """Return a frame that names this attempt wherever it names one."""
    if isinstance(frame, dict):
        if {"attempt", "constellation", "task"} <= set(frame):
            return dict(at)
        return {key: with_attempt(value, at) for key, value in frame.items()}
    return [with_attempt(item, at) for item in frame] if isinstance(frame, list) else frame


def _number(text: str) -> int:
    try:
        found = json.loads(text)
    except ValueError:
        return 0
    number = found.get("n") if isinstance(found, dict) else None
    return number if isinstance(number, int) else 0


def rss_bytes() -> int:
    """Return how much memory this process holds."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * 4096
