"""Devices named in words that fit no phrase: which parameter each is for, by the word before it.

*Back up to nas the pictures of my phone* fits no phrase of the recipe, and still says which device is which: its
phrases have *of* before the source and *to* before the target. A device whose place could be either is left out: a
turned direction is worse than an empty field. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from starloom.planner.fleet import FleetView
from starloom.planner.phrases import Phrase, Word, typed
from starloom.planner.slots import Taken, take
from starloom_protocol.plan import Recipe

_SPAN_MOST = 4
_AND = "and"


def mentioned(recipe: Recipe, phrases: Iterable[Phrase], said: Sequence[Word], fleet: FleetView) -> dict[str, Taken]:
    """Return the parameters of this recipe that the devices named in the words fill."""
    places = _places(recipe, phrases)
    known = {word for words in places.values() for word in words}
    taken: dict[str, Taken] = {}
    at = 1
    while at < len(said):
        before = said[at - 1].forms[-1:] if said[at - 1].forms else ()
        meant = [name for name, words in places.items() if before and before[0] in words]
        if len(meant) != 1 or meant[0] in taken:
            at += 1
            continue
        found, end = _device_at(recipe, meant[0], said, at, fleet, known)
        if found is not None:
            taken[meant[0]] = found
        at = end
    return taken


def _places(recipe: Recipe, phrases: Iterable[Phrase]) -> dict[str, set[str]]:
    """Return for each device parameter the words that stand before it in phrases."""
    places: dict[str, set[str]] = {name: set() for name, param in recipe.params.items() if param.type == "device"}
    for phrase in phrases:
        for slot in phrase.slots:
            if slot in places and phrase.before(slot):
                places[slot].add(phrase.before(slot))
    return places


def _device_at(
    recipe: Recipe, name: str, said: Sequence[Word], at: int, fleet: FleetView, stops: set[str]
) -> tuple[Taken | None, int]:
    """Return the device that the words from `at` on name, longest first, with those that *and* joins to it."""
    most = at
    while most < len(said) and most < at + _SPAN_MOST and stops.isdisjoint(said[most].forms):
        most += 1
    for end in range(most, at, -1):
        text = typed(said[at:end])
        found = take(text, recipe.params[name], fleet)
        if found.filled or (_AND in text.split() and found.choices and not found.like_none):
            return found, end
    return None, at + 1
