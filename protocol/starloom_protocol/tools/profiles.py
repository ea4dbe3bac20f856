"""The profiles of a device: the grants and effects of each. A device's own policy decides; a hub uses this only to hold
a device to the profile that its join code allowed.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from starloom_protocol.records.entities import ToolOffer
from starloom_protocol.vocabulary import Effect, Profile

_OF_LOOKS: Final = frozenset({Effect.READ, Effect.REACH})
FILE_GRANTS: Final = frozenset({"files:read", "files:write"})
_WORK: Final = FILE_GRANTS | {"python:run", "git:run"}
PROFILE_GRANTS: Final[dict[Profile, frozenset[str]]] = {
    Profile.OBSERVE: frozenset(),
    Profile.FILES: FILE_GRANTS,
    Profile.WORK: _WORK,
    Profile.OPERATE: _WORK | {"shell:run", "net:reach", "service:restart", "container:read"},
}
"""The grants of each profile. An owner may add single grants; such a grant belongs to `operate`."""

PROFILE_EFFECTS: Final[dict[Profile, frozenset[Effect]]] = {
    Profile.OBSERVE: frozenset({Effect.READ}),
    Profile.FILES: frozenset({Effect.READ, Effect.WRITE}),
    Profile.WORK: frozenset({Effect.READ, Effect.WRITE}),
    Profile.OPERATE: frozenset(Effect),
}
"""The effects that the tools of a profile may have at most."""

TAB: Final = "tab:"
"""The prefix of a browser tab's grants: each is a switch in the tab, and most ask for a tap. They have no profile."""
TAB_OS: Final = "browser"
"""The operating system that a browser tab tells."""


def exceeds(profile: Profile, most: Profile) -> bool:
    """Whether a profile allows more than another."""
    order = list(Profile)
    return order.index(profile) > order.index(most)


def is_within(grant: str, most: Profile) -> bool:
    """Whether a join code that allowed `most` lets a device have a grant."""
    return most is Profile.OPERATE or grant.startswith(TAB) or grant in PROFILE_GRANTS[most]


def is_held_back(tool: ToolOffer, most: Profile) -> bool:
    """Whether a join code that allowed `most` forbids a tool, whatever the device's owner grants."""
    return not _allows(tool, most, tool.effects)


def is_held_back_in_part(tool: ToolOffer, most: Profile) -> bool:
    """Whether a join code forbids a tool for its widest call, and would allow a call that an argument narrows.

    Such a tool is offered by every device of the profile: its owner has granted nothing beyond the join code.
    """
    narrowed = [effects for by_value in tool.effects_by.values() for effects in by_value.values()]
    return is_held_back(tool, most) and any(_allows(tool, most, effects) for effects in narrowed)


def _allows(tool: ToolOffer, most: Profile, effects: Iterable[Effect]) -> bool:
    if most is Profile.OPERATE:
        return True
    allowed = tool.grant is None or is_within(tool.grant, most)
    # A look at another host without a grant, such as `net.check`, is allowed in every profile.
    within = PROFILE_EFFECTS[most] | (_OF_LOOKS if tool.grant is None else frozenset())
    return allowed and within.issuperset(effects)


def held_back_words(most: Profile, name: str) -> str:
    """Return why a device may not have more than its join code allowed, with the way out."""
    return (
        f"the join code of this device allowed the profile {most} at most; to allow more, type there: "
        f"starloom-agent leave, and join it again with a new code (starloom enroll --name {name})"
    )
