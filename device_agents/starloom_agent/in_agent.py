"""Tools that run inside the agent itself: pure and instant ones only, without files, artifacts or a process."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO, Final

from starloom_agent.calls import Ended
from starloom_agent.outcomes import arguments, canonical_value, facts_of
from starloom_agent.toolkit.interface import Folders, Tool, ToolContext, ToolFailed
from starloom_agent.toolkit.results import Stored
from starloom_protocol.values import INLINE_VALUE_BYTES_MAX
from starloom_protocol.vocabulary import Code, Outcome
from starloom_protocol.wire.frames import Dispatch


class _Nothing:
    """The ports of such a tool: it has no files and no output."""

    def fetch(self, sha256: str, into: Path) -> Path:
        raise ToolFailed(Code.TOOL_FAILED, f"a tool inside the agent has no artifacts ({sha256}, {into})", effect=False)

    def put(self, file: BinaryIO, *, name: str, media: str) -> Stored:
        raise ToolFailed(Code.TOOL_FAILED, f"a tool inside the agent has no artifacts ({file}, {name}, {media})")

    def progress(self, *, done_bytes: int, fraction: float | None, note: str) -> None:
        """Instant tools have no progress."""

    def log(self, text: str) -> None:
        """Instant tools have no log."""


_NOWHERE: Final = ToolContext(Path("/nonexistent"), _Nothing(), _Nothing(), Folders())


def run_here(tool: Tool, dispatch: Dispatch, args: Mapping[str, Any], inputs: Mapping[str, Any]) -> Ended | None:
    """Run the tool now; None if its value is too big to stay here: then it needs a process that can upload it.

    Raises:
        ToolFailed: as the tool says, or for wrong arguments.
    """
    value = tool.run(_NOWHERE, arguments(tool.args, args, inputs))
    text = canonical_value(value)
    size = len(text.encode())
    if size > INLINE_VALUE_BYTES_MAX:
        return None
    facts, too_big = facts_of(value, dispatch.wants) if dispatch.wants else ({}, {})
    return Ended(outcome=Outcome.OK, value=text, bytes=size, facts=facts, facts_too_big=too_big)
