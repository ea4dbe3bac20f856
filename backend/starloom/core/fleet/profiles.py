"""Limits of join codes: an offer that claims more than the code's profile is cut down to it.

The device's own policy is not changed, and its refusals are no concern of this module.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from starloom_protocol.records.entities import Offer, ToolOffer
from starloom_protocol.tools.profiles import PROFILE_EFFECTS, PROFILE_GRANTS, TAB, exceeds
from starloom_protocol.vocabulary import Effect, Profile

_NAMED_MOST = 5
_OF_LOOKS = frozenset({Effect.READ, Effect.REACH})


def held_to(most: Profile, name: str, profile: Profile, offer: Offer) -> tuple[Profile, Offer, str]:
    """Return profile and offer of a device within `most`, and a sentence about the cuts, "" if there are none."""
    if most is Profile.OPERATE:
        return profile, offer, ""
    grants = [grant for grant in offer.grants if _is_within(grant, most)]
    tools = [tool if _fits(tool, most) else _cut(tool, most, name) for tool in offer.tools]
    over = [f"the profile {profile}"] if exceeds(profile, most) else []
    over += sorted(set(offer.grants) - set(grants))
    over += [before.name for before, after in zip(offer.tools, tools, strict=True) if before is not after]
    if not over:
        return profile, offer, ""
    held = most if exceeds(profile, most) else profile
    return held, replace(offer, grants=grants, tools=tools), f"{_listed(over)}: {_because(most, name)}"


def _is_within(grant: str, most: Profile) -> bool:
    return grant.startswith(TAB) or grant in PROFILE_GRANTS[most]


def _fits(tool: ToolOffer, most: Profile) -> bool:
    """Tell whether a tool is within `most`; one that its device does not offer keeps its own reason."""
    if tool.unavailable is not None:
        return True
    allowed = tool.grant is None or _is_within(tool.grant, most)
    # A look at another host without a grant, such as `net.check`, is allowed in every profile.
    effects = PROFILE_EFFECTS[most] | (_OF_LOOKS if tool.grant is None else frozenset())
    return allowed and effects.issuperset(tool.effects)


def _cut(tool: ToolOffer, most: Profile, name: str) -> ToolOffer:
    return replace(tool, unavailable=_because(most, name))


def _because(most: Profile, name: str) -> str:
    return (
        f"the join code of this device allowed the profile {most} at most; to allow more, type there: "
        f"starloom-agent leave, and join it again with a new code (starloom enroll --name {name})"
    )


def _listed(over: Iterable[str]) -> str:
    names = list(dict.fromkeys(over))
    more = f" and {len(names) - _NAMED_MOST} more" if len(names) > _NAMED_MOST else ""
    return "not taken over: " + ", ".join(names[:_NAMED_MOST]) + more
