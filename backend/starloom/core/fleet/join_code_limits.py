"""Limits of join codes: an offer that claims more than the code's profile is cut down to it.

The device's own policy is not changed, and its refusals are no concern of this module.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from starloom_protocol.records.entities import Offer, ToolOffer
from starloom_protocol.text.wording import few
from starloom_protocol.tools.profiles import exceeds, held_back_words, is_held_back, is_within
from starloom_protocol.vocabulary import Profile

_NAMED_MOST = 5


def held_to(most: Profile, name: str, profile: Profile, offer: Offer) -> tuple[Profile, Offer, str]:
    """Return profile and offer of a device within `most`, and a sentence about the cuts, "" if there are none."""
    if most is Profile.OPERATE:
        return profile, offer, ""
    grants = [grant for grant in offer.grants if is_within(grant, most)]
    tools = [
        tool if _fits(tool, most) else replace(tool, unavailable=held_back_words(most, name)) for tool in offer.tools
    ]
    over = [f"the profile {profile}"] if exceeds(profile, most) else []
    over += sorted(set(offer.grants) - set(grants))
    over += [before.name for before, after in zip(offer.tools, tools, strict=True) if before is not after]
    if not over:
        return profile, offer, ""
    held = most if exceeds(profile, most) else profile
    return held, replace(offer, grants=grants, tools=tools), f"{_listed(over)}: {held_back_words(most, name)}"


def _fits(tool: ToolOffer, most: Profile) -> bool:
    """Tell whether a tool is within `most`; one that its device does not offer keeps its own reason."""
    return tool.unavailable is not None or not is_held_back(tool, most)


def _listed(over: Iterable[str]) -> str:
    return f"not taken over: {few(list(dict.fromkeys(over)), _NAMED_MOST)}"
