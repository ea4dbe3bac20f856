"""The relevance of a text to a request, by BM25 over its words; and the tools that most plans use (`USUAL`).

Decides only what is shown where not everything fits. Equal texts keep the order in which they were given. Pure.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import Final, TypeVar

from starloom.planner.fleet import singular
from starloom.planner.requests.clauses import word_set

T = TypeVar("T")

USUAL: Final = word_set(
    "artifact.put data.merge data.table disk.usage fs.find fs.read fs.write log.search notify process.list python.run"
    " service.status shell.run system.info wait.until"
)
"""The tools that most plans use, whatever the request."""
GUIDED: Final = word_set("artifact.put fs.find fs.read fs.write python.run")
"""Of these the ones by which values and files enter and leave a plan: one line does not explain them."""
_WORD = re.compile(r"[^\W_]+")
_IDLE = word_set(
    "a about after all an and any are as at be been but by can could do does done for from get give had has have how i"
    " if in into is it its just know let like make me must my no not now of off on one only or our out over please put"
    " see shall should show so some such tell than that the their them then there these they this those through to too"
    " up use used want was we were what when where which while who why will with without would you your again already"
    " also because before both each else enough every few good here instead later least less many maybe may might more"
    " most much need never next nothing often other own quite rather really same since something still sure thing today"
    " together tomorrow until very whether yesterday yet part first right"
)
_TEXTS_KEPT: Final = 4096
_SATURATION: Final = 1.2
_LENGTH_SHARE: Final = 0.75


def content_words(text: str) -> set[str]:
    """Return the meaningful words of a text, plurals as singulars."""
    return set(_words(text))


def ranked(items: Sequence[tuple[T, str]], words: str) -> list[tuple[T, float]]:
    """Return the items, each given with its text, the nearest to the words first, with its score; 0 has no word."""
    counted = [(item, _counted(text)) for item, text in items]
    lengths = [counts.total() for _, counts in counted]
    usual_length = sum(lengths) / len(lengths) if lengths else 0.0
    weights = {
        word: math.log(1 + (len(counted) - holders + 0.5) / (holders + 0.5))
        for word in content_words(words)
        if (holders := sum(word in counts for _, counts in counted))
    }
    scored = []
    for (item, counts), length in zip(counted, lengths, strict=True):
        damping = _SATURATION * (1 - _LENGTH_SHARE + _LENGTH_SHARE * length / (usual_length or 1))
        scored.append(
            (
                item,
                sum(
                    weight * counts[word] * (_SATURATION + 1) / (counts[word] + damping)
                    for word, weight in sorted(weights.items())
                    if counts[word]
                ),
            )
        )
    return sorted(scored, key=lambda pair: -pair[1])


def _words(text: str) -> list[str]:
    return [singular(word) for word in _WORD.findall(text.casefold()) if word not in _IDLE]


@lru_cache(_TEXTS_KEPT)
def _counted(text: str) -> Counter[str]:
    return Counter(_words(text))
