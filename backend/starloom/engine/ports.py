"""The engine's ports: the interfaces that it needs, implemented by the edge and tests, and those that it offers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import msgspec

from starloom.core.state.inputs import AnyInput
from starloom_protocol.records.entities import Fault
from starloom_protocol.stream.feed import Event
from starloom_protocol.vocabulary import Code
from starloom_protocol.wire.frames import HubFrame, LeaseRef, Renew


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to one input. With `faults` it was refused and changed nothing."""

    faults: list[Fault] = []
    value: Any = None


class Overloaded(Exception):
    """New work is not accepted now; nothing was kept. `retry_after_s` is a hint for the asker."""

    def __init__(self, reason: str, retry_after_s: int, code: Code = Code.OVERLOADED) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason
        self.retry_after_s = retry_after_s


class Obstacle(msgspec.Struct, frozen=True):
    """The reason why the hub accepts no new work for now, with the code of the answer."""

    reason: str
    code: Code = Code.OVERLOADED


class Inbox(Protocol):
    """The only way to the engine. Bounded; requests are refused first, reports never."""

    async def ask(self, item: AnyInput) -> Reply:
        """Step an input and wait until its answer is as safe as the core says (committed or durable).

        Raises:
            Overloaded: the inbox is full, the store does not answer or the projector lags.
        """
        ...

    def post(self, item: AnyInput) -> None:
        """Step an input without an answer. Reports use this; it never refuses."""
        ...

    def room(self) -> asyncio.Future[None] | None:
        """Return a future that is done when all that waits now has been taken; None if little waits."""
        ...

    def alive(self, device: str, running: Sequence[LeaseRef], sent_ms: int) -> Renew:
        """Renew the leases that this device still has; not an event, made at once from memory.

        It may be sent once it is proved that this hub still owns the shard, see `when_proved`.
        """
        ...

    def when_proved(self, device: str, on_proved: Callable[[], object]) -> None:
        """Call `on_proved` once this hub is proved to own the shard after this call; never if it does not."""
        ...


class DeviceSender(Protocol):
    """The pump's way to the sockets; never blocks, queues are bounded per device."""

    def send(self, device: str, frames: Sequence[HubFrame]) -> bool:
        """Queue frames for a device's open connection; False if it has none."""
        ...

    def send_along(self, device: str, frames: Sequence[HubFrame]) -> bool:
        """Queue frames that may leave a moment later, with the next of `send`; False as there."""
        ...

    def flush(self) -> None:
        """Send the frames queued in this turn before anything else runs; otherwise they leave a turn later."""
        ...

    def close(self, device: str, session: int, code: str, reason: str) -> None:
        """Cut a device's connection; `session` 0 means any open one."""
        ...


class LiveSink(Protocol):
    """The receiver of committed events, each encoded once; must not block and must bound its memory."""

    def publish(self, pos: int, events: Sequence[tuple[Event, bytes]]) -> None: ...

    def close_token(self, token: str) -> None:
        """Cut every socket that was opened with this token."""
        ...


class JobSender(Protocol):
    """Wakes a worker; may lose the message, because a sweeper sends open jobs again."""

    def wake(self, kind: str, constellation: str, job: str) -> None: ...


class Clock(Protocol):
    """Hub time, and the wait for a part of it."""

    def now_ms(self) -> int:
        """Return wall-clock milliseconds."""
        ...

    async def wait(self, ms: int) -> None:
        """Wait for a number of milliseconds of this clock."""
        ...


class ValueStore(Protocol):
    """The store of values that are too big for a frame."""

    def put_bytes(self, data: bytes) -> str:
        """Store bytes and return their SHA-256; blocks, so it is called in a thread.

        Raises:
            Exception: they were not stored; the text says why.
        """
        ...
