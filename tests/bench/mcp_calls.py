"""Calls of tools of MCP servers in a second: with a server started for each call, and through a kept session.

`python -m tests.bench.mcp_calls` measures both in turns, with a small server and with one of the official kit, as the
process of a call does it; the start of that process is not part of the figures.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from statistics import median

from starloom_agent.owner.mcp import FILE, find_tools
from starloom_agent.toolkit.interface import Folders, Tool, ToolContext
from starloom_agent.work.sessions.kept import KeptSessions
from tests.arch.checkout import ROOT
from tests.device_agents.tools.agents.test_mcp import OFFICIAL

ROUNDS = 3
STARTED_CALLS = 8
KEPT_CALLS = 400
COUNTER = ROOT / "tests/device_agents/work/sessions/mcp_counter.py"


class _Nothing:
    """The ports of a call that has no files and whose output nobody reads."""

    def fetch(self, sha256: str, into: Path) -> Path:
        raise NotImplementedError(f"{sha256} {into}")

    def put(self, file: object, *, name: str, media: str, sent: object = None) -> object:
        raise NotImplementedError(f"{file} {name} {media} {sent}")

    def progress(self, *, done_bytes: int, fraction: float | None, note: str) -> None:
        """Not read here."""

    def log(self, text: str) -> None:
        """Not read here."""


def tool_of(home: Path, command: list[str], name: str) -> Tool:
    home.mkdir(exist_ok=True)
    quoted = ", ".join(f'"{word}"' for word in command)
    (home / FILE).write_text(f"[servers.bench]\ncommand = [{quoted}]\n", encoding="utf-8")
    (home / FILE).chmod(0o600)
    return next(tool for tool in find_tools(home, home, lambda _: None) if tool.name == f"mcp.bench.{name}")


def a_second(call: Callable[[], object], calls: int) -> float:
    begun = time.perf_counter()
    for _ in range(calls):
        call()
    return calls / (time.perf_counter() - begun)


async def measured(home: Path, tool: Tool, given: dict[str, int]) -> tuple[float, float, float]:
    """Return calls a second without and with a session, and the seconds of the first call of a session."""
    nothing = _Nothing()
    workdir = home / "work"
    workdir.mkdir(exist_ok=True)
    context = ToolContext(workdir, nothing, nothing, Folders())  # type: ignore[arg-type]
    args = tool.args(**{f"field_{at}": value for at, value in enumerate(given.values())})
    kept = KeptSessions(home / "run", lambda _: None, lambda *_: None)
    started, through, first = [], [], []
    try:
        for number in range(ROUNDS):
            alone = await asyncio.to_thread(a_second, lambda: tool.run(context, args), STARTED_CALLS)
            started.append(alone)
            inside = replace(context, session=kept.take(tool, f"c-{number}"))
            call = _call(tool, inside, args)
            first.append(1 / await asyncio.to_thread(a_second, call, 1))
            through.append(await asyncio.to_thread(a_second, call, KEPT_CALLS))
            kept.give_back(inside.session)
            kept.over(f"c-{number}")
    finally:
        await kept.close()
    return median(started), median(through), median(first)


def _call(tool: Tool, context: ToolContext, args: object) -> Callable[[], object]:
    return lambda: tool.run(context, args)


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="sl-mcp-") as place:
        home = Path(place)
        official = home / "sums.py"
        official.write_text(OFFICIAL, encoding="utf-8")
        print("| server | a server for each call | a kept session | first call of a session |\n|---|---|---|---|")
        for name, command, tool, given in (
            ("small", [sys.executable, str(COUNTER)], "count", {}),
            ("official kit", [sys.executable, str(official)], "add", {"a": 2, "b": 3}),
        ):
            found = tool_of(home / "home", command, tool)
            started, through, first = asyncio.run(measured(home, found, given))
            print(f"| {name} | {started:.1f}/s | {through:.0f}/s | {first * 1000:.0f} ms |", flush=True)


if __name__ == "__main__":
    main()
