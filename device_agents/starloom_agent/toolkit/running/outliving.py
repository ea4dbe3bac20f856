"""The start of a program that may outlive its call: one that a person opened, or the owner of a clipboard.

Not a tool. It gets a session of its own and a token in its environment, by which the runner spares it and all that it
starts - if the call succeeds. A call that fails or is stopped leaves nothing.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from starloom_agent.platforms import processes
from starloom_agent.toolkit.interface import ToolContext, ToolFailed
from starloom_agent.toolkit.messages import Detached
from starloom_protocol.vocabulary import Code

_STEP_S = 0.02
_SAID_CHARS = 300
"""The end of what a program said names its fault; it becomes one sentence."""
# Held, because a Popen that is dropped while its program runs is taken for a mistake.
STARTED: list[subprocess.Popen[bytes]] = []


def start(
    context: ToolContext,
    argv: Sequence[str],
    *,
    environment: Mapping[str, str],
    stdin: bytes = b"",
    errors_to: Path | None = None,
    kind: str = "",
    keep_s: int = 0,
) -> subprocess.Popen[bytes]:
    """Start it and give it its input. Its output is dropped, but for what goes to `errors_to`.

    Raises:
        ToolFailed: `tool_failed` where it cannot be started.
    """
    token = os.urandom(16).hex()
    errors = os.open(errors_to or os.devnull, os.O_WRONLY | os.O_CREAT, 0o600)
    try:
        process = subprocess.Popen(
            list(argv),
            env={**environment, processes.TOKEN_NAME: token},
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            start_new_session=True,
        )
    except OSError as error:
        raise ToolFailed(Code.TOOL_FAILED, f"{argv[0]} could not be started: {error}", effect=False) from error
    finally:
        os.close(errors)
    STARTED.append(process)
    mark = processes.start_mark(process.pid) or ""
    context.detached.append(Detached(pid=process.pid, mark=mark, token=token, kind=kind, keep_s=keep_s))
    assert process.stdin is not None  # noqa: S101 - PIPE above
    try:
        process.stdin.write(stdin)
        process.stdin.close()
    except BrokenPipeError:
        pass  # it ended, and how is told by `settled`
    return process


def settled(
    process: subprocess.Popen[bytes],
    name: str,
    *,
    within_s: float,
    done: Callable[[], bool],
    errors: Path | None = None,
) -> bool:
    """Wait until `done`, or until the program ended well; False if neither is so after `within_s`.

    Raises:
        ToolFailed: `tool_failed` with what it said, if it ends with anything but 0.
    """
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        code = process.poll()
        if code:
            words = errors.read_text(encoding="utf-8", errors="replace").strip()[-_SAID_CHARS:] if errors else ""
            raise ToolFailed(Code.TOOL_FAILED, f"{name} ended with {code}" + (f": {words}" if words else ""))
        if done() or code == 0:
            return True
        time.sleep(_STEP_S)
    return False
