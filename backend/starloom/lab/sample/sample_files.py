"""The sample's own files: known by their content, removed or replaced at its next start. All other files stay.

The folders of the sample's devices are granted folders: a person copies things there, too. A list of SHA-256 beside
them (`made.json`) says which files the sample made. A file of a person in a place that the sample needs is renamed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from starloom.lab.sample.facts import Places
from starloom_agent.toolkit.pictures.demo_pictures import paths

_CHUNK_BYTES: Final = 1024 * 1024


def prepare(places: Places) -> None:
    """Make the folders, remove the copies of an earlier start, and free the places that this start writes to."""
    for folder in (places.phone, places.server, places.desktop):
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    drawn = [places.pictures / name for name in paths()]
    own_hashes = _made_hashes(places)
    if own_hashes is None:
        # A start without the list: the places of its pictures are all that is known of them.
        own_hashes = frozenset(_hashes(drawn))
    for file in _files(places.server):
        if _sha256(file) in own_hashes:
            file.unlink()
    for file in (*drawn, *places.sheets):
        if file.is_file() and _sha256(file) not in own_hashes:
            _set_aside(file)


def note_pictures(places: Places) -> None:
    """Write down what was drawn; its copies on the demo server are equal to it."""
    _note(places, _hashes(places.pictures / name for name in paths()))


def note_sheets(places: Places) -> None:
    """Write down the contact sheet and the catalogue that this run has made."""
    _note(places, {*(_made_hashes(places) or ()), *_hashes(places.sheets)})


def _made_hashes(places: Places) -> frozenset[str] | None:
    try:
        return frozenset(json.loads(places.made.read_text()))
    except FileNotFoundError:
        return None


def _note(places: Places, hashes: Iterable[str]) -> None:
    part = places.made.with_name(places.made.name + ".part")
    part.write_text(json.dumps(sorted(hashes)))
    part.replace(places.made)


def _files(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.rglob("*")) if path.is_file() and not path.is_symlink())


def _hashes(files: Iterable[Path]) -> set[str]:
    return {_sha256(file) for file in files if file.is_file()}


def _sha256(file: Path) -> str:
    digest = hashlib.sha256()
    with file.open("rb") as opened:
        while chunk := opened.read(_CHUNK_BYTES):
            digest.update(chunk)
    return digest.hexdigest()


def _set_aside(file: Path) -> None:
    """Rename a file to the first free name beside it: `index (kept 1).html`."""
    number = 1
    while (free_name := file.with_name(f"{file.stem} (kept {number}){file.suffix}")).exists():
        number += 1
    file.rename(free_name)
