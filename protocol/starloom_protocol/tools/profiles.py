"""The profiles of a device: the grants and effects of each. A device's own policy decides; a hub uses this only to hold
a device to the profile that its join code allowed.
"""

from __future__ import annotations

from typing import Final

from starloom_protocol.vocabulary import Effect, Profile

_FILES: Final = frozenset({"files:read", "files:write"})
_WORK: Final = _FILES | {"python:run", "git:run"}
PROFILE_GRANTS: Final[dict[Profile, frozenset[str]]] = {
    Profile.OBSERVE: frozenset(),
    Profile.FILES: _FILES,
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
