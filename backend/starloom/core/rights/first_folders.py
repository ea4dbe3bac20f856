"""The folder of a device that a call writes into by `.`: the first that its owner allows for writing. Pure.

A device tells its folders with its offer. One that tells none, or has not joined yet, is left out here: the device
alone decides where a path leads. A path with a name of its own needs no words and is not looked at; neither is a call
that reads, because a search from `.` may look through all the folders.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from starloom.core.rights.call_effects import PLACES
from starloom.core.state.model import Fleet
from starloom_protocol.records.entities import TaskSpec
from starloom_protocol.values import parse

_HERE: Final = "."
WRITTEN: Final = f'"{_HERE}"'
"""`.` as the JSON text of arguments has it. A text without it is not parsed: its call names no first folder."""
_GRANT: Final = "files:write"
_FACT: Final = "writes"
"""The fact of an offer that lists the folders of this grant, one a line."""


def first_folders(fleet: Fleet, spec: TaskSpec, devices: Iterable[str]) -> dict[str, str]:
    """Return for each of these devices the folder that the task writes into there by `.`; empty if it means none."""
    if not _means_the_first(spec):
        return {}
    found: dict[str, str] = {}
    for device in devices:
        tool = fleet.tools.get(device, {}).get(spec.tool or "")
        told = fleet.offers[device].facts.get(_FACT, "") if tool is not None and tool.grant == _GRANT else ""
        if told:
            found[device] = told.splitlines()[0]
    return found


def _means_the_first(spec: TaskSpec) -> bool:
    if WRITTEN not in spec.args:
        return False
    args = parse(spec.args)
    late = {item.name for item in spec.inputs}
    return any(args.get(name) == _HERE for name in PLACES - late)
