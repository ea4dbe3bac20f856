"""An agent framework asks the hub by A2A: the official client over a real socket, real hub and real agents."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.client.client import Client
from a2a.helpers import get_artifact_text, new_data_part, new_text_message
from a2a.types import CancelTaskRequest, GetTaskRequest, Message, Role, SendMessageRequest, TaskState

from tests.recipes.fleet import Fleet
from tests.recipes.test_assistants import plan
from tests.waiting import PATIENCE_S

KILL = {"id": "kill", "tool": "process.kill", "args": {"pid": 2, "name": "x"}, "device": {"name": "laptop"}}


def token_of(fleet: Fleet) -> str:
    made = fleet.client.post(
        "/tokens", {"for": "framework", "kind": "assistant", "role": "operator", "scopes": ["a2a"]}
    )
    return str(made["token"])


@asynccontextmanager
async def framework(fleet: Fleet, token: str) -> AsyncIterator[Client]:
    headers = {"Authorization": f"Bearer {token}"}
    async with httpx.AsyncClient(headers=headers, timeout=PATIENCE_S, trust_env=False) as http:
        card = await A2ACardResolver(http, fleet.client.address.url).get_agent_card()
        config = ClientConfig(httpx_client=http, supported_protocol_bindings=["JSONRPC"])
        yield ClientFactory(config).create(card)


def asking(document: dict[str, Any], identity: str) -> SendMessageRequest:
    part = new_data_part({"plan": document})
    return SendMessageRequest(message=Message(message_id=identity, role=Role.ROLE_USER, parts=[part]))


async def test_the_official_client_drives_a_request_from_its_words_to_its_answer(fleet: Fleet) -> None:
    token = await asyncio.to_thread(token_of, fleet)
    async with framework(fleet, token) as client:
        words = new_text_message("what fills the disk of laptop", role=Role.ROLE_USER)
        states: list[int] = []
        texts: list[str] = []
        identity = ""
        async for event in client.send_message(SendMessageRequest(message=words)):
            kind = event.WhichOneof("payload")
            if kind == "task":
                identity = event.task.id
                states.append(event.task.status.state)
                texts += [get_artifact_text(one) for one in event.task.artifacts]
            elif kind == "status_update":
                states.append(event.status_update.status.state)
            elif kind == "artifact_update":
                texts.append(get_artifact_text(event.artifact_update.artifact))
        assert states[-1] == TaskState.TASK_STATE_COMPLETED
        assert "laptop" in " ".join(texts)
        found = await client.get_task(GetTaskRequest(id=identity))
        assert found.status.state == TaskState.TASK_STATE_COMPLETED
        assert found.artifacts


async def test_a_risky_request_waits_for_a_person_and_can_only_be_cancelled(fleet: Fleet) -> None:
    token = await asyncio.to_thread(token_of, fleet)
    async with framework(fleet, token) as client:
        asked = asking(plan(tasks=[KILL], result=[]), "risky-1")
        events = [event async for event in client.send_message(asked)]
        task = events[-1].task
        assert task.status.state == TaskState.TASK_STATE_INPUT_REQUIRED
        assert "/constellations/" in str(task.status.message)
        again = [event async for event in client.send_message(asked)]
        assert again[-1].task.id == task.id
        ended = await client.cancel_task(CancelTaskRequest(id=task.id))
        assert ended.id == task.id
        snapshot = await asyncio.to_thread(fleet.client.get, f"/constellations/{task.id}")
        assert snapshot["state"] == "cancelled"
