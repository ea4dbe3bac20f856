"""One fleet for all recipe tests of a run, emptied before each test."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.recipes.fleet import Fleet, running


@pytest.fixture(scope="package")
def _one_fleet(request: pytest.FixtureRequest) -> Iterator[Fleet]:
    # Not pytest's own folder: the path of a Unix socket must be short.
    home = Path(tempfile.mkdtemp(prefix="sl-recipes-"))
    failed_before = request.session.testsfailed
    with running(home, {"STARLOOM_A2A": "true"}) as made:
        yield made
    left = made.left_over()
    assert not left, f"these outlived the service: {left}"
    if request.session.testsfailed == failed_before:
        shutil.rmtree(home, ignore_errors=True)


@pytest.fixture
def fleet(_one_fleet: Fleet) -> Fleet:
    """The fleet with empty homes and all agents online."""
    _one_fleet.clear()
    return _one_fleet
