"""Sketches of plans that models write, from the workers to the pages that look at the constellation.

Each hub of a shard hears them for itself and passes them on to its own pages. Keeps none: a page that is opened later
gets the next one, two seconds later at most. A message that is not exactly a sketch reaches nobody.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Final

import msgspec

from starloom.edge.live.fanout import Fanout
from starloom.store.faults import UNREADABLE
from starloom.store.port import SketchPort, Unavailable
from starloom_protocol.stream.feed import ACCESS, FLEET, Beside
from starloom_protocol.stream.sketches import SKETCH, SKETCH_BYTES_MOST, Sketch
from starloom_protocol.text.wording import quoted

AGAIN_MS: Final = 1_000
"""Sketches are pictures of a moment: nothing is lost while the channel is away, and one retry a second is cheap."""
MESSAGE_BYTES_MOST: Final = SKETCH_BYTES_MOST + 1024
_log = logging.getLogger(__name__)
_beside = msgspec.json.Decoder(Beside)
_sketch = msgspec.json.Decoder(Sketch)


class Sketches:
    """Hears one channel; `wait` takes milliseconds."""

    def __init__(self, port: SketchPort, fanout: Fanout, wait: Callable[[int], Awaitable[None]]) -> None:
        self._port = port
        self._fanout = fanout
        self._wait = wait
        self.refused = 0

    async def run(self) -> None:
        """Pass sketches on until cancelled; wait for a channel that is away."""
        while True:
            try:
                async for raw in self._port.hear():
                    self.take(raw)
            except Unavailable as error:
                _log.warning("event=sketches_unheard reason=%s", error)
            await self._wait(AGAIN_MS)

    def take(self, raw: bytes) -> None:
        """Pass a message on if it is a sketch and somebody looks at its constellation."""
        try:
            if len(raw) > MESSAGE_BYTES_MOST:
                raise msgspec.ValidationError(f"{len(raw)} bytes")
            item = _beside.decode(raw)
            if item.kind != SKETCH or item.stream in (FLEET, ACCESS):
                raise msgspec.ValidationError(f"a message of the kind {quoted(item.kind[:32])}")
            if not self._fanout.has_viewers(item.stream):
                return
            sketch = _sketch.decode(item.value)
        except UNREADABLE as error:
            self.refused += 1
            if self.refused == 1:  # a flood of them must not fill the log
                _log.warning("event=sketch_refused reason=%s", error)
            return
        # Encoded again, so that nothing but the fields of a sketch reaches a page.
        value = msgspec.Raw(msgspec.json.encode(sketch))
        about = f"{SKETCH}/{sketch.job}"
        self._fanout.beside_here(Beside(about=about, kind=SKETCH, stream=item.stream, value=value))
