"""Saves the items of an answer as files: artifacts as their bytes, values as text or JSON.

The files that a value names are saved beside it, in a folder of the item's name.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

from starloom.client.problems import Problem, may_pass
from starloom_protocol.values import MISSING, point

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from starloom.client.rest import Client
    from starloom_protocol.api.constellations import AnswerPart

STEM_BYTES_MOST = 160
"""Every disk takes such a name, with a number and with what a download adds to it."""
SUFFIX_MOST = 16
"""A longer one is a part of the name."""
_SHA256 = re.compile("[0-9a-f]{64}")
_ENDINGS = {"text/html": ".html", "text/csv": ".csv", "text/markdown": ".md", "text/plain": ".txt", "image/png": ".png"}


class Saved(NamedTuple):
    """The paths of what was saved, and a sentence for each named file that was not."""

    paths: list[str]
    lost: list[str]


def save_items(client: Client, items: Sequence[AnswerPart], folder: Path) -> Saved:
    """Save every item into a folder, with the files that it names; a name that is taken gets a number.

    Raises:
        Problem: an artifact that is an item cannot be fetched whole, or the hub does not answer.
    """
    folder.mkdir(parents=True, exist_ok=True)
    saved = Saved([], [])
    for item in items:
        target, value = _save(client, item, folder)
        saved.paths.append(str(target))
        _save_named(client, value, target, saved)
    return saved


def _save_named(client: Client, value: object, beside: Path, saved: Saved) -> None:
    """Save the files that a value names into a folder beside it."""
    files = dict.fromkeys(_files_in(value, beside.stem))
    if not files:
        return
    folder = _free(beside.parent, beside.stem)
    folder.mkdir()
    for artifact, name, media in files:
        target = _free(folder, _file_name(name, _ENDINGS.get(media, "")))
        try:
            client.download(artifact, target)
        except Problem as problem:
            # A device may name any file; that keeps nothing else of the answer back.
            if may_pass(problem):
                raise
            saved.lost.append(f"{name} is not saved: {problem.reason or problem.title}")
        else:
            saved.paths.append(str(target))


def _files_in(value: object, called: str) -> Iterator[tuple[str, str, str]]:
    """Yield each file that a value names: its artifact, its name or that of the field, its media."""
    if isinstance(value, dict):
        artifact, name = value.get("artifact"), value.get("name")
        if isinstance(artifact, str) and _SHA256.fullmatch(artifact):
            yield artifact, name if isinstance(name, str) and name else called, str(value.get("media"))
        for key, item in value.items():
            yield from _files_in(item, key)
    elif isinstance(value, list):
        for item in value:
            yield from _files_in(item, called)


def _save(client: Client, item: AnswerPart, folder: Path) -> tuple[Path, Any]:
    """Save one item as what it is: a file of the hub, a part of one, a text, or another value as JSON.

    Return the path, and the value that was written as JSON.
    """
    value, artifact, media, name = item.get("value"), item.get("artifact"), item.get("media"), ""
    if artifact is None and isinstance(value, dict) and isinstance(value.get("artifact"), str):
        artifact, media, name = value["artifact"], value.get("media"), str(value.get("name") or "")
    if artifact is not None and item.get("pointer"):
        value = _part(client, artifact, str(item["pointer"]), folder)
        artifact = None
    if artifact is not None:
        target = _free(folder, _file_name(name or str(item["title"]), _ENDINGS.get(str(media), "")))
        client.download(artifact, target)
        return target, None
    if isinstance(value, str):
        target = _free(folder, _file_name(str(item["title"]), ".md" if item.get("show") == "markdown" else ".txt"))
        target.write_text(value, encoding="utf-8")
    else:
        target = _free(folder, _file_name(str(item["title"]), ".json"))
        target.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return target, value


def _part(client: Client, artifact: str, pointer: str, folder: Path) -> Any:
    """Return the part of a JSON value that is kept as an artifact."""
    with TemporaryDirectory(dir=folder, prefix=".part-") as saved_in:
        client.download(artifact, Path(saved_in) / "value")
        part = point(json.loads((Path(saved_in) / "value").read_bytes()), pointer)
    return None if part is MISSING else part


def _file_name(name: str, ending: str) -> str:
    """Return a plain file name; a path in it, which came from a device, never leads out of the folder."""
    plain = re.sub(r"[^\w. -]+", "_", Path(name).name, flags=re.UNICODE).strip(". ") or "item"
    suffix = Path(plain).suffix
    stem, ending = (plain.removesuffix(suffix), suffix) if 0 < len(suffix) <= SUFFIX_MOST else (plain, ending)
    return stem.encode()[:STEM_BYTES_MOST].decode(errors="ignore") + ending


def _free(folder: Path, name: str) -> Path:
    """Return the path of a name in a folder, with a number where it is taken."""
    target, number = folder / name, 2
    while target.exists():
        target = folder / f"{Path(name).stem}-{number}{Path(name).suffix}"
        number += 1
    return target
