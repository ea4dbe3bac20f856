"""The relevance of a tool to a request: by the words that both have, then by `USUAL`.

Used wherever not all tools fit, so that none is left out by its place in the alphabet. Pure.
"""

from __future__ import annotations

import re
from typing import Final

from starloom.planner.clauses import word_set
from starloom.planner.fleet import singular
from starloom_protocol.entities import ToolOffer

_WORD = re.compile(r"[a-z0-9]+")
USUAL: Final = word_set(
    "artifact.put data.merge data.table disk.usage fs.find fs.read fs.write log.search notify process.list python.run"
    " service.status shell.run system.info wait.until"
)
"""The tools that most plans use, whatever the request."""
_IDLE = word_set("a all an and are at by for from have how in is it its me my of on one or the to what which with")


def spoken(text: str) -> set[str]:
    """Return the meaningful words of a text, plurals as singulars."""
    return {singular(word) for word in _WORD.findall(text.casefold()) if word not in _IDLE}


def nearness(offer: ToolOffer, said: set[str]) -> tuple[int, bool, str]:
    """Return a key that sorts the nearest tool first."""
    about = spoken(f"{offer.name.replace('.', ' ')} {offer.title}")
    return -len(about & said), offer.name not in USUAL, offer.name
