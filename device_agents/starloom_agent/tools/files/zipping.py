"""`archive.zip`: a folder as one ZIP file, which every system opens; it has no list of hashes, as a backup has.

The file goes to the hub's store; `fs.write` puts it on a device.
"""

from __future__ import annotations

import os
import stat
import zipfile
from datetime import datetime
from pathlib import Path, PureWindowsPath
from typing import BinaryIO, Final, TypedDict

from starloom_agent.toolkit.faults import plain
from starloom_agent.toolkit.files.packing import RIGHTS, moment_field
from starloom_agent.toolkit.files.walking import Found, Walk, left_out_trashes
from starloom_agent.toolkit.interface import Args, Tool, ToolContext, ToolFailed
from starloom_agent.toolkit.results import LeftOut, Stored
from starloom_protocol.vocabulary import Code, Effect, Repeatability

_CHUNK_BYTES: Final = 1024 * 1024
_FIRST: Final = (1980, 1, 1, 0, 0, 0)
_LAST: Final = (2107, 12, 31, 23, 59, 58)
"""A ZIP file knows no time outside of these."""
_FOLDER_MARK: Final = 0x10
"""An entry that systems without modes take for a folder."""
_TIME_MOST_S: Final = 1 << 33
"""After the last of these, and before the year at which Python ends."""
_LEADS_OUT: Final = "on Windows its name leads out of the folder into which the archive is unpacked"


class Zip(Args, frozen=True, kw_only=True):
    """Pack a folder (or one file), hidden files too, into a ZIP file called as it is; links and the trash are left out.
    It lies at the hub afterwards.
    """

    path: str


class Zipped(TypedDict):
    bytes: int
    count: int
    files: list[Stored]
    left_out: list[LeftOut]
    unpacked_bytes: int


def zip_folder(context: ToolContext, args: Zip) -> Zipped:
    real = context.resolve_read(args.path)
    with plain(real, "looking at", effect=False):
        about = context.files.status(real)
    left_out: list[LeftOut] = []
    folders: dict[str, int] = {}
    if about is not None and stat.S_ISDIR(about.st_mode):
        walk = Walk(context.files, real, hidden=True)
        entries = list(walk)
        left_out += [{"path": missed.below, "why": missed.why} for missed in walk.missed]
        left_out += [{"path": below, "why": "a link is not packed"} for below in walk.links]
        left_out += left_out_trashes(args.path, walk.trashes)
        left_out += [{"path": below, "why": _LEADS_OUT} for below in walk.empty if _leads_out(below)]
        folders = {below: mode for below, mode in walk.modes.items() if not _leads_out(below)}
    elif about is not None and stat.S_ISREG(about.st_mode):
        entries = [Found(real, real.name, about.st_size, int(about.st_mtime), stat.S_IMODE(about.st_mode))]
    else:
        raise ToolFailed(Code.FILE_NOT_FOUND, f"{args.path} is no file or folder of this device ({real})", effect=False)
    archive = context.workdir / "folder.zip"
    packed = _write(context, entries, folders, archive, left_out)
    stored = context.put(archive, name=f"{real.name or 'folder'}.zip", media="application/zip")
    return {
        "bytes": stored["bytes"],
        "count": len(packed),
        "files": [stored],
        "left_out": left_out,
        "unpacked_bytes": sum(packed),
    }


def _write(
    context: ToolContext, entries: list[Found], folders: dict[str, int], target: Path, left_out: list[LeftOut]
) -> list[int]:
    """Write folders, given with their modes, and files into an archive; return the size of each file.

    Those that cannot be read are added to `left_out`.
    """
    total, sizes = sum(one.bytes for one in entries), []
    with plain(target, "writing"), context.files.create(target) as raw:
        with zipfile.ZipFile(raw, "w", zipfile.ZIP_DEFLATED) as archive:
            for below, mode in sorted(folders.items()):
                head = zipfile.ZipInfo(f"{below}/")
                head.external_attr = (stat.S_IFDIR | mode & RIGHTS) << 16 | _FOLDER_MARK
                archive.writestr(head, b"")
            for one in entries:
                if _leads_out(one.below):
                    left_out.append({"path": one.below, "why": _LEADS_OUT})
                    continue
                try:
                    file = context.files.open(one.path)
                except OSError as error:
                    left_out.append({"path": one.below, "why": error.strerror or "it cannot be read"})
                    continue
                with file:
                    sizes.append(_add(archive, file, one))
                done = sum(sizes)
                context.progress(
                    done_bytes=done, fraction=min(1.0, done / total) if total else None, note=one.path.name
                )
        raw.flush()
        os.fsync(raw.fileno())
    return sizes


def _leads_out(below: str) -> bool:
    """Tell whether a name of this system is that of a place outside where a backslash or a colon parts names."""
    path = PureWindowsPath(below)
    return bool(path.anchor) or ".." in path.parts


def _add(archive: zipfile.ZipFile, file: BinaryIO, entry: Found) -> int:
    """Add one open file in pieces, as long as it was when it was opened; return its size."""
    at = datetime.fromtimestamp(min(max(0, entry.mtime_s), _TIME_MOST_S))  # noqa: DTZ006 - programs read it as local
    stamp = (at.year, at.month, at.day, at.hour, at.minute, at.second)
    head = zipfile.ZipInfo(entry.below, min(max(stamp, _FIRST), _LAST))
    about = os.fstat(file.fileno())
    head.compress_type, head.file_size = zipfile.ZIP_DEFLATED, about.st_size
    head.external_attr = (stat.S_IFREG | about.st_mode & RIGHTS) << 16
    head.extra = moment_field(entry.mtime_s)
    size = 0
    with archive.open(head, "w") as into:
        while piece := file.read(min(_CHUNK_BYTES, about.st_size - size)):
            into.write(piece)
            size += len(piece)
    return size


TOOLS = (
    Tool(
        name="archive.zip",
        title="Pack a folder into a ZIP file",
        args=Zip,
        run=zip_folder,
        effects=(Effect.READ,),
        repeatability=Repeatability.IDEMPOTENT,
        confined=True,
        grant="files:read",
    ),
)
