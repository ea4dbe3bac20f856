"""`artifact.put` and `artifact.get`: files from this device to the hub's store and back, by hash."""

from __future__ import annotations

from pathlib import Path
from stat import S_ISREG
from typing import NotRequired, TypedDict

from starloom_agent.toolkit.faults import plain
from starloom_agent.toolkit.files.near import near_name
from starloom_agent.toolkit.interface import Args, Tool, ToolContext, ToolFailed
from starloom_agent.toolkit.refs import FileRef, media_of
from starloom_agent.toolkit.results import Added, StoredFrom
from starloom_agent.tools.files.write import OnClash, settle
from starloom_protocol.vocabulary import Code, Effect, Repeatability


class Put(Args, frozen=True, kw_only=True):
    """`paths` are files of this device, as texts or as `{path}`; an interrupted transfer goes on where it was cut.

    `device_name` is put into each row, so that files of several devices can be told apart.
    """

    paths: list[str | FileRef]
    device_name: str = ""


class KeptFile(StoredFrom):
    below: NotRequired[str]
    device: NotRequired[str]
    mode: NotRequired[int]
    sha256: str


class StoredFiles(TypedDict):
    bytes: int
    files: list[KeptFile]


def put(context: ToolContext, args: Put) -> StoredFiles:
    files = [FileRef(path=item) if isinstance(item, str) else item for item in args.paths]
    real = [context.resolve_read(file.path) for file in files]
    total = 0
    for file, path in zip(files, real, strict=True):
        with plain(path, "looking at", effect=False):
            about = context.files.status(path)
        if about is None or not S_ISREG(about.st_mode):
            reason = f"{file.path} is not a file on this device{near_name(context.files, path)}"
            raise ToolFailed(Code.FILE_NOT_FOUND, reason, effect=False)
        total += about.st_size
    done = 0
    kept: list[KeptFile] = []
    for file, path in zip(files, real, strict=True):
        name = file.shown_name
        stored = context.put(path, name=name, media=file.media or media_of(name))
        if file.sha256 and file.sha256 != stored["artifact"]:
            raise ToolFailed(
                Code.ARTIFACT_CORRUPT, f"{file.path} changed since it was hashed; list it again and then retry"
            )
        done += stored["bytes"]
        context.progress(done_bytes=done, fraction=done / total if total else 1.0, note=name)
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
        kept.append(row)
    return {"files": kept, "bytes": done}


class Get(Args, frozen=True, kw_only=True):
    """Write one artifact to `to`, whole or not at all. The same contents there are kept; with other contents there the
    new file gets a number, unless `on_clash` says otherwise."""

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
        chosen = settle(context, lambda: fetched, Path(args.to), ref.hash, size, args.on_clash)
    path = args.to if chosen.number == 1 else chosen.shown
    name, added = chosen.real.name, chosen.added(path)
    return {"path": path, "bytes": size, "sha256": ref.hash, "name": name, "added": added}


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
