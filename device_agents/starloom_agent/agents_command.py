"""`starloom-agent agents ls | check`: the agents of the owner's `agents.toml`, and whether each of them answers."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from starloom_agent.agents import FILE, AgentsFault, Told, greeted, read_agents
from starloom_agent.home import AgentHome
from starloom_agent.policy import Policy, grant_line
from starloom_agent.policy_file import read_policy
from starloom_agent.toolkit.interface import refused_line
from starloom_agent.tools.remote_agent import ToldRemote
from starloom_protocol.vocabulary import Effect

Show = Callable[[str], None]
EXIT_FAILED = 1


def agents(home: AgentHome, options: argparse.Namespace, show: Show) -> int:
    """List the agents, or check them; return 1 if an entry is wrong or an agent does not answer."""
    found, faults = read_agents(home.root)
    if options.name:
        if options.name not in found:
            listed = ", ".join(found) or "none"
            raise AgentsFault(f"{home.root / FILE} has no usable agent {options.name}; there are: {listed}")
        found = {options.name: found[options.name]}
    for fault in faults:
        show(f"left out: {fault}")
    if not found and not faults:
        show(f"no agent is named in {home.root / FILE}")
    policy = read_policy(home.policy)
    failed = bool(faults)
    for told in found.values():
        show(f"{told.name}  {told.title}")
        for line in _lacking(home, policy, told):
            show(f"  not allowed yet; type: {home.written(line)}")
        if options.action == "check":
            failed = not _answers(told, show) or failed
    return EXIT_FAILED if failed else 0


def _answers(told: Told, show: Show) -> bool:
    try:
        show(f"  it answers: {greeted(told)}")
    except AgentsFault as fault:
        show(f"  it does not work: {fault}")
        return False
    return True


def _lacking(home: AgentHome, policy: Policy, told: Told) -> list[str]:
    """Return the lines that the owner would type, so that work can be handed to it."""
    lines = [] if f"agent:{told.name}" in policy.allowed else [grant_line(f"agent:{told.name}")]
    if isinstance(told, ToldRemote):
        return lines
    writes = Effect.WRITE in told.effects
    allowed = policy.folders(home.workspace)
    roots = allowed.write if writes else allowed.read
    outside = [
        folder
        for folder in map(Path, told.folders)
        if not any(folder == root or root in folder.parents for root in roots)
    ]
    return [*lines, *(refused_line("files:write" if writes else "files:read", folder) for folder in outside)]
