"""The names of files that are laid out in one folder for a program: no two are the same, and none is guessed away."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from pathlib import PurePosixPath
from typing import Final

from starloom_agent.toolkit.beneath import folded
from starloom_agent.toolkit.files.naming import stored_name
from starloom_agent.toolkit.interface import ToolFailed
from starloom_agent.toolkit.refs import FileRef
from starloom_protocol.text.wording import quoted
from starloom_protocol.vocabulary import Code

_SHOWN_MOST = 3
_LEADING_OUT: Final = re.compile(r"^\.+|[/\\]")


def names_of(files: Sequence[FileRef], reserved: Collection[str]) -> list[str]:
    """Return the name of each file in the folder, in order.

    A name that one file has alone is kept. Where several have it, each gets its origin before it: `DEVICE - NAME`,
    with the folders between where one device gave several. A device is called as a plan says, so no name leads out of
    the folder, whatever that is.

    Raises:
        ToolFailed: a name that is reserved, or files whose names stay equal because nothing says where they are from.
    """
    plain = [PurePosixPath(file.shown_name).name for file in files]
    for name in plain:
        if folded(name) in map(folded, reserved) or name in ("", "..") or name.startswith("."):
            raise ToolFailed(Code.BAD_ARGUMENTS, f"a file may not be named {quoted(name)} here", effect=False)
    names = _told_apart(plain, [_origin(file, name) for file, name in zip(files, plain, strict=True)])
    names = _told_apart(names, [_whole_origin(file, name) for file, name in zip(files, plain, strict=True)])
    twice = [name for name, count in _counted(names).items() if count > 1]
    if twice:
        raise ToolFailed(
            Code.BAD_ARGUMENTS,
            f"several files are called {', '.join(twice[:_SHOWN_MOST])}, and nothing says where each is from: one "
            "would lie over the other. Give artifact.put of each device `device_name: {each: /name}`, or other names",
            effect=False,
        )
    return names


def _told_apart(names: list[str], longer: list[str]) -> list[str]:
    """Return the names, the longer ones where several are the same."""
    count = _counted(names)
    return [more if count[folded(name)] > 1 else name for name, more in zip(names, longer, strict=True)]


def _counted(names: list[str]) -> Counter[str]:
    """Count names as a file system does that takes upper and lower case as one, and all forms of an accent."""
    return Counter(map(folded, names))


def _origin(file: FileRef, name: str) -> str:
    return stored_name(" - ".join([*_device(file), name]))


def _whole_origin(file: FileRef, name: str) -> str:
    folders = [part for part in PurePosixPath(file.below or file.path).parts[:-1] if part not in ("/", "..")]
    return stored_name(" - ".join([*_device(file), *folders, name]))


def _device(file: FileRef) -> list[str]:
    return [_LEADING_OUT.sub("_", file.device)] if file.device else []
