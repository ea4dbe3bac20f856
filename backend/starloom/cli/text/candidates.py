"""Near matches of words as lines: each recipe with the command that fills in the missing values."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING, Any

from starloom_protocol.text.wording import listed

if TYPE_CHECKING:
    from starloom_protocol.api.previews import MissingParam, RecipeCandidate, TrialRow

_CHOICES_MOST = 8


def candidate_lines(candidate: RecipeCandidate) -> list[str]:
    """Return the title, the command with the values found in the words, and a line for each value still missing."""
    words = [f"-p {_filled(name, value)}" for name, value in candidate["params"].items()]
    words += [f"-p {item['name']}=..." for item in candidate["missing"]]
    lines = [candidate["title"], " ".join(["starloom submit -r", candidate["recipe"], *words])]
    if unused := candidate.get("unused"):
        lines.append(f"  it does not use: {listed(unused)}")
    if trial := candidate.get("trial"):
        lines.append(f"  {trial_line(trial)}")
    return [*lines, *(_needed(item) for item in candidate["missing"])]


def trial_line(trial: TrialRow) -> str:
    """Return that a recipe is on trial, and when it last ran as planned."""
    since = f", the last on {trial['last_at']}" if trial["last_at"] else ""
    return f"on trial: {trial['clean']} of {trial['needed']} clean runs in a row{since}"


def _filled(name: str, value: Any) -> str:
    if isinstance(value, dict) and set(value) == {"name"}:
        (value,) = value.values()
    return shlex.quote(f"{name}={value}") if isinstance(value, str) else shlex.quote(f"{name}:={json.dumps(value)}")


def _needed(item: MissingParam) -> str:
    choices = item["choices"]
    more = ", ..." if len(choices) > _CHOICES_MOST else ""
    parts = [item["reason"], f"one of {', '.join(choices[:_CHOICES_MOST])}{more}" if choices else ""]
    words = "; ".join(part for part in parts if part)
    return f"  {item['name']}: {item['title'] or item['name']} ({item['type']}){' - ' + words if words else ''}"
