"""An installation from wheels alone, without a checkout: it starts, answers, and hands out the agent.

The wheels are built here and unpacked before everything else on the path; the packages they depend on are those of the
development environment. The second wheel is built from the source archive, as a package index does it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from email.parser import Parser
from pathlib import Path
from typing import Any

import pytest

from starloom.process.computers import computer_name
from tests.installation import Installation
from tests.programs import ran_command
from tests.waiting import SLOWER

ROOT = Path(__file__).resolve().parents[2]
OWN = {"protocol": "starloom_protocol", "device_agents": "starloom_agent", "backend": "starloom"}
BOUND_S = 120 * SLOWER


def build(source: Path, target: Path, *what: str) -> None:
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", *what, "-d", str(target)],
        cwd=source,
        check=True,
        capture_output=True,
        timeout=BOUND_S,
    )


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Build the three wheels; the hub's from its source archive, outside of the checkout."""
    place = tmp_path_factory.mktemp("wheels")
    for folder in ("protocol", "device_agents"):
        build(ROOT / folder, place, "-t", "wheel")
    build(ROOT / "backend", place, "-t", "sdist")
    (archive,) = place.glob("starloom-*.tar.gz")
    # Python 3.12 and 3.13 warn where none is set; the oldest releases of 3.11 do not know the argument.
    filtered: Any = {"filter": "data"} if sys.version_info >= (3, 12) else {}
    shutil.unpack_archive(archive, place / "source", **filtered)
    (unpacked,) = (place / "source").iterdir()
    build(unpacked, place, "-t", "wheel")
    return {name: next(place.glob(f"{name}-*.whl")) for name in OWN.values()}


@pytest.fixture(scope="module")
def installed(wheels: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Installation, Path]]:
    """Start `starloom up` from the unpacked wheels, with this computer's agent."""
    place = tmp_path_factory.mktemp("installed")
    site = place / "site"
    for wheel in wheels.values():
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(site)
    made = Installation(place / "home", {"PYTHONPATH": str(site), "HOME": str(place)})
    try:
        made.up()
        made.until_online(computer_name())
        yield made, site
    finally:
        made.close()


def starloom(installed: tuple[Installation, Path], *arguments: str) -> subprocess.CompletedProcess[str]:
    made, site = installed
    environment = {"PYTHONPATH": str(site), "HOME": str(site.parent)}
    return ran_command(made.home, *arguments, cwd=made.home, env=environment, timeout=BOUND_S)


def test_a_wheel_names_what_it_needs_and_what_it_is(wheels: dict[str, Path]) -> None:
    for name, wheel in wheels.items():
        with zipfile.ZipFile(wheel) as archive:
            (path,) = [path for path in archive.namelist() if path.endswith(".dist-info/METADATA")]
            said = Parser().parsestr(archive.read(path).decode())
        assert said["License-Expression"] == "MIT"
        assert said["Author"]
        assert str(said.get_payload()).strip(), f"{name} has no description"
        if name == "starloom":
            assert "starloom-agent[pictures]" in said.get_all("Requires-Dist", [])


def test_the_service_runs_without_a_checkout(installed: tuple[Installation, Path]) -> None:
    done = starloom(installed, "submit", "how are my machines", "--wait")
    assert done.returncode == 0, done.stdout + done.stderr
    assert str(installed[1]) in starloom_place(installed)


def starloom_place(installed: tuple[Installation, Path]) -> str:
    done = subprocess.run(
        [sys.executable, "-c", "import starloom.app; print(starloom.app.__file__)"],
        env={**os.environ, "PYTHONPATH": str(installed[1])},
        cwd=installed[0].home,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def test_the_hub_hands_out_its_agent(installed: tuple[Installation, Path]) -> None:
    done = starloom(installed, "enroll", "--name", "attic", "--no-wait")
    assert done.returncode == 0, done.stderr
    assert "join.py" in done.stdout
    status, listed = installed[0].client.outside("/agent/wheels.json")
    assert status == 200
    assert {item["name"] for item in listed} == {"starloom_protocol", "starloom_agent"}
    assert "ok    agent to hand out" in starloom(installed, "doctor").stdout


def test_a_hub_without_the_agent_says_so_before_a_code_is_made(installed: tuple[Installation, Path]) -> None:
    made, site = installed
    (kept,) = site.glob("starloom/_agent/wheels")
    away = kept.rename(kept.with_name("away"))
    try:
        done = starloom(installed, "enroll", "--name", "cellar", "--no-wait")
        assert done.returncode == 2
        assert "no agent to hand out" in done.stderr
        assert "Install the hub from its wheel" in done.stderr
        assert "cellar" not in [item["label"] for item in made.client.get("/enrollments")["items"]]
        assert "FAIL  agent to hand out" in starloom(installed, "doctor").stdout
    finally:
        away.rename(kept)
