"""`fs.write`: files from the hub's store, or a text, into a folder of this device; each appears whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path, PurePosixPath
from typing import Any, Literal

from starloom_agent.tools.digest import place_of, sha256_of
from starloom_agent.tools.interface import Args, Tool, ToolContext, ToolFailed
from starloom_agent.tools.placing import place, readable_as
from starloom_agent.tools.refs import FileRef
from starloom_protocol.vocabulary import Code, Effect, Repeatability

_RENAMES_MOST = 1000


class Write(Args, frozen=True, kw_only=True):
    """Give `files` (artifacts) with `under`, or `path` with `text`.

    `name_by` hash makes one file of equal contents; `path` keeps the folders that `fs.find` saw (or those below
    `strip`); `origin` puts the name of the device it came from before its own. A file with the same contents in the
    same place is kept; one with other contents keeps its name, and the new one gets a number (`on_clash`).
    """

    files: tuple[FileRef, ...] = ()
    under: str = "."
    name_by: Literal["hash", "name", "origin", "path"] = "name"
    strip: str = ""
    on_same_hash: Literal["keep", "write"] = "keep"
    on_clash: Literal["rename", "replace", "fail"] = "rename"
    path: str = ""
    text: str | None = None


def _safe_name(name: str) -> str:
    bare = PurePosixPath(name.replace("\\", "/")).name
    clean = "".join(char for char in bare if ord(char) >= 32 and char not in '<>:"|?*').strip(" .")
    return clean[:200] or "file"


def _wanted_name(file: FileRef, args: Write) -> str:
    if args.name_by == "hash":
        return file.hash + PurePosixPath(_safe_name(file.shown_name)).suffix.lower()
    if args.name_by == "path":
        parts = PurePosixPath(place_of(file, args.strip)).parts
        if ".." in parts:
            raise ToolFailed(Code.BAD_ARGUMENTS, f"{file.path} leads out of {args.under}", effect=False)
        return "/".join(_safe_name(part) for part in parts)
    if args.name_by == "origin" and file.device:
        return _safe_name(f"{file.device} - {file.shown_name}")
    return _safe_name(file.shown_name)


def _numbered(path: Path, number: int) -> Path:
    return path if number == 1 else path.with_name(f"{path.stem} ({number}){path.suffix}")


def _choose(context: ToolContext, wanted: str, file: FileRef, args: Write) -> tuple[str, Path, bool]:
    """Return the shown path, the real one, and whether the same bytes are there already."""
    for number in range(1, _RENAMES_MOST):
        shown = os.path.normpath(_numbered(Path(args.under) / wanted, number))
        real = context.resolve_write(shown)
        if not real.exists():
            return shown, real, False
        if real.is_file() and sha256_of(real)[0] == file.hash:
            return shown, real, args.on_same_hash == "keep"
        if args.on_clash == "replace" or args.name_by == "hash":
            return shown, real, False  # under its hash, other contents can only be a damaged copy
        if args.on_clash == "fail":
            raise ToolFailed(Code.TOOL_FAILED, f"{shown} exists with other contents; allow on_clash: rename or replace")
    raise ToolFailed(Code.TOOL_FAILED, f"{wanted} exists in {_RENAMES_MOST} versions in {args.under}; clear the folder")


def write(context: ToolContext, args: Write) -> dict[str, Any]:
    if args.text is not None:
        return _write_text(context, args)
    rows: list[dict[str, Any]] = []
    written_bytes = 0
    for file in args.files:
        if not file.hash:
            raise ToolFailed(Code.BAD_ARGUMENTS, f"{file.shown_name} has no artifact to write from")
        shown, real, same = _choose(context, _wanted_name(file, args), file, args)
        size = real.stat().st_size if same else place(context.fetch(file.hash), real, fence=context.fence)
        written_bytes += 0 if same else size
        context.progress(done_bytes=written_bytes, note=file.shown_name)
        rows.append(
            {
                "path": readable_as(context, shown, real),
                "name": file.shown_name,
                "source": file.path,
                **({"below": file.below} if file.below else {}),
                **({"device": file.device} if file.device else {}),
                "sha256": file.hash,
                "bytes": size,
                "state": "kept" if same else "written",
            }
        )
    return {
        "files": rows,
        "written": sum(row["state"] == "written" for row in rows),
        "kept": sum(row["state"] == "kept" for row in rows),
        "bytes": written_bytes,
    }


def _write_text(context: ToolContext, args: Write) -> dict[str, Any]:
    if not args.path or args.files:
        raise ToolFailed(
            Code.BAD_ARGUMENTS, "text goes with path, files go with under; give one of the two", effect=False
        )
    half = context.workdir / "text.part"
    half.write_text(args.text or "", encoding="utf-8")
    digest, _ = sha256_of(half)
    size = place(half, context.resolve_write(args.path), fence=context.fence)
    row = {"path": args.path, "name": Path(args.path).name, "sha256": digest, "bytes": size, "state": "written"}
    return {"files": [row], "written": 1, "kept": 0, "bytes": size}


TOOLS = (
    Tool(
        name="fs.write",
        title="Write files into a folder",
        args=Write,
        run=write,
        effects=(Effect.WRITE,),
        repeatability=Repeatability.IDEMPOTENT,
        grant="files:write",
    ),
)
