"""The prompt of a model, part by part: exactly these texts leave the machine, and Settings shows them.

The parts are those of any context (`planner/context.py`); this adds only how a model on a wire answers. No ids, keys,
addresses, folders, files or results are in a planning prompt.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from starloom.planner.context import Asking, Context, PromptPart, context, opening_words, request_part, size
from starloom.planner.context_devices import Devices
from starloom.planner.context_tools import line, near, shelf
from starloom.planner.fleet import FleetView
from starloom.planner.matching import Candidate
from starloom_protocol.plan import Recipe

__all__ = ["PromptPart", "device_lines", "planning_context", "planning_parts", "tool_lines"]

ABOUT: Final = """\
You write one plan for Starloom, which runs it on a person's own devices. You cannot run anything yourself, and you
decide nothing: your plan is checked, shown and, where it does more than read, approved by a person.
Never write `policy.approval: never`, and never a secret.
"""

ANSWER: Final = """\
Answer with one JSON object and nothing else:
{"kind": "plan", "plan": {"starloom": 1, "name": ..., "tasks": [...], ...}}
{"kind": "recipe", "recipe": NAME, "params": {SLOT: value}}      # only a recipe that is listed below
{"kind": "more_tools", "words": "what the tools should do"}      # shows the nearest to these words; 3 times at most
{"kind": "question", "text": "one short question"}
{"kind": "cannot", "text": "why", "needs": [{"grant": GRANT, "device": NAME}]}

Ask a question only if its answer would change the plan. For everything else choose the usual value, and name it in the
plan's `name` or in the question. `needs` names what would make it possible; leave it out where nothing would.
"""

_MORE: Final = 'Answer {"kind": "more_tools", "words": ...} to see those that you need.'
_REVIEW_BYTES: Final = 13_000


def planning_context(asking: Asking) -> Context:
    """Return the context of a planning prompt, without the request; the first part is the instructions."""
    opening = PromptPart("What Starloom is and how a plan is written", opening_words(asking.fleet, ABOUT, ANSWER))
    return context(asking, opening, _MORE)


def planning_parts(
    words: str,
    params: Mapping[str, Any],
    fleet: FleetView,
    asked: Sequence[tuple[str, str]] = (),
    near: Sequence[tuple[Recipe, Candidate]] = (),
    *,
    recipes: Sequence[Recipe] = (),
    today: str = "",
) -> list[PromptPart]:
    """Return every part of a planning prompt; the first is the instructions."""
    asking = Asking(words=words, params=params, fleet=fleet, asked=asked, near=near, recipes=recipes, today=today)
    return [*planning_context(asking).parts, request_part(words, params)]


def device_lines(fleet: FleetView) -> list[str]:
    """Return the devices of a review, alike ones in one line, and those that are away."""
    devices = Devices(fleet)
    missing: list[str] = []
    lines = devices.lines(_REVIEW_BYTES // 6, missing)
    return [*lines, *missing, *filter(None, [devices.away()])]


def tool_lines(fleet: FleetView, words: str, needed: Collection[str] = ()) -> list[str]:
    """Return the tools of a review: those that its tasks use, then the usual ones, then those nearest to the words."""
    shown = shelf(fleet, Devices(fleet))
    lines = [line(tool, shown.devices) for tool in shown.full]
    return [*lines, *near(shown, words, _REVIEW_BYTES - sum(map(size, lines)), needed)]
