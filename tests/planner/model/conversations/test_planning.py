"""Every way a model can fail ends in a valid plan, a question or a plain error; over real sockets, in both formats."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from starloom.planner.model.conversations.looking import LookRound
from starloom.planner.model.conversations.planning import MORE_TOOLS_MOST, REPAIRS, Conversation, Planned
from starloom.planner.model.endpoints.endpoint import Endpoint, Limits, Wire
from starloom.planner.model.port import Turn
from starloom.planner.model.reading import Asked, Looked
from starloom.planner.model.transport.connecting import connect
from starloom.planner.model.transport.wire import WiredModel
from starloom.planner.recipes.catalogue import load_catalogue
from starloom_protocol.records.edits import LoweredPlan
from starloom_protocol.records.entities import Fault, Offer
from starloom_protocol.values import canonical
from starloom_protocol.vocabulary import Approval, Code
from tests.models.modes import BROKEN, DECLINED, GOOD, HOSTILE, MENDED, STILL_A_PLAN, plan, task
from tests.models.server import FakeModel, Say, fake_model
from tests.planner import prompts
from tests.planner.fleets import device, fleet, offer
from tests.waiting import SLOWER

KEY = "sk-secret-key"
FLEET = fleet(device("vm"), device("phone", labels=["phone"]))
WIRES = tuple(Wire)


def conversation(fake: FakeModel, wire: Wire, **limits: Any) -> Conversation:
    endpoint = Endpoint(fake.url, "fake-1", wire, KEY, Limits(**{"call_s": 20.0 * SLOWER, **limits}))
    return Conversation(connect(endpoint), "How full is vm?", {}, FLEET)


async def planned(wire: Wire, *says: Say, **limits: Any) -> tuple[Planned, FakeModel]:
    async with fake_model(*says) as fake:
        return await conversation(fake, wire, **limits).plan(), fake


@pytest.mark.parametrize("wire", WIRES)
async def test_a_good_answer_is_the_plan(wire: Wire) -> None:
    found, fake = await planned(wire, GOOD)
    assert isinstance(found, LoweredPlan), found
    assert [spec.tool for spec in found.specs] == ["disk.usage"]
    assert fake.paths == [{"openai": "/v1/chat/completions", "anthropic": "/v1/messages"}[wire]]
    sent = fake.headers[0]
    assert KEY in (sent.get("authorization", "") + sent.get("x-api-key", ""))
    assert KEY not in str(fake.asked)


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("mode", MENDED)
async def test_a_faulty_answer_is_mended_with_its_exact_faults(mode: str, wire: Wire) -> None:
    found, fake = await planned(wire, MENDED[mode], GOOD)
    assert isinstance(found, LoweredPlan), found
    assert found.policy.approval is not Approval.NEVER
    assert len(fake.asked) == 2
    assert "It has these faults" in str(fake.asked[1]["messages"][-1])


@pytest.mark.parametrize("mode", MENDED)
async def test_a_fault_that_stays_ends_in_a_plain_error_after_two_repairs(mode: str) -> None:
    found, fake = await planned(Wire.OPENAI, MENDED[mode])
    assert isinstance(found, Fault), found
    assert found.code is Code.MODEL_ANSWER
    assert found.hint
    assert len(fake.asked) == 1 + REPAIRS


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("mode", STILL_A_PLAN)
async def test_what_surrounds_a_plan_does_no_harm(mode: str, wire: Wire) -> None:
    found, fake = await planned(wire, STILL_A_PLAN[mode])
    assert isinstance(found, LoweredPlan), found
    assert len(fake.asked) == 1


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("mode", BROKEN)
async def test_a_broken_endpoint_is_told_plainly_and_asked_once(mode: str, wire: Wire) -> None:
    silent = "stalls" in mode or "drips" in mode
    await planned(wire, GOOD)  # what a library loads at its first call is not the endpoint's silence
    found, fake = await planned(wire, BROKEN[mode], call_s=(0.3 if silent else 20.0) * SLOWER)
    assert isinstance(found, Fault), found
    assert found.code in (Code.MODEL_UNREACHABLE, Code.MODEL_ANSWER)
    assert "fake-1" in found.reason
    assert KEY not in found.reason
    assert len(fake.asked) == 1


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("mode", DECLINED)
async def test_a_model_that_will_not_is_believed(mode: str, wire: Wire) -> None:
    found, fake = await planned(wire, DECLINED[mode])
    assert isinstance(found, Fault), found
    assert found.code is Code.MODEL_ANSWER
    assert len(fake.asked) == 1


@pytest.mark.parametrize("wire", WIRES)
async def test_a_question_is_a_question(wire: Wire) -> None:
    found, _ = await planned(wire, Say(tool={"kind": "question", "text": "Which  folder\u202e?\n"}))
    assert found == Asked("Which folder ?")


@pytest.mark.parametrize(
    ("more", "choices", "usual"),
    [
        (
            {"choices": ["Photos", " Pa\tpers ", "Photos"], "default": "Papers"},
            ("Photos", "Pa pers", "Papers"),
            "Papers",
        ),
        ({"default": "Photos"}, ("Photos",), "Photos"),
        ({"choices": None, "default": None}, (), ""),
    ],
)
async def test_a_question_may_offer_answers(more: dict[str, Any], choices: tuple[str, ...], usual: str) -> None:
    found, _ = await planned(Wire.OPENAI, Say(tool={"kind": "question", "text": "Which folder?", **more}))
    assert found == Asked("Which folder?", choices, usual)


async def test_what_the_engine_finds_is_mended_too_within_the_same_two_repairs() -> None:
    refusal = [Fault(code=Code.PLAN_CYCLE, place="dependencies", reason="a -> b -> a")]
    async with fake_model(GOOD) as fake:
        talk = conversation(fake, Wire.OPENAI)
        assert isinstance(await talk.plan(), LoweredPlan)
        for _ in range(REPAIRS):
            assert isinstance(await talk.mend(refusal), LoweredPlan)
        last = await talk.mend(refusal)
        assert isinstance(last, Fault)
        assert "a -> b -> a" in last.reason
        assert len(fake.asked) == 1 + REPAIRS
        assert "a -> b -> a" in str(fake.asked[1]["messages"][-1])


async def test_hostile_text_in_the_request_and_the_fleet_stays_data() -> None:
    """It may at most make a plan, and that plan is judged like every model's: approval cannot be set aside."""
    hostile = plan(policy={"approval": "never"}, name=HOSTILE)
    async with fake_model(hostile, hostile, plan(name="Quiet")) as fake:
        endpoint = Endpoint(fake.url, "fake-1", Wire.OPENAI, KEY)
        odd = fleet(device("vm", labels=[HOSTILE]))
        found = await Conversation(connect(endpoint), HOSTILE, {}, odd).plan()
    assert isinstance(found, LoweredPlan)
    assert found.policy.approval is Approval.RISKY
    told = str(fake.asked[0]["messages"][-1])
    assert told.index("DATA devices") < told.index(HOSTILE)


async def test_only_names_tools_and_grants_leave_the_machine() -> None:
    private = {"hostname": "secret-host", "starloom": "/home/anna/bin/starloom-agent", "answered": "private-answer"}
    told = Offer(digest="private-digest", facts=private, grants=["files:read"], tools=offer(grants=()).tools)
    seen = fleet(device("vm"), offers={"vm": told})
    async with fake_model(GOOD) as fake:
        await Conversation(connect(Endpoint(fake.url, "fake-1", Wire.OPENAI, KEY)), "How full is vm?", {}, seen).plan()
    sent = str(fake.asked[0])
    assert "disk.usage" in sent
    assert "starloom-agent grant files:write ~/FOLDER" in sent
    found = [word for word in ("d-vm", "private-digest", *private.values(), KEY) if word in sent]
    assert found == []


MORE = Say(tool={"kind": "more_tools", "words": "close the ticket of office 41"})


@pytest.mark.parametrize("wire", WIRES)
async def test_more_tools_are_shown_in_the_next_turn_and_cost_no_repair(wire: Wire) -> None:
    view = prompts.CASES["mcp"].fleet()
    act = plan(
        tasks=[{"id": "a", "tool": "mcp.office41.close_ticket", "device": {"name": "office-41"}, "args": {"id": "7"}}]
    )
    async with fake_model(MORE, plan(tasks=[]), plan(tasks=[]), act) as fake:
        found = await Conversation(connect(Endpoint(fake.url, "fake-1", wire, KEY)), "Do it.", {}, view).plan()
    assert isinstance(found, LoweredPlan), found
    assert "mcp.office41.close_ticket(" not in str(fake.asked[0]["messages"])
    assert "mcp.office41.close_ticket(" in str(fake.asked[1]["messages"][-1])


async def test_more_tools_are_shown_three_times_at_most() -> None:
    found, fake = await planned(Wire.OPENAI, MORE)
    assert isinstance(found, Fault), found
    assert "3 times already" in found.reason
    assert len(fake.asked) == MORE_TOOLS_MOST + 1 + REPAIRS


async def test_any_recipe_can_be_picked_not_only_the_near_ones() -> None:
    picked = Say(tool={"kind": "recipe", "recipe": "disk-space", "params": {"where": {"name": "vm"}}})
    async with fake_model(picked) as fake:
        model = connect(Endpoint(fake.url, "fake-1", Wire.OPENAI, KEY))
        talk = Conversation(model, "Is vm full?", {}, FLEET, recipes=load_catalogue().all())
        found = await talk.plan()
    assert isinstance(found, LoweredPlan), found
    assert "disk-space(" in str(fake.asked[0]["messages"])


async def test_a_refusal_names_the_line_that_would_help_and_none_that_a_model_wrote() -> None:
    needs = [{"grant": "files:write", "device": "phone"}, {"grant": "x; rm -rf ~", "device": "phone"}, "odd", {}]
    view = fleet(device("vm"), device("phone"), offers={"phone": offer(grants=())})
    async with fake_model(Say(tool={"kind": "cannot", "text": "nothing may write", "needs": needs})) as fake:
        model = connect(Endpoint(fake.url, "fake-1", Wire.OPENAI, KEY))
        found = await Conversation(model, "Copy it to the phone.", {}, view).plan()
    assert isinstance(found, Fault)
    assert "phone would have to allow files:write; there: starloom-agent grant files:write ~/FOLDER." in found.reason
    assert "rm -rf" not in found.reason


async def test_a_repair_tells_the_hint_beside_the_fault() -> None:
    _, fake = await planned(Wire.OPENAI, task(tool="disk.usag"), GOOD)
    assert "Hint: Did you mean `disk.usage`?" in str(fake.asked[1]["messages"][-1])


@pytest.mark.parametrize("addresses", [("127.0.0.1",), ("127.0.0.2", "127.0.0.1")])
async def test_the_name_is_resolved_once_a_call_and_only_that_address_is_dialled(addresses: tuple[str, ...]) -> None:
    asked: list[tuple[str, int]] = []

    async def resolve(host: str, port: int) -> list[str]:
        asked.append((host, port))
        return list(addresses)  # where nothing listens at the first one, the next one of the same answer is dialled

    async with fake_model(GOOD) as fake:
        endpoint = Endpoint(f"http://models.test:{fake.port}/v1", "fake-1", Wire.OPENAI, KEY)
        reply = await WiredModel(endpoint, resolve).ask("Plan.", [Turn("starloom", "How full is vm?")])
    assert "disk.usage" in reply.text
    assert asked == [("models.test", fake.port)]
    assert fake.headers[0]["host"] == f"models.test:{fake.port}"


@pytest.mark.parametrize("wire", list(Wire))
async def test_a_reply_without_usage_counts_by_its_size(wire: Wire) -> None:
    words = "How full is vm? " * 600
    async with fake_model(dataclasses.replace(GOOD, counts=False), GOOD) as fake:
        endpoint = Endpoint(f"{fake.url}", "fake-1", wire, KEY)
        counted = await WiredModel(endpoint).ask("Plan.", [Turn("starloom", words)])
        told = await WiredModel(endpoint).ask("Plan.", [Turn("starloom", words)])
    assert len(words) // 4 < counted.input_tokens <= len(words)
    assert len(counted.text) // 4 < counted.output_tokens <= len(counted.text)
    assert (told.input_tokens, told.output_tokens) == (100, 20)


async def test_tools_that_were_asked_for_are_still_there_after_a_look() -> None:
    view = prompts.CASES["mcp"].fleet()
    look = Say(tool={"kind": "look", "calls": [{"device": "office-01", "tool": "fs.list", "args": {}}], "why": "x"})
    async with fake_model(MORE, look) as fake:
        model = connect(Endpoint(fake.url, "fake-1", Wire.OPENAI, KEY))
        found = await Conversation(model, "Do it.", {}, view).plan()
    assert isinstance(found, Looked), found
    assert "mcp.office41.close_ticket" in found.shown
    seen = LookRound(answer=canonical({"calls": [], "kind": "look"}), cards="DATA looks", shown=found.shown)
    async with fake_model(GOOD) as fake:
        model = connect(Endpoint(fake.url, "fake-1", Wire.OPENAI, KEY))
        await Conversation(model, "Do it.", {}, view, rounds=[seen]).plan()
        assert "mcp.office41.close_ticket(" in str(fake.asked[0]["messages"])


async def test_a_tool_asked_for_by_its_name_says_all_of_itself_although_its_line_was_told() -> None:
    asks = Say(tool={"kind": "more_tools", "words": "data.table: how are columns given?"})
    found, fake = await planned(Wire.OPENAI, asks, GOOD)
    assert isinstance(found, LoweredPlan), found
    said = str(fake.asked[1]["messages"][-1])
    assert "data.table(" in said


async def test_a_plan_tied_to_a_device_that_may_not_is_mended_before_anybody_is_asked() -> None:
    view = fleet(device("vm"), device("phone"), offers={"phone": prompts.offer(("files:read",))})
    trash = plan(tasks=[{"id": "a", "tool": "fs.trash", "args": {"paths": ["x"]}, "device": {"name": "phone"}}])
    needs = [{"grant": "files:write", "device": "phone"}]
    cannot = Say(tool={"kind": "cannot", "text": "it is not allowed", "needs": needs})
    async with fake_model(trash, cannot) as fake:
        model = connect(Endpoint(fake.url, "fake-1", Wire.OPENAI, KEY))
        found = await Conversation(model, "Throw x away on the phone.", {}, view).plan()
        assert "the owner of phone does not allow files:write" in str(fake.asked[1]["messages"][-1])
    assert isinstance(found, Fault)
    assert "phone would have to allow files:write" in found.reason
