"""The sending of sketches: pictures of a plan, a review or an answer while a model writes it.

Owns when a sketch is sent: at most four times a second, and again while nothing changes. A sketch that cannot be sent
is dropped: planning never waits for its picture and never fails by it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Final

import msgspec

from starloom.jobs.claiming import WorkerJob
from starloom.planner.model.port import Hear, Piece
from starloom.planner.model.sketching import SketchPad
from starloom.process.ending import end_tasks
from starloom.store.port import SketchPort, Unavailable
from starloom_protocol.stream.feed import Beside
from starloom_protocol.stream.sketches import SKETCH

EVERY_S: Final = 0.25
ALIVE_TICKS: Final = 8
"""After so many ticks without a change the same sketch is sent again, for a page that was opened meanwhile."""
_log = logging.getLogger(__name__)

OpenSketches = Callable[[], AbstractAsyncContextManager[SketchPort]]
Wait = Callable[[float], Awaitable[None]]


@asynccontextmanager
async def sketched(
    channels: OpenSketches | None, job: WorkerJob, now_ms: Callable[[], int], wait: Wait = asyncio.sleep
) -> AsyncIterator[Hear]:
    """Yield what takes the pieces of replies; sketches of them are sent until the block ends, if there is a channel."""
    sending = Sending(job.constellation, SketchPad(job.job, job.worker), now_ms)
    if channels is None:
        yield sending.hear
        return
    async with channels() as port:
        task = asyncio.create_task(sending.run(port, wait), name=f"sketch-{job.constellation}")
        try:
            yield sending.hear
        finally:
            await end_tasks([task])


class Sending:
    """One job's sketches: what is heard, and whether it was sent."""

    def __init__(self, constellation: str, pad: SketchPad, now_ms: Callable[[], int]) -> None:
        self._constellation = constellation
        self._pad = pad
        self._now_ms = now_ms
        self._changed = False

    def hear(self, piece: Piece) -> None:
        """Take a piece; never waits and never fails."""
        self._pad.hear(piece, self._now_ms())
        self._changed = True

    async def run(self, port: SketchPort, wait: Wait) -> None:
        """Send a sketch after each tick in which something changed, until cancelled."""
        quiet, is_logged = 0, False
        while True:
            await wait(EVERY_S)
            quiet += 1
            if not self._pad.calls or not (self._changed or quiet >= ALIVE_TICKS):
                continue
            self._changed, quiet = False, 0
            try:
                await port.say(self._message())
            except Unavailable as error:
                if not is_logged:
                    is_logged = True
                    _log.warning("the plan for %s is not drawn while it is written: %s", self._constellation, error)
            except Exception:
                _log.exception("the drawing of the plan for %s ends; the plan goes on", self._constellation)
                return

    def _message(self) -> bytes:
        sketch = self._pad.drawn()
        value = msgspec.Raw(msgspec.json.encode(sketch))
        return msgspec.json.encode(
            Beside(about=f"{SKETCH}/{sketch.job}", kind=SKETCH, stream=self._constellation, value=value)
        )
