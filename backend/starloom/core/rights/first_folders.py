"""The folders of a device that a call writes into by `.`, in words: the first that its owner allows for writing. Pure.

Files that keep their own folders go into another allowed folder where theirs is there already, and only there.

A device tells its folders with its offer. One that tells none, or has not joined yet, is left out here: the device
alone decides where a path leads. A path with a name of its own needs no words and is not looked at; neither is a call
that reads, because a search from `.` may look through all the folders.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from starloom.core.rights.call_effects import PLACES
from starloom.core.state.model import Fleet
from starloom_protocol.records.entities import TaskSpec
from starloom_protocol.text.wording import few, quoted
from starloom_protocol.values import parse

_HERE: Final = "."
WRITTEN: Final = f'"{_HERE}"'
"""`.` as the JSON text of arguments has it. A text without it is not parsed: its call names no first folder."""
_GRANT: Final = "files:write"
_FACT: Final = "writes"
"""The fact of an offer that lists the folders of this grant, one a line."""
_WORKSPACE: Final = ("/workspace", "\\workspace")
_NAMED_MOST: Final = 3
_KEEP_THEIRS: Final = frozenset({"path", "origin"})
"""Values of `name_by` by which written files keep the folders that they came from."""


def first_folders(fleet: Fleet, spec: TaskSpec, devices: Iterable[str], note: str = "") -> dict[str, str]:
    """Return in words for each of these devices where the task writes there by `.`; empty if it means no folder so.

    The `note` stands behind the first folder.
    """
    args = _args_that_mean_the_first(spec)
    if args is None:
        return {}
    keep_theirs = args.get("name_by") in _KEEP_THEIRS
    words: dict[str, str] = {}
    for device in devices:
        tool = fleet.tools.get(device, {}).get(spec.tool or "")
        folders = fleet.offers[device].facts.get(_FACT, "") if tool is not None and tool.grant == _GRANT else ""
        if folders:
            first, *others = folders.splitlines()
            # The agent's own workspace comes last; a folder of that name is one to make, not one that is there.
            other = [quoted(one) for one in others if not one.endswith(_WORKSPACE)] if keep_theirs else []
            elsewhere = f", or in {few(other, _NAMED_MOST)} where a file's own folder is there" if other else ""
            words[device] = f"{quoted(first)}{note}{elsewhere}"
    return words


def _args_that_mean_the_first(spec: TaskSpec) -> dict[str, Any] | None:
    if WRITTEN not in spec.args:
        return None
    args: dict[str, Any] = parse(spec.args)
    late = {item.name for item in spec.inputs}
    return args if any(args.get(name) == _HERE for name in PLACES - late) else None
