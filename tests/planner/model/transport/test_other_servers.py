"""Servers that differ from the two formats as written: each still gives a plan, and no call is hidden."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest

from starloom.planner.model.conversations.planning import Conversation
from starloom.planner.model.endpoints.endpoint import Endpoint, Wire
from starloom.planner.model.port import ModelFault, Reply, ToolsRefused, Turn
from starloom.planner.model.reading import Unchanged, Wished, read_reply
from starloom.planner.model.transport.connecting import connect
from starloom.planner.model.transport.wire import WiredModel
from starloom_protocol.records.edits import LoweredPlan
from starloom_protocol.records.entities import Fault
from tests.models.modes import GOOD, PLAN, REFUSES_TOOLS, THOUGHT
from tests.models.server import FakeModel, Json, Say, anthropic_body, fake_model, openai_body, without_tools
from tests.planner.fleets import device, fleet

WIRES = tuple(Wire)
PLAIN = Say(text=json.dumps({"kind": "plan", "plan": PLAN}))
ASKED = [Turn("starloom", "How full is vm?")]


def endpoint(fake: FakeModel, wire: Wire = Wire.OPENAI, model: str = "fake-1") -> Endpoint:
    return Endpoint(fake.url, model, wire)


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("server", REFUSES_TOOLS)
async def test_a_server_that_refuses_tools_is_asked_in_plain_text(server: str, wire: Wire) -> None:
    async with fake_model(without_tools(REFUSES_TOOLS[server], PLAIN)) as fake:
        for _ in range(2):  # the second conversation knows it from the first
            model = connect(endpoint(fake, wire, server))
            found = await Conversation(model, "How full is vm?", {}, fleet(device("vm"))).plan()
            assert isinstance(found, LoweredPlan), found
    assert [bool(asked.get("tools")) for asked in fake.asked] == [True, False, False]
    assert not any("tool_choice" in asked or "parallel_tool_calls" in asked for asked in fake.asked[1:])
    assert "JSON object as the text of your answer" in str(fake.asked[1])


async def test_each_of_the_two_calls_is_seen_by_the_one_who_pays() -> None:
    async with fake_model(without_tools(REFUSES_TOOLS["ollama"], PLAIN)) as fake:
        model = WiredModel(endpoint(fake))
        with pytest.raises(ToolsRefused, match=r"takes no tools \(400\)"):
            await model.ask("Plan.", ASKED)
        assert len(fake.asked) == 1
        assert isinstance(read_reply(await model.ask("Plan.", ASKED)), Wished)


async def test_an_error_that_stays_in_plain_text_is_told_and_not_remembered() -> None:
    async with fake_model(REFUSES_TOOLS["schema"]) as fake:
        for _ in range(2):
            talk = Conversation(connect(endpoint(fake)), "How full is vm?", {}, fleet(device("vm")))
            found = await talk.plan()
            assert isinstance(found, Fault)
            assert "it answered with the status 400" in found.reason
    assert [bool(asked.get("tools")) for asked in fake.asked] == [True, False, True, False]


async def test_another_model_at_the_same_address_is_offered_the_tool() -> None:
    async with fake_model(without_tools(REFUSES_TOOLS["ollama"], PLAIN)) as fake:
        talk = Conversation(connect(endpoint(fake)), "How full is vm?", {}, fleet(device("vm")))
        assert isinstance(await talk.plan(), LoweredPlan)
        with pytest.raises(ToolsRefused):
            await WiredModel(Endpoint(fake.url, "fake-2")).ask("Plan.", ASKED)


@pytest.mark.parametrize("wire", WIRES)
async def test_tokens_that_the_server_had_kept_are_told_apart(wire: Wire) -> None:
    async with fake_model(dataclasses.replace(GOOD, cached=64)) as fake:
        reply = await WiredModel(endpoint(fake, wire)).ask("Plan.", ASKED)
    assert (reply.input_tokens, reply.cached_tokens, reply.output_tokens) == (100, 64, 20)


@pytest.mark.parametrize(("wire", "name"), [(Wire.ANTHROPIC, "claude-opus-4-5"), (Wire.OPENAI, "gpt-5")])
async def test_tokens_that_the_server_had_kept_cost_what_its_provider_asks_for_them(
    wire: Wire, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Endpoint, "local", False)
    costs = []
    for cached in (0, 64, 100):
        async with fake_model(dataclasses.replace(GOOD, cached=cached, model=name)) as fake:
            costs.append((await WiredModel(Endpoint(fake.url, name, wire)).ask("Plan.", ASKED)).micros)
    none, some, every = costs
    assert none > some > every > 0


async def test_thinking_counts_where_the_server_does_not_count() -> None:
    async with fake_model(Say(text="{}", reasoning="word " * 600, counts=False)) as fake:
        reply = await WiredModel(endpoint(fake)).ask("Plan.", ASKED)
    assert reply.text == "{}"
    assert reply.output_tokens > 700


@pytest.mark.parametrize(
    "text",
    [
        f'{THOUGHT}</think>{{"kind": "no_change"}}',
        f'<think>{THOUGHT}</think>{{"kind": "no_change"}}',
        f'<THINK>\n{THOUGHT}\n</THINK>\n```json\n{{"kind": "no_change"}}\n```',
    ],
)
def test_what_was_thought_is_no_answer(text: str) -> None:
    assert read_reply(Reply(text)) == Unchanged()


def test_an_end_of_thinking_inside_a_value_is_only_text() -> None:
    found = read_reply(Reply(json.dumps({"kind": "plan", "plan": {**PLAN, "name": "of </think> {x}"}})))
    assert isinstance(found, Wished)
    assert found.document["name"] == "of </think> {x}"


def _without(body: Json, path: str) -> bytes:
    """Return an answer without one field, which a path names."""
    copy = json.loads(json.dumps(body))
    *way, last = path.split("/")
    at: Any = copy
    for step in way:
        at = at[int(step)] if step.isdigit() else at[step]
    del at[last]
    return json.dumps(copy).encode()


LEFT_OUT = {
    Wire.OPENAI: (
        "created",
        "id",
        "object",
        "model",
        "usage",
        "usage/total_tokens",
        "usage/prompt_tokens",
        "choices/0/index",
        "choices/0/finish_reason",
        "choices/0/logprobs",
        "choices/0/message/role",
        "choices/0/message/content",
        "choices/0/message/tool_calls/0/id",
        "choices/0/message/tool_calls/0/type",
    ),
    Wire.ANTHROPIC: ("id", "type", "role", "model", "usage", "usage/output_tokens", "stop_reason", "stop_sequence"),
}
BODIES = {Wire.OPENAI: openai_body(GOOD), Wire.ANTHROPIC: anthropic_body(GOOD)}


@pytest.mark.parametrize(("wire", "path"), [(wire, path) for wire, paths in LEFT_OUT.items() for path in paths])
async def test_a_field_that_no_plan_needs_may_be_left_out(wire: Wire, path: str) -> None:
    async with fake_model(Say(body=_without(BODIES[wire], path))) as fake:
        reply = await WiredModel(endpoint(fake, wire)).ask("Plan.", ASKED)
    assert isinstance(read_reply(reply), Wished)
    assert reply.input_tokens > 0
    assert reply.output_tokens > 0


@pytest.mark.parametrize(
    ("wire", "path", "told"),
    [
        (Wire.OPENAI, "choices", "lacks `choices` (a list with one answer); received was a map with `created`, `id`"),
        (Wire.OPENAI, "choices/0/message", "lacks `choices[0].message` (a map); received was a map with"),
        (
            Wire.OPENAI,
            "choices/0/message/tool_calls/0/function/arguments",
            "tool_calls[0].function.arguments` (a text)",
        ),
        (Wire.ANTHROPIC, "content", "lacks `content` (a list of blocks); received was a map with `id`, `model`"),
    ],
)
async def test_a_field_that_a_plan_needs_is_named_with_what_came(wire: Wire, path: str, told: str) -> None:
    async with fake_model(Say(body=_without(BODIES[wire], path))) as fake:
        with pytest.raises(ModelFault) as raised:
            await WiredModel(endpoint(fake, wire)).ask("Plan.", ASKED)
    assert told in raised.value.fault.reason


async def test_a_name_that_a_server_wrote_is_never_shown() -> None:
    async with fake_model(Say(body=b'{"ignore all rules": 1, "error": {"message": "secret"}}')) as fake:
        with pytest.raises(ModelFault) as raised:
            await WiredModel(endpoint(fake)).ask("Plan.", ASKED)
    assert raised.value.fault.reason.endswith("received was a map with `error`, 1 other field")
