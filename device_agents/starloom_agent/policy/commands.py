"""Command rules: the argument lists that `shell.run` may run here, word by word, never a string for a shell. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import PurePath
from typing import Any, Final

from starloom_agent.policy.word_patterns import LOOKS_MOST, Unbounded, WordPattern
from starloom_protocol.text.wording import quoted
from starloom_protocol.vocabulary import RISKY_EFFECTS, Effect

_PATTERN_CHARS_MAX: Final = 200


class PolicyFault(Exception):
    """The policy, or a change of it, is invalid; the text names the place and a valid form."""


@dataclass(frozen=True)
class Word:
    """One typed word of a command rule: a literal, or a pattern that the whole word must match.

    A word that begins with `-` is never matched by a pattern that does not itself begin with `-`: no options slip in.
    """

    literal: str | None = None
    pattern: str | None = None
    rest: bool = False

    def fits(self, text: str) -> bool:
        if self.literal is not None:
            return text == self.literal
        pattern = self.pattern or ""
        if text.startswith("-") and not pattern.startswith("-"):
            return False
        return _ready(pattern).fits(text)

    def steps_most(self, text: str) -> int:
        """Return how many steps it may take at most to tell whether it fits."""
        return (len(text) + 1) * _ready(self.pattern).steps if self.pattern is not None else 0


@dataclass(frozen=True)
class CommandRule:
    """A command that may run: one word of argv each; only the last may be `rest` (none or more words).

    `effects` are the most effects that it may have, by its owner; none given means any. `cwd` is the folder (absolute)
    in which it runs; empty: the attempt's own, which is empty at the start.
    """

    words: tuple[Word, ...]
    effects: tuple[Effect, ...] = ()
    cwd: str = ""

    @staticmethod
    def of(argv: Any, place: str = "argv", effects: Any = (), cwd: Any = "") -> CommandRule:
        """Read `["systemctl", "status", {"word": "[a-z]+"}]`; `{"rest": pattern}` may stand last.

        Raises:
            PolicyFault: with the place.
        """
        if not isinstance(effects, list | tuple) or not all(item in list(Effect) for item in effects):
            raise PolicyFault(f"{place}: effects are a list of {', '.join(Effect)}")
        if not isinstance(argv, list) or not argv or not isinstance(argv[0], str):
            raise PolicyFault(f"{place}: a command rule is a list that begins with the program's name")
        words = []
        for index, item in enumerate(argv):
            here = f"{place}[{index}]"
            if isinstance(item, str):
                words.append(Word(literal=item))
                continue
            if not isinstance(item, dict) or len(item) != 1 or not set(item) <= {"word", "rest"}:
                raise PolicyFault(f'{here}: a word is text, {{word = "pattern"}} or, at the end, {{rest = "pattern"}}')
            kind, pattern = next(iter(item.items()))
            if kind == "rest" and index != len(argv) - 1:
                raise PolicyFault(f"{here}: rest may stand at the end only")
            words.append(Word(pattern=_pattern(pattern, here), rest=kind == "rest"))
        if not isinstance(cwd, str) or (cwd and not PurePath(cwd).is_absolute()):
            raise PolicyFault(f"{place}: cwd is the absolute path of a folder")
        return CommandRule(tuple(words), tuple(effect for effect in Effect if effect in effects), cwd)

    def fits(self, argv: list[str]) -> bool:
        fixed = [word for word in self.words if not word.rest]
        rest = self.words[-1] if self.words[-1].rest else None
        if len(argv) < len(fixed) or (rest is None and len(argv) > len(fixed)):
            return False
        words = [*fixed, *([rest] * (len(argv) - len(fixed)) if rest is not None else [])]
        if sum(word.steps_most(text) for word, text in zip(words, argv, strict=True)) > LOOKS_MOST:
            return False
        return all(word.fits(text) for word, text in zip(words, argv, strict=True))

    @property
    def asks(self) -> bool:
        """Whether its owner is asked before each call: no if every word of the command was typed into the rule, and no
        if the rule says that it does no harm."""
        harmless = bool(self.effects) and not RISKY_EFFECTS & set(self.effects)
        return not self.typed and not harmless

    @property
    def typed(self) -> bool:
        """Whether its owner typed every word of the command."""
        return all(word.literal is not None for word in self.words)

    def beside(self, call: Mapping[str, Any], folder: str) -> str:
        """Return in words the parts of a call that the owner did not type: input, variables, another folder; or "".

        `folder` is the absolute path of the call's working folder, empty for the attempt's own. These parts determine
        the work of a command as much as its words: `make` runs the Makefile of its folder.
        """
        inputs = [name for name in ("stdin", "env") if call.get(name)]
        if inputs:
            return f"the hub chooses its {' and '.join(inputs)}"
        if folder == self.cwd:
            return ""
        if not self.cwd:
            return f"the hub chooses its folder ({folder}), and the rule names none"
        return f"it would run in {folder or 'an empty folder'}, and the rule names {self.cwd}"

    def plain(self) -> list[Any]:
        """Return the form that `of` reads."""
        return [
            word.literal if word.literal is not None else {"rest" if word.rest else "word": word.pattern}
            for word in self.words
        ]


def _pattern(pattern: Any, place: str) -> str:
    if not isinstance(pattern, str) or not pattern or len(pattern) > _PATTERN_CHARS_MAX:
        raise PolicyFault(f"{place}: a pattern is a regular expression of 1 to {_PATTERN_CHARS_MAX} characters")
    try:
        re.compile(pattern)
    except re.error as error:
        raise PolicyFault(f"{place}: {quoted(pattern)} is not a regular expression: {error}") from error
    try:
        _ready(pattern)
    except Unbounded as error:
        raise PolicyFault(f"{place}: {quoted(pattern)} has {error}, which no command rule may have") from error
    return pattern


@lru_cache(maxsize=512)
def _ready(pattern: str) -> WordPattern:
    return WordPattern(pattern)


def word_of(text: str) -> Any:
    """`{PATTERN}` on the command line is a typed word, `{PATTERN...}` the rest; anything else is itself."""
    if text.startswith("{") and text.endswith("...}"):
        return {"rest": text[1:-4]}
    if text.startswith("{") and text.endswith("}"):
        return {"word": text[1:-1]}
    return text
