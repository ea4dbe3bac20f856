"""The names in a folder that are nearest to one that is not there, for the failure of a tool.

Owns the sentence and its bounds. Looks into the folders in which the name was sought, through the tools' own access;
must not look elsewhere, and is silent where none of them can be seen.
"""

from __future__ import annotations

import difflib
from contextlib import suppress
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


def near_name(files: Beneath, path: Path, *others: Path) -> str:
    """Return a sentence with the names beside a path, and others of its name, that are most like it; empty without."""
    names: list[str] = []
    for place in dict.fromkeys((path, *others)):
        with suppress(OSError), files.scan(place.parent) as entries:
            names += [entry.name for entry in islice(entries, LOOKED_AT_MOST) if entry.name != path.name]
    by_form = {name.casefold(): name for name in sorted(names)}
    near = difflib.get_close_matches(path.name.casefold(), by_form, n=NAMED_MOST, cutoff=_ALIKE)
    return f"; there is {', '.join(quoted(by_form[name]) for name in near)}" if near else ""
