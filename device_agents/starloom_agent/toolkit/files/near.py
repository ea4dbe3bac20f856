"""The names in a folder that are nearest to one that is not there, for the failure of a tool.

Owns the sentence and its bounds. Looks into the one folder in which the name was sought, through the tools' own access;
must not look elsewhere, and is silent where that folder cannot be seen.
"""

from __future__ import annotations

import difflib
from itertools import islice
from pathlib import Path
from typing import Final

from starloom_agent.toolkit.beneath import Beneath
from starloom_protocol.text.wording import quoted

LOOKED_AT_MOST: Final = 500
"""The names are for an error text; a longer look would hold up the failure."""
NAMED_MOST: Final = 3
_ALIKE: Final = 0.6
"""The measure that `difflib` itself takes for close."""


def near_name(files: Beneath, path: Path) -> str:
    """Return a sentence with the names beside a path that are most like its own; empty where none is."""
    try:
        with files.scan(path.parent) as entries:
            names = [entry.name for entry in islice(entries, LOOKED_AT_MOST) if entry.name != path.name]
    except OSError:
        return ""
    by_form = {name.casefold(): name for name in sorted(names)}
    found = difflib.get_close_matches(path.name.casefold(), by_form, n=NAMED_MOST, cutoff=_ALIKE)
    return f"; there is {', '.join(quoted(by_form[name]) for name in found)}" if found else ""
