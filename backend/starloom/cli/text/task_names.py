"""Names of tasks for people: a child for a device is *run on nas*, in texts, in lines to type and as an argument.

Pure; it knows ids and names alone and asks no hub. Ids stay what the hub is sent.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from shlex import quote
from typing import Final

_CHILD: Final = re.compile(r"(?<![A-Za-z0-9_-])([A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*)\.(d-[a-z0-9]+)")
"""The id of a child for a device: the id of its group, and that of the device."""
_ON: Final = " on "


def task_name(name: str, devices: Mapping[str, str]) -> str:
    """Return the display name of a task: a child for a device has the device's name instead of its id."""
    group, dot, key = name.rpartition(".")
    return f"{group}{_ON}{devices[key]}" if dot and key in devices else name


def task_ids(name: str, devices: Mapping[str, str]) -> list[str]:
    """Return the ids that a task may have which was written as `task_name` shows it; any other word is an id already.

    There are several where a device took the name of one that is gone.
    """
    group, on, device = name.partition(_ON)
    keys = [key for key, device_name in devices.items() if device_name.casefold() == device.casefold()] if on else []
    return [f"{group}.{key}" for key in keys] or [name]


def is_display_name(name: str) -> bool:
    """Tell whether a word may be the display name of a child: ids have no blanks."""
    return _ON in name


def named_in_text(text: str, devices: Mapping[str, str]) -> str:
    """Return a sentence with the display names of tasks in place of their ids."""
    return _CHILD.sub(lambda match: task_name(match[0], devices), text)


def named_in_line(line: str, devices: Mapping[str, str]) -> str:
    """Return a line to type with the display names of tasks in place of their ids, each as one word of a shell."""
    return _CHILD.sub(lambda match: quote(task_name(match[0], devices)), line)
