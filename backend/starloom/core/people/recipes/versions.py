"""The kept versions of a saved recipe: which there are, their keys, and the number that a text says. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from starloom.core.state.model import Shard
from starloom.core.state.work import Put
from starloom_protocol.records.entities import RecipeVersion
from starloom_protocol.stream.authors import who

ENGINE: Final = "engine"
"""The author of a version by which the hub went back."""
VERSIONS_KEPT: Final = 20
_VERSION_LINE: Final = re.compile(r"^version:.*$", re.MULTILINE)


def saved_versions(shard: Shard, name: str) -> list[RecipeVersion]:
    """Return the kept versions of a recipe, oldest first."""
    kept = [record for record in shard.fleet.recipes.values() if record.name == name]
    return sorted(kept, key=lambda record: record.number)


def owner_of(versions: Sequence[RecipeVersion], number: int) -> str:
    """Return the person who saved a kept version; of one that the hub took back, the one who saved that text first."""
    made = next((version for version in versions if version.number == number), None)
    if made is None or made.author != ENGINE:
        return "" if made is None else who(made.author)
    text = numbered(made.text, 0)
    before = (old for old in reversed(versions) if old.number < number and old.author != ENGINE)
    return next((who(old.author) for old in before if numbered(old.text, 0) == text), "")


def key_of(version: RecipeVersion) -> str:
    """Return the id under which a version is kept."""
    return f"{version.name}/{version.number}"


def giving_way(kept: list[RecipeVersion]) -> list[Put]:
    """Return the removals of the oldest kept versions before one more is added."""
    return [("recipe", key_of(old), None) for old in kept[: max(0, len(kept) + 1 - VERSIONS_KEPT)]]


def numbered(text: str, number: int) -> str:
    """Write the version that the hub gives into the text, so that what is exported says which one it is."""
    if text.lstrip().startswith("{"):
        return text
    return _VERSION_LINE.sub(f"version: {number}", text, count=1)
