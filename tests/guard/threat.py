"""The form of a row of the threat table."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Threat:
    """One row of the table."""

    id: str
    threat: str
    held_by: str
    tests: tuple[str, ...] = ()
    part: str = ""
    beyond: str = ""
