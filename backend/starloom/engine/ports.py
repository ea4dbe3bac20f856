"""What the engine needs from others, and what it gives them; the edge and the tests implement the former."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import msgspec

from starloom.core.state.inputs import AnyInput
from starloom_protocol.entities import Fault
from starloom_protocol.feed import Event
from starloom_protocol.frames import HubFrame, LeaseRef, Renew
from starloom_protocol.vocabulary import Code


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to one input. With `faults` it was refused and changed nothing."""

    faults: list[Fault] = []
    value: Any = None


class Overloaded(Exception):
    """New work is not taken now; nothing was accepted. `retry_after_s` is a hint for the asker."""

    def __init__(self, reason: str, retry_after_s: int, code: Code = Code.OVERLOADED) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason
        self.retry_after_s = retry_after_s


class Obstacle(msgspec.Struct, frozen=True):
    """Why the hub takes no new work for now: in words, and as the code that the asker is told."""

    reason: str
    code: Code = Code.OVERLOADED


class Inbox(Protocol):
    """The only way to the engine: bounded; requests are refused first, reports never."""

    async def ask(self, item: AnyInput) -> Reply:
        """Step an input and wait until its answer is as safe as the core says (committed or durable).

        Raises:
            Overloaded: if the inbox is full, the store is away or the projector lags.
        """
        ...

    def post(self, item: AnyInput) -> None:
        """Step an input without an answer. Reports use this; it never refuses."""
        ...

    def alive(self, device: str, running: Sequence[LeaseRef], sent_ms: int) -> Renew:
        """Renew the leases that this device still has; not an event, made at once from memory.

        It may be sent when it is proved that this hub still owns the shard, see `when_proved`.
        """
        ...

    def when_proved(self, device: str, then: Callable[[], object]) -> None:
        """Call `then` once this hub was seen to own the shard at a moment after this call; never, if it does not."""
        ...


class DeviceSender(Protocol):
    """The pump's way to the sockets; never blocks, queues are bounded per device."""

    def send(self, device: str, frames: Sequence[HubFrame]) -> bool:
        """Queue frames for a device's open connection; False if it has none."""
        ...

    def flush(self) -> None:
        """Send what was queued in this turn before anything else runs; without it it leaves a turn later."""
        ...

    def close(self, device: str, session: int, code: str, reason: str) -> None:
        """Cut a device's connection; `session` 0 means whichever is open."""
        ...


class LiveSink(Protocol):
    """Takes committed events, each encoded once; must not block and must bound what it keeps."""

    def publish(self, pos: int, events: Sequence[tuple[Event, bytes]]) -> None: ...

    def close_token(self, token: str) -> None:
        """Cut every socket that was let in by this token."""
        ...


class JobSender(Protocol):
    """Wakes a worker; may lose the message, because a sweeper sends open jobs again."""

    def wake(self, kind: str, constellation: str, job: str) -> None: ...


class Clock(Protocol):
    def now_ms(self) -> int:
        """Return wall-clock milliseconds."""
        ...

    async def wait(self, ms: int) -> None:
        """Wait for so many milliseconds of this clock."""
        ...


class ValueStore(Protocol):
    """Where values go that are too big for a frame."""

    def put_bytes(self, data: bytes) -> str:
        """Store bytes and return their SHA-256; blocks, so it is called in a thread."""
        ...
