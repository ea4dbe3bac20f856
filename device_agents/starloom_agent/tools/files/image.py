"""`image.info` and `image.resize`: sizes and small versions of pictures.

PNG is decoded by the agent itself, other kinds by Pillow where it is installed; without it the preview that a camera
stored in a JPEG is used. Unreadable files are listed with the reason, so that one of them never fails the whole folder.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, BinaryIO, Literal, NotRequired, TypedDict

import msgspec

from starloom_agent.toolkit.faults import os_fault, plain
from starloom_agent.toolkit.interface import Args, Tool, ToolContext, ToolFailed
from starloom_agent.toolkit.pictures import decoding, headers, png
from starloom_agent.toolkit.pictures.scaling import shrink
from starloom_agent.toolkit.refs import FileRef
from starloom_agent.toolkit.results import Stored
from starloom_protocol.vocabulary import Code, Effect, Repeatability

_JPEG = b"\xff\xd8"
_PICTURE_BYTES_MOST = 256 * 1024 * 1024
_ORIGINAL_BYTES_MOST = 16 * 1024 * 1024
"""`image.sheet` puts each of them into its page whole."""


class Info(Args, frozen=True, kw_only=True):
    """`files` are artifacts or paths of this device."""

    files: Annotated[list[FileRef], msgspec.Meta(examples=[[{"path": "photo.jpg"}]])]


@contextmanager
def opened(context: ToolContext, artifact: str, path: str, name: str) -> Iterator[BinaryIO]:
    """Open a file of the hub, else of this device: a row that has both is of another device, where its path means it.

    Raises:
        NotReadable: it is not there, or cannot be read, which says nothing against the other files of a call.
        ToolFailed: the row names no file, or one that this device does not allow.
    """
    if not artifact and not path:
        raise ToolFailed(Code.BAD_ARGUMENTS, f"{name} has neither an artifact nor a path", effect=False)
    place = context.fetch(artifact) if artifact else context.resolve_read(path)
    try:
        with context.files.open(place) as file:
            yield file
    except (FileNotFoundError, NotADirectoryError):
        raise png.NotReadable("it does not exist on this device") from None
    except IsADirectoryError:
        raise png.NotReadable("it is a folder") from None
    except PermissionError:
        raise png.NotReadable("the agent's user may not read it") from None
    except OSError as error:
        raise os_fault(error, place, "reading") from error


class PictureInfo(TypedDict):
    """Of what cannot be read, `reason` says why, and its size is not known.

    Of a PNG all parts have to be there. Other kinds are known by their heads; `image.check` decodes each picture.
    """

    bytes: int
    height: NotRequired[int]
    kind: NotRequired[str]
    name: str
    readable: bool
    reason: NotRequired[str]
    width: NotRequired[int]


class PictureInfos(TypedDict):
    files: list[PictureInfo]
    unreadable: int


def info(context: ToolContext, args: Info) -> PictureInfos:
    rows: list[PictureInfo] = []
    for file in args.files:
        row: PictureInfo = {"name": file.shown_name, "bytes": 0, "readable": True}
        try:
            with opened(context, file.artifact, file.path, file.shown_name) as data:
                row["bytes"] = os.fstat(data.fileno()).st_size
                measured = _measured(data, row["bytes"])
            row["kind"], row["width"], row["height"] = measured.kind, measured.width, measured.height
        except png.NotReadable as reason:
            row["readable"], row["reason"] = False, str(reason)
        rows.append(row)
    return {"files": rows, "unreadable": sum(not row["readable"] for row in rows)}


def _measured(file: BinaryIO, size: int) -> headers.Measured:
    measured = headers.measure(file.read(headers.HEAD_BYTES))
    if measured is None:
        raise png.NotReadable("its size cannot be read: not a PNG, JPEG, GIF or BMP")
    if measured.kind == "png" and not png.has_all_parts(file, size):
        raise png.NotReadable("the PNG is cut off")
    return measured


class Resize(Args, frozen=True, kw_only=True):
    """Make the longer side at most `longest_px`. With `unreadable: fail` a file that must be skipped fails the task;
    with `original` a JPEG that cannot be made smaller here stays as it is, if it has at most 16 MiB.
    """

    files: Annotated[list[FileRef], msgspec.Meta(examples=[[{"path": "photo.jpg"}]])]
    longest_px: Annotated[int, msgspec.Meta(ge=8, le=4096)] = 160
    unreadable: Literal["list", "fail", "original"] = "list"


_Small = tuple[bytes, str, int, int, str]
"""Bytes, media type, width and height of a picture, and what of it is lost."""


def _small_version(data: bytes, longest_px: int) -> _Small:
    """Return the small version of a picture.

    Raises:
        NotReadable: with the reason, as a sentence's second half.
    """
    measured = headers.measure(data)
    if measured is None or measured.kind != "png":
        try:
            return decoding.small_version(data, longest_px)
        except png.NotReadable:
            preview = headers.jpeg_preview(data) if data[:2] == _JPEG else None
            size = headers.measure(preview) if preview else None
            if preview is None or size is None:
                raise
            return preview, "image/jpeg", size.width, size.height, ""
    picture = png.decode(data)
    small = shrink(picture, longest_px)
    return png.encode(small), "image/png", small.width, small.height, picture.lost


def _as_it_is(data: bytes) -> _Small | None:
    """Return a JPEG whole, as `_small_version` would a small one: every browser can show it smaller."""
    measured = headers.measure(data) if data[:2] == _JPEG and len(data) <= _ORIGINAL_BYTES_MOST else None
    return None if measured is None else (data, "image/jpeg", measured.width, measured.height, "")


class SmallPicture(Stored):
    """`source` is the hash of the picture that it was made from."""

    height: int
    source: str
    width: int


class SkippedPicture(TypedDict):
    name: str
    reason: str
    source: str


class SmallPictures(TypedDict):
    """`lessened` are those of `files` that lack something beside their size."""

    files: list[SmallPicture]
    lessened: list[SkippedPicture]
    skipped: list[SkippedPicture]


_ENDINGS = {"image/jpeg": (".jpg", ".jpeg", ".jpe", ".jfif"), "image/png": (".png",)}


def _name_of_kind(name: str, media: str) -> str:
    """Return the name of a picture of this kind: another ending is kept before its own."""
    endings = _ENDINGS[media]
    return name if name.lower().endswith(endings) else name + endings[0]


def _stored(context: ToolContext, number: int, file: FileRef, small: _Small) -> SmallPicture:
    data, media, width, height, _ = small
    target = context.workdir / f"small-{number}"
    with plain(target, "writing"), context.files.create(target) as out:
        out.write(data)
    stored = context.put(target, name=_name_of_kind(file.shown_name, media), media=media)
    return {**stored, "source": file.hash, "width": width, "height": height}


def resize(context: ToolContext, args: Resize) -> SmallPictures:
    pictures: list[SmallPicture] = []
    skipped: list[SkippedPicture] = []
    lessened: list[SkippedPicture] = []
    for number, file in enumerate(args.files):
        data = b""
        try:
            with opened(context, file.artifact, file.path, file.shown_name) as whole:
                data = whole.read(_PICTURE_BYTES_MOST)
            small = _small_version(data, args.longest_px)
        except png.NotReadable as reason:
            if args.unreadable == "fail":
                raise ToolFailed(Code.TOOL_FAILED, f"{file.shown_name} cannot be made smaller: {reason}") from reason
            original = _as_it_is(data) if args.unreadable == "original" else None
            if original is not None:
                pictures.append(_stored(context, number, file, original))
                continue
            skipped.append({"name": file.shown_name, "source": file.hash, "reason": str(reason)})
            continue
        pictures.append(_stored(context, number, file, small))
        if lost := small[-1]:
            lessened.append({"name": file.shown_name, "source": file.hash, "reason": lost})
        context.progress(fraction=(number + 1) / len(args.files), note=file.shown_name)
    return {"files": pictures, "lessened": lessened, "skipped": skipped}


TOOLS = (
    Tool(
        name="image.info",
        title="Kind and size of pictures",
        args=Info,
        run=info,
        effects=(Effect.READ,),
        repeatability=Repeatability.PURE,
        confined=True,
    ),
    Tool(
        name="image.resize",
        title="Make pictures smaller",
        args=Resize,
        run=resize,
        effects=(Effect.READ,),
        repeatability=Repeatability.PURE,
        confined=True,
    ),
)
