"""Puts the built pages into the wheel, where they have been built; a checkout serves them from where they lie.

Owns nothing but these two folders. An editable installation needs neither.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

CHECKOUT = Path(__file__).parents[1]
PAGES = {
    CHECKOUT / "frontend" / "dist": "starloom/_web",
    CHECKOUT / "device_agents" / "browser" / "dist": "starloom/_tab",
}


class BuiltPages(BuildHookInterface):  # type: ignore[type-arg, misc, unused-ignore]
    """Adds what `scripts/page.py` has made."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Name the folders that exist; hatchling calls this before a build of either kind."""
        if version == "editable":
            return
        for built, place in PAGES.items():
            if built.is_dir():
                build_data["force_include"][str(built)] = place
