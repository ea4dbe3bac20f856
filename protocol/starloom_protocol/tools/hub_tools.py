"""The tools that the hub itself carries out: no device offers them, and no device is asked.

Owns their names, arguments, effects and results, as offers of the same form as those of devices. An offer of a device
under one of these names counts for nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final

import msgspec

from starloom_protocol.records.fleet import ToolOffer
from starloom_protocol.records.record import Record
from starloom_protocol.values import canonical
from starloom_protocol.vocabulary import Effect, Repeatability

DEVICES: Final = "fleet.devices"
DRAIN: Final = "device.drain"
RESUME: Final = "device.resume"
ROWS_MOST: Final = 100
"""A result stands in the log, so it names no more devices than this; the counts are of all."""
NAMED_MOST: Final = 50
"""The most tasks that the result of a drain names."""
SECONDS_MOST: Final = 7 * 86_400
"""A device that is spared for more than a week is set aside by a person."""
STATES: Final = ("on", "off", "asleep")

_TEXT: Final = {"type": "string"}
_NAME: Final = {"maxLength": 128, "minLength": 1, "type": "string"}
_COUNT: Final = {"type": "integer"}
_FLAG: Final = {"type": "boolean"}
_SECONDS: Final = {"maximum": SECONDS_MOST, "minimum": 0, "type": "integer"}


class DevicesArgs(Record, frozen=True, kw_only=True):
    """`names`: these alone; `for_s`: a device is down once it was off for so long."""

    for_s: int = 0
    names: list[str] = msgspec.field(default_factory=list)


class DrainArgs(Record, frozen=True, kw_only=True):
    """`deadline_s`: when repeatable work is moved to other devices; 0 is at once."""

    deadline_s: int = 0
    device: str
    reason: str = ""


class ResumeArgs(Record, frozen=True, kw_only=True):
    device: str
    reason: str = ""


def _map(required: Iterable[str] | None = None, **fields: Any) -> dict[str, Any]:
    names = sorted(fields if required is None else required)
    return {"additionalProperties": False, "properties": fields, "required": names, "type": "object"}


def _list(of: Mapping[str, Any], **limits: int) -> dict[str, Any]:
    return {"items": dict(of), "type": "array", **limits}


_ROW: Final = _map(
    device=_TEXT,
    draining=_FLAG,
    last_seen=_TEXT,
    os=_TEXT,
    running=_COUNT,
    set_aside=_FLAG,
    since=_TEXT,
    state={"enum": list(STATES)},
)
_WORK: Final = _map(constellation=_TEXT, task=_TEXT)


def _offer(name: str, title: str, effect: Effect, repeat: Repeatability, args: Any, returns: Any) -> ToolOffer:
    return ToolOffer(
        args=canonical(args),
        effects=[effect],
        name=name,
        repeatability=repeat,
        returns=canonical(returns),
        self_verified=True,
        title=title,
    )


HUB_TOOLS: Final[Mapping[str, ToolOffer]] = MappingProxyType(
    {
        offer.name: offer
        for offer in (
            _offer(
                DRAIN,
                "Drain a device, move its work",
                Effect.CONTROL,
                Repeatability.NEVER,
                _map(["device"], deadline_s=_SECONDS, device=_NAME, reason={"maxLength": 500, "type": "string"}),
                _map(
                    device=_TEXT,
                    draining=_FLAG,
                    moved=_COUNT,
                    moving=_list(_WORK),
                    stayed=_COUNT,
                    staying=_list(_WORK),
                ),
            ),
            _offer(
                RESUME,
                "End a drain",
                Effect.CONTROL,
                Repeatability.NEVER,
                _map(["device"], device=_NAME, reason={"maxLength": 500, "type": "string"}),
                _map(device=_TEXT, draining=_FLAG),
            ),
            _offer(
                DEVICES,
                "State of devices, on or off",
                Effect.READ,
                Repeatability.PURE,
                _map([], for_s=_SECONDS, names=_list(_NAME, maxItems=ROWS_MOST)),
                _map(
                    at=_TEXT,
                    count=_COUNT,
                    down=_COUNT,
                    left_out=_COUNT,
                    off=_list(_ROW),
                    rows=_list(_ROW),
                    unknown=_list(_TEXT),
                ),
            ),
        )
    }
)


def controls_devices(tool: str | None) -> bool:
    """Tell whether a tool of the hub does more than read, so that its call needs the right to control devices."""
    offer = HUB_TOOLS.get(tool or "")
    return offer is not None and Effect.CONTROL in offer.effects


def with_hub_tools(offers: Iterable[ToolOffer]) -> Iterator[ToolOffer]:
    """Yield the offers of devices but those under a name of the hub's, then the hub's own."""
    yield from (offer for offer in offers if offer.name not in HUB_TOOLS)
    yield from HUB_TOOLS.values()
