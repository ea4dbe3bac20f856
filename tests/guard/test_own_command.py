"""The folders of the hub: for no caller without a sign-in (T134, T211), and only for owners signed in (T163)."""

from __future__ import annotations

import sys
from pathlib import Path

import httpx
import pytest

from starloom.process.program import for_its_hub, in_its_folder
from tests.edge.world import URL, World, a_world

PUBLIC = "https://star.example.org"
HOME = "/srv/ines/.local/share/starloom"
PROGRAM = f"STARLOOM_HOME={HOME} /srv/ines/starloom/.venv/bin/starloom"
LINK = {"id": "a", "secret": "b" * 43}
LAN = "192.168.1.7"
HERE = "127.0.0.1"


async def answers(world: World, base: str, client: str, headers: dict[str, str]) -> list[httpx.Response]:
    """Return what the hub says to a caller without a sign-in."""
    through = httpx.ASGITransport(world.app, client=(client, 50_000))
    async with httpx.AsyncClient(transport=through, base_url=base, headers=headers) as http:
        ended = {**headers, "cookie": "starloom-8470=sls_x.y"}
        return [
            await http.get("/api/v1/devices"),
            await http.get("/api/v1/session", headers=ended),
            await http.post("/api/v1/sign-in", json=LINK),
            await http.get("/"),
            await http.get("/device"),
        ]


@pytest.mark.parametrize(
    ("base", "client", "headers"),
    [
        (URL, LAN, {}),
        (PUBLIC, HERE, {}),
        (URL, HERE, {"x-forwarded-for": LAN}),
        (URL, HERE, {"forwarded": f"for={LAN}"}),
        (URL, HERE, {"via": "1.1 caddy"}),
    ],
    ids=["network", "proxy-by-name", "proxy-by-header", "forwarded", "via"],
)
async def test_t134_a_stranger_elsewhere_learns_no_folder_of_the_hub(
    tmp_path: Path, base: str, client: str, headers: dict[str, str]
) -> None:
    async with a_world(tmp_path, program=PROGRAM, public_url=PUBLIC) as world:
        told = await answers(world, base, client, headers)
    assert {401} <= {answer.status_code for answer in told}
    for answer in told:
        assert "/ines" not in answer.text, answer.url
        assert "STARLOOM_HOME" not in answer.text, answer.url


@pytest.mark.parametrize("client", [LAN, HERE])
async def test_t211_a_hub_without_an_agent_names_no_folder(
    tmp_path: Path, client: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with a_world(tmp_path) as world:
        through = httpx.ASGITransport(world.app, client=(client, 50_000))
        async with httpx.AsyncClient(transport=through, base_url=URL) as http:
            refused = await http.get("/agent/wheels.json")
    assert (refused.status_code, "no agent to hand out" in refused.text) == (404, True)
    assert str(tmp_path) not in refused.text
    assert str(tmp_path / "wheels") in caplog.text, "its owner finds the folder in the log"


async def test_t134_a_caller_on_the_computer_of_the_hub_learns_no_folder(tmp_path: Path) -> None:
    near = ".venv/bin/starloom"
    async with a_world(tmp_path, program=PROGRAM, program_here=near, public_url=PUBLIC) as world:
        told = await answers(world, URL, HERE, {})
    assert [answer.json()["program"] for answer in told[:3]] == [near] * 3
    for answer in told:
        assert "/ines" not in answer.text, answer.url
        assert "STARLOOM_HOME" not in answer.text, answer.url


def test_t134_the_line_of_the_program_has_no_folder_of_the_computer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert Path(sys.prefix).name in in_its_folder()
    assert not in_its_folder().startswith("/")
    assert str(Path(sys.prefix).parent) not in in_its_folder()


def test_t134_the_line_for_other_data_leaves_the_folder_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "work" / "below").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "work" / "below")
    usual = tmp_path / "share"
    assert for_its_hub("starloom", tmp_path / "ines" / "hub", usual) == "STARLOOM_HOME=FOLDER starloom"
    for found in (usual, tmp_path / "work" / ".starloom", tmp_path / "work" / "below" / ".starloom"):
        assert for_its_hub("starloom", found, usual) == "starloom"


async def test_t163_only_an_owner_is_told_the_folder_of_the_hub(tmp_path: Path) -> None:
    async with a_world(tmp_path, program=PROGRAM, public_url=PUBLIC) as world:
        told = {}
        for role in ("owner", "operator", "approver", "viewer"):
            _, token = await world.new_token(role)
            async with world.client(token) as http:
                told[role] = (await http.get("/api/v1/session")).json()["program"]
    assert told == {"owner": PROGRAM, "operator": "starloom", "approver": "starloom", "viewer": "starloom"}


async def test_t134_a_used_invitation_says_who_has_a_new_link(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        refused = (await answers(world, URL, LAN, {}))[2]
    assert refused.status_code == 401
    assert "Ask the person who invited you for a new link." in refused.json()["hint"]
