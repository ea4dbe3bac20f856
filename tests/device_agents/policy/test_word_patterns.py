"""The patterns of command rules fit the same words as regular expressions do."""

from __future__ import annotations

import random
import re
import warnings

import pytest

from starloom_agent.policy.word_patterns import Unbounded, WordPattern

ATOMS = [*"abc.-1{}^$", r"[ab]", "[^a]", r"\d", r"\w", r"\s", r"\.", "[a-c-]", "[]a]", r"[\]b]", r"\n", r"\x61"]
ATOMS += [r"\b", r"\B", r"\A", r"\Z", "{a}", "{,}"]
TIMES = ["*", "+", "?", "{2}", "{0,2}", "{1,}", "{,2}", "*?", "+?", "??", "{2}?", "{0}"]
SIGNS = "abcAB1-. \n{},]é"


def made(chance: random.Random, depth: int) -> str:
    """Return a pattern at random, or what is nearly one."""
    text = ""
    for _ in range(chance.randint(0, 4)):
        if depth and chance.random() < 0.3:
            begin = chance.choice(["(", "(?:", f"(?P<x{chance.randrange(10**9)}>"])
            text += f"{begin}{made(chance, depth - 1)})"
        else:
            text += chance.choice(ATOMS)
        text += chance.choice(TIMES) if chance.random() < 0.4 else "|" if chance.random() < 0.1 else ""
    return text


@pytest.mark.parametrize("seed", range(20))
def test_random_patterns_fit_the_words_that_re_says(seed: int) -> None:
    chance, read = random.Random(seed), 0
    for _ in range(100):
        text = chance.choice(["", "", "(?i)", "(?s)", "(?si)"]) + made(chance, 2)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                known = re.compile(text)
            ours = WordPattern(text)
        except (re.error, Unbounded):
            continue
        read += 1
        for _ in range(12):
            word = "".join(chance.choices(SIGNS, k=chance.randint(0, 6)))
            assert ours.fits(word) == (known.fullmatch(word) is not None), (text, word)
    assert read > 50
