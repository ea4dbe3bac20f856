"""One fleet for all recipe tests of a run, emptied before each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.installation import home_for
from tests.recipes.fleet import Fleet, running


@pytest.fixture(scope="package")
def _one_fleet(request: pytest.FixtureRequest) -> Iterator[Fleet]:
    with home_for(request, "sl-recipes-") as home, running(home, {"STARLOOM_A2A": "true"}) as made:
        yield made


@pytest.fixture
def fleet(_one_fleet: Fleet) -> Fleet:
    """The fleet with empty homes and all agents online."""
    _one_fleet.clear()
    return _one_fleet
