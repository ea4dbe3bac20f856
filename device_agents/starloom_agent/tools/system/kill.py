"""`process.kill`: ends one process of this user, named by number and name, so that a reused number ends nothing else.

It never ends the agent, what the agent lives in, the first process, or a process of another user, an agent of root
neither. On Linux 5.3 and later the process is held by a descriptor (pidfd), which signals no other process, whatever
becomes of its number. An older kernel, or a filter that forbids the call, leaves the start time: it is compared right
before each signal. macOS has no such descriptor and Windows no such signals, so the tool is not offered there.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from starloom_agent.toolkit.interface import Args, Tool, ToolContext, ToolFailed
from starloom_agent.toolkit.results import Named, of_device
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
    family = set()
    pid = os.getpid()
    while pid > 0 and pid not in family:
        family.add(pid)
        row = find_process(pid)
        pid = int(row["parent"]) if row else 0
    return family


class _Target:
    """One process, which stays the same one although its number may be given to another.

    The descriptor is taken before the first look: as long as it can be signalled, the number is that of its process.
    """

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._handle = _open_process(pid)
        self.row = find_process(pid)
        if self._handle is not None and not self._is_there(self._handle):
            self.row = None

    def __enter__(self) -> _Target:
        return self

    def __exit__(self, *_: object) -> None:
        if self._handle is not None:
            os.close(self._handle)

    def runs(self) -> bool:
        """Whether it has not ended; a zombie has."""
        if self.row is None or self.row["state"] == "Z":
            return False
        if self._handle is not None:
            waiting = select.poll()
            waiting.register(self._handle, select.POLLIN)
            return not waiting.poll(0)
        now = find_process(self.pid)
        return now is not None and now["began"] == self.row["began"] and now["state"] != "Z"

    def send(self, number: signal.Signals) -> bool:
        """Signal it if it still runs; False if it has ended.

        Raises:
            ToolFailed: it belongs to another user.
        """
        if not self.runs():
            return False
        try:
            if self._handle is None:
                os.kill(self.pid, number)
            else:
                signal.pidfd_send_signal(self._handle, number)
        except ProcessLookupError:
            return False
        except PermissionError as error:
            raise ToolFailed(
                Code.TOOL_FAILED,
                f"process {self.pid} belongs to another user; the agent's user may not end it",
                effect=False,
            ) from error
        return True

    @staticmethod
    def _is_there(handle: int) -> bool:
        """Whether the process still has its number."""
        try:
            with contextlib.suppress(PermissionError):
                signal.pidfd_send_signal(handle, 0)
        except ProcessLookupError:
            return False
        return True


def _open_process(pid: int) -> int | None:
    """Return a descriptor of a process, or None where the system gives none or there is no such process."""
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):
        return None


def _owners_of(pid: int) -> tuple[int, int]:
    """Return the process that a number belongs to, and the user who started it.

    The number of a thread signals the whole process. A program with the rights of its file belongs to its user.
    """
    fields = {}
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text(encoding="utf-8", errors="replace").splitlines():
            name, _, value = line.partition(":")
            fields[name] = value.split()
    # One that has ended meanwhile is signalled by nobody.
    return int(fields["Tgid"][0]) if "Tgid" in fields else pid, int(
        fields["Uid"][0]
    ) if "Uid" in fields else os.geteuid()


def _user_words(user: int) -> str:
    """Return a user by name, or by number where the system has no name."""
    import pwd  # Windows has none, and offers no such tool

    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return str(user)


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
    device = of_device(args.device_name)
    with _Target(args.pid) as target:
        begin = clock()
        how: Literal["before", "asked", "forced"] = "before"
        if target.row is not None and target.runs():
            _judge(args, str(target.row["name"]))
            context.log(f"asking process {args.pid} ({args.name}) to end")
            how = "asked" if target.send(signal.SIGTERM) else "before"
        while target.runs():
            if clock() - begin >= args.grace_s and how == "asked":
                if not args.force:
                    raise ToolFailed(Code.TIMED_OUT, f"{args.name} ({args.pid}) has not ended in {args.grace_s:g} s")
                how = "forced" if target.send(signal.SIGKILL) else how
            pause(_LOOK_EVERY_S)
    return {**device, "pid": args.pid, "name": args.name, "ended": how, "took_s": round(clock() - begin, 1)}


def _judge(args: Kill, name: str) -> None:
    """Check that this is the process that was meant, and none that the agent lives in.

    Raises:
        ToolFailed: nothing was ended.
    """
    if name != args.name:
        reason = f"process {args.pid} is {name}, not {args.name}: nothing was ended"
        raise ToolFailed(Code.BAD_ARGUMENTS, reason, effect=False)
    process, user = _owners_of(args.pid)
    if process != args.pid:
        reason = f"{args.pid} is a thread of process {process}: name the process"
        raise ToolFailed(Code.BAD_ARGUMENTS, reason, effect=False)
    if args.pid in own_family():
        raise ToolFailed(Code.BAD_ARGUMENTS, f"process {args.pid} is what this agent runs in", effect=False)
    if user != (ours := os.geteuid()):
        reason = (
            f"process {args.pid} ({name}) belongs to {_user_words(user)}, and this agent ends those of its own user,"
            f" {_user_words(ours)}, only: nothing was ended. End it there by hand: sudo kill {args.pid}"
        )
        raise ToolFailed(Code.BAD_ARGUMENTS, reason, effect=False)


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
