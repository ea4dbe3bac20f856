"""The folders, hosts and agents of others that owners of devices allow, as a preview sees them.

Pure; warns and refuses nothing. The device alone decides: only it knows where links lead, so a path is judged only
where it is written out in full. It judges each step of an agent of others, too; the warning about one repeats what its
owner has declared. A tool that asks a host beside other work has no grant of its own and checks its host in the call,
so a missing host is seen here by the arguments that name one.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath
from shlex import quote
from typing import Any, Final
from urllib.parse import urlsplit

from starloom.planner.quoting import plain
from starloom.process.program import on_device
from starloom_protocol.records.entities import Device, TaskSpec, ToolOffer
from starloom_protocol.text.folder_grants import NO_LINE, has_line
from starloom_protocol.text.wording import few, quoted
from starloom_protocol.values import parse

READS: Final = "reads"
WRITES: Final = "writes"
"""The facts of an offer that list folders, one a line."""
_FACT_OF: Final = {"files:read": READS, "files:write": WRITES}
_PATH_ARGUMENTS: Final = ("path", "root", "folder", "paths", "file")
_TOLD_MOST: Final = 3


def folder_warnings(
    spec: TaskSpec, offer: ToolOffer, devices: Iterable[tuple[Device, Mapping[str, str]]]
) -> Iterable[str]:
    """Yield a sentence for each device, given with the facts of its offer, that allows no folder of a path."""
    fact = _FACT_OF.get(offer.grant or "", "")
    args = parse(spec.args) if fact else None
    paths = _paths(args)
    for device, facts in devices if paths else ():
        folders = facts.get(fact, "").splitlines()
        outside = [path for path in paths if folders and not _within(path, folders)]
        if outside:
            allowed = _folder_to_allow(args, outside[0])
            line = on_device(f"starloom-agent grant {offer.grant} {quote(allowed)}", facts)
            way_out = f"To allow it, type there: {line}" if has_line(PurePosixPath(allowed)) else NO_LINE
            folder_names = few([*map(quoted, folders)], _TOLD_MOST)
            yield (
                f"{spec.id}: {quoted(outside[0])} is outside the folders that {device.name} allows for {offer.grant} "
                f"({folder_names}), unless a link leads there. {way_out}"
            )


def _paths(args: Any) -> list[str]:
    """Return the paths that are written out in full."""
    values = [args.get(name) for name in _PATH_ARGUMENTS] if isinstance(args, dict) else []
    flat = [item for value in values for item in (value if isinstance(value, list) else [value])]
    return [
        posixpath.normpath(item)
        for item in flat
        if isinstance(item, str) and item.startswith("/") and item.isprintable()
    ]


def _folder_to_allow(args: Any, path: str) -> str:
    """Return what an owner would allow for a path: of the one file that a call names, its folder."""
    file = args.get("file")
    return posixpath.dirname(path) if isinstance(file, str) and posixpath.normpath(file) == path else path


def _within(path: str, folders: Iterable[str]) -> bool:
    return any(path == folder or path.startswith(folder.rstrip("/") + "/") for folder in folders)


_SCRIPT: Final = re.compile(r"[^/\\]+\.(sh|bash|zsh|py|pl|rb|js|ps1)")


def program_warnings(spec: TaskSpec, devices: Iterable[str]) -> Iterable[str]:
    """Yield a sentence if the program of a task is the bare name of a script, which is seldom in a PATH."""
    args = parse(spec.args) if spec.tool == "shell.run" else None
    argv = args.get("argv") if isinstance(args, dict) else None
    program = argv[0] if isinstance(argv, list) and argv else None
    if isinstance(program, str) and _SCRIPT.fullmatch(program):
        where = ", ".join(devices) or "its device"
        yield (
            f"{spec.id}: {quoted(program)} is looked for only in the PATH of {where}, and its grant does not change "
            "that. If it lies elsewhere, write its full path."
        )


_BEHIND_THE_FIRST: Final[Mapping[str, str]] = {
    "artifact.get": "unless a folder is there; those behind the first get a number",
    "fs.copy": "unless a folder is there; those behind the first fail, or replace the one before",
    "fs.move": "and those behind the first fail",
}


def one_file_warnings(spec: TaskSpec) -> Iterable[str]:
    """Yield a sentence if every item of a list is put into the one file that a task names."""
    each, fate = spec.for_each, _BEHIND_THE_FIRST.get(spec.tool or "")
    if fate is None or each is None or (each.source or each.same) is None or each.devices is not None:
        return
    args = parse(spec.args)
    to = args.get("to") if isinstance(args, dict) else None
    if isinstance(to, str) and not to.endswith("/"):
        yield (
            f"{spec.id}: `to` is one file for all items of its list, {quoted(to)}, {fate}. "
            f"For a folder, where each keeps its name, write `to: {to}/`."
        )


def contents_warning(spec: TaskSpec) -> str:
    """Return the sentence for files that do not keep their names, empty for a task without such files."""
    args = parse(spec.args)
    if spec.tool != "fs.write" or args.get("name_by") != "hash":
        return ""
    return (
        f"{spec.id} keeps equal files once: they lie side by side in {quoted(args.get('under', '.'))}, named by their "
        "contents and not by their names. To keep names and folders, choose *path* for the names, or copy the folder."
    )


_GRANT: Final = "agent:"
_TITLE_CHARS: Final = 200


def agent_warnings(spec: TaskSpec, offer: ToolOffer, devices: Iterable[str]) -> Iterable[str]:
    """Yield a sentence if the tool of a task is an agent of others; `devices` are names."""
    if (offer.grant or "").startswith(_GRANT):
        where = ", ".join(devices) or "its device"
        yield (
            f"{spec.id}: {plain(offer.title, _TITLE_CHARS)}. It decides on its own steps; {where} asks its owner "
            "for each further permission, and an approval of this plan gives none"
        )


NET_REACH: Final = "net:reach"
HOSTS: Final = "hosts"
"""The fact of an offer that lists hosts, one a line; `*` is any."""
_BY_TOOL: Final[Mapping[str, tuple[str, ...]]] = {
    "browser.capture": ("url",),
    "browser.read": ("url",),
    "browser.steps": ("url",),
    "git.clone": ("url",),
    "http.request": ("url",),
    "net.check": ("at", "url", "host"),
    "wait.until": ("host",),
}
"""The arguments of each tool that checks a host, in the order in which it asks them."""


def asked_host(spec: TaskSpec) -> str | None:
    """Return the host that a task asks, an empty text if only its run shows which, None if it asks none."""
    names = _BY_TOOL.get(spec.tool or "")
    if names is None:
        return None
    if any(item.name in names for item in spec.inputs):
        return ""
    args = parse(spec.args)
    value = next((args[name] for name in names if args.get(name)), None) if isinstance(args, dict) else None
    return _host(value) if value is not None else None


def _host(value: Any) -> str:
    if not isinstance(value, str) or "{{" in value:
        return ""
    try:
        host = urlsplit(value if "//" in value else f"//{value}").hostname
    except ValueError:
        return ""
    return (host or "").lower()


def lacks_host(host: str, facts: Mapping[str, str]) -> bool:
    """Tell whether a device that grants `net:reach` has told its hosts, and this one is not among them."""
    listed = facts.get(HOSTS)
    return bool(host) and listed is not None and not {"*", host} & set(listed.splitlines())
