"""Fields and signs that other languages of plans have and this one has not: how each of them is said here.

Pure. Owns the words alone; whether a field is known is decided by the models. Models and people who know other tools
write these first, and a near name would lead them to a field that means something else.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

_ORDER: Final = "Order stands beside the tasks: `dependencies: [{from: ID, to: ID}]`."
_CONDITION: Final = (
    "A condition stands beside the tasks: "
    "`dependencies: [{from: ID, to: ID, when: {output: POINTER, op: OP, value: ...}}]`."
)
_TIMES: Final = "Like calls are a list: `for_each: {times: 3}`."
_LIST: Final = "A list is named by its task: `for_each: {from: ID, output: POINTER}`."
_ARGUMENTS: Final = "Arguments stand in `args`; what comes from other tasks stands in `inputs`."
_PLACE: Final = "Write `device: {name: NAME}`."
_TIMEOUT: Final = "Write `timeouts: {start_to_close_s: 600}`."
_FAILURE: Final = "Write `retry: {max_attempts: 3}`, or `optional: true` where the rest goes on without it."
_OF_A_TASK: Final = {
    **dict.fromkeys(("after", "before", "depends", "depends_on", "dependsOn", "needs", "requires", "wait_for"), _ORDER),
    **dict.fromkeys(("condition", "if", "only_if", "unless", "when"), _CONDITION),
    **dict.fromkeys(("count", "loop", "repeat", "times"), _TIMES),
    **dict.fromkeys(("each", "foreach", "items", "matrix", "with_items"), _LIST),
    **dict.fromkeys(("arguments", "input", "parameters", "params", "with"), _ARGUMENTS),
    **dict.fromkeys(("devices", "host", "hosts", "on", "runs_on"), _PLACE),
    **dict.fromkeys(("deadline", "timeout", "timeout_ms", "timeout_s"), _TIMEOUT),
    **dict.fromkeys(("continue_on_error", "ignore_errors", "on_error", "on_failure", "retries"), _FAILURE),
}
_OPERATORS: Final = {
    "=": "eq",
    "==": "eq",
    "===": "eq",
    "!=": "ne",
    "<>": "ne",
    "<": "lt",
    "<=": "le",
    ">": "gt",
    ">=": "ge",
}
_TASK: Final = frozenset({"for_each", "tool"})
"""Fields by which those of a task are told from those of other parts."""


def said_here(name: str, fields: Collection[str]) -> str:
    """Return where a field of another language is said, for a part that knows `fields`; empty where it is none."""
    return _OF_A_TASK.get(name, "") if set(fields) >= _TASK else ""


def operator_here(written: str, words: Collection[str]) -> str:
    """Return the word for an operator that is written as a sign; empty where it is none of `words`."""
    meant = _OPERATORS.get(written.strip(), "")
    return f"Write `{meant}`." if meant in words else ""
