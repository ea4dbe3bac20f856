"""`data.compare`: two lists of files side by side: those in one list alone, and those that differ in their contents.

Pure, as the other `data` tools; `fs.find` and `fs.hash` make the lists, on one device or on two.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Annotated, Literal, NotRequired, TypedDict

import msgspec

from starloom_agent.toolkit.interface import Args, Tool, ToolContext, ToolFailed
from starloom_protocol.vocabulary import Code, Repeatability


class HashedFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file as `fs.hash` gives it."""

    path: str
    sha256: str
    below: str = ""
    bytes: int = 0


class Compare(Args, frozen=True, kw_only=True):
    """A file is the same one where its path below its folder is, else where its contents are in the other list, too.
    `limit` bounds the rows, not the counts.
    """

    first: list[HashedFile]
    second: list[HashedFile]
    limit: Annotated[int, msgspec.Meta(ge=1, le=100_000)] = 10_000


class ComparedFile(TypedDict):
    """`state` is where the file is, or that its contents differ; a size is left out where the file is not there."""

    first_bytes: NotRequired[int]
    path: str
    second_bytes: NotRequired[int]
    state: Literal["only in the first", "only in the second", "different"]


class EqualFile(TypedDict):
    """A file of one list whose contents are in the other under another path: `first` and `second` are both paths."""

    bytes: int
    first: str
    second: str


class Compared(TypedDict):
    """`same` counts the files whose contents are in both; `moved` of these have another path, and are `renamed`."""

    count: int
    different: int
    equal: bool
    only_first: int
    only_second: int
    moved: NotRequired[int]
    renamed: list[EqualFile]
    rows: list[ComparedFile]
    same: int


def compare(_context: ToolContext, args: Compare) -> Compared:
    first, second = _by_place(args.first), _by_place(args.second)
    # A file that the other list has at its own path is no other one under another name: all empty files are equal.
    in_first = _by_contents({path: file for path, file in first.items() if path not in second})
    in_second = _by_contents({path: file for path, file in second.items() if path not in first})
    rows: list[ComparedFile] = []
    renamed: list[EqualFile] = []
    same = 0
    for path in sorted(first.keys() | second.keys()):
        one, other = first.get(path), second.get(path)
        if one is not None and other is not None and one.sha256 == other.sha256:
            same += 1
        elif one is not None and other is not None:
            rows.append({"path": path, "state": "different", "first_bytes": one.bytes, "second_bytes": other.bytes})
        elif one is not None and one.sha256 in in_second:
            renamed.append({"bytes": one.bytes, "first": path, "second": in_second[one.sha256]})
        elif one is not None:
            rows.append({"path": path, "state": "only in the first", "first_bytes": one.bytes})
        elif other is not None and other.sha256 in in_first:
            renamed.append({"bytes": other.bytes, "first": in_first[other.sha256], "second": path})
        elif other is not None:
            rows.append({"path": path, "state": "only in the second", "second_bytes": other.bytes})
    # A file that has another name in both lists was met by both of its names.
    renamed = list({(row["first"], row["second"]): row for row in renamed}.values())
    answer: Compared = {
        "count": len(rows),
        "different": sum(row["state"] == "different" for row in rows),
        "equal": not rows,
        "only_first": sum(row["state"] == "only in the first" for row in rows),
        "only_second": sum(row["state"] == "only in the second" for row in rows),
        "renamed": renamed[: args.limit],
        "rows": rows[: args.limit],
        "same": same + len(renamed),
    }
    if renamed:
        answer["moved"] = len(renamed)
    return answer


def _by_contents(files: Mapping[str, HashedFile]) -> dict[str, str]:
    """Return the first path of each contents."""
    path_of: dict[str, str] = {}
    for path, file in sorted(files.items()):
        path_of.setdefault(file.sha256, path)
    return path_of


def _by_place(files: list[HashedFile]) -> dict[str, HashedFile]:
    """Return files by their path below the folder that was searched.

    Raises:
        ToolFailed: a file has no hash.
    """
    file_at: dict[str, HashedFile] = {}
    for file in files:
        if not file.sha256:
            raise ToolFailed(Code.BAD_ARGUMENTS, f"{file.path} has no hash; give the files of fs.hash")
        parts = PurePosixPath(file.below or file.path).parts
        file_at["/".join(parts[1:]) if file.below and len(parts) > 1 else "/".join(parts)] = file
    return file_at


TOOLS = (
    Tool(
        name="data.compare",
        title="Compare two lists of files",
        args=Compare,
        run=compare,
        effects=(),
        repeatability=Repeatability.PURE,
        confined=True,
        reusable=True,
    ),
)
