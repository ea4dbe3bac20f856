"""The comparison of a phrase with {slots} and words: the words for each slot. Pure, and fast enough during typing.

Both are compared word by word without case, punctuation at word ends, articles, and politeness; quotes and backticks
keep their words together. A word of a phrase counts by its meaning: *duplicates* much, *up* little, *of* hardly.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import NamedTuple

from starloom.planner.fleet import singular
from starloom.planner.requests.clauses import COURTESIES, choices_in, plain_word, word_set
from starloom_protocol.text.file_sorts import is_sort
from starloom_protocol.text.look_alikes import plain_letters, spelled_out

_TOKEN = re.compile(r"\"[^\"]*\"|`[^`]*`|“[^”]*”|[^\s]+")
_OTHER_QUOTES = re.compile(
    r"\"[^\"]*\"|`[^`]*`"
    r"|(?<!\w)(?:„([^„“”\"]*)[“”]|“([^“”\"]*)[“”]|«([^«»\"]*)»|»([^«»\"]*)«|‚([^‚‘’\"]*)[‘’](?!\w))"
)
"""Names in straight quotes, which stay as they are, or in the quotes of another keyboard."""
_SLOT = re.compile(r"\{([a-z0-9_-]+)\}")
_ARTICLES = frozenset({"a", "an", "the", "my", "our", "me"})
_ON_DEVICE = re.compile(r"\{([a-z0-9_-]+)\} (on|of|from) \{([a-z0-9_-]+)\}")
_MAKE = re.compile(r"^make a (?=\w+ (?!of\b)\w+ )")
"""Before a thing that has two words: *contact sheet of Pictures* says enough, *zip of Pictures* is near too much."""
_OPENINGS = (
    *(("can", "you"), ("could", "you"), ("would", "you"), ("will", "you"), ("let", "us"), ("let's",)),
    *(("i", "want", "to"), ("i", "want", "you", "to"), ("i", "need", "to"), ("i", "need", "you", "to")),
    *(("i", "would", "like", "to"), ("i", "would", "like", "you", "to")),
    *(("i'd", "like", "to"), ("i'd", "like", "you", "to")),
    *(("know",), ("tell", "me"), ("lets",), ("see",)),
    *((word,) for word in sorted(COURTESIES)),
)
_CLOSINGS = (
    *(("for", "me"), ("thank", "you"), ("thanks",), ("for", "us")),
    *((word,) for word in sorted(COURTESIES)),
)
_ENDINGS = ".,;:!?"
_LEAST_PARTS = 2
_HOW = (("by", False), ("to", False))
"""The parts before the word that says how, at the end of a phrase: *by kind*, *into folders*."""
_DOTS = re.compile(r"(?:^|/)\.+$")
_SAME = {
    "backup": ("back", "up"),
    "photos": ("pictures",),
    "photo": ("pictures",),
    "picture": ("pictures",),
    "images": ("pictures",),
    "image": ("pictures",),
    "pics": ("pictures",),
    "we": ("i",),
    "okay": ("ok",),
    "onto": ("to",),
    "into": ("to",),
    "whats": ("what", "is"),
    "what's": ("what", "is"),
    "where's": ("where", "is"),
    "wheres": ("where", "is"),
    "how's": ("how", "is"),
    "hows": ("how", "is"),
    "disks": ("disk",),
    "drives": ("disk",),
    "drive": ("disk",),
    "machines": ("machine",),
    "computers": ("machine",),
    "devices": ("machine",),
    "device": ("machine",),
    "computer": ("machine",),
    "biggest": ("largest",),
    "execute": ("run",),
    "fetch": ("get",),
    "every": ("all",),
    "each": ("all",),
}
_SMALL = frozenset(
    {"what", "where", "how", "is", "are", "do", "does", "of", "to", "on", "in", "at", "for", "from", "with", "and"}
) | {"or", "all"}
_DIVIDES = frozenset({"all", "both", "of"})
_IDLE = word_set("some any there them these those then but so also")
"""Words whose absence changes nothing that a recipe does."""
_PARTICLES = word_set(
    "up down last first time one two by be can it its that i have put get send show which when why new newest not as"
    " if take check find search for where ok both also runs whether"
)
_MERE = frozenset({"make", "ask", "tell"})
"""Words with a meaning that tell nothing of what a recipe is about: *make a coffee* is near no ZIP file, and *clean up
but ask me first* near no question."""
_PLAIN = frozenset({"zip"})
"""Words that mean one thing only, whatever stands around them."""
_SPELLED_LEAST = 4
_SPELLED_LIKE = 0.85
_TRIES_MOST = 4000
_SWALLOWED = 0.95
_FOREIGN_MOST = 8


@dataclass(frozen=True)
class Word:
    """A word as typed, and the forms it is compared in, without accents; articles have none.

    `tail` is the punctuation behind it, and `sort` the sort of files that a misspelt word was meant to be.
    """

    text: str
    forms: tuple[str, ...]
    tail: str = ""
    sort: str = ""

    @property
    def quoted(self) -> bool:
        """Whether quotes or backticks hold it together, so that it is a name or a command and nothing else."""
        return self.text[:1] in ('"', "`", "“")


def with_straight_quotes(text: str) -> str:
    """Return a request in which a name in the quotes of another keyboard, as „a“ and «a», stands in straight ones."""
    return _OTHER_QUOTES.sub(lambda match: f'"{match[match.lastindex]}"' if match.lastindex else match[0], text)


def words_of(text: str) -> list[Word]:
    """Return the words of a request; commas and stops at their ends are tails. Courtesies have no forms, as articles.

    Dots alone or behind a slash belong to a name before other words: *run ls .. on nas*, *run mypy ./... on nas*.
    """
    words: list[Word] = []
    tokens = _TOKEN.findall(text)
    for at, token in enumerate(tokens):
        is_name = at + 1 < len(tokens) and _DOTS.search(token) is not None
        bare = token if token[0] in '"`“' or is_name else token.rstrip(_ENDINGS)
        plain = bare.casefold()
        if not bare:
            words[-1:] = [replace(word, tail=word.tail + token) for word in words[-1:]]  # *"a.pdf", "b.pdf"*
            continue
        forms = () if plain in _ARTICLES or plain in COURTESIES else _SAME.get(plain) or (plain_letters(plain),)
        words.append(Word(bare, forms, token[len(bare) :]))
    return words


def request_words(text: str) -> list[Word]:
    """Return the words of a request without the courtesies around it: *can you tell me ...*, *... for me, thanks*."""
    words = words_of(text)
    plain = tuple(word.text.casefold() for word in words)
    first, last = _opening(plain), len(plain)
    while closing := next((len(item) for item in _CLOSINGS if plain[max(first, last - len(item)) : last] == item), 0):
        last -= closing
    return words[first:last] if first < last else words


def _opening(plain: tuple[str, ...]) -> int:
    """Return how many words at the beginning are courtesies."""
    first = 0
    while opening := next((len(item) for item in _OPENINGS if plain[first : first + len(item)] == item), 0):
        first += opening
    return first


class Part(NamedTuple):
    """One part of a phrase: a literal form, or the name of a slot."""

    text: str
    is_slot: bool = False


class Form(NamedTuple):
    """A form of a word, and the position of that word."""

    text: str
    at: int


class FirstFiles(NamedTuple):
    """The slots for the first files of a sort: their sort, order and number, and the device that they are of."""

    sort: str
    by: str
    most: str
    of: str


class Unsaid(NamedTuple):
    """The slots that words need not name: those that may be left out, devices with a usual value or given beside the
    words, and files whose *all* may be missing; and the slots for the first files.
    """

    optional: frozenset[str]
    usual: frozenset[str]
    beside: frozenset[str]
    sorts: frozenset[str]
    firsts: frozenset[FirstFiles]


_ALL = Part("all")


@dataclass(frozen=True)
class Phrase:
    """Parts in order.

    The slots in `quoted` stand in quotes, and take nothing else. `lacks` is a slot that its words begin to name and do
    not: *and put a contact sheet*, without *on laptop*. `sort` is a slot for files of a sort that lacks its *all*, and
    `ranks` the slot of the device of which just the first files are meant.
    """

    parts: tuple[Part, ...]
    lacks: str = ""
    sort: str = ""
    ranks: str = ""
    quoted: frozenset[str] = frozenset()

    @cached_property
    def slots(self) -> tuple[str, ...]:
        return tuple(name for name, is_slot in self.parts if is_slot)

    @cached_property
    def literals(self) -> tuple[str, ...]:
        return tuple(form for form, is_slot in self.parts if not is_slot)

    @cached_property
    def distinct(self) -> frozenset[str]:
        """Its own words, each once."""
        return frozenset(self.literals)

    @cached_property
    def weight(self) -> float:
        """The weight of its own words, of which a request shares a part."""
        return _weight(self.distinct)

    @cached_property
    def telling(self) -> frozenset[str]:
        """Its own words that carry its meaning."""
        return frozenset(form for form in self.literals if form not in _SMALL and form not in _PARTICLES)

    @cached_property
    def tells(self) -> frozenset[str]:
        """Its own words that tell what it is about."""
        return self.telling - _MERE

    @cached_property
    def emphasis(self) -> float:
        """The weight of its own words: one for each with a meaning, half for a particle, and more for a plain one."""
        halves = sum(form in _PARTICLES or form in _PLAIN for form in set(self.literals))
        return len(self.telling) + halves / 2

    def before(self, slot: str) -> str:
        """Return the word that stands before a slot; empty at the beginning and after another slot."""
        at = self.parts.index(Part(slot, is_slot=True))
        return self.parts[at - 1].text if at and not self.parts[at - 1].is_slot else ""

    def is_last(self, slot: str) -> bool:
        """Return whether a phrase ends with a slot, or goes on with nothing but another one."""
        return all(is_slot for _, is_slot in self.parts[self.parts.index(Part(slot, is_slot=True)) :])

    @cached_property
    def directions(self) -> Mapping[str, str]:
        """The word before each slot that tells the place of a device: *to* in *to each of {target}*."""
        words = directions_of(["" if is_slot else form for form, is_slot in self.parts])
        return {name: words[at] for at, (name, is_slot) in enumerate(self.parts) if is_slot}


def directions_of(forms: Sequence[str]) -> list[str]:
    """Return for each of forms the last one before it that tells a direction.

    *Of* and *each* behind *to* divide a number of devices: *to each of the servers*.
    """
    directions = [""]
    for at, form in enumerate(forms):
        divides = form in _DIVIDES and at > 0 and forms[at - 1] in _SMALL
        directions.append(directions[-1] if divides else form)
    return directions


def spelled(words: Sequence[Word], spellings: Collection[str], names: Collection[str]) -> list[Word]:
    """Return the words with slips of the pen put right: those nearly like a word of a phrase, and no device's name."""
    ordered = tuple(sorted(spellings))
    return [_spelled(word, ordered, names) for word in words]


def _spelled(word: Word, spellings: tuple[str, ...], names: Collection[str]) -> Word:
    plain = plain_letters(word.text)
    if len(plain) < _SPELLED_LEAST or not plain.isalpha() or word.forms != (plain,) or plain in names:
        return word
    near = _near(plain, spellings)
    if not near:
        return word
    return replace(word, forms=_SAME.get(near, (near,)), sort=near if is_sort(near) else "")


@lru_cache(maxsize=4096)
def _near(plain: str, spellings: tuple[str, ...]) -> str:
    """Return the known word that this one was meant to be; empty for a known word and for one that is like none."""
    if plain in spellings:
        return ""
    alike = [word for word in spellings if word[0] == plain[0] and abs(len(word) - len(plain)) <= 1]
    slipped = [word for word in alike if _slip(plain, word)]
    cutoff = 0.0 if slipped else _SPELLED_LIKE
    return next(iter(difflib.get_close_matches(plain, slipped or alike, n=1, cutoff=cutoff)), "")


def _slip(one: str, other: str) -> bool:
    """Return whether letters changed places, or one was left out or came twice: *texts* is no slip of *tests*."""
    if len(one) == len(other):
        return sorted(one) == sorted(other)
    short, long = sorted((one, other), key=len)
    return any(short == long[:at] + long[at + 1 :] for at in range(len(long)))


@lru_cache(maxsize=256)
def _umlauts(phrase: str) -> tuple[tuple[str, str], ...]:
    """Return the words of a phrase that people type with two letters for an umlaut, and the form of each."""
    spelled_words = (spelled_out(word.text) for word in words_of(phrase) if not word.text.isascii())
    forms = (plain_letters(word.text) for word in words_of(phrase) if not word.text.isascii())
    return tuple((out, form) for out, form in zip(spelled_words, forms, strict=True) if out != form)


def without_umlauts(words: list[Word], phrases: Iterable[str]) -> list[Word]:
    """Return words in which *groesste* has the form of *größte*, where a phrase has that word."""
    forms_of = {out: form for phrase in phrases if not phrase.isascii() for out, form in _umlauts(phrase)}
    if not forms_of:
        return words
    return [replace(word, forms=tuple(forms_of.get(form, form) for form in word.forms)) for word in words]


@lru_cache(maxsize=16)
def spellings(texts: tuple[str, ...]) -> frozenset[str]:
    """Return the words that a misspelt word may stand for: those of the phrases, and their synonyms."""
    literals = {form for text in texts for form in _phrase(text).literals}
    same = {word for word, forms in _SAME.items() if literals.issuperset(forms)}
    return frozenset(word for word in literals | same if len(word) >= _SPELLED_LEAST and word.isalpha())


@lru_cache(maxsize=16)
def telling_words(texts: tuple[str, ...]) -> frozenset[str]:
    """Return the words that phrases are about."""
    return frozenset(word for text in texts for word in _phrase(text).telling)


@lru_cache(maxsize=1024)
def _phrase(text: str) -> Phrase:
    return read_phrase(text)


def read_phrase(text: str) -> Phrase:
    """Return a phrase ready to be compared. Courtesies that it begins with go, as in a request, if words are left."""
    parts: list[Part] = []
    quoted: set[str] = set()
    tokens = text.split()
    rest = tokens[_opening(tuple(token.rstrip(_ENDINGS).casefold() for token in tokens)) :]
    if sum(bool(word.forms) for token in rest if not _SLOT.search(token) for word in words_of(token)) >= _LEAST_PARTS:
        tokens = rest
    for token in tokens:
        slot = _SLOT.search(token)
        if slot:
            parts.append(Part(slot[1], is_slot=True))
            quoted.update([slot[1]] if token.startswith('"') else [])
            continue
        for word in words_of(token):
            parts.extend(Part(form) for form in word.forms)
    return Phrase(tuple(parts), quoted=frozenset(quoted))


@lru_cache(maxsize=1024)
def said_otherwise(texts: tuple[str, ...], kinds: tuple[tuple[str, str], ...]) -> tuple[str, ...]:
    """Return phrases, and those that mean the same: a folder *of* a device is one *on* it, *make a* is left out.

    `kinds` are the types of its slots. A folder that is *of* another device already stays as it is: *over {data} of
    {source} on {where}*.
    """
    types = dict(kinds)
    owners = {(path, device) for text in texts for path, word, device in _ON_DEVICE.findall(text) if word != "on"}

    def of(match: re.Match[str]) -> str:
        path, word, device = match.groups()
        of_another = any(one == path and other != device for one, other in owners)
        says_so = word == "on" and (types[path], types[device]) == ("path", "device") and not of_another
        return f"{{{path}}} of {{{device}}}" if says_so else match[0]

    # *Copy Papers to nas to replace the old ones* names a choice as a purpose.
    endings = [text.rpartition(" ")[::2] for text in texts]
    choices = (f"{before} to {last}" for before, last in endings if types.get(last.strip("{}")) == "choice")
    variants = [*texts, *(_MAKE.sub("", text) for text in texts), *choices]
    return tuple(dict.fromkeys([*variants, *(_ON_DEVICE.sub(of, text) for text in variants)]))


_PHRASES_MOST = 200


@lru_cache(maxsize=1024)
def phrases_of(texts: tuple[str, ...], unsaid: Unsaid) -> tuple[Phrase, ...]:
    """Return the phrases of a recipe, and those that they make together.

    Where a phrase begins as another one and goes on with a further slot, these words may follow every phrase that ends
    as that one: *find duplicates in {folder} on {where}* goes on *and put {extras} into the trash*, as *find duplicates
    on {where}* does. A slot thereby ends where the recipe's own words begin. Of a phrase that ends with an optional
    slot, the words before it ask for that slot; of one that ends with a usual or given device, they do without.
    """
    phrases = dict.fromkeys(read_phrase(text) for text in texts)
    as_written = list(phrases)
    for phrase in as_written:
        for tail in _clauses(as_written) if phrase.slots else ():
            names = {name for name, is_slot in tail[1:] if is_slot}
            if phrase.parts[-1] == tail[0] and names and names.isdisjoint(phrase.slots):
                phrases.setdefault(Phrase((*phrase.parts, *tail[1:])))
    for phrase in list(phrases):
        shorter = _without_last(phrase, unsaid.optional) or _without_known(phrase, unsaid, as_written)
        if shorter is not None and Phrase(shorter.parts) not in phrases:
            phrases.setdefault(shorter)
    for phrase in as_written:
        phrases.update(dict.fromkeys(_without_all(phrase, unsaid.sorts)))
        phrases.update(dict.fromkeys(_with_first(phrase, unsaid.firsts)))
    return tuple(phrases)[: max(_PHRASES_MOST, len(texts))]


def _clauses(phrases: Sequence[Phrase]) -> Iterator[tuple[Part, ...]]:
    """Yield the parts by which a phrase is longer than another one, from the slot on with which the other one ends."""
    for phrase in phrases:
        for other in phrases:
            length = len(other.parts)
            if length < len(phrase.parts) and phrase.parts[:length] == other.parts and other.parts[-1].is_slot:
                yield phrase.parts[length - 1 :]


def _without_last(phrase: Phrase, optional: frozenset[str]) -> Phrase | None:
    """Return a phrase without the optional slot at its end, if the words before it tell that it is meant."""
    *before, (last, is_slot) = phrase.parts
    if not is_slot or last not in optional or not before or before[-1].is_slot or before[-1].text not in _SMALL:
        return None
    rest = before[:-1]
    clause = rest[max((at + 1 for at, (_, slot) in enumerate(rest) if slot), default=0) :]
    tells = any(form not in _SMALL and form not in _PARTICLES for form, _ in clause)
    return Phrase(tuple(rest), last) if tells and len(clause) < len(rest) else None


def _without_known(phrase: Phrase, unsaid: Unsaid, as_written: Collection[Phrase]) -> Phrase | None:
    """Return a phrase without the device at its end, where that is known: given beside the words, or the usual ones.

    The usual ones are meant where a phrase without the slot before does without it as well: *find duplicates*.
    """
    *before, (last, is_slot) = phrase.parts
    if not is_slot or len(before) < _LEAST_PARTS or before[-1].is_slot or before[-1].text not in _SMALL:
        return None
    shorter = Phrase(tuple(before[:-1]), last)
    alike = Phrase(shorter.parts[:-2]) in as_written and shorter.parts[-1].is_slot and not shorter.parts[-2].is_slot
    return shorter if shorter.telling and (last in unsaid.beside or (last in unsaid.usual and alike)) else None


@lru_cache(maxsize=256)
def without_device(phrases: tuple[Phrase, ...], needed: frozenset[str]) -> tuple[Phrase, ...]:
    """Return the phrases that those given make without one of the `needed` devices, each of which lacks it."""
    return tuple(dict.fromkeys(shorter for phrase in phrases for shorter in _without_one(phrase, needed)))


@lru_cache(maxsize=256)
def without_how(phrases: tuple[Phrase, ...]) -> tuple[Phrase, ...]:
    """Return the phrases that those given make without how it is done: *tidy {folder}*, without *by kind*."""
    shorter = (
        Phrase(phrase.parts[:-2])
        for phrase in phrases
        if len(phrase.parts) > _LEAST_PARTS + 1 and phrase.parts[-2] in _HOW and phrase.parts[-3].is_slot
    )
    return tuple(dict.fromkeys(phrase for phrase in shorter if phrase.tells and phrase not in phrases))


def _without_all(phrase: Phrase, sorts: frozenset[str]) -> Iterator[Phrase]:
    """Yield a phrase without its *all* before files of a sort: *copy the photos of both phones to nas*."""
    for at, (name, is_slot) in enumerate(phrase.parts):
        if is_slot and name in sorts and at and phrase.parts[at - 1] == _ALL:
            yield Phrase((*phrase.parts[: at - 1], *phrase.parts[at:]), sort=name)


def _with_first(phrase: Phrase, firsts: frozenset[FirstFiles]) -> Iterator[Phrase]:
    """Yield a phrase with an order and a number instead of its *all*: *copy the newest 5 pictures of pixel to nas*.

    The device that the files are of has to be said: five of each of all devices are others than five of all.
    """
    for sort, by, most, of in firsts:
        at = phrase.parts.index(Part(sort, is_slot=True)) - 1 if sort in phrase.slots and of in phrase.slots else -1
        if at >= 0 and phrase.parts[at] == _ALL and not {by, most} & {*phrase.slots}:
            for order in ((by, most), (most, by)):
                slots = tuple(Part(name, is_slot=True) for name in order)
                yield Phrase((*phrase.parts[:at], *slots, *phrase.parts[at + 1 :]), ranks=of)
            yield Phrase((*phrase.parts[:at], Part(by, is_slot=True), *phrase.parts[at + 1 :]), lacks=most, ranks=of)


def _without_one(phrase: Phrase, needed: frozenset[str]) -> Iterator[Phrase]:
    """Yield a phrase without each device that words may have left out: *copy {folder} to {target}*."""
    if phrase.lacks or phrase.quoted or phrase.sort or phrase.ranks:
        return
    for at, (name, is_slot) in enumerate(phrase.parts):
        if not is_slot or name not in needed or at < _LEAST_PARTS or phrase.parts[at - 1].is_slot:
            continue
        word, before = phrase.parts[at - 1].text, phrase.parts[at - 2]
        aside = before.is_slot and at > _LEAST_PARTS and phrase.parts[at - 3] == Part("to")
        shorter = Phrase((*phrase.parts[: at - 1], *phrase.parts[at + 1 :]), name)
        # *To Papers on nas* without its device would take the name of an unknown device for a folder.
        if word in _SMALL and not aside and before.text not in _SMALL and shorter.telling and len(shorter.parts) > 1:
            yield shorter


def forms_of(words: Iterable[Word]) -> list[Form]:
    """Return every form with the position of its word; articles have none."""
    return [Form(form, position) for position, word in enumerate(words) for form in word.forms]


def readings(phrase: Phrase, words: list[Word], forms: list[Form]) -> Iterator[dict[str, str]]:
    """Yield every way in which the phrase fits the words wholly: slot name -> the words as typed.

    Shorter slots come first. At most a few thousand steps are tried, so that no text can make it slow.
    """
    budget = [_TRIES_MOST]
    for reading in _read(phrase.parts, 0, forms, 0, words, {}, budget):
        if all(_is_quoted(reading[name]) for name in phrase.quoted):
            yield reading


def _is_quoted(text: str) -> bool:
    (*others, word) = words_of(text)
    return word.quoted and not others


def _read(
    parts: tuple[Part, ...],
    part: int,
    forms: list[Form],
    at: int,
    words: list[Word],
    reading: dict[str, str],
    budget: list[int],
) -> Iterator[dict[str, str]]:
    budget[0] -= 1
    if budget[0] < 0:
        return
    if part == len(parts):
        if at == len(forms):
            yield dict(reading)
        return
    name, is_slot = parts[part]
    if not is_slot:
        if at < len(forms) and forms[at].text == name:
            yield from _read(parts, part + 1, forms, at + 1, words, reading, budget)
        return
    least_after = len(parts) - part - 1
    for end in range(at + 1, len(forms) - least_after + 1):
        if end < len(forms) and forms[end].at == forms[end - 1].at:
            continue  # never split the two forms of one word
        to_word = part + 1 == len(parts) or (not parts[part + 1].is_slot and parts[part + 1].text in _SMALL)
        reading[name] = _typed(words, forms, at, end, to_word=to_word)
        yield from _read(parts, part + 1, forms, end, words, reading, budget)
    reading.pop(name, None)


def _typed(words: list[Word], forms: list[Form], at: int, end: int, *, to_word: bool) -> str:
    """Return the words between two forms as typed, with the articles before them.

    `to_word`: what has no form before the next word belongs to them, as in *run git checkout a on nas*.
    """
    first, last = forms[at].at, forms[end - 1].at
    while first > 0 and not words[first - 1].forms and words[first - 1].text.casefold() not in COURTESIES:
        first -= 1
    while to_word and last + 1 < len(words) and not words[last + 1].forms:
        last += 1
    tail = words[last].tail
    keeps = last + 1 < len(words) and tail not in ("", ",", ".", "?")
    return typed(words[first : last + 1]) + (tail if keeps else "")


def typed(words: Sequence[Word]) -> str:
    """Return words as they were typed, without the punctuation behind the last: `ls; rm x` is no `ls rm x`."""
    *before, last = words
    return "".join(f"{word.text}{word.tail} " for word in before) + last.text


def said_before(text: str, words: Sequence[Word]) -> str:
    """Return the word as typed before a piece of words; empty where it is at their beginning."""
    length = len(words_of(text))
    places = (at for at in range(1, len(words) - length + 1) if typed(words[at : at + length]) == text)
    return next((words[at - 1].text for at in places), "")


def forms_in(words: Iterable[Word]) -> frozenset[str]:
    """Return the forms of words, each once."""
    return frozenset(form for word in words for form in word.forms)


def overlap(phrase: Phrase, forms: frozenset[str]) -> float:
    """Return 0..1: how much of the phrase's own words the forms said have, and how little they have besides.

    Small words count little, and nothing without a word that carries meaning: *what is* does not mean disks.
    """
    if forms.isdisjoint(phrase.tells):
        return 0.0
    common = phrase.distinct & forms
    foreign = len(forms) - len(common)
    rest = max(0, foreign - 2 * len(phrase.slots))
    # A word that a phrase has itself says more than one that a slot of another phrase would swallow.
    swallowed = _SWALLOWED ** min(foreign, _FOREIGN_MOST)
    return _weight(common) / phrase.weight * swallowed * (1 - min(0.5, rest / (2 * len(forms))))


def _weight(forms: Iterable[str]) -> float:
    return sum(0.2 if form in _SMALL else 0.4 if form in _PARTICLES else 1.0 for form in forms)


def left_over(words: Iterable[Word], phrases: Iterable[Phrase], names: Collection[str]) -> tuple[str, ...]:
    """Return the words with a meaning that no phrase has, as typed; `names` are words for devices, which are values.

    A word that chooses among things has a meaning: *newest* is left over where it is no word of a phrase.
    """
    literals = {form for phrase in phrases for form in phrase.literals}
    every = list(words)
    choices = set(choices_in(["" if word.quoted else plain_word(word.text) for word in every]))
    return tuple(
        word.text
        for at, word in enumerate(every)
        if word.forms
        and literals.isdisjoint(word.forms)
        and (
            at in choices
            or not any(
                form in _SMALL or form in _PARTICLES or form in _IDLE or form in names or singular(form) in names
                for form in word.forms
            )
        )
    )
