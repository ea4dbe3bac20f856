"""Patterns of command rules: regular expressions that are matched in a time proportional to the word. Pure.

The hub chooses the words, and `re` takes exponential time for some pairs of a pattern and a word, in which the agent
would do nothing else. So a pattern is followed in all its ways at once, character by character. It may have what can be
followed so: characters, sets, groups, alternatives, repetitions, anchors and `(?is)` at its begin; no references or
look-arounds.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

STEPS_MOST: Final = 1_000
"""Places in a pattern, with each repetition counted; each character of a word is looked at in at most all of them."""
LOOKS_MOST: Final = 2_000_000
"""Places times characters of a command: a second or two at worst, and 300,000 characters for `.*`."""

_REPEAT: Final = re.compile(r"[*+?]|\{(\d*)(,?)(\d*)\}", re.ASCII)
_ESCAPE: Final = re.compile(r"\\(?:[dDsSwWtnrfva]|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|[^0-9A-Za-z])", re.ASCII)
_SET: Final = re.compile(r"\[\^?\]?(?:[^\]\\]|\\.)*\]", re.DOTALL)
_ANCHOR: Final = re.compile(r"[\^$]|\\[AZbB]")
_GROUP: Final = re.compile(r"\((?:\?:|\?P<\w+>)?(?!\?)")
_FLAGS: Final = re.compile(r"\(\?[is]+\)")
_ENDLESS: Final = -1
_SIGNS: Final = {"*": (0, _ENDLESS), "+": (1, _ENDLESS), "?": (0, 1)}


class Unbounded(Exception):
    """A pattern cannot be followed in all its ways at once; the text names the part of it."""


@dataclass
class _Step:
    """One place in a pattern: a character or an anchor before what comes `then`; without either, a fork."""

    char: re.Pattern[str] | None = None
    anchor: re.Pattern[str] | None = None
    then: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class _Piece:
    """A part of a pattern, from its first step to its last."""

    first: int
    last: int


class WordPattern:
    """One pattern, ready to match.

    Raises:
        Unbounded: it has a part that `re` knows and this does not.
    """

    def __init__(self, text: str) -> None:
        flags = _FLAGS.match(text)
        self._flags = flags[0] if flags is not None else ""
        self._text = text.removeprefix(self._flags)
        self._steps: list[_Step] = []
        self._at = 0
        self._whole = self._alternatives()
        if self._at < len(self._text):
            raise Unbounded("a bracket that closes nothing")

    @property
    def steps(self) -> int:
        return len(self._steps)

    def fits(self, word: str) -> bool:
        """Tell whether the whole word matches."""
        now = self._reached([self._whole.first], word, 0)
        for at, char in enumerate(word):
            after: list[int] = []
            for number in now:
                step = self._steps[number]
                if step.char is not None and step.char.match(char):
                    after.extend(step.then)
            now = self._reached(after, word, at + 1)
            if not now:
                return False
        return self._whole.last in now

    def _reached(self, begins: list[int], word: str, at: int) -> set[int]:
        """Return the steps that are reached from some without another character of the word."""
        reached: set[int] = set()
        ahead = list(begins)
        while ahead:
            number = ahead.pop()
            if number in reached:
                continue
            reached.add(number)
            step = self._steps[number]
            if step.char is None and (step.anchor is None or step.anchor.match(word, at)):
                ahead.extend(step.then)
        return reached

    def _add(self, step: _Step) -> int:
        if len(self._steps) >= STEPS_MOST:
            raise Unbounded(f"more than {STEPS_MOST} places with its repetitions")
        self._steps.append(step)
        return len(self._steps) - 1

    def _join(self, before: int, after: int) -> None:
        self._steps[before].then.append(after)

    def _alternatives(self) -> _Piece:
        whole = _Piece(self._add(_Step()), self._add(_Step()))
        while True:
            last = self._add(_Step())
            self._join(whole.first, last)
            while self._at < len(self._text) and self._text[self._at] not in "|)":
                piece = self._repeated()
                self._join(last, piece.first)
                last = piece.last
            self._join(last, whole.last)
            if not self._text.startswith("|", self._at):
                return whole
            self._at += 1

    def _repeated(self) -> _Piece:
        """Read one part with its repetition, as many times as it may or must come."""
        start = self._at
        piece = self._one()
        least, most = self._counts()
        if (least, most) == (1, 1):
            return piece
        end = self._at
        first = last = self._add(_Step())
        for number in range(max(least, 1) if most == _ENDLESS else most):
            if number:
                self._at = start
                piece = self._one()
            over = self._add(_Step())
            self._join(last, piece.first)
            self._join(piece.last, over)
            if number >= least:
                self._join(last, over)
            last = over
        if most == _ENDLESS:
            self._join(last, piece.first)
        self._at = end
        return _Piece(first, last)

    def _counts(self) -> tuple[int, int]:
        """Read a repetition, if one stands here; whether it takes much or little first does not matter."""
        match = _REPEAT.match(self._text, self._at)
        if match is None or match[0] == "{}":
            return 1, 1
        self._at = match.end()
        if self._text.startswith("+", self._at):
            raise Unbounded(f"the repetition {match[0]}+, which gives nothing back")
        self._at += self._text.startswith("?", self._at)
        if match[0] in _SIGNS:
            return _SIGNS[match[0]]
        least = int(match[1] or 0)
        return least, int(match[3]) if match[3] else _ENDLESS if match[2] else least

    def _one(self) -> _Piece:
        """Read a group, an anchor or one character."""
        if match := _GROUP.match(self._text, self._at):
            self._at = match.end()
            piece = self._alternatives()
            if not self._text.startswith(")", self._at):
                raise Unbounded("a group that does not end")
            self._at += 1
            return piece
        if match := _ANCHOR.match(self._text, self._at):
            self._at = match.end()
            number = self._add(_Step(anchor=re.compile(match[0])))
            return _Piece(number, number)
        number = self._add(_Step(char=re.compile(self._flags + self._char())))
        return _Piece(number, number)

    def _char(self) -> str:
        here = self._text[self._at]
        if here in "(\\[":
            match = {"\\": _ESCAPE, "[": _SET}.get(here, _GROUP).match(self._text, self._at)
            if match is None:
                raise Unbounded(f"a look-around, a reference or a flag ({self._text[self._at : self._at + 3]})")
            self._at = match.end()
            return match[0]
        self._at += 1
        return here if here == "." else re.escape(here)
