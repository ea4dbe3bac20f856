"""What a planning prompt holds when not everything fits."""

from __future__ import annotations

import json
from typing import Any

from starloom.planner.model.prompt import TOOLS_MOST, tool_lines
from starloom_protocol.entities import Offer, ToolOffer
from starloom_protocol.vocabulary import Repeatability
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


def lines(words: str, needed: tuple[str, ...] = ()) -> list[dict[str, Any]]:
    view = fleet(device("vm"), offers={"vm": many_tools()})
    return [json.loads(line) for line in tool_lines(view, words, needed)]


def test_the_basics_and_the_nearest_of_many_tools_stay() -> None:
    shown = lines("send the invoice of March")
    named = {line.get("tool") for line in shown}
    assert {"python.run", "shell.run", "system.info", "fs.find", "fs.read", "mcp.zebra.send"} <= named
    assert len(shown) == TOOLS_MOST + 1


def test_the_tools_that_were_left_out_are_named() -> None:
    *shown, last = lines("send the invoice of March")
    offered = len(many_tools().tools) - sum(tool.unavailable is not None for tool in many_tools().tools)
    assert len(last["left_out"]) + last.get("and_more", 0) == offered - len(shown)
    assert not {line["tool"] for line in shown} & set(last["left_out"])


def test_a_tool_of_the_plan_stays_in_a_review() -> None:
    assert "mcp.server298.act" not in {line.get("tool") for line in lines("x")}
    assert "mcp.server298.act" in {line.get("tool") for line in lines("x", ("mcp.server298.act",))}


def test_a_few_tools_are_all_there() -> None:
    view = fleet(device("vm"))
    assert not any("left_out" in line for line in tool_lines(view, "anything"))
