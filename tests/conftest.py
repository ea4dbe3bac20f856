"""No example is judged by its time; programs of the administration are found; `--tier` chooses tests by name.

What a failed test shared with others ends with it.
"""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, settings

from tests import tiers
from tests.renewing import Renewal

ADMINISTRATION = ("/usr/local/sbin", "/usr/sbin", "/sbin")
"""Where a root without a login shell has no path to, though PostgreSQL's tests need `useradd` from there."""
_path = os.environ.get("PATH", os.defpath).split(os.pathsep)
os.environ["PATH"] = os.pathsep.join([*_path, *(name for name in ADMINISTRATION if name not in _path)])

# Hypothesis fails examples that take over 200 ms, and tests whose examples are drawn slowly.
settings.register_profile("untimed", settings(), deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--tier", choices=(*tiers.TIERS, tiers.SHORT), help="run the tests of this tier (docs/testing.md)")


def pytest_configure(config: pytest.Config) -> None:
    tiers.register(config)
    config.pluginmanager.register(Renewal())


def pytest_itemcollected(item: pytest.Item) -> None:
    tiers.mark(item)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    tiers.choose(config, items)
