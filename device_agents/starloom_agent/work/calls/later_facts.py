"""Facts that the hub asks of an attempt after its end: looked up in the result that the ledger keeps.

A value that went to the hub as an artifact is fetched back and checked by its hash. Blocking: for a thread.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Final

from starloom_agent.toolkit.interface import ToolFailed
from starloom_agent.wire.artifacts import HubArtifacts
from starloom_agent.work.execution.outcomes import facts_of
from starloom_protocol.values import parse
from starloom_protocol.wire.frames import FactsFrame, FetchFacts, Receipt, ResultFrame

_FETCH_WITHIN_S: Final = 30.0
"""The hub waits for the answer; a value that does not come back in this time counts as gone."""


class _Quiet:
    """An output that drops everything: such a fetch belongs to no attempt with a log."""

    def progress(self, *, done_bytes: int, fraction: float | None, note: str) -> None:
        """There is nobody to show it to."""

    def log(self, text: str) -> None:
        """There is nobody to show it to."""


def look_up(request: FetchFacts, report: ResultFrame | Receipt | None, connection_file: Path) -> FactsFrame:
    """Return the answer; `report` False if the value is not here and cannot be had back."""
    gone = FactsFrame(at=request.at, kept=False)
    if not isinstance(report, ResultFrame):
        return gone
    text = report.value
    if text is None and report.artifact is not None:
        text = _fetched(report.artifact, connection_file)
    if text is None:
        return gone
    facts, too_big = facts_of(parse(text), request.wants)
    return FactsFrame(at=request.at, facts=facts, facts_too_big=too_big)


def _fetched(sha256: str, connection_file: Path) -> str | None:
    try:
        with tempfile.TemporaryDirectory(prefix="starloom-facts-") as folder:
            port = HubArtifacts(connection_file, _Quiet(), deadline=time.monotonic() + _FETCH_WITHIN_S)
            return port.fetch(sha256, Path(folder)).read_text(encoding="utf-8")
    except (ToolFailed, OSError):
        return None  # the hub cannot be reached, or this disk is full: the answer says that the value is not here
