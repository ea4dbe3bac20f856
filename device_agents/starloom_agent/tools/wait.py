"""`wait.until`: checks a condition repeatedly, within a deadline, until it holds; it changes nothing."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Literal, TypedDict

import msgspec

from starloom_agent.toolkit.interface import Args, Tool, ToolContext, ToolFailed
from starloom_agent.tools.network.net import Check, check
from starloom_protocol.vocabulary import Code, Effect, Repeatability


class Until(Args, frozen=True, kw_only=True):
    """`what`: a file exists, is gone, or holds `contains`; a port accepts; a page answers below 400; a process ends."""

    what: Literal["file", "no_file", "text", "port", "page", "process_ended"]
    path: str = ""
    contains: str = ""
    host: str = ""
    port: Annotated[int, msgspec.Meta(ge=1, le=65535)] | None = None
    tls: bool = False
    pid: Annotated[int, msgspec.Meta(ge=1)] | None = None
    every_s: Annotated[float, msgspec.Meta(ge=0.05, le=60)] = 1
    within_s: Annotated[float, msgspec.Meta(gt=0, le=3600)] = 60


def _needs(args: Until, *fields: str) -> None:
    missing = [name for name in fields if not getattr(args, name)]
    if missing:
        raise ToolFailed(Code.BAD_ARGUMENTS, f"to wait for {args.what}, give {' and '.join(missing)}", effect=False)


def _accepts(host: str, port: int) -> bool:
    try:
        with socket.create_connection((host, port), timeout=5):
            return True
    except OSError:
        return False


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True  # it is there, under another user
    return True


def _holds(context: ToolContext, path: Path, text: str) -> bool:
    try:
        with context.files.open(path) as file:
            return text in file.read().decode("utf-8", "replace")
    except (FileNotFoundError, IsADirectoryError):
        return False


def condition(context: ToolContext, args: Until) -> Callable[[], bool]:
    """Return the condition to check repeatedly; its arguments are checked now, once."""
    if args.what in ("file", "no_file", "text"):
        _needs(args, "path", *(["contains"] if args.what == "text" else []))
        path = context.resolve_read(args.path)
        if args.what == "text":
            return lambda: _holds(context, path, args.contains)
        return lambda: context.files.exists(path) == (args.what == "file")
    if args.what == "process_ended":
        _needs(args, "pid")
        pid = args.pid or 0
        return lambda: not _runs(pid)
    _needs(args, "host", *(["port"] if args.what == "port" else []))
    context.check_host(args.host)
    if args.what == "port":
        port = args.port or 0
        return lambda: _accepts(args.host, port)
    asked = Check(host=args.host, port=args.port, tls=args.tls, path=args.path or "/", timeout_s=10)
    return lambda: 0 < int(check(context, asked).get("status", 0)) < 400


class Waited(TypedDict):
    looks: int
    waited_s: float


def until(
    context: ToolContext,
    args: Until,
    *,
    clock: Callable[[], float] = time.monotonic,
    pause: Callable[[float], None] = time.sleep,
) -> Waited:
    is_so = condition(context, args)
    begin = clock()
    looks = 0
    while True:
        looks += 1
        if is_so():
            return {"waited_s": round(clock() - begin, 3), "looks": looks}
        left = begin + args.within_s - clock()
        if left <= 0:
            # The plan's own deadline is no fault of a device or a line, which another try could mend.
            raise ToolFailed(
                Code.NOT_IN_TIME,
                f"{args.what} {args.path or args.host or args.pid} was not so within {args.within_s:g} s "
                f"({looks} looks)",
                effect=False,
            )
        context.progress(fraction=1 - left / args.within_s, note=f"look {looks}")
        pause(min(args.every_s, left))


TOOLS = (
    Tool(
        name="wait.until",
        title="Wait until something is so",
        args=Until,
        run=until,
        effects=(Effect.READ, Effect.REACH),
        repeatability=Repeatability.PURE,
        confined=True,
        effects_by={"what": dict.fromkeys(("file", "no_file", "text", "process_ended"), (Effect.READ,))},
    ),
)
