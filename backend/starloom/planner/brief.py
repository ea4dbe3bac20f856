"""A brief: everything a model that has never heard of Starloom needs to write a plan for a request, as one text.

Pure and bounded: the context of any model, opened and closed by words for a reader who cannot ask for more. The request
and the language are never left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from starloom.planner.brief_words import ABOUT, ANSWER
from starloom.planner.context import Asking, PromptPart, context, joined, opening_words
from starloom.planner.fleet import FleetView
from starloom_protocol.plan import Recipe

BRIEF_BYTES_MAX: Final = 26 * 1024
"""The most that a brief has without the request, whatever the fleet; mostly it is `CONTEXT_BYTES_MAX`."""
_MORE: Final = "Ask for their arguments if you need one."


@dataclass(frozen=True)
class Brief:
    """A brief. `left_out` lists in sentences the parts that did not fit; the text contains the same sentences."""

    text: str
    left_out: tuple[str, ...]


def brief(words: str, fleet: FleetView, recipes: Sequence[Recipe], *, today: str = "") -> Brief:
    """Return the brief for a request on the current fleet."""
    opening = PromptPart("The language", f"# A plan for Starloom\n\n{opening_words(fleet, ABOUT, ANSWER)}")
    asking = Asking(words=words, fleet=fleet, recipes=tuple(recipes), today=today, fill=True)
    made = context(asking, opening, _MORE)
    asked = "\n".join(f"> {line}" for line in words.splitlines()) or "> (nothing was written; ask what is wanted)"
    text = joined([*(part.text for part in made.parts), f"## What is asked for\n\n{asked}\n"])
    return Brief(text, made.left_out)
