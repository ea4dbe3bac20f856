"""`fs.read` and `fs.stat`: the text of a file within a bound, and the status of paths."""

from __future__ import annotations

import os
from stat import S_ISDIR
from typing import Annotated, Literal, NotRequired, TypedDict

import msgspec

from starloom_agent.toolkit.faults import plain
from starloom_agent.toolkit.files.encodings import GUESS, read_part
from starloom_agent.toolkit.interface import Args, Tool, ToolContext
from starloom_agent.toolkit.refs import media_of
from starloom_protocol.vocabulary import Effect, Repeatability


class Read(Args, frozen=True, kw_only=True):
    """Text from `offset` on, at most `limit` bytes; larger or other files go by `artifact.put`. `encoding` guess takes
    UTF-8, or windows-1252 where it is none.
    """

    path: str
    offset: Annotated[int, msgspec.Meta(ge=0)] = 0
    limit: Annotated[int, msgspec.Meta(ge=1, le=1024 * 1024)] = 64 * 1024
    encoding: str = "utf-8"


class FileText(TypedDict):
    """`bytes` is the size of the whole file. `encoding` is named where it was guessed, or is another one than UTF-8
    without a byte order mark; the mark is no part of `text`. Bytes that are no text in it are refused.
    """

    bytes: int
    encoding: NotRequired[str]
    next_offset: int
    path: str
    text: str
    truncated: bool


def read(context: ToolContext, args: Read) -> FileText:
    path = context.resolve_read(args.path)
    with plain(path, "reading"), context.files.open(path) as file:
        size = os.fstat(file.fileno()).st_size
        part = read_part(file, args.path, args.offset, args.limit, args.encoding)
    answer: FileText = {
        "path": args.path,
        "text": part.text,
        "bytes": size,
        "truncated": part.next_offset < size,
        "next_offset": part.next_offset,
    }
    if part.encoding != "utf-8" or args.encoding == GUESS:
        answer["encoding"] = part.encoding
    return answer


class Stat(Args, frozen=True, kw_only=True):
    """A path that does not exist is an answer, not a failure."""

    paths: list[str]


class FileStat(TypedDict):
    """Of a path that does not exist nothing else is said."""

    bytes: NotRequired[int]
    exists: bool
    kind: NotRequired[Literal["file", "folder"]]
    media: NotRequired[str]
    mtime_s: NotRequired[int]
    path: str


class FileStats(TypedDict):
    missing: int
    rows: list[FileStat]


def stat(context: ToolContext, args: Stat) -> FileStats:
    rows: list[FileStat] = []
    for path in args.paths:
        real = context.resolve_read(path)
        with plain(real, "looking at"):
            about = context.files.status(real)
        if about is None:
            rows.append({"path": path, "exists": False})
            continue
        rows.append(
            {
                "path": path,
                "exists": True,
                "kind": "folder" if S_ISDIR(about.st_mode) else "file",
                "bytes": about.st_size,
                "mtime_s": int(about.st_mtime),
                "media": media_of(real.name),
            }
        )
    return {"rows": rows, "missing": sum(not row["exists"] for row in rows)}


TOOLS = (
    Tool(
        name="fs.read",
        title="Read a text file",
        args=Read,
        run=read,
        effects=(Effect.READ,),
        repeatability=Repeatability.PURE,
        confined=True,
        reusable=True,
        grant="files:read",
    ),
    Tool(
        name="fs.stat",
        title="Size, time and kind of files",
        args=Stat,
        run=stat,
        effects=(Effect.READ,),
        repeatability=Repeatability.PURE,
        confined=True,
        reusable=True,
        grant="files:read",
    ),
)
