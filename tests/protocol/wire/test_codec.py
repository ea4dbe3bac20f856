"""Any bytes give a message or a fault; sizes, depth and the sender's own frames hold both ways."""

from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from starloom_protocol.values import INLINE_VALUE_BYTES_MAX
from starloom_protocol.vocabulary import CODES, Code, Outcome
from starloom_protocol.wire import frames as f
from starloom_protocol.wire.codec import (
    FRAMES,
    MESSAGE_BYTES_MAX,
    UNAUTHENTICATED_BYTES_MAX,
    Side,
    bytes_max,
    decode,
    encode,
    nests_too_deep,
    tag_of,
)
from starloom_protocol.wire.frames import AgentMessage, HubMessage, ProtocolFault
from tests.protocol.frames_sample import AGENT, AT, BY_SIDE, HELLO, PING, WELCOME

SIDES = st.sampled_from(list(Side))
VALID = [encode(n, [frame], side) for side in Side for n, frame in enumerate(BY_SIDE[side], 1)]


def outcome(data: bytes | str, side: Side, *, authenticated: bool = True) -> AgentMessage | HubMessage | ProtocolFault:
    try:
        return decode(data, side, authenticated=authenticated)
    except ProtocolFault as fault:
        return fault


def test_other_side() -> None:
    assert Side.HUB.other is Side.AGENT
    assert Side.AGENT.other is Side.HUB


@pytest.mark.parametrize("side", Side)
def test_round_trip_of_every_frame_in_one_message(side: Side) -> None:
    message = decode(encode(3, BY_SIDE[side], side), side, authenticated=True)
    assert message.n == 3
    assert message.f == BY_SIDE[side]


@settings(max_examples=300, deadline=None)
@given(st.one_of(st.binary(max_size=200), st.text(max_size=200)), SIDES, st.booleans())
def test_any_bytes_give_a_message_or_a_fault(data: bytes | str, side: Side, authenticated: bool) -> None:
    found = outcome(data, side, authenticated=authenticated)
    assert isinstance(found, ProtocolFault)
    assert found.code in (Code.PROTOCOL_ERROR, Code.FRAME_TOO_LARGE)


@settings(max_examples=400, deadline=None)
@given(st.data())
def test_mutated_messages_give_a_message_or_a_fault(data: st.DataObject) -> None:
    raw = bytearray(data.draw(st.sampled_from(VALID)))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(raw) - 1))
        raw[at : at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=4))
        if not raw:
            break
    found = outcome(bytes(raw), data.draw(SIDES))
    if not isinstance(found, ProtocolFault):
        side = Side.AGENT if isinstance(found, AgentMessage) else Side.HUB
        assert outcome(encode(found.n, found.f, side), side) == found


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=12,
)


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(AGENT), st.data())
def test_frames_with_foreign_values_give_a_message_or_a_fault(frame: f.Frame, data: st.DataObject) -> None:
    built = msgspec.to_builtins(frame)
    built[data.draw(st.sampled_from(sorted(built)))] = data.draw(JSON)
    text = json.dumps({"n": 1, "f": [built]})
    found = outcome(text, Side.AGENT)
    assert isinstance(found, (AgentMessage, ProtocolFault))


@pytest.mark.parametrize("authenticated", [False, True])
@pytest.mark.parametrize("as_text", [False, True])
def test_size_limit_is_exact(authenticated: bool, as_text: bool) -> None:
    limit = UNAUTHENTICATED_BYTES_MAX if not authenticated else MESSAGE_BYTES_MAX
    assert bytes_max(authenticated=authenticated) == limit
    log = f.LogChunk(at=AT, offset=0, stream="stdout", text="")
    shell = len(encode(1, [log], Side.AGENT))
    fits = encode(1, [replace(log, text="x" * (limit - shell))], Side.AGENT, authenticated=authenticated)
    assert len(fits) == limit
    assert isinstance(
        outcome(fits.decode() if as_text else fits, Side.AGENT, authenticated=authenticated), AgentMessage
    )
    over = fits.replace(b"xx", b"xxx", 1)
    found = outcome(over.decode() if as_text else over, Side.AGENT, authenticated=authenticated)
    assert isinstance(found, ProtocolFault)
    assert found.code is Code.FRAME_TOO_LARGE
    with pytest.raises(ProtocolFault) as caught:
        encode(1, [replace(log, text="x" * (limit - shell + 1))], Side.AGENT, authenticated=authenticated)
    assert caught.value.code is Code.FRAME_TOO_LARGE


def test_size_counts_bytes_not_characters() -> None:
    text = '{"n":1,"f":[{"t":"bye","reason":"' + "\u00e9" * 3000 + '"}]}'
    assert len(text) < UNAUTHENTICATED_BYTES_MAX < len(text.encode())
    found = outcome(text, Side.AGENT, authenticated=False)
    assert isinstance(found, ProtocolFault)
    assert found.code is Code.FRAME_TOO_LARGE


@pytest.mark.parametrize("side", Side)
def test_a_side_sends_only_its_own_frames(side: Side) -> None:
    for frame in BY_SIDE[side.other]:
        if type(frame) in FRAMES[side]:
            continue
        with pytest.raises(ProtocolFault, match=tag_of(frame)):
            encode(1, [frame], side)


def test_a_message_without_frames_is_not_encoded() -> None:
    with pytest.raises(ProtocolFault, match="no frame"):
        encode(1, [], Side.HUB)


@pytest.mark.parametrize("text", ["[" * 100_000, '{"n":1,"f":' + "[" * 100_000, '{"a":' * 100_000])
def test_deep_nesting_is_a_fault(text: str) -> None:
    assert isinstance(outcome(text, Side.AGENT), ProtocolFault)


def result(value: str | None = None, facts: dict[str, str] | None = None) -> f.ResultFrame:
    return f.ResultFrame(at=AT, facts=facts or {}, outcome=Outcome.OK, report=1, value=value)


@pytest.mark.parametrize(
    ("frame", "side", "place"),
    [
        (result("[" * 33 + "]" * 33), Side.AGENT, "value"),
        (result("[" * 100_000), Side.AGENT, "value"),
        (result("nothing"), Side.AGENT, "value"),
        (result(facts={"/a": "{}{"}), Side.AGENT, r"facts\[/a\]"),
        (
            f.Dispatch(at=AT, args="{", fence_after_s=0, repeatability="pure", start_to_close_s=1, tool="t"),
            Side.HUB,
            "args",
        ),
        (
            f.Dispatch(
                at=AT,
                args="{}",
                fence_after_s=0,
                inputs=[f.DispatchInput(name="rows", parts=[f.InputPart(value="oops")])],
                repeatability="pure",
                start_to_close_s=1,
                tool="t",
            ),
            Side.HUB,
            r"inputs\[rows\]",
        ),
    ],
)
def test_values_inside_frames_are_json_of_limited_depth(frame: f.Frame, side: Side, place: str) -> None:
    with pytest.raises(ProtocolFault, match=place):
        decode(encode(1, [frame], side), side, authenticated=True)


def test_a_bracket_in_a_text_is_no_depth() -> None:
    value = json.dumps({"a": '[{"\\"' * 100, "b": [[], {}] * 40})
    assert not nests_too_deep(value)
    assert decode(encode(1, [result(value)], Side.AGENT), Side.AGENT, authenticated=True).f == [result(value)]
    assert not nests_too_deep("[" * 32 + "]" * 32)
    assert nests_too_deep("[" * 33 + "]" * 33)


def test_joining_fits_before_authentication() -> None:
    for frame, side in ((HELLO, Side.AGENT), (WELCOME, Side.HUB)):
        data = encode(1, [frame], side, authenticated=False)
        assert decode(data, side, authenticated=False).f == [frame]


def test_fault_carries_the_way_out() -> None:
    assert ProtocolFault(Code.UNKNOWN_KEY, "who").fix == CODES[Code.UNKNOWN_KEY].hint
    assert ProtocolFault(Code.UNKNOWN_KEY, "who", "do this").fix == "do this"
    assert str(ProtocolFault(Code.UNKNOWN_KEY, "who")) == "unknown_key: who"


def test_decoding_a_text_gives_what_its_bytes_give() -> None:
    data = encode(1, [PING], Side.HUB)
    assert decode(data.decode(), Side.HUB, authenticated=True) == decode(data, Side.HUB, authenticated=True)


@pytest.mark.parametrize(("char", "size"), [("x", 1), ("\u00e9", 2)])
def test_an_inline_value_ends_at_its_limit(char: str, size: int) -> None:
    most = (INLINE_VALUE_BYTES_MAX - 2) // size
    fits = outcome(encode(1, [result(json.dumps(char * most, ensure_ascii=False))], Side.AGENT), Side.AGENT)
    assert isinstance(fits, AgentMessage)
    over = outcome(encode(1, [result(json.dumps(char * (most + 1), ensure_ascii=False))], Side.AGENT), Side.AGENT)
    assert isinstance(over, ProtocolFault)
    assert over.code is Code.FRAME_TOO_LARGE
    assert "a longer value is an artifact" in over.reason
