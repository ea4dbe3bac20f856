"""Fields by the names that other systems' documents give them, with the form that they have in a plan.

It owns the sentences, and the words for signs; which field is unknown is decided by the models of the plan.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

_ORDER: Final = (
    "The order stands beside `tasks`: `dependencies: [{from: FIRST, to: THIS}]`. "
    "A task also waits for each task that its `inputs` name."
)
_DEVICE: Final = "Write `device: {name: NAME}`."
_TOOL: Final = "Write `tool: NAME`; `starloom tools ls` lists those of devices, `starloom tools show NAME` shows one."
_NAME: Final = "A task is called by its `id`; `tool: NAME` says what it does."
_RESULT: Final = "Another task reads its result: `inputs: {ARGUMENT: {from: THIS, output: /pointer}}`."
_ARGS: Final = "Write `args: {NAME: VALUE}`."
_TIMES: Final = "Like calls are a group: `for_each: {times: N}`."
_EACH: Final = "Write `for_each: {devices: SELECTOR}`, `{from: TASK, output: /pointer}` or `{times: N}`."
_CONDITION: Final = (
    "A condition belongs to what is waited for: `dependencies: [{from: FIRST, to: THIS, when: {output: /pointer, op: "
    "eq, value: VALUE}}]`."
)
_TIMEOUT: Final = "Write `timeouts: {start_to_close_s: SECONDS}`."
_RETRY: Final = "Write `retry: {max_attempts: N}`."
_PROGRAM: Final = "A program is a tool: `tool: shell.run`, `args: {argv: [PROGRAM, ARGUMENT]}`."
_LAST: Final = "The plan gives it: `result: [{title: TITLE, from: TASK, output: /pointer}]`."

_OF_A_TASK: Final = {
    **dict.fromkeys(("after", "depends_on", "dependsOn", "needs", "requires", "runs_after", "wait_for"), _ORDER),
    **dict.fromkeys(("host", "machine", "node", "on", "runs_on", "server", "where"), _DEVICE),
    **dict.fromkeys(("action", "call", "function", "type", "uses"), _TOOL),
    **dict.fromkeys(("name", "task", "title"), _NAME),
    **dict.fromkeys(("register", "save_as", "store_as"), _RESULT),
    **dict.fromkeys(("arguments", "input", "parameters", "params", "with"), _ARGS),
    **dict.fromkeys(("foreach", "forEach", "items", "loop", "with_items"), _EACH),
    **dict.fromkeys(("condition", "if", "only_if", "unless", "when"), _CONDITION),
    **dict.fromkeys(("count", "repeat", "times"), _TIMES),
    **dict.fromkeys(("timeout", "timeout_s", "timeout_seconds"), _TIMEOUT),
    **dict.fromkeys(("attempts", "max_attempts", "max_retries", "retries"), _RETRY),
    **dict.fromkeys(("cmd", "command", "run", "script", "shell"), _PROGRAM),
    **dict.fromkeys(("output", "outputs", "result", "returns"), _LAST),
}
_OF_A_PLAN: Final = {
    **dict.fromkeys(("actions", "jobs", "nodes", "stages", "steps", "workflow"), "The list is called `tasks`."),
    **dict.fromkeys(("depends_on", "edges", "needs", "order"), "The list is called `dependencies`."),
    **dict.fromkeys(("description", "title"), "The plan has a `name`."),
    **dict.fromkeys(("cron", "on", "schedule"), "A plan runs once. `starloom schedule add` repeats it at set times."),
    **dict.fromkeys(("answer", "output", "outputs", "returns"), _LAST),
}
_OPERATORS: Final = {
    **dict.fromkeys(("=", "==", "==="), "eq"),
    **dict.fromkeys(("!=", "<>"), "ne"),
    "<": "lt",
    "<=": "le",
    ">": "gt",
    ">=": "ge",
}
_MAPS: Final = {
    "repeat": "Write `repeat: {max: N, until: {output, op, value}}`. " + _TIMES,
    "not_before": "Write `not_before: {at: 2026-11-26 12:30, zone: UTC}` or `{from: TASK, output: /pointer}`.",
    "reuse": "Write `reuse: {}`, or `reuse: {fresh_s: 86400, key: {each: /sha256}}`.",
    "shows": "Write `shows: {from: TASK, output: /pointer}`.",
}
# A field that only this document has, by which its place is known.
_PLACES: Final = (("for_each", _OF_A_TASK), ("tasks", _OF_A_PLAN))


def form_here(name: str, fields: Collection[str]) -> str:
    """Return how `name` is said at the place whose fields are `fields`; empty where nothing is known about it."""
    return next((words.get(name, "") for mark, words in _PLACES if mark in fields), "")


def map_here(name: str) -> str:
    """Return the form of a field that is a map, where something else was written; empty if it is not known."""
    return _MAPS.get(name, "")


def operator_here(sign: str, words: Collection[str]) -> str:
    """Return the word for an operator that is written as a sign; empty where it is none of `words`."""
    word = _OPERATORS.get(sign.strip(), "")
    return f"Write `{word}`." if word in words else ""
