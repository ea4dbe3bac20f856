"""A review is told of the tools that its tasks use; the wires are told which part of a prompt comes again."""

from __future__ import annotations

from typing import Any

import pytest

from starloom.planner.model.connecting import connect
from starloom.planner.model.endpoint import Endpoint, Wire
from starloom.planner.model.planning import Conversation
from starloom.planner.model.prompt import device_lines, tool_lines
from starloom_protocol.entities import Offer, ToolOffer
from starloom_protocol.vocabulary import Repeatability
from tests.models.modes import GOOD
from tests.models.server import fake_model
from tests.planner import prompts
from tests.planner.fleets import device, fleet, offer


def many_tools() -> Offer:
    """Return the offer of an agent with 300 tools of MCP servers, which come first in the alphabet."""
    more = [
        ToolOffer(name=f"mcp.server{number:03}.act", title=f"Act {number}", repeatability=Repeatability.NEVER)
        for number in range(299)
    ]
    invoice = ToolOffer(name="mcp.zebra.send", title="Send an invoice", repeatability=Repeatability.NEVER)
    everyone = offer()
    return Offer(digest="x", grants=everyone.grants, slots=3, tools=[*everyone.tools, *more, invoice])


def named(words: str, needed: tuple[str, ...] = ()) -> set[str]:
    view = fleet(device("vm"), offers={"vm": many_tools()})
    return {line.partition("(")[0] for line in tool_lines(view, words, needed)}


def test_the_basics_and_the_nearest_of_many_tools_stay() -> None:
    shown = named("send the invoice of March")
    assert {"python.run", "shell.run", "system.info", "fs.find", "fs.read", "mcp.zebra.send"} <= shown


def test_a_tool_of_the_plan_stays_in_a_review() -> None:
    assert "mcp.server298.act" not in named("x")
    assert "mcp.server298.act" in named("x", ("mcp.server298.act",))


def test_a_review_is_told_which_devices_are_away() -> None:
    view = fleet(device("vm"), device("phone", online=False))
    assert device_lines(view)[-1] == 'Offline now, their tasks wait: "phone"'


async def sent(wire: Wire) -> dict[str, Any]:
    case = prompts.CASES["nebula"]
    async with fake_model(GOOD) as fake:
        asking = prompts.asking(case)
        talk = Conversation(
            connect(Endpoint(fake.url, "fake-1", wire)), case.words, {}, asking.fleet, recipes=asking.recipes
        )
        await talk.plan()
    return dict(fake.asked[0])


async def test_the_wire_of_anthropic_is_told_how_far_to_keep() -> None:
    asked = await sent(Wire.ANTHROPIC)
    kept, rest = asked["messages"][0]["content"]
    assert kept["cache_control"]["type"] == "ephemeral"
    assert "cache_control" not in rest
    assert "DATA devices" in kept["text"]
    assert "DATA now" in rest["text"]
    assert asked["system"][-1]["cache_control"]["type"] == "ephemeral"


async def test_the_wire_of_openai_gets_one_plain_text() -> None:
    asked = await sent(Wire.OPENAI)
    told = asked["messages"][-1]["content"]
    assert isinstance(told, str)
    assert told.index("DATA tools") < told.index("DATA devices") < told.index("DATA now")


@pytest.mark.parametrize("wire", Wire)
async def test_both_wires_get_the_same_words(wire: Wire) -> None:
    asked = await sent(wire)
    content = asked["messages"][-1]["content"]
    text = content if isinstance(content, str) else "".join(part["text"] for part in content)
    assert text.endswith('{"request":"find out why srv-b answers slowly and restart what hangs"}')
    assert "copy-file(" in text
