"""Evidence: whether the figures and names of a model's text occur in the values that it cites.

Pure. A sentence with a figure or a name that no cited value holds is struck out; nothing is corrected. A figure may be
rounded, given in another unit of bytes, or count the entries of a list; a name may differ in its case.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

NUMBERS_MOST: Final = 200_000
TEXT_CHARS_MOST: Final = 4 * 1024 * 1024

_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[^\s])")
_MARK = re.compile(r"\[\d{1,3}\]")
_PLACE = re.compile(r"\{\d{1,2}\}")
"""A place that is filled with a cited value later."""
_FIGURE_RUN = re.compile(r"[\w.,:/=@+-]+")
_FIGURE_START = re.compile(r"[+-]?\d|\w")
_FIGURE_REST = re.compile(r"[\w.,:/=@%+-]*")
_PLAIN = re.compile(r"([+-]?)(\d{1,3}(?:[,\u00a0\u202f]\d{3})+|\d+)(?:\.(\d+))?\s*(%|[A-Za-z]+)?")
_QUOTED = re.compile(r"[`\u201c\u2018\"]([^`\u201d\u2019\"]{1,200})[`\u201d\u2019\"]")
_BYTES = re.compile(r"\s?([KMGT]i?B|%)(?!\w)", re.IGNORECASE)
_NAME_RUN = re.compile(r"[A-Za-z_~./\\][\w./\\@~:-]*")
_PART = re.compile(r"[/=:@,+-]+")
_FIELD = re.compile(r"[/=@]+")
"""The signs that separate values in a text; those within dates and times do not make their parts figures."""
_UNITS: Final[Mapping[str, tuple[float, ...]]] = {
    "": (1,),
    "%": (1, 0.01),
    "kb": (1e3, 1024.0),
    "kib": (1024.0,),
    "mb": (1e6, 1024.0**2),
    "mib": (1024.0**2,),
    "gb": (1e9, 1024.0**3),
    "gib": (1024.0**3,),
    "tb": (1e12, 1024.0**4),
    "tib": (1024.0**4,),
    "b": (1,),
    "bytes": (1,),
    "ms": (1, 0.001),
    "s": (1, 1000),
    "min": (60, 60_000),
    "h": (3600, 3_600_000),
}
_COUNTS: Final = {
    "two": 2,
    "three": 3,
    "four": 4,
    "five": 5,
    "six": 6,
    "seven": 7,
    "eight": 8,
    "nine": 9,
    "ten": 10,
    "eleven": 11,
    "twelve": 12,
    "thirteen": 13,
    "fourteen": 14,
    "fifteen": 15,
    "sixteen": 16,
    "seventeen": 17,
    "eighteen": 18,
    "nineteen": 19,
    "twenty": 20,
}


@dataclass
class Evidence:
    """The figures and the texts of the cited values."""

    numbers: set[float] = field(default_factory=set)
    _texts: list[str] = field(default_factory=list)
    _chars: int = 0

    def add(self, value: Any) -> None:
        """Add a JSON value: its scalars, its field names, and how many entries its lists and objects have."""
        stack = [value]
        while stack and len(self.numbers) < NUMBERS_MOST and self._chars < TEXT_CHARS_MOST:
            item = stack.pop()
            if isinstance(item, bool) or item is None:
                continue
            if isinstance(item, int | float):
                if abs(item) <= sys.float_info.max:  # no answer names another one
                    self.numbers.add(float(item))
            elif isinstance(item, str):
                self.add_text(item)
            elif isinstance(item, Mapping):
                self.numbers.add(float(len(item)))
                stack.extend(item.values())
                for key in item:
                    self.add_text(str(key))
            elif isinstance(item, list | tuple):
                self.numbers.add(float(len(item)))
                stack.extend(reversed(item))

    def add_text(self, text: str) -> None:
        """Add a text: all of it as names, and the figures in it."""
        self._texts.append(text.casefold())
        self._chars += len(text)
        self.numbers |= {float(_COUNTS[word]) for word in _words(text)}
        for _, token in _with_digits(text):
            for part in (token, *_FIELD.split(token)):
                number = _number(part.rstrip(".,:"))
                if number is not None:
                    self.numbers.add(number[0])

    @property
    def text(self) -> str:
        """Return all texts, in lower case, a line each."""
        if len(self._texts) > 1:
            self._texts = ["\n".join(self._texts)]
        return self._texts[0] if self._texts else ""

    def has_figure(self, token: str) -> bool:
        """Whether a token with digits occurs here, as it is, as a number, or part for part."""
        before = r"(?<![\d.,])" if token[0].isdigit() else r"(?<!\w)"
        after = r"(?!\d|[.,]\d)" if token[-1].isdigit() else r"(?!\w)"
        if re.search(before + re.escape(token.casefold()) + after, self.text):
            return True
        if self._has_number(token):
            return True
        parts = [part for part in _PART.split(token) if part]
        return len(parts) > 1 and all(
            self.has_figure(part) if any(map(str.isdigit, part)) else part.casefold() in self.text for part in parts
        )

    def has_name(self, name: str) -> bool:
        """Whether a name occurs here, in any case."""
        return name.casefold() in self.text

    def has_count(self, count: int) -> bool:
        """Whether a number occurs here, or a list of that many entries."""
        return float(count) in self.numbers

    def _has_number(self, token: str) -> bool:
        number_read = _number(token)
        if number_read is None:
            return False
        value, decimals, unit = number_read
        scales = _UNITS.get(unit.casefold(), (1,))
        half = 0.5 * 10**-decimals
        return any(
            abs(number / scale - value) <= half * (1 + 1e-9) if decimals or scale != 1 else number == value
            for scale in scales
            for number in self.numbers
        )


def _number(token: str) -> tuple[float, int, str] | None:
    """Return a number with its count of decimals and its unit, or None."""
    match = _PLAIN.fullmatch(token)
    if match is None:
        return None
    sign, whole, decimals, unit = match.groups()
    digits = re.sub(r"\D", "", whole)
    if len(digits) > 30:
        return None
    value = float(f"{sign}{digits}.{decimals or 0}")
    return value, len(decimals or ""), unit or ""


@dataclass(frozen=True)
class Checked:
    """A text without its unproved sentences; `struck` has those, `missing` the figures and names that made them so."""

    words: str
    struck: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()


def checked(text: str, evidence: Evidence, place: Callable[[int], str | None] = lambda _number: None) -> Checked:
    """Return the sentences of a text whose figures and names all occur in the evidence; its lines stay lines.

    `{1}` is replaced by the text that `place` gives for it; a sentence with a place that has none is struck out.
    """
    lines: list[str] = []
    struck: list[str] = []
    missing: dict[str, None] = {}
    for line in text.split("\n"):
        sentences: list[str] = []
        for sentence in filter(None, (part.strip() for part in _SENTENCE.split(line))):
            # A sentence that cites three results may say *three* of them.
            counted = {float(len(set(_MARK.findall(sentence))))}
            places = {mark: place(int(mark[1:-1])) for mark in _PLACE.findall(sentence)}
            lacks = [mark for mark, text_of_place in places.items() if text_of_place is None]
            lacks += _lacking(_PLACE.sub(" ", _MARK.sub(" ", sentence)), evidence, counted)
            if lacks:
                struck.append(_MARK.sub("", sentence).strip())
                missing |= dict.fromkeys(lacks)
            else:
                sentences.append(_filled(sentence, places))
        lines += [" ".join(sentences)] if sentences else []
    return Checked("\n".join(lines), tuple(struck), tuple(missing))


def _filled(sentence: str, places: Mapping[str, str | None]) -> str:
    return _PLACE.sub(lambda mark: places[mark.group()] or "", sentence)


def _lacking(sentence: str, evidence: Evidence, counted: set[float]) -> list[str]:
    lacks = [token for token in _figures(sentence) if not evidence.has_figure(token)]
    lacks += [name for name in _names(sentence) if not evidence.has_name(name)]
    lacks += [
        word for word in _words(sentence) if _COUNTS[word] not in counted and not evidence.has_count(_COUNTS[word])
    ]
    return lacks


def _with_digits(text: str) -> Iterator[tuple[int, str]]:
    """Yield each token with a digit and its place; a sign stands before a digit only, `%` after one.

    A device chooses the text, so the time is linear in its length: one pattern that looks for a digit behind letters
    would begin again at each letter of a long word that has none.
    """
    run = _FIGURE_RUN.search(text)
    while run is not None:
        end = run.end()
        if any(map(str.isdecimal, run.group())):
            start = _FIGURE_START.search(text, run.start(), end)
            rest = _FIGURE_REST.match(text, start.start()) if start is not None else None
            if start is not None and rest is not None:
                yield start.start(), rest.group()
                end = rest.end()
        run = _FIGURE_RUN.search(text, end)


def _figures(sentence: str) -> list[str]:
    """Return the tokens with digits; a number keeps the unit of bytes that follows it."""
    figures = []
    for start, whole in _with_digits(sentence):
        token = whole.rstrip(".,:-/=")
        unit = _BYTES.match(sentence, start + len(token))
        figures.append(f"{token} {unit.group(1)}" if unit and _PLAIN.fullmatch(token) else token)
    return figures


def _words(sentence: str) -> list[str]:
    return [word for word in re.findall(r"[a-z]+", sentence.casefold()) if word in _COUNTS]


def _names(sentence: str) -> list[str]:
    """Return the names: quoted, with the signs of paths and identifiers, or with a capital within a sentence."""
    names: dict[str, None] = {}
    for match in _QUOTED.finditer(sentence):
        if not any(map(str.isdigit, match.group(1))):
            names[match.group(1).strip()] = None
    bare = _QUOTED.sub(" ", sentence)
    for match in _NAME_RUN.finditer(bare):
        token = match.group().rstrip(".\\@~:-").rstrip(".:/")
        if any(map(str.isdigit, token)) or len(token) < 2 or token.casefold() in _UNITS:
            continue
        first = not bare[: match.start()].strip()
        inside = token[1:]
        is_written = any(sign in token for sign in "/\\_@~.") or inside != inside.casefold()
        if is_written or (token[0].isupper() and not first):
            names[token] = None
    return list(names)
