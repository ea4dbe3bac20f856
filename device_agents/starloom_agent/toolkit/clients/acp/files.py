"""The files of another agent: reads and writes in the folder of its session, through the door of this device's tools.

The names of files come from a stranger. A path outside the folder, a link that leads out and an effect that the owner
did not declare are refused, by the same code as for every tool. Also finds the files that changed, by their state
on the disk and not by the claims of the agent.
"""

from __future__ import annotations

import stat
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from starloom_agent.toolkit.beneath import is_trash
from starloom_agent.toolkit.faults import plain
from starloom_agent.toolkit.files.comparing import hold_the_same
from starloom_agent.toolkit.files.placing import new_draft, place
from starloom_agent.toolkit.interface import ToolContext, ToolFailed
from starloom_agent.toolkit.results import Added, added_as
from starloom_protocol.vocabulary import Code

FILE_BYTES_MOST: Final = 1024 * 1024
"""A file is one message on the wire, where escaping makes it longer (`wire.MESSAGE_BYTES_MOST`)."""
LOOKED_AT_MOST: Final = 50_000
"""The folder is looked through before and after the work; the list says if that was not all of it."""
CHANGED_MOST: Final = 500
"""The names stand in the result; `changed_complete` says whether there are more."""
_DEPTH_MOST: Final = 32
_LEFT_OUT: Final = frozenset({".git", "node_modules", ".venv", "__pycache__"})

State = dict[str, tuple[int, int, int]]


def read_text(context: ToolContext, params: Mapping[str, Any]) -> str:
    """Return the text that `fs/read_text_file` asks for.

    Raises:
        ToolFailed: outside the folder, behind a link, no text, or too large.
    """
    path = context.resolve_read(_path_of(params))
    with plain(path, "reading", effect=False), context.files.open(path) as file:
        data = file.read(FILE_BYTES_MOST + 1)
    if len(data) > FILE_BYTES_MOST:
        raise ToolFailed(Code.OUTPUT_TOO_BIG, f"{path} is larger than {FILE_BYTES_MOST} bytes", effect=False)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ToolFailed(Code.TOOL_FAILED, f"{path} holds no text", effect=False) from error
    first, most = params.get("line"), params.get("limit")
    if not isinstance(first, int) and not isinstance(most, int):
        return text
    begin = max(1, first) - 1 if isinstance(first, int) else 0
    lines = text.splitlines(keepends=True)[begin:]
    return "".join(lines[: max(0, most)] if isinstance(most, int) else lines)


def write_text(context: ToolContext, granted: ToolContext, params: Mapping[str, Any]) -> Added:
    """Write the file that `fs/write_text_file` asks for; it appears whole or not at all. Return what undoes it.

    A file that is there goes into the trash of the folder that the owner `granted`, which the agent itself cannot reach
    where it works in a folder below.

    Raises:
        ToolFailed: outside the folder, behind a link, no text, or too large.
    """
    content = params.get("content")
    if not isinstance(content, str):
        raise ToolFailed(Code.BAD_ARGUMENTS, "content: a text is expected", effect=False)
    data = content.encode("utf-8", "replace")
    if len(data) > FILE_BYTES_MOST:
        raise ToolFailed(Code.OUTPUT_TOO_BIG, f"more than {FILE_BYTES_MOST} bytes for one file", effect=False)
    path = context.resolve_write(_path_of(params))
    with plain(path, "writing", effect=False):
        about = context.files.status(path)
        if about is not None and not stat.S_ISREG(about.st_mode):
            raise ToolFailed(Code.TOOL_FAILED, f"{path} is there and is no file", effect=False)
        draft = new_draft(context)
        with context.files.create(draft) as file:
            file.write(data)
        if hold_the_same(context, draft, path):
            context.files.remove(draft)
            return []
        return [added_as(str(path), sha256(data).hexdigest(), place(granted, draft, path).ticket)]


def _path_of(params: Mapping[str, Any]) -> str:
    path = params.get("path")
    if not isinstance(path, str) or not path.startswith("/"):
        raise ToolFailed(Code.BAD_ARGUMENTS, "path: the absolute path of a file is expected", effect=False)
    return path


def state_of(context: ToolContext, root: Path) -> tuple[State, bool]:
    """Return size, time and number of each file below a folder, and whether all of them were looked at.

    Folders that tools fill for themselves are left out: a repository's own data, packages, compiled files, the trash.
    """
    state: State = {}
    pending = [(root, "", 0)]
    complete = True
    while pending:
        folder, below, depth = pending.pop()
        try:
            with context.files.scan(folder) as entries:
                for entry in entries:
                    if len(state) >= LOOKED_AT_MOST:
                        return state, False
                    about = entry.stat(follow_symlinks=False)
                    if not stat.S_ISDIR(about.st_mode):
                        state[below + entry.name] = (about.st_size, about.st_mtime_ns, about.st_ino)
                    elif depth >= _DEPTH_MOST:
                        complete = False
                    elif entry.name not in _LEFT_OUT and not is_trash(entry.name):
                        pending.append((folder / entry.name, f"{below}{entry.name}/", depth + 1))
        except OSError:
            # It went away, or this user may not look: the list says that it is not complete.
            complete = False
    return state, complete


def changed_between(before: State, after: State) -> list[str]:
    """Return the names of the files that are new, other or gone, in order."""
    names = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
    return sorted("".join(sign if sign.isprintable() else "?" for sign in name) for name in names)
