"""`process.kill`: ends one process of this user, named by number and name, so that a reused number ends nothing else.

It never ends the agent, what the agent lives in, or the first process; other users' processes are the system's to
protect.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from typing import Annotated, Literal

import msgspec

from starloom_agent.toolkit.interface import Args, Tool, ToolContext, ToolFailed
from starloom_agent.toolkit.results import Named
from starloom_agent.tools.system.processes import find_process
from starloom_protocol.vocabulary import Code, Effect, Repeatability

_LOOK_EVERY_S = 0.05


class Kill(Args, frozen=True, kw_only=True):
    """`name` must be that of the process, as `process.list` shows it. It is asked to end, and with `force` made to
    after `grace_s`.
    """

    pid: Annotated[int, msgspec.Meta(ge=2)]
    name: Annotated[str, msgspec.Meta(min_length=1, max_length=256)]
    grace_s: Annotated[float, msgspec.Meta(ge=0, le=300)] = 10
    force: bool = False
    device_name: str = ""


def own_family() -> set[int]:
    """Return this process and everything above it: the runner, the agent, its service manager or terminal."""
    found = set()
    pid = os.getpid()
    while pid > 0 and pid not in found:
        found.add(pid)
        row = find_process(pid)
        pid = int(row["parent"]) if row else 0
    return found


def _send(pid: int, number: signal.Signals) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return
    except PermissionError as error:
        raise ToolFailed(
            Code.TOOL_FAILED, f"process {pid} belongs to another user; the agent's user may not end it", effect=False
        ) from error


class ProcessEnd(Named):
    """`ended` says how: it had ended `before`, when it was `asked`, or when it was `forced`."""

    ended: Literal["before", "asked", "forced"]
    name: str
    pid: int
    took_s: float


def kill(
    context: ToolContext,
    args: Kill,
    *,
    clock: Callable[[], float] = time.monotonic,
    pause: Callable[[float], None] = time.sleep,
) -> ProcessEnd:
    found = find_process(args.pid)
    named: Named = {"device": args.device_name} if args.device_name else {}
    if found is None:
        return {**named, "pid": args.pid, "name": args.name, "ended": "before", "took_s": 0}
    if found["name"] != args.name:
        raise ToolFailed(
            Code.BAD_ARGUMENTS,
            f"process {args.pid} is {found['name']}, not {args.name}: nothing was ended",
            effect=False,
        )
    if args.pid in own_family():
        raise ToolFailed(Code.BAD_ARGUMENTS, f"process {args.pid} is what this agent runs in", effect=False)
    begin = clock()
    mark = found["began"]
    context.log(f"asking process {args.pid} ({args.name}) to end")
    _send(args.pid, signal.SIGTERM)
    how: Literal["asked", "forced"] = "asked"
    while (now := find_process(args.pid)) is not None and now["began"] == mark and now["state"] != "Z":
        if clock() - begin >= args.grace_s and how == "asked":
            if not args.force:
                raise ToolFailed(Code.TIMED_OUT, f"{args.name} ({args.pid}) has not ended in {args.grace_s:g} s")
            _send(args.pid, signal.SIGKILL)
            how = "forced"
        pause(_LOOK_EVERY_S)
    return {**named, "pid": args.pid, "name": args.name, "ended": how, "took_s": round(clock() - begin, 1)}


def _probe() -> str | None:
    return None if sys.platform == "linux" else f"ending processes on {sys.platform} is not built yet"


TOOLS = (
    Tool(
        name="process.kill",
        title="End a process of this user",
        args=Kill,
        run=kill,
        effects=(Effect.DESTROY,),
        repeatability=Repeatability.NEVER,
        grant="process:kill",
        asks_by=("pid", "name", "force"),
        probe=_probe,
    ),
)
