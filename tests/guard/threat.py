"""The form of a row of the threat table, and the tests that are named after it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from tests.arch.checkout import ROOT, files

_NAMED = re.compile(r"^(?:async )?def (test_([a-z]\d+)_\w+)", re.MULTILINE)


@cache
def named_after_rows() -> Mapping[str, tuple[str, ...]]:
    """Return the tests that are named after a row, `test_<id>_...`, wherever they stand."""
    found: dict[str, tuple[str, ...]] = {}
    for path in files(".py", under="tests"):
        if path.name.startswith("test_"):
            for test, row in _NAMED.findall(path.read_text(encoding="utf-8")):
                name = f"{path.relative_to(ROOT).as_posix()}::{test}"
                found[row.upper()] = (*found.get(row.upper(), ()), name)
    return found


@dataclass(frozen=True)
class Threat:
    """One row of the table. `others` are the tests that show it without being named after it, or whole files."""

    id: str
    threat: str
    held_by: str
    others: tuple[str, ...] = ()
    part: str = ""
    beyond: str = ""

    @property
    def tests(self) -> tuple[str, ...]:
        """Return every test that shows the row."""
        return (*named_after_rows().get(self.id, ()), *self.others)
