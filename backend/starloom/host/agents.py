"""Agents of this machine: joins one with a code that the owner's own hub made, and returns the program that runs it.

A home remembers its device by id: names belong to the hub, and a person may give them to other devices. A home whose
device the hub no longer knows is replaced by a new one, because a revoked key is never accepted again.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from starloom.client.exits import Exit
from starloom.client.problems import Problem, here
from starloom.client.rest import Client
from starloom.client.routes import get_devices, get_enrollment, post_enrollments
from starloom.host.processes import Program
from starloom.process.computers import MARKER
from starloom_protocol.vocabulary import Profile

if TYPE_CHECKING:
    from starloom_protocol.api.fleet import DeviceRow

JOIN_S = 180.0
HUB_FILE = "hub.json"
OVER = {3: "the hub does not know this device any more, so it is not started again"}
"""The exit code by which an agent says that its hub refuses it for good, with the words for it."""


@dataclass(frozen=True)
class LocalAgent:
    """One agent that this machine runs. `url` is the hub's address, `via` the hub's socket if the agent uses it."""

    home: Path
    name: str
    url: str
    profile: Profile = Profile.OBSERVE
    folders: Sequence[Path] = field(default_factory=tuple)
    demo: bool = False
    lab: bool = False
    via: str = ""

    def program(self, log: Path) -> Program:
        """Return how to run it."""
        argv = [sys.executable, "-P", "-m", "starloom_agent", "run", "--home", str(self.home)]
        return Program(f"agent {self.name}", [*argv, *(["--lab"] if self.lab else [])], log=log, final_exits=OVER)


@dataclass(frozen=True)
class OwnDevice:
    """The device that a home of this machine is at the hub, under its present name."""

    id: str
    name: str


def own_device(client: Client, agent: LocalAgent) -> OwnDevice | None:
    """Return the device that the home has joined as, None where the hub has none or has revoked it."""
    marker = agent.home / MARKER
    if not marker.exists():
        return None
    marked = marker.read_text().strip()
    items = [item for item in client.get(get_devices())["items"] if not item["revoked"]]
    # Homes of the first versions remember the name that they joined with.
    row = next((item for key in ("id", "name") for item in items if item[key] == marked), None)
    if row is None:
        return None
    device = OwnDevice(str(row["id"]), str(row["name"]))
    if marked != device.id:
        marker.write_text(device.id)
    return device


def point_at(agent: LocalAgent) -> None:
    """Let a joined home find the same hub, whose key it has pinned, at its present address."""
    path = agent.home / HUB_FILE
    record = json.loads(path.read_text())
    if (record["hub"], record.get("via", "")) != (agent.url, agent.via):
        record |= {"hub": agent.url, "via": agent.via}
        part = path.with_name(path.name + ".part")
        part.touch(mode=0o600)
        part.write_text(json.dumps(record))
        part.replace(path)


async def join(client: Client, agent: LocalAgent) -> OwnDevice:
    """Join the agent if it has not joined yet, and return its device; its name may differ, if that was taken.

    Raises:
        Problem: it could not join; the agent's own words are quoted.
    """
    device = await asyncio.to_thread(own_device, client, agent)
    if device is not None:
        point_at(agent)
        return device
    shutil.rmtree(agent.home, ignore_errors=True)
    for folder in agent.folders:
        folder.mkdir(parents=True, exist_ok=True)
    body = {"label": agent.name, "name": agent.name, "preapproved": True, "demo": agent.demo}
    code_row = await asyncio.to_thread(lambda: client.create(post_enrollments(), body))
    try:
        async with asyncio.timeout(JOIN_S):
            await asyncio.to_thread(_enter, agent, code_row["code"])
    except TimeoutError as error:
        raise _join_problem(agent, f"it did not finish within {JOIN_S:g} s") from error
    enrollment = await asyncio.to_thread(lambda: client.get(get_enrollment(code_row["id"])))
    (agent.home / MARKER).write_text(str(enrollment["device"]))
    return OwnDevice(str(enrollment["device"]), str(enrollment["name"]))


def _enter(agent: LocalAgent, code: str) -> None:
    """Join as `starloom-agent join` does, without a process that would load all of it for one request.

    Raises:
        Problem: with the agent's own words.
    """
    from starloom_agent.home.directory import AgentHome
    from starloom_agent.owner import join_command
    from starloom_agent.platforms.processes import os_name
    from starloom_agent.policy.commands import PolicyFault
    from starloom_agent.wire import joining
    from starloom_agent.wire.dialling import BadRoute, Route

    request = joining.Asked(code=code, name=agent.name, os=os_name(), profile=agent.profile)
    try:
        route = Route(joining.hub_address(agent.url), via=agent.via)
        policy = join_command.policy_for(agent.profile, [str(folder) for folder in agent.folders])
        join_command.enter(AgentHome.at(str(agent.home)), route, request, policy, say=lambda _: None)
    except (joining.JoinRefused, join_command.CannotDo, BadRoute, PolicyFault, OSError) as error:
        raise _join_problem(agent, str(error)) from error


async def until_online(client: Client, names: Sequence[str], *, within_s: float = 30.0) -> None:
    """Wait until every one of these devices, by name or id, is online.

    Raises:
        Problem: one is not online in time; it says which and why.
    """
    deadline = asyncio.get_running_loop().time() + within_s
    while True:
        items = (await asyncio.to_thread(lambda: client.get(get_devices())))["items"]
        ready = [item for item in items if item["link"] == "online" and item["tools"]]
        missing = set(names) - {item[key] for item in ready for key in ("id", "name")}
        if not missing:
            return
        if asyncio.get_running_loop().time() > deadline:
            rows = {item[key]: item for item in items for key in ("name", "id")}
            reasons = [_absence(name, rows.get(name)) for name in sorted(missing)]
            raise device_missing(f"{'; '.join(reasons)}, after {within_s:g} s", "Read the log of its agent.")
        await asyncio.sleep(0.05)


def _absence(name: str, item: DeviceRow | None) -> str:
    if item is None:
        return f"{name} is not in the fleet"
    if item["revoked"]:
        return f"{item['name']} was revoked"
    return f"{item['name']} has told no tools yet" if item["link"] == "online" else f"{item['name']} is {item['link']}"


def device_missing(reason: str, hint: str) -> Problem:
    """Return the problem of a device that is missing at the hub, while the hub itself answers."""
    return here("device_missing", "A device is missing", reason, hint, Exit.FAILED)


def _join_problem(agent: LocalAgent, words: str) -> Problem:
    return device_missing(f"the agent {agent.name} could not join: {words}", "Run `starloom doctor`, then start again.")
