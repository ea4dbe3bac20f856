"""`disk.usage`: free room on a disk, whether it is enough, when it will be full, and the biggest folders.

Sizes only, never contents. It records the free room in a file of the agent's own, to estimate how fast a disk fills up.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated, NotRequired

import msgspec

from starloom_agent.toolkit.beneath import outermost
from starloom_agent.toolkit.faults import plain
from starloom_agent.toolkit.files import filling
from starloom_agent.toolkit.files.filling import Outlook
from starloom_agent.toolkit.interface import Args, Tool, ToolContext, ToolFailed, existing_places, placed, way_out
from starloom_agent.toolkit.results import Named, of_device
from starloom_protocol.vocabulary import Code, Effect, Repeatability

_ENTRIES_MOST = 2_000_000
"""Minutes of looking on a slow disk; the result says that it is not complete."""


class Usage(Args, frozen=True, kw_only=True):
    """`path` defaults to the first writable folder, else to the home folder; a relative one starts there.

    The result covers only folders that this device allows and the disks that hold them; the biggest folders are the
    biggest of these. `need_bytes` (a list is added up) times `need_factor` must be free for `enough`. `top` asks for
    that many biggest folders, `depth` levels down.
    """

    path: str = ""
    need_bytes: int | list[int] = 0
    need_factor: Annotated[float, msgspec.Meta(ge=0, le=1000)] = 1
    top: Annotated[int, msgspec.Meta(ge=0, le=200)] = 0
    depth: Annotated[int, msgspec.Meta(ge=1, le=8)] = 3
    device_name: str = ""


def _mount_of(path: Path) -> Path:
    """Return the mount point of the file system that holds a path."""
    while not os.path.ismount(path) and path != path.parent:
        path = path.parent
    return path


def _typed_place(roots: Sequence[Path], start: Path, path: str) -> Path:
    """Return the path that was asked for, as written: no name of a person is looked up, so `~SOMEBODY` stays."""
    typed = Path(path)
    if typed.parts[:1] == ("~",):
        typed = Path.home().joinpath(*typed.parts[1:])
    if path.startswith("~") and not typed.is_absolute():
        return typed
    places = existing_places(typed, roots, start)
    return Path(os.path.normpath(places[0] if len(places) == 1 else placed(typed, roots, start)))


def _measured(context: ToolContext, path: str) -> tuple[Path, tuple[Path, ...]]:
    """Return the measured path, and the granted folders whose sizes may be shown there.

    Raises:
        ToolFailed: `policy_refused`, for anything but granted folders and the mount points that hold them, in the
            same words whether it exists or not.
    """
    roots = tuple(dict.fromkeys((*context.folders.write, *context.folders.read)))
    start = roots[0] if roots else _mount_of(Path.home())
    place = _typed_place(roots, start, path) if path else start
    real = None
    with suppress(OSError, RuntimeError):  # a name that is too long, links in a circle
        real = place.resolve() if place.is_absolute() else None
    if real is not None and any(map(real.is_relative_to, roots)):
        return real, (real,)
    # That there is a system disk is no news, and it is what people mean by `/`.
    mounts = {_mount_of(root): None for root in (*roots, Path.home(), Path(Path.home().anchor))}
    if place in mounts:
        return place, tuple(root for root in outermost(roots) if _mount_of(root) == place)
    choices = ", ".join(map(str, dict.fromkeys((*roots, *mounts))))
    raise ToolFailed(
        Code.POLICY_REFUSED,
        f"{place} is none of the folders that this device allows, and no disk of theirs: {choices}. "
        f"{way_out('files:read', place)}",
        effect=False,
    )


def _existing(path: Path) -> Path:
    while not path.exists() and path != path.parent:
        path = path.parent
    return path


class _Sizes:
    """Adds up allocated bytes per folder on one file system, each hard-linked file once."""

    def __init__(self, context: ToolContext, depth: int) -> None:
        self._context = context
        self._depth = depth
        self._linked: set[tuple[int, int]] = set()
        self.by_folder: dict[str, int] = {}
        self.seen = 0
        self.unreadable = 0

    def measure(self, root: Path, *, counted: bool) -> int:
        """Return the total; stops, and says so by `seen`, after a bound of entries. `counted` lists the root too."""
        device = root.stat().st_dev
        total = 0
        # (folder, names of the counted folders above it)
        pending: list[tuple[str, tuple[str, ...]]] = [(os.fspath(root), (os.fspath(root),) if counted else ())]
        while pending and self.seen < _ENTRIES_MOST:
            folder, above = pending.pop()
            try:
                with os.scandir(folder) as listing:
                    entries = list(listing)
            except OSError:
                self.unreadable += 1
                continue
            here = 0
            for entry in entries:
                self.seen += 1
                try:
                    about = entry.stat(follow_symlinks=False)
                    if entry.is_dir(follow_symlinks=False):
                        if about.st_dev == device:
                            deeper = (*above, entry.path) if len(above) < self._depth else above
                            pending.append((entry.path, deeper))
                        continue
                except OSError:
                    self.unreadable += 1
                    continue
                if about.st_nlink > 1:
                    key = (about.st_dev, about.st_ino)
                    if key in self._linked:
                        continue
                    self._linked.add(key)
                here += about.st_blocks * 512 if hasattr(about, "st_blocks") else about.st_size
            total += here
            for name in above:
                self.by_folder[name] = self.by_folder.get(name, 0) + here
            if self.seen % 4096 < len(entries):
                self._context.progress(done_bytes=total, note=f"{self.seen} entries")
        return total


def _now_s() -> int:
    return int(time.time())


def _outlook(context: ToolContext, start: Path, total: int, free: int) -> Outlook | None:
    """Return in how many days the disk is full, from what this device measured before; nothing where it keeps none."""
    if context.notes is None:
        return None
    try:
        with plain(start, "measuring"):
            disk = str(start.stat().st_dev)
        return filling.outlook(filling.noted(context.notes, disk, total=total, free=free, now_s=_now_s()))
    except OSError as error:
        context.log(f"what was measured could not be noted: {error}")
        return {"days_left": None, "outlook": "earlier measurements could not be kept"}


class FolderSize(Named):
    bytes: int
    disk_free_bytes: int
    disk_used_percent: int
    folder: str


class DiskUsage(Named):
    """`rows` and what was measured are there where `top` asks for them, the outlook where measurements are kept.

    `unread` tells in words what was not measured.
    """

    complete: NotRequired[bool]
    days_left: NotRequired[int | None]
    enough: bool
    free_bytes: int
    measured_bytes: NotRequired[int]
    need_bytes: int
    outlook: NotRequired[str]
    path: str
    rows: NotRequired[list[FolderSize]]
    total_bytes: int
    unread: NotRequired[str]
    unreadable: NotRequired[int]
    used_bytes: int
    used_percent: int


def _unread(*, whole: bool, full: bool, unreadable: int) -> str:
    """Return what was not measured; empty where all was."""
    entries = "1 entry that could not be read" if unreadable == 1 else f"{unreadable:,} entries that could not be read"
    reasons = (
        "" if whole else "all but the granted folders",
        entries if unreadable else "",
        f"what came after {_ENTRIES_MOST:,} entries" if full else "",
    )
    return ", ".join(filter(None, reasons))


def usage(context: ToolContext, args: Usage) -> DiskUsage:
    asked_for, granted = _measured(context, args.path)
    start = _existing(asked_for)
    with plain(start, "measuring"):
        disk = shutil.disk_usage(start)
    need_bytes = args.need_bytes if isinstance(args.need_bytes, int) else sum(args.need_bytes)
    needed = int(need_bytes * args.need_factor)
    percent = filling.used_percent(disk.used, disk.free)
    result: DiskUsage = {
        "path": os.fspath(start),
        "total_bytes": disk.total,
        "used_bytes": disk.used,
        "free_bytes": disk.free,
        "used_percent": percent,
        "need_bytes": needed,
        "enough": disk.free >= needed,
    }
    outlook = _outlook(context, start, disk.total, disk.free)
    if outlook is not None:
        result["days_left"], result["outlook"] = outlook["days_left"], outlook["outlook"]
    if args.device_name:
        result["device"] = args.device_name
    if args.top:
        sizes = _Sizes(context, args.depth)
        with plain(start, "measuring"):
            # Of a disk, only the granted folders have names here.
            whole = asked_for in granted
            measured = (sizes.measure(_existing(root), counted=not whole) for root in granted)
            result["measured_bytes"] = sum(measured)
        result["complete"] = whole and sizes.seen < _ENTRIES_MOST and not sizes.unreadable
        result["unreadable"] = sizes.unreadable
        result["unread"] = _unread(whole=whole, full=sizes.seen >= _ENTRIES_MOST, unreadable=sizes.unreadable)
        biggest = sorted(sizes.by_folder.items(), key=lambda item: (-item[1], item[0]))[: args.top]
        device = of_device(args.device_name)
        result["rows"] = [
            {**device, "folder": folder, "bytes": size, "disk_used_percent": percent, "disk_free_bytes": disk.free}
            for folder, size in biggest
        ]
    return result


TOOLS = (
    Tool(
        name="disk.usage",
        title="Free room on a disk and the biggest folders",
        args=Usage,
        run=usage,
        effects=(Effect.READ,),
        repeatability=Repeatability.PURE,
    ),
)
