"""A device whose owner configured a fake agent, before a hub stand-in: real websocket, runner, policy and ledger."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from starloom_agent.home.directory import AgentHome
from starloom_agent.owner import agents
from starloom_agent.policy.approvals import Asks
from starloom_agent.policy.commands import CommandRule
from starloom_agent.policy.file import write_policy
from starloom_agent.policy.policy import ANSWERS_HUB, Policy
from starloom_agent.work import registry
from starloom_protocol.records.approvals import OwnerAsk
from starloom_protocol.vocabulary import Profile
from starloom_protocol.wire.frames import AsksFrame, Dispatch, LogChunk
from tests.arch.checkout import ROOT
from tests.device_agents.stand_in import HubStandIn, dispatch
from tests.device_agents.started import joined_home, started

AGENT = ROOT / "tests/device_agents/tools/agents/acp_agent.py"
NAME = "agent.fake"


@dataclass
class OtherAgents:
    """The device, its hub, and one folder that is granted. `begin` starts the agent of the device."""

    hub: HubStandIn
    home: AgentHome
    folder: Path
    said: list[str] = field(default_factory=list)
    policy: Policy = field(default_factory=Policy)

    def configure(self, mode: str, more: str = "") -> None:
        """Name the fake agent in one mode."""
        command = json.dumps([sys.executable, str(AGENT), mode])
        text = f'[agents.fake]\ncommand = {command}\nfolders = ["{self.folder}"]\nreads = ["{AGENT.parent}"]\n{more}\n'
        (self.home.root / agents.FILE).write_text(text)
        (self.home.root / agents.FILE).chmod(0o600)

    def allow(self, **more: Any) -> None:
        self.policy = replace(self.policy, **more)
        write_policy(self.home.policy, self.policy)

    @property
    def asks(self) -> Asks:
        return Asks(self.home.asks)

    @property
    def logged(self) -> str:
        return "".join(chunk.text for chunk in self.hub.of(LogChunk))

    async def asked(self, *, beside: str = "") -> OwnerAsk:
        """Return an open question as the hub hears of it, another one than the one named."""

        def found() -> OwnerAsk | None:
            frames = self.hub.of(AsksFrame)
            return next((ask for ask in frames[-1].open if ask.id != beside), None) if frames else None

        ask: OwnerAsk = await self.hub.until(found)
        return ask

    async def until_logged(self, words: str) -> None:
        """Wait until the output of the calls holds these words."""
        await self.hub.until(lambda: words in self.logged)

    async def send(self, text: str, **more: Any) -> Dispatch:
        """Send work for the fake agent."""
        order = dispatch(NAME, json.dumps({"text": text}), **more)
        await self.hub.send(order)
        return order


@asynccontextmanager
async def other_agents(place: Path, mode: str, more: str = "", **allow: Any) -> AsyncIterator[OtherAgents]:
    """A device of profile `operate` that may hand any work to the fake agent; `allow` are fields of its policy."""
    async with HubStandIn() as hub:
        home = joined_home(place / "home", hub)
        folder = place / "folder"
        folder.mkdir()
        made = OtherAgents(hub, home, folder)
        made.configure(mode, more)
        rule = CommandRule.of(["echo", {"word": "[a-z]+"}], effects=["read"], cwd=str(folder))
        made.policy = Policy(
            profile=Profile.OPERATE, read=(str(folder),), write=(str(folder),), commands=(rule,),
            grants=frozenset({NAME.replace(".", ":")}), answers=ANSWERS_HUB,
        )  # fmt: skip
        made.allow(**allow)
        tools = agents.find_agents(home.root, made.said.append)
        modules = {**registry.module_of(), **{tool.name: agents.module_of(tool) for tool in tools}}
        every = (*registry.all_tools(), *tools)
        async with started(home, hub, tools=every, modules=modules, say=made.said.append):
            yield made
