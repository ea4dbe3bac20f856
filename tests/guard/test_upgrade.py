"""An agent installs nothing but what its own hub signed for it and for this one question, and never a step back."""

from __future__ import annotations

import base64
import hashlib
import json
import sys
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

import starloom_agent
from starloom.edge.agents.hub_keys import verifies
from starloom_agent.home.directory import AgentHome, Joined
from starloom_agent.install.upgrading import CannotUpgrade, UpgradeOptions, upgrade
from starloom_agent.wire.joining import JoinRefused
from starloom_agent.work.runtime import Agent as RealAgent
from starloom_protocol.wire.channel import LEAVE, UPGRADE, answer_bytes
from starloom_protocol.wire.frames import UpdateAvailable
from tests.edge.world import World, a_world
from tests.guard.signed import forged_requests, signed_request
from tests.served import Quiet, Served

NEWER = "900.0.0"
REQUIREMENTS = b"msgspec==1.0 --hash=sha256:00\n"


async def test_t47_the_hub_names_its_agent_to_its_own_devices_alone(world: World) -> None:
    victim, evil = await world.join("victim"), await world.join("evil")
    said = set()
    async with world.client("") as http:
        for why, lie in forged_requests(world, victim, evil, UPGRADE).items():
            reply = await http.post("/agent/upgrade", json=lie)
            assert (reply.status_code, reply.json()["code"]) == (403, "bad_signature"), why
            said.add(reply.json()["reason"])
        assert len(said) == 1, "an answer tells which devices there are"
        crossed = await http.post("/agent/upgrade", json=signed_request(world, victim, LEAVE))
        assert crossed.status_code == 403
        assert not world.hub.fleet.devices[victim.id].revoked
        async with world.client() as owner:
            assert (await owner.post(f"/api/v1/devices/{evil.id}/revoke", json={})).status_code == 200
        gone = await http.post("/agent/upgrade", json=signed_request(world, evil, UPGRADE))
        assert (gone.status_code, gone.json()["code"]) == (422, "device_revoked")


async def test_the_answer_is_signed_for_this_device_and_this_question(tmp_path: Path) -> None:
    pins, wheels = tmp_path / "pins.txt", tmp_path / "wheels"
    pins.write_bytes(REQUIREMENTS)
    wheels.mkdir()
    for name in ("protocol-0.9.0", "protocol-0.10.0", "agent-0.9.0", "agent-0.10.0"):
        (wheels / f"starloom_{name}-py3-none-any.whl").write_bytes(name.encode())
    async with a_world(tmp_path, requirements=pins) as world, world.client("") as http:
        agent, other = await world.join("laptop"), await world.join("other")
        request = signed_request(world, agent, UPGRADE)
        said = (await http.post("/agent/upgrade", json=request)).json()
        key = world.hub.key
    answer = said["answer"]
    assert answer["requirements"] == sha(REQUIREMENTS)
    named = {item["file"]: item["sha256"] for item in answer["wheels"]}
    newest = {f"starloom_{name}-py3-none-any.whl": sha(name.encode()) for name in ("protocol-0.10.0", "agent-0.10.0")}
    assert named == newest, "an older file that lies there too is not handed out"

    def signed(device: str, nonce: str) -> bytes:
        return answer_bytes(UPGRADE, hub=key.text, device=device, nonce=nonce, answer=answer)

    assert verifies(key.raw, said["signature"], signed(agent.id, request["nonce"]))
    assert not verifies(key.raw, said["signature"], signed(other.id, request["nonce"]))
    assert not verifies(key.raw, said["signature"], signed(agent.id, "0" * 64))


class FalseHub(Served):
    """Answers in the place of a hub; a lie changes what it says before or after its key signs it."""

    def __init__(self) -> None:
        self.private = Ed25519PrivateKey.generate()
        self.key = base64.b64encode(self.private.public_key().public_bytes_raw()).decode()
        self.files = {f"starloom_{name}-{NEWER}-py3-none-any.whl": name.encode() * 9 for name in ("protocol", "agent")}
        self.before_signing: Callable[[dict[str, Any]], None] = lambda _answer: None
        self.after_signing: Callable[[dict[str, Any]], None] = lambda _reply: None
        self.served: dict[str, bytes] = {"/agent/requirements.txt": REQUIREMENTS}
        self.served |= {f"/agent/wheels/{name}": data for name, data in self.files.items()}
        self.fetched: list[str] = []
        self.signs: Callable[[dict[str, str]], dict[str, str]] = lambda fields: fields
        outer = self

        class Handler(Quiet, BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                self.reply(200, json.dumps(outer.reply(json.loads(self.given()))).encode())

            def do_GET(self) -> None:
                outer.fetched.append(self.path)
                self.reply(200, outer.served.get(self.path, b""))

        super().__init__(Handler)

    def reply(self, body: dict[str, str]) -> dict[str, Any]:
        wheels = [
            {"name": n.split("-")[0], "version": NEWER, "file": n, "sha256": sha(d), "bytes": len(d)}
            for n, d in self.files.items()
        ]
        answer = {"requirements": sha(REQUIREMENTS), "wheels": wheels}
        self.before_signing(answer)
        fields = self.signs({"what": UPGRADE, "hub": self.key, "device": body["device"], "nonce": body["nonce"]})
        what = fields.pop("what")
        signature = base64.b64encode(self.private.sign(answer_bytes(what, answer=answer, **fields))).decode()
        reply = {"answer": answer, "signature": signature}
        self.after_signing(reply)
        return reply


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@pytest.fixture
def hub() -> Iterator[FalseHub]:
    with FalseHub() as made:
        yield made


@pytest.fixture
def home(hub: FalseHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AgentHome:
    made = AgentHome((tmp_path / "agent").resolve())
    made.make()
    made.join(Joined(hub=hub.url, hub_key=hub.key, name="box"))
    (made.root / "venv-first").mkdir()
    (made.root / "venv").symlink_to("venv-first")
    monkeypatch.setattr(sys, "prefix", str(made.root / "venv"))
    return made


def refused(home: AgentHome, hub: FalseHub, fetched: tuple[str, ...] = ()) -> str:
    """Upgrade, and see that nothing came of it; return why."""
    said: list[str] = []
    with pytest.raises((CannotUpgrade, JoinRefused)) as caught:
        upgrade(home, said.append, UpgradeOptions())
    assert (home.root / "venv").resolve().name == "venv-first"
    assert [path.name for path in home.root.glob("venv*") if not path.is_symlink()] == ["venv-first"]
    assert not list(home.run.glob("upgrade-*"))
    assert not any(line.startswith("installed") for line in said)
    assert tuple(hub.fetched) == fetched
    return str(caught.value)


def _swap(reply: dict[str, Any]) -> None:
    reply["answer"]["wheels"][1]["sha256"] = sha(b"evil")


UNSIGNED: dict[str, Callable[[FalseHub], None]] = {
    "a changed hash": lambda hub: setattr(hub, "after_signing", _swap),
    "no signature": lambda hub: setattr(hub, "after_signing", lambda reply: reply.pop("signature")),
    "another key": lambda hub: setattr(hub, "private", Ed25519PrivateKey.generate()),
    "the answer to an older question": lambda hub: setattr(hub, "signs", lambda said: {**said, "nonce": "0" * 64}),
    "the answer to another device": lambda hub: setattr(hub, "signs", lambda said: {**said, "device": "d-other"}),
    "an answer to something else": lambda hub: setattr(hub, "signs", lambda said: {**said, "what": LEAVE}),
}


@pytest.mark.parametrize("lie", UNSIGNED)
def test_t47_an_answer_that_the_hub_did_not_sign_installs_nothing(home: AgentHome, hub: FalseHub, lie: str) -> None:
    UNSIGNED[lie](hub)
    assert "is not the hub that this device has joined" in refused(home, hub)


def _with(index: int, **fields: Any) -> Callable[[FalseHub], None]:
    return lambda hub: setattr(hub, "before_signing", lambda answer: answer["wheels"][index].update(fields))


NOT_MEANT: dict[str, tuple[Callable[[FalseHub], None], str]] = {
    "a file elsewhere": (_with(1, file="../../evil.whl"), "cannot be installed"),
    "a file by its whole path": (_with(1, file="/tmp/evil.whl"), "cannot be installed"),
    "a file without an end": (_with(1, bytes=10**12), "cannot be installed"),
    "a version that is a path": (_with(1, version="../x"), "cannot be installed"),
    "no hash": (_with(1, sha256=""), "cannot be installed"),
    "two agents": (_with(0, name="starloom_agent"), "does not hand out exactly one"),
    "an older one": (_with(1, version="0.0.1"), "which is no newer than"),
    "one that no order places": (_with(1, version="newest"), "which is no newer than"),
}


@pytest.mark.parametrize("lie", NOT_MEANT)
def test_t47_what_no_hub_would_mean_is_refused_though_it_is_signed(home: AgentHome, hub: FalseHub, lie: str) -> None:
    change, words = NOT_MEANT[lie]
    change(hub)
    assert words in refused(home, hub)


def test_t47_other_bytes_than_those_signed_are_not_installed(home: AgentHome, hub: FalseHub) -> None:
    pins, (protocol, agent) = "/agent/requirements.txt", [f"/agent/wheels/{name}" for name in hub.files]
    good = dict(hub.served)
    for path, fetched in ((pins, (pins,)), (protocol, (pins, protocol)), (agent, (pins, protocol, agent))):
        hub.served = {**good, path: good[path][:-1] + b"!"}
        hub.fetched.clear()
        assert "has another hash than the hub signed" in refused(home, hub, fetched)
    hub.served = {**good, agent: good[agent] + b"more"}
    hub.fetched.clear()
    assert "is larger than" in refused(home, hub, (pins, protocol, agent))


def test_t47_no_message_of_the_hub_begins_an_upgrade() -> None:
    said: list[str] = []

    class Told:
        _say = staticmethod(said.append)
        home = AgentHome(Path("/nowhere"))

    RealAgent._handlers[UpdateAvailable](Told, UpdateAvailable(version=NEWER))  # type: ignore[arg-type]
    assert len(said) == 1
    assert "to install it type:" in said[0]
    assert starloom_agent.__version__ != NEWER
