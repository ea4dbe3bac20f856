"""Refusals at the doors as events of `access`, so that the log also records those who were not let in.

Only the stream's event number changes. Their rate is bounded where they are noticed (`access.denials`).
"""

from __future__ import annotations

from starloom.core.state.inputs import RefusalNoted
from starloom.core.state.work import Work
from starloom_protocol.events import EventKind


def on_refusal(work: Work, item: RefusalNoted) -> None:
    """Note a refusal; the event names the door, the address and the reason, never the presented credential."""
    often = f", {item.times} times" if item.times > 1 else ""
    whence = f" from {item.address}" if item.address else ""
    work.emit(work.shard.access, EventKind.REFUSED, item.door, [], note=f"{item.code}: {item.reason}{whence}{often}")
