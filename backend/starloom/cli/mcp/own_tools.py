"""The tools that `starloom mcp` has beside those of recipes: their words for the model, and their arguments. Pure.

Each is the method of the same name of `tools.Tools`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from starloom.cli.mcp.arguments import Schema, fields, form, number, text, texts, whole_number, yes_or_no

_CONSTELLATION: Final = text("The id of a constellation.")
_REQUEST: Final[dict[str, Schema]] = {
    "request": text("The person's words."),
    "plan": {
        "anyOf": [{"type": "object"}, {"type": "string"}],
        "description": "A plan as a map, or its text in YAML or JSON.",
    },
    "recipe": text("The name of a recipe."),
    "params": fields("Values of the recipe by name."),
}


@dataclass(frozen=True, slots=True)
class OwnTool:
    """A tool. `asks`: it starts or changes something; `listens`: it tells how far it is."""

    about: str
    schema: Schema
    asks: bool = False
    listens: bool = False


TOOLS: Final[dict[str, OwnTool]] = {
    "devices": OwnTool(
        "List the person's devices, or one by name with its tools, their arguments and effects.",
        form({"name": text("The name of one device.")}),
    ),
    "recipes": OwnTool(
        "List the recipes: what can be asked for without writing a plan. One by name: its text too.",
        form({"name": text("The name of one recipe.")}),
    ),
    "preview": OwnTool(
        "Show what a request in words, a plan or a recipe would do, without starting it: devices, effects, missing "
        "grants, faults. Give exactly one of request, plan and recipe. For words that no recipe fits it tells how to "
        "write a plan.",
        form(_REQUEST),
    ),
    "submit": OwnTool(
        "Start a request in words, a plan or a recipe (exactly one). Work beyond reading and writing waits for the "
        "person: needs_approval, with the link.",
        form({**_REQUEST, "name": text("A name for it.")}),
        asks=True,
        listens=True,
    ),
    "goal": OwnTool(
        "Give a goal to the hub's own model, which carries it out step by step on these devices: for what nobody can "
        "plan beforehand, such as the cause of a fault. Without `tools` its steps only read. It is previewed and "
        "approved like a plan; `only_preview` shows what it may do and starts nothing.",
        form(
            {
                "goal": text("The goal in words: what to find or to reach."),
                "devices": texts("Names of the devices to which steps may go."),
                "tools": texts("The tools that steps may use; left out: those that only read."),
                "paths": texts("The folders in which steps may read and write; left out: those that are granted."),
                "hosts": texts("The hosts that steps may reach without a question."),
                "gives": fields("The fields of the result with their types: text, number, integer, boolean, [text]."),
                "steps": whole_number("How many steps at most; 20.", minimum=1, maximum=50),
                "only_preview": yes_or_no("Show what it may do; start nothing."),
            },
            needed=("goal", "devices"),
        ),
        asks=True,
        listens=True,
    ),
    "watch": OwnTool(
        "Wait for what happens in a constellation after event number `after`, at most wait_s (50) seconds: lines, "
        "state, questions that wait for a person.",
        form(
            {
                "constellation": _CONSTELLATION,
                "after": whole_number("The number of the last event that you know; 0.", default=0),
                "wait_s": number("How long to wait, at most 50; 20.", default=20),
            },
            needed=("constellation",),
        ),
        listens=True,
    ),
    "result": OwnTool(
        "Read the answer of a constellation: a sentence, and items with their values.",
        form({"constellation": _CONSTELLATION}, needed=("constellation",)),
    ),
    "why": OwnTool(
        "Say why a constellation, or one of its tasks, waits or failed, and what would help.",
        form({"constellation": _CONSTELLATION, "task": text("The id of one task.")}, needed=("constellation",)),
    ),
    "report": OwnTool(
        "Say what the time of a constellation was spent on: critical path, work, waiting by cause, recoveries.",
        form({"constellation": _CONSTELLATION}, needed=("constellation",)),
    ),
    "propose_edit": OwnTool(
        'Change a constellation that runs, by operations such as {"add_task": {...}} or {"remove_task": {"id": ...}}. '
        "A change that a person has to decide is not applied and comes back with the link.",
        form(
            {
                "constellation": _CONSTELLATION,
                "operations": {"type": "array", "items": {"type": "object"}, "description": "The operations."},
                "reason": text("Why."),
                "base_version": whole_number("The version that you saw; left out: the newest."),
            },
            needed=("constellation", "operations", "reason"),
        ),
        asks=True,
    ),
}
