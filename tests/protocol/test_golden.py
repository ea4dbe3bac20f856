"""The golden examples of every version: what is accepted, refused, and how whole sessions go."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

import starloom_protocol
from starloom_protocol.vocabulary import Code
from starloom_protocol.wire.codec import FRAMES, Side, decode, encode, tag_of
from starloom_protocol.wire.frames import AgentMessage, Frame, HubMessage
from starloom_protocol.wire.session import ProtocolFault, Session, device_id, short_words
from tests.protocol.frames_sample import BY_SIDE
from tests.protocol.write_golden import GOLDEN, ROOT, channel, identity

FRAME_FILES = sorted(GOLDEN.glob("v*/frames/*.json"))
REJECTED_FILES = sorted((ROOT / "frames" / "rejected").glob("*.json"))
SESSION_FILES = sorted(GOLDEN.glob("v*/sessions/*.json"))


def load(place: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(place.read_text(encoding="utf-8"))
    return document


def frame_of(side: Side, built: dict[str, Any]) -> Frame:
    document = {"n": 1, "f": [built]}
    if side is Side.AGENT:
        return msgspec.convert(document, AgentMessage).f[0]
    return msgspec.convert(document, HubMessage).f[0]


@pytest.mark.parametrize("place", FRAME_FILES, ids=lambda place: place.stem)
def test_accepted_message_decodes_and_encodes_to_the_same_text(place: Path) -> None:
    example = load(place)
    side = Side(example["sender"])
    message = decode(example["message"], side, authenticated=example["authenticated"])
    again = encode(message.n, message.f, side, authenticated=example["authenticated"])
    assert again.decode() == example["message"]
    assert decode(again, side, authenticated=example["authenticated"]) == message


@pytest.mark.parametrize("place", REJECTED_FILES, ids=lambda place: place.stem)
def test_rejected_message_names_its_code(place: Path) -> None:
    example = load(place)
    with pytest.raises(ProtocolFault) as caught:
        decode(example["message"], Side(example["sender"]), authenticated=example["authenticated"])
    assert caught.value.code == example["code"]
    assert caught.value.reason
    assert caught.value.fix


@pytest.mark.parametrize("side", Side)
def test_every_frame_has_an_accepted_example(side: Side) -> None:
    found = {
        frame["t"]
        for place in FRAME_FILES
        if load(place)["sender"] == side
        for frame in json.loads(load(place)["message"])["f"]
    }
    sent = {tag_of(frame) for frame in FRAMES[side]}
    sampled = {tag_of(frame) for frame in BY_SIDE[side]}
    assert sorted(sent - sampled) == [], "a full and a least example in frames_sample.py"
    assert sorted(sent - found) == [], "an example in frames_sample.py, then `python -m tests.protocol.write_golden`"
    assert sorted(found - sent) == [], "an example of a frame that is gone"


@pytest.mark.parametrize("place", SESSION_FILES, ids=lambda place: place.stem)
def test_session_script(place: Path) -> None:
    script = load(place)
    sides = {side: Session(side, versions=script["versions"][side]) for side in Side}
    for number, step in enumerate(script["steps"]):
        session, expect = sides[Side(step["side"])], step["expect"]
        found: dict[str, Any] = {}
        try:
            if "send" in step:
                frames = [frame_of(session.side, built) for built in step["send"]]
                found["text"] = session.send(frames).decode()
            elif "receive" in step:
                found["frames"] = [tag_of(frame) for frame in session.receive(step["receive"])]
            else:
                fault = ProtocolFault(Code(step["farewell"]), step["reason"], step["fix"])
                found["text"] = session.farewell(fault).decode()
        except ProtocolFault as fault:
            found["code"] = fault.code
        found["state"] = session.state
        assert found == expect, f"step {number} of {place.stem}"


def test_identity_is_for_ever() -> None:
    golden = load(ROOT / "identity.json")
    assert golden == identity()
    key = bytes.fromhex(golden["public_key"])
    assert device_id(key) == golden["device_id"]
    words = short_words(bytes.fromhex(golden["hub_key"]), key, bytes.fromhex(golden["code_hash"]))
    assert words == golden["short_words"]


def test_channel_is_for_ever() -> None:
    assert load(GOLDEN / "v3" / "channel.json") == channel()


def test_golden_files_are_in_the_package() -> None:
    assert Path(starloom_protocol.__file__).parent in ROOT.parents
    assert len(FRAME_FILES) > 30
    assert len(REJECTED_FILES) > 20
    assert len(SESSION_FILES) >= 10
