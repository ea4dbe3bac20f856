"""The world on this machine: a private hub and five real agents, each with a folder that is its whole world.

`reset` gives every device the files and states that a task begins with; hub and agents go on meanwhile. Everything
lies below one folder, nothing is global, and all processes are ended by id.
"""

from __future__ import annotations

import json
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any, Final

from starloom.host.agents import LocalAgent
from starloom.lab.installation import Installation, left_over
from starloom.lab.nebula.world import world_program
from starloom.lab.nebula.world.checked_world import Call, calls_of
from starloom.lab.nebula.world.devices import DEVICES, LOOPBACK, NAMES, SERVERS, mcp_file
from starloom.lab.nebula.world.files import desk, others, servers
from starloom.lab.nebula.world.files.ground import FILES, WORLD, Facts, Ground
from starloom.lab.nebula.world.sites import Certificate, Site, certify
from starloom.lab.nebula.world.world_program import PROFILE
from starloom_agent.owner.mcp import FILE as MCP_FILE
from starloom_agent.policy.commands import CommandRule, word_of
from starloom_agent.policy.file import read_policy, write_policy
from starloom_agent.policy.policy import ANSWERS_HUB


def lay_base(root: Path, facts: Facts) -> Ground:
    """Lay the base world out below an empty folder and return its ground."""
    ground = Ground(root, facts)
    desk.lay(ground)
    servers.lay(ground)
    others.lay(ground)
    for device in DEVICES:
        profile = {"seed": facts.seed, "device": device.name, "speed": device.speed}
        world = root / device.name / "world"
        world.mkdir(parents=True, exist_ok=True)
        (world / PROFILE).write_text(json.dumps(profile, sort_keys=True))
    return ground


PRIVATE_MODE: Final = 0o700
OWN_FILE_MODE: Final = 0o600
Fixture = Callable[[Ground], dict[str, Any]]


class NebulaWorld(Installation):
    """`start` it, `reset` it before each task, `close` it. Below `root`: `hub`, `devices/NAME/{files,world,agent}`."""

    def __init__(
        self,
        root: Path,
        seed: int,
        day: date,
        hub_variables: Mapping[str, str] | None = None,
        *,
        time_scale: int = 1,
    ) -> None:
        super().__init__(root / "hub", NAMES, seed)
        self.time_scale = time_scale
        self.root = root
        self.day = day
        self._hub_variables = dict(hub_variables or {})
        self._of = {device.name: device for device in DEVICES}
        self._sites: dict[str, Site] = {}
        self._certificate: Certificate | None = None

    def start(self) -> None:
        """Lay the world out, serve its sites and start hub and devices.

        Raises:
            Problem: something did not start, with the end of its log.
        """
        self.root.mkdir(parents=True, exist_ok=True, mode=PRIVATE_MODE)
        for name in self.devices:
            for part in (FILES, WORLD):
                (self._device(name) / part).mkdir(parents=True, exist_ok=True, mode=PRIVATE_MODE)
        self._certificate = certify(self.root, self.day)
        for server in SERVERS:
            self._sites[server] = Site(self._device(server), self._certificate)
        self.reset(self._seed)
        super().start()

    def close(self) -> None:
        super().close()
        for site in self._sites.values():
            site.close()
        self._sites.clear()

    def left_over(self) -> list[str]:
        return list(left_over(self.root, at_terminals=False))

    def facts(self, seed: int) -> Facts:
        urls = {server: (site.url, site.secure_url) for server, site in self._sites.items()}
        until = self._certificate.until.isoformat() if self._certificate else ""
        return Facts(seed, self.day, urls, until)

    def reset(self, seed: int, fixture: Fixture | None = None) -> tuple[Facts, dict[str, Any]]:
        """Give every device its first files and states, changed by a task's fixture; return the facts and the truth
        that the fixture computed."""
        facts = replace(self.facts(seed), clock_s=time.time())
        base = self._base(facts)
        for name in self.devices:
            for part in (FILES, WORLD):
                _renew(self._device(name) / part, base / name / part)
        for site in self._sites.values():
            site.rewind()
        ground = Ground(self.root / "devices", facts)
        return facts, fixture(ground) if fixture is not None else {}

    def lay(
        self,
        texts: Mapping[str, Mapping[str, str]],
        own: Mapping[str, Mapping[str, Mapping[str, Any]]],
        commits: Mapping[str, str],
    ) -> None:
        """Lay further texts by device and path, states of own tools by device and area, and messages of commits."""
        ground = Ground(self.root / "devices", self.facts(self._seed))
        for device, files in texts.items():
            for path, text in files.items():
                ground.write(device, path, text)
        for device, areas in own.items():
            for area, further in areas.items():
                ground.set_state(device, area, merged(ground.state(device, area), further))
        for repository, message in commits.items():
            desk.commit_nothing(ground, repository, message)

    def make_noisy(self, noise: Mapping[str, object]) -> None:
        """Let the own tools of all devices fail, lie and be slow by these shares, until the next `reset`."""
        for name in self.devices:
            (self._device(name) / WORLD / world_program.NOISE).write_text(json.dumps(dict(noise)))

    def ground(self, seed: int) -> Ground:
        """Return the ground of the devices as they are now, for a change while a task runs."""
        return Ground(self.root / "devices", self.facts(seed))

    def calls(self) -> list[Call]:
        """Return the calls of all devices' own tools so far."""
        return calls_of(self.root / "devices")

    def _base(self, facts: Facts) -> Path:
        """Return the base world of a seed, laid out once."""
        folder = self.root / "base" / str(facts.seed)
        if not folder.exists():
            lay_base(folder, facts)
        return folder

    def _device(self, name: str) -> Path:
        return self.root / "devices" / name

    def folder(self, name: str) -> Path:
        return self._device(name) / FILES

    def agent_home(self, name: str) -> Path:
        return self._device(name) / "agent"

    def hub_variables(self) -> dict[str, str]:
        return self._hub_variables

    def variables(self, name: str) -> dict[str, str]:  # noqa: ARG002 - all devices trust the same certificate
        return {"SSL_CERT_FILE": str(self._certificate.file)} if self._certificate else {}

    def slots(self, name: str) -> int:
        return self._of[name].slots

    def local_agent(self, name: str, url: str) -> LocalAgent:
        return LocalAgent(self.agent_home(name), name, url, self._of[name].profile, (self.folder(name),), lab=True)

    def allow(self, agents: Iterable[LocalAgent]) -> None:
        """Write each device's policy and servers, as its owner would by typing."""
        program = (sys.executable, "-I", world_program.__file__)
        for agent in agents:
            device = self._of[agent.name]
            path = agent.home / "policy.toml"
            policy = read_policy(path)
            grants = policy.grants | device.grants
            commands = tuple(CommandRule.of([word_of(word) for word in argv]) for argv in device.commands)
            mine = replace(policy, grants=grants, hosts=(LOOPBACK,), commands=commands, answers=ANSWERS_HUB)
            write_policy(path, mine)
            own_tools = agent.home / MCP_FILE
            own_tools.touch(mode=OWN_FILE_MODE)
            own_tools.write_text(mcp_file(device, program, str(self._device(agent.name) / WORLD)))


def merged(state: Mapping[str, Any], further: Mapping[str, Any]) -> dict[str, Any]:
    """Return a state with further entries: lists get longer, objects are merged, other values are replaced."""
    whole = dict(state)
    for name, value in further.items():
        before = whole.get(name)
        if isinstance(before, list) and isinstance(value, list):
            whole[name] = [*before, *value]
        elif isinstance(before, dict) and isinstance(value, dict):
            whole[name] = merged(before, value)
        else:
            whole[name] = value
    return whole


def _renew(folder: Path, origin: Path) -> None:
    """Make a folder's contents those of another; the folder itself stays, since agents hold it."""
    for entry in folder.iterdir():
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        else:
            entry.unlink()
    shutil.copytree(origin, folder, dirs_exist_ok=True)
