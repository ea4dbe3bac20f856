"""A hub and one device with a secret and a file, and what of them a plan of a stranger must not reach."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any

from starloom.client.view import View
from starloom_protocol.records.entities import Attempt
from tests.guard.drivers.hostile import DEVICE, GRANTED, SECRET, VALUE
from tests.guard.drivers.tally import AttackTally
from tests.recipes.fleet import Fleet

TEXT = "this is mine"


class Ground:
    """`fleet` with its one device; `judge` adds what happened to a tally."""

    def __init__(self, fleet: Fleet) -> None:
        self.fleet = fleet
        fleet.client.put(f"/secrets/{SECRET}", {"value": VALUE})
        fleet.device(DEVICE).write(GRANTED, TEXT)
        self._before = fleet.device(DEVICE).files()

    def settle(self, constellation: str, tally: AttackTally) -> str:
        """Take an attack's constellation away as its owner; return the state it was in."""
        client = self.fleet.client
        state = str(client.get(f"/constellations/{constellation}")["state"])
        view = View(constellation)
        view.apply(client.events(constellation, 0))
        if begun := view.each("attempt", Attempt):
            tally.effects.append(f"{constellation} is {state} and began {', '.join(begun)}")
        if not view.final:
            client.post(f"/constellations/{constellation}/cancel", {"reason": "an attack"})
        return state

    def judge(self, tally: AttackTally) -> None:
        """Look whether the secret was given out, the device's files changed, or the value stands in any log."""
        secrets: list[dict[str, Any]] = self.fleet.client.get("/secrets")["items"]
        tally.effects += [f"{item['name']} was used" for item in secrets if item["last_used_at"] is not None]
        if self.fleet.device(DEVICE).files() != self._before:
            tally.effects.append("the device's files have changed")
        for path in (self.fleet.home / "logs").iterdir():
            said = path.read_text(errors="replace")
            tally.effects += [f"{path.name} has the secret" for value in (VALUE, VALUE[::-1]) if value in said]


@contextmanager
def standing(home: Path, settings: Mapping[str, str] = MappingProxyType({})) -> Iterator[Ground]:
    """Start it and end it."""
    fleet = Fleet(home, settings, (DEVICE,))
    try:
        fleet.start()
        yield Ground(fleet)
    finally:
        fleet.end()
