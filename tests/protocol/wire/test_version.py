"""Versions: the best common one, a refusal that names the older side, fields that an older peer cannot know."""

from __future__ import annotations

import msgspec
import pytest

from starloom_protocol.vocabulary import Code, Outcome
from starloom_protocol.wire import frames as f
from starloom_protocol.wire.codec import FRAMES, tag_of
from starloom_protocol.wire.frames import ProtocolFault
from starloom_protocol.wire.version import FIELDS_SINCE, FRAMES_SINCE, PROTOCOL_VERSIONS, knows, leave_out, negotiate
from tests.protocol.frames_sample import AT

SPOKEN = {
    "ack": "durable received",
    "alive": "running sent_ms",
    "answer": "action allow ask by reason",
    "asks": "answers open",
    "bye": "reason",
    "cancel": "at reason",
    "challenge": "hub nonce version",
    "condition": "facts",
    "dispatch": (
        "args at attempt_of_max fence_after_s files_out inputs repeatability secrets start_to_close_s tool wants"
    ),
    "drain": "draining reason",
    "error": "code reason",
    "facts": "at facts facts_too_big kept",
    "fetch_facts": "at wants",
    "goaway": "reason retry_after_s",
    "hello": "device instance key ledger next_report version versions",
    "hint": "at by number text",
    "ledger": "entries",
    "log": "at offset stream text",
    "offer": "offer os policy_digest profile",
    "name": "name",
    "over": "constellation",
    "ping": "at_ms",
    "pong": "at_ms",
    "progress": "at done_bytes fraction_1000 note",
    "prove": "signature",
    "query": "attempts",
    "receipt": "at effect known report",
    "refuse": "code fix reason retry_after_s",
    "renew": "gone granted sent_ms",
    "result": "artifact at bytes code detail effect facts facts_too_big outcome report tail value verified",
    "resume_plan": "entries",
    "started": "at report",
    "update_available": "version",
    "vitals": "battery_percent disk_percent load_percent memory_percent",
    "welcome": "alive_interval_s device_name http_token hub_time_ms lease_grace_s lease_ttl_s received session",
}
"""The fields of each frame in the version it came with; an older peer refuses any other as unknown."""

FIRST = {
    *("ack", "alive", "bye", "cancel", "challenge", "condition", "dispatch", "drain"),
    *("error", "facts", "fetch_facts", "goaway", "hello", "ledger", "log", "offer"),
    *("ping", "pong", "progress", "prove", "query", "receipt", "refuse", "renew"),
    *("result", "resume_plan", "started", "update_available", "welcome"),
}
"""The frames of version 1, for good: a new one has its row in `FRAMES_SINCE`."""


def test_the_highest_common_version_wins() -> None:
    assert negotiate([3]) == 3
    assert negotiate([1, 2, 3, 4, 7]) == 4
    assert negotiate([1, 2], (1,)) == 1
    assert negotiate([3, 2, 1], (2, 3)) == 3
    assert negotiate([1, 2], (2, 3)) == 2


@pytest.mark.parametrize(
    ("offered", "supported", "code"),
    [
        ([2], (1,), Code.HUB_TOO_OLD),
        ([1], (2, 3), Code.AGENT_TOO_OLD),
        ([1, 4], (2, 3), Code.HUB_TOO_OLD),
        ([0, -5], (1,), Code.AGENT_TOO_OLD),
        ([], (1,), Code.PROTOCOL_ERROR),
    ],
)
def test_a_refusal_names_the_side_that_is_too_old(offered: list[int], supported: tuple[int, ...], code: Code) -> None:
    with pytest.raises(ProtocolFault) as caught:
        negotiate(offered, supported)
    assert caught.value.code is code


def test_a_huge_offer_gives_a_short_sentence() -> None:
    with pytest.raises(ProtocolFault) as caught:
        negotiate(list(range(5, 1000)))
    assert len(caught.value.reason) < 200


def test_what_a_peer_cannot_know_is_left_out() -> None:
    since = {("progress", "note"): 2, ("result", "facts"): 3}
    progress = f.Progress(at=AT, note="half", done_bytes=3)
    assert leave_out(progress, 1, since) == f.Progress(at=AT, done_bytes=3)
    assert leave_out(progress, 2, since) is progress
    full = f.ResultFrame(at=AT, facts={"/a": "1"}, outcome=Outcome.OK, report=1, tail="x")
    assert leave_out(full, 2, since) == f.ResultFrame(at=AT, outcome=Outcome.OK, report=1, tail="x")
    assert b"facts" not in msgspec.json.encode(leave_out(full, 2, since))


def test_every_new_field_is_known_optional_and_of_a_spoken_version() -> None:
    kinds = {tag_of(kind): kind for frames in FRAMES.values() for kind in frames}
    for (tag, name), version in FIELDS_SINCE.items():
        fields = {field.name: field for field in msgspec.structs.fields(kinds[tag])}
        assert not fields[name].required
        assert 1 < version <= PROTOCOL_VERSIONS[-1]
    assert list(PROTOCOL_VERSIONS) == sorted(PROTOCOL_VERSIONS)
    assert len(PROTOCOL_VERSIONS) <= 2


def test_every_new_frame_is_known_and_of_a_spoken_version() -> None:
    tags = {tag_of(kind) for frames in FRAMES.values() for kind in frames}
    for tag, version in FRAMES_SINCE.items():
        assert tag in tags
        assert 1 < version <= PROTOCOL_VERSIONS[-1]
        assert knows(tag, version)
        assert not knows(tag, version - 1)
    assert knows("ping", 1)


def test_every_frame_is_sent_by_a_side() -> None:
    kinds = [
        one for one in vars(f).values() if isinstance(one, type) and issubclass(one, f.Frame) and one is not f.Frame
    ]
    sent = {kind for frames in FRAMES.values() for kind in frames}
    assert kinds
    assert [kind.__name__ for kind in kinds if kind not in sent] == [], "put it into `AgentFrame` or `HubFrame`"


def test_every_later_frame_and_field_has_its_version() -> None:
    kinds = {tag_of(kind): kind for frames in FRAMES.values() for kind in frames}
    assert sorted(kinds.keys() - FRAMES_SINCE.keys() - FIRST) == [], "give it a row in `FRAMES_SINCE`; `FIRST` stays"
    assert sorted(FIRST - kinds.keys()) == [], "a frame of version 1 is gone: take it out of `FIRST` and `SPOKEN`"
    assert sorted(FIRST & FRAMES_SINCE.keys()) == [], "a frame of version 1 came with version 1"
    assert sorted(kinds.keys() - SPOKEN.keys()) == [], "write its fields into `SPOKEN`"
    names = {tag: [field.name for field in msgspec.structs.fields(kind)] for tag, kind in kinds.items()}
    first = {tag: [one for one in names[tag] if (tag, one) not in FIELDS_SINCE] for tag in names}
    known = {tag: fields.split() for tag, fields in SPOKEN.items()}
    later = {tag: sorted(set(first[tag]) - set(known[tag])) for tag in names}
    assert {tag: fields for tag, fields in later.items() if fields} == {}, "give it a row in `FIELDS_SINCE`"
    assert {tag: fields for tag, fields in known.items() if first.get(tag) != fields} == {}
