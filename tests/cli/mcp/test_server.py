"""What an assistant may start by itself, what is told to it, and who may open its HTTP door."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import httpx
import pytest
from mcp import Client
from typer.testing import CliRunner

from starloom.cli.mcp import server
from starloom.cli.mcp.command import describe
from starloom.cli.mcp.http import Bearer, token_in
from starloom.cli.mcp.own_tools import TOOLS
from starloom.cli.mcp.tools import Tools, refusal_text
from starloom.client.discovery import HubAddress
from starloom.client.problems import Problem, problem_of
from tests.programs import command_line


def test_a_refusal_tells_every_fault_with_its_place() -> None:
    faults = [{"place": f"tasks[{at}]", "code": "x", "reason": "wrong", "hint": "mend it"} for at in range(50)]
    text = refusal_text(problem_of(422, {"title": "Faults", "code": "plan_invalid", "errors": faults}))
    assert "- tasks[39]: wrong (mend it)" in text
    assert "and 10 more" in text


async def test_a_hub_that_is_away_is_told_as_such() -> None:
    built = server.build(Tools(lambda: HubAddress("http://127.0.0.1:1", None, "a test"), describe))
    async with Client(built) as client:
        refused = await client.call_tool("devices", {})
        assert refused.is_error
        assert "cannot be reached" in str(refused.content)
        assert [tool.name for tool in (await client.list_tools()).tools] == list(TOOLS)


async def _end(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 204, "headers": []})
    await send({"type": "http.response.body", "body": b""})


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ([("Authorization", "Bearer right")], 204),
        ([], 401),
        ([("Authorization", "Bearer wrong")], 401),
        ([("Authorization", "right")], 401),
        ([("Authorization", "Bearer right"), ("Authorization", "Bearer right")], 401),
    ],
)
async def test_only_the_token_opens_the_door(headers: list[tuple[str, str]], status: int) -> None:
    transport = httpx.ASGITransport(app=Bearer(_end, "right"))
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as http:
        assert (await http.post("/mcp", headers=headers)).status_code == status


def test_the_token_is_made_once_and_for_its_owner_only(tmp_path: Path) -> None:
    file = tmp_path / "deep" / "token"
    made = token_in(file)
    assert token_in(file) == made
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    file.chmod(0o644)
    with pytest.raises(Problem, match="others may read"):
        token_in(file)
    file.chmod(0o600)
    file.write_text("short")
    with pytest.raises(Problem, match="no token"):
        token_in(file)


def test_json_and_mcp_do_not_share_an_output() -> None:
    ended = CliRunner().invoke(command_line(), ["mcp", "--json"])
    assert ended.exit_code == 2


def test_the_configuration_of_a_program_works_from_any_folder(tmp_path: Path) -> None:
    result = CliRunner().invoke(command_line(), ["mcp", "--config", "--hub", "http://127.0.0.1:8470"])
    entry = json.loads(result.output)["mcpServers"]["starloom"]
    assert Path(entry["command"]).is_absolute()
    assert entry["args"][-3:] == ["mcp", "--hub", "http://127.0.0.1:8470"]


def test_the_configuration_says_that_the_library_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    result = CliRunner().invoke(command_line(), ["mcp", "--config", "--hub", "http://127.0.0.1:8470"])
    assert result.exit_code == 0
    assert list(json.loads(result.stdout)) == ["mcpServers"]
    assert result.stderr.startswith("the MCP library is not installed here, so no program can start it yet. Install")
