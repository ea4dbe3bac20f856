"""`wait.until`: checks a condition repeatedly, within a deadline, until it holds; it changes nothing."""

from __future__ import annotations

import os
import select
import socket
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, BinaryIO, Final, Literal, TypedDict

import msgspec

from starloom_agent.toolkit.interface import Args, Tool, ToolContext, ToolFailed
from starloom_agent.tools.network.net import Check, check
from starloom_protocol.vocabulary import Code, Effect, Repeatability

_READ_BYTES: Final = 1024 * 1024
_SMALL_BYTES: Final = 1024 * 1024
"""A file of a state, which its program replaces as a whole, is smaller than this; reading it takes a millisecond."""
_KEPT_BYTES: Final = 4096
"""Whether a large file was only added to is judged by so many of its bytes."""


class Until(Args, frozen=True, kw_only=True):
    """`what`: a file exists, is gone, or holds `contains`; a port accepts; a page answers below 400; a process ends."""

    what: Literal["file", "no_file", "text", "port", "page", "process_ended"]
    path: Annotated[str, msgspec.Meta(examples=["done.txt"])] = ""
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


class _Process:
    """A process that may end. A descriptor (pidfd) holds it where there is one: its number may be given to another."""

    def __init__(self, pid: int, stack: ExitStack) -> None:
        self._pid = pid
        self._handle: int | None = None
        try:
            self._handle = os.pidfd_open(pid)
        except (AttributeError, OSError):
            return  # there is no such process, or no such descriptor on this system
        stack.callback(os.close, self._handle)

    def has_ended(self) -> bool:
        if self._handle is not None:
            waiting = select.poll()
            waiting.register(self._handle, select.POLLIN)
            return bool(waiting.poll(0))
        try:
            os.kill(self._pid, 0)
        except ProcessLookupError:
            return True
        except PermissionError:
            return False  # it is there, under another user
        return False


class _Text:
    """A text in a file that others write meanwhile.

    Each look reads what is new: first the rest of the file that was open, also where it has another name by now, then
    a file that has taken its place. A small file is read as a whole each time, because it may change anywhere. Of a
    larger one the last bytes that were read must still be there, or it is read from its start. No look reads past
    `deadline`.
    """

    def __init__(
        self, context: ToolContext, path: Path, text: str, stack: ExitStack, clock: Callable[[], float], deadline: float
    ) -> None:
        self._context = context
        self._path = path
        self._text = text.encode()
        self._kept_bytes = max(len(self._text) - 1, _KEPT_BYTES)
        self._clock = clock
        self._deadline = deadline
        self._file: BinaryIO | None = None
        self._offset = 0
        self._last = b""
        stack.callback(self._close)

    def is_there(self) -> bool:
        if self._file is not None and self._is_in(self._file):
            return True
        try:
            file = self._context.files.open(self._path)
        except (FileNotFoundError, IsADirectoryError):
            return False
        if self._file is not None and os.path.sameopenfile(file.fileno(), self._file.fileno()):
            file.close()
            return False
        self._close()
        self._file, self._offset, self._last = file, 0, b""
        return self._is_in(file)

    def _is_in(self, file: BinaryIO) -> bool:
        # Without the buffer of the file, which would give bytes of before.
        handle = file.fileno()
        size = os.fstat(handle).st_size
        kept_from = self._offset - len(self._last)
        if size <= _SMALL_BYTES or size < self._offset or os.pread(handle, len(self._last), kept_from) != self._last:
            self._offset, self._last = 0, b""
        while self._offset < size and self._clock() < self._deadline:
            data = os.pread(handle, min(_READ_BYTES, size - self._offset), self._offset)
            if not data:
                break
            window = self._last + data
            if self._text in window:
                return True
            self._offset += len(data)
            self._last = window[-self._kept_bytes :]
        return False

    def _close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None


def condition(
    context: ToolContext, args: Until, stack: ExitStack, *, clock: Callable[[], float], deadline: float
) -> Callable[[], bool]:
    """Return the condition to check repeatedly; its arguments are checked now. `stack` holds what it opens."""
    if args.what in ("file", "no_file", "text"):
        _needs(args, "path", *(["contains"] if args.what == "text" else []))
        path = context.resolve_read(args.path)
        if args.what == "text":
            return _Text(context, path, args.contains, stack, clock, deadline).is_there
        return lambda: context.files.exists(path) == (args.what == "file")
    if args.what == "process_ended":
        _needs(args, "pid")
        return _Process(args.pid or 0, stack).has_ended
    _needs(args, "host", *(["port"] if args.what == "port" else []))
    context.check_host(args.host)
    if args.what == "port":
        port = args.port or 0
        return lambda: _accepts(args.host, port)
    address = Check(host=args.host, port=args.port, tls=args.tls, path=args.path or "/", timeout_s=10)
    return lambda: 0 < int(check(context, address).get("status", 0)) < 400


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
    begin = clock()
    with ExitStack() as stack:
        is_so = condition(context, args, stack, clock=clock, deadline=begin + args.within_s)
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
