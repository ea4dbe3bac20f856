"""`artifact.put` and `artifact.get`: files from this device to the hub's store and back, by hash."""

from __future__ import annotations

import os
from pathlib import Path
from stat import S_ISREG
from typing import NotRequired, TypedDict

import msgspec

from starloom_agent.toolkit.faults import plain
from starloom_agent.toolkit.files.near import near_name
from starloom_agent.toolkit.files.placing import own_place, readable_as
from starloom_agent.toolkit.files.walking import UNREADABLE
from starloom_agent.toolkit.interface import Args, Sent, Tool, ToolContext, ToolFailed, refuse_large
from starloom_agent.toolkit.refs import FileRef, media_of
from starloom_agent.toolkit.results import Added, LeftOut, StoredFrom
from starloom_agent.tools.files.write import OnClash, settle
from starloom_protocol.vocabulary import Code, Effect, Repeatability


class Put(Args, frozen=True, kw_only=True):
    """`paths` are files of this device, as texts or `{path}`."""

    paths: list[str | FileRef]
    device_name: str = ""
    skip_changing: bool = False


class KeptFile(StoredFrom):
    below: NotRequired[str]
    device: NotRequired[str]
    mode: NotRequired[int]
    mtime_s: NotRequired[int]
    sha256: str


class StoredFiles(TypedDict):
    """With `skip_changing`, a file that changed since it was hashed is sent as it is now, and one that changes while it
    is sent, is gone or may not be read is in `left_out`; without it, each of them ends the call.
    """

    bytes: int
    files: list[KeptFile]
    left_out: list[LeftOut]


def put(context: ToolContext, args: Put) -> StoredFiles:
    files = [FileRef(path=item) if isinstance(item, str) else item for item in args.paths]
    real = [context.resolve_read(file.path) for file in files]
    left_out: list[LeftOut] = []
    present: list[tuple[FileRef, Path, os.stat_result]] = []
    for file, path in zip(files, real, strict=True):
        about = _status(context, path)
        if about is not None and S_ISREG(about.st_mode):
            refuse_large(file.path, about.st_size)
            present.append((file, path, about))
        elif args.skip_changing and about is None:
            left_out.append(_left_out_row(args, file, _GONE))
        else:
            reason = f"{file.path} is not a file on this device{near_name(context.files, path)}"
            raise ToolFailed(Code.FILE_NOT_FOUND, reason, effect=False)
    total = sum(about.st_size for _, _, about in present)
    done = 0
    rows: list[KeptFile] = []
    for listed, path, before in present:
        sent = _progress_of(context, done, total, listed.shown_name)
        file = msgspec.structs.replace(listed, mtime_s=int(before.st_mtime))
        row, why = _send_unless_changed(context, args, file, path, before, sent) if args.skip_changing else (None, "")
        done += before.st_size
        if why:
            left_out.append(_left_out_row(args, file, why))
            continue
        rows.append(row or _send(context, args, file, path, sent))
    return {"files": rows, "bytes": sum(row["bytes"] for row in rows), "left_out": left_out}


def _progress_of(context: ToolContext, before: int, total: int, name: str) -> Sent:
    """Return the listener for one file, which tells the share of all bytes; `before` are those of the files before."""

    def report(done: int) -> None:
        # A file may have grown since its size was read.
        fraction = min(1.0, (before + done) / total) if total else None
        context.progress(done_bytes=before + done, fraction=fraction, note=name)

    return report


_CHANGED = "it changed while it was sent; send it again when nothing writes it"
_GONE = "it is not there any more"


def _status(context: ToolContext, path: Path) -> os.stat_result | None:
    with plain(path, "looking at", effect=False):
        return context.files.status(path)


def _left_out_row(args: Put, file: FileRef, why: str) -> LeftOut:
    row: LeftOut = {"path": file.path, "why": why}
    device = file.device or args.device_name
    if device:
        row["device"] = device
    return row


def _send_unless_changed(
    context: ToolContext, args: Put, file: FileRef, path: Path, before: os.stat_result, sent: Sent
) -> tuple[KeptFile | None, str]:
    """Send a file as it is now, whatever its hash was; return its row, or none and the reason if it changed meanwhile.

    Raises:
        ToolFailed: it could not be sent, and it is as it was.
    """
    row, failure = None, None
    try:
        row = _send(context, args, msgspec.structs.replace(file, sha256=""), path, sent)
    except ToolFailed as failed:
        failure = failed
    after = _status(context, path)
    if after is None:
        return None, _GONE
    if _state_of(after) != _state_of(before):
        return None, _CHANGED
    if failure is not None and context.files.is_readable(path):
        raise failure
    return row, "" if failure is None else UNREADABLE


def _state_of(about: os.stat_result) -> tuple[int, int, int]:
    return about.st_ino, about.st_size, about.st_mtime_ns


def _send(context: ToolContext, args: Put, file: FileRef, path: Path, sent: Sent) -> KeptFile:
    """Send a file and return its row.

    Raises:
        ToolFailed: it is not as it was hashed, or it could not be sent.
    """
    name = file.shown_name
    stored = context.put(path, name=name, media=file.media or media_of(name), sent=sent)
    if file.sha256 and file.sha256 != stored["artifact"]:
        raise ToolFailed(
            Code.ARTIFACT_CORRUPT, f"{file.path} changed since it was hashed; list it again and then retry"
        )
    row: KeptFile = {
        "artifact": stored["artifact"],
        "bytes": stored["bytes"],
        "media": stored["media"],
        "name": stored["name"],
        "path": file.path,
        "sha256": stored["artifact"],
    }
    if file.below:
        row["below"] = file.below
    if file.device or args.device_name:
        row["device"] = file.device or args.device_name
    if file.mode:
        row["mode"] = file.mode
    if file.mtime_s:
        row["mtime_s"] = file.mtime_s
    return row


class Get(Args, frozen=True, kw_only=True):
    """Write one artifact to `to`, whole or not at all; into a folder, with `/` at its end, under its own name. The
    same contents there are kept; beside others the new file gets a number, unless `on_clash` says otherwise. The file
    keeps the time that a row names.
    """

    artifact: str | FileRef
    to: str
    on_clash: OnClash = "rename"


class FetchedFile(TypedDict):
    """`added` is what `fs.trash` takes to undo it; a file that was replaced is in the trash."""

    added: Added
    bytes: int
    name: str
    path: str
    sha256: str


def get(context: ToolContext, args: Get) -> FetchedFile:
    ref = FileRef(artifact=args.artifact) if isinstance(args.artifact, str) else args.artifact
    if not ref.hash:
        raise ToolFailed(
            Code.BAD_ARGUMENTS, "artifact.get needs an artifact: a SHA-256 or {artifact: ...}", effect=False
        )
    fetched = context.fetch(ref.hash)
    size = fetched.stat().st_size
    with plain(args.to, "writing"):
        to = own_place(context, args.to, ref.shown_name)
        place = settle(context, lambda: fetched, Path(to), ref.hash, size, args.on_clash, mtime_s=ref.mtime_s)
    path = readable_as(context, to if place.number == 1 else place.shown, place.real)
    return {"path": path, "bytes": size, "sha256": ref.hash, "name": place.real.name, "added": place.added(path)}


TOOLS = (
    Tool(
        name="artifact.put",
        title="Give files to the hub's store",
        args=Put,
        run=put,
        effects=(Effect.READ,),
        repeatability=Repeatability.IDEMPOTENT,
        confined=True,
        grant="files:read",
    ),
    Tool(
        name="artifact.get",
        title="Take a file from the hub's store",
        args=Get,
        run=get,
        effects=(Effect.WRITE,),
        repeatability=Repeatability.IDEMPOTENT,
        confined=True,
        grant="files:write",
        self_verified=True,
    ),
)
