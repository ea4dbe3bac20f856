"""Agents of others by the official kit of A2A, as a program: `python a2a_server.py FOLDER MODE=PORT ...`.

Each mode is an agent on a port of its own, which notes in the file of its mode what became of its work.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import uvicorn
from a2a.helpers import get_message_text, new_data_part, new_task_from_user_message, new_text_message, new_text_part
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import AgentCapabilities, AgentCard, AgentInterface
from starlette.applications import Starlette


class Other(AgentExecutor):
    """Works as its mode says."""

    def __init__(self, mode: str, note: Path) -> None:
        self._mode = mode
        self._note = note

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        message, update = context.message, _update(context, event_queue)
        assert message is not None
        said = get_message_text(message)
        first = context.current_task is None
        if first:
            await event_queue.enqueue_event(new_task_from_user_message(message))
        await update.start_work()
        if self._mode == "asks" and first:
            await update.requires_input(new_text_message("May I book the train for 40?"))
            return
        if self._mode == "fails":
            await update.failed(new_text_message("the model is gone"))
            return
        if self._mode == "endless":
            self._note.write_text("begun", encoding="ascii")
            await asyncio.Event().wait()
        await update.add_artifact([new_text_part("part one, ")], artifact_id="a", append=False)
        await update.add_artifact([new_text_part(f"heard {said!r}")], artifact_id="a", append=True, last_chunk=True)
        await update.add_artifact([new_data_part({"rows": [1]})], artifact_id="d")
        await update.complete()

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        self._note.write_text("cancelled", encoding="ascii")
        await _update(context, event_queue).cancel()


def _update(context: RequestContext, event_queue: EventQueue) -> TaskUpdater:
    assert context.task_id is not None
    assert context.context_id is not None
    return TaskUpdater(event_queue, context.task_id, context.context_id)


def _server(port: int, mode: str, note: Path) -> uvicorn.Server:
    address = f"http://127.0.0.1:{port}/rpc"
    card = AgentCard(
        name="Other",
        description="Works",
        version="1",
        supported_interfaces=[AgentInterface(url=address, protocol_binding="JSONRPC", protocol_version="1.0")],
        capabilities=AgentCapabilities(streaming=mode != "asks"),
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
    )
    handler = DefaultRequestHandler(agent_executor=Other(mode, note), task_store=InMemoryTaskStore(), agent_card=card)
    app = Starlette(routes=create_agent_card_routes(card) + create_jsonrpc_routes(handler, "/rpc"))
    return uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=port, log_level="error"))


async def main(folder: str, *agents: str) -> None:
    named = (agent.split("=") for agent in agents)
    await asyncio.gather(*(_server(int(port), mode, Path(folder, mode)).serve() for mode, port in named))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
