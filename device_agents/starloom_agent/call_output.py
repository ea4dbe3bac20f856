"""The output of a call as the agent takes it: numbered, capped, scrubbed.

Knows no process and no clock.
"""

from __future__ import annotations

import codecs

import msgspec

from starloom_agent.calls import OUTPUT_BYTES_MAX, TAIL_BYTES, Ended, Said
from starloom_protocol.text.scrubbing import Scrubber, Stream


class Output:
    """The text of a call: one numbering of bytes over all streams, capped, scrubbed, with its tail."""

    def __init__(self, secrets: list[str]) -> None:
        self._scrubber = Scrubber(secrets)
        self._streams: dict[str, Stream] = {}
        self._decoders: dict[str, codecs.IncrementalDecoder] = {}
        self.sent_bytes = 0
        self.lost_bytes = 0
        self.tail = ""

    def take(self, stream: str, data: bytes, *, final: bool = False) -> list[Said]:
        """Return the lines to send for these bytes of a stream."""
        decoder = self._decoders.setdefault(stream, codecs.getincrementaldecoder("utf-8")("replace"))
        return self.take_text(stream, decoder.decode(data, final), final=final)

    def take_text(self, stream: str, text: str, *, final: bool = False) -> list[Said]:
        if self._scrubber:
            # The end of a read may cut a secret in two.
            text = self._streams.setdefault(stream, Stream(self._scrubber)).take(text, final=final)
        if not text:
            return []
        self.tail = (self.tail + text)[-TAIL_BYTES:]
        room = OUTPUT_BYTES_MAX - self.sent_bytes
        size = len(text.encode())
        if size > room:
            self.lost_bytes += size
            return []
        offset = self.sent_bytes
        self.sent_bytes += size
        return [Said(stream=stream, offset=offset, text=text)]

    def clean_note(self, said: Said) -> Said:
        """Return a progress, which is not part of the output, without secrets."""
        return msgspec.structs.replace(said, note=self._scrubber.text(said.note)) if self._scrubber else said

    def clean_end(self, ended: Ended) -> Ended:
        """Return how the call ended without secrets in its sentence."""
        return msgspec.structs.replace(ended, detail=self._scrubber.text(ended.detail)) if self._scrubber else ended

    def finish(self) -> list[Said]:
        """Return the text that was held back, and the note about lost output."""
        found = [said for stream in ("out", "err", "log") for said in self.take(stream, b"", final=True)]
        if self.lost_bytes:
            text = f"\n[{self.lost_bytes} bytes of output were not kept: the limit is {OUTPUT_BYTES_MAX}]\n"
            found.append(Said(stream="log", offset=self.sent_bytes, text=text))
            self.tail = (self.tail + text)[-TAIL_BYTES:]
        return found

    def tail_text(self) -> str:
        """The last 4 KiB of output."""
        return self.tail.encode()[-TAIL_BYTES:].decode("utf-8", "ignore")
