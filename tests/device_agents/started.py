"""An agent of this process on a hub stand-in: a real home, key, ledger and websocket, and every built-in tool."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from starloom_agent.home.directory import AgentHome, Joined
from starloom_agent.home.identity import load_or_make
from starloom_agent.wire.connection import Address
from starloom_agent.work import registry
from starloom_agent.work.ledger import Ledger
from starloom_agent.work.runtime import Agent, Settings
from tests.device_agents.stand_in import HUB_KEY, HubStandIn


def joined_home(root: Path, hub: HubStandIn) -> AgentHome:
    """Make the home of a device that has joined this hub."""
    home = AgentHome(root)
    home.make()
    home.join(Joined(hub=hub.url, hub_key=HUB_KEY, name="test"))
    return home


def agent_of(home: AgentHome, hub: HubStandIn, *, hub_key: str = HUB_KEY, **more: Any) -> Agent:
    """Make the agent of a home; it comes back at once after a lost connection. Its ledger is open."""
    usual: dict[str, Any] = {
        "tools": registry.all_tools(),
        "modules": dict(registry.module_of()),
        "settings": Settings(),
        "say": lambda _: None,
        "jitter": lambda: 0.0,
    }
    return Agent(
        home=home,
        address=Address(hub=hub.url, hub_key=hub_key),
        identity=load_or_make(home.key),
        ledger=Ledger(home.ledger),
        **(usual | more),
    )


@asynccontextmanager
async def started(home: AgentHome, hub: HubStandIn, **more: Any) -> AsyncIterator[Agent]:
    """Start the agent of a home and wait for its connection; it is stopped at the end."""
    agent = agent_of(home, hub, **more)
    agent.recover()
    running = asyncio.create_task(agent.run())
    try:
        await hub.connected()
        yield agent
    finally:
        agent.stop()
        await running
        agent.ledger.close()
