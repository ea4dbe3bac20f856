"""`image.sheet`: a contact sheet as one self-contained HTML page, and the same list as CSV.

The page has no script and loads nothing: the small pictures are inside it. Names come from devices and are escaped.
"""

from __future__ import annotations

import base64
import html
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import TypedDict

import msgspec

from starloom_agent.toolkit.faults import plain
from starloom_agent.toolkit.interface import Args, Tool, ToolContext, ToolFailed
from starloom_agent.toolkit.refs import FileRef
from starloom_agent.toolkit.results import Stored
from starloom_agent.tools.tables.data import csv_text
from starloom_protocol.text.file_sorts import extension
from starloom_protocol.vocabulary import Code, Repeatability

_PREVIEW_MEDIA = frozenset({"image/png", "image/jpeg"})
_STYLE = """
:root{color-scheme:light dark;--ink:#1d2333;--soft:#5b647a;--paper:#fbfaf7;--line:#d9d6cc}
@media (prefers-color-scheme:dark){:root{--ink:#eceff7;--soft:#a9b2c7;--paper:#12151d;--line:#323a4d}}
body{margin:0;padding:2rem clamp(1rem,4vw,3rem);
font:16px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper)}
h1{font-size:1.6rem;margin:0}p{margin:.25rem 0 1.5rem;color:var(--soft)}h2{font-size:1.05rem;margin:2rem 0 .75rem}
ul{list-style:none;margin:0;padding:0;display:grid;gap:1rem;
grid-template-columns:repeat(auto-fill,minmax(min(160px,calc(50% - .5rem)),1fr))}
figure{margin:0}
img,.none{display:block;width:100%;aspect-ratio:4/3;object-fit:cover;border-radius:6px;border:1px solid var(--line)}
.none{display:grid;place-items:center;text-align:center;padding:.5rem;box-sizing:border-box;color:var(--soft);font-size:.85rem}
figcaption{font-size:.8rem;overflow-wrap:anywhere;margin-top:.35rem}small{display:block;color:var(--soft);font-family:ui-monospace,monospace}
""".strip()


class Skipped(msgspec.Struct, frozen=True, kw_only=True):
    """A picture without a small version, by the hash in `source`, and why it has none (`image.resize`)."""

    source: str
    name: str = ""
    reason: str = ""


class Sheet(Args, frozen=True, kw_only=True):
    """`rows` are the files of the catalogue, `thumbs` their small versions, found by the hash in `source`."""

    rows: list[FileRef]
    thumbs: tuple[FileRef, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    title: str = "Contact sheet"


def _size(count: int) -> str:
    amount, unit = float(count), "B"
    for larger in ("kB", "MB", "GB", "TB"):
        if amount < 1000:
            break
        amount, unit = amount / 1000, larger
    return f"{amount:.0f} {unit}" if amount >= 10 or unit == "B" else f"{amount:.1f} {unit}"


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _folder_of(row: FileRef) -> str:
    return PurePosixPath(row.source or row.path).parent.name or "Pictures"


def _figure(row: FileRef, small: tuple[str, bytes] | None, reason: str) -> str:
    name = html.escape(row.shown_name)
    if small is None:
        why = f"<br>{html.escape(reason)}" if reason else ""
        picture = f'<span class="none"><span>no preview{why}</span></span>'
    else:
        data = base64.b64encode(small[1]).decode()
        picture = f'<img alt="{name}" src="data:{small[0]};base64,{data}">'
    about = f"{_size(row.bytes)} · {row.hash[:12]}"
    return f"<li><figure>{picture}<figcaption>{name}<small>{about}</small></figcaption></figure></li>"


def page(
    title: str, rows: list[FileRef], small: Mapping[str, tuple[str, bytes]], reasons: Mapping[str, str] | None = None
) -> str:
    """Return the HTML; `small` maps the hash of a picture to media type and bytes of its preview, `reasons` to why it
    has none.
    """
    why = reasons or {}
    folders: dict[str, list[FileRef]] = {}
    for row in rows:
        folders.setdefault(_folder_of(row), []).append(row)
    parts = [
        f"<h2>{html.escape(folder)}</h2>"
        f"<ul>{''.join(_figure(row, small.get(row.hash), why.get(row.hash, '')) for row in files)}</ul>"
        for folder, files in sorted(folders.items())
    ]
    total = sum(row.bytes for row in rows)
    summary = f"{_counted(len(rows), 'picture')} in {_counted(len(folders), 'folder')}, {_size(total)}"
    bare = sum(row.hash not in small for row in rows)
    if (small or why) and bare:
        summary += f"; {bare} without a preview"
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>{html.escape(title)}</title><style>{_STYLE}</style>"
        f"<h1>{html.escape(title)}</h1><p>{summary}</p>{''.join(parts)}</html>"
    )


def catalogue(rows: list[FileRef]) -> str:
    """Return the list as CSV with a head line."""
    head = ["folder", "name", "bytes", "sha256", "path"]
    return csv_text([head, *([_folder_of(row), row.shown_name, row.bytes, row.hash, row.path] for row in rows)])


class ContactSheet(TypedDict):
    """`index` is the page, `catalogue` the table."""

    catalogue: Stored
    count: int
    index: Stored
    previews: int


def sheet(context: ToolContext, args: Sheet) -> ContactSheet:
    small: dict[str, tuple[str, bytes]] = {}
    for number, thumb in enumerate(args.thumbs):
        if not thumb.artifact:
            raise ToolFailed(
                Code.BAD_ARGUMENTS, f"the small picture {thumb.shown_name} is not an artifact", effect=False
            )
        local = context.fetch(thumb.artifact)
        media = thumb.media or f"image/{extension(thumb.name) or 'png'}"
        if media not in _PREVIEW_MEDIA:
            raise ToolFailed(
                Code.BAD_ARGUMENTS, f"{thumb.shown_name} is {media}; previews are PNG or JPEG", effect=False
            )
        with plain(local, "reading"):
            small[thumb.source or thumb.artifact] = (media, local.read_bytes())
        context.progress(fraction=(number + 1) / len(args.thumbs), note=thumb.shown_name)
    reasons = {one.source: one.reason for one in args.skipped}
    index = context.workdir / "index.html"
    table = context.workdir / "catalogue.csv"
    with plain(context.workdir, "writing"):
        index.write_text(page(args.title, args.rows, small, reasons), encoding="utf-8")
        table.write_bytes(catalogue(args.rows).encode())
    return {
        "index": context.put(index, name="index.html", media="text/html"),
        "catalogue": context.put(table, name="catalogue.csv", media="text/csv"),
        "count": len(args.rows),
        "previews": sum(row.hash in small for row in args.rows),
    }


TOOLS = (
    Tool(
        name="image.sheet",
        title="Contact sheet and catalogue",
        args=Sheet,
        run=sheet,
        effects=(),
        repeatability=Repeatability.PURE,
        confined=True,
    ),
)
