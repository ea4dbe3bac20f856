"""Near matches of words as lines: each recipe with the command that fills in the missing values."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from typing import Any

_CHOICES_MOST = 8


def candidate_lines(candidate: Mapping[str, Any]) -> list[str]:
    """Return the title, the command with the values found in the words, and a line for each value still missing."""
    missing = candidate.get("missing") or []
    words = [f"-p {_filled(str(name), value)}" for name, value in (candidate.get("params") or {}).items()]
    words += [f"-p {item['name']}=..." for item in missing]
    lines = [str(candidate.get("title") or ""), " ".join(["starloom submit -r", str(candidate["recipe"]), *words])]
    return [*lines, *(_needed(item) for item in missing)]


def _filled(name: str, value: Any) -> str:
    if isinstance(value, dict) and set(value) == {"name"}:
        value = value["name"]
    return shlex.quote(f"{name}={value}") if isinstance(value, str) else shlex.quote(f"{name}:={json.dumps(value)}")


def _needed(item: Mapping[str, Any]) -> str:
    choices = [str(choice) for choice in item.get("choices") or []]
    more = ", ..." if len(choices) > _CHOICES_MOST else ""
    said = [str(item.get("reason") or ""), f"one of {', '.join(choices[:_CHOICES_MOST])}{more}" if choices else ""]
    told = "; ".join(part for part in said if part)
    return f"  {item['name']}: {item.get('title') or item['name']} ({item.get('type')}){' - ' + told if told else ''}"
