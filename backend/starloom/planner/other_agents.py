"""Work of a plan that a device hands to an agent of others, in words for the person who looks at the plan. Pure.

The device judges each step of such an agent; here is only said what its owner declared. The words come from the device.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from starloom.planner.quoting import plain
from starloom_protocol.records.entities import TaskSpec, ToolOffer

_GRANT: Final = "agent:"
_TITLE_CHARS: Final = 200


def agent_warnings(spec: TaskSpec, offer: ToolOffer, devices: Iterable[str]) -> Iterable[str]:
    """Yield a sentence if the tool of a task is an agent of others; `devices` are names."""
    if (offer.grant or "").startswith(_GRANT):
        where = ", ".join(devices) or "its device"
        yield (
            f"{spec.id}: {plain(offer.title, _TITLE_CHARS)}. It decides on its own steps; {where} asks its owner "
            "for each further permission, and an approval of this plan gives none"
        )
