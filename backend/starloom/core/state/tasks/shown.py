"""The part of a result that a question shows: read when the question is asked, bounded, never changed afterwards.

A person answers for what stands there, so a question whose part of a result is missing is not asked.
"""

from __future__ import annotations

from typing import Final

from starloom.core.state.model import Constellation
from starloom.core.state.tasks.gates import fact, size_left_out, successes
from starloom_protocol.records.entities import Shown
from starloom_protocol.records.specs import Shows, counts_as_one
from starloom_protocol.text.wording import counted, size_words
from starloom_protocol.values import MISSING, canonical
from starloom_protocol.vocabulary import Code

SHOWN_CHARS_MOST: Final = 8_000
"""About a hundred lines: more than a person reads before an answer, and few bytes in each live page."""


class NothingToShow(Exception):
    """The part of a result that a question should show is not there; `code` says why."""

    def __init__(self, code: Code, words: str) -> None:
        super().__init__(words)
        self.code = code


def shown_of(constellation: Constellation, shows: Shows) -> Shown:
    """Return the part of a result to show; of a group with many results, the list of their parts.

    Raises:
        NothingToShow: the pointer finds nothing, or more than a device tells about a result.
    """
    tasks = successes(constellation, shows.source)
    group = constellation.specs[shows.source].for_each if shows.source in constellation.groups else None
    one = shows.source not in constellation.groups or (group is not None and counts_as_one(group))
    parts = [_part(constellation, task, shows) for task in (tasks[-1:] if one else tasks)]
    if one and not parts:
        raise NothingToShow(Code.NO_VALUE, f"{shows.source} has no result to show")
    value = parts[0] if one else parts
    text = value if isinstance(value, str) else canonical(value)
    left_out = max(len(text) - SHOWN_CHARS_MOST, 0)
    if left_out:
        rows = _first_rows(value)
        left_out = len(text) - len(canonical(rows)) if rows else left_out
        value = rows or text[:SHOWN_CHARS_MOST]
    return Shown(left_out=left_out, output=shows.output, source=shows.source, value=canonical(value))


def files_words(constellation: Constellation, shows: Shows) -> str:
    """Return how many files a shown list names, and their size; empty for any other value."""
    rows: list[object] = []
    for task in successes(constellation, shows.source):
        part = fact(constellation, task, shows.output)
        rows += part if isinstance(part, list) else [part]
    sizes = [row["bytes"] for row in rows if isinstance(row, dict) and isinstance(row.get("bytes"), int)]
    whole = bool(sizes) and len(sizes) == len(rows)
    return f" ({counted(len(rows), 'file')}, {size_words(sum(sizes))})" if whole else ""


def _first_rows(value: object) -> list[object]:
    """Return as many whole entries of a list as may be shown; none of anything else."""
    rows: list[object] = []
    room = SHOWN_CHARS_MOST
    for row in value if isinstance(value, list) else []:
        room -= len(canonical(row)) + 1
        if room < 1:
            break
        rows.append(row)
    return rows


def shown_beside(constellation: Constellation, shows: Shows, branches: list[str]) -> Shown:
    """Return the parts of some results beside each other, each with its task, each cut to its share.

    A part that is missing or too large is said in its place: a person may still choose it by the rest.
    """
    share, left_out, rows = SHOWN_CHARS_MOST // max(len(branches), 1), 0, []
    for task in branches:
        value = fact(constellation, task, shows.output)
        attempt = constellation.last_attempt(task)
        if value is MISSING and attempt is not None:
            value = "(too large to be shown)" if size_left_out(attempt, shows.output) else "(not there)"
        text = value if isinstance(value, str) else canonical(value)
        left_out += max(len(text) - share, 0)
        rows.append({"choice": task, "value": text[:share] if len(text) > share else value})
    return Shown(left_out=left_out, output=shows.output, source=shows.source, value=canonical(rows))


def _part(constellation: Constellation, task: str, shows: Shows) -> object:
    value = fact(constellation, task, shows.output)
    if value is not MISSING:
        return value
    attempt = constellation.last_attempt(task)
    where = f"{shows.output or 'the result'} of {task}"
    if attempt is not None and size_left_out(attempt, shows.output):
        raise NothingToShow(Code.FACT_TOO_BIG, f"{where} is too large to be shown in a question")
    raise NothingToShow(Code.NO_VALUE, f"{where} is not there, and the question should show it")
