"""`data.compare`: two lists of files side by side: those in one list alone, and those that differ in their contents.

Pure, as the other `data` tools; `fs.find` and `fs.hash` make the lists, on one device or on two.
"""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Annotated, Literal, TypedDict

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
    """A file is the same one where its path below its folder is the same. `limit` bounds the rows, not the counts."""

    first: list[HashedFile]
    second: list[HashedFile]
    limit: Annotated[int, msgspec.Meta(ge=1, le=100_000)] = 10_000


class ComparedFile(TypedDict):
    """`state` is where the file is, or that its contents differ; a size is 0 where the file is not there."""

    first_bytes: int
    path: str
    second_bytes: int
    state: Literal["only in the first", "only in the second", "different"]


class Compared(TypedDict):
    count: int
    different: int
    equal: bool
    only_first: int
    only_second: int
    rows: list[ComparedFile]
    same: int


def compare(_context: ToolContext, args: Compare) -> Compared:
    first, second = _by_place(args.first), _by_place(args.second)
    rows: list[ComparedFile] = []
    same = 0
    for path in sorted(first.keys() | second.keys()):
        one, other = first.get(path), second.get(path)
        if one is not None and other is not None and one.sha256 == other.sha256:
            same += 1
            continue
        rows.append(
            {
                "first_bytes": one.bytes if one is not None else 0,
                "path": path,
                "second_bytes": other.bytes if other is not None else 0,
                "state": "only in the second" if one is None else "only in the first" if other is None else "different",
            }
        )
    return {
        "count": len(rows),
        "different": sum(row["state"] == "different" for row in rows),
        "equal": not rows,
        "only_first": sum(row["state"] == "only in the first" for row in rows),
        "only_second": sum(row["state"] == "only in the second" for row in rows),
        "rows": rows[: args.limit],
        "same": same,
    }


def _by_place(files: list[HashedFile]) -> dict[str, HashedFile]:
    """Return files by their path below the folder that was searched.

    Raises:
        ToolFailed: a file has no hash.
    """
    found: dict[str, HashedFile] = {}
    for file in files:
        if not file.sha256:
            raise ToolFailed(Code.BAD_ARGUMENTS, f"{file.path} has no hash; give the files of fs.hash")
        parts = PurePosixPath(file.below or file.path).parts
        found["/".join(parts[1:]) if file.below and len(parts) > 1 else "/".join(parts)] = file
    return found


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
