"""Names of the store's files below a data folder. Imports no store, so that a supervisor starts at once."""

from __future__ import annotations

from pathlib import Path
from typing import Final

DATABASE_FILE: Final = "starloom.db"
"""The SQLite file of a hub's history."""

OPENING_FILE: Final = Path("run") / "opening"
"""Exists while an owner opens a history of an older version, which may take minutes."""
