"""The match of words with recipes: exact, near or none - a pure function, fast enough to answer during typing.

Exact: a phrase fits wholly, every required parameter is filled, and every value looks like one of its type; an
ambiguous word fills a slot only if the phrase around it leaves no doubt. Near: at most three candidates with their
filled and missing values; a near match never starts anything. None: the nearest recipes, for a person to look at.

Words that fit no phrase may still name devices: *back up to nas the pictures of my phone* says which device is which,
because the phrases have *of* before the source and *to* before the target. A device whose place could be either is left
out: a turned direction is worse than an empty field.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import chain
from typing import Any

from starloom.core.state.model import TRIAL_RUNS
from starloom.planner.fleet import DeviceSnapshot, FleetSnapshot
from starloom.planner.recipes.catalogue import Catalogue, param_title
from starloom.planner.requests.clauses import MANNERS, plain_letters
from starloom.planner.requests.gaps import gap_in
from starloom.planner.requests.limits import Limit, in_slots, limits_in, not_about, not_in
from starloom.planner.requests.phrases import (
    Phrase,
    Word,
    directions_of,
    forms_in,
    left_over,
    overlap,
    phrases_of,
    readings,
    request_words,
    spelled,
    spellings,
    telling_words,
    typed,
    without_device,
    without_umlauts,
    words_of,
)
from starloom.planner.requests.pointers import Place, pointer_in, running_in, stopping_in
from starloom.planner.requests.rhythm import Rhythm, rhythm_in
from starloom.planner.requests.slots import (
    SlotValue,
    Trust,
    describes,
    devices_left_over,
    has_ending,
    is_a_device,
    is_called_a_file,
    needs_no_all,
    no_sort,
    take,
)
from starloom_protocol.api.previews import RecipeCandidate, TrialRow
from starloom_protocol.plan import ParamDoc, Recipe, recipe_values
from starloom_protocol.records.entities import RecipeRuns
from starloom_protocol.stream.authors import who
from starloom_protocol.text.wording import moment
from starloom_protocol.vocabulary import Effect

WORDS_MOST = 60
_RHYTHM_WORDS_MOST = 60
"""Words that say how often, and courtesies. Each rhythm is taken out in a pass over all words."""
CANDIDATES_MOST = 3
_WHOLE = 1000
"""The score of a phrase that fits wholly."""
_NEAR_SCORE = 0.5
"""The part of a phrase that the words must share for its recipe to be offered."""
_SAYS_ENOUGH = 2.5
"""A phrase and its sure values must say so much together before a value that is nothing but a word is believed."""
_SAYS_ENOUGH_TO_LOOK = 2.0
"""The same for a text that a recipe only looks for."""
_TELLS_ENOUGH = 2
"""So many words that are about its recipe alone say enough, whatever else the phrase has."""
_READINGS_MOST = 50
"""The ways to divide the words among the slots of a phrase that are tried."""
_SPAN_MOST = 4
"""The words that the name of a device may have."""
_AND = "and"
_OF_SOURCE = frozenset({"of", "from"})
_DIRECTIONS = _OF_SOURCE | {"to"}
_OF_SEVERAL = frozenset({"both", "other", "others"})


def mentioned(
    recipe: Recipe, phrases: Iterable[Phrase], said: Sequence[Word], fleet: FleetSnapshot
) -> dict[str, SlotValue]:
    """Return the parameters of this recipe that the devices named in the words fill."""
    text = " ".join(word.text for word in said if not word.quoted).casefold()
    named = [device for device in fleet.devices if device.named_in(text)]
    places = _places(recipe, phrases)
    known = {word for words in places.values() for word in words}
    if not known:
        return _only_one(recipe, named, fleet)
    taken: dict[str, SlotValue] = {}
    heard: set[int] = set()
    before = directions_of([word.forms[-1] if word.forms else "" for word in said])
    # *From*, *of* and *to* say which device is which; *on* is that which these leave open.
    for told in (True, False):
        at = 1
        while at < len(said):
            word = before[at]
            meant = [name for name, words in places.items() if word in words and (told or name not in taken)]
            if at in heard or (word in _DIRECTIONS) is not told or len(meant) != 1 or meant[0] in taken:
                at += 1
                continue
            found, end = _device_at(recipe, meant[0], said, at, fleet, known)
            # *Is everything well with nas* is not about all devices.
            if found is not None and not (found.others and named):
                taken[meant[0]] = found
                heard.update(range(at, end))
            at = end
    return taken or _only_one(recipe, named, fleet)


def _only_one(recipe: Recipe, named: Sequence[DeviceSnapshot], fleet: FleetSnapshot) -> dict[str, SlotValue]:
    """Return the one device that words have by its name, for a recipe that takes one: *nas duplicates*."""
    slots = [name for name, param in recipe.params.items() if param.type == "device"]
    if len(slots) != 1 or len(named) != 1:
        return {}
    found = take(named[0].name, recipe.params[slots[0]], fleet)
    return {slots[0]: found} if found.filled else {}


def _places(recipe: Recipe, phrases: Iterable[Phrase]) -> dict[str, set[str]]:
    """Return for each device parameter the words that stand before it in phrases."""
    places: dict[str, set[str]] = {name: set() for name, param in recipe.params.items() if param.type == "device"}
    for phrase in phrases:
        for slot in phrase.slots:
            if slot in places and phrase.directions[slot]:
                places[slot].add(phrase.directions[slot])
    sources = [words for words in places.values() if _OF_SOURCE & words]
    if len(sources) == 1:
        # *Collect PDFs of lena* may be said with *from*, which stands before the folder in its phrases.
        sources[0].update(_OF_SOURCE)
    return places


def _device_at(
    recipe: Recipe, name: str, said: Sequence[Word], at: int, fleet: FleetSnapshot, stops: set[str]
) -> tuple[SlotValue | None, int]:
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


class Match(StrEnum):
    EXACT = "exact"
    NEAR = "near"
    NONE = "none"


@dataclass(frozen=True)
class Missing:
    """A parameter that still needs a value: the question of a form, and why the words did not suffice."""

    name: str
    type: str
    title: str
    reason: str = ""
    choices: tuple[str, ...] = ()


@dataclass(frozen=True)
class Trial:
    """A recipe that words alone do not start yet: its clean runs in a row, and the time of the newest."""

    clean: int
    clean_ms: int

    def plain(self) -> TrialRow:
        """Return it as a JSON value."""
        return {"clean": self.clean, "needed": TRIAL_RUNS, "last_at": moment(self.clean_ms)}


@dataclass(frozen=True)
class Candidate:
    """A recipe that may be meant. `params` are the values found; `score` is thousandths.

    `unused` are words with a meaning that the recipe has no place for: it would do something else than they say.
    """

    recipe: str
    title: str
    score: int
    params: Mapping[str, Any] = field(default_factory=dict)
    missing: tuple[Missing, ...] = ()
    trial: Trial | None = None
    unused: tuple[str, ...] = ()

    def plain(self) -> RecipeCandidate:
        """Return it as a JSON value."""
        return {
            "unused": list(self.unused),
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
            "trial": None if self.trial is None else self.trial.plain(),
        }


@dataclass(frozen=True)
class Matched:
    """`rhythm` is how often the words say; they are near then, whatever recipe fits the rest.

    `words` are those that were matched, and `given` the values beside them. `on_trial`: the words fit the first
    candidate exactly, and are near only because it is on trial. `gap` is a sentence about words that no recipe carries
    out, and `places` are the pages that do. `about_starloom`: they ask about Starloom itself, and are no work at all.
    `limit` is a part of words without a recipe that takes something out or bounds it: *except the videos*.
    """

    outcome: Match
    candidates: tuple[Candidate, ...]
    rhythm: Rhythm | None = None
    on_trial: bool = False
    gap: str = ""
    places: tuple[Place, ...] = ()
    about_starloom: bool = False
    limit: str = ""
    words: str = ""
    given: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class _Fit:
    """A phrase that fits the words wholly. `literals` are its own words: more of them say more."""

    candidate: Candidate
    literals: int
    able: bool
    """Whether each device that it names offers the tools that the recipe needs there."""
    order: int
    fewest: bool
    """Whether the recipe takes no more devices than are named: a recipe for several goes after one for one."""
    sure: bool
    """Whether no person needs to look at it: every value is there and looks like one of its type."""
    strange: int
    """The number of values that do not resemble what their slot takes."""
    unsaid: bool
    """Whether all missing values were not mentioned at all, rather than in words that did not suffice."""
    too_many: bool
    """Whether more devices are named than it takes: *the pictures of a and b* are left to a recipe for any sort."""
    of_a_sort: bool

    @property
    def rank(self) -> tuple[int, bool, bool, int]:
        return self.literals, self.able, self.fewest, self.order


def match_all(
    words: str,
    catalogue: Catalogue,
    fleet: FleetSnapshot,
    *,
    params: Mapping[str, Any] | None = None,
    shown_to: str = "",
) -> Matched:
    """Return the recipe of a catalogue that the words mean.

    A recipe that was kept from a proposal gets only words that no other recipe fits exactly. While it is on trial words
    alone do not start it, so it is a near match; for its keeper it is an exact one in a preview, and after the preview
    was seen. `shown_to` is the author who sees or has seen the preview, else empty.
    """
    found = _with_limit(_match_all(words, catalogue, fleet, params, shown_to), words, fleet)
    if found.outcome is not Match.EXACT and not found.on_trial and (answer := pointer_in(words, fleet)) is not None:
        found = Matched(Match.NONE, (), gap=answer.sentence, places=answer.places, about_starloom=True)
    return replace(
        found, words=words, given={name: value for name, value in (params or {}).items() if value is not None}
    )


def _match_all(
    words: str, catalogue: Catalogue, fleet: FleetSnapshot, params: Mapping[str, Any] | None, shown_to: str
) -> Matched:
    grown = catalogue.grown
    others = [recipe for recipe in catalogue.all() if recipe.name not in grown]
    found = match(words, others, fleet, params=params)
    if not grown or found.outcome is Match.EXACT:
        return _with_gap(found, words, fleet)
    found = _with_gap(match(words, catalogue.all(), fleet, params=params), words, fleet)
    candidates = tuple(_with_trial(candidate, grown.get(candidate.recipe)) for candidate in found.candidates)
    if found.outcome is Match.EXACT and candidates[0].trial is not None:
        keeper = catalogue.keepers.get(candidates[0].recipe)
        if not shown_to or keeper != who(shown_to):
            return Matched(Match.NEAR, candidates, on_trial=True)
    return replace(found, candidates=candidates)


def _with_limit(found: Matched, words: str, fleet: FleetSnapshot) -> Matched:
    """Return a match of words without a recipe with their limit; of words that forbid work, no recipe is near."""
    if found.outcome is Match.EXACT or found.on_trial:
        return found
    limits = limits_in(request_words(words), fleet.by_name)
    if limits and limits[0].forbids:
        found = replace(found, outcome=Match.NONE, rhythm=None)
    return replace(found, limit=limits[0].text) if limits and found.outcome is Match.NONE else found


def offered(found: Matched, catalogue: Catalogue) -> list[tuple[Recipe, Candidate]]:
    """Return the recipes of a match with their candidates, as they are offered to a model."""
    return [(recipe, one) for one in found.candidates if (recipe := catalogue.get(one.recipe)) is not None]


def _with_gap(found: Matched, words: str, fleet: FleetSnapshot) -> Matched:
    """Return a match of words that no recipe carries out without its candidates, which are about something else."""
    whole = found.candidates and found.candidates[0].score == _WHOLE
    taken = found.outcome is Match.EXACT or found.rhythm is not None
    gap = "" if taken else gap_in(words, fleet, of_a_clause=bool(whole))
    running = None if whole or found.outcome is Match.EXACT else running_in(words, fleet) or stopping_in(words, fleet)
    if running is not None:
        told = "; ".join(filter(None, (running.sentence, gap)))
        return Matched(Match.NONE, (), about_starloom=True, gap=told, places=running.places)
    return Matched(Match.NONE, (), gap=gap) if gap else found


def _with_trial(candidate: Candidate, runs: RecipeRuns | None) -> Candidate:
    if runs is None or not runs.trial:
        return candidate
    newest = max(runs.versions, key=lambda one: one.clean_ms, default=None)
    return replace(candidate, trial=Trial(runs.in_a_row, newest.clean_ms if newest is not None else 0))


def match(
    words: str, recipes: Sequence[Recipe], fleet: FleetSnapshot, *, params: Mapping[str, Any] | None = None
) -> Matched:
    """Return the recipe that the words mean; `params` were given beside them and take precedence over the words."""
    if len(words.split()) > WORDS_MOST + _RHYTHM_WORDS_MOST:
        return Matched(Match.NONE, ())
    rhythm = rhythm_in(words)
    if rhythm is not None:
        once = match(rhythm.rest, recipes, fleet, params=params)
        if once.outcome is not Match.NONE:
            return Matched(Match.NEAR, once.candidates, replace(rhythm, misspelt=once.outcome is not Match.EXACT))
    said = without_umlauts(request_words(words), (text for recipe in recipes for text in recipe.phrases))
    given = {name: value for name, value in (params or {}).items() if value is not None}
    if not said or len(said) > WORDS_MOST:
        return Matched(Match.NONE, ())
    as_typed = _match(said, recipes, fleet, given)
    taken = as_typed.candidates[0].params.values() if as_typed.outcome is Match.EXACT else ()
    if as_typed.outcome is Match.EXACT and not any(isinstance(value, str) and " " in value for value in taken):
        return as_typed
    known = spellings(_texts_of(recipes))
    right = spelled(said, known, fleet.by_name)
    if right == said:
        return as_typed
    # Misspelt words are corrected to offer a recipe, never to run one.
    meant = _match(right, recipes, fleet, given)
    if as_typed.outcome is Match.EXACT:
        # *Copy the databse notes.sqlite* is no folder of two words where the right word makes it another recipe.
        other = meant.outcome is Match.EXACT and meant.candidates[0].recipe != as_typed.candidates[0].recipe
        return Matched(Match.NEAR, (*meant.candidates, *as_typed.candidates)) if other else as_typed
    changed = sum(typed != meant for typed, meant in zip(said, right, strict=True))
    if meant.outcome is Match.NONE or (changed == 1 and meant.candidates[0].score < _WHOLE):
        return as_typed  # one corrected word is too little to offer a recipe by
    offered = _first_of_each([*meant.candidates, *(as_typed.candidates if as_typed.outcome is Match.NEAR else ())])
    return Matched(Match.NEAR, tuple(offered[:CANDIDATES_MOST]))


@dataclass(frozen=True)
class _Asked:
    """The words of a request, and what they are compared with.

    `telling` are the words that recipes are about, `devices` those by which people call devices.
    """

    said: list[Word]
    forms: frozenset[str]
    fleet: FleetSnapshot
    given: Mapping[str, Any]
    telling: Collection[str]
    devices: Collection[str]
    limits: Sequence[Limit]


def _texts_of(recipes: Sequence[Recipe]) -> tuple[str, ...]:
    return tuple(chain.from_iterable(recipe.phrases for recipe in recipes))


def _asked(said: list[Word], recipes: Sequence[Recipe], fleet: FleetSnapshot, given: Mapping[str, Any]) -> _Asked:
    telling = telling_words(_texts_of(recipes))
    devices = {word for device in fleet.devices for word in (plain_letters(device.name), *device.words)} | _OF_SEVERAL
    return _Asked(said, forms_in(said), fleet, given, telling, devices, limits_in(said, fleet.by_name))


def _match(said: list[Word], recipes: Sequence[Recipe], fleet: FleetSnapshot, given: Mapping[str, Any]) -> Matched:
    fits: list[_Fit] = []
    asked = _asked(said, recipes, fleet, given)
    whole: list[_Fit] = []
    phrases_by = [(recipe, _phrases_of(recipe, given)) for recipe in recipes]
    for of_a_sort in (False, True):  # a phrase without its *all* is tried where none fits as it is written
        for recipe, phrases in phrases_by:
            tried = [phrase for phrase in phrases if (phrase.sort != "") is of_a_sort]
            fits.extend(_fits(recipe, tried, asked, phrases) if tried else ())
        whole = sorted((fit for fit in fits if fit.sure), key=lambda fit: fit.rank, reverse=True)
        if whole and whole[0].able:
            break
    # `run the tests of shop everywhere` says more than `run {command} everywhere`: what it leaves open is asked.
    # So does one that fits as well where the devices of the other cannot do it.
    best = (whole[0].literals, whole[0].able) if whole else (0, False)
    open_ = [fit for fit in fits if whole and not fit.sure and not (fit.too_many and whole[0].of_a_sort)]
    closer = [fit for fit in open_ if (fit.literals, not best[1]) > (best[0], False)]
    if closer:
        ranked = sorted(closer, key=lambda fit: (fit.unsaid, fit.rank), reverse=True)
        found = _first_of_each([*(fit.candidate for fit in ranked), whole[0].candidate])
        return Matched(Match.NEAR, tuple(found[:CANDIDATES_MOST]))
    if whole and (len(whole) == 1 or whole[0].rank > whole[1].rank or whole[0].order == whole[1].order):
        return Matched(Match.EXACT, (whole[0].candidate,))
    likely = _first_of_each(_likely(fits) or _nearly(recipes, asked))
    strong = [candidate for candidate in likely if candidate.score >= _NEAR_SCORE * _WHOLE]
    if strong:
        return Matched(Match.NEAR, tuple(strong[:CANDIDATES_MOST]))
    return Matched(Match.NONE, tuple(likely[:CANDIDATES_MOST]))


def _likely(fits: Sequence[_Fit]) -> list[Candidate]:
    """Return the candidates of fits, the likeliest first.

    A phrase that fits wholly, but for what it does not say, leaves no room for others that share a few words.
    """
    # Where one device is named, the same command for several is not asked about: *copy logs from till to nas*.
    one = max((fit.literals for fit in fits if fit.fewest and not fit.candidate.missing), default=0)
    able = max((fit.literals for fit in fits if fit.able), default=0)
    fits = [fit for fit in fits if (fit.fewest or fit.literals != one) and (fit.able or fit.literals > able)]
    partial = sorted(fits, key=lambda fit: (-fit.literals, not fit.able, fit.strange, len(fit.candidate.missing)))
    return [fit.candidate for fit in partial]


def _nearly(recipes: Sequence[Recipe], asked: _Asked) -> list[Candidate]:
    """Return the candidates of words that fit no phrase: first those that would with one more device.

    *Copy results to archiv* says the folder and where it goes; *from* is asked.
    """
    fits: list[_Fit] = []
    nears: list[Candidate] = []
    for recipe in recipes:
        phrases = _phrases_of(recipe, asked.given)
        near = _near(recipe, phrases, asked)
        if near is None:
            continue
        nears.append(near)
        devices = {name: param for name, param in recipe.params.items() if param.type == "device"}
        needed = frozenset(name for name, param in devices.items() if param.default is None and not param.optional)
        shorter = without_device(phrases, needed.difference(asked.given))
        fits.extend(
            fit for fit in _fits(recipe, shorter, asked, phrases, plain=True) if len(fit.candidate.missing) == 1
        )
    return [*_likely(fits), *sorted(nears, key=lambda item: -item.score)]


def _first_of_each(candidates: Sequence[Candidate]) -> list[Candidate]:
    found: dict[str, Candidate] = {}
    for candidate in candidates:
        found.setdefault(candidate.recipe, candidate)
    return list(found.values())


def _near(recipe: Recipe, phrases: tuple[Phrase, ...], asked: _Asked) -> Candidate | None:
    """Return a recipe whose phrases have words in common with those that were said."""
    telling = (phrase for phrase in phrases if not phrase.sort and not asked.forms.isdisjoint(phrase.tells))
    best = max((overlap(phrase, asked.forms) for phrase in telling), default=0.0)
    if not best:
        return None
    named = mentioned(recipe, phrases, asked.said, asked.fleet)
    near = _candidate(recipe, named, asked.given, min(_WHOLE - 1, round(best * _WHOLE)), asked.fleet)
    unheeded = not_about(asked.limits, phrases)
    words = " ".join(word.text for word in asked.said if not word.quoted)
    own = {form for phrase in phrases for form in phrase.literals}
    others = devices_left_over(words, own, near.params, asked.fleet)
    left = (*left_over(asked.said, phrases, asked.devices), *others)
    return replace(near, unused=(*not_in(left, unheeded), *_unknown_in(asked.given, recipe)))


def _phrases_of(recipe: Recipe, given: Mapping[str, Any]) -> tuple[Phrase, ...]:
    return phrases_of(tuple(recipe.phrases), _optional_in(recipe), *_unsaid(recipe, given))


def _fits(
    recipe: Recipe, tried: Iterable[Phrase], asked: _Asked, phrases: Collection[Phrase], *, plain: bool = False
) -> list[_Fit]:
    """Return the phrases among `tried` that fit the words wholly; `phrases` are all of the recipe.

    No fit is sure that leaves a limit without a word of its phrase. `plain`: only with values that nothing speaks
    against.
    """
    fits: list[_Fit] = []
    known: dict[tuple[str, str], SlotValue] = {}
    paths = {name for name, param in recipe.params.items() if param.type == "path"}

    def taken_from(name: str, words: str) -> SlotValue:
        if (name, words) not in known:
            known[name, words] = take(words, recipe.params[name], asked.fleet)
        return known[name, words]

    for phrase in tried:
        for number, reading in enumerate(readings(phrase, asked.said) if phrase.own <= asked.forms else ()):
            if number >= _READINGS_MOST:
                break
            if phrase.sort and not needs_no_all(reading[phrase.sort]):
                continue
            taken = {name: taken_from(name, _of_each(recipe, phrase, name, words)) for name, words in reading.items()}
            for name in paths:
                if name in taken and (taken[name].trust is Trust.PLAIN or "*" in reading[name]):
                    taken[name] = no_sort(taken[name], reading[name], phrase.before(name))
            if (phrase.sort or not phrase.tells) and any(item.like_none for item in taken.values()):
                continue  # *how is the weather* is not about a device that is called so
            chosen = {name for name in taken if recipe.params[name].type == "choice"}  # all their words are heeded
            if not all(taken[name].filled for name in chosen):
                continue
            if phrase.parts[0][1] and taken[phrase.parts[0][0]].like_none:
                continue  # *delete the largest files* is not about *delete* largest files
            if plain and not _are_plain(taken.values(), asked.telling):
                continue  # *back up my photos* is about photos, not about a folder of that name
            fit = _fit(recipe, phrase, taken, asked.given, asked.fleet, -number, asked.telling)
            # A device that is asked for in place of *June of the phone* would let June go without a word.
            open_devices = [one.name for one in fit.candidate.missing if one.reason and one.type == "device"]
            words = [word for name in open_devices for word in words_of(reading.get(name, ""))]
            unheeded = in_slots(asked.limits, (said for name, said in reading.items() if name not in chosen))
            left = left_over(words, phrases, asked.devices)
            unused = (*not_in(left, unheeded), *_unknown_in(asked.given, recipe))
            fit = replace(fit, candidate=replace(fit.candidate, unused=unused), sure=fit.sure and not unheeded)
            fits.append(fit)
            if fit.sure:
                break
    return fits


def _of_each(recipe: Recipe, phrase: Phrase, name: str, words: str) -> str:
    """Return the words of a slot; *which laptop* asks about every laptop."""
    return f"every {words}" if phrase.before(name) == "which" and recipe.params[name].type == "device" else words


def _are_plain(values: Iterable[SlotValue], telling: Collection[str]) -> bool:
    """Return whether values are all there, and are no words that recipes are about."""
    return all(
        item.filled and (item.trust is Trust.SURE or forms_in(words_of(str(item.value))).isdisjoint(telling))
        for item in values
    )


def _optional_in(recipe: Recipe) -> frozenset[str]:
    """Return the parameters that may be left out, and that change what the recipe does when they are named."""
    named = {param.true_when_named for param in recipe.params.values()}
    return frozenset(name for name, param in recipe.params.items() if param.optional and name in named)


def _unsaid(recipe: Recipe, given: Mapping[str, Any]) -> tuple[frozenset[str], frozenset[str], frozenset[str]]:
    """Return what words need not name: devices with a default, those given beside them, and the *all* of files."""
    devices = {name: param for name, param in recipe.params.items() if param.type == "device"}
    usual = frozenset(name for name, param in devices.items() if param.default is not None)
    sorts = frozenset(name for name, param in recipe.params.items() if param.type == "files")
    return usual, frozenset(name for name in devices if name in given), sorts


def _is_of_a_phrase(kind: str, taken: SlotValue, telling: Collection[str], phrase: Phrase) -> bool:
    """Return whether a value is a word that recipes are about: *the database* is no folder, *tests* are no program,
    and *errors* are no word to search a log for.

    Written as a name - `Pictures`, `./database` - it is one; so is any word where the rest of the phrase tells enough:
    *run the tests of site from nas on nas*.
    """
    if kind == "argv":
        return taken.bare and taken.value[0] in telling
    if len(phrase.telling) >= _TELLS_ENOUGH:
        return False
    word = str(taken.value) if taken.trust is Trust.PLAIN else ""
    return word in telling and (kind == "path" or (kind == "text" and word not in phrase.own))


def _may_be_a_manner(kind: str, taken: SlotValue, phrase: Phrase, name: str) -> bool:
    """Return whether words after *in* may be how or when rather than where: *in colour*, *in PDF*, *in an hour*.

    Written as a name - `Receipts`, `./receipts`, *the folder receipts* - they are a folder, and before the rest of a
    phrase most words are one: *find duplicates in music on nas*.
    """
    if kind != "path" or taken.trust is not Trust.PLAIN or phrase.before(name) != "in":
        return False
    first = str(taken.value).split()[0]
    return first.casefold() in MANNERS or (phrase.parts[-1] == (name, True) and (first.islower() or first.isupper()))


def _surer(kind: str, taken: SlotValue, phrase: Phrase, name: str, fleet: FleetSnapshot) -> SlotValue:
    """Return a value with the trust that its phrase gives it: one word after *the file* is the name of a file, and one
    after *in* that is written as a name is a folder: *what is in Abgaben on nas*. *Compare a.conf* is about a file.
    """
    if phrase.before(name) == "compare" and kind == ("path" if has_ending(taken) else "file"):
        return replace(taken, trust=Trust.DOUBTFUL)
    if kind == "path" and taken.trust is Trust.PLAIN and phrase.before(name) == "in":
        named = str(taken.value).istitle() and str(taken.value).isalpha() and not is_a_device(taken, fleet)
        return replace(taken, trust=Trust.SURE) if named else taken
    if kind != "file" or not taken.filled or phrase.before(name) != "file":
        return taken
    called = str(taken.value).casefold() not in fleet.by_name and is_called_a_file(taken)
    return replace(taken, trust=Trust.SURE) if called else taken


def _fit(
    recipe: Recipe,
    phrase: Phrase,
    taken: Mapping[str, SlotValue],
    given: Mapping[str, Any],
    fleet: FleetSnapshot,
    order: int,
    telling: Collection[str],
) -> _Fit:
    candidate = _candidate(recipe, taken, given, _WHOLE, fleet)
    complete = not phrase.lacks or phrase.lacks in given
    if not complete and phrase.lacks in _optional_in(recipe):
        candidate = replace(candidate, missing=(*candidate.missing, _asked_for(recipe, phrase.lacks, fleet)))
    said = {name: item for name, item in taken.items() if name not in given}
    said = {name: _surer(recipe.params[name].type, item, phrase, name, fleet) for name, item in said.items()}
    # A name that is nothing but a word needs a phrase that says enough around it: words of its own, and sure values.
    sure = sum(name in candidate.params and item.trust is Trust.SURE for name, item in said.items())
    says = _SAYS_ENOUGH if len(phrase.telling) >= _TELLS_ENOUGH else phrase.says + sure
    looks = recipe.effects == [Effect.READ]
    trusted = all(
        item.trust >= _least(says, looked_for=looks and recipe.params[name].type == "text")
        for name, item in said.items()
        if item.filled
    ) and not any(
        _is_of_a_phrase(recipe.params[name].type, item, telling, phrase)
        or _may_be_a_manner(recipe.params[name].type, item, phrase, name)
        or (recipe.params[name].type == "path" and is_a_device(item, fleet))
        or (item.bare and phrase.before(name) == "with")  # *with care* is no command
        or (looks and item.trust is Trust.PLAIN and recipe.params[name].type == "text" and describes(item.value))
        for name, item in said.items()
        if item.filled
    )
    unsaid = all(not item.reason for item in candidate.missing)
    able = _able(recipe, candidate.params, fleet) and not any(item.unable for item in said.values())
    return _Fit(
        candidate,
        literals=len(phrase.literals),
        able=able,
        order=order,
        fewest=not any(
            recipe.params[name].many and "any" not in item.value
            for name, item in said.items()
            if item.filled and recipe.params[name].type == "device"
        ),
        sure=trusted and complete and not candidate.missing and not _unknown_in(given, recipe),
        strange=sum(item.like_none or item.trust is Trust.DOUBTFUL for item in said.values()),
        unsaid=trusted and unsaid,
        too_many=any(item.too_many for item in said.values()),
        of_a_sort=any(recipe.params[name].type == "files" for name in said),
    )


def _least(says: float, *, looked_for: bool) -> Trust:
    """Return the trust that a value needs beside a phrase and sure values that say so much together."""
    return Trust.PLAIN if says >= (_SAYS_ENOUGH_TO_LOOK if looked_for else _SAYS_ENOUGH) else Trust.SURE


def _able(recipe: Recipe, values: Mapping[str, Any], fleet: FleetSnapshot) -> bool:
    """Return whether each device that these values name offers what the recipe needs of it.

    Two recipes may share a phrase where one is for devices that lack the tools of the other.
    """
    for name, param in recipe.params.items():
        value = values.get(name)
        if param.type != "device" or not isinstance(value, dict):
            continue
        able = {device.name for device in fleet.able(param.needs)}
        named = [one.get("name") for one in value.get("any", [value])]
        if any(isinstance(one, str) and one not in able for one in named):
            return False
    return True


def _is_among(value: Any, other: Any) -> bool:
    """Return whether a device is another one, or among the others."""
    among = value.get("any", []) if isinstance(value, dict) else []
    return other is not None and (value == other or other in among)


def _candidate(
    recipe: Recipe, taken: Mapping[str, SlotValue], given: Mapping[str, Any], score: int, fleet: FleetSnapshot
) -> Candidate:
    taken = _without_device_as_folder(recipe, taken, given, fleet)
    values = {name: item.value for name, item in taken.items() if item.filled and name not in given}
    values.update((name, value) for name, value in given.items() if name in recipe.params)
    values.update(_besides_another(recipe, taken, values))
    missing: list[Missing] = []
    for name, param in recipe.params.items():
        item = taken.get(name)
        refused = item is not None and not item.filled and name not in values
        needed = name not in values and not param.optional and param.default is None
        same = param.not_same is not None and name in values and _is_among(values[name], values.get(param.not_same))
        if refused or needed or same:
            if same:
                values.pop(name)
            reason = f"it must be another device than {param.not_same}" if same else item.reason if item else ""
            choices = item.choices if item is not None and not same else ()
            if param.type == "device" and not choices:
                other = values.get(param.not_same or "")
                choices = tuple(device.name for device in fleet.able(param.needs) if {"name": device.name} != other)
            missing.append(Missing(name, param.type, param_title(name, param), reason, choices))
    if not missing:
        missing = _refused_values(recipe, values)
    return Candidate(recipe.name, recipe.title, score, values, tuple(missing))


def _are_clear(item: SlotValue, param: ParamDoc, other: Any) -> bool:
    """Return whether words say which devices are meant, once the one that they must differ from is known."""
    several = param.takes_many or item.wanted == 1
    return several and (other is not None if item.others else item.wanted > 0)


def _besides_another(
    recipe: Recipe, taken: Mapping[str, SlotValue], values: Mapping[str, Any]
) -> Iterator[tuple[str, Any]]:
    """Yield the devices that words mean besides the one that they must differ from: *two machines*, *the others*.

    *Two machines* are clear where there are just two left; *all servers* are all but the one that the folder is on.
    """
    for name, item in taken.items():
        param = recipe.params[name]
        other = values.get(param.not_same or "")
        if item.filled and item.others and other is not None and name in values:
            left = [one for one in item.value["any"] if one != other]
        elif name not in values and _are_clear(item, param, other):
            left = [{"name": choice} for choice in item.choices if {"name": choice} != other]
            left = [] if item.wanted and len(left) != item.wanted else left
        else:
            continue
        if left:
            yield name, {"any": left} if len(left) > 1 else left[0]


def _unknown_in(given: Mapping[str, Any], recipe: Recipe) -> tuple[str, ...]:
    """Return the values given beside the words that a recipe has no parameter for, as they were given."""
    unknown = [(name, value) for name, value in given.items() if name not in recipe.params]
    return tuple(
        f"{name}={value['name'] if isinstance(value, dict) and 'name' in value else value}" for name, value in unknown
    )


def _asked_for(recipe: Recipe, name: str, fleet: FleetSnapshot) -> Missing:
    param = recipe.params[name]
    able = fleet.able(param.needs) if param.type == "device" else ()
    return Missing(name, param.type, param_title(name, param), "", tuple(device.name for device in able))


def _without_device_as_folder(
    recipe: Recipe, taken: Mapping[str, SlotValue], given: Mapping[str, Any], fleet: FleetSnapshot
) -> Mapping[str, SlotValue]:
    """Return the values of words that name a device where a folder stands, as that device: *back up nas to laptop*.

    Only the one device that is still open is taken so; the folder is asked in any case.
    """
    open_devices = [
        name
        for name, param in recipe.params.items()
        if param.type == "device"
        and name not in taken
        and name not in given
        and not param.optional
        and not param.default
    ]
    values = dict(taken)
    for name, item in taken.items():
        if recipe.params[name].type == "path" and item.filled and is_a_device(item, fleet):
            device = fleet.by_name[str(item.value).casefold()]
            values[name] = SlotValue(reason=f"{device.name} is a device; name the folder")
            found = take(device.name, recipe.params[open_devices[0]], fleet) if len(open_devices) == 1 else None
            values.update({open_devices[0]: found} if found is not None and found.filled else {})
    return values


def _refused_values(recipe: Recipe, values: dict[str, Any]) -> list[Missing]:
    """Take out the values that their types refuse, and return them as missing, with the reason."""
    missing: list[Missing] = []
    for fault in recipe_values(recipe, values)[0]:
        name = fault.place.rpartition(".")[2]
        if name in values:
            param = recipe.params[name]
            missing.append(Missing(name, param.type, param_title(name, param), fault.reason))
            del values[name]
    return missing
