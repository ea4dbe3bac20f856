"""Errors of the operating system as failures that a person can act on; no error is swallowed here."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager

from starloom_agent.toolkit.interface import ToolFailed
from starloom_protocol.vocabulary import Code

_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


def has_no_room(error: OSError) -> bool:
    """Tell whether an error says that the disk, its quota or the largest size of a file is used up."""
    return error.errno in _NO_ROOM


def os_fault(error: OSError, path: str | os.PathLike[str], doing: str, *, effect: bool | None = None) -> ToolFailed:
    """Return the failure for an error while `doing` something with `path`."""
    text = os.fspath(path)
    if isinstance(error, FileNotFoundError):
        return ToolFailed(Code.FILE_NOT_FOUND, f"{text} does not exist on this device ({doing})", effect=effect)
    if has_no_room(error):
        return ToolFailed(
            Code.NO_SPACE,
            f"no room for {text} on this device ({doing}): {error.strerror}. Free some space, then retry",
            effect=effect,
        )
    if error.errno == errno.ELOOP:
        return ToolFailed(
            Code.POLICY_REFUSED,
            f"a link lies where {text} was ({doing}): tools follow no link that can lead out of the granted folders. "
            "Put the folder or file itself there, or name its own place",
            effect=effect,
        )
    if isinstance(error, PermissionError):
        return ToolFailed(
            Code.TOOL_FAILED,
            f"the agent's user may not touch {text} ({doing}). Change the permissions of the file on the device",
            effect=effect,
        )
    reason = error.strerror or str(error)
    return ToolFailed(Code.TOOL_FAILED, f"{doing} {text} failed: {reason}", effect=effect)


@contextmanager
def before_any_change() -> Iterator[None]:
    """Let each failure inside say that the call has changed nothing yet."""
    try:
        yield
    except ToolFailed as failed:
        failed.effect = False
        raise


@contextmanager
def plain(path: str | os.PathLike[str], doing: str, *, effect: bool | None = None) -> Iterator[None]:
    """Raise `ToolFailed` for any `OSError` inside.

    Raises:
        ToolFailed: `file_not_found`, `no_space` or `tool_failed`.
    """
    try:
        yield
    except OSError as error:
        raise os_fault(error, error.filename or path, doing, effect=effect) from error
