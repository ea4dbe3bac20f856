"""An agent with a real ledger on a hub stand-in, over a real websocket."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from starloom_agent.home.directory import AgentHome
from starloom_agent.policy.commands import CommandRule
from starloom_agent.policy.file import write_policy
from starloom_agent.policy.policy import Policy
from starloom_agent.wire.link import RECONNECT_MOST_S
from starloom_agent.work.runtime import Agent, Settings
from starloom_protocol.vocabulary import Profile
from tests.device_agents.stand_in import HUB_KEY, HubStandIn
from tests.device_agents.started import agent_of, joined_home
from tests.waiting import PATIENCE_S

SHELL = '{"argv":["sh","-c","SCRIPT"]}'


def shell(script: str) -> str:
    return SHELL.replace("SCRIPT", script)


@dataclass
class Bench:
    """A hub stand-in, a home, and agents started one after the other on it."""

    hub: HubStandIn
    home: AgentHome
    said: list[str] = field(default_factory=list)
    news: asyncio.Event = field(default_factory=asyncio.Event)
    agents: list[tuple[Agent, asyncio.Task[object]]] = field(default_factory=list)

    def start(self, **more: object) -> Agent:
        agent = agent_of(
            self.home,
            self.hub,
            hub_key=str(more.pop("hub_key", HUB_KEY)),
            settings=Settings(
                lab=True,
                unattended=bool(more.pop("unattended", False)),
                reconnect_most_s=float(str(more.pop("reconnect_most_s", RECONNECT_MOST_S))),
            ),
            say=self.hear,
        )
        agent.recover()
        self.agents.append((agent, asyncio.create_task(agent.run())))
        return agent

    def hear(self, text: str) -> None:
        self.said.append(text)
        self.news.set()

    async def until_said(self, text: str) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while not any(text in line for line in self.said):
                self.news.clear()
                await self.news.wait()

    async def stop(self) -> None:
        for agent, task in self.agents:
            agent.stop()
            await task
        for agent, _ in self.agents:
            agent.ledger.close()


@asynccontextmanager
async def a_bench(tmp_path: Path) -> AsyncIterator[Bench]:
    """A bench whose agents may work in one folder and start any line of the shell; none is started yet."""
    async with HubStandIn() as hub:
        home = joined_home(tmp_path / "home", hub)
        folder = tmp_path / "folder"
        folder.mkdir()
        rule = CommandRule.of(["sh", "-c", {"word": "(?s).*"}], effects=["read", "write"])
        write_policy(
            home.policy,
            Policy(profile=Profile.OPERATE, read=(str(folder),), write=(str(folder),), commands=(rule,)),
        )
        made = Bench(hub, home)
        yield made
        await made.stop()


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    async with a_bench(tmp_path) as made:
        yield made
