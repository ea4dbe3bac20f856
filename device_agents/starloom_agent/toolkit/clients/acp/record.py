"""The record of a session: updates of the other agent as lines of the call's output, its answer, and the transcript.

Each is bounded, and each line is one line: nothing in it moves a terminal. Reads no file and decides nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import msgspec

from starloom_protocol.text.scrubbing import Scrubber

TRANSCRIPT_BYTES_MOST: Final = 4 * 1024 * 1024
"""It is an artifact of each call; messages beyond it are counted in its last line."""
TEXT_CHARS_MOST: Final = 256 * 1024
"""It becomes the result of a task; `complete` says whether more was there."""
_LINES_MOST: Final = 2_000
"""The output is for a person who follows the work; the transcript has the rest."""
_LINE_CHARS: Final = 400
_PLAN_MOST: Final = 20
_TOOLS_MOST: Final = 1_000
_CHUNKS: Final = {"agent_message_chunk": "message", "agent_thought_chunk": "thought"}


def one_line(value: object, most: int = _LINE_CHARS) -> str:
    """Return a text as one line of signs that can be seen, cut where it is too long."""
    text = "".join(sign if sign.isprintable() else " " for sign in str(value)[: most + 1])
    return f"{text[:most]}..." if len(text) > most else text


class AcpRecord:
    """The record of one call. `tell` takes a line for the output."""

    def __init__(self, tell: Callable[[str], None], transcript: Path, hidden: Scrubber) -> None:
        self._tell = tell
        self._hidden = hidden
        self._file = transcript.open("wb")
        self._bytes = 0
        self._lines = 0
        self._speaker = ""
        self._part = ""
        self._text: list[str] = []
        self._text_chars = 0
        self.left_out = 0
        self.tools: dict[str, dict[str, Any]] = {}

    @property
    def text(self) -> str:
        """The messages of the agent, as one text of at most `TEXT_CHARS_MOST` characters."""
        return "".join(self._text)

    @property
    def is_complete(self) -> bool:
        """Whether the text holds all messages."""
        return self._text_chars <= TEXT_CHARS_MOST

    def note(self, who: str, message: Any) -> None:
        """Add a message to the transcript; beyond its bound messages are counted only."""
        line = self._hidden.text(msgspec.json.encode({"by": who, **_plain(message)}).decode()).encode() + b"\n"
        if self._bytes + len(line) > TRANSCRIPT_BYTES_MOST:
            self.left_out += 1
            return
        self._bytes += len(line)
        self._file.write(line)

    def close(self) -> None:
        """Say the line that was begun, and finish the transcript."""
        self._flush()
        if self.left_out and not self._file.closed:
            self._file.write(msgspec.json.encode({"by": "device", "left_out": self.left_out}) + b"\n")
        self._file.close()

    def say(self, text: str) -> None:
        """Add a line of this device to the output."""
        self._flush()
        self._line(text)

    def take(self, update: Any) -> None:
        """Take the `update` of a `session/update`; unknown kinds stand in the transcript alone."""
        if not isinstance(update, dict):
            return
        kind = str(update.get("sessionUpdate"))
        if kind in _CHUNKS:
            self._chunk(_CHUNKS[kind], _words_of(update.get("content")))
        elif kind in ("tool_call", "tool_call_update"):
            call = self.tool(update)
            self.say(f"tool {call.get('kind') or 'other'}: {call.get('title') or ''} ({call.get('status') or 'new'})")
        elif kind == "plan":
            entries = update.get("entries")
            for entry in (entries if isinstance(entries, list) else [])[:_PLAN_MOST]:
                if isinstance(entry, dict):
                    self.say(f"plan: {entry.get('content')} ({entry.get('status')})")

    def tool(self, call: Any) -> dict[str, Any]:
        """Return all that is known of a tool call, from whichever message came first."""
        if not isinstance(call, dict):
            return {}
        name = str(call.get("toolCallId"))[:_LINE_CHARS]
        if name not in self.tools and len(self.tools) >= _TOOLS_MOST:
            return dict(call)
        fields = {key: value for key, value in call.items() if value is not None}
        self.tools[name] = {**self.tools.get(name, {}), **fields}
        return self.tools[name]

    def _chunk(self, speaker: str, text: str) -> None:
        if speaker == "message":
            room = TEXT_CHARS_MOST - self._text_chars
            self._text_chars += len(text)
            if room > 0:
                self._text.append(text[:room])
        if speaker != self._speaker:
            self._flush()
            self._speaker = speaker
        *lines, self._part = (self._part + text).split("\n")
        for line in lines:
            self._line(f"{speaker}: {line}" if line.strip() else "")
        if len(self._part) > _LINE_CHARS:
            self._flush()
            self._speaker = speaker

    def _flush(self) -> None:
        part, self._part = self._part, ""
        speaker, self._speaker = self._speaker, ""
        if part.strip():
            self._line(f"{speaker}: {part}")

    def _line(self, text: str) -> None:
        if not text.strip():
            return
        self._lines += 1
        if self._lines <= _LINES_MOST:
            self._tell(one_line(self._hidden.text(text)))
        elif self._lines == _LINES_MOST + 1:
            self._tell(f"further lines are left out: {_LINES_MOST} are shown; the transcript has more")


def _plain(message: Any) -> dict[str, Any]:
    return message if isinstance(message, dict) else {"said": message}


def _words_of(content: Any) -> str:
    if not isinstance(content, dict):
        return ""
    if content.get("type") == "text":
        return str(content.get("text") or "")
    return f"[{one_line(content.get('type') or 'something', 40)}]"
