"""`image.check`: pictures that are empty or broken, found by decoding each one.

A kind that this device has no decoder for is said to be not opened, never to be broken.
"""

from __future__ import annotations

from pathlib import PurePath
from typing import Annotated, Final, TypedDict

import msgspec

from starloom_agent.toolkit.interface import Args, Tool, ToolContext
from starloom_agent.toolkit.pictures import decoding
from starloom_agent.toolkit.pictures.png import NotReadable
from starloom_agent.toolkit.refs import Sha256
from starloom_agent.tools.files.image import opened
from starloom_protocol.text.file_sorts import extension
from starloom_protocol.text.wording import quoted
from starloom_protocol.vocabulary import Effect, Repeatability

_ROWS_MOST: Final = 1000
_NAMED_MOST: Final = 3
"""The sentence is the beginning of an answer; the rows have the others."""
_NAME_CHARS_MOST: Final = 50


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """A file at the hub (`artifact`), else on this device (`path`); `source` is its first path."""

    artifact: Sha256 = ""
    name: str = ""
    path: str = ""
    source: str = ""


class Check(Args, frozen=True, kw_only=True):
    """Open each of `files` as a picture, and say which cannot be."""

    files: Annotated[list[Candidate], msgspec.Meta(examples=[[{"path": "photo.jpg"}]])]


class PictureFault(TypedDict):
    """`path` is where the picture was found first, which may be on another device."""

    name: str
    path: str
    why: str


class Unseen(TypedDict):
    """A sentence on pictures, as `data.table` takes it."""

    unseen: str


class CheckedPictures(TypedDict):
    """`bad` are empty, broken or missing; `unopened` have no decoder here. Their first rows, and the number of all."""

    bad: list[PictureFault]
    bad_count: int
    files: int
    unopened: list[PictureFault]
    unopened_count: int
    unseen: list[Unseen]


def check(context: ToolContext, args: Check) -> CheckedPictures:
    bad: list[PictureFault] = []
    unopened: list[PictureFault] = []
    for number, file in enumerate(args.files):
        name, path = file.name or PurePath(file.path).name or file.artifact[:12] or "file", file.source or file.path
        try:
            with opened(context, file.artifact, file.path, name) as whole:
                data = whole.read(decoding.BYTES_MOST + 1)
            decoding.require_whole(data, extension(name))
        except NotReadable as fault:
            bad.append({"name": name, "path": path, "why": str(fault)})
        except decoding.NoDecoder as reason:
            unopened.append({"name": name, "path": path, "why": str(reason)})
        context.progress(fraction=(number + 1) / len(args.files), note=name)
    total = len(args.files)
    sentences = [
        _sentence(bad, total, "empty or cannot be opened as pictures"),
        _sentence(unopened, total, "not opened, so nobody knows whether they are whole"),
    ]
    return {
        "files": total,
        "bad": bad[:_ROWS_MOST],
        "bad_count": len(bad),
        "unopened": unopened[:_ROWS_MOST],
        "unopened_count": len(unopened),
        "unseen": [{"unseen": words} for words in sentences if words],
    }


def _sentence(rows: list[PictureFault], total: int, what: str) -> str:
    """Return how many pictures have a fault, with the first names and reasons; empty where none has."""
    if not rows:
        return ""
    faults = [f"{quoted(row['name'][-_NAME_CHARS_MOST:])} ({row['why']})" for row in rows[:_NAMED_MOST]]
    more = f" and {len(rows) - _NAMED_MOST} more" if len(rows) > _NAMED_MOST else ""
    return f"{len(rows)} of {total} {'is' if len(rows) == 1 else 'are'} {what}: {', '.join(faults)}{more}"


TOOLS = (
    Tool(
        name="image.check",
        title="Find empty or broken pictures",
        args=Check,
        run=check,
        effects=(Effect.READ,),
        repeatability=Repeatability.PURE,
        confined=True,
    ),
)
