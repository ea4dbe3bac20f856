"""The joining line on a device that has joined: no other hub and no other person gets the device by it (T216)."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from starloom_agent.cli import main
from starloom_agent.home.directory import AgentHome, Joined
from starloom_agent.home.identity import load_or_make
from starloom_agent.policy.file import write_policy
from starloom_agent.policy.policy import Policy
from starloom_protocol.vocabulary import Profile
from starloom_protocol.wire.channel import UPGRADE, answer_bytes
from tests.edge.world import World
from tests.served import Quiet, Served

CODE = "ABCD-EFGH"


class OtherHub(Served):
    """Lets every device in, with a key of its own; `signs` also answers what the hub before would have signed."""

    def __init__(self) -> None:
        self.private = Ed25519PrivateKey.generate()
        self.key = base64.b64encode(self.private.public_key().public_bytes_raw()).decode()
        self.asked: list[str] = []
        self.signs = False
        outer = self

        class Handler(Quiet, BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                outer.asked.append(self.path)
                status, answer = outer.reply(self.path, json.loads(self.given()))
                self.reply(status, json.dumps(answer).encode())

        super().__init__(Handler)

    def reply(self, path: str, body: dict[str, str]) -> tuple[int, dict[str, Any]]:
        if path == "/agent/join":
            return 202, {"enrollment": "e-1", "state": "approved", "hub_key": self.key, "name": "mine"}
        if not self.signs:
            return 403, {"code": "bad_signature", "reason": "no device of this hub has signed this request for it"}
        answer = {"name": "mine", "requirements": "0" * 64, "wheels": []}
        said = answer_bytes(UPGRADE, hub=self.key, device=body["device"], nonce=body["nonce"], answer=answer)
        return 200, {"answer": answer, "signature": base64.b64encode(self.private.sign(said)).decode()}


@pytest.fixture
def other() -> Iterator[OtherHub]:
    with OtherHub() as made:
        yield made


def joined_home(tmp_path: Path, url: str) -> AgentHome:
    """Return the home of a device that has joined a hub, with a key of its own, at this address."""
    home = AgentHome((tmp_path / "agent").resolve())
    home.make()
    load_or_make(home.key)
    key = base64.b64encode(Ed25519PrivateKey.generate().public_key().public_bytes_raw()).decode()
    home.join(Joined(hub=url, hub_key=key, name="box"))
    write_policy(home.policy, Policy(profile=Profile.OBSERVE))
    return home


def contents(home: AgentHome) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (home.key, home.hub, home.policy)}


def line(home: AgentHome, url: str) -> int:
    return main(["join", url, CODE, "--home", str(home.root), "--profile", "work", "--start"])


@pytest.mark.parametrize("signs", [False, True])
def test_t216_a_hub_at_the_address_of_the_first_gets_no_device(
    other: OtherHub, tmp_path: Path, capsys: pytest.CaptureFixture[str], *, signs: bool
) -> None:
    other.signs = signs
    home = joined_home(tmp_path, other.url)
    before = contents(home)
    assert line(home, other.url) == 1
    assert contents(home) == before
    assert not (home.run / "agent.pid").exists()
    said = capsys.readouterr().err
    assert ("does not carry the signature of that hub's key" if signs else "has another key than the hub") in said


def test_t216_the_line_of_a_hub_elsewhere_is_not_followed(
    other: OtherHub, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home = joined_home(tmp_path, "http://127.0.0.1:9")
    before = contents(home)
    assert line(home, other.url) == 1
    assert (contents(home), other.asked) == (before, [])
    assert "has joined http://127.0.0.1:9" in capsys.readouterr().err


async def test_t216_the_code_of_another_owner_moves_no_device(world: World) -> None:
    agent = await world.join("laptop")
    before = world.hub.fleet.devices[agent.id]
    async with world.client() as first:
        lo = (await first.post("/api/v1/tokens", json={"role": "owner", "for": "lo"})).json()
    async with world.client(lo["token"]) as owner:
        code = (await owner.post("/api/v1/enrollments", json={"preapproved": True, "label": "mine"})).json()
        async with world.client("") as device:
            answer = await device.post("/agent/join", json=agent.ask(code["code"]))
        assert (answer.status_code, answer.json()["code"]) == (409, "conflict")
        assert "has joined as laptop" in answer.json()["reason"]
    assert world.hub.fleet.devices[agent.id] == before
    made = world.hub.fleet.enrollments[code["id"]]
    assert (made.state, world.hub.access.principals[made.owner].name) == ("open", "lo")
