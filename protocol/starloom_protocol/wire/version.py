"""The versions of AIP: those that this side speaks, their negotiation, and the parts that an older peer lacks.

A new optional field of a frame gets a row in `FIELDS_SINCE`; the encoder leaves it out for peers older than that. A new
frame gets a row in `FRAMES_SINCE`; a session of an older version neither sends nor takes it.
A released version is never changed, so golden examples are added to and not edited.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from starloom_protocol.vocabulary import Code
from starloom_protocol.wire.frames import Frame, ProtocolFault

PROTOCOL_VERSIONS: Final = (3, 4)
"""In each of them the hub signs the handshake, and both sides seal every message after it."""

FIELDS_SINCE: Final[Mapping[tuple[str, str], int]] = {
    ("challenge", "key_share"): 3,
    ("challenge", "signature"): 3,
    ("dispatch", "asked_by"): 4,
    ("dispatch", "asked_words"): 4,
    ("dispatch", "patience_most_s"): 4,
    ("hello", "key_share"): 3,
    ("ledger", "calls"): 4,
    ("renew", "idle_s"): 3,
}
"""(tag of the frame, name of the field) -> the version it came with; absent means version 1."""

_LATE: Final = frozenset(tag for tag, _ in FIELDS_SINCE)

FRAMES_SINCE: Final[Mapping[str, int]] = {"answer": 2, "asks": 2, "hint": 3, "name": 4, "over": 3, "vitals": 3}
"""tag of the frame -> the version it came with; absent means version 1. A sender of one asks `knows` first."""


def release_numbers(release: str) -> tuple[int, ...]:
    """Return the numbers of a released version such as `0.2.0`, for comparing; empty for anything else.

    The part after a `+` names a build of the same release.
    """
    parts = release.split("+")[0].split(".")
    return tuple(map(int, parts)) if all(part.isdecimal() and len(part) <= 6 for part in parts) else ()


def is_older(agent: str, hub: str) -> bool:
    """Whether an agent's release is a number below the hub's; anything that is no number is left alone."""
    numbers = [release_numbers(agent), release_numbers(hub)]
    return all(numbers) and numbers[0] < numbers[1]


def negotiate(offered: Sequence[int], supported: Sequence[int] = PROTOCOL_VERSIONS) -> int:
    """Return the highest version that the agent offers and the hub supports.

    Raises:
        ProtocolFault: `agent_too_old` or `hub_too_old` naming the older side; `protocol_error` for an empty offer.
    """
    common = set(offered) & set(supported)
    if common:
        return max(common)
    if not offered:
        raise ProtocolFault(Code.PROTOCOL_ERROR, "the agent offers no protocol version")
    spoken = _listed(supported)
    if max(offered) > max(supported):
        raise ProtocolFault(
            Code.HUB_TOO_OLD, f"the agent speaks AIP {_listed(offered)}, this hub only {spoken}: the hub is too old"
        )
    raise ProtocolFault(
        Code.AGENT_TOO_OLD, f"the agent speaks AIP {_listed(offered)}, this hub needs {spoken}: the agent is too old"
    )


def _listed(versions: Sequence[int]) -> str:
    return ", ".join(map(str, sorted(set(versions))[:8]))


def knows(tag: str, version: int) -> bool:
    """Whether a peer of this version can read the frame."""
    return FRAMES_SINCE.get(tag, 1) <= version


def leave_out(frame: Frame, version: int, since: Mapping[tuple[str, str], int] = FIELDS_SINCE) -> Frame:
    """Return the frame without the fields that came after `version`: they fall back to their defaults."""
    tag = frame.__struct_config__.tag
    if since is FIELDS_SINCE and tag not in _LATE:
        return frame
    changes = {}
    for field in msgspec.structs.fields(frame) if since else ():
        if since.get((str(tag), field.name), 1) > version:
            changes[field.name] = field.default_factory() if callable(field.default_factory) else field.default
    return msgspec.structs.replace(frame, **changes) if changes else frame
