"""`data.duplicates`: of files with the same contents, the one that stays, with the reason, and the others.

Pure, as the other `data` tools. Nothing is moved here: `fs.trash` takes the others.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import groupby
from pathlib import PurePosixPath
from typing import Final, TypedDict

import msgspec

from starloom_agent.toolkit.interface import Args, Tool, ToolContext, ToolFailed
from starloom_agent.toolkit.refs import Sha256
from starloom_protocol.text.wording import counted, few, quoted, size_words
from starloom_protocol.vocabulary import Code, Repeatability

_COPY_WORDS: Final = r"(?:copy|copies|backups?|bak|duplicates?|kopien?|copias?|cópias?|copie|sicherung(?:en)?)"
_SAYS_COPY: Final = re.compile(
    rf"(?<![^\W\d_]){_COPY_WORDS}\d{{0,3}}(?![^\W_])|.\(\d{{1,3}}\)(?=(?:\.[^./]*)?(?:/|$))|.~(?=/|$)", re.IGNORECASE
)
"""*IMG_1 (copy).jpg*, *Copy of IMG_1.jpg*, *IMG_1 - Kopie 2.jpg*, *IMG_1 (1).jpg*, *notes.txt~*."""
_NAMED_MOST: Final = 5
"""They stand in a question, which a person reads whole."""
_NAME_CHARS_MOST: Final = 60
_OTHERS_MOST: Final = 20


class Equal(msgspec.Struct, frozen=True, kw_only=True):
    """A file as `fs.hash` gives it."""

    bytes: int
    device: str = ""
    mtime_s: int = 0
    path: str
    sha256: Sha256


class Duplicates(Args, frozen=True, kw_only=True):
    """Of `files` with the same contents on the same device one stays: the first one in the folder `keep_in`; else the
    one whose path does not say that it is a copy (*copy*, *backup*, *(1)*); changed longest ago; with the shortest
    path; by name. `rows` has one row for each such file, the largest room first: its `path`, `why` it stays, and the
    `others`. `rest` are the others, as `fs.trash` takes them. `lines` are for the question before it: number and size
    of what goes on each device, and the first ones.

    With `across` only files that are on several devices count, and `others` name their devices; `rest` and `lines` are
    empty.
    """

    files: list[Equal]
    keep_in: str = ""
    across: bool = False


class _OfDevice(TypedDict, total=False):
    device: str


class OriginalFile(_OfDevice):
    """`count` is the number of all files with these contents; `extra_bytes` is the room that the others take."""

    bytes: int
    count: int
    extra_bytes: int
    others: str
    path: str
    sha256: str
    why: str


class ExtraFile(_OfDevice):
    """`kept` is the path of the file with the same contents that stays; `fs.trash` compares both before it acts."""

    bytes: int
    kept: str
    path: str
    sha256: str


class Line(_OfDevice):
    """A line of the question before the extra copies go: the first one of a device is about all of them."""

    into_the_trash: str
    stays: str


class FoundDuplicates(TypedDict):
    count: int
    extra_bytes: int
    lines: list[Line]
    rest: list[ExtraFile]
    rows: list[OriginalFile]


_Reason = tuple[Callable[[Equal], object], str]


def _lies_in(path: str, folder: str) -> bool:
    return PurePosixPath(path).is_relative_to(PurePosixPath(folder))


def _reasons(keep_in: str) -> list[_Reason]:
    """Return the order in which files with one content are taken: keys, the smallest first, and why each decides.

    A person or a program that copied wrote *copy* into a name. The time says less: many programs give a copy the time
    of its original, and an original that was restored is newer than its copy.
    """
    of_folder = [(lambda file: not _lies_in(file.path, keep_in), f"it lies in {quoted(keep_in)}")] if keep_in else []
    return [
        *of_folder,
        (lambda file: _SAYS_COPY.search(PurePosixPath(file.path).name) is not None, "its name does not say copy"),
        (lambda file: _SAYS_COPY.search(file.path) is not None, "its folder does not say copy"),
        (lambda file: file.mtime_s, "it was changed longest ago"),
        (lambda file: (len(PurePosixPath(file.path).parts), len(file.path)), "its path is the shortest"),
        (lambda file: file.path, "it is the first by name"),
        (lambda file: file.device, "its device is the first by name"),
    ]


def _ranked(files: list[Equal], reasons: list[_Reason]) -> tuple[Equal, list[Equal], str]:
    """Return the file that stays, the others, and why it does: the first key in which it differs from the next one."""
    if not all(file.mtime_s for file in files):
        files = [msgspec.structs.replace(file, mtime_s=0) for file in files]
    original, *others = sorted(files, key=lambda file: tuple(key(file) for key, _ in reasons))
    why = next(words for key, words in reasons if key(original) != key(others[0]))
    return original, others, why


def duplicates(_context: ToolContext, args: Duplicates) -> FoundDuplicates:
    by_content: dict[tuple[str, str], dict[tuple[str, str], Equal]] = {}
    for file in args.files:
        if not file.sha256:
            raise ToolFailed(Code.BAD_ARGUMENTS, f"{quoted(file.path)} has no hash to be compared by", effect=False)
        place = (file.device, file.path)
        by_content.setdefault(("" if args.across else file.device, file.sha256), {})[place] = file
    reasons = _reasons(args.keep_in)
    if args.across:
        shared = [files for files in by_content.values() if len({device for device, _ in files}) > 1]
        rows = [_shared(*_ranked(list(files.values()), reasons)) for files in shared]
        rows.sort(key=lambda row: (-row["bytes"], row["path"]))
        extra_bytes = sum(row["extra_bytes"] for row in rows)
        return {"rows": rows, "count": len(rows), "rest": [], "extra_bytes": extra_bytes, "lines": []}
    groups: list[tuple[OriginalFile, list[ExtraFile]]] = []
    for (device, digest), files in by_content.items():
        if len(files) > 1:
            groups.append(_choice(device, digest, *_ranked(list(files.values()), reasons)))
    groups.sort(key=lambda one: (one[0].get("device", ""), -one[0]["extra_bytes"], one[0]["path"]))
    of_devices = groupby(groups, key=lambda one: one[0].get("device", ""))
    return {
        "rows": [row for row, _ in groups],
        "count": len(groups),
        "rest": [extra for _, extras in groups for extra in extras],
        "extra_bytes": sum(row["extra_bytes"] for row, _ in groups),
        "lines": [line for device, part in of_devices for line in _lines(device, list(part), args.keep_in)],
    }


def _shared(original: Equal, others: list[Equal], why: str) -> OriginalFile:
    """Return a file of several devices, with each of its other places."""
    row, _ = _choice(original.device, original.sha256, original, others, why)
    return {**row, "others": few([f"{file.device}: {file.path}" for file in others], _OTHERS_MOST)}


def _choice(
    device: str, digest: str, original: Equal, others: list[Equal], why: str
) -> tuple[OriginalFile, list[ExtraFile]]:
    of_device: _OfDevice = {"device": device} if device else {}
    row: OriginalFile = {
        **of_device,
        "path": original.path,
        "why": why,
        "count": 1 + len(others),
        "bytes": original.bytes,
        "extra_bytes": sum(file.bytes for file in others),
        "others": few([file.path for file in others], _OTHERS_MOST),
        "sha256": digest,
    }
    return row, [
        {**of_device, "path": file.path, "bytes": file.bytes, "kept": original.path, "sha256": digest}
        for file in others
    ]


def _lines(device: str, groups: list[tuple[OriginalFile, list[ExtraFile]]], keep_in: str) -> list[Line]:
    """Return how many extra copies one device has, their room, and the first ones with the files that stay."""
    of_device: _OfDevice = {"device": device} if device else {}
    extras = [(extra["path"], row) for row, part in groups for extra in part]
    copies = "1 extra copy" if len(extras) == 1 else f"{len(extras):,} extra copies"
    size = size_words(sum(row["extra_bytes"] for row, _ in groups))
    nowhere = bool(keep_in) and not any(_lies_in(row["path"], keep_in) for row, _ in groups)
    stays = f"one of each; none of them lies in {quoted(keep_in)}" if nowhere else "one of each"
    lines = [(f"{copies} of {counted(len(groups), 'file')}, {size}", stays)]
    lines += [(_quoted_end(path), f"{_quoted_end(row['path'])}, as {row['why']}") for path, row in extras[:_NAMED_MOST]]
    if len(extras) > _NAMED_MOST:
        lines.append((f"and {len(extras) - _NAMED_MOST:,} more", ""))
    return [{**of_device, "into_the_trash": goes, "stays": stays_words} for goes, stays_words in lines]


def _quoted_end(path: str) -> str:
    """Return a path in quotes, a long one by its end, which has the name."""
    return quoted(path if len(path) <= _NAME_CHARS_MOST else f"...{path[-_NAME_CHARS_MOST:]}")


TOOLS = (
    Tool(
        name="data.duplicates",
        title="Choose which of equal files stays",
        args=Duplicates,
        run=duplicates,
        effects=(),
        repeatability=Repeatability.PURE,
        confined=True,
        reusable=True,
    ),
)
