"""The prompt of a model, part by part: exactly these texts leave the machine, and Settings shows them.

The parts are those of any context; this adds only how a model on a wire answers. No ids, keys, addresses, folders,
files or results are in a planning prompt.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from starloom.planner.context.assembly import Asking, Context, PromptPart, context, opening_words, request_part
from starloom.planner.fleet import FleetSnapshot
from starloom_protocol.plan import Recipe

__all__ = ["PromptPart", "planning_context", "planning_parts", "reviewing_context"]

ABOUT: Final = """\
You write one plan for Starloom, which runs it on a person's own devices. You run and decide nothing: your plan
is checked, shown and, where it does more than read, approved by a person.
Never write `policy.approval: never`, and never a secret.
"""

ANSWER: Final = """\
Answer with one JSON object and nothing else:
{"kind": "plan", "plan": {"starloom": 1, "name": ..., "tasks": [...], ...}}
{"kind": "recipe", "recipe": NAME, "params": {SLOT: value}}  # only a recipe that is listed below
{"kind": "more_tools", "words": "what the tools should do"}  # shows the nearest to these words; 3 times at most
{"kind": "look", "why": "one sentence", "calls": [...]}  # see the end: if and how you may look first
{"kind": "question", "text": "one short question", "choices": [ANSWER, ...], "default": "the answer you would take"}
{"kind": "cannot", "text": "why", "needs": [{"grant": GRANT, "device": NAME}]}

Ask a question only if its answer would change the plan; else choose the usual value, and name it in the plan's `name`
or in the question. `cannot` is also for what is not there; say in at most 60 words where you looked. `needs` are the
grants that would make it possible, if any would. A task on a device whose owner does not allow its tool is a fault:
take another device or answer `cannot`. If the person's answer takes the request back, add `"withdrawn": true`.
After looks there is one more kind, `answer`, if they have answered the request.
"""

_MORE: Final = 'Answer {"kind": "more_tools", "words": ...} to see them.'
_NO_MORE: Final = "A review cannot ask for them."


def planning_context(asking: Asking) -> Context:
    """Return the context of a planning prompt, without the request; the first part is the instructions."""
    opening = PromptPart("What Starloom is and how a plan is written", opening_words(asking.fleet, ABOUT, ANSWER))
    return context(asking, opening, _MORE)


def planning_parts(
    words: str, fleet: FleetSnapshot, *, recipes: Sequence[Recipe] = (), today: str = ""
) -> list[PromptPart]:
    """Return every part of a planning prompt; the first is the instructions."""
    asking = Asking(words=words, fleet=fleet, recipes=recipes, today=today)
    return [*planning_context(asking).parts, request_part(words, {})]


def reviewing_context(opening: PromptPart, words: str, fleet: FleetSnapshot, needed: Collection[str]) -> Context:
    """Return the context of a review, without its tasks; `needed` are the tools of the plan, which are always shown."""
    return context(Asking(words=words, fleet=fleet, needed=frozenset(needed)), opening, _NO_MORE)
