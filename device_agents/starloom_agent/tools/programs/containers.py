"""`container.list`, `container.logs`: the containers of Docker or Podman and their output; it changes nothing."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from typing import Annotated, Any, TypedDict

import msgspec

from starloom_agent.toolkit.interface import Args, Tool, ToolContext, ToolFailed
from starloom_agent.toolkit.results import Named, of_device
from starloom_agent.toolkit.running.programs import Ran, run_program, said_by
from starloom_agent.toolkit.text.durations import Duration, seconds_of
from starloom_protocol.text.wording import quoted
from starloom_protocol.vocabulary import Code, Effect, Repeatability

_RUNTIMES = ("docker", "podman")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,127}")
_LIST_BYTES = 8 * 1024 * 1024
"""Podman tells some two thousand bytes of each container, more with many labels."""
_LOG_BYTES = 256 * 1024
"""Lines beyond it fall out in the middle; `lost_bytes` says so."""
_SEARCHED_LINES = 20_000
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d")


class List(Args, frozen=True, kw_only=True):
    """Also those that have stopped, unless `running` is set."""

    running: bool = False
    limit: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 200
    device_name: str = ""


class Logs(Args, frozen=True, kw_only=True):
    """The last `tail` lines of one container, not older than `since`, with `contains` of the last 20,000."""

    name: str
    tail: Annotated[int, msgspec.Meta(ge=1, le=5000)] = 200
    since: Duration = 0
    contains: str = ""
    device_name: str = ""


def _programs() -> list[str]:
    return [name for name in _RUNTIMES if shutil.which(name)]


def _run(argv: list[str], kept_bytes: int) -> Ran:
    """Run the first runtime that answers: the program of Docker is often there without its service."""
    reasons = []
    for runtime in _programs():
        ran = run_program([runtime, *argv], timeout_s=30, kept_bytes=kept_bytes)
        if not ran.exit_code:
            return ran
        reasons.append(f"{runtime} does not answer: {said_by(ran)}")
    if not reasons:
        raise ToolFailed(Code.TOOL_UNAVAILABLE, str(_probe()), effect=False)
    raise ToolFailed(Code.TOOL_FAILED, "; ".join(reasons), effect=False)


class ContainerRow(Named):
    id: str
    image: str
    name: str
    since: str
    state: str


class ContainerList(TypedDict):
    complete: bool
    count: int
    rows: list[ContainerRow]
    stopped: int


def rows_from(output: str) -> tuple[list[ContainerRow], bool]:
    """Return the rows of `ps --format '{{json .}}'`, and whether all of it was read.

    Docker prints a map on each line, Podman one list of maps over many lines; they name some fields differently.
    """
    if output.lstrip().startswith("["):
        parts = _decoded(output)
        maps = parts if isinstance(parts, list) else [None]
    else:
        maps = [_decoded(line) for line in output.splitlines() if line.strip()]
    rows = [_row(fields) for fields in maps if isinstance(fields, dict)]
    return rows, len(rows) == len(maps)


def _decoded(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return None


def _row(fields: dict[str, Any]) -> ContainerRow:
    names = fields.get("Names", "")
    name = names if isinstance(names, str) else ", ".join(map(str, names))
    return {
        "name": name,
        "image": str(fields.get("Image", "")),
        "state": str(fields.get("State", "")).lower(),
        "since": str(fields.get("Status", "")),
        "id": str(fields.get("ID") or fields.get("Id") or "")[:12],
    }


def list_containers(_context: ToolContext, args: List) -> ContainerList:
    which = [] if args.running else ["--all"]
    ran = _run(["ps", *which, "--no-trunc", "--format", "{{json .}}"], _LIST_BYTES)
    containers, all_read = rows_from(ran.stdout)
    if not containers and not all_read:
        reason = f"the list of containers cannot be read: {quoted(ran.stdout.strip()[:200])}"
        raise ToolFailed(Code.TOOL_FAILED, reason, effect=False)
    device = of_device(args.device_name)
    rows: list[ContainerRow] = [{**device, **row} for row in containers]
    rows.sort(key=lambda row: (row["state"] == "running", row["name"]))
    stopped = sum(row["state"] != "running" for row in rows)
    return {
        "rows": rows[: args.limit],
        "count": len(rows),
        "stopped": stopped,
        "complete": all_read and not ran.lost_bytes,
    }


class ContainerLine(Named):
    at: str
    container: str
    text: str


class ContainerLogs(TypedDict):
    count: int
    lost_bytes: int
    rows: list[ContainerLine]


def logs(_context: ToolContext, args: Logs) -> ContainerLogs:
    if not _NAME.fullmatch(args.name):
        raise ToolFailed(Code.BAD_ARGUMENTS, f"{quoted(args.name)} is not the name of a container", effect=False)
    since_s = seconds_of(args.since)
    since = ["--since", f"{since_s}s"] if since_s else []
    tail = max(args.tail, _SEARCHED_LINES) if args.contains else args.tail
    ran = _run(["logs", "--timestamps", "--tail", str(tail), *since, args.name], _LOG_BYTES)
    # Both streams carry the time in front, so that they can be read as one.
    lines = sorted([*_lines(ran.stdout), *_lines(ran.stderr)], key=lambda line: line[0])
    device = of_device(args.device_name)
    rows: list[ContainerLine] = [
        {**device, "container": args.name, "at": at, "text": text} for at, text in lines if args.contains in text
    ]
    return {"rows": rows[-args.tail :], "count": len(rows), "lost_bytes": ran.lost_bytes}


def _lines(output: str) -> Iterator[tuple[str, str]]:
    """Yield each line with its time, or that of the one before. Of an overwritten line the end is seen."""
    at = ""
    for line in filter(None, output.split("\n")):
        first, _, rest = line.partition(" ")
        at, text = (first, rest) if _TIME.match(first) else (at, line)
        yield at, text.rstrip("\r").rpartition("\r")[2]


def _probe() -> str | None:
    return None if _programs() else "neither docker nor podman is installed"


TOOLS = (
    Tool(
        name="container.list",
        title="Containers and their state",
        args=List,
        run=list_containers,
        effects=(Effect.READ,),
        repeatability=Repeatability.PURE,
        grant="container:read",
        probe=_probe,
    ),
    Tool(
        name="container.logs",
        title="What a container said",
        args=Logs,
        run=logs,
        effects=(Effect.READ,),
        repeatability=Repeatability.PURE,
        grant="container:read",
        probe=_probe,
    ),
)
