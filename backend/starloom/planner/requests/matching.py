"""The match of words with recipes: exact, near or none - a pure function, fast enough to answer during typing.

Exact: a phrase fits wholly, every required parameter is filled, and every value looks like one of its type; an
ambiguous word fills a slot only if the phrase around it leaves no doubt. Near: at most three candidates with their
filled and missing values; a near match never starts anything. None: the nearest recipes, for a person to look at.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import chain
from typing import Any

from starloom.planner.fleet import FleetSnapshot
from starloom.planner.recipes.catalogue import Catalogue, param_title
from starloom.planner.requests.clauses import ARTICLES, plain_word, word_set
from starloom.planner.requests.fitting import (
    WHOLE,
    Candidate,
    Fit,
    Missing,
    RequestWords,
    Trial,
    candidate_of,
    fits_of,
    mentioned,
    misplaced_in,
    phrases_of_recipe,
    unknown_in,
)
from starloom.planner.requests.gaps import gap_in, row_for
from starloom.planner.requests.german import Translated, clock_in_english, requests_in_english
from starloom.planner.requests.limits import (
    Exclusion,
    always_so,
    conditions_behind,
    exclusion_in,
    limits_in,
    not_about,
    not_in,
    trash_of_results,
)
from starloom.planner.requests.phrases import (
    Phrase,
    Word,
    forms_in,
    forms_of,
    left_over,
    overlap,
    request_words,
    spelled,
    spellings,
    telling_words,
    with_straight_quotes,
    without_device,
    without_how,
    without_umlauts,
)
from starloom.planner.requests.pointers import Place, pointer_in, running_in, stopping_in
from starloom.planner.requests.rhythm import Rhythm, rhythm_in
from starloom.planner.requests.slots import devices_left_over, take
from starloom_protocol.plan import Recipe
from starloom_protocol.records.entities import RecipeRuns
from starloom_protocol.stream.authors import who
from starloom_protocol.text.look_alikes import plain_letters
from starloom_protocol.text.wording import listed
from starloom_protocol.values import canonical
from starloom_protocol.vocabulary import RISKY_EFFECTS, Effect

WORDS_MOST = 60
_RHYTHM_WORDS_MOST = 60
"""Words that say how often, and courtesies. Each rhythm is taken out in a pass over all words."""
CANDIDATES_MOST = 3
_NEAR_SCORE = 0.5
"""The part of a phrase that the words must share for its recipe to be offered."""
_COLON = re.compile(r"^((?:please )?ask [^\"“:,]{1,80}?) ?: +([^:]*[^:\s])\s*$", re.IGNORECASE)
"""A question behind a colon is as sure as one in quotes; words of it, or all of it, may stand in quotes."""
_IN_QUOTES = re.compile(r"[\"“][^\"“”]*[\"”]")
_OF_SEVERAL = frozenset({"both", "other", "others"})
_LOOKING = word_set("find show list search which what where look")
"""Words that a request begins with which only looks."""
_JOIN = re.compile(r",? (?:and|und)(?: (?:then|dann|also|danach))? |, (?:then|dann) ", re.IGNORECASE)
_JOINS_MOST = 3
_NAMED = frozenset({"text", "path", "file", "service"})
PICK = "file.pick"
_READS = ("fs.find",)
_CHANGES = RISKY_EFFECTS | {Effect.WRITE}


class Match(StrEnum):
    EXACT = "exact"
    NEAR = "near"
    NONE = "none"


@dataclass(frozen=True)
class Matched:
    """`rhythm` is how often the words say; they are near then, whatever recipe fits the rest.

    `words` are those that were matched, and `params` the values beside them. `on_trial`: the words fit the first
    candidate exactly, and are near only because it is on trial. `gap` is a sentence about words that no recipe carries
    out, and `places` are the pages that do. `about_starloom`: they ask about Starloom itself, and are no work at all.
    `limit` is a part of words without a recipe that takes something out or bounds it: *except the videos*. `always` is
    a sentence about a condition in the words that holds anyway.
    """

    outcome: Match
    candidates: tuple[Candidate, ...]
    rhythm: Rhythm | None = None
    on_trial: bool = False
    gap: str = ""
    places: tuple[Place, ...] = ()
    about_starloom: bool = False
    limit: str = ""
    always: str = ""
    words: str = ""
    params: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_exact(self) -> bool:
        return self.outcome is Match.EXACT


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

    def once(request: str) -> Matched:
        result = _with_limit(_match_all(request, catalogue, fleet, params, shown_to), request, fleet)
        if result.gap and request.startswith(result.limit):  # it is all that the words say
            result = replace(result, limit="")
        if result.outcome is Match.EXACT or result.on_trial:
            return result
        if (answer := pointer_in(request, fleet)) is not None:
            return Matched(Match.NONE, (), gap=answer.sentence, places=answer.places, about_starloom=True)
        return result

    def match_around_exclusion(request: str) -> Matched:
        result = once(request)
        if result.is_exact or result.on_trial:
            return result
        left = exclusion_in(request, {device.name: device.name_pattern for device in fleet.devices})
        if left is not None and not (left.devices and result.gap):
            before = once(left.request) if left.request else result
            if left.request and before.candidates and before.outcome is not Match.NONE and not before.gap:
                return before if before.on_trial else _excluding(before, left, catalogue, fleet)
            result = replace(result, candidates=_without(result, left, catalogue))
        return result if result.is_exact or result.on_trial or result.gap else _before_condition(request, result, once)

    def match_in_english(request: str) -> Matched:
        result = match_around_exclusion(request)
        if result.outcome is Match.EXACT or result.on_trial:
            return result
        readings = requests_in_english(clock_in_english(request), [device.name_pattern for device in fleet.devices])
        return (
            _of_german([(match_around_exclusion(one.english), one) for one in readings], request, catalogue) or result
        )

    straight = _with_straight_quotes(words)
    result = match_in_english(straight)
    if result.outcome is not Match.EXACT and not result.on_trial:
        two = next(
            (one for one in _parted(straight) if all(match_in_english(part).outcome is Match.EXACT for part in one)),
            None,
        )
        sentence = "these are two requests, and one is asked for at a time: *{}*, and then *{}*"
        result = replace(result, gap=sentence.format(*two)) if two is not None else result
    return replace(
        result, words=words, params={name: value for name, value in (params or {}).items() if value is not None}
    )


def _with_straight_quotes(words: str) -> str:
    """Return words with straight quotes; quotes within a question behind a colon stay as they were typed."""
    colon, straight = _COLON.fullmatch(words), with_straight_quotes(words)
    within = colon is not None and not _IN_QUOTES.fullmatch(with_straight_quotes(colon[2]))
    return words if within else straight


def _before_condition(words: str, result: Matched, match_request: Callable[[str], Matched]) -> Matched:
    """Return the match of the request before a condition, which no recipe has a place for, with what holds anyway.

    *Copy Documents to nas, ask me first* is no device called *ask me first*.
    """
    for request, condition in conditions_behind(words):
        if (trashing := trash_of_results(request, condition)) and (trashed := match_request(trashing)).is_exact:
            sentence = "nothing is deleted: the extra ones go into the trash, from which they can be brought back"
            return replace(trashed, outcome=Match.NEAR, always=sentence)
        before = match_request(request)
        if before.candidates and before.candidates[0].score == WHOLE and not before.on_trial and not before.gap:
            candidates = tuple(replace(one, unused=(*one.unused, condition)) for one in before.candidates)
            return replace(before, outcome=Match.NEAR, candidates=candidates, always=always_so(condition))
    return result


def _excluding(before: Matched, left: Exclusion, catalogue: Catalogue, fleet: FleetSnapshot) -> Matched:
    """Return the match of a request as a near one without the devices or the act that its words leave out.

    *How are my machines without nas* is offered with the other devices by name; a part without a place is named.
    """
    whole: list[Candidate] = []
    for recipe, one in offered(before, catalogue):
        every = {
            name: {"any": [{"name": device.name} for device in fleet.able(param.needs)]}
            for name, param in recipe.params.items()
            if left.devices and param.type == "device" and param.takes_many and param.default is not None
        }
        whole.append(replace(one, params={**every, **one.params}))
    candidates = _without(replace(before, candidates=tuple(whole)), left, catalogue)
    names = [[device for value in one.params.values() for device in _names_of(value)] for one in candidates]
    names_devices = [bool(left.devices and devices) for devices in names]
    candidates = tuple(
        one if is_named else replace(one, unused=(*one.unused, left.text))
        for one, is_named in zip(candidates, names_devices, strict=True)
    )
    always = f"it is offered for {listed(names[0])}, and not for {listed(left.devices)}" if names_devices[0] else ""
    rhythm = before.rhythm
    if rhythm is not None:
        rhythm = replace(rhythm, rest=f"{rhythm.rest} {left.text}", misspelt=True)
    return replace(before, outcome=Match.NEAR, candidates=candidates, rhythm=rhythm, always=always)


def _without(result: Matched, left: Exclusion, catalogue: Catalogue) -> tuple[Candidate, ...]:
    """Return the candidates of a match with no value and no choice that is a device which words leave out."""
    candidates: list[Candidate] = []
    for recipe, one in offered(result, catalogue):
        values = dict(one.params)
        missing = [
            replace(item, choices=tuple(choice for choice in item.choices if choice not in left.devices))
            for item in one.missing
        ]
        for name, value in one.params.items():
            names = _names_of(value)
            remaining = [device for device in names if device not in left.devices]
            if remaining == names:
                continue
            del values[name]
            param = recipe.params[name]
            if remaining:
                values[name] = (
                    {"any": [{"name": device} for device in remaining]}
                    if len(remaining) > 1
                    else {"name": remaining[0]}
                )
            elif not param.optional:
                missing.append(Missing(name, param.type, param_title(name, param)))
        candidates.append(replace(one, params=values, missing=tuple(missing)))
    return tuple(candidates)


def _names_of(value: Any) -> list[str]:
    """Return the devices that a value names one by one."""
    among = value.get("any", [value]) if isinstance(value, dict) else []
    return [one["name"] for one in among if isinstance(one, dict) and isinstance(one.get("name"), str)]


def _parted(words: str) -> list[tuple[str, str]]:
    """Return the ways to part words into two requests at an *and*."""
    joins = list(_JOIN.finditer(words))[:_JOINS_MOST] if words.count(" ") < WORDS_MOST else []
    return [(words[: join.start()], words[join.end() :].rstrip(" .!")) for join in joins]


def _of_german(readings: Sequence[tuple[Matched, Translated]], words: str, catalogue: Catalogue) -> Matched | None:
    """Return the match of a German request by its readings: exact where all that fit mean the same; None without one.

    A word that the translation lacks may mean anything, and a name that it changed means another thing, so that such a
    reading is near at most.
    """
    exact = {(one.candidates[0].recipe, canonical(one.candidates[0].params)) for one, _ in readings if one.is_exact}
    changed = [_with_typed_names(one, words, catalogue) for one, _ in readings]
    pairs = zip(changed, readings, strict=True)
    sure = next((one for one, (before, reading) in pairs if one is before and one.is_exact and reading.whole), None)
    if sure is not None and len(exact) == 1:
        return sure
    near = min(changed, key=_far, default=None)
    return replace(near, outcome=Match.NEAR) if near is not None and near.is_exact else near


def _far(result: Matched) -> tuple[int, int, int]:
    """Return how far words are from a recipe: the reading of German that comes nearest is shown."""
    first = result.candidates[0] if result.candidates else None
    lacks = len(first.missing) + len(first.unused) if first is not None else 0
    return list(Match).index(result.outcome), -(first.score if first is not None else 0), lacks


def _with_typed_names(result: Matched, words: str, catalogue: Catalogue) -> Matched:
    """Return a match without names that nobody typed, which are asked for: *pictures* is no folder of *Fotos*."""
    typed = {plain_word(word) for word in words.split()} | ARTICLES | {"all"}
    candidates: list[Candidate] = []
    for one in result.candidates:
        params = recipe.params if (recipe := catalogue.get(one.recipe)) is not None else {}
        texts = ((name, value) for name, value in one.params.items() if isinstance(value, str) and name in params)
        of_names = [(name, value) for name, value in texts if params[name].type in _NAMED]
        lost = {name for name, value in of_names if not typed.issuperset(map(plain_word, value.split()))}
        remaining = {name: value for name, value in one.params.items() if name not in lost}
        open_places = (
            Missing(name, params[name].type, param_title(name, params[name])) for name in params if name in lost
        )
        candidates.append(replace(one, params=remaining, missing=(*one.missing, *open_places)) if lost else one)
    same = all(one is before for one, before in zip(candidates, result.candidates, strict=True))
    return result if same else replace(result, candidates=tuple(candidates))


def _match_all(
    words: str, catalogue: Catalogue, fleet: FleetSnapshot, params: Mapping[str, Any] | None, shown_to: str
) -> Matched:
    grown = catalogue.grown
    others = [recipe for recipe in catalogue.all() if recipe.name not in grown]
    result = match(words, others, fleet, params=params)
    telling = telling_words(_texts_of(others))
    if not grown or result.outcome is Match.EXACT:
        return _with_gap(result, words, fleet, telling)
    result = _with_gap(match(words, catalogue.all(), fleet, params=params), words, fleet, telling)
    candidates = tuple(_with_trial(candidate, grown.get(candidate.recipe)) for candidate in result.candidates)
    if result.outcome is Match.EXACT and candidates[0].trial is not None:
        keeper = catalogue.keepers.get(candidates[0].recipe)
        if not shown_to or keeper != who(shown_to):
            return Matched(Match.NEAR, candidates, on_trial=True)
    return replace(result, candidates=candidates)


def _with_limit(result: Matched, words: str, fleet: FleetSnapshot) -> Matched:
    """Return a match of words without a recipe with their limit; of words that forbid work, no recipe is near."""
    if result.outcome is Match.EXACT or result.on_trial:
        return result
    limits = limits_in(request_words(words), fleet.by_name)
    if limits and limits[0].forbids:
        result = replace(result, outcome=Match.NONE, candidates=(), rhythm=None)
    return replace(result, limit=limits[0].text) if limits and result.outcome is Match.NONE else result


def offered(result: Matched, catalogue: Catalogue) -> list[tuple[Recipe, Candidate]]:
    """Return the recipes of a match with their candidates, as they are offered to a model."""
    return [(recipe, one) for one in result.candidates if (recipe := catalogue.get(one.recipe)) is not None]


def _with_gap(result: Matched, words: str, fleet: FleetSnapshot, telling: Collection[str]) -> Matched:
    """Return a match of words that no recipe carries out without its candidates, which are about something else."""
    whole = result.candidates and result.candidates[0].score == WHOLE
    starts = result.outcome is Match.EXACT or result.rhythm is not None
    gap = "" if starts else gap_in(words, fleet, of_a_clause=bool(whole))
    gap = gap or (row_for(words, fleet, telling) if result.outcome is Match.NONE else "")
    running = None if whole or result.outcome is Match.EXACT else running_in(words, fleet) or stopping_in(words, fleet)
    if running is not None:
        sentence = "; ".join(filter(None, (running.sentence, gap)))
        return Matched(Match.NONE, (), about_starloom=True, gap=sentence, places=running.places)
    return Matched(Match.NONE, (), gap=gap) if gap else result


def _with_trial(candidate: Candidate, runs: RecipeRuns | None) -> Candidate:
    if runs is None or not runs.trial:
        return candidate
    newest = max(runs.versions, key=lambda one: one.clean_ms, default=None)
    return replace(candidate, trial=Trial(runs.in_a_row, newest.clean_ms if newest is not None else 0))


def _quoted(colon: re.Match[str]) -> str:
    """Return the words of a question behind a colon with the question in quotes, and other quotes in it."""
    question = colon[2] if _IN_QUOTES.fullmatch(colon[2]) else "“" + colon[2].replace("”", '"') + "”"
    return f"{colon[1]} {question}"


def match(
    words: str, recipes: Sequence[Recipe], fleet: FleetSnapshot, *, params: Mapping[str, Any] | None = None
) -> Matched:
    """Return the recipe that the words mean; `params` were given beside them and take precedence over the words."""
    if len(words.split()) > WORDS_MOST + _RHYTHM_WORDS_MOST:
        return Matched(Match.NONE, ())
    words = _COLON.sub(_quoted, words)
    rhythm = rhythm_in(words)
    if rhythm is not None:
        once = match(rhythm.rest, recipes, fleet, params=params)
        if once.outcome is not Match.NONE:
            return Matched(Match.NEAR, once.candidates, replace(rhythm, misspelt=once.outcome is not Match.EXACT))
    tokens = without_umlauts(request_words(words), (text for recipe in recipes for text in recipe.phrases))
    values = {name: value for name, value in (params or {}).items() if value is not None}
    if not tokens or len(tokens) > WORDS_MOST:
        return Matched(Match.NONE, ())
    as_typed = _match(tokens, recipes, fleet, values)
    filled = as_typed.candidates[0].params.values() if as_typed.outcome is Match.EXACT else ()
    if as_typed.outcome is Match.EXACT and not any(isinstance(value, str) and " " in value for value in filled):
        return as_typed
    spelled_forms = spellings(_texts_of(recipes))
    right = spelled(tokens, spelled_forms, fleet.by_name)
    if right == tokens:
        return as_typed
    # Misspelt words are corrected to offer a recipe, never to run one.
    corrected = _match(right, recipes, fleet, values)
    if as_typed.outcome is Match.EXACT:
        # *Copy the databse notes.sqlite* is no folder of two words where the right word makes it another recipe.
        other = corrected.outcome is Match.EXACT and corrected.candidates[0].recipe != as_typed.candidates[0].recipe
        return Matched(Match.NEAR, (*corrected.candidates, *as_typed.candidates)) if other else as_typed
    changed = sum(typed != corrected for typed, corrected in zip(tokens, right, strict=True))
    if corrected.outcome is Match.NONE or (changed == 1 and corrected.candidates[0].score < WHOLE):
        return as_typed  # one corrected word is too little to offer a recipe by
    offered = _first_of_each([*corrected.candidates, *(as_typed.candidates if as_typed.outcome is Match.NEAR else ())])
    return Matched(Match.NEAR, tuple(offered[:CANDIDATES_MOST]))


def _texts_of(recipes: Sequence[Recipe]) -> tuple[str, ...]:
    return tuple(chain.from_iterable(recipe.phrases for recipe in recipes))


def _request(
    tokens: list[Word], recipes: Sequence[Recipe], fleet: FleetSnapshot, params: Mapping[str, Any]
) -> RequestWords:
    telling = telling_words(_texts_of(recipes))
    names = {plain_letters(device.name) for device in fleet.devices}
    devices = names.union(" ".join(names).split(), _OF_SEVERAL, *(device.words for device in fleet.devices))
    return RequestWords(
        tokens, forms_in(tokens), forms_of(tokens), fleet, params, telling, devices, limits_in(tokens, fleet.by_name)
    )


def _match(tokens: list[Word], recipes: Sequence[Recipe], fleet: FleetSnapshot, params: Mapping[str, Any]) -> Matched:
    fits: list[Fit] = []
    request = _request(tokens, recipes, fleet, params)
    whole: list[Fit] = []
    phrases_by = [(recipe, phrases_of_recipe(recipe, params)) for recipe in recipes]
    for of_a_sort in (False, True):  # a phrase without its *all* is tried where none fits as it is written
        for recipe, phrases in phrases_by:
            tried = [phrase for phrase in phrases if (phrase.sort != "") is of_a_sort]
            fits.extend(fits_of(recipe, tried, request, phrases) if tried else ())
        whole = sorted((fit for fit in fits if fit.sure), key=lambda fit: fit.rank, reverse=True)
        if whole and whole[0].able:
            break
    # `run the tests of shop everywhere` says more than `run {command} everywhere`: what it leaves open is asked.
    # So does one that fits as well where the devices of the other cannot do it.
    best = (whole[0].literals, whole[0].able) if whole else (0, False)
    open_ = [fit for fit in fits if whole and not fit.sure and not (fit.too_many and whole[0].of_a_sort)]
    closer = [fit for fit in open_ if (fit.literals, not best[1]) > (best[0], False)]
    picked = [] if best[1] else [*_picked_there(phrases_by, request)]
    if closer or (whole and picked):
        ranked = sorted(closer, key=lambda fit: (fit.unsaid, fit.rank), reverse=True)
        candidates = _placed([*picked, *(fit.candidate for fit in ranked), whole[0].candidate], recipes, fleet)
        return Matched(Match.NEAR, tuple(candidates[:CANDIDATES_MOST]))
    if whole and (len(whole) == 1 or whole[0].rank > whole[1].rank or whole[0].order == whole[1].order):
        return Matched(Match.EXACT, (whole[0].candidate,))
    likely = _placed([*picked, *(_likely(fits) or _nearly(recipes, request))], recipes, fleet)
    strong = [candidate for candidate in likely if candidate.score >= _NEAR_SCORE * WHOLE]
    if strong:
        return Matched(Match.NEAR, tuple(strong[:CANDIDATES_MOST]))
    return Matched(Match.NONE, tuple(likely[:CANDIDATES_MOST]))


def _placed(candidates: Sequence[Candidate], recipes: Sequence[Recipe], fleet: FleetSnapshot) -> list[Candidate]:
    """Return the first candidate of each recipe, without those for which named devices lack what others do not need."""
    by_name = {recipe.name: recipe for recipe in recipes}
    firsts = _first_of_each(candidates)
    placed = [one for one in firsts if not misplaced_in(by_name[one.recipe], one.params, fleet)]
    return placed or firsts


def _picked_there(recipes: Iterable[tuple[Recipe, tuple[Phrase, ...]]], request: RequestWords) -> Iterator[Candidate]:
    """Yield the recipes by which a person picks files on the device that words take them from, where it has no others.

    *Send a file from my phone to laptop*: a browser's tab hands over nothing but what is picked there.
    """
    for recipe, phrases in recipes:
        picking = [name for name, param in recipe.params.items() if PICK in param.needs]
        if not picking:
            continue
        values = mentioned(recipe, phrases, request.words, request.fleet)
        source = values.get(picking[0])
        source_name = source.value.get("name", "") if source is not None and source.filled else ""
        device = request.fleet.by_name.get(source_name.casefold())
        others = [one for name, one in values.items() if name not in picking and one.filled]
        if device is not None and device.can((PICK,)) and not device.can(_READS) and others:
            near = candidate_of(recipe, values, request.params, WHOLE, request.fleet)
            yield replace(near, unused=left_over(request.words, phrases, request.devices))


def _likely(fits: Sequence[Fit]) -> list[Candidate]:
    """Return the candidates of fits, the likeliest first.

    A phrase that fits wholly, but for what it does not say, leaves no room for others that share a few words.
    """
    # Where one device is named, the same command for several is not asked about: *copy logs from till to nas*.
    one = max((fit.literals for fit in fits if fit.fewest and not fit.candidate.missing), default=0)
    able = max((fit.literals for fit in fits if fit.able), default=0)
    fits = [fit for fit in fits if (fit.fewest or fit.literals != one) and (fit.able or fit.literals > able)]
    partial = sorted(fits, key=lambda fit: (-fit.literals, not fit.able, fit.strange, len(fit.candidate.missing)))
    return [fit.candidate for fit in partial]


def _nearly(recipes: Sequence[Recipe], request: RequestWords) -> list[Candidate]:
    """Return the candidates of words that fit no phrase: first those that would with one more device, or with how.

    *Copy results to archiv* says the folder and where it goes; *from* is asked. *Tidy Downloads* lacks its *by kind*.
    """
    fits: list[Fit] = []
    nears: list[Candidate] = []
    only_looks = next((form for word in request.words for form in word.forms), "") in _LOOKING
    for recipe in recipes:
        phrases = phrases_of_recipe(recipe, request.params)
        if only_looks and not _looks_too(recipe, phrases):
            continue
        near = _near(recipe, phrases, request)
        if near is None:
            continue
        nears.append(near)
        devices = {name: param for name, param in recipe.params.items() if param.type == "device"}
        needed = frozenset(name for name, param in devices.items() if param.default is None and not param.optional)
        shorter = without_device(phrases, needed.difference(request.params))
        fits.extend(
            fit
            for fit in fits_of(recipe, (*shorter, *without_how(phrases)), request, phrases, plain=True)
            if [one.type for one in fit.candidate.missing] in ([], ["device"])
        )
    return [*_likely(fits), *sorted(nears, key=lambda item: -item.score)]


def _looks_too(recipe: Recipe, phrases: Sequence[Phrase]) -> bool:
    """Return whether a recipe may be near words that only look: it changes nothing, or a phrase of it looks first.

    *Find letters older than 2005* shares words with *empty what is older than {days} days*, and must not be offered it.
    """
    return _CHANGES.isdisjoint(recipe.effects) or any(phrase.parts[0].text in _LOOKING for phrase in phrases)


def _first_of_each(candidates: Sequence[Candidate]) -> list[Candidate]:
    firsts: dict[str, Candidate] = {}
    for candidate in candidates:
        firsts.setdefault(candidate.recipe, candidate)
    return list(firsts.values())


def _near(recipe: Recipe, phrases: tuple[Phrase, ...], request: RequestWords) -> Candidate | None:
    """Return a recipe whose phrases have words in common with those that were said."""
    telling = (
        phrase for phrase in phrases if not (phrase.sort or phrase.ranks) and not request.forms.isdisjoint(phrase.tells)
    )
    best = max((overlap(phrase, request.forms) for phrase in telling), default=0.0)
    if not best:
        return None
    unheeded = not_about(request.limits, phrases)
    out = {at for limit in unheeded if limit.excludes for at in range(limit.first, limit.last + 1)}
    relevant = [word for at, word in enumerate(request.words) if at not in out]
    slots = mentioned(recipe, phrases, relevant, request.fleet)
    near = candidate_of(recipe, slots, request.params, min(WHOLE - 1, round(best * WHOLE)), request.fleet)
    words = " ".join(word.text for word in relevant if not word.quoted)
    literals = {form for phrase in phrases for form in phrase.literals}
    others = devices_left_over(words, literals, near.params, request.fleet)
    loose = left_over(request.words, phrases, request.devices)
    if len(loose) == 1 and not unheeded and loose[0] not in request.telling:
        filled = _with_the_last_word(near, loose[0], recipe, request.fleet)
        near, loose = (near, loose) if filled is near else (filled, ())
    left = (*loose, *others)
    return replace(near, unused=(*not_in(left, unheeded), *unknown_in(request.params, recipe)))


def _with_the_last_word(near: Candidate, word: str, recipe: Recipe, fleet: FleetSnapshot) -> Candidate:
    """Return a candidate with the one word that is left over in the one place for a name or a text that is open.

    *Search the files of nas for Museum* has nothing else that it may be; it is offered so, and starts nothing.
    """
    places = [item.name for item in near.missing if item.type in ("text", "path", "file")]
    if any(item.reason for item in near.missing if item.name in places):
        return near
    if not near.missing and "/" in word:  # *list Schule/Fotos on nas*: it may do without a folder, and one is said
        places = [name for name, param in recipe.params.items() if param.type == "path" and name not in near.params]
    if len(places) != 1 or (recipe.params[places[0]].type != "text" and word.isalpha() and word.islower()):
        return near  # *as well* is no folder
    slot_value = take(word, recipe.params[places[0]], fleet)
    if not slot_value.filled:
        return near
    missing = tuple(item for item in near.missing if item.name != places[0])
    return replace(near, params={**near.params, places[0]: slot_value.value}, missing=missing)
