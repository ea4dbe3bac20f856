"""One base world of seed 1 for all tests of the suite, and a copy of it for those that change it."""

from __future__ import annotations

import shutil
from datetime import date
from pathlib import Path
from typing import Final

import pytest

from starloom.lab.nebula.world.checked_world import Snapshot, take_snapshot
from starloom.lab.nebula.world.devices import SERVERS
from starloom.lab.nebula.world.files.ground import Facts, Ground
from starloom.lab.nebula.world.nebula_world import lay_base

DAY: Final = date(2026, 11, 25)
SITES: Final = {
    server: (f"http://127.0.0.1:{8001 + 2 * number}", f"https://127.0.0.1:{8002 + 2 * number}")
    for number, server in enumerate(SERVERS)
}
FACTS: Final = Facts(1, DAY, SITES, "2027-02-23T00:00:00+00:00")


@pytest.fixture(scope="session")
def facts() -> Facts:
    return FACTS


@pytest.fixture(scope="session")
def laid(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the base world; nobody changes it."""
    root = tmp_path_factory.mktemp("nebula") / "world"
    lay_base(root, FACTS)
    return root


@pytest.fixture(scope="session")
def base(laid: Path) -> Snapshot:
    return take_snapshot(laid)


@pytest.fixture
def ground(laid: Path, tmp_path: Path) -> Ground:
    """A copy of the base world to change."""
    root = tmp_path / "world"
    shutil.copytree(laid, root)
    return Ground(root, FACTS)
