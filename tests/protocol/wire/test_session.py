"""Both sides of a session: a total table, numbers, limits, the last word; a state machine over lossy wires."""

from __future__ import annotations

from collections import deque

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from msgspec.structs import replace

from starloom_protocol.vocabulary import Code
from starloom_protocol.wire import frames as f
from starloom_protocol.wire.codec import FRAMES, Side, encode, tag_of
from starloom_protocol.wire.session import (
    TABLE,
    ProtocolFault,
    Session,
    State,
    device_id,
    short_words,
)
from starloom_protocol.wire.short_words import WORDS
from starloom_protocol.wire.version import PROTOCOL_VERSIONS
from tests.protocol import frames_sample
from tests.protocol.frames_sample import AGENT, BY_SIDE, ERROR, HUB, PING, PROVE, REFUSE, WELCOME

HELLO = replace(frames_sample.HELLO, versions=list(PROTOCOL_VERSIONS))
CHALLENGE = replace(frames_sample.CHALLENGE, version=PROTOCOL_VERSIONS[-1])

ORDER = [(Side.AGENT, HELLO), (Side.HUB, CHALLENGE), (Side.AGENT, PROVE), (Side.HUB, WELCOME)]
STEPS = [State.AWAIT_HELLO, State.AWAIT_CHALLENGE, State.AWAIT_PROVE, State.AWAIT_WELCOME, State.OPEN]
EXAMPLE = {(side, type(frame)): frame for side, samples in BY_SIDE.items() for frame in samples} | {
    (Side.AGENT, f.Hello): HELLO,
    (Side.HUB, f.Challenge): CHALLENGE,
}
JOIN_TAGS = {"hello", "challenge", "prove", "welcome"}


def pair(until: State = State.OPEN) -> dict[Side, Session]:
    sides = {side: Session(side) for side in Side}
    for (side, frame), state in zip(ORDER, STEPS, strict=False):
        if state is until:
            break
        assert sides[side.other].receive(sides[side].send([frame])) == [frame]
    return sides


def expected(side: Side, tag: str, state: State) -> State | None:
    """The rules of the contract, written apart from the table."""
    if state is State.CLOSED:
        return None
    if tag == "error":
        return State.CLOSED
    if tag == "refuse":
        return State.CLOSED if state is not State.OPEN else None
    turn = {
        ("hello", State.AWAIT_HELLO): State.AWAIT_CHALLENGE,
        ("challenge", State.AWAIT_CHALLENGE): State.AWAIT_PROVE,
        ("prove", State.AWAIT_PROVE): State.AWAIT_WELCOME,
        ("welcome", State.AWAIT_WELCOME): State.OPEN,
    }
    if tag in JOIN_TAGS or state is not State.OPEN:
        return turn.get((tag, state))
    return State.CLOSED if tag == "bye" else State.OPEN


def test_the_table_is_total() -> None:
    rows = {(side, frame, state) for side in Side for frame in FRAMES[side] for state in State}
    assert set(TABLE) == rows


@pytest.mark.parametrize("state", State)
@pytest.mark.parametrize("side", Side)
def test_every_frame_in_every_state(side: Side, state: State) -> None:
    for kind in FRAMES[side]:
        after = expected(side, tag_of(kind), state)
        assert TABLE[side, kind, state] is after
        assert (side, kind) in EXAMPLE, f"write an example of {kind.__name__} into tests/protocol/frames_sample.py"
        frame = EXAMPLE[side, kind]
        sides = pair(state)
        sender, receiver = sides[side], sides[side.other]
        if state is State.CLOSED:
            for session in sides.values():
                session.close("over")
        number = sender._sent + 1
        data = encode(number, [frame], side, authenticated=state is State.OPEN)
        if after is None:
            with pytest.raises(ProtocolFault):
                sender.send([frame])
            assert sender.state is state
            if state is State.CLOSED:
                assert receiver.receive(data) == []
            else:
                with pytest.raises(ProtocolFault):
                    receiver.receive(data)
            assert receiver.state is State.CLOSED
        else:
            assert sender.send([frame]) == data
            assert receiver.receive(data) == [frame]
            assert sender.state is receiver.state is after


def test_nothing_is_changed_by_a_refused_send() -> None:
    sides = pair()
    hub = sides[Side.HUB]
    with pytest.raises(ProtocolFault, match="welcome"):
        hub.send([PING, WELCOME])
    assert hub.state is State.OPEN
    assert sides[Side.AGENT].receive(hub.send([PING])) == [PING]


def test_too_large_a_batch_changes_nothing() -> None:
    sides = pair(State.AWAIT_HELLO)
    long = f.Hello(device="d" * 5000, instance="", key="", ledger="", next_report=1, version="", versions=[1])
    with pytest.raises(ProtocolFault) as caught:
        sides[Side.AGENT].send([long])
    assert caught.value.code is Code.FRAME_TOO_LARGE
    assert sides[Side.HUB].receive(sides[Side.AGENT].send([HELLO])) == [HELLO]


def test_limits_grow_with_the_welcome() -> None:
    sides = pair(State.AWAIT_WELCOME)
    note = f.Goaway(reason="x" * 5000, retry_after_s=0)
    with pytest.raises(ProtocolFault) as caught:
        sides[Side.HUB].send([WELCOME, note])
    assert caught.value.code is Code.FRAME_TOO_LARGE
    assert not sides[Side.HUB].authenticated
    sides[Side.AGENT].receive(sides[Side.HUB].send([WELCOME]))
    assert sides[Side.HUB].authenticated
    assert sides[Side.AGENT].authenticated
    assert sides[Side.AGENT].receive(sides[Side.HUB].send([note])) == [note]


def test_duplicates_are_dropped_and_gaps_close() -> None:
    sides = pair()
    first, second, third = (sides[Side.AGENT].send([f.Ping(at_ms=at)]) for at in range(3))
    hub = sides[Side.HUB]
    assert hub.receive(first) == [f.Ping(at_ms=0)]
    assert hub.receive(first) == []
    with pytest.raises(ProtocolFault, match="1 are missing"):
        hub.receive(third)
    assert hub.state is State.CLOSED
    assert hub.closed_because is not None
    assert hub.receive(second) == []


def test_bytes_that_are_no_message_close() -> None:
    sides = pair()
    with pytest.raises(ProtocolFault):
        sides[Side.HUB].receive(b"\xff")
    assert sides[Side.HUB].state is State.CLOSED
    assert sides[Side.HUB].receive(sides[Side.AGENT].send([PING])) == []


@pytest.mark.parametrize("state", STEPS)
def test_the_last_word_of_the_hub_refuses_until_it_has_welcomed(state: State) -> None:
    sides = pair(state)
    fault = ProtocolFault(Code.RATE_LIMITED, "too many " + "x" * 2000)
    told = sides[Side.AGENT].receive(sides[Side.HUB].farewell(fault))
    assert sides[Side.HUB].state is State.CLOSED
    assert sides[Side.AGENT].state is State.CLOSED
    assert len(told) == 1
    kind = f.ErrorFrame if state is State.OPEN else f.Refuse
    assert isinstance(told[0], kind)
    assert told[0].code is Code.RATE_LIMITED
    assert len(told[0].reason) == 1000
    assert sides[Side.AGENT].closed_because == told[0].reason
    with pytest.raises(ProtocolFault, match="last word"):
        sides[Side.HUB].farewell(fault)


@pytest.mark.parametrize("state", STEPS)
def test_the_last_word_of_the_agent_is_an_error(state: State) -> None:
    sides = pair(state)
    told = sides[Side.HUB].receive(sides[Side.AGENT].farewell(ProtocolFault(Code.PROTOCOL_ERROR, "odd")))
    assert told == [f.ErrorFrame(code=Code.PROTOCOL_ERROR, reason="odd")]
    assert sides[Side.HUB].closed_because == "odd"


def test_a_side_that_said_bye_or_refuse_has_said_its_last_word() -> None:
    sides = pair()
    sides[Side.AGENT].send([f.Bye(reason="night")])
    assert sides[Side.AGENT].closed_because == "night"
    with pytest.raises(ProtocolFault, match="last word"):
        sides[Side.AGENT].farewell(ProtocolFault(Code.INTERNAL, "x"))
    sides = pair(State.AWAIT_WELCOME)
    sides[Side.HUB].send([REFUSE])
    assert sides[Side.HUB].closed_because == REFUSE.reason


def test_the_first_reason_of_a_close_stays() -> None:
    session = Session(Side.AGENT)
    session.close("first")
    session.close("second")
    assert session.closed_because == "first"


def test_the_version_is_agreed() -> None:
    hub, agent = Session(Side.HUB, versions=(1, 2)), Session(Side.AGENT, versions=(1,))
    hub.receive(agent.send([frames_sample.HELLO]))
    assert hub.version == 1
    with pytest.raises(ProtocolFault, match="version 1 was agreed"):
        hub.send([f.Challenge(hub="h", nonce="n", version=2)])
    agent.receive(hub.send([frames_sample.CHALLENGE]))
    assert agent.version == 1


def test_an_agent_refuses_a_version_it_did_not_offer() -> None:
    agent = Session(Side.AGENT, versions=(1,))
    agent.send([HELLO])
    with pytest.raises(ProtocolFault, match="did not offer"):
        agent.receive(encode(1, [f.Challenge(hub="h", nonce="n", version=2)], Side.HUB))
    assert agent.state is State.CLOSED


class LossyWire(RuleBasedStateMachine):
    """Two sides over wires that repeat and lose messages: what arrives is a prefix of what was sent, in order."""

    @initialize()
    def join(self) -> None:
        self.sides = pair()
        self.wire: dict[Side, deque[bytes]] = {side: deque() for side in Side}
        self.sent: dict[Side, list[f.Frame]] = {side: [] for side in Side}
        self.arrived: dict[Side, list[f.Frame]] = {side: [] for side in Side}
        self.lost: set[Side] = set()

    @rule(side=st.sampled_from(list(Side)), data=st.data())
    def send(self, side: Side, data: st.DataObject) -> None:
        samples = AGENT if side is Side.AGENT else HUB
        work = [frame for frame in samples if tag_of(frame) not in JOIN_TAGS | {"refuse", "bye", "error"}]
        batch = data.draw(st.lists(st.sampled_from(work), min_size=1, max_size=3))
        if self.sides[side].state is State.OPEN:
            self.wire[side].append(self.sides[side].send(batch))
            self.sent[side].extend(batch)
        else:
            with pytest.raises(ProtocolFault):
                self.sides[side].send(batch)

    @precondition(lambda self: any(self.wire.values()))
    @rule(side=st.sampled_from(list(Side)), fate=st.sampled_from(["arrive", "arrive", "twice", "lose"]))
    def deliver(self, side: Side, fate: str) -> None:
        if not self.wire[side]:
            return
        data = self.wire[side].popleft()
        receiver = self.sides[side.other]
        if fate == "lose":
            self.lost.add(side)
            return
        was_open = receiver.state is State.OPEN
        try:
            self.arrived[side].extend(receiver.receive(data))
        except ProtocolFault:
            assert side in self.lost
            assert receiver.state is State.CLOSED
            return
        assert not (was_open and side in self.lost)
        if fate == "twice":
            assert receiver.receive(data) == []

    @rule(side=st.sampled_from(list(Side)))
    def garbage(self, side: Side) -> None:
        receiver = self.sides[side.other]
        if receiver.state is State.OPEN:
            with pytest.raises(ProtocolFault):
                receiver.receive(b'{"n":')
        assert receiver.receive(b"") == []

    @invariant()
    def what_arrives_is_what_was_sent(self) -> None:
        for side in Side:
            assert self.arrived[side] == self.sent[side][: len(self.arrived[side])]


TestLossyWire = LossyWire.TestCase
TestLossyWire.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)


def test_device_ids_and_words_differ_by_key() -> None:
    ids = {device_id(bytes([n]) * 32) for n in range(50)}
    assert len(ids) == 50
    assert all(len(name) == 28 and name.startswith("d-") and name == name.lower() for name in ids)
    words = {short_words(bytes([n]), b"", b"") for n in range(50)} | {
        short_words(b"", b"", bytes([n])) for n in range(50)
    }
    assert len(words) == 100
    assert all(len(text.split(" ")) == 6 and set(text.split(" ")) <= set(WORDS) for text in words)
    assert short_words(b"ab", b"c", b"") != short_words(b"a", b"bc", b"")


def test_no_word_of_a_pairing_comes_twice() -> None:
    drawn = [short_words(n.to_bytes(2, "big"), b"", b"").split(" ") for n in range(2_000)]
    assert [words for words in drawn if len(set(words)) < 6] == []
    assert short_words(bytes([0, 28]), b"", b"") == "diamond peanut golden maple drum sandal"


def test_the_words_are_256_and_tell_apart() -> None:
    assert len(WORDS) == len(set(WORDS)) == 256
    assert len({word[:4] for word in WORDS}) == 256
    assert all(word.isalpha() and word.islower() for word in WORDS)


def test_an_error_closes_both_sides_from_the_start() -> None:
    sides = pair(State.AWAIT_HELLO)
    assert sides[Side.HUB].receive(sides[Side.AGENT].send([ERROR])) == [ERROR]
    assert sides[Side.HUB].state is sides[Side.AGENT].state is State.CLOSED
