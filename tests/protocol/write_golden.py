"""Writes golden examples that are absent: `python -m tests.protocol.write_golden`. It never changes one that is there.

v1/, v2/, v3/, v4/       examples of what came with that version
frames/ACCEPTED.json    {sender, authenticated, message}: the message decodes and encodes to the same text
frames/rejected/*.json  the same with the code of the fault
sessions/*.json         steps {side, send: [frames] | receive: text | farewell: code, expect: {...}}
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec

import starloom_protocol
from starloom_protocol.values import INLINE_VALUE_BYTES_MAX
from starloom_protocol.vocabulary import Code
from starloom_protocol.wire import frames as f
from starloom_protocol.wire.channel import (
    answer_proof,
    channel_keys,
    device_proof,
    hub_proof,
    request_proof,
    seal,
    transcript,
)
from starloom_protocol.wire.codec import Side, encode, tag_of
from starloom_protocol.wire.session import ProtocolFault, Session, device_id, short_words
from starloom_protocol.wire.version import FIELDS_SINCE, FRAMES_SINCE, knows
from tests.protocol.frames_sample import BY_SIDE, CHALLENGE, CHALLENGE_3, HELLO, HELLO_3, PING, PROVE, WELCOME

GOLDEN = Path(starloom_protocol.__file__).parent / "golden"
ROOT = GOLDEN / "v1"
JOINING = {"hello", "challenge", "prove", "refuse", "welcome"}


def accepted() -> dict[str, dict[str, Any]]:
    made: dict[str, dict[str, Any]] = {}
    for side, samples in BY_SIDE.items():
        for n, frame in enumerate(samples, 1):
            place = f"v{_since(msgspec.to_builtins(frame))}/frames/{side}-{tag_of(frame)}"
            name = f"{place}-{n}" if place in made else place
            joining = tag_of(frame) in JOINING
            text = encode(n, [frame], side, authenticated=not joining).decode()
            made[name] = {"sender": side, "authenticated": not joining, "message": text}
        batch = [frame for frame in samples if tag_of(frame) not in JOINING]
        batch = [frame for frame in batch if knows(tag_of(frame), 1)]
        made[f"v1/frames/{side}-batch"] = {
            "sender": side,
            "authenticated": True,
            "message": encode(9, batch, side).decode(),
        }
    return made


def rejected() -> dict[str, dict[str, Any]]:
    ping = '{"t":"ping","at_ms":1}'
    deep = "[" * 40 + "]" * 40
    at = '{"attempt":1,"constellation":"c","incarnation":1,"task":"t"}'
    result = '{"n":1,"f":[{"t":"result","at":' + at + ',"outcome":"ok","report":1,"value":%s}]}'
    proposal = '"base_version":1,"operations":"[{\\"id\\":\\"a\\",\\"op\\":\\"remove_task\\"}]","reason":"","report":1'
    ready = '"bytes":3,"media":"image/png","name":"a.png","report":1,"sha256":"' + "cd" * 32 + '"'
    cases = {
        "empty": ("agent", ""),
        "not-json": ("agent", "hello"),
        "truncated": ("agent", '{"n":1,"f":['),
        "trailing": ("agent", '{"n":1,"f":[' + ping + "]} {}"),
        "list": ("agent", "[]"),
        "no-number": ("agent", '{"f":[' + ping + "]}"),
        "number-zero": ("agent", '{"n":0,"f":[' + ping + "]}"),
        "number-negative": ("agent", '{"n":-1,"f":[' + ping + "]}"),
        "number-text": ("agent", '{"n":"1","f":[' + ping + "]}"),
        "number-fraction": ("agent", '{"n":1.5,"f":[' + ping + "]}"),
        "number-too-big": ("agent", '{"n":9007199254740992,"f":[' + ping + "]}"),
        "no-frames": ("agent", '{"n":1,"f":[]}'),
        "frames-null": ("agent", '{"n":1,"f":null}'),
        "unknown-message-field": ("agent", '{"n":1,"f":[' + ping + '],"x":1}'),
        "unknown-frame": ("agent", '{"n":1,"f":[{"t":"shutdown"}]}'),
        # Two frames of the first draft, which no agent sent and which were taken out: refused like any unknown one.
        "removed-propose": ("agent", '{"n":1,"f":[{"t":"propose","at":' + at + "," + proposal + "}]}"),
        "removed-artifact-ready": ("agent", '{"n":1,"f":[{"t":"artifact_ready",' + ready + "}]}"),
        "no-tag": ("agent", '{"n":1,"f":[{"at_ms":1}]}'),
        "unknown-field": ("agent", '{"n":1,"f":[{"t":"ping","at_ms":1,"x":1}]}'),
        "missing-field": ("agent", '{"n":1,"f":[{"t":"ping"}]}'),
        "wrong-type": ("agent", '{"n":1,"f":[{"t":"ping","at_ms":"1"}]}'),
        "bool-for-number": ("agent", '{"n":1,"f":[{"t":"ping","at_ms":true}]}'),
        "hub-frame-from-agent": ("agent", '{"n":1,"f":[{"t":"ack","durable":1,"received":1}]}'),
        "agent-frame-from-hub": ("hub", '{"n":1,"f":[{"t":"bye","reason":"x"}]}'),
        "unknown-code": ("hub", '{"n":1,"f":[{"t":"error","code":"oops","reason":"x"}]}'),
        "lone-surrogate": ("agent", '{"n":1,"f":[{"t":"bye","reason":"\\ud800"}]}'),
        "value-not-json": ("agent", result % '"{oops"'),
        "value-too-deep": ("agent", result % json.dumps(deep)),
        "value-trailing": ("agent", result % '"1 2"'),
        "infinity": ("hub", '{"n":1,"f":[{"t":"goaway","reason":"x","retry_after_s":1e999}]}'),
    }
    made: dict[str, dict[str, Any]] = {
        name: {"sender": sender, "authenticated": True, "message": text, "code": Code.PROTOCOL_ERROR}
        for name, (sender, text) in cases.items()
    }
    made["too-large-before-authentication"] = {
        "sender": "agent",
        "authenticated": False,
        "message": '{"n":1,"f":[{"t":"bye","reason":"' + "x" * 4096 + '"}]}',
        "code": Code.FRAME_TOO_LARGE,
    }
    long = result % json.dumps(json.dumps("x" * (INLINE_VALUE_BYTES_MAX - 1)))
    made["value-too-long"] = {
        "sender": "agent",
        "authenticated": True,
        "message": long,
        "code": Code.FRAME_TOO_LARGE,
    }
    return made


class Script:
    """Records what both sides do as a session script."""

    def __init__(self, about: str, versions: dict[Side, tuple[int, ...]] | None = None) -> None:
        self.about = about
        self.versions = versions or {}
        self.sides = {side: Session(side, versions=self.versions.get(side, (1,))) for side in Side}
        self.steps: list[dict[str, Any]] = []

    def send(self, side: Side, *batch: f.Frame) -> bytes:
        step: dict[str, Any] = {"side": side, "send": [msgspec.to_builtins(frame) for frame in batch]}
        data = b""
        try:
            data = self.sides[side].send(batch)
            step["expect"] = {"text": data.decode(), "state": self.sides[side].state}
        except ProtocolFault as fault:
            step["expect"] = {"code": fault.code, "state": self.sides[side].state}
        self.steps.append(step)
        return data

    def receive(self, side: Side, data: bytes) -> ProtocolFault | None:
        step: dict[str, Any] = {"side": side, "receive": data.decode()}
        found = None
        try:
            tags = [tag_of(frame) for frame in self.sides[side].receive(data)]
            step["expect"] = {"frames": tags, "state": self.sides[side].state}
        except ProtocolFault as fault:
            found = fault
            step["expect"] = {"code": fault.code, "state": self.sides[side].state}
        self.steps.append(step)
        return found

    def farewell(self, side: Side, fault: ProtocolFault) -> bytes:
        data = self.sides[side].farewell(fault)
        step = {"side": side, "farewell": fault.code, "reason": fault.reason, "fix": fault.fix}
        self.steps.append({**step, "expect": {"text": data.decode(), "state": self.sides[side].state}})
        return data

    def turn(self, side: Side, *batch: f.Frame) -> ProtocolFault | None:
        return self.receive(side.other, self.send(side, *batch))

    def join(self) -> Script:
        self.turn(Side.AGENT, HELLO)
        self.turn(Side.HUB, CHALLENGE)
        self.turn(Side.AGENT, PROVE)
        self.turn(Side.HUB, WELCOME)
        return self

    def document(self) -> dict[str, Any]:
        versions = {side: list(self.versions.get(side, (1,))) for side in Side}
        return {"about": self.about, "versions": versions, "steps": self.steps}


def sessions() -> dict[str, Script]:
    agent, hub = Side.AGENT, Side.HUB
    made = {"join": Script("the whole handshake").join()}

    script = Script("work in both directions after joining, then bye").join()
    for sender in (agent, hub):
        for frame in BY_SIDE[sender]:
            if knows(tag_of(frame), 1) and tag_of(frame) not in JOINING | {"bye", "error"}:
                script.turn(sender, frame)
    script.turn(agent, f.Bye(reason="done"))
    script.receive(agent, script.send(hub, PING))
    made["work-and-bye"] = script

    script = Script("a batch after the welcome in the same message")
    script.turn(agent, HELLO)
    script.turn(hub, CHALLENGE)
    script.turn(agent, PROVE)
    script.turn(hub, WELCOME, f.Ack(durable=0, received=0), f.ResumePlan(entries=[]))
    made["welcome-batch"] = script

    script = Script("a duplicate is dropped, a gap closes").join()
    first = script.send(agent, PING)
    script.receive(hub, first)
    script.receive(hub, first)
    script.send(agent, PING)
    fault = script.receive(hub, script.send(agent, PING))
    if fault is not None:
        script.receive(agent, script.farewell(hub, fault))
    made["duplicate-and-gap"] = script

    early_work: dict[str, list[f.Frame]] = {"hello": [], "challenge": [HELLO], "prove": [HELLO, CHALLENGE]}
    for state, frames in early_work.items():
        script = Script(f"work before the hub awaits it: instead of {state}")
        for frame in frames:
            script.turn(agent if frame is HELLO else hub, frame)
        early = encode(frames.count(HELLO) + 1, [PING], agent)
        fault = script.receive(hub, early)
        if fault is not None:
            script.farewell(hub, fault)
        made[f"early-work-for-{state}"] = script

    script = Script("the agent may not send work before the welcome")
    script.send(agent, PING)
    script.send(agent, HELLO)
    script.send(agent, PROVE)
    made["agent-sends-early"] = script

    script = Script("the hub refuses a key it does not know")
    script.turn(agent, HELLO)
    refused = ProtocolFault(Code.UNKNOWN_KEY, "this device has not joined")
    script.receive(agent, script.farewell(hub, refused))
    script.send(agent, PROVE)
    made["refused"] = script

    script = Script("the agent speaks only what is older than the hub", {hub: (2, 3)})
    fault = script.turn(agent, HELLO)
    if fault is not None:
        script.receive(agent, script.farewell(hub, fault))
    made["agent-too-old"] = script

    script = Script("the agent speaks only what is newer than the hub", {agent: (2,)})
    fault = script.turn(agent, msgspec.structs.replace(HELLO, versions=[2]))
    if fault is not None:
        script.receive(agent, script.farewell(hub, fault))
    made["hub-too-old"] = script

    script = Script("a hub that chooses what was not offered", {hub: (1, 2)})
    script.turn(agent, msgspec.structs.replace(HELLO, versions=[1, 2]))
    script.turn(hub, f.Challenge(hub="h", nonce="n", version=2))
    made["version-not-offered"] = script
    return made


def sessions_of_2() -> dict[str, Script]:
    agent, hub = Side.AGENT, Side.HUB
    both: dict[Side, tuple[int, ...]] = {agent: (1, 2), hub: (1, 2)}
    asks, answer = (next(frame for frame in BY_SIDE[side] if not knows(tag_of(frame), 1)) for side in (agent, hub))

    def joined(about: str, versions: dict[Side, tuple[int, ...]]) -> Script:
        script = Script(about, versions)
        script.turn(agent, msgspec.structs.replace(HELLO, versions=list(versions[agent])))
        script.turn(hub, msgspec.structs.replace(CHALLENGE, version=script.sides[hub].version))
        script.turn(agent, PROVE)
        script.turn(hub, WELCOME)
        return script

    made = {"asks-and-answer": joined("a question to the owner, and the answer of a person at the hub", both)}
    made["asks-and-answer"].turn(agent, asks)
    made["asks-and-answer"].turn(hub, answer)
    script = joined("a hub of version 1 is not told of questions", {agent: (1, 2), hub: (1,)})
    script.send(agent, asks)
    script.turn(agent, PING)
    made["asks-to-an-older-hub"] = script
    script = joined("an agent of version 1 is not given answers", {agent: (1,), hub: (1, 2)})
    script.send(hub, answer)
    fault = script.receive(agent, encode(2, [answer], hub))
    if fault is not None:
        script.farewell(agent, fault)
    made["answer-to-an-older-agent"] = script
    return made


def identity() -> dict[str, Any]:
    key, hub_key, code_hash = bytes(range(32)), bytes(range(32, 64)), bytes(range(64, 96))
    return {
        "about": "keys and hashes are hex",
        "public_key": key.hex(),
        "device_id": device_id(key),
        "hub_key": hub_key.hex(),
        "code_hash": code_hash.hex(),
        "short_words": short_words(hub_key, key, code_hash),
    }


def channel() -> dict[str, Any]:
    """What is signed, derived and sealed in a connection of version 3, byte for byte."""
    said = transcript(HELLO_3, CHALLENGE_3)
    keys = channel_keys(bytes(range(32)), said)
    text = encode(2, [PING], Side.HUB)
    request = request_proof(keys.http, "PATCH", "ab" * 32, offset="5", length="9")
    return {
        "about": "bytes are hex; the secret is what both key shares give",
        "hello": msgspec.to_builtins(HELLO_3),
        "challenge": msgspec.to_builtins(CHALLENGE_3),
        "transcript": said.hex(),
        "hub_proof": hub_proof(said).hex(),
        "device_proof": device_proof(said, CHALLENGE_3.signature).hex(),
        "secret": bytes(range(32)).hex(),
        "keys": {"agent": keys.agent.hex(), "http": keys.http.hex(), "hub": keys.hub.hex()},
        "sealed": seal(keys.hub, text).decode(),
        "request_proof": request,
        "ranged_proof": request_proof(keys.http, "GET", "ab" * 32, span="bytes=3-"),
        "answer_proof": answer_proof(keys.http, request, 204, "9"),
    }


def sessions_of_3() -> dict[str, Script]:
    agent, hub = Side.AGENT, Side.HUB
    made = {}
    for name, about, offered in (
        ("hub-proves", "the hub signs the challenge; callers seal what follows", (3,)),
        ("an-older-agent", "an agent of version 2 is given no signature", (1, 2)),
    ):
        script = Script(about, {agent: offered, hub: (2, 3)})
        script.turn(agent, msgspec.structs.replace(HELLO_3, versions=list(offered)))
        script.turn(hub, msgspec.structs.replace(CHALLENGE_3, version=script.sides[hub].version))
        script.turn(agent, PROVE)
        script.turn(hub, WELCOME)
        made[name] = script
    script = Script("a hub that names version 2 is left by an agent that wants a proof", {agent: (3,), hub: (2, 3)})
    script.send(agent, HELLO_3)
    script.receive(agent, encode(1, [msgspec.structs.replace(CHALLENGE, version=2)], hub, authenticated=False))
    made["no-way-back"] = script
    return made


def _since(frame: dict[str, Any]) -> int:
    fields = [FIELDS_SINCE.get((frame["t"], name), 1) for name in frame]
    return max(FRAMES_SINCE.get(frame["t"], 1), *fields)


def write_absent() -> list[Path]:
    documents: dict[Path, Any] = {}
    for name, example in accepted().items():
        documents[GOLDEN / f"{name}.json"] = example
    for name, example in rejected().items():
        documents[ROOT / "frames" / "rejected" / f"{name}.json"] = example
    for name, script in sessions().items():
        documents[ROOT / "sessions" / f"{name}.json"] = script.document()
    for name, script in sessions_of_2().items():
        documents[GOLDEN / "v2" / "sessions" / f"{name}.json"] = script.document()
    for name, script in sessions_of_3().items():
        documents[GOLDEN / "v3" / "sessions" / f"{name}.json"] = script.document()
    documents[GOLDEN / "v3" / "channel.json"] = channel()
    documents[ROOT / "identity.json"] = identity()
    written = []
    for place, document in documents.items():
        if not place.exists():
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(json.dumps(document, indent=1, ensure_ascii=True) + "\n", encoding="utf-8")
            written.append(place)
    return written


if __name__ == "__main__":
    for place in write_absent():
        print("wrote", place.relative_to(GOLDEN))
