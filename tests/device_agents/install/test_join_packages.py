"""join.py installs each package in the version and with the hash that the hub names, and nothing else."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from importlib.metadata import requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.arch.checkout import ROOT
from tests.programs import ran
from tests.served import Quiet, Served
from tests.tiers import first_in_test
from tests.waiting import SLOWER

JOIN_PY = ROOT / "device_agents" / "join.py"
PINS = ROOT / "device_agents" / "requirements.lock"
BOUND_S = 120 * SLOWER
JOINED = "import sys; print('joined with', sys.argv[1])\n"


def wheel(folder: Path, name: str, version: str, needs: str, **modules: str) -> Path:
    """Write a wheel of a few modules."""
    made, info = folder / f"{name}-{version}-py3-none-any.whl", f"{name}-{version}.dist-info"
    about = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    about += f"Requires-Dist: {needs}\n" if needs else ""
    with zipfile.ZipFile(made, "w") as archive:
        for module, text in modules.items():
            archive.writestr(f"{module}.py", text)
        archive.writestr(f"{info}/METADATA", about)
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    return made


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


class FakeHub(Served):
    """Serves wheels, their list and the pins."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.pins = ""
        self.sha256 = sha256
        """The hash that it says of a wheel."""
        outer = self

        class Handler(Quiet, BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                raw = outer.answer(self.path)
                self.reply(200 if raw else 404, raw)

        super().__init__(Handler)

    def answer(self, path: str) -> bytes:
        if path == "/agent/requirements.txt":
            return self.pins.encode()
        if path == "/agent/wheels.json":
            found = sorted(self.folder.glob("*.whl"))
            rows = [{"name": item.name.split("-")[0], "file": item.name, "sha256": self.sha256(item)} for item in found]
            return json.dumps(rows).encode()
        return (self.folder / path.rpartition("/")[2]).read_bytes()


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[FakeHub]:
    folder = tmp_path / "wheels"
    folder.mkdir()
    wheel(folder, "starloom_protocol", "0.1.0", "needed")
    wheel(folder, "starloom_agent", "0.1.0", "starloom-protocol", starloom_agent=JOINED)
    with FakeHub(folder) as made:
        yield made


def join(
    hub: FakeHub, home: Path, index: Path | None = None, python: str = sys.executable
) -> subprocess.CompletedProcess[str]:
    """Run join.py on a device that has no package index but this folder."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PIP_")}
    environment |= {"PIP_CONFIG_FILE": os.devnull, "PIP_NO_INDEX": "1"}
    environment |= {"PIP_FIND_LINKS": str(index)} if index is not None else {}
    url = hub.url
    return ran([python, str(JOIN_PY), url, "CODE", "--home", str(home), "--no-start"], env=environment, timeout=BOUND_S)


@pytest.mark.parametrize("damage", first_in_test(["a package is half there", "no pip"]))
def test_an_environment_that_is_not_whole_is_made_again(hub: FakeHub, tmp_path: Path, damage: str) -> None:
    home, index = tmp_path / "home", tmp_path / "index"
    index.mkdir()
    good = wheel(index, "needed", "1.0", "", needed="x = 1\n")
    hub.pins = f"needed==1.0 \\\n    --hash=sha256:{sha256(good)}\n"
    if damage == "no pip":
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(home / "venv")], check=True, timeout=BOUND_S)
    else:
        assert join(hub, home, index).returncode == 0
        (installed,) = (home / "venv").glob("lib/*/site-packages/starloom_agent.py")
        installed.unlink()  # an interrupted pip had written down that it is there
    done = join(hub, home, index)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "joined with" in done.stdout


def test_another_build_of_the_same_version_takes_the_place_of_the_first(hub: FakeHub, tmp_path: Path) -> None:
    home, index = tmp_path / "home", tmp_path / "index"
    index.mkdir()
    good = wheel(index, "needed", "1.0", "", needed="x = 1\n")
    hub.pins = f"needed==1.0 \\\n    --hash=sha256:{sha256(good)}\n"
    assert join(hub, home, index).returncode == 0
    wheel(hub.folder, "starloom_agent", "0.1.0", "starloom-protocol", starloom_agent=JOINED.replace("joined", "again"))
    done = join(hub, home)  # what it needs is there and is not fetched again
    assert done.returncode == 0, done.stdout + done.stderr
    assert "again with join" in done.stdout


def has_pip(home: Path) -> bool:
    return any((home / "venv").glob("lib/*/site-packages/pip"))


def test_a_python_without_pip_gives_the_environment_one(hub: FakeHub, tmp_path: Path) -> None:
    """As Debian's is without python3-pip. A later try by a Python that has pip takes the environment as it is."""
    home, bare = tmp_path / "home", tmp_path / "bare"
    good = wheel(hub.folder, "needed", "1.0", "", needed="x = 1\n")
    hub.pins = f"needed==1.0 \\\n    --hash=sha256:{sha256(good)}\n"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(bare)], check=True, timeout=BOUND_S)
    done = join(hub, home, python=str(bare / "bin" / "python"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "joined with" in done.stdout
    assert has_pip(home)
    (kept := home / "venv" / "kept").touch()
    later = join(hub, home)
    assert later.returncode == 0, later.stdout + later.stderr
    assert kept.exists(), "a whole environment was made again"


def test_packages_are_installed_by_the_hash_that_the_hub_names(hub: FakeHub, tmp_path: Path) -> None:
    home, index = tmp_path / "home", tmp_path / "index"
    index.mkdir()
    good = wheel(index, "needed", "1.0", "", needed="x = 1\n")
    hub.pins = f"needed==1.0 \\\n    --hash=sha256:{sha256(good)}\n"

    good.rename(good.with_suffix(".kept"))
    wheel(index, "needed", "1.0", "", needed="x = 'other bytes'\n")
    other = join(hub, home, index)
    assert other.returncode != 0
    assert "DO NOT MATCH THE HASHES" in other.stderr
    assert "joined with" not in other.stdout

    (index / good.name).unlink()
    absent = join(hub, home)
    assert absent.returncode != 0
    assert "For a device without a package index see docs/reach.md" in absent.stderr

    (hub.folder / good.name).write_bytes(good.with_suffix(".kept").read_bytes())
    brought = join(hub, home)
    assert brought.returncode == 0, brought.stderr
    assert "also      needed==1.0" in brought.stdout
    assert "joined with join" in brought.stdout
    assert not has_pip(home), "the pip of this Python installs, as one more takes seconds"


def test_bytes_without_the_hash_that_the_hub_named_are_not_installed(hub: FakeHub, tmp_path: Path) -> None:
    hub.pins = "# none\n"
    (agent,) = hub.folder.glob("starloom_agent-*")
    named = {agent.name: "0" * 64}
    hub.sha256 = lambda path: named.get(path.name, sha256(path))
    done = join(hub, tmp_path / "home")
    assert done.returncode != 0
    assert f"{agent.name} has another hash than the hub named, {'0' * 64}: nothing was installed" in done.stderr
    named[agent.name] = ""
    assert "has another hash than the hub named" in join(hub, tmp_path / "home").stderr


def _pinned(path: Path) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    name = ""
    for line in path.read_text(encoding="utf-8").splitlines():
        if match := re.match(r"([a-z0-9-]+)==(\S+)", line):
            name = f"{match[1]}=={match[2]}"
            found[name] = []
        found.setdefault(name, []).extend(re.findall(r"--hash=(sha256:[0-9a-f]{64})", line))
    return found


def test_the_pins_of_a_device_are_those_of_the_lock() -> None:
    pins, lock = _pinned(PINS), _pinned(ROOT / "requirements.lock")
    assert pins
    for name, hashes in pins.items():
        assert sorted(hashes) == sorted(lock[name])


def test_the_pins_name_every_package_of_the_agent() -> None:
    names = {name.partition("==")[0] for name in _pinned(PINS)}
    wanted, seen = ["starloom-agent"], set[str]()
    while wanted:
        name = wanted.pop()
        seen.add(name)
        needs = [Requirement(text) for text in requires(name) or []]
        # A device that joins gets the extra of the agent, too: its photos are decoded.
        extra = {"extra": "pictures" if name == "starloom-agent" else ""}
        mine = [need for need in needs if need.marker is None or need.marker.evaluate(extra)]
        wanted += [need.name for need in mine if need.name not in seen]
    assert seen - {"starloom-agent", "starloom-protocol"} == names
