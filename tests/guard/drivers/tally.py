"""What came of one driver's attacks, and the time that it has."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from starloom.client.rest import Client
from starloom.client.routes import get_audit
from tests.waiting import SLOWER, until

WATCHED = ("/constellations", "/tokens", "/secrets", "/enrollments", "/schedules", "/recipes", "/standing-approvals")
_LOGGED_WITHIN_S = 20.0 * SLOWER


@dataclass
class AttackTally:
    """`refused` counts the refusals by who and why; `held` is what waits for a person; both lists must be empty."""

    attacks: int = 0
    held: int = 0
    refused: Counter[tuple[str, str]] = field(default_factory=Counter)
    unlogged: list[str] = field(default_factory=list)
    effects: list[str] = field(default_factory=list)

    @property
    def refusals(self) -> int:
        return self.refused.total() + self.held

    def refuse(self, who: str, why: str) -> None:
        self.refused[who, why] += 1


class Stopwatch:
    """How long a driver goes on; it makes at least one round."""

    def __init__(self, span_s: float) -> None:
        self._until = time.monotonic() + span_s

    def over(self) -> bool:
        return time.monotonic() >= self._until


def state_of(client: Client, paths: Iterable[str] = WATCHED) -> dict[str, Any]:
    """Return what a driver must not change, by the path where its owner reads it."""
    found = {path: client.get(path)["items"] for path in paths}
    # Sessions and tokens say when they were used last, which an attack may be the cause of.
    return {path: [{**item, "last_used_at": None} for item in items] for path, items in found.items()}


def differences(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    return [f"{path} was {before[path]} and is {after[path]}"[:600] for path in before if before[path] != after[path]]


def refusals_logged(client: Client) -> set[tuple[str, str]]:
    """Return who was refused and why, as the log has it."""
    rows = client.pages(get_audit(), most=20_000)
    return {(str(row["by"]), str(row["note"])) for row in rows if row["kind"] == "refused"}


def unlogged(client: Client, tally: AttackTally) -> list[str]:
    """Return each kind of refusal that the log does not have. The log takes at most 30 of one caller in a minute."""

    def missing() -> list[str]:
        logged = refusals_logged(client)
        return [
            f"{who}: {why}" for who, why in tally.refused if not any(who in by and why in text for by, text in logged)
        ]

    try:
        until(lambda: not missing(), "each refusal stands in the log", _LOGGED_WITHIN_S)
    except AssertionError:
        return missing()
    return []
