"""An answer that is streamed is the answer that the same call gives unstreamed; a broken stream is a plain fault."""

from __future__ import annotations

import asyncio
import dataclasses
import json

import pytest

from starloom.planner.model.endpoints.endpoint import Endpoint, Limits, Wire
from starloom.planner.model.port import CallStopped, ModelAway, ModelFault, Piece, Reply, Turn
from starloom.planner.model.reading import Wished, read_reply
from starloom.planner.model.transport.pieces import AnthropicPieces, EventLines, OpenAIPieces, ServerEvent
from starloom.planner.model.transport.wire import WiredModel
from tests.models.modes import BROKEN, DECLINED, GOOD, MENDED, PLAN, REFUSES_TOOLS, STILL_A_PLAN
from tests.models.server import FakeModel, Say, fake_model, without_streams, without_tools
from tests.models.streams import STREAM_FAULTS
from tests.waiting import SLOWER

WIRES = tuple(Wire)
ASKED = [Turn("starloom", "How full is vm?")]
ANSWERS = {**STILL_A_PLAN, **DECLINED, **MENDED, "good": GOOD}
PLAINLY_BROKEN = [name for name in BROKEN if name not in ("stalls_for_ever", "drips_slowly", "hangs_up")]
"""Those that break in another way than a stream does, which has faults of its own."""
REFUSALS = {
    "400": Say(status=400, body=b'{"error": {"message": "Streaming is not supported for this model"}}'),
    "422": Say(status=422, body=b'{"detail": [{"loc": ["body", "stream_options"], "msg": "extra fields"}]}'),
    "501": Say(status=501, body=b"no streams here"),
}


def model(fake: FakeModel, wire: Wire, **limits: float) -> WiredModel:
    made = Limits(**{"call_s": 20.0 * SLOWER, **limits})  # type: ignore[arg-type]
    return WiredModel(Endpoint(fake.url, "fake-1", wire, limits=made))


async def replied(wire: Wire, say: Say, *, streams: bool) -> Reply:
    async with fake_model(say, streams=streams) as fake:
        return await model(fake, wire).ask("Plan.", ASKED)


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("how", ANSWERS)
async def test_a_streamed_reply_is_the_unstreamed_one(how: str, wire: Wire) -> None:
    assert await replied(wire, ANSWERS[how], streams=True) == await replied(wire, ANSWERS[how], streams=False)


@pytest.mark.parametrize("wire", WIRES)
async def test_a_stream_is_asked_for_and_its_pieces_are_heard_in_order(wire: Wire) -> None:
    heard: list[Piece] = []
    async with fake_model(dataclasses.replace(GOOD, reasoning="hm, a disk"), streams=True) as fake:
        asked = model(fake, wire)
        asked.listen(heard.append)
        reply = await asked.ask("Plan.", ASKED)
    assert fake.asked[0]["stream"] is True
    assert heard[0] == Piece("begun")
    assert "".join(piece.text for piece in heard if piece.part == "thought") == "hm, a disk"
    assert json.loads("".join(piece.text for piece in heard if piece.part == "call")) == json.loads(reply.text)
    assert [piece.tokens for piece in heard if piece.part == "told"] == [20]
    assert (reply.input_tokens, reply.output_tokens) == (100, 20)


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("how", STREAM_FAULTS)
async def test_a_broken_stream_is_a_plain_fault_within_its_time(how: str, wire: Wire) -> None:
    await replied(wire, GOOD, streams=True)  # what a library loads at its first call is not the endpoint's silence
    fault = STREAM_FAULTS[how]
    async with fake_model(dataclasses.replace(GOOD, fault=fault), streams=True) as fake:
        call_s = 20.0 * SLOWER if fault.ends and how != "babbling" else 0.3 * SLOWER
        with pytest.raises(ModelFault, match="fake-1") as found:
            await model(fake, wire, call_s=call_s, bytes_most=256 * 1024).ask("Plan.", ASKED)
    assert len(fake.asked) == 1
    assert "sk-secret-key" not in found.value.fault.reason
    assert found.value.fault.reason.isprintable()
    assert found.value.input_tokens > 0, "its endpoint has read the prompt"


@pytest.mark.parametrize("wire", WIRES)
async def test_what_came_of_a_reply_counts_for_its_budget_though_it_broke_off(wire: Wire) -> None:
    async with fake_model(dataclasses.replace(GOOD, fault=STREAM_FAULTS["cut"]), streams=True) as fake:
        with pytest.raises(ModelFault) as found:
            await model(fake, wire).ask("Plan." * 600, ASKED)
    assert 1_000 <= found.value.input_tokens <= 1_010
    assert 0 < found.value.output_tokens < 2_000


@pytest.mark.parametrize("wire", WIRES)
async def test_a_call_that_is_cancelled_names_what_it_has_cost(wire: Wire) -> None:
    async with fake_model(dataclasses.replace(GOOD, fault=STREAM_FAULTS["stalled"]), streams=True) as fake:
        heard = asyncio.Event()
        asked = model(fake, wire)
        asked.listen(lambda piece: heard.set() if piece.text else None)
        asking = asyncio.ensure_future(asked.ask("Plan." * 600, ASKED))
        await asyncio.wait_for(heard.wait(), 20 * SLOWER)
        asking.cancel()
        with pytest.raises(CallStopped) as found:
            await asking
    assert 1_000 <= found.value.input_tokens <= 1_010
    assert 0 < found.value.output_tokens < 2_000


@pytest.mark.parametrize("how", ["unauthorised", "too_many_calls", "server_error"])
async def test_a_call_that_was_refused_costs_nothing(how: str) -> None:
    async with fake_model(BROKEN[how], streams=True) as fake:
        with pytest.raises(ModelFault) as found:
            await model(fake, Wire.OPENAI).ask("Plan.", ASKED)
    assert (found.value.input_tokens, found.value.output_tokens, found.value.micros) == (0, 0, 0)
    with pytest.raises(ModelAway) as away:
        await model(fake, Wire.OPENAI).ask("Plan.", ASKED)
    assert (away.value.input_tokens, away.value.output_tokens) == (0, 0), "nobody listens there any more"


@pytest.mark.parametrize("how", ["stalled", "cut", "cut_at_once", "an_error"])
async def test_a_fallback_may_stand_in_for_an_endpoint_that_breaks_off(how: str) -> None:
    async with fake_model(dataclasses.replace(GOOD, fault=STREAM_FAULTS[how]), streams=True) as fake:
        with pytest.raises(ModelAway):
            await model(fake, Wire.OPENAI, call_s=0.5 * SLOWER).ask("Plan.", ASKED)


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("how", REFUSALS)
async def test_a_server_that_refuses_a_stream_is_asked_without_one(how: str, wire: Wire) -> None:
    async with fake_model(without_streams(REFUSALS[how], GOOD), streams=True) as fake:
        for _ in range(2):  # the second call knows it from the first
            assert isinstance(read_reply(await model(fake, wire).ask("Plan.", ASKED)), Wished)
    assert [asked.get("stream", False) for asked in fake.asked] == [True, False, False]
    streamless = {key: value for key, value in fake.asked[0].items() if not key.startswith("stream")}
    assert streamless == {key: value for key, value in fake.asked[1].items() if key != "stream"}


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("how", PLAINLY_BROKEN)
async def test_a_broken_endpoint_is_told_as_before_where_others_stream(how: str, wire: Wire) -> None:
    text = BROKEN[how].text or ""
    pieces = tuple(text[at : at + 65_536] for at in range(0, len(text), 65_536))
    async with fake_model(dataclasses.replace(BROKEN[how], pieces=pieces), streams=True) as fake:
        with pytest.raises(ModelFault, match="longer than" if text else "fake-1"):
            await model(fake, wire).ask("Plan.", ASKED)
    assert len(fake.asked) == 1


async def test_a_refusal_that_stays_without_a_stream_is_told_and_not_remembered() -> None:
    async with fake_model(REFUSALS["400"], streams=True) as fake:
        for _ in range(2):
            with pytest.raises(ModelFault, match="status 400"):
                await model(fake, Wire.OPENAI).ask("Plan.", ASKED)
    assert [asked["stream"] for asked in fake.asked] == [True, False, True, False]


async def test_a_server_may_refuse_tools_and_stream() -> None:
    plain = Say(text=json.dumps({"kind": "plan", "plan": PLAN}))
    async with fake_model(without_tools(REFUSES_TOOLS["vllm"], plain), streams=True) as fake:
        asked = model(fake, Wire.OPENAI)
        with pytest.raises(ModelFault, match="takes no tools"):
            await asked.ask("Plan.", ASKED)
        assert isinstance(read_reply(await asked.ask("Plan.", ASKED)), Wished)


@pytest.mark.parametrize(
    ("calls", "whole"),
    [
        ([{"index": 0, "id": "a"}, {"index": 0}], ["{1}{2}"]),
        ([{"id": "a"}, {}], ["{1}{2}"]),
        ([{"index": 0, "id": "a"}, {"index": 0, "id": "b"}], ["{1}", "{2}"]),
        ([{"index": 1, "id": "b"}, {"index": 0, "id": "a"}], ["{2}", "{1}"]),
    ],
    ids=["numbered", "not numbered", "all numbered alike", "out of order"],
)
def test_calls_are_told_apart_however_a_server_numbers_them(calls: list[dict[str, object]], whole: list[str]) -> None:
    answer = OpenAIPieces()
    for at, call in enumerate(calls, 1):
        delta = {"tool_calls": [{**call, "function": {"name": "answer", "arguments": f"{{{at}}}"}}]}
        list(answer.take(ServerEvent(json.dumps({"choices": [{"index": 0, "delta": delta}]}))))
    list(answer.take(ServerEvent("[DONE]")))
    made = answer.body()["choices"][0]
    assert [call["function"]["arguments"] for call in made["message"]["tool_calls"]] == whole
    assert made["finish_reason"] == "tool_calls"


def test_a_stream_has_few_parts() -> None:
    answer, other = OpenAIPieces(), AnthropicPieces()
    calls = [{"index": at, "id": str(at), "function": {"name": "answer"}} for at in range(300)]
    with pytest.raises(ValueError, match="too many calls"):
        list(answer.take(ServerEvent(json.dumps({"choices": [{"delta": {"tool_calls": calls}}]}))))
    blocks = [
        json.dumps({"type": "content_block_start", "index": at, "content_block": {"type": "text", "text": ""}})
        for at in range(300)
    ]
    with pytest.raises(ValueError, match="too many blocks"):
        [list(other.take(ServerEvent(block))) for block in blocks]


def test_events_are_read_as_their_standard_says() -> None:
    lines = EventLines()
    told = [":comment", "id: 7", "event: a", "data: one", "data:two", "", "", "event: lost", "", "data", "", "retry: 1"]
    found = [event for line in told if (event := lines.take(line)) is not None]
    assert found == [ServerEvent("one\ntwo", "a"), ServerEvent("", "")]
