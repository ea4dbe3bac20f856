"""The fit of words with the phrases of one recipe: a candidate with its values, and with what is missing.

Pure. Compares no recipes: `matching` does.

Words that fit no phrase may still name devices: *back up to nas the pictures of my phone* says which device is which,
because the phrases have *of* before the source and *to* before the target. A device whose place could be either is left
out: a turned direction is worse than an empty field.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from starloom.core.state.settings import TRIAL_RUNS
from starloom.planner.fleet import DeviceSnapshot, FleetSnapshot
from starloom.planner.recipes.catalogue import param_title
from starloom.planner.requests.clauses import MANNERS, PURPOSES, plain_word, word_set
from starloom.planner.requests.limits import Limit, in_slots, not_in
from starloom.planner.requests.phrases import (
    FirstFiles,
    Form,
    Part,
    Phrase,
    Unsaid,
    Word,
    directions_of,
    forms_in,
    left_over,
    phrases_of,
    readings,
    said_before,
    said_otherwise,
    typed,
    words_of,
)
from starloom.planner.requests.slots import (
    NEAREST,
    Note,
    SlotValue,
    Trust,
    describes,
    has_ending,
    is_a_device,
    is_called_a_file,
    needs_no_all,
    no_sort,
    take,
)
from starloom_protocol.api.previews import RecipeCandidate, TrialRow
from starloom_protocol.plan import ParamDoc, Recipe, recipe_values
from starloom_protocol.text.file_sorts import kind_of
from starloom_protocol.text.wording import moment, quoted
from starloom_protocol.vocabulary import Effect

WHOLE = 1000
"""The score of a phrase that fits wholly."""
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
_SWITCHED = word_set(
    "the them these those it other others rest remaining one ones file files copy copies duplicate duplicates double"
    " doubles extra extras spare"
)
"""Words for what a recipe would do with a switch in any case: *put them into the trash*."""
_AND = "and"
_OF_SOURCE = frozenset({"of", "from"})
_DIRECTIONS = _OF_SOURCE | {"to"}


def mentioned(
    recipe: Recipe, phrases: Iterable[Phrase], words: Sequence[Word], fleet: FleetSnapshot
) -> dict[str, SlotValue]:
    """Return the parameters of this recipe that the devices named in the words fill."""
    text = " ".join(word.text for word in words if not word.quoted).casefold()
    devices = [device for device in fleet.devices if device.named_in(text)]
    places = _places(recipe, phrases)
    stops = {word for place_words in places.values() for word in place_words}
    if not stops:
        return _only_one(recipe, devices, fleet)
    slots: dict[str, SlotValue] = {}
    read_places: set[int] = set()
    before = directions_of([word.forms[-1] if word.forms else "" for word in words])
    # *From*, *of* and *to* say which device is which; *on* is that which these leave open.
    for with_direction in (True, False):
        at = 1
        while at < len(words):
            word = before[at]
            names = [
                name
                for name, place_words in places.items()
                if word in place_words and (with_direction or name not in slots)
            ]
            if at in read_places or (word in _DIRECTIONS) is not with_direction or len(names) != 1 or names[0] in slots:
                at += 1
                continue
            value, end = _device_at(recipe, names[0], words, at, fleet, stops)
            # *Is everything well with nas* is not about all devices.
            if value is not None and not (value.note is Note.OTHERS and devices):
                slots[names[0]] = value
                read_places.update(range(at, end))
            at = end
    return slots or _only_one(recipe, devices, fleet)


def _only_one(recipe: Recipe, devices: Sequence[DeviceSnapshot], fleet: FleetSnapshot) -> dict[str, SlotValue]:
    """Return the one device that words have by its name, for a recipe that takes one: *nas duplicates*."""
    slots = [name for name, param in recipe.params.items() if param.type == "device"]
    if len(slots) != 1 or len(devices) != 1:
        return {}
    value = take(devices[0].name, recipe.params[slots[0]], fleet)
    return {slots[0]: value} if value.filled else {}


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
    recipe: Recipe, name: str, words: Sequence[Word], at: int, fleet: FleetSnapshot, stops: set[str]
) -> tuple[SlotValue | None, int]:
    """Return the device that the words from `at` on name, longest first, with those that *and* joins to it."""
    most = at
    while most < len(words) and most < at + _SPAN_MOST and stops.isdisjoint(words[most].forms):
        most += 1
    for end in range(most, at, -1):
        text = typed(words[at:end])
        value = take(text, recipe.params[name], fleet)
        if value.filled or (_AND in text.split() and value.choices and value.note is not Note.LIKE_NONE):
            return value, end
    return None, at + 1


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
class Fit:
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


@dataclass(frozen=True)
class RequestWords:
    """The words of a request with the parameters given beside them, and what they are compared with.

    `places` are all forms where they stand, `telling` the words that recipes are about, `devices` those by which people
    call devices.
    """

    words: list[Word]
    forms: frozenset[str]
    places: list[Form]
    fleet: FleetSnapshot
    params: Mapping[str, Any]
    telling: Collection[str]
    devices: Collection[str]
    limits: Sequence[Limit]


def phrases_of_recipe(recipe: Recipe, params: Mapping[str, Any]) -> tuple[Phrase, ...]:
    """Return its phrases, those that they make, and those that mean the same in other words."""
    kinds = tuple([(name, param.type) for name, param in recipe.params.items()])
    texts = said_otherwise(tuple(recipe.phrases), kinds)
    return phrases_of(texts, _unsaid(recipe, params))


def fits_of(
    recipe: Recipe, tried: Iterable[Phrase], request: RequestWords, phrases: Collection[Phrase], *, plain: bool = False
) -> list[Fit]:
    """Return the phrases among `tried` that fit the words wholly; `phrases` are all of the recipe.

    No fit is sure that leaves a limit without a word of its phrase. `plain`: only with values that nothing speaks
    against.
    """
    fits: list[Fit] = []
    cache: dict[tuple[str, str], SlotValue] = {}

    def taken_from(name: str, words: str) -> SlotValue:
        if (name, words) not in cache:
            cache[name, words] = take(words, recipe.params[name], request.fleet)
        return cache[name, words]

    # A sort of files is no name, so that it is put right in its value; names stay as they were typed.
    misspelt = {word.text: word.sort for word in request.words if word.sort}
    ordered: bool | None = None
    for phrase in tried:
        if phrase.ranks:
            ordered = not request.forms.isdisjoint(_order_words(recipe)) if ordered is None else ordered
            if not ordered:
                continue
        for number, reading in enumerate(
            readings(phrase, request.words, request.places) if phrase.distinct <= request.forms else ()
        ):
            if number >= _READINGS_MOST:
                break
            if phrase.sort and not needs_no_all(reading[phrase.sort]):
                continue
            slots = {name: taken_from(name, _of_each(recipe, phrase, name, words)) for name, words in reading.items()}
            for name in slots if misspelt else ():
                if recipe.params[name].type == "files":
                    slots[name] = taken_from(name, " ".join(misspelt.get(one, one) for one in reading[name].split()))
            for name in slots:
                if recipe.params[name].type == "path":
                    slots[name] = _as_folder(recipe, phrase, name, slots[name], reading[name], request.words)
            if (phrase.sort or not phrase.tells) and any(item.note is Note.LIKE_NONE for item in slots.values()):
                continue  # *how is the weather* is not about a device that is called so
            if phrase.ranks and not _ranks_files(recipe, phrase.ranks, slots):
                continue  # *of last week* is a time
            choices = {name for name in slots if recipe.params[name].type == "choice"}  # all their words are heeded
            if not all(_is_heeded(recipe, name, slots[name], words) for name, words in reading.items()):
                continue
            if phrase.parts[0].is_slot and slots[phrase.parts[0].text].note is Note.LIKE_NONE:
                continue  # *delete the largest files* is not about *delete* largest files
            if plain and not _are_plain(slots.values(), request.telling):
                continue  # *back up my photos* is about photos, not about a folder of that name
            fit = _fit(recipe, phrase, slots, request.params, request.fleet, -number, request.telling)
            open_devices = _open_devices(recipe, fit, slots)
            words = [word for name in open_devices for word in words_of(reading.get(name, ""))]
            unheeded = in_slots(request.limits, (text for name, text in reading.items() if name not in choices))
            left = left_over(words, phrases, request.devices)
            unused = (*not_in(left, unheeded), *unknown_in(request.params, recipe))
            fit = replace(fit, candidate=replace(fit.candidate, unused=unused), sure=fit.sure and not unheeded)
            fits.append(fit)
            if fit.sure:
                break
    return fits


def _is_heeded(recipe: Recipe, name: str, item: SlotValue, text: str) -> bool:
    """Return whether a recipe does what the words of a slot say, where it has no value for others: those of a choice,
    and those that only switch it, as *the extra ones* do. *The oldest* are no extra ones.
    """
    param = recipe.params[name]
    if param.type == "text" and name in _optional_in(recipe):
        title = {plain_word(word) for word in (param.title or name).split()}
        return all(plain_word(word) in title | _SWITCHED for word in text.split())
    return param.type != "choice" or item.filled


def _as_folder(
    recipe: Recipe, phrase: Phrase, name: str, item: SlotValue, text: str, words: Sequence[Word]
) -> SlotValue:
    """Return the folder of a slot, or its fault where the words are files of a sort, or what the request is for."""
    before = phrase.before(name)
    if item.trust is Trust.PLAIN or "*" in text:
        # Words are found in files: *the word rent in the letters* is about no folder.
        of_files = any(recipe.params[slot].type == "text" for slot in phrase.slots)
        item = no_sort(item, text, before, of_files=of_files)
    return _into(item, text, said_before(text, words), last=phrase.is_last(name)) if before == "to" else item


def _into(value: SlotValue, text: str, before: str, *, last: bool) -> SlotValue:
    """Return a folder to put things into, or its fault where it may as well be what a copy is for, as in *copy Papers
    to nas to save space*, or the name of the new file: *into Papers.zip*.

    `before` is the word as typed before it: behind *into* stands no purpose. `last`: the request ends with it; before
    the rest of one, *to old letters on nas*, only a verb with words behind it begins a purpose.
    """
    if kind_of(text) != "other" and not text.casefold().startswith(("the folder ", "folder ")):
        return SlotValue(
            reason=f"{quoted(text)} is written as a file, and a folder is meant here: say *the folder {text}*"
        )
    first, _, rest = text.partition(" ")
    is_act = rest != "" and first.casefold() in PURPOSES
    if value.trust is not Trust.PLAIN or before.casefold() != "to" or not (is_act or (last and not _is_a_name(first))):
        return value
    return SlotValue(reason=f"{quoted(text)} may be what it is for: say *the folder {value.value}* if it is one")


def _is_a_name(word: str) -> bool:
    """Return whether one word is written as a name is: *Archive*, neither *archive* nor *ARCHIVE*."""
    return not word.islower() and not word.isupper()


def _open_devices(recipe: Recipe, fit: Fit, slots: Mapping[str, SlotValue]) -> list[str]:
    """Return the devices that are asked for, or doubtful: *June of the phone* would let June go without a word.

    The fault of a misspelt device names its words already.
    """
    refused = [one for one in fit.candidate.missing if one.reason and one.type == "device"]
    names = [one.name for one in refused if NEAREST not in one.reason]
    devices = (name for name in slots if recipe.params[name].type == "device" and name not in names)
    return [*names, *(name for name in devices if slots[name].trust is Trust.DOUBTFUL)]


def _order_words(recipe: Recipe) -> frozenset[str]:
    """Return the words of which one stands before the first files of an order: *newest*, *latest*."""
    firsts = [recipe.params[param.first.by] for param in recipe.params.values() if param.first is not None]
    return _forms_of(
        tuple(" ".join(ways) for one in firsts for value, ways in one.values.items() if value != one.default)
    )


@lru_cache(maxsize=64)
def _forms_of(texts: tuple[str, ...]) -> frozenset[str]:
    return forms_in(words_of(" ".join(texts)))


def _ranks_files(recipe: Recipe, of: str, slots: dict[str, SlotValue]) -> bool:
    """Return whether values rank files of a sort, with several devices that they are `of` as a fault."""
    if "any" in (slots[of].value or {}):
        slots[of] = _of_one(slots[of])
    sorts = (item for name, item in slots.items() if recipe.params[name].type == "files")
    return all(item.trust is Trust.SURE or not item.filled for item in sorts)


def _of_one(item: SlotValue) -> SlotValue:
    """Return several devices as a fault, where the first files are those of one: five of each are no five of all."""
    names = tuple(str(one["name"]) for one in item.value["any"])
    return SlotValue(reason="it is a number of files of each device; name one", choices=names, note=Note.TOO_MANY)


def _of_each(recipe: Recipe, phrase: Phrase, name: str, words: str) -> str:
    """Return the words of a slot; *which laptop* asks about every laptop."""
    return f"every {words}" if phrase.before(name) == "which" and recipe.params[name].type == "device" else words


def _are_plain(values: Iterable[SlotValue], telling: Collection[str]) -> bool:
    """Return whether values are all there, and are no words that recipes are about."""
    return all(
        item.filled
        and (
            item.trust is Trust.SURE
            or (item.trust is Trust.PLAIN and forms_in(words_of(str(item.value))).isdisjoint(telling))
        )
        for item in values
    )


def _optional_in(recipe: Recipe) -> frozenset[str]:
    """Return the parameters that may be left out, and that change what the recipe does when they are named."""
    switches = {param.true_when_named for param in recipe.params.values()}
    return frozenset(name for name, param in recipe.params.items() if param.optional and name in switches)


def _unsaid(recipe: Recipe, params: Mapping[str, Any]) -> Unsaid:
    """Return what words need not name of a recipe, with these parameters beside them."""
    devices = {name: param for name, param in recipe.params.items() if param.type == "device"}
    sorts = frozenset(name for name, param in recipe.params.items() if param.type == "files")
    firsts = ((name, recipe.params[name].first) for name in sorts)
    return Unsaid(
        optional=_optional_in(recipe),
        usual=frozenset(name for name, param in devices.items() if param.default is not None),
        beside=frozenset(name for name in devices if name in params),
        sorts=sorts,
        firsts=frozenset(FirstFiles(name, one.by, one.most, one.of) for name, one in firsts if one is not None),
    )


def _is_of_a_phrase(kind: str, item: SlotValue, telling: Collection[str], phrase: Phrase) -> bool:
    """Return whether a value is a word that recipes are about: *the database* is no folder, *tests* are no program,
    and *errors* are no word to search a log for.

    Written as a name - `Pictures`, `./database` - it is one; so is any word where the rest of the phrase tells enough:
    *run the tests of site from nas on nas*.
    """
    if kind == "argv":
        return item.note is Note.BARE and item.value[0] in telling
    if len(phrase.telling) >= _TELLS_ENOUGH:
        return False
    word = str(item.value) if item.trust is Trust.PLAIN else ""
    return word in telling and (kind == "path" or (kind == "text" and word not in phrase.distinct))


def _may_be_a_manner(kind: str, item: SlotValue, phrase: Phrase, name: str) -> bool:
    """Return whether words after *in* may be how or when rather than where: *in colour*, *in PDF*, *in an hour*.

    Written as a name - `Receipts`, `./receipts`, *the folder receipts* - they are a folder, and before the rest of a
    phrase most words are one: *find duplicates in music on nas*.
    """
    if kind != "path" or item.trust is not Trust.PLAIN or phrase.before(name) != "in":
        return False
    first = str(item.value).split()[0]
    return first.casefold() in MANNERS or (
        phrase.parts[-1] == Part(name, is_slot=True) and (first.islower() or first.isupper())
    )


def _surer(kind: str, item: SlotValue, phrase: Phrase, name: str, fleet: FleetSnapshot) -> SlotValue:
    """Return a value with the trust that its phrase gives it: one word after *the file* is the name of a file, and one
    after *in* that is written as a name is a folder: *what is in Abgaben on nas*. *Compare a.conf* is about a file.
    """
    if phrase.before(name) == "compare" and kind == ("path" if has_ending(item) else "file"):
        return replace(item, trust=Trust.DOUBTFUL)
    if kind == "path" and item.trust is Trust.PLAIN and phrase.before(name) == "in":
        words = str(item.value)
        is_a_name = words.istitle() and words.replace(" ", "").isalpha() and not is_a_device(item, fleet)
        return replace(item, trust=Trust.SURE) if is_a_name else item
    if kind != "file" or not item.filled or phrase.before(name) != "file":
        return item
    is_called = str(item.value).casefold() not in fleet.by_name and is_called_a_file(item)
    return replace(item, trust=Trust.SURE) if is_called else item


def _fit(
    recipe: Recipe,
    phrase: Phrase,
    slots: Mapping[str, SlotValue],
    params: Mapping[str, Any],
    fleet: FleetSnapshot,
    order: int,
    telling: Collection[str],
) -> Fit:
    candidate = candidate_of(recipe, slots, params, WHOLE, fleet)
    complete = not phrase.lacks or phrase.lacks in params
    if not complete and (phrase.ranks or phrase.lacks in _optional_in(recipe)):
        candidate = replace(candidate, missing=(*candidate.missing, _question_for(recipe, phrase.lacks, fleet)))
    from_words = {name: item for name, item in slots.items() if name not in params}
    from_words = {
        name: _surer(recipe.params[name].type, item, phrase, name, fleet) for name, item in from_words.items()
    }
    # A name that is nothing but a word needs a phrase that says enough around it: words of its own, and sure values.
    sure = sum(name in candidate.params and item.trust is Trust.SURE for name, item in from_words.items())
    weight = _SAYS_ENOUGH if len(phrase.telling) >= _TELLS_ENOUGH else phrase.emphasis + sure
    only_looks = recipe.effects == [Effect.READ]
    trusted = all(
        item.trust >= _least(weight, looked_for=only_looks and recipe.params[name].type == "text")
        for name, item in from_words.items()
        if item.filled
    ) and not any(
        _is_of_a_phrase(recipe.params[name].type, item, telling, phrase)
        or _may_be_a_manner(recipe.params[name].type, item, phrase, name)
        or (recipe.params[name].type == "path" and is_a_device(item, fleet))
        or (item.note is Note.BARE and phrase.before(name) == "with")  # *with care* is no command
        or (only_looks and item.trust is Trust.PLAIN and recipe.params[name].type == "text" and describes(item.value))
        for name, item in from_words.items()
        if item.filled
    )
    unsaid = all(not item.reason for item in candidate.missing)
    able = _able(recipe, candidate.params, fleet) and not any(item.note is Note.UNABLE for item in from_words.values())
    return Fit(
        candidate,
        literals=len(phrase.literals),
        able=able,
        order=order,
        fewest=not any(
            recipe.params[name].many and "any" not in item.value
            for name, item in from_words.items()
            if item.filled and recipe.params[name].type == "device"
        ),
        sure=trusted and complete and not candidate.missing and not unknown_in(params, recipe),
        strange=sum(item.note is Note.LIKE_NONE or item.trust is Trust.DOUBTFUL for item in from_words.values()),
        unsaid=trusted and unsaid,
        too_many=any(item.note is Note.TOO_MANY for item in from_words.values()),
        of_a_sort=any(recipe.params[name].type == "files" for name in from_words),
    )


def _least(weight: float, *, looked_for: bool) -> Trust:
    """Return the trust that a value needs beside a phrase and sure values that say so much together."""
    return Trust.PLAIN if weight >= (_SAYS_ENOUGH_TO_LOOK if looked_for else _SAYS_ENOUGH) else Trust.SURE


def _able(recipe: Recipe, values: Mapping[str, Any], fleet: FleetSnapshot) -> bool:
    """Return whether each device that these values name offers what the recipe needs of it.

    Two recipes may share a phrase where one is for devices that lack the tools of the other.
    """
    return not misplaced_in(recipe, values, fleet)


def misplaced_in(recipe: Recipe, values: Mapping[str, Any], fleet: FleetSnapshot) -> list[str]:
    """Return the devices of these values that lack what the recipe needs of them: no laptop saves files as a phone."""
    names: list[str] = []
    for name, param in recipe.params.items():
        value = values.get(name)
        if param.type == "device" and isinstance(value, dict):
            able = {device.name for device in fleet.able(param.needs)}
            names_said = [one.get("name") for one in value.get("any", [value])]
            names.extend(one for one in names_said if isinstance(one, str) and one not in able)
    return names


def _is_among(value: Any, other: Any) -> bool:
    """Return whether a device is another one, or among the others."""
    among = value.get("any", []) if isinstance(value, dict) else []
    return other is not None and (value == other or other in among)


def candidate_of(
    recipe: Recipe, slots: Mapping[str, SlotValue], params: Mapping[str, Any], score: int, fleet: FleetSnapshot
) -> Candidate:
    slots = _without_device_as_folder(recipe, slots, params, fleet)
    values = {name: item.value for name, item in slots.items() if item.filled and name not in params}
    values.update((name, value) for name, value in params.items() if name in recipe.params)
    values.update(_besides_another(recipe, slots, values))
    missing: list[Missing] = []
    for name, param in recipe.params.items():
        item = slots.get(name)
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
    several = param.takes_many or item.number == 1
    return several and (other is not None if item.note is Note.OTHERS else item.number > 0)


def _besides_another(
    recipe: Recipe, slots: Mapping[str, SlotValue], values: Mapping[str, Any]
) -> Iterator[tuple[str, Any]]:
    """Yield the devices that words mean besides the one that they must differ from: *two machines*, *the others*.

    *Two machines* are clear where there are just two left; *all servers* are all but the one that the folder is on.
    """
    for name, item in slots.items():
        param = recipe.params[name]
        other = values.get(param.not_same or "")
        if item.filled and item.note is Note.OTHERS and other is not None and name in values:
            left = [one for one in item.value["any"] if one != other]
        elif name not in values and _are_clear(item, param, other):
            left = [{"name": choice} for choice in item.choices if {"name": choice} != other]
            left = [] if item.number and len(left) != item.number else left
        else:
            continue
        if left:
            yield name, {"any": left} if len(left) > 1 else left[0]


def unknown_in(params: Mapping[str, Any], recipe: Recipe) -> tuple[str, ...]:
    """Return the values given beside the words that a recipe has no parameter for, as they were given."""
    unknown = [(name, value) for name, value in params.items() if name not in recipe.params]
    return tuple(
        f"{name}={value['name'] if isinstance(value, dict) and 'name' in value else value}" for name, value in unknown
    )


def _question_for(recipe: Recipe, name: str, fleet: FleetSnapshot) -> Missing:
    param = recipe.params[name]
    able = fleet.able(param.needs) if param.type == "device" else ()
    return Missing(name, param.type, param_title(name, param), "", tuple(device.name for device in able))


def _without_device_as_folder(
    recipe: Recipe, slots: Mapping[str, SlotValue], params: Mapping[str, Any], fleet: FleetSnapshot
) -> Mapping[str, SlotValue]:
    """Return the values of words that name a device where a folder stands, as that device: *back up nas to laptop*.

    Only the one device that is still open is taken so; the folder is asked in any case.
    """
    open_devices = [
        name
        for name, param in recipe.params.items()
        if param.type == "device"
        and name not in slots
        and name not in params
        and not param.optional
        and not param.default
    ]
    values = dict(slots)
    for name, item in slots.items():
        if recipe.params[name].type == "path" and item.filled and is_a_device(item, fleet):
            device = fleet.by_name[str(item.value).casefold()]
            values[name] = SlotValue(reason=f"{device.name} is a device; name the folder")
            device_value = take(device.name, recipe.params[open_devices[0]], fleet) if len(open_devices) == 1 else None
            values.update({open_devices[0]: device_value} if device_value is not None and device_value.filled else {})
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
