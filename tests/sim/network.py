"""Links between agents and the hub: in order within a connection, anything across them.

A cut loses a suffix of what is under way in each direction and lets each side notice at its own time, so that a new
connection may stand while reports of the old one still arrive. A `Sockets` is one hub's `DeviceSender`.
"""

from __future__ import annotations

import asyncio
import contextvars
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from starloom_protocol.wire.frames import HubFrame


@dataclass(eq=False)
class Wire:
    """One connection. `up` counts for sending; what was sent before a cut may still arrive."""

    device: str
    to_agent: Callable[[Any], None]
    to_hub: Callable[[Any], None]
    closed_at_agent: Callable[[], None]
    closed_at_hub: Callable[[], None]
    sockets: Sockets
    session: int = 0
    up: bool = True
    lost_after_s: dict[str, float] = field(default_factory=dict)
    arrives_s: dict[str, float] = field(default_factory=lambda: {"agent": 0.0, "hub": 0.0})
    held: list[Any] = field(default_factory=list)


class Network:
    """Every wire, and the faults of the net."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self.wires: dict[str, list[Wire]] = {}
        self.cut_off: set[str] = set()
        self.slow_s = 0.02
        self._repeats: dict[str, int] = {}
        # What is under way belongs to no process: it arrives even if its sender has stopped meanwhile.
        self._outside = contextvars.copy_context()

    def repeat(self, device: str, count: int) -> None:
        """Let the next messages of a device's wires, in either direction, arrive twice."""
        self._repeats[device] = self._repeats.get(device, 0) + count

    def connected(self, wire: Wire) -> None:
        """From now on the hub's frames for this device go over this wire."""
        self.wires.setdefault(wire.device, []).append(wire)

    def carry(self, wire: Wire, to: str, frame: Any) -> None:
        """Take one message; it arrives later, after those before it, unless the wire is cut meanwhile."""
        if not wire.up or wire.device in self.cut_off:
            return
        if to == "agent" and not wire.session:
            wire.held.append(frame)
            return
        loop = asyncio.get_running_loop()
        at = max(loop.time() + self._chance.uniform(0.001, self.slow_s), wire.arrives_s[to] + 0.0001)
        wire.arrives_s[to] = at
        loop.call_at(at, self._arrive, wire, to, frame, at, context=self._outside)
        if self._repeats.get(wire.device, 0) > 0:
            self._repeats[wire.device] -= 1
            again = at + self._chance.uniform(0.0, self.slow_s)
            loop.call_at(again, self._arrive, wire, to, frame, again, context=self._outside)

    def _arrive(self, wire: Wire, to: str, frame: Any, at: float) -> None:
        if at > wire.lost_after_s.get(to, float("inf")):
            return
        (wire.to_agent if to == "agent" else wire.to_hub)(frame)

    def cut(self, wire: Wire) -> None:
        """End a connection; each direction loses what would arrive after some moment, each side notices by itself."""
        if not wire.up:
            return
        wire.up = False
        loop = asyncio.get_running_loop()
        for to in ("agent", "hub"):
            wire.lost_after_s[to] = loop.time() + self._chance.choice([0.0, 0.0, self.slow_s / 2, 1.0])
        outside = self._outside
        loop.call_later(self._chance.choice([0.0, 0.05, 1.0]), wire.closed_at_agent, context=outside)
        loop.call_later(self._chance.choice([0.0, 0.05, 1.0, 12.0]), self._noticed, wire, context=outside)

    def _noticed(self, wire: Wire) -> None:
        self.forget(wire)
        wire.closed_at_hub()

    def welcomed(self, wire: Wire, session: int) -> None:
        """Let what the hub queued before the welcome follow it."""
        wire.session = session
        held, wire.held = wire.held, []
        for frame in held:
            self.carry(wire, "agent", frame)

    def forget(self, wire: Wire) -> None:
        """The hub's frames do not go over this wire any more; what waited for its welcome goes to an older one."""
        wires = self.wires.get(wire.device, [])
        if wire in wires:
            wires.remove(wire)
        older = [other for other in wires if other.sockets is wire.sockets]
        if older and not wire.session:
            for frame in wire.held:
                self.carry(older[-1], "agent", frame)
        if not wires:
            self.wires.pop(wire.device, None)

    def cut_device(self, device: str) -> None:
        for wire in list(self.wires.get(device, [])):
            self.cut(wire)


class Sockets:
    """The connections that end at one hub."""

    def __init__(self, net: Network) -> None:
        self._net = net

    def _mine(self, device: str) -> list[Wire]:
        return [wire for wire in self._net.wires.get(device, ()) if wire.sockets is self]

    def send(self, device: str, frames: Sequence[HubFrame]) -> bool:
        wires = self._mine(device)
        if not wires:
            return False
        for frame in frames:
            self._net.carry(wires[-1], "agent", frame)
        return True

    def send_along(self, device: str, frames: Sequence[HubFrame]) -> bool:
        return self.send(device, frames)

    def flush(self) -> None:
        """Nothing is kept back: what was sent is under way."""

    def close(self, device: str, session: int, code: str, reason: str) -> None:
        for wire in self._mine(device):
            if session in (0, wire.session):
                self._net.cut(wire)
