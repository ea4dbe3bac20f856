"""A review is told of the tools that its tasks use; the wires are told which part of a prompt comes again."""

from __future__ import annotations

from typing import Any

import pytest

from starloom.planner.context import joined
from starloom.planner.model.connecting import connect
from starloom.planner.model.endpoint import Endpoint, Wire
from starloom.planner.model.planning import Conversation
from starloom.planner.model.reviewing import ReviewTalk, TaskSeen, review_parts
from starloom_protocol.entities import Offer, ToolOffer
from starloom_protocol.vocabulary import Repeatability
from tests.models.modes import GOOD
from tests.models.server import Say, fake_model
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


def told(words: str, *needed: str) -> str:
    view = fleet(device("vm"), device("phone", online=False), offers={"vm": many_tools()})
    tasks = [TaskSeen("a", tool, "failed") for tool in needed]
    return joined(part.text for part in review_parts(words, tasks, ["a"], view))


def test_the_basics_and_the_nearest_of_many_tools_stay() -> None:
    text = told("send the invoice of March")
    shown = ("python.run(", "shell.run(", "system.info(", "fs.find(", "fs.read(", "mcp.zebra.send(")
    assert [name for name in shown if f"\n{name}" not in text] == []


def test_a_tool_of_the_plan_stays_in_a_review() -> None:
    assert "mcp.server298.act(" not in told("x")
    assert "mcp.server298.act(" in told("x", "mcp.server298.act")


def test_a_review_is_told_which_devices_are_away_and_begins_with_what_is_stable() -> None:
    assert 'Offline now, their tasks wait: "phone"' in told("x")
    parts = review_parts("x", [], [], fleet(device("vm")))
    assert [part.stable for part in parts] == sorted((part.stable for part in parts), reverse=True)


async def test_a_review_is_told_the_hint_beside_the_fault() -> None:
    wrong = Say(tool={"kind": "edit", "text": "x", "operations": [{"add_task": {"id": "b", "tool": "disk.usag"}}]})
    async with fake_model(wrong, Say(tool={"kind": "no_change"})) as fake:
        model = connect(Endpoint(fake.url, "fake-1", Wire.OPENAI))
        await ReviewTalk(model, "x", [TaskSeen("a", "disk.usage", "failed")], ["a"], fleet(device("vm"))).look()
    assert "Hint: Did you mean `disk.usage`?" in str(fake.asked[1]["messages"][-1])


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
    text = asked["messages"][-1]["content"]
    assert isinstance(text, str)
    assert text.index("DATA tools") < text.index("DATA devices") < text.index("DATA now")


@pytest.mark.parametrize("wire", Wire)
async def test_both_wires_get_the_same_words(wire: Wire) -> None:
    asked = await sent(wire)
    content = asked["messages"][-1]["content"]
    text = content if isinstance(content, str) else "".join(part["text"] for part in content)
    assert text.endswith('{"request":"find out why srv-b answers slowly and restart what hangs"}')
    assert "copy-file(" in text
