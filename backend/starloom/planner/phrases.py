"""A phrase with {slots} against words: which words would stand in which slot. Pure, and linear enough to type along.

Both are compared word by word without case, punctuation at word ends, articles, and politeness; quotes and backticks
keep their words together.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_TOKEN = re.compile(r"\"[^\"]*\"|`[^`]*`|“[^”]*”|[^\s]+")
_SLOT = re.compile(r"\{([a-z0-9_-]+)\}")
_ARTICLES = frozenset({"a", "an", "the", "my", "our", "me"})
_POLITE = frozenset({"please", "hey", "starloom", "now", "kindly"})
_ENDINGS = ".,;:!?"
_SAME = {
    "backup": ("back", "up"),
    "photos": ("pictures",),
    "photo": ("pictures",),
    "picture": ("pictures",),
    "images": ("pictures",),
    "image": ("pictures",),
    "pics": ("pictures",),
    "onto": ("to",),
    "into": ("to",),
    "whats": ("what", "is"),
    "what's": ("what", "is"),
    "where's": ("where", "is"),
    "disks": ("disk",),
    "drives": ("disk",),
    "drive": ("disk",),
    "machines": ("machine",),
    "computers": ("machine",),
    "devices": ("machine",),
    "device": ("machine",),
    "computer": ("machine",),
    "execute": ("run",),
    "every": ("all",),
    "each": ("all",),
}
_SMALL = frozenset(
    {"what", "where", "how", "is", "are", "do", "does", "of", "to", "on", "in", "at", "for", "from", "with", "and"}
) | {"or", "all"}
_TRIES_MOST = 4000
_SWALLOWED = 0.95


@dataclass(frozen=True)
class Word:
    """A word as typed, and the forms it is compared in; articles have none."""

    text: str
    forms: tuple[str, ...]


def words_of(text: str) -> list[Word]:
    """Return the words of a request; commas and stops at their ends are dropped, polite words too."""
    found: list[Word] = []
    for token in _TOKEN.findall(text):
        bare = token if token[0] in '"`“' else token.rstrip(_ENDINGS)
        plain = bare.casefold()
        if not bare or plain in _POLITE:
            continue
        found.append(Word(bare, () if plain in _ARTICLES else _SAME.get(plain, (plain,))))
    return found


@dataclass(frozen=True)
class Phrase:
    """Parts in order: a literal form, or a slot (its name in `slot`)."""

    parts: tuple[tuple[str, bool], ...]

    @property
    def slots(self) -> tuple[str, ...]:
        return tuple(name for name, is_slot in self.parts if is_slot)

    @property
    def literals(self) -> tuple[str, ...]:
        return tuple(form for form, is_slot in self.parts if not is_slot)


def read_phrase(text: str) -> Phrase:
    """Return a phrase ready to be compared."""
    parts: list[tuple[str, bool]] = []
    for token in text.split():
        slot = _SLOT.search(token)
        if slot:
            parts.append((slot[1], True))
            continue
        for word in words_of(token):
            parts.extend((form, False) for form in word.forms)
    return Phrase(tuple(parts))


def _forms_of(words: list[Word]) -> list[tuple[str, int]]:
    """Return (form, position of its word) for every form; articles are passed over."""
    return [(form, position) for position, word in enumerate(words) for form in word.forms]


def readings(phrase: Phrase, words: list[Word]) -> Iterator[dict[str, str]]:
    """Yield every way in which the phrase fits the words wholly: slot name -> the words as typed.

    Shorter slots come first. At most a few thousand steps are tried, so that no text can make it slow.
    """
    forms = _forms_of(words)
    budget = [_TRIES_MOST]
    yield from _read(phrase.parts, 0, forms, 0, words, {}, budget)


def _read(
    parts: tuple[tuple[str, bool], ...],
    part: int,
    forms: list[tuple[str, int]],
    at: int,
    words: list[Word],
    taken: dict[str, str],
    budget: list[int],
) -> Iterator[dict[str, str]]:
    budget[0] -= 1
    if budget[0] < 0:
        return
    if part == len(parts):
        if at == len(forms):
            yield dict(taken)
        return
    name, is_slot = parts[part]
    if not is_slot:
        if at < len(forms) and forms[at][0] == name:
            yield from _read(parts, part + 1, forms, at + 1, words, taken, budget)
        return
    least_after = len(parts) - part - 1
    for end in range(at + 1, len(forms) - least_after + 1):
        if end < len(forms) and forms[end][1] == forms[end - 1][1]:
            continue  # never split the two forms of one word
        taken[name] = _typed(words, forms, at, end)
        yield from _read(parts, part + 1, forms, end, words, taken, budget)
    taken.pop(name, None)


def _typed(words: list[Word], forms: list[tuple[str, int]], at: int, end: int) -> str:
    """Return the words between two forms as typed, with the articles before them."""
    first, last = forms[at][1], forms[end - 1][1]
    while first > 0 and not words[first - 1].forms:
        first -= 1
    return " ".join(word.text for word in words[first : last + 1])


def overlap(phrase: Phrase, words: list[Word]) -> float:
    """Return 0..1: how much of the phrase's own words the request has, and how little it has besides.

    Small words count little: `what is` alone says nothing of disks.
    """
    own = set(phrase.literals)
    said = {form for word in words for form in word.forms}
    common = own & said
    if not common:
        return 0.0
    foreign = said - own
    rest = max(0, len(foreign) - 2 * len(phrase.slots))
    # A word that a phrase has itself says more than one that a slot of another phrase would swallow.
    swallowed = _SWALLOWED ** min(len(foreign), 6)
    return _weight(common) / _weight(own) * swallowed * (1 - min(0.5, rest / (2 * len(said))))


def _weight(forms: set[str]) -> float:
    return sum(0.2 if form in _SMALL else 1.0 for form in forms)
