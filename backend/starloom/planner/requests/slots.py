"""The values that a slot of a phrase takes from words, by its type: a device by name or class, a path, a number ...

Pure. A slot takes its words wholly or says why not, and with which trust in their type; it never guesses between two
devices, and takes no negation, exception or second clause.
"""

from __future__ import annotations

import difflib
import re
import shlex
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum, IntEnum, auto
from typing import Any

from starloom.planner.abilities import ability
from starloom.planner.fleet import (
    DEVICE_CLASSES,
    PERSONAL,
    DeviceSnapshot,
    FleetSnapshot,
    class_of,
    gone_words,
    of_class,
    singular,
)
from starloom.planner.requests.clauses import (
    ARTICLES,
    COURTESIES,
    GERMAN_ARTICLES,
    MONTHS,
    PERSONS,
    SELECTING,
    counts_things,
    manner_in,
    names_nothing,
    plain_word,
    second_thought,
    stands_for_another,
    word_set,
)
from starloom.planner.requests.rhythm import NUMBER_WORDS, moment_in, seconds_in
from starloom_protocol.plan import ParamDoc
from starloom_protocol.stream.authors import name_of
from starloom_protocol.text.file_sorts import DOCUMENTS, GERMAN_DOCUMENTS, is_media, is_sort, kind_of
from starloom_protocol.text.wording import quoted

_ADDING = "with starloom enroll or Fleet, Add device"
_DOCUMENTS = DOCUMENTS.union(GERMAN_DOCUMENTS.values())
_ARTICLES = ARTICLES | {"this", "that"}
_EVERY = frozenset({"all", "every", "each", "both"})
_WHOLE = word_set("whole entire complete")
_OTHERS = frozenset({"other", "others", "rest", "remaining"})
_PLACES = frozenset({"device", "machine", "computer", "box", "one", "node", "host"})
NEAREST = "; the nearest is"
"""Behind the words of an unknown device as they were typed, where one is nearly called so."""
_DEVICE_WORDS_MOST = 6
_DEVICES_NAMED_MOST = 8
_BETWEEN = re.compile(r"\s*,\s*(?:and\s+)?|\s+(?:and|&|\+)\s+", re.IGNORECASE)
_BETWEEN_LETTERS = re.compile(r"(?<=\w)['’](?=\w)")
_EVERYWHERE = frozenset({"everywhere", "everything", "them", "all"})
_FOLDERS = ("folder", "directory")
_FILES = ("file", "script", "program")
_PATH_WORDS_MOST = 5
_FILE_WORDS_MOST = 6
_TEXT_WORDS_MOST = 12
_ADDRESS_WORDS_MOST = 3
_COUNT = re.compile(r"[0-9]{1,9}")
"""ASCII digits alone, and few: `int` refuses ³, and a number of thousands of digits."""
_PREPOSITIONS = frozenset({"of", "from", "to", "on", "in", "at", "for", "with", "over", "by"})
_OF = frozenset({"of", "from", "for", "about"})
_ELSEWHERE = _PREPOSITIONS - _OF
_PATH_MARK = re.compile(r"^[~./\\]|[/\\*]|\w\.\w|^[A-Za-z]:")
_FILE_MARK = re.compile(r"[*?/\\_\d]|\w\.\w")
_ENDING = re.compile(r"\w\.[A-Za-z]\w{0,4}$")
_PATTERN = re.compile(r"\*\.\w{1,8}")
_WRITTEN_AS_A_SORT = re.compile(r"[A-Z][A-Z0-9]{1,4}s")
_SERVICE = re.compile(r"[A-Za-z0-9][\w.@:\\-]*")
_YEAR_OR_DATE = re.compile(r"(?:19|20)\d\d(?:-\d\d){0,2}")
_DAYS = word_set("yesterday today monday tuesday wednesday thursday friday saturday sunday")
_CALLED_IN_PLURAL = word_set("accounts lyrics minutes notes slides taxes")
"""Documents whose plural is the name of one: *where is notes*."""
_FILE_OF = word_set("browser explorer format limit manager permission server share size system type")
"""Words that with *file* before them are no name of one: *the file server*."""
_OF_ANY_SORT = word_set("archive document file zip")
"""Words for any file of a sort, which alone are no name of one: *unpack the archive*."""
_KEPT_IN_A_FILE = word_set("list lists names lines entries rows")
"""Words for what a file holds: *the list of names in names.txt*."""
_JOINS_SORTS = word_set("and or file files")
_SORT_OR_FOLDER = word_set("doc document paper")
_AROUND_CHOICES = word_set(
    "a an the me my it them that this these those one ones old existing previous file files copy copies archive"
    " version versions what whatever exists exist is are there here already if when same name names with of and but"
    " then"
)
"""Words that say what a choice is about, and change nothing of it: *replace the old one if it is there*."""
_TRUE, _FALSE = frozenset({"yes", "true", "on"}), frozenset({"no", "false", "off"})


class Trust(IntEnum):
    """The certainty that words have the type of a slot."""

    DOUBTFUL = 0
    """They may have it; a person has to confirm."""
    PLAIN = 1
    """Nothing contradicts it, and the phrase around them has to support it."""
    SURE = 2
    """They look like nothing else."""


class Note(Enum):
    """The remark on the words of a slot that a match goes by, besides their value or fault."""

    LIKE_NONE = auto()
    """They resemble no value of such a slot."""
    UNABLE = auto()
    """They mean a device that lacks the tools."""
    BARE = auto()
    """They are a command that no quotes hold together."""
    OTHERS = auto()
    """They mean all but the device that it must differ from, which a match knows."""
    TOO_MANY = auto()
    """They mean several devices where one is taken."""


@dataclass(frozen=True)
class SlotValue:
    """The result of a slot for words: a value, or the reason why there is none, with the devices to choose from.

    `number` is that of the devices that the words ask for (*two machines*), 0 if they give none.
    """

    value: Any = None
    reason: str = ""
    choices: tuple[str, ...] = ()
    number: int = 0
    trust: Trust = Trust.SURE
    note: Note | None = None

    @property
    def filled(self) -> bool:
        return not self.reason


def _unlike(reason: str, *, when: bool = True) -> SlotValue:
    """Return a fault of words that resemble no value of their slot; only a fault where `when` is not so."""
    return SlotValue(reason=reason, note=Note.LIKE_NONE if when else None)


def take(words: str, param: ParamDoc, fleet: FleetSnapshot) -> SlotValue:
    """Return the value that a parameter takes from words. `words` are as typed, without surrounding space."""
    text = words.strip() if param.type == "argv" else _without_courtesies(words.strip())
    if not text:
        return SlotValue(reason="it is empty")
    if param.type == "device":
        return _few_enough(take_device(text, param, fleet), param)
    if param.type == "choice":
        return _take_choice(text, param)
    if param.everything and text.casefold() == "everything":
        return SlotValue(".")
    bare = _unquoted(text)
    if param.type in _LOOKS and bare != text:
        # *send "notes.txt" to nas* may be about a file.
        doubtful = param.type == "text" and len(bare.split()) == 1 and _PATH_MARK.search(bare)
        return SlotValue(bare, trust=Trust.PLAIN if doubtful else Trust.SURE)
    of_files = _take_some_files(text, fleet) if param.type == "file" and param.many else None
    if of_files is None and bare == text and (fault := _quoted_in_part(text, param.type)):
        return SlotValue(reason=f"{text} {fault}")
    if of_files is not None:
        return of_files
    first, _, rest = text.partition(" ")
    if param.type in ("file", "path") and first in GERMAN_ARTICLES and rest:
        # *Copy den Ordner Urlaub from laptop* is half German: a person looks at its name.
        return replace(_LOOKS[param.type](rest, fleet), trust=Trust.DOUBTFUL)
    if param.type in _LOOKS:
        return _LOOKS[param.type](text, fleet)
    if param.type == "argv":
        return _take_argv(bare) if bare != text else _take_bare_argv(text, fleet)
    value = _TAKERS[param.type](bare)
    # *Is nas.local up* is about the device of that name, unless it is written as an address.
    is_named = param.type == "url" and bare.casefold() in fleet.by_name
    return replace(value, trust=Trust.DOUBTFUL) if is_named else value


def _without_courtesies(text: str) -> str:
    """Return words without those behind them that mean nothing: *Documents please*."""
    first, _, last = text.rpartition(" ")
    while first and (plain_word(last) in COURTESIES or last.casefold() in ARTICLES) and text[0] not in "\"'`“":
        text = first.rstrip(",")  # *Photos, please, from laptop*
        first, _, last = text.rpartition(" ")
    return text


def _quoted_in_part(text: str, kind: str) -> str:
    """Return the fault of words that follow a value in quotes: *"lunch" at 8*. A command may have quotes within it."""
    marks = "`" if kind == "argv" else '"“`'
    if text[0] not in marks or (kind not in _LOOKS and kind != "argv"):
        return ""
    if text[-1] in '"”`':
        return "is more than one value in quotes; give one"
    return "goes on behind its quotes; quote all of it, or leave the rest out"


def _unquoted(text: str) -> str:
    """Return text without the quotes around it; *"a" and "b"* are two values, and *'Tom's files'* is one."""
    for mark in ('"', "'", "`", "“”", "‘’"):
        inner = text[1:-1]
        if len(text) >= 2 and text[0] == mark[0] and text[-1] == mark[-1]:
            return text if mark[-1] in _BETWEEN_LETTERS.sub("", inner) else inner
    return text


def _few_enough(value: SlotValue, param: ParamDoc) -> SlotValue:
    """Refuse several devices where one is taken: a plan for one would be scattered over them."""
    several = value.value.get("any", []) if value.filled else []
    if len(several) < 2 or param.takes_many:
        return value
    names = tuple(str(item["name"]) for item in several)
    reason = f"it takes one device, and {' and '.join(names)} are {len(names)}"
    return SlotValue(reason=reason, choices=names, note=Note.TOO_MANY)


def take_device(text: str, param: ParamDoc, fleet: FleetSnapshot) -> SlotValue:
    """Return `{name}` for one device, `{any: [{name}, ...]}` for several named together."""
    text = _unquoted(text)
    words = [word for word in text.casefold().split() if word not in _ARTICLES]
    if (value := _by_name(text, words, param, fleet)) is not None:
        return value
    parts = [part for part in _BETWEEN.split(text.strip()) if part]
    if 1 < len(parts) <= _DEVICES_NAMED_MOST:
        return _together([take_device(part, param, fleet) for part in parts])
    if not words:
        return SlotValue(reason="it names no device")
    if more := second_thought(words) or ("in" if "in" in words[1:] else ""):
        return _unlike(f"{quoted(text)} says more than a device ({quoted(more)})")
    if len(words) > _DEVICE_WORDS_MOST:
        return _unlike(f"there is no device like {text}")
    kinds = [word for word in words if word not in _EVERY | _EVERYWHERE and word != "of"]
    return _by_number(words, kinds, fleet.able(param.needs)) or _by_class(text, words, kinds, param, fleet)


def _by_name(text: str, words: Sequence[str], param: ParamDoc, fleet: FleetSnapshot) -> SlotValue | None:
    """Return the device that words name, or the choice among those whose names they may be; None if they name none."""
    alike = fleet.devices_called(text) or fleet.devices_called(" ".join(words))
    if alike:
        return _of_name(alike[0], param, fleet) if len(alike) == 1 else _one_of(text, alike)
    if "by" in words and (device := fleet.by_name.get(" ".join(words[: words.index("by")]))):
        # *Of nas by name* names nas, and a way of doing it that a person has to see.
        return replace(_of_name(device, param, fleet), trust=Trust.DOUBTFUL)
    return None


def _by_number(words: Sequence[str], kinds: Sequence[str], able: Sequence[DeviceSnapshot]) -> SlotValue | None:
    """Return as many devices as words say: *both*, *the others*, *two machines*; None if they give no number."""
    if words[0] == "both":
        return _so_many(2, " ".join(word for word in words[1:] if word != "of") or "devices", able)
    if words[0] in _OTHERS or (words[0] in _EVERY and words[1:2] == ["other"]):
        others = " ".join(word for word in words if word not in _OTHERS | _EVERY and word != "of")
        return _all_others(others or "devices", able, one=words[0] == "other" and others == singular(others))
    first = kinds[0] if len(kinds) > 1 else ""
    number = NUMBER_WORDS.get(first, int(first) if _COUNT.fullmatch(first) else 0)
    return _so_many(number, " ".join(kinds[1:]), able) if number > 1 else None


def _by_class(
    text: str, words: Sequence[str], kinds: Sequence[str], param: ParamDoc, fleet: FleetSnapshot
) -> SlotValue:
    """Return the device of a class, or all of them, or the fault with the devices to choose from."""
    able = fleet.able(param.needs)
    every = words[0] in _EVERY or words[-1] in _EVERYWHERE
    kind = singular(" ".join(kinds))
    many = every or kind != " ".join(kinds)
    if not kinds or (every and all(singular(word) in _PLACES for word in kinds)) or (many and kind in _PLACES):
        return _several(able, param)
    guess = len(words) < len(text.split())
    of_asker = _own_of(text, kind, fleet)
    of_kind, everyone = (of_class(kind, devices, guess=guess) for devices in (able, fleet.devices))
    fitting = of_asker(of_kind)
    if many:
        return _several(fitting, param) if fitting else SlotValue(reason=_none_of(kind))
    real = of_asker(everyone) if all(device.demo for device in fitting) else []
    if fitting and real and not real[0].demo:
        # *My phone* is never the phone of the demonstration where there is a real one, though that one lacks the tools.
        return _unable(real[0], param, able)
    if fitting:
        return SlotValue({"name": fitting[0].name}) if len(fitting) == 1 else _one_of(text, fitting)
    if others := [device for device in of_kind if not device.demo]:
        return _of_another(others)
    if unable := [device for device in of_asker(everyone) if device not in able]:
        return _unable(unable[0], param, able)
    if gone := next((device for device in fleet.gone if device.name.casefold() == " ".join(words)), None):
        return SlotValue(reason=gone_words(gone), choices=tuple(device.name for device in able))
    return _unknown(text, kind, able)


def _one_of(text: str, devices: Sequence[DeviceSnapshot]) -> SlotValue:
    names = tuple(device.name for device in devices)
    return SlotValue(reason=f"{text} may be {' or '.join(names)}", choices=names)


def devices_left_over(
    words: str, literals: Collection[str], values: Mapping[str, Any], fleet: FleetSnapshot
) -> list[str]:
    """Return the devices that words name and that no value has: a recipe whose `literals` lack them leaves them out.

    The name of another device may hold this one: *nas* in *nas two*.
    """
    text = words.casefold()
    filled = {
        one.get("name")
        for value in values.values()
        if isinstance(value, dict)
        for one in value.get("any", [value])
        if isinstance(one, dict)
    }
    devices = [device for device in fleet.devices if device.named_in(text)]
    others = [device.name.casefold() for device in devices if device.name in filled]
    return [
        device.name
        for device in devices
        if device.name not in filled
        and device.name.casefold() not in literals
        and not any(device.named_in(other) for other in others)
    ]


def _own_of(
    text: str, kind: str, fleet: FleetSnapshot
) -> Callable[[Sequence[DeviceSnapshot]], Sequence[DeviceSnapshot]]:
    """Return the choice among devices that words such as *my phone* mean: those of the person that asks.

    A phone of an unknown person may be theirs where none of their own is there; that of another person never is.
    """
    asks = fleet.asked_by
    if text.casefold().split()[0] != "my" or class_of(kind) not in PERSONAL or not asks:
        return lambda devices: devices
    return lambda devices: (
        [one for one in devices if one.let_in_by == asks] or [one for one in devices if not one.let_in_by]
    )


def _of_another(devices: Sequence[DeviceSnapshot]) -> SlotValue:
    """Return the devices of other persons for a person to choose from by name: *my phone* is none of them."""
    first = devices[0]
    names = tuple(device.name for device in devices)
    return SlotValue(
        reason=f"{first.name} joined by a code of {name_of(first.let_in_by)}; say it by its name", choices=names
    )


def _of_name(device: DeviceSnapshot, param: ParamDoc, fleet: FleetSnapshot) -> SlotValue:
    """Return the device that has this very name; where it lacks the tools and its kind has them, a person chooses."""
    able = fleet.able(param.needs)
    alike = [] if device in able else of_class(singular(device.name.casefold()), able, guess=False)
    if not alike:
        return SlotValue({"name": device.name})
    return _unable(device, param, [*alike, *(device for device in able if device not in alike)])


def _unable(device: DeviceSnapshot, param: ParamDoc, able: Sequence[DeviceSnapshot]) -> SlotValue:
    lacks = " and ".join(tool for tool in param.needs if tool not in device.tools)
    names = tuple(one.name for one in able)
    picked = "; it hands over what is picked on it" if "file.pick" in device.tools else ""
    return SlotValue(reason=f"{device.name} does not offer {lacks}{picked}", choices=names, note=Note.UNABLE)


def _unknown(text: str, kind: str, able: Sequence[DeviceSnapshot]) -> SlotValue:
    """Return the fault of an unknown name, with the known devices, the nearest first."""
    names = {device.name.casefold(): device.name for device in able}
    near = [names[name] for name in difflib.get_close_matches(kind, names, n=3, cutoff=0.7)]
    reason = f"there is no device {text}{NEAREST} {near[0]}" if near else f"there is no device like {text}"
    choices = dict.fromkeys([*near, *names.values()])
    return SlotValue(reason=reason, choices=tuple(choices), note=None if near else Note.LIKE_NONE)


def _together(parts: list[SlotValue]) -> SlotValue:
    """Return the devices of `laptop and the server` as one; the first that is not found says why."""
    names: dict[str, None] = {}
    for part in parts:
        if not part.filled:
            return replace(part, number=0, note=None if part.note is Note.OTHERS else part.note)
        names.update(dict.fromkeys(item["name"] for item in part.value.get("any", [part.value])))
    selectors = [{"name": name} for name in names]
    return SlotValue({"any": selectors} if len(selectors) > 1 else selectors[0])


def _so_many(count: int, words: str, able: Sequence[DeviceSnapshot]) -> SlotValue:
    """Return `two machines` where there are just two that can; among more, a person chooses."""
    devices = _of_kind(words, able)
    if not devices:
        return SlotValue(reason=_none_of(singular(words)))
    names = tuple(device.name for device in devices)
    if len(devices) == count:
        return SlotValue({"any": [{"name": name} for name in names]})
    return SlotValue(reason=f"{words} may be {', '.join(names)}; name {count} of them", choices=names, number=count)


def _none_of(kind: str) -> str:
    """Return the reason where no device is of a kind; a label makes one so."""
    label = kind.replace(" ", "-")
    several = f"{kind}es" if kind.endswith(("x", "ss", "sh", "tch")) else f"{kind.removesuffix('s')}s"
    return f"there are no {several} here; `starloom device label NAME {label}` makes a device one"


def _all_others(words: str, able: Sequence[DeviceSnapshot], *, one: bool) -> SlotValue:
    """Return the devices that *the others*, or the `one` other, may be.

    A match takes out the one that they must differ from.
    """
    return SlotValue(
        reason="say by name which the other is" if one else "say by name which the others are",
        choices=tuple(device.name for device in _of_kind(words, able)),
        number=1 if one else 0,
        note=Note.OTHERS,
    )


def _of_kind(words: str, able: Sequence[DeviceSnapshot]) -> Sequence[DeviceSnapshot]:
    """Return the devices that words such as *servers* or *machines* mean, real ones where there are any."""
    kind = singular(words)
    return [device for device in able if not device.demo] or list(able) if kind in _PLACES else of_class(kind, able)


def _several(devices: Sequence[DeviceSnapshot], param: ParamDoc) -> SlotValue:
    preferred = [device for device in devices if not device.demo] or devices
    if not preferred:
        return SlotValue(reason=f"no device here can {ability(param.needs) or 'do it'}: add one that can, {_ADDING}")
    if len(preferred) == 1:
        return SlotValue({"name": preferred[0].name})
    return SlotValue({"any": [{"name": device.name} for device in preferred]}, note=Note.OTHERS)


def _refusal(tokens: list[str], fleet: FleetSnapshot, what: str) -> str:
    """Return why unquoted words are no name of anything, whatever it is; empty if nothing speaks against it."""
    more = second_thought(tokens) or manner_in(tokens)
    if more:
        return f"{quoted(' '.join(tokens))} says more than {what} ({quoted(more)}); quote it if it is one"
    device = next((token for token in tokens if plain_word(token) in fleet.by_name), "")
    if device and len(tokens) > 1:
        return f"{quoted(' '.join(tokens))} names the device {device}; quote it if it is {what}"
    return ""


def _without_articles(text: str, *also: str) -> list[str]:
    words = text.split()
    while len(words) > 1 and words[0].casefold() in (*_ARTICLES, *also):
        words = words[1:]
    while len(words) > 1 and words[-1].casefold() in also:
        words = words[:-1]
    return words


def _take_text(text: str, fleet: FleetSnapshot) -> SlotValue:
    tokens = text.split()
    reason = _refusal(tokens, fleet, "a text")
    if not reason and (counts_things(tokens) or (len(tokens) == 1 and names_nothing(tokens))):
        reason = f"{quoted(text)} names nothing; quote it if it does"
    if reason or len(tokens) > _TEXT_WORDS_MOST:
        return SlotValue(reason=reason or "it is too long to be meant without quotes")
    return SlotValue(text, trust=Trust.PLAIN)


def describes(text: str) -> bool:
    """Return whether a text tells of a thing: *photos of my cat*, *anything about taxes*, and not *out of memory*."""
    plain = [plain_word(token) for token in text.split()]
    of_a_thing = not (_PREPOSITIONS.isdisjoint(plain) or ARTICLES.isdisjoint(plain))
    return of_a_thing or not {"about", "in", "on", "with"}.isdisjoint(plain[1:-1])


def _take_path(text: str, fleet: FleetSnapshot) -> SlotValue:
    words = _without_articles(text, *_FOLDERS)
    reason = _refusal(words, fleet, "a path")
    if stands_for_another(words) or counts_things(text.split()):
        reason = f"{quoted(text)} stands for other things; name the folder or file, or quote it"
    if reason:
        return SlotValue(reason=reason)
    if any(word.endswith(",") for word in words[:-1]) or (words[-1][-1] in ",:;!" and not _PATH_MARK.search(words[-1])):
        return SlotValue(reason=f"{quoted(text)} does not look like one path; quote it if it is one")
    if len(words) == 2 and words[0].casefold() in _FILES and _ENDING.search(words[1]):
        words = words[1:]  # *run the script mean.py over runs/*.csv*
    marks = [at for at, word in enumerate(words) if _PATH_MARK.search(word)]
    marked = bool(marks)
    before = words[: marks[0]] if marked else []
    if names_nothing(before) or not _WHOLE.isdisjoint(before):
        return SlotValue(" ".join(words[marks[0] :]), trust=Trust.DOUBTFUL)  # *zip it all Schule/Fotos*
    if "in" in before:
        return _unlike(f"{quoted(text)} is in a file; name that, or quote it if it is a path")
    if marked and not (_PREPOSITIONS - {"of"}).isdisjoint(words[marks[0] + 1 :]):
        return SlotValue(reason=f"{quoted(text)} does not look like a path; quote it if it is one")
    if not marked and (len(words) > _PATH_WORDS_MOST or names_nothing(words) or not _PREPOSITIONS.isdisjoint(words)):
        return SlotValue(reason=f"{quoted(text)} does not look like a path; quote it if it is one")
    is_called = len(words) < len(_without_articles(text))
    return SlotValue(" ".join(words), trust=Trust.SURE if marked or is_called else Trust.PLAIN)


def no_sort(value: SlotValue, text: str, before: str, *, of_files: bool = False) -> SlotValue:
    """Return a folder, or its fault where it may as well be all files of a sort: *back up the videos of galaxy to nas*.

    `before` is the word of the phrase before it: *in the music* is a folder, as are *music* and *the Music*. Names
    with `*` are none, but behind *over*, where files are meant: *run a.py over*. `of_files`: the phrase looks into
    files, so that they stand behind *in* as well: *in the letters*.
    """
    words = str(value.value)
    if "*" in text and before != "over" and _unquoted(text) == text:
        return SlotValue(reason=f"{words} is a pattern of names and no folder: say the folder, or all files of a sort")
    if before == "from" and all(map(_is_of_a_day, text.split())):
        return SlotValue(reason=f"{words} may be a time: say *the folder {words}* if it is one; none is found by date")
    if of_files and before == "in" and (may_be_a_sort(text) or _are_german_documents(text)):
        reason = f"{words} may be files and no folder: say *the folder {words}*, or leave it out to look into all files"
        return SlotValue(reason=reason)
    first, _, rest = words.partition(" ")
    if before != "to" and first in SELECTING and rest:
        return SlotValue(reason=f"{words} may be some of the files: say *the folder {words}*, or name all of it")
    if before == "in" or "*" in text or not may_be_a_sort(text):
        return value
    sort = words.removesuffix(" files").rpartition(" ")[2]
    return SlotValue(reason=f"{words} may be files and no folder: say *the folder {words}*, or *all {sort}*")


def _are_german_documents(text: str) -> bool:
    """Return whether words with an article are German documents, whose nouns are capital: *the Notizen*."""
    first, _, rest = text.partition(" ")
    return first.casefold() in ARTICLES and rest.casefold() in GERMAN_DOCUMENTS


def needs_no_all(text: str) -> bool:
    """Return whether words are files of a sort without *all*; *my documents* may be the folder, so they are asked."""
    last = singular(text.casefold().removesuffix(" files").rpartition(" ")[2])
    return may_be_a_sort(text) and last not in DOCUMENTS | _SORT_OR_FOLDER


def may_be_a_sort(text: str) -> bool:
    """Return whether words may be files of a sort without *all*: *the photos*, *5 old videos*, *CSVs*, `*.log`."""
    first, _, rest = text.partition(" ")
    words = rest if first.casefold() in ARTICLES or _take_integer(first).filled else ""
    is_lower = bool(words) and words[0] == words[0].casefold()
    if _PATTERN.fullmatch(text) or (is_lower and words.endswith(" files")):
        return True
    return (is_lower or _WRITTEN_AS_A_SORT.fullmatch(words or text) is not None) and _are_of_a_sort(text.split()[-1])


def _are_of_a_sort(word: str) -> bool:
    """Return whether a word is for files that people keep: *videos*, *CSVs*; *logs* and *tests* are folders, too."""
    plain = word.casefold()
    one = singular(plain)
    return is_media(word) or (one != plain and (one in DOCUMENTS or kind_of(f"a.{one}") != "other"))


def is_a_device(value: SlotValue, fleet: FleetSnapshot) -> bool:
    """Return whether a folder that nothing marks as one has the name of a device: *copy Papers to nas on laptop*."""
    return value.trust is Trust.PLAIN and str(value.value).casefold() in fleet.by_name


def _take_file(text: str, fleet: FleetSnapshot) -> SlotValue:
    """Take words of a file's name: sure where they have a pattern, an ending, a number, or the name of a document."""
    tokens = text.split()
    words = [token for token in tokens if plain_word(token) not in ARTICLES]
    if words[:1] and plain_word(words[0]) in _KEPT_IN_A_FILE and words[-2:-1] == ["in"] and _ENDING.search(words[-1]):
        return replace(_take_file(words[-1], fleet), trust=Trust.DOUBTFUL)
    reason = _refusal(words, fleet, "a file's name")
    if stands_for_another(words):
        reason = f"{quoted(text)} stands for something said before; name the file, or quote it"
    if len(words) > _FILE_WORDS_MOST or names_nothing(words) or not _ELSEWHERE.isdisjoint(map(plain_word, words)):
        reason = reason or f"{quoted(text)} does not look like a file's name; quote it if it is one"
    if not words or reason:
        # *invoice.pdf and print it* begins with a file; *the cause of the errors in app.log* is about something else.
        return _unlike(reason or "it names no file", when=not (words and _FILE_MARK.search(words[0])))
    if any(name in fleet.by_name for name in (*map(plain_word, words), plain_word(" ".join(words)))):
        return SlotValue(text, trust=Trust.DOUBTFUL)
    head = next((at for at, word in enumerate(words) if plain_word(word) in _OF), len(words))
    last = plain_word(words[head - 1]) if head else ""
    # *The invoice* is one file; *invoices* and *an invoice* are any of them.
    one = last == singular(last) and tokens[0].casefold() not in ("a", "an")
    # *The worksheets of class 7b* are several, and the number is that of the class.
    marked = any(_FILE_MARK.search(word) for word in (words if one else words[:head])) or any(
        _ENDING.search(word) for word in words
    )
    if not one and is_sort(last) and any(_is_of_a_day(word) for word in words[head:]):
        # *The pictures from June 3* are meant by their day, and none of them is called *pictures*.
        return SlotValue(reason=f"{quoted(text)} are files by their date, and only words of a name are searched for")
    if len(words) == 1 and _ENDING.search(words[0]):
        return SlotValue(words[0])  # *the archive.zip* is called *archive.zip*
    if any(_ENDING.search(word) for word in words[:-1]):
        return SlotValue(text, trust=Trust.DOUBTFUL)  # a name is over with its ending: *notes.txt by night*
    sure = (
        (last in _DOCUMENTS - (_OF_ANY_SORT if len(words) == 1 else set()) and one)
        or (last in _CALLED_IN_PLURAL and head == 1)
        or last in MONTHS
        or marked
    )
    return SlotValue(text, trust=Trust.SURE if sure else Trust.DOUBTFUL)


def _is_of_a_day(word: str) -> bool:
    return plain_word(word) in MONTHS | _DAYS or _YEAR_OR_DATE.fullmatch(word) is not None


def _take_some_files(text: str, fleet: FleetSnapshot) -> SlotValue | None:
    """Take the names of several files, each of which is surely one, parted by commas, or *all* files of a sort; None
    for the words of one name.
    """
    first, _, rest = text.partition(" ")
    if first.casefold() in ("all", "every") and rest:
        sort = _take_files(rest, fleet)
        if sort.filled:
            return replace(sort, value=text)
        # *All scanned contracts* are found by these words of their names.
        file = singular(plain_word(rest.split()[-1])) in DOCUMENTS and _take_file(rest, fleet)
        return replace(file, trust=Trust.SURE) if file and file.filled else replace(sort, note=Note.LIKE_NONE)
    parts = [part for part in _BETWEEN.split(text) if part]
    values = [SlotValue(bare) if (bare := _unquoted(part)) != part else _take_file(part, fleet) for part in parts]
    if len(parts) < 2 or '"' in "".join(map(_unquoted, parts)):
        return None
    if not all(one.filled and one.trust is Trust.SURE for one in values):
        return None
    return SlotValue(", ".join(str(one.value) for one in values))


def has_ending(value: SlotValue) -> bool:
    """Return whether words end as the name of a file does: *app.conf*."""
    return re.search(r"\w\.[A-Za-z]\w*$", str(value.value)) is not None


def is_called_a_file(value: SlotValue) -> bool:
    """Return whether one word after *the file* is its name: *the file orders* is, *the file server* is not."""
    word = plain_word(str(value.value))
    kinds = {form for one in DEVICE_CLASSES.values() for form in one.words}
    return len(word.split()) == 1 and not {word, singular(word)} & (_FILE_OF | _PLACES | kinds)


def _take_files(text: str, fleet: FleetSnapshot) -> SlotValue:
    """Take a sort of files: a pattern, an ending, or a word such as *pictures*."""
    words = [word for word in _without_articles(text, "all", "files", "file") if plain_word(word) not in _ARTICLES]
    tokens = text.split()
    if all(map(_says_a_sort, words)):
        tokens = [word for word in tokens if plain_word(word) not in _JOINS_SORTS]  # *pictures and videos*
    reason = _refusal(tokens, fleet, "a sort of files")
    if not words or reason:
        return SlotValue(reason=reason or "it names no files")
    if names_nothing(words) or not (_ELSEWHERE | _OF).isdisjoint(map(plain_word, words)):
        return SlotValue(reason=f"{quoted(text)} does not look like a sort of files; quote it if it is one")
    last = singular(plain_word(words[-1]))
    if len(words) == 1 and last == "file":
        return SlotValue(reason="say which files, such as PDFs, pictures or *.csv")
    if (other := next((word for word in words if not _says_a_sort(word)), "")) and len(words) > 1:
        # A device finds the files of any of these words, so that *all big videos* would be all videos.
        return SlotValue(reason=f"{quoted(other)} is no sort of files: say one alone, as in PDFs, pictures or *.csv")
    if any("/" in word and "*" not in word and not _ENDING.search(word) for word in words):
        reason = f"{quoted(text)} is a path and no sort of files, such as PDFs, pictures or *.csv"
        return _unlike(reason)
    sure = last in DOCUMENTS or is_sort(last) or any(_FILE_MARK.search(word) for word in words)
    return SlotValue(text, trust=Trust.SURE if sure else Trust.DOUBTFUL)


def _says_a_sort(word: str) -> bool:
    """Return whether a word is a sort of files or joins two: a number and *scanned* are none."""
    plain = plain_word(word)
    marked = _FILE_MARK.search(word) is not None and not plain.isdigit()
    return plain in _JOINS_SORTS or marked or is_sort(plain) or singular(plain) in DOCUMENTS


def _take_service(text: str, fleet: FleetSnapshot) -> SlotValue:
    words = _without_articles(text, "service")
    name = words[0]
    if len(words) > 1 or not _SERVICE.fullmatch(name) or names_nothing(words) or second_thought(words):
        reason = f"{quoted(text)} does not look like a service such as nginx; quote it if it is one"
        return _unlike(reason, when=len(words) > 1)
    if singular(name.casefold()) in _PLACES or name.casefold() in DEVICE_CLASSES or name.casefold() in fleet.by_name:
        return SlotValue(reason=f"{name} is a device, not a service")
    return SlotValue(name)


def _take_choice(text: str, param: ParamDoc) -> SlotValue:
    """Take words for just one value, with nothing around them but words for the things themselves: *the old one*."""
    tokens = [plain_word(token) for token in text.split()]
    matches: dict[int, set[str]] = {}
    for value, ways in param.values.items():
        for words in (way.casefold().split() for way in ways):
            for at in range(len(tokens) - len(words) + 1):
                if tokens[at : at + len(words)] == words and _AROUND_CHOICES.issuperset(
                    (*tokens[:at], *tokens[at + len(words) :])
                ):
                    matches.setdefault(len(words), set()).add(value)
    values = matches[max(matches)] if matches else set()
    return SlotValue(values.pop()) if len(values) == 1 else SlotValue(reason=f"{quoted(text)} is no choice here")


def _take_integer(text: str) -> SlotValue:
    if re.fullmatch(r"[+-]?\d{1,15}", text):
        return SlotValue(int(text))
    first, _, rest = text.partition(" ")
    if first.casefold() in ("the", "me") and rest:
        return _take_integer(rest.strip())
    number = NUMBER_WORDS.get(text.casefold())
    return (
        SlotValue(number)
        if number is not None
        else _unlike(f"{text} {_no_number(text)}", when=not any(sign.isdigit() for sign in text))
    )


def _no_number(text: str) -> str:
    """Return why words are no whole number; a time is said to be one, since it may look like a number of things."""
    if _take_duration(text).filled:
        return "is a time, and this is a number of things, as in 7"
    return "is not a whole number"


def _take_number(text: str) -> SlotValue:
    if re.fullmatch(r"[+-]?\d{1,15}\.\d{1,15}", text):
        return SlotValue(float(text))
    whole = _take_integer(text)
    return whole if whole.filled else SlotValue(reason=f"{text} is not a number")


def _take_boolean(text: str) -> SlotValue:
    word = text.casefold()
    return SlotValue(word in _TRUE) if word in _TRUE | _FALSE else SlotValue(reason=f"{text} is neither yes nor no")


def _take_duration(text: str) -> SlotValue:
    seconds = seconds_in(text)
    return (
        SlotValue(seconds)
        if seconds is not None
        else SlotValue(reason=f"{text} is not a duration such as 15m, 2h or 3 days")
    )


def _take_date(text: str) -> SlotValue:
    match = re.fullmatch(r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])", text)
    return SlotValue(text) if match else SlotValue(reason=f"{text} is not a date such as 2026-01-31")


def _take_url(text: str) -> SlotValue:
    if re.fullmatch(r"https?://[^\s/]+(/\S*)?", text):
        return SlotValue(text)
    if re.fullmatch(r"[a-z0-9-]+(\.[a-z0-9-]+)+(:\d{1,5})?(/\S*)?|localhost(:\d{1,5})?(/\S*)?", text.casefold()):
        return SlotValue(f"https://{text}")
    return _unlike(f"{text} is not an address", when=len(text.split()) > _ADDRESS_WORDS_MOST)


def _take_hosts(text: str) -> SlotValue:
    hosts = [host for host in re.split(r"[\s,]+|\band\b", text) if host]
    if hosts and all(
        re.fullmatch(r"[A-Za-z0-9._:-]+", host) and ("." in host or host == "localhost") for host in hosts
    ):
        return SlotValue(hosts)
    return SlotValue(reason=f"{text} does not name hosts")


def _take_since(text: str) -> SlotValue:
    moment, fault = moment_in(text)
    return SlotValue(moment) if moment else SlotValue(reason=f"{text} {fault}")


def _take_bare_argv(text: str, fleet: FleetSnapshot) -> SlotValue:
    """Take a command that no quotes hold together: words that a sentence would have are none of it."""
    command = _take_argv(text)
    if not command.filled:
        return command
    words = command.value
    reason = _refusal(words, fleet, "a command")
    sentence = ARTICLES | PERSONS | COURTESIES | _PREPOSITIONS  # *run git pull in Projects* is in no argument
    if not reason and (names_nothing(words[:1]) or any(plain_word(word) in sentence for word in words)):
        reason = f"{quoted(text)} does not look like a command; put it in backticks if it is one"
    return replace(command, value=None, reason=reason) if reason else replace(command, note=Note.BARE)


def _take_argv(text: str) -> SlotValue:
    try:
        words = shlex.split(text)
    except ValueError as error:
        return SlotValue(reason=f"{text} is not a command: {error}")
    if not words or any(char in text for char in "|;&<>$\n"):
        return SlotValue(reason=f"{text} needs a shell; give one program and its arguments")
    return SlotValue(words)


_LOOKS: dict[str, Callable[[str, FleetSnapshot], SlotValue]] = {
    "file": _take_file,
    "files": _take_files,
    "path": _take_path,
    "service": _take_service,
    "text": _take_text,
}
_TAKERS: dict[str, Callable[[str], SlotValue]] = {
    "boolean": _take_boolean,
    "date": _take_date,
    "duration": _take_duration,
    "hosts": _take_hosts,
    "integer": _take_integer,
    "number": _take_number,
    "since": _take_since,
    "url": _take_url,
}
