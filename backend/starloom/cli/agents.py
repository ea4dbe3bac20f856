"""Agents of this machine: joins one by a code that the owner's own hub made, and says how to run it.

A home whose device the hub no longer knows is made anew, because a revoked key never comes back.
"""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import socket
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from starloom.cli.client import Client
from starloom.cli.problems import Problem, unreachable
from starloom.cli.processes import Program
from starloom_protocol.vocabulary import Profile

JOIN_S = 180.0
MARKER = "joined-by-up"
HUB_FILE = "hub.json"


@dataclass(frozen=True)
class LocalAgent:
    """One agent that this machine runs. `url` is where it finds the hub, `via` the hub's socket if it goes by that."""

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
        argv = [sys.executable, "-m", "starloom_agent", "run", "--home", str(self.home)]
        return Program(f"agent {self.name}", [*argv, *(["--lab"] if self.lab else [])], log=log)


def computer_name() -> str:
    """Return this computer's name as a device name."""
    plain = re.sub(r"[^A-Za-z0-9-]+", "-", socket.gethostname().partition(".")[0]).strip("-").lower()
    return plain[:48] or "this-computer"


def is_joined(client: Client, agent: LocalAgent) -> bool:
    """Return whether the home belongs to a device that the hub still knows under this name."""
    if not (agent.home / MARKER).exists():
        return False
    items = client.get("/devices")["items"]
    return any(item["name"] == agent.name and not item.get("revoked") for item in items)


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


async def join(client: Client, agent: LocalAgent) -> None:
    """Join the agent if it has not yet.

    Raises:
        Problem: it could not join; the agent's own words are quoted.
    """
    if await asyncio.to_thread(is_joined, client, agent):
        point_at(agent)
        return
    shutil.rmtree(agent.home, ignore_errors=True)
    for folder in agent.folders:
        folder.mkdir(parents=True, exist_ok=True)
    made = await asyncio.to_thread(
        client.create,
        "/enrollments",
        {
            "label": agent.name,
            "name": agent.name,
            "preapproved": True,
            "demo": agent.demo,
        },
    )
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "starloom_agent", "join", agent.url, str(made["code"])),
        *("--name", agent.name, "--home", str(agent.home), "--yes"),
        *(("--via", agent.via) if agent.via else ()),
        *("--profile", agent.profile.value, *(str(folder) for folder in agent.folders)),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        async with asyncio.timeout(JOIN_S):
            said, _ = await process.communicate()
    except TimeoutError as error:
        process.kill()
        await process.wait()
        raise _refused(agent, f"it did not finish within {JOIN_S:g} s") from error
    if process.returncode != 0:
        raise _refused(agent, said.decode(errors="replace").strip()[-1000:])
    (agent.home / MARKER).write_text(agent.name)


async def until_online(client: Client, names: Sequence[str], *, within_s: float = 30.0) -> None:
    """Wait until every one of these devices is online.

    Raises:
        Problem: one is not, in time.
    """
    missing = set(names)
    deadline = asyncio.get_running_loop().time() + within_s
    while True:
        items = await asyncio.to_thread(client.get, "/devices")
        missing = set(names) - {item["name"] for item in items["items"] if item["link"] == "online" and item["tools"]}
        if not missing:
            return
        if asyncio.get_running_loop().time() > deadline:
            who = ", ".join(sorted(missing))
            raise unreachable(f"{who} did not come online within {within_s:g} s", "See its log in the data folder.")
        await asyncio.sleep(0.05)


def _refused(agent: LocalAgent, said: str) -> Problem:
    return unreachable(f"the agent {agent.name} could not join: {said}", "Run `starloom doctor`, then start again.")
