"""Kept sessions with MCP servers: real keepers, real servers, and calls as the process of a tool makes them."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace as with_fields

from starloom.host.ports import free_port, is_free
from starloom_agent.owner.mcp import FILE, LaterTools, _tool, find_tools, read_servers
from starloom_agent.platforms import processes
from starloom_agent.toolkit.clients.mcp.keeping import Ask, encode
from starloom_agent.toolkit.interface import Tool, ToolContext, ToolFailed
from starloom_agent.tools.agents.mcp import MODULE, McpToolSettings
from starloom_agent.work.execution.toolcall import find_tool
from starloom_agent.work.sessions import kept
from starloom_agent.work.sessions.kept import KeptSessions
from starloom_protocol.vocabulary import Effect, Repeatability
from tests.device_agents.tools.conftest import Device
from tests.waiting import PATIENCE_S, until

SERVER = Path(__file__).with_name("mcp_counter.py")


def tools_of(home: Path, more: str = "") -> dict[str, Tool]:
    home.mkdir(exist_ok=True)
    (home / FILE).write_text(f'[servers.counter]\ncommand = ["{sys.executable}", "{SERVER}"]\n{more}', encoding="utf-8")
    (home / FILE).chmod(0o600)
    return {tool.name: tool for tool in find_tools(home, home, lambda _: None)}


class Sessions:
    """The sessions of one agent, with a clock that the test moves and what the agent was told."""

    def __init__(self, run: Path) -> None:
        self.now = 0.0
        self.said: list[str] = []
        self.listed: list[list[dict[str, Any]]] = []
        self.kept = KeptSessions(run, self.said.append, lambda _, tools: self.listed.append(tools), lambda: self.now)

    async def call(self, device: Device, tool: Tool, where: str = "c-1", **args: Any) -> str:
        path = self.kept.take(tool, where)
        try:
            return str((await asyncio.to_thread(run, device.context(), tool, path, args))["text"])
        finally:
            self.kept.give_back(path)


def run(context: ToolContext, tool: Tool, session: str, args: dict[str, Any]) -> Any:
    again = find_tool(MODULE, tool.name, tool.settings)
    return again.run(replace(context, session=session), msgspec.convert(args, again.args))


@pytest.fixture
async def sessions(tmp_path: Path) -> AsyncIterator[Sessions]:
    made = Sessions(tmp_path / "run")
    yield made
    await made.kept.close()


@pytest.fixture
def tools(tmp_path: Path) -> dict[str, Tool]:
    return tools_of(tmp_path / "home")


async def seen(found: Callable[[], Any], what: str) -> Any:
    return await asyncio.to_thread(until, found, what)


async def begun(folder: Path) -> int:
    """Wait until the slow call has begun; return the process of its server."""
    file = folder / "begun"
    return int(await seen(lambda: file.exists() and file.read_text(encoding="ascii"), "the call has begun"))


async def test_a_server_keeps_its_state_within_a_constellation(
    sessions: Sessions, tools: dict[str, Tool], device: Device
) -> None:
    count = tools["mcp.counter.count"]
    first, second = [(await sessions.call(device, count)).split() for _ in range(2)]
    other = (await sessions.call(device, count, "c-2")).split()
    assert [first[0], second[0], other[0]] == ["1", "2", "1"]
    assert first[1] == second[1] != other[1]
    assert sessions.kept.count == 2


async def test_a_session_ends_with_its_constellation_and_with_all_that_it_started(
    sessions: Sessions, tools: dict[str, Tool], device: Device
) -> None:
    server = int((await sessions.call(device, tools["mcp.counter.count"])).split()[1])
    escaped = int(await sessions.call(device, tools["mcp.counter.escape"]))
    folder = Path(await sessions.call(device, tools["mcp.counter.where"]))
    sessions.kept.over("c-2")
    assert sessions.kept.count == 1
    sessions.kept.over("c-1")
    assert sessions.kept.count == 0
    await seen(lambda: processes.start_mark(server) is None and processes.start_mark(escaped) is None, "both ended")
    await seen(lambda: not folder.exists(), "its folder is gone")


async def test_a_session_that_nobody_uses_ends(sessions: Sessions, tmp_path: Path, device: Device) -> None:
    count = tools_of(tmp_path / "home", "keep_s = 20\n")["mcp.counter.count"]
    await sessions.call(device, count)
    sessions.now = 19.0
    sessions.kept.sweep()
    assert sessions.kept.count == 1
    open_call = sessions.kept.take(count, "c-1")
    sessions.now = 60.0
    sessions.kept.sweep()
    assert sessions.kept.count == 1, "a call that runs keeps its session"
    sessions.kept.give_back(open_call)
    sessions.now = 80.0
    sessions.kept.sweep()
    assert sessions.kept.count == 0


async def test_a_session_in_use_outlasts_any_number_of_days(
    sessions: Sessions, tools: dict[str, Tool], device: Device
) -> None:
    count = tools["mcp.counter.count"]
    busy = sessions.kept.take(count, "c-1")
    assert (await sessions.call(device, count)).startswith("1 ")
    await sessions.call(device, count, "c-2")
    sessions.now = 2 * 86_400
    sessions.kept.over("c-2")
    await seen(lambda: not sessions.kept._ending, "the other session has ended")
    assert (await sessions.call(device, count)).startswith("2 ")
    sessions.kept.give_back(busy)


async def test_an_entry_may_keep_none(sessions: Sessions, tmp_path: Path, device: Device) -> None:
    count = tools_of(tmp_path / "home", "keep_s = 0\n")["mcp.counter.count"]
    assert sessions.kept.take(count, "c-1") == ""
    assert [(await sessions.call(device, count)).split()[0] for _ in range(2)] == ["1", "1"]


async def test_where_all_places_are_busy_a_call_has_a_server_of_its_own(
    sessions: Sessions, tools: dict[str, Tool], device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept, "SESSIONS_MOST", 1)
    count = tools["mcp.counter.count"]
    busy = sessions.kept.take(count, "c-1")
    assert sessions.kept.take(count, "c-2") == ""
    sessions.kept.give_back(busy)
    assert sessions.kept.take(count, "c-2") != ""
    assert sessions.kept.count == 1, "the idle one made room"


async def test_where_a_session_cannot_be_made_a_call_has_a_server_of_its_own(
    sessions: Sessions, tools: dict[str, Tool], device: Device, tmp_path: Path
) -> None:
    (tmp_path / "run").write_text("in the way")
    assert (await sessions.call(device, tools["mcp.counter.count"])).startswith("1 ")
    assert (await sessions.call(device, tools["mcp.counter.count"])).startswith("1 ")
    assert "no session is kept with counter" in sessions.said[0]
    (tmp_path / "run").unlink()
    assert sessions.kept.take(tools["mcp.counter.count"], "c-1"), "the next call is given a session again"


async def test_progress_is_told_while_a_call_runs_and_a_cancel_reaches_the_server(
    sessions: Sessions, tmp_path: Path, device: Device
) -> None:
    found = tools_of(tmp_path / "home", 'effects = ["read"]\nrepeatability = "pure"\n')
    slow, where = found["mcp.counter.slow"], found["mcp.counter.where"]
    folder = Path(await sessions.call(device, where))
    path = sessions.kept.take(slow, "c-1")
    with calling(path, "slow", reads=True):
        await begun(folder)
    await seen((folder / "cancelled").exists, "the server was told")
    assert (await sessions.call(device, where)) == str(folder), "what only reads leaves the session standing"
    assert sessions.kept.count == 1


async def test_a_call_that_may_change_something_takes_the_session_with_it(
    sessions: Sessions, tools: dict[str, Tool], device: Device
) -> None:
    folder = Path(await sessions.call(device, tools["mcp.counter.where"]))
    path = sessions.kept.take(tools["mcp.counter.slow"], "c-1")
    with calling(path, "slow", reads=False):
        server = await begun(folder)
    await seen(lambda: processes.start_mark(server) is None, "nothing proves that it stopped, so it was ended")
    await seen(lambda: sessions.kept.count == 0, "the agent knows")
    assert (await sessions.call(device, tools["mcp.counter.count"])).split()[0] == "1"


@contextmanager
def calling(path: str, tool: str, *, reads: bool) -> Iterator[None]:
    """A caller that goes away in the middle of its call."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as link:
        link.connect(path)
        asked = {"name": tool, "arguments": {}}
        link.sendall(encode(Ask(method="tools/call", params=asked, reads=reads, within_s=PATIENCE_S)) + b"\n")
        yield
        assert b'"total":4' in link.recv(4096)


async def test_a_server_that_ends_fails_the_call_and_the_next_one_has_a_new_session(
    sessions: Sessions, tools: dict[str, Tool], device: Device
) -> None:
    folder = Path(await sessions.call(device, tools["mcp.counter.where"]))
    failing = asyncio.create_task(sessions.call(device, tools["mcp.counter.slow"]))
    os.kill(await begun(folder), 9)
    with pytest.raises(ToolFailed, match="ended"):
        await failing
    await seen(lambda: sessions.kept.count == 0, "the agent knows")
    assert (await sessions.call(device, tools["mcp.counter.count"])).split()[0] == "1"


async def test_an_agent_that_comes_back_ends_what_its_earlier_life_kept(
    tools: dict[str, Tool], tmp_path: Path, device: Device
) -> None:
    before = Sessions(tmp_path / "run")
    server = int((await before.call(device, tools["mcp.counter.count"])).split()[1])
    again = Sessions(tmp_path / "run")
    again.kept.recover()
    await seen(lambda: processes.start_mark(server) is None, "it ended")
    await before.kept.close()


@pytest.mark.parametrize(("tool", "name"), [("grow", "mcp.counter.more"), ("swap", "mcp.counter.count")])
async def test_a_tool_that_appears_or_changes_meanwhile_asks_each_time(
    sessions: Sessions, tmp_path: Path, device: Device, tool: str, name: str
) -> None:
    home = tmp_path / "home"
    found = tools_of(home, 'effects = ["read"]\nrepeatability = "pure"\n')
    await sessions.call(device, found[f"mcp.counter.{tool}"])
    await seen(lambda: sessions.listed, "the agent was told")
    _, listed = LaterTools(home, found.values(), print).of("counter", sessions.listed[-1])
    later = {one.name: one for one in listed}
    assert set(later[name].effects) == {Effect.READ, Effect.CONTROL}
    assert later[name].repeatability is Repeatability.NEVER
    assert later[name].asks_first
    same = later["mcp.counter.where"]
    assert (same.effects, same.repeatability) == ((Effect.READ,), Repeatability.PURE)
    remote = name.rpartition(".")[2]
    named = f'effects = ["read"]\nrepeatability = "pure"\n[servers.counter.tools.{remote}]\neffects = ["read"]\n'
    tools_of(home, named)
    _, allowed = LaterTools(home, found.values(), print).of("counter", sessions.listed[-1])
    assert next(one for one in allowed if one.name == name).effects == (Effect.READ,)


async def test_a_resource_is_read_from_the_session_that_is_kept_and_stays_offered_when_tools_change(
    sessions: Sessions, tmp_path: Path, device: Device
) -> None:
    home = tmp_path / "home"
    found = tools_of(home, "resources = true\n")
    count = await sessions.call(device, found["mcp.counter.count"])
    read = await sessions.call(device, found["mcp.counter.read_resource"], uri="counter://now")
    assert read == count, "the same process with the same state"
    await sessions.call(device, found["mcp.counter.grow"])
    await seen(lambda: sessions.listed, "the agent was told")
    _, listed = LaterTools(home, found.values(), print).of("counter", sessions.listed[-1])
    later = {one.name: one for one in listed}
    assert set(later) == {*found, "mcp.counter.more"}
    assert later["mcp.counter.read_resource"].settings == found["mcp.counter.read_resource"].settings


async def test_the_process_of_a_call_makes_no_other_request(
    sessions: Sessions, tools: dict[str, Tool], device: Device
) -> None:
    path = sessions.kept.take(tools["mcp.counter.count"], "c-1")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as link:
        link.connect(path)
        asked = Ask(method="sampling/createMessage", params={}, reads=True, within_s=PATIENCE_S)
        await asyncio.to_thread(link.sendall, encode(asked) + b"\n")
        assert b"is no request of a call" in await asyncio.to_thread(link.recv, 4096)


OFFICIAL = """
import sys
from mcp.server.mcpserver import Context, MCPServer

server = MCPServer("tally")
seen = [0]

@server.tool()
async def count(ctx: Context) -> int:
    "Counts"
    seen[0] += 1
    await ctx.report_progress(1, 2, "half")
    return seen[0]

server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[1]))
"""


@pytest.fixture
def official(tmp_path: Path) -> Iterator[str]:
    program, port = tmp_path / "tally.py", free_port()
    program.write_text(OFFICIAL, encoding="utf-8")
    process = subprocess.Popen([sys.executable, str(program), str(port)], stderr=subprocess.DEVNULL)
    try:
        until(lambda: not is_free("127.0.0.1", port), "the server listens")
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.kill()
        process.wait()


async def test_a_server_of_the_official_kit_is_reached_by_http(
    sessions: Sessions, official: str, tmp_path: Path, device: Device
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / FILE).write_text(f'[servers.tally]\nurl = "{official}"\n', encoding="utf-8")
    (home / FILE).chmod(0o600)
    said: list[str] = []
    (count,) = await asyncio.to_thread(find_tools, home, home, said.append)
    assert count.name == "mcp.tally.count", said
    assert [await sessions.call(device, count) for _ in range(3)] == ["1", "2", "3"]
    assert sessions.kept.count == 1


def test_an_address_of_the_web_has_its_own_fields(tmp_path: Path) -> None:
    path = tmp_path / FILE
    path.write_text('[servers.x]\nurl = "https://mcp.example/x"\nheaders = {Authorization = "Bearer t"}\n')
    path.chmod(0o600)
    assert read_servers(path)["x"].headers == {"Authorization": "Bearer t"}
    assert with_fields(msgspec.json.decode(tools_told(path), type=McpToolSettings), name="y").keep_s == 300.0


def tools_told(path: Path) -> str:
    tool = _tool("x", read_servers(path)["x"], {"name": "a", "inputSchema": {"type": "object"}}, print)
    assert tool is not None
    assert tool.kept_by == "x"
    return tool.settings


def test_many_threads_share_a_session(tools: dict[str, Tool], tmp_path: Path, device: Device) -> None:
    async def all_of_them() -> list[str]:
        made = Sessions(tmp_path / "run")
        try:
            calls = [made.call(device, tools["mcp.counter.count"]) for _ in range(8)]
            return [text.split()[0] for text in await asyncio.gather(*calls)]
        finally:
            await made.kept.close()

    assert sorted(asyncio.run(all_of_them())) == [str(number) for number in range(1, 9)]
    assert threading.active_count() < 50
