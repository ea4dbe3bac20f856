"""`process.list`: the running processes by use of memory or processor; names and figures, no environment, no
command-line arguments (they may hold secrets).
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated, Any, Literal, NotRequired, TypedDict

import msgspec

from starloom_agent.toolkit.interface import Args, Tool, ToolContext
from starloom_agent.toolkit.results import Named, of_device
from starloom_agent.toolkit.running.programs import run_program
from starloom_protocol.vocabulary import Effect, Repeatability


class List(Args, frozen=True, kw_only=True):
    """`name` keeps processes whose name contains it."""

    name: str = ""
    by: Literal["memory", "cpu"] = "memory"
    limit: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 20
    device_name: str = ""


class ProcessRow(Named):
    """`state` and `threads` are known on Linux only."""

    cpu_s: int
    memory_bytes: int
    name: str
    pid: int
    state: NotRequired[str]
    threads: NotRequired[int]


class ProcessList(TypedDict):
    """`count` fit the name, of `all`."""

    all: int
    count: int
    rows: list[ProcessRow]


def from_stat(stat: str, ticks_s: int, page_bytes: int) -> ProcessRow | None:
    """Return one row from the text of /proc/PID/stat, or None for what is none."""
    before, _, after = stat.rpartition(")")
    pid, _, name = before.partition("(")
    fields = after.split()
    if not pid.strip().isdigit() or len(fields) < 22:
        return None
    cpu_s = (int(fields[11]) + int(fields[12])) // ticks_s
    return {
        "pid": int(pid),
        "name": name,
        "state": fields[0],
        "cpu_s": cpu_s,
        "memory_bytes": int(fields[21]) * page_bytes,
        "threads": int(fields[17]),
    }


def _from_proc() -> list[ProcessRow]:
    ticks, page = os.sysconf("SC_CLK_TCK"), os.sysconf("SC_PAGE_SIZE")
    rows: list[ProcessRow] = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                row = from_stat((entry / "stat").read_text(encoding="utf-8", errors="replace"), ticks, page)
            except OSError:
                continue  # it ended while the list was made
            if row is not None:
                rows.append(row)
    return rows


def find_process(pid: int) -> dict[str, Any] | None:
    """Return one process with its parent and when it began, or None; Linux only."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    row = from_stat(stat, os.sysconf("SC_CLK_TCK"), os.sysconf("SC_PAGE_SIZE"))
    fields = stat.rpartition(")")[2].split()
    return {**row, "parent": int(fields[1]), "began": fields[19]} if row is not None else None


def from_ps(text: str) -> list[ProcessRow]:
    """Return rows from `ps -axo pid=,rss=,time=,comm=`."""
    rows: list[ProcessRow] = []
    for line in text.splitlines():
        parts = line.split(None, 3)
        if len(parts) == 4 and parts[0].isdigit():
            seconds = 0
            for piece in parts[2].replace("-", ":").split(":"):
                seconds = seconds * 60 + int(float(piece))
            name = parts[3].rpartition("/")[2]
            rows.append({"pid": int(parts[0]), "name": name, "cpu_s": seconds, "memory_bytes": int(parts[1]) * 1024})
    return rows


def list_processes(_context: ToolContext, args: List) -> ProcessList:
    if sys.platform == "linux":
        rows = _from_proc()
    else:
        rows = from_ps(run_program(["ps", "-axo", "pid=,rss=,time=,comm="], timeout_s=20).stdout)
    name = args.name.casefold()
    fitting = [row for row in rows if name in row["name"].casefold()]
    order: Literal["memory_bytes", "cpu_s"] = "memory_bytes" if args.by == "memory" else "cpu_s"
    fitting.sort(key=lambda row: (-row[order], row["pid"]))
    device = of_device(args.device_name)
    return {"rows": [{**device, **row} for row in fitting[: args.limit]], "count": len(fitting), "all": len(rows)}


def _probe() -> str | None:
    return "Windows does not list processes this way yet" if os.name == "nt" else None


TOOLS = (
    Tool(
        name="process.list",
        title="Running processes",
        args=List,
        run=list_processes,
        effects=(Effect.READ,),
        repeatability=Repeatability.PURE,
        probe=_probe,
    ),
)
