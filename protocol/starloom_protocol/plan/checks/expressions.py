"""Expressions in the texts of a plan: nothing in them is evaluated, so one that names a task is a mistake.

A text of `{{ usage.rows }}` or `${usage.rows}` would reach its tool as it stands. Only a text of one line that names a
task of the plan is taken for one: templates of programs and code have such characters of their own.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Any, Final

from starloom_protocol.plan.language.fault_list import FaultList, joined, shown
from starloom_protocol.values import parse
from starloom_protocol.vocabulary import Code

_ID: Final = r"[a-z0-9][a-z0-9_-]{0,63}"
_EXPRESSION: Final = re.compile(r"(?:\{\{|\$\{\{?) {0,4}(?:tasks\.|steps\.)?(" + _ID + r")\.([A-Za-z0-9_.]*)")
_CODE: Final = ("code", "script")
"""Arguments that are programs, with a language of their own."""


def note_expressions(faults: FaultList, args: str, tasks: Collection[str], place: str) -> None:
    """Note each text of a task's arguments that is an expression over a task."""
    if "{{" not in args and "${" not in args:
        return
    for where, text in _texts({k: v for k, v in parse(args).items() if k not in _CODE}, place):
        match = _EXPRESSION.search(text) if "\n" not in text else None
        if match is None or match[1] not in tasks:
            continue
        pointer = "/" + match[2].strip(".").replace(".", "/") if match[2].strip(".") else '""'
        name = where.rpartition(".")[2].partition("[")[0]
        hint = f"Write it as an input: `inputs: {{{name}: {{from: {match[1]}, output: {pointer}}}}}`."
        faults.add(Code.PLAN_INVALID, where, f"nothing is evaluated in a text, so {shown(text)} stays as it is", hint)


def _texts(value: Any, place: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield place, value
    elif isinstance(value, dict):
        for name, item in value.items():
            yield from _texts(item, joined(place, name))
    elif isinstance(value, list):
        for at, item in enumerate(value):
            yield from _texts(item, joined(place, at))
