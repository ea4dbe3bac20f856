"""A review is told of the tools that its tasks use; the wires are told which part of a prompt comes again."""

from __future__ import annotations

import json
from typing import Any

import pytest

from starloom.planner.context.assembly import joined
from starloom.planner.model.conversations.planning import Conversation, told_fault
from starloom.planner.model.conversations.reviewed_plan import ReviewedPlan
from starloom.planner.model.conversations.reviewing import ReviewTalk, review_parts
from starloom.planner.model.endpoints.endpoint import Endpoint, Wire
from starloom.planner.model.port import Reply
from starloom.planner.model.prompt import planning_parts
from starloom.planner.model.reading import Wished, read_reply
from starloom.planner.model.transport.connecting import connect
from starloom_protocol.records.entities import Fault, Head, Job, Offer, TaskRecord, TaskSpec, ToolOffer
from starloom_protocol.vocabulary import ConstellationState, Repeatability, TaskState
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


VIEW = fleet(device("vm"), device("phone", online=False), offers={"vm": many_tools()})


def reviewed(*tools: str) -> ReviewedPlan:
    """Return a plan of one failed task for each tool, whose first is under review."""
    job = Job(id="review-1", kind="review", opened_ms=0, tasks=["t0/1"])
    head = Head(author="person:ann", created_ms=0, id="c1", name="x", request="x", state=ConstellationState.ACTIVE)
    records: dict[str, Any] = {}
    for number, tool in enumerate(tools):
        records[f"spec/t{number}"] = TaskSpec(changed_in=1, id=f"t{number}", tool=tool)
        records[f"task/t{number}"] = TaskRecord(since_ms=0, state=TaskState.FAILED)
    return ReviewedPlan.of(records, job, head, {}, now_ms=0)


def told(*tools: str) -> str:
    return joined(part.text for part in review_parts(reviewed(*tools), VIEW))


def test_the_basics_and_the_nearest_of_many_tools_stay() -> None:
    text = joined(part.text for part in planning_parts("send the invoice of March", VIEW))
    shown = ("python.run(", "shell.run(", "system.info(", "fs.find(", "fs.read(", "mcp.zebra.send(")
    assert [name for name in shown if f"\n{name}" not in text] == []


def test_a_review_is_told_of_the_tools_of_its_plan() -> None:
    assert "mcp.server298.act(" not in told("disk.usage")
    assert "mcp.server298.act(" in told("disk.usage", "mcp.server298.act")


def test_a_review_is_told_which_devices_are_away_and_begins_with_what_is_stable() -> None:
    assert 'Offline now, their tasks wait: "phone"' in told("disk.usage")
    parts = review_parts(reviewed("disk.usage"), fleet(device("vm")))
    assert [part.stable for part in parts] == sorted((part.stable for part in parts), reverse=True)


async def test_a_review_is_told_the_hint_beside_the_fault() -> None:
    wrong = Say(tool={"kind": "edit", "text": "x", "operations": [{"add_task": {"id": "b", "tool": "disk.usag"}}]})
    async with fake_model(wrong, Say(tool={"kind": "no_change"})) as fake:
        model = connect(Endpoint(fake.url, "fake-1", Wire.OPENAI))
        await ReviewTalk(model, reviewed("disk.usage"), fleet(device("vm"))).answer()
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


def test_a_plan_without_a_kind_is_taken_and_an_empty_answer_gets_a_hint_for_a_model() -> None:
    plan = {"starloom": 1, "tasks": [{"id": "a", "tool": "t"}]}
    assert read_reply(Reply(json.dumps({"plan": plan}))) == Wished(plan)
    assert isinstance(read_reply(Reply(json.dumps({"plan": "text"}))), Fault)
    empty = read_reply(Reply(""))
    assert isinstance(empty, Fault)
    told = told_fault(empty, "plan")
    assert told == "- answer: the answer was empty (model_answer) Hint: Answer with one whole JSON object."
