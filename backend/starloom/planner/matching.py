"""Words against recipes: exact, near or none - a pure function, fast enough to answer as one types.

Exact: a phrase fits wholly and every required parameter is filled. Near: at most three candidates with what is filled
and what is missing; it never starts anything. None: the nearest recipes, for a person to look at.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from typing import Any

from starloom.planner.catalogue import param_title
from starloom.planner.fleet import FleetView
from starloom.planner.phrases import Phrase, Word, overlap, read_phrase, readings, words_of
from starloom.planner.slots import Taken, take, take_device
from starloom_protocol.plan import Recipe

WORDS_MOST = 60
CANDIDATES_MOST = 3
_NEAR_SCORE = 0.5
_READINGS_MOST = 50


class Match(StrEnum):
    EXACT = "exact"
    NEAR = "near"
    NONE = "none"


@dataclass(frozen=True)
class Missing:
    """A parameter that still needs a value: what a form asks for, and why the words did not do."""

    name: str
    type: str
    title: str
    reason: str = ""
    choices: tuple[str, ...] = ()


@dataclass(frozen=True)
class Candidate:
    """A recipe that may be meant. `params` are the values found; `score` is thousandths."""

    recipe: str
    title: str
    score: int
    params: Mapping[str, Any] = field(default_factory=dict)
    missing: tuple[Missing, ...] = ()

    def plain(self) -> dict[str, Any]:
        """Return it as a JSON value."""
        return {
            "recipe": self.recipe,
            "title": self.title,
            "score": self.score,
            "params": dict(self.params),
            "missing": [
                {
                    "name": item.name,
                    "type": item.type,
                    "title": item.title,
                    "reason": item.reason,
                    "choices": list(item.choices),
                }
                for item in self.missing
            ],
        }


@dataclass(frozen=True)
class Matched:
    outcome: Match
    candidates: tuple[Candidate, ...]


@lru_cache(maxsize=1024)
def _phrase(text: str) -> Phrase:
    return read_phrase(text)


def match(
    words: str, recipes: Sequence[Recipe], fleet: FleetView, *, params: Mapping[str, Any] | None = None
) -> Matched:
    """Say which recipe the words mean; `params` were given beside them and win over what the words say."""
    said = words_of(words)
    given = {name: value for name, value in (params or {}).items() if value is not None}
    if not said or len(said) > WORDS_MOST:
        return Matched(Match.NONE, ())
    fits: list[tuple[tuple[int, int], Candidate]] = []
    nears: list[Candidate] = []
    for recipe in recipes:
        fitting, near = _try_recipe(recipe, said, fleet, given)
        fits.extend(fitting)
        if near is not None:
            nears.append(near)
    whole = sorted((item for item in fits if not item[1].missing), key=lambda item: item[0], reverse=True)
    closer = [item for item in fits if whole and item[0][0] > whole[0][0][0] and _only_unsaid(item[1])]
    if closer:
        # `run the tests of shop everywhere` says more than `run {command} everywhere`: what it leaves open is asked.
        ranked = sorted(closer, key=lambda item: item[0], reverse=True)
        found = _first_of_each([*(item[1] for item in ranked), whole[0][1]])
        return Matched(Match.NEAR, tuple(found[:CANDIDATES_MOST]))
    if whole and (len(whole) == 1 or whole[0][0] > whole[1][0] or whole[0][1] == whole[1][1]):
        return Matched(Match.EXACT, (whole[0][1],))
    # A phrase that fits wholly, but for what it does not say, leaves no room for others that share a few words.
    partial = sorted((item[1] for item in fits), key=lambda candidate: len(candidate.missing))
    likely = _first_of_each(partial or sorted(nears, key=lambda item: -item.score))
    strong = [candidate for candidate in likely if candidate.score >= _NEAR_SCORE * 1000]
    if strong:
        return Matched(Match.NEAR, tuple(strong[:CANDIDATES_MOST]))
    return Matched(Match.NONE, tuple(likely[:CANDIDATES_MOST]))


def _only_unsaid(candidate: Candidate) -> bool:
    """Whether all that is missing was not said at all, rather than said in words that did not do."""
    return all(not item.reason for item in candidate.missing)


def _first_of_each(candidates: Sequence[Candidate]) -> list[Candidate]:
    found: dict[str, Candidate] = {}
    for candidate in candidates:
        found.setdefault(candidate.recipe, candidate)
    return list(found.values())


def _try_recipe(
    recipe: Recipe, said: list[Word], fleet: FleetView, given: Mapping[str, Any]
) -> tuple[list[tuple[tuple[int, int], Candidate]], Candidate | None]:
    """Return the whole fits with their rank, and the best partial one. More of a phrase's own words ranks higher."""
    fits: list[tuple[tuple[int, int], Candidate]] = []
    known: dict[tuple[str, str], Taken] = {}

    def taken_from(name: str, words: str) -> Taken:
        if (name, words) not in known:
            known[name, words] = take(words, recipe.params[name], fleet)
        return known[name, words]

    best = 0.0
    for text in recipe.phrases:
        phrase = _phrase(text)
        for number, reading in enumerate(readings(phrase, said)):
            if number >= _READINGS_MOST:
                break
            taken = {name: taken_from(name, words) for name, words in reading.items()}
            candidate = _candidate(recipe, taken, given, 1000, fleet)
            fits.append(((len(phrase.literals), -number), candidate))
            if not candidate.missing:
                break
        best = max(best, overlap(phrase, said))
    if not best:
        return fits, None
    return fits, _candidate(recipe, _loose_slots(recipe, said, fleet), given, min(999, round(best * 1000)), fleet)


def _loose_slots(recipe: Recipe, said: list[Word], fleet: FleetView) -> dict[str, Taken]:
    """Find devices among words that fit no phrase: by their place in the sentence, first come first served."""
    wanted = [name for name, param in recipe.params.items() if param.type == "device"]
    taken: dict[str, Taken] = {}
    used: set[str] = set()
    for word in said:
        free = [name for name in wanted if name not in taken]
        if not free or not word.forms:
            continue
        found = take_device(word.text, recipe.params[free[0]], fleet)
        name = found.value.get("name") if found.filled else None
        if name is not None and name not in used:
            used.add(name)
            taken[free[0]] = found
    return taken


def _meets(value: Any, other: Any) -> bool:
    """Say whether a device is another one, or among the others."""
    among = value.get("any", []) if isinstance(value, dict) else []
    return other is not None and (value == other or other in among)


def _candidate(
    recipe: Recipe, taken: Mapping[str, Taken], given: Mapping[str, Any], score: int, fleet: FleetView
) -> Candidate:
    values = {name: item.value for name, item in taken.items() if item.filled and name not in given}
    values.update((name, value) for name, value in given.items() if name in recipe.params)
    for name, counted in taken.items():
        if name not in values and counted.wanted:
            # *Two machines* are clear where there are just two besides the one that they must differ from.
            other = values.get(recipe.params[name].not_same or "")
            left = [{"name": choice} for choice in counted.choices if {"name": choice} != other]
            if len(left) == counted.wanted:
                values[name] = {"any": left}
    missing: list[Missing] = []
    for name, param in recipe.params.items():
        item = taken.get(name)
        refused = item is not None and not item.filled and name not in values
        needed = name not in values and not param.optional and param.default is None
        same = param.not_same is not None and name in values and _meets(values[name], values.get(param.not_same))
        if refused or needed or same:
            if same:
                values.pop(name)
            reason = f"it must be another device than {param.not_same}" if same else item.reason if item else ""
            choices = item.choices if item is not None and not same else ()
            if param.type == "device" and not choices:
                other = values.get(param.not_same or "")
                choices = tuple(device.name for device in fleet.able(param.needs) if {"name": device.name} != other)
            missing.append(Missing(name, param.type, param_title(name, param), reason, choices))
    return Candidate(recipe.name, recipe.title, score, values, tuple(missing))
