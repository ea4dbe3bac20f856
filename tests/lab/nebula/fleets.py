"""The five devices of the world as a planner sees them, by the real policy, tools and MCP program, without a hub."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from starloom.lab.nebula.world import world_program
from starloom.lab.nebula.world.devices import DEVICES, LOOPBACK, NebulaDevice, mcp_file
from starloom.planner.fleet import FleetSnapshot
from starloom_agent.owner.mcp import FILE, find_tools
from starloom_agent.policy.commands import CommandRule, word_of
from starloom_agent.policy.offers import make_offer
from starloom_agent.policy.policy import Policy
from starloom_agent.sandbox.cage import Layer
from starloom_agent.sandbox.levels import Sandbox
from starloom_agent.work.registry import all_tools
from starloom_protocol.records.entities import Device, Offer
from starloom_protocol.vocabulary import DeviceLink


def _offer(device: NebulaDevice, home: Path) -> Offer:
    servers = home / FILE
    servers.touch(mode=0o600)
    servers.write_text(mcp_file(device, (sys.executable, "-I", world_program.__file__), str(home)))
    commands = tuple(CommandRule.of([word_of(word) for word in argv]) for argv in device.commands)
    policy = Policy(
        profile=device.profile,
        grants=device.grants,
        read=(str(home),),
        write=(str(home),),
        hosts=(LOOPBACK,),
        commands=commands,
    )
    tools = [tool for tool in all_tools() if not tool.lab_only]
    found = find_tools(home, home, print)
    return make_offer([*tools, *found], policy, slots=device.slots, folder=home, sandbox=Sandbox(Layer.LANDLOCK)).offer


@cache
def nebula_fleet() -> FleetSnapshot:
    """Return the five devices, all online; their MCP program is asked for its tools as an agent asks it."""
    records, offers = {}, {}
    with TemporaryDirectory() as folder:
        for device in DEVICES:
            home = Path(folder) / device.name
            home.mkdir()
            identity = f"d-{device.name}"
            records[identity] = Device(
                id=identity,
                joined_ms=1,
                key="k",
                link=DeviceLink.ONLINE,
                name=device.name,
                os="linux",
                profile=device.profile,
            )
            offers[identity] = _offer(device, home)
    return FleetSnapshot.of(records, offers)
