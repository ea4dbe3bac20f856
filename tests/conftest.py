"""No example is judged by its time; a run that must end fails then, with its report; on a slow machine a share runs.

`scripts/verify.py` decides all of it. What did not run before the time was over has shown nothing, so that run is not
green, whatever passed before; what a share leaves out is counted as deselected.
"""

from __future__ import annotations

import os
import random
import time

import pytest
from hypothesis import HealthCheck, settings

UNTIL_S = float(os.environ.get("TESTS_UNTIL") or "inf")
"""Seconds since the epoch."""
OUT_OF_TIME = 3
"""The exit code of pytest; what its own codes mean is something else."""

ADMINISTRATION = ("/usr/local/sbin", "/usr/sbin", "/sbin")
"""Where a root without a login shell has no path to, though PostgreSQL's tests need `useradd` from there."""
_path = os.environ.get("PATH", os.defpath).split(os.pathsep)
os.environ["PATH"] = os.pathsep.join([*_path, *(name for name in ADMINISTRATION if name not in _path)])

SHARE = float(os.environ.get("TESTS_SHARE") or 1)
SEED = os.environ.get("TESTS_SEED", "0")

# Hypothesis fails examples that take over 200 ms, and tests whose examples are drawn slowly.
settings.register_profile("untimed", settings(), deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> None:
    if time.time() >= UNTIL_S:
        pytest.exit(f"the time of this run is over before {item.nodeid}, and those after it, began", OUT_OF_TIME)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep a share of the files, drawn by the seed: whole ones, since what a file starts serves all of its tests."""
    if SHARE >= 1 or not items:
        return
    files = {str(item.path.relative_to(config.rootpath)) for item in items}
    drawn = {name: random.Random(f"{SEED} {name}").random() for name in files}
    kept = {name for name, number in drawn.items() if number < SHARE} or {min(files, key=lambda name: drawn[name])}
    config.hook.pytest_deselected(items=[i for i in items if str(i.path.relative_to(config.rootpath)) not in kept])
    items[:] = [item for item in items if str(item.path.relative_to(config.rootpath)) in kept]
