"""MCP servers and agents of others that say a text of themselves, read and offered by the agent of a device."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from starloom_agent.owner.agents import FILE as AGENTS_FILE
from starloom_agent.owner.agents import find_agents, greet, read_agents
from starloom_agent.owner.mcp import FILE as MCP_FILE
from starloom_agent.owner.mcp import LaterTools
from starloom_agent.policy.offers import make_offer
from starloom_agent.policy.policy import Policy
from starloom_agent.toolkit.clients.a2a.card import PATH
from starloom_agent.toolkit.clients.mcp.conversation import Conversation
from starloom_agent.toolkit.clients.mcp.web import WebCarrier
from starloom_protocol.records.entities import ToolOffer
from tests.device_agents.tools.agents.test_remote_agent import lying
from tests.guard.injections.corpus import Injection

Json = dict[str, Any]
Answer = tuple[int, dict[str, str], bytes]


def offers_of_servers(injection: Injection, home: Path) -> list[ToolOffer]:
    """Return what a device offers whose MCP server or agent says the text."""
    home.mkdir(parents=True)
    if injection.kind == "agent_card":
        return _of_an_agent(injection, home)
    with lying(lambda _, body: _mcp(injection, body)) as url:
        file = home / MCP_FILE
        file.write_text(f'[servers.helper]\nurl = "{url}/mcp"\neffects = ["read"]\nrepeatability = "pure"\n')
        file.chmod(0o600)
        conversation = Conversation()
        conversation.use(WebCarrier(conversation, f"{url}/mcp", {}))
        conversation.begin(10.0)
        _, tools = LaterTools(home, (), lambda _: None).of("helper", conversation.tools(10.0))
    offer = make_offer(tools, Policy(grants=frozenset({"mcp:helper"})), slots=1, folder=home).offer
    assert offer.tools, "the server offers nothing, and nothing is shown by that"
    return list(offer.tools)


def _mcp(injection: Injection, body: Json) -> Answer:
    text = injection.whole
    schema: Json = {"type": "object", "properties": {"notes": {"type": "string"}}}
    tool: Json = {"name": "echo_notes", "description": "Helper for notes", "inputSchema": schema}
    if injection.kind == "tool_title":
        tool["description"] = text
    if injection.kind == "mcp_schema":
        argument = {"type": "string", "description": text, "enum": [text, "b"], "default": text}
        tool["inputSchema"] = {
            "type": "object",
            "description": text,
            "properties": {"notes": argument, text.splitlines()[0][:60]: {"type": "string"}},
            "examples": [text],
        }
    results: dict[str, Json] = {
        "initialize": {
            "protocolVersion": "2025-06-18",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": text[:60] if injection.kind == "mcp_instructions" else "helper", "version": "1"},
            "instructions": text if injection.kind == "mcp_instructions" else "",
        },
        "tools/list": {"tools": [tool]},
    }
    said = {"jsonrpc": "2.0", "id": body.get("id"), "result": results.get(str(body.get("method")), {})}
    return 200, {"Content-Type": "application/json"}, json.dumps(said).encode()


def _of_an_agent(injection: Injection, home: Path) -> list[ToolOffer]:
    text = injection.whole

    def card(path: str, _: Json) -> Answer:
        interface = {"protocolBinding": "JSONRPC", "protocolVersion": "1.0", "url": f"{at[0]}/rpc"}
        said = {
            "name": text[:200],
            "description": text,
            "skills": [{"id": "x", "name": text[:80], "description": text, "examples": [text], "tags": [text[:40]]}],
            "supportedInterfaces": [interface],
        }
        return (200 if path == PATH else 404), {"Content-Type": "application/json"}, json.dumps(said).encode()

    at: list[str] = []
    with lying(card) as url:
        at.append(url)
        (home / AGENTS_FILE).write_text(f'[agents.helper]\nurl = "{url}"\n', encoding="utf-8")
        (home / AGENTS_FILE).chmod(0o600)
        (told,) = read_agents(home)[0].values()
        assert greet(told).isprintable(), "the name of a card steers the terminal of its owner"
        tools = find_agents(home, lambda _: None)
        offer = make_offer(tools, Policy(grants=frozenset({"agent:helper"})), slots=1, folder=home).offer
    assert offer.tools, "the agent is not offered, and nothing is shown by that"
    return list(offer.tools)
