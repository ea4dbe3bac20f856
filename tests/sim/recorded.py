"""A schedule whose durable log is handed out when it is over."""

from __future__ import annotations

import pytest

from tests.sim import schedule
from tests.sim.hub import Site
from tests.sim.schedule import Outcome, run_seed
from tests.store.memory import MemoryHistory


def run_recorded(seed: int) -> tuple[Outcome, MemoryHistory]:
    """Run a schedule and return its outcome with the history that outlived its hubs."""
    sites: list[Site] = []

    def site(*given: object, **more: object) -> Site:
        sites.append(Site(*given, **more))  # type: ignore[arg-type]
        return sites[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(schedule, "Site", site)
        outcome = run_seed(seed)
    return outcome, sites[0].history
