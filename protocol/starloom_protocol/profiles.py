"""The profiles of a device in numbers: which grants and effects belong to each. A device's own policy decides; a hub
uses this only to hold a device to what its join code allowed.
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
"""What a profile grants on its own. An owner may grant more, one by one; such a grant belongs to `operate`."""

PROFILE_EFFECTS: Final[dict[Profile, frozenset[Effect]]] = {
    Profile.OBSERVE: frozenset({Effect.READ}),
    Profile.FILES: frozenset({Effect.READ, Effect.WRITE}),
    Profile.WORK: frozenset({Effect.READ, Effect.WRITE}),
    Profile.OPERATE: frozenset(Effect),
}
"""What the tools of a profile may do at most."""

TAB: Final = "tab:"
"""Grants of a browser tab: each is a switch there and most ask by a tap. They belong to no profile."""


def exceeds(profile: Profile, most: Profile) -> bool:
    """Whether a profile allows more than another."""
    order = list(Profile)
    return order.index(profile) > order.index(most)
