"""What an assistant may start by itself, what is told to it, and who may open its HTTP door."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

import httpx
import pytest
from typer.testing import CliRunner

from starloom.cli.commands import build
from starloom.cli.discovery import HubAddress
from starloom.cli.mcp import server
from starloom.cli.mcp.caution import reasons_to_ask, reasons_to_hold
from starloom.cli.mcp.command import describe
from starloom.cli.mcp.http import Bearer, token_in
from starloom.cli.mcp.tools import Tools, told
from starloom.cli.problems import Problem, problem_of
from starloom_protocol.vocabulary import Effect

EFFECTS = {"disk.usage": ["read"], "fs.trash": ["write"], "data.sort": [], "shell.run": ["read", "destroy", "reach"]}
QUIET: dict[str, Any] = {"state": "active", "tasks": [{"id": "a", "tool": "disk.usage", "state": "ready"}]}


@pytest.mark.parametrize("effect", list(Effect))
def test_only_what_reads_or_writes_starts_by_itself(effect: Effect) -> None:
    held = reasons_to_hold({"effects": [effect]}, {"tasks": [], "policy": {"approval": "never"}})
    assert bool(held) == (effect not in (Effect.READ, Effect.WRITE))


@pytest.mark.parametrize(
    "document",
    [
        {"tasks": [], "rules": [{"name": "r"}]},
        {"tasks": [{"id": "a", "goal": "do it"}]},
        {"tasks": [{"id": "a", "plan": {"tasks": [{"id": "b", "goal": "do it"}]}}]},
    ],
)
def test_a_plan_whose_reach_is_not_known_before_waits(document: dict[str, Any]) -> None:
    assert reasons_to_hold({"effects": ["read"]}, document)
    assert reasons_to_hold({"effects": ["read"]}, {"tasks": [{"id": "a", "tool": "disk.usage"}]}) == []


def test_a_tool_that_nobody_offers_yet_is_not_started_unseen() -> None:
    task: dict[str, Any] = {"id": "a", "tool": "process.kill", "device": None, "devices": [], "effects": []}
    assert reasons_to_hold({"effects": [], "tasks": [task]}, {"tasks": []})
    assert reasons_to_hold({"effects": [], "tasks": [{**task, "tool": "data.sort", "device": "vm"}]}, {}) == []
    assert reasons_to_hold({"effects": [], "tasks": [{**task, "tool": None, "person": "Well?"}]}, {}) == []


@pytest.mark.parametrize(
    "operation",
    [
        {"add_task": {"id": "b", "tool": "disk.usage"}},
        {"add_task": {"task": {"id": "b", "tool": "fs.trash"}}},
        {"update_task": {"id": "a", "args": {"path": "/"}}},
        {"remove_task": {"id": "a"}},
        {"add_task": {"id": "b", "person": "Well?"}},
    ],
)
def test_an_edit_that_reads_and_writes_is_made(operation: dict[str, Any]) -> None:
    assert reasons_to_ask([operation], EFFECTS, QUIET) == []


@pytest.mark.parametrize(
    "operation",
    [
        {"add_task": {"id": "b", "tool": "shell.run"}},
        {"add_task": {"id": "b", "tool": "unheard.of"}},
        {"add_task": {"id": "b", "goal": "anything"}},
        {"add_task": {"id": "b", "plan": {"tasks": [{"id": "c", "tool": "shell.run"}]}}},
        {"update_task": {"id": "a", "tool": "shell.run"}},
        {"set_policy": {"approval": "never"}},
        {"undo": {"version": 1}},
        {"add_task": {}, "remove_task": {}},
        "add_task",
    ],
)
def test_an_edit_that_does_more_is_for_a_person(operation: Any) -> None:
    assert reasons_to_ask([operation], EFFECTS, QUIET)


@pytest.mark.parametrize(
    "snapshot",
    [
        {"state": "awaiting_approval", "tasks": []},
        {"state": "active", "tasks": [{"id": "q", "person": "Sure?", "tool": None, "state": "waiting"}]},
        {"state": "active", "tasks": [{"id": "x", "tool": "shell.run", "state": "waiting"}]},
        {"state": "active", "tasks": [{"id": "x", "tool": "gone.tool", "state": "waiting"}]},
    ],
)
def test_no_edit_leads_around_a_question_or_into_what_is_loud(snapshot: dict[str, Any]) -> None:
    assert reasons_to_ask([{"remove_dependency": {"from": "a", "to": "b"}}], EFFECTS, snapshot)


def test_what_is_over_holds_nothing_up() -> None:
    over = {"state": "active", "tasks": [{"id": "x", "tool": "shell.run", "state": "succeeded"}]}
    assert reasons_to_ask([{"add_task": {"id": "b", "tool": "data.sort"}}], EFFECTS, over) == []


def test_a_refusal_tells_every_fault_with_its_place() -> None:
    faults = [{"place": f"tasks[{at}]", "code": "x", "reason": "wrong", "hint": "mend it"} for at in range(50)]
    text = told(problem_of(422, {"title": "Faults", "code": "plan_invalid", "errors": faults}))
    assert "- tasks[39]: wrong (mend it)" in text
    assert "and 10 more" in text


async def test_a_hub_that_is_away_is_told_as_such() -> None:
    built = server.build(Tools(lambda: HubAddress("http://127.0.0.1:1", None, "a test"), describe))
    with pytest.raises(Exception, match="cannot be reached"):
        await built.call_tool("devices", {})


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
    ended = CliRunner().invoke(build(), ["mcp", "--json"])
    assert ended.exit_code == 2
