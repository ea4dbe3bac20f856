"""`starloom-agent upgrade` as its owner types it: a real hub, join.py with an environment of its own, bumped wheels.

The wheels are the checkout's with another version written into them, so each agent that comes online is a whole one.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

import psutil
import pytest

from starloom_agent.install.upgrading import OWN
from tests.installation import Installation
from tests.programs import bare_environment, ran
from tests.tiers import first_in_test
from tests.waiting import SLOWER, until

ROOT = Path(__file__).resolve().parents[2]
BOUND_S = 300 * SLOWER
SOURCES = {"starloom_protocol": "protocol", "starloom_agent": "device_agents"}
Change = Callable[[str, bytes], bytes]
REFUSES = b"raise SystemExit('no')"
ENDS = b"""
async def _ends(self):
    raise SystemExit("it ends at once")
Agent.run = _ends
"""
SYSTEMCTL = """#!{python}
import os, pathlib, re, shlex, signal, subprocess, sys

import psutil

words = [word for word in sys.argv[1:] if not word.startswith("-")]
if words == ["daemon-reload"]:
    sys.exit()
deed, unit = words
unit = pathlib.Path(os.environ["HOME"], ".config/systemd/user", unit)
command = shlex.split(re.search("^ExecStart=(.*)$", unit.read_text(), re.M)[1])
state = unit.with_suffix(".pid")


def stop():
    if not state.exists():
        return
    group = int(state.read_text())
    state.unlink()
    leader = psutil.Process(group)
    running = [leader, *leader.children(recursive=True)]
    os.killpg(group, signal.SIGTERM)
    psutil.wait_procs(running)


if deed in ("stop", "disable", "restart"):
    stop()
if deed in ("start", "enable", "restart") and not state.exists():
    line = f"trap : TERM; while [ -e {{shlex.quote(str(state))}} ]; do {{shlex.join(command)}}; sleep 0.5; done"
    null = subprocess.DEVNULL
    state.write_text("0")
    made = subprocess.Popen(["sh", "-c", line], start_new_session=True, stdin=null, stdout=null, stderr=null)
    state.write_text(str(made.pid))
"""


def bumped(wheel: Path, version: str, folder: Path, change: Change = lambda _name, data: data) -> None:
    """Write a wheel again as another version; `change` may alter its files."""
    name = wheel.name.split("-")[0]
    old = wheel.name.split("-")[1]
    made = folder / wheel.name.replace(f"-{old}-", f"-{version}-", 1)
    with zipfile.ZipFile(wheel) as source, zipfile.ZipFile(made.with_suffix(".part"), "w") as target:
        for item in source.infolist():
            data = source.read(item)
            if item.filename.endswith("/METADATA"):
                data = data.replace(f"\nVersion: {old}\n".encode(), f"\nVersion: {version}\n".encode(), 1)
            if item.filename == f"{name}/__init__.py":
                data = data.replace(f'__version__ = "{old}"'.encode(), f'__version__ = "{version}"'.encode())
            place = item.filename.replace(f"{name}-{old}.dist-info/", f"{name}-{version}.dist-info/")
            if place.endswith("/RECORD"):
                data = data.replace(f"{name}-{old}.dist-info/".encode(), f"{name}-{version}.dist-info/".encode())
                # A changed file has another hash than its line says; without one, pip takes it as it is.
                data = re.sub(rb"^([^,\n]+),[^\n]*$", rb"\1,,", data, flags=re.MULTILINE)
            target.writestr(place, change(place, data))
    made.with_suffix(".part").rename(made)


class Device:
    """A device that joined by join.py, and what its owner types there."""

    def __init__(self, service: Installation, place: Path, wheels: Path, original: dict[str, Path]) -> None:
        self.service = service
        self.home = place / "agent"
        self.wheels = wheels
        self._original = original
        self._versions = 0
        self._environment = {**bare_environment("PYTHONPATH"), "HOME": str(place)}

    def offer(self, version: str, change: Change = lambda _name, data: data) -> None:
        """Have the hub hand out exactly this version."""
        for wheel in self.wheels.glob("*.whl"):
            wheel.unlink()
        for name in OWN:
            bumped(self._original[name], version, self.wheels, change if name == "starloom_agent" else lambda _, d: d)

    def join(self, *words: str) -> str:
        """Type the joining line of a new code and wait for its agent; return what the line said."""
        code = str(self.service.client.post("/enrollments", {"preapproved": True})["code"])
        url = f"http://127.0.0.1:{self.service.port}"
        argv = [sys.executable, str(ROOT / "device_agents" / "join.py"), url, code, "--home", str(self.home), *words]
        done = subprocess.run(argv, env=self._environment, capture_output=True, text=True, timeout=BOUND_S, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        self.service.until_online("box")
        return done.stdout

    def argv(self, *words: str) -> list[str]:
        return [str(self.home / "venv" / "bin" / "starloom-agent"), *words, "--home", str(self.home)]

    def type(self, *words: str, more: Mapping[str, str] = MappingProxyType({})) -> subprocess.CompletedProcess[str]:
        return ran(self.argv(*words), env={**self._environment, **more}, stdin=subprocess.DEVNULL, timeout=BOUND_S)

    def started(self, *words: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            self.argv(*words),
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def at_hub(self) -> tuple[str, str]:
        """Return link and version as the hub shows them."""
        shown = self.service.client.get("/devices/box")
        return str(shown["link"]), str(shown["version"])

    def until(self, version: str) -> None:
        until(lambda: self.at_hub() == ("online", version), f"box is online with {version}", 90 * SLOWER)

    def works(self) -> None:
        """See that the device carries out a task."""
        task = {"id": "t", "tool": "system.info", "device": {"name": "box"}}
        plan = {"starloom": 1, "name": "look", "tasks": [task]}
        made = self.service.client.post("/constellations", {"plan": plan})["id"]
        ended = lambda: self.service.client.get(f"/constellations/{made}")["state"] == "succeeded"  # noqa: E731
        until(ended, "the task is done", 60 * SLOWER)

    def environments(self) -> list[str]:
        return sorted(path.name for path in self.home.glob("venv*") if not path.is_symlink())

    def newer(self) -> str:
        """Return a version above all before."""
        self._versions += 1
        return f"9.{self._versions}.0"

    def pid(self) -> int:
        return int((self.home / "run" / "agent.pid").read_text())

    def close(self) -> None:
        """End every process of this home, by its id."""
        for process in psutil.process_iter(["cmdline"]):
            if str(self.home) in (process.info["cmdline"] or []):
                process.kill()


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    place = tmp_path_factory.mktemp("original")
    for folder in SOURCES.values():
        subprocess.run(
            [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(place)],
            cwd=ROOT / folder,
            check=True,
            capture_output=True,
            timeout=BOUND_S,
        )
    return {name: next(place.glob(f"{name}-*.whl")) for name in SOURCES}


@pytest.fixture(scope="module")
def device(tmp_path_factory: pytest.TempPathFactory, original: dict[str, Path]) -> Iterator[Device]:
    place = tmp_path_factory.mktemp("upgrading")
    wheels = place / "wheels"
    wheels.mkdir()
    service = Installation(place / "hub", {"STARLOOM_WHEELS": str(wheels)})
    made = Device(service, place, wheels, original)
    try:
        service.up()
        made.offer(made.newer())
        made.join("--name", "box", "--profile", "work")
        yield made
    finally:
        made.close()
        service.close()


def test_an_agent_is_upgraded_and_what_does_not_work_is_taken_back(device: Device) -> None:
    """One device all along, because each environment takes many seconds to make."""
    have = device.at_hub()[1]

    device.offer(have)
    same = device.type("upgrade")
    assert same.returncode == 0, same.stdout + same.stderr
    assert f"{have} is the version that the hub hands out" in same.stdout

    device.offer("0.0.9")
    older = device.type("upgrade")
    assert older.returncode == 1
    assert f"0.0.9, which is no newer than {have} here" in older.stderr

    version, before = device.newer(), device.environments()
    pid = device.pid()
    device.offer(version)
    dry = device.type("upgrade", "--dry-run")
    assert f"starloom_agent-{version}" in dry.stdout
    assert (device.environments(), device.pid()) == (before, pid)
    done = device.type("upgrade")
    assert done.returncode == 0, done.stdout + done.stderr
    device.until(version)
    device.works()
    assert device.type("status").returncode == 0
    new = (device.home / "venv").resolve().name
    assert (device.home / "venv").is_symlink()
    assert new not in before

    # It does not start: seen before the old one is stopped.
    pid = device.pid()
    device.offer(device.newer(), lambda name, data: REFUSES if name.endswith("work/runtime.py") else data)
    broken = device.type("upgrade")
    assert broken.returncode == 1
    assert "the new agent does not start; the agent before goes on" in broken.stderr
    assert device.pid() == pid
    assert device.environments() == [new], "what stood before the last upgrade, or what failed, is still there"

    # It starts and ends at once: the old one is put back.
    device.offer(device.newer(), lambda name, data: data + ENDS if name.endswith("work/runtime.py") else data)
    broken = device.type("upgrade")
    assert broken.returncode == 1
    assert "the new agent ended" in broken.stderr
    assert f"was taken away again; {version} runs again" in broken.stderr
    device.until(version)
    device.works()
    assert (device.home / "venv").resolve().name == new

    # A stop and a start go by the name.
    assert device.type("stop").returncode == 0
    assert device.type("start").returncode == 0
    device.until(version)


def test_the_joining_line_typed_again_upgrades_a_device_that_has_joined(device: Device) -> None:
    """Also for an agent that this hub refuses, which has no other way to a newer one."""
    before, pid, version = device.at_hub()[1], device.pid(), device.newer()
    kept = {name: (device.home / name).read_bytes() for name in ("device.key", "policy.toml", "hub.json")}
    rows = device.service.client.get("/devices")["items"]
    device.offer(version)
    said = device.join("--name", "other", "--profile", "observe")
    assert f"This device has joined http://127.0.0.1:{device.service.port} as box already" in said
    assert f"version    {before} here, {version} at the hub" in said
    assert f"Its agent is {version}.\nIt runs already, process {device.pid()}." in said
    assert "starloom device rename box other" in said
    device.until(version)
    assert device.pid() != pid
    assert {name: (device.home / name).read_bytes() for name in kept} == kept
    assert {row["id"] for row in device.service.client.get("/devices")["items"]} == {row["id"] for row in rows}
    device.works()

    # A stopped agent is started, as by the first join; one that is to be started by hand is not.
    assert device.type("stop").returncode == 0
    line = ("join", f"http://127.0.0.1:{device.service.port}", "ABCD-EFGH-JKMN")
    said = device.type(*line).stdout
    assert f"Its agent is {version}." in said
    assert "Start it: " in said
    assert device.type(*line, "--start").returncode == 0
    device.until(version)


@pytest.mark.parametrize("word", first_in_test(["installed", "downloaded", "online"]))
def test_a_killed_upgrade_leaves_an_agent_that_works(device: Device, word: str) -> None:
    version = device.newer()
    device.offer(version)
    upgrade = device.started("upgrade")
    assert upgrade.stdout is not None
    for line in upgrade.stdout:
        if line.startswith(word):
            break
    upgrade.send_signal(signal.SIGKILL)
    upgrade.wait()
    upgrade.stdout.close()
    until(lambda: device.at_hub()[0] == "online", "an agent is online", 90 * SLOWER)
    device.works()
    assert device.type("status").returncode == 0
    again = device.type("upgrade")
    assert again.returncode == 0, again.stdout + again.stderr
    device.until(version)
    device.works()
    assert json.loads((device.home / "run" / "status.json").read_text())["version"] == version
    assert not list((device.home / "run").glob("upgrade-*"))
    assert len(device.environments()) <= 3


@pytest.mark.proof(
    shown_by="tests/host/test_upgrading.py::test_an_agent_is_upgraded_and_what_does_not_work_is_taken_back"
)
def test_an_agent_that_is_a_service_stays_one(device: Device, tmp_path: Path) -> None:
    """A small `systemctl` stands in for the real one: it starts, stops and starts again what the unit says."""
    (tmp_path / "systemctl").write_text(SYSTEMCTL.format(python=sys.executable))
    (tmp_path / "loginctl").write_text("#!/bin/sh\n")
    for name in ("systemctl", "loginctl"):
        (tmp_path / name).chmod(0o755)
    more = {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    assert device.type("install-service", more=more).returncode == 0
    try:
        device.until(device.at_hub()[1])
        version = device.newer()
        device.offer(version)
        done = device.type("upgrade", more=more)
        assert done.returncode == 0, done.stdout + done.stderr
        device.until(version)
        device.works()
        running = psutil.Process(device.pid()).cmdline()
        assert running[0] == str(device.home / "venv" / "bin" / "python")
        assert "--takeover-s" not in running, "the trial was not replaced by the service"

        device.offer(device.newer(), lambda name, data: data + ENDS if name.endswith("work/runtime.py") else data)
        broken = device.type("upgrade", more=more)
        assert broken.returncode == 1
        device.until(version)
        device.works()
        assert "--takeover-s" not in psutil.Process(device.pid()).cmdline()
    finally:
        removed = device.type("uninstall-service", more=more)
        assert device.type("start").returncode == 0
    assert removed.returncode == 0, removed.stdout + removed.stderr
    device.until(version)
