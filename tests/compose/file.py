"""`docker-compose.yml` as this repository means it: values filled in, anchors merged, commands as they are run.

There is no Docker where the tests run. So the file is read here, its rules are checked, and its commands are run as
processes; images, networks and Caddy are not.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
FILE = ROOT / "docker-compose.yml"
_VARIABLE = re.compile(r"\$\$|\$\{(\w+)(?::\?([^}]*))?\}")


def raw() -> dict[str, Any]:
    """Return the file with anchors and merges resolved, and nothing filled in."""
    found = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    assert isinstance(found, dict)
    return found


def filled(value: Any, given: dict[str, str]) -> Any:
    """Return a part of the file with its variables filled in, as Compose does it.

    Raises:
        KeyError: for a variable that is not given.
    """
    if isinstance(value, dict):
        return {key: filled(part, given) for key, part in value.items()}
    if isinstance(value, list):
        return [filled(part, given) for part in value]
    if isinstance(value, str):
        return _VARIABLE.sub(lambda match: "$" if match.group() == "$$" else given[match.group(1)], value)
    return value


def variables() -> dict[str, str]:
    """Return every variable that the file names, with what it says when the variable is missing."""
    text = FILE.read_text(encoding="utf-8")
    return {match.group(1): match.group(2) or "" for match in _VARIABLE.finditer(text) if match.group(1)}
