"""The journal of a task: the changes of files that its attempts on this device make, each noted before it appears.

An attempt that is killed gives no result. The next one of the task reads what it noted and gives it in its own result,
so that an undo takes back all of it. A note names the file by its number on the disk: what was noted and never came to
its place, and what others put there since, is nobody's work. A file lies in the agent's own folder, is opened before a
process gives that up, and is bounded in size and time. The end of a process loses no note, and a power cut those of one
second at most.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec

from starloom_agent.toolkit.beneath import Beneath, is_trash
from starloom_agent.toolkit.files.comparing import sha256_of
from starloom_agent.toolkit.files.placing import readable_as
from starloom_agent.toolkit.files.undoing import hash_of_files, state_of
from starloom_agent.toolkit.files.walking import Walk, shown_name
from starloom_agent.toolkit.interface import ToolContext, ToolFailed

_FOLDER: Final = "written"
_KEPT_S: Final = 30 * 86_400
"""An undo is asked for within days, and a task whose device sleeps is repeated within weeks."""
_BYTES_MOST: Final = 4 * 1024 * 1024
"""The notes of some 20,000 files, more than a task writes that a person follows; later ones are not noted."""
_ALL_BYTES_MOST: Final = 16 * 1024 * 1024
"""A small device has this to spare, for some thousand tasks."""
_FILE_BYTES_LEAST: Final = 4096
"""A disk gives a small file as much."""
_FLUSH_EVERY_S: Final = 1.0
"""A small file costs two flushes without this one; a third for each makes a copy of them take up to a third longer."""
_KEY_CHARS: Final = 24
_CHANGED: Final = "0" * 64
"""The hash of no file: an item that was changed since it was noted differs from it, so no undo takes that."""
_NAMING: Final = ("added", "files", "items", "left_out", "put_back")
"""The lists of results whose items have the path of a file on this device."""
_UNFINISHED: Final = re.compile(r"\.(starloom-part-)?[0-9a-f]{32}\.part")


class Note(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One change: a file or folder comes to `at`, from `was` if it was moved; the one that was there goes to `kept`.

    `file` is its device, number, size and time, `state` that of `undoing.state_of`. A folder that is made has neither.
    A file that goes to the trash is `at` there.
    """

    at: str
    file: tuple[int, int, int, int] = (0, 0, 0, 0)
    kept: str = ""
    state: str = ""
    was: str = ""


_decode = msgspec.json.Decoder(Note).decode


def journal_file(notes: Path, constellation: str, task: str) -> Path:
    """Return the place of the journal of a task, in the folder of the agent's notes."""
    return notes / _FOLDER / f"{_key(constellation)}-{_key(task)}"


def _key(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()[:_KEY_CHARS]


class Journal:
    """The journal of one attempt: what the attempts before it noted, and its own notes."""

    def __init__(self, file: Path, private: Path) -> None:
        """Open the journal; it must be done before the process gives up the files of the agent."""
        self._private = private
        self._file = file
        self._handle = -1
        self._size = 0
        self._flushed_s = -_FLUSH_EVERY_S
        self.files: Beneath | None = None
        self.earlier: list[Note] = []
        self.own: list[Note] = []
        with contextlib.suppress(OSError):  # a disk that takes no note takes the files of a call seldom either
            file.parent.mkdir(mode=0o700, exist_ok=True)
            self.earlier = read(file)
            if not self.earlier:
                _sweep(file.parent)
            self._handle = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
            self._size = os.fstat(self._handle).st_size

    def of(self, task: str) -> list[Note]:
        """Return the notes of a task of the same constellation."""
        return read(self._file.with_name(f"{self._file.name.partition('-')[0]}-{_key(task)}"))

    def placing(self, target: Path, about: os.stat_result, kept: Path | None) -> None:
        if not self._is_inner(target):
            self._note(Note(at=str(target), file=_file(about), kept=str(kept or "")))

    def making(self, folder: Path) -> None:
        if not self._is_inner(folder):
            self._note(Note(at=str(folder)))

    def moving(self, source: Path, target: Path) -> None:
        to_trash = any(map(is_trash, target.parts))
        if self.files is None or any(map(is_trash, source.parts)) or (self._is_inner(target) and not to_trash):
            return
        about = self.files.status(source)
        if about is not None and not target.is_relative_to(self._private):
            state = "" if to_trash else state_of(self.files, source)
            was = "" if self._is_inner(source) else str(source)
            self._note(Note(at=str(target), file=_file(about), state=state, was=was))

    def _is_inner(self, path: Path) -> bool:
        """Tell whether a path is the call's own, in a trash, or in a folder that is not finished."""
        return path.is_relative_to(self._private) or any(
            is_trash(part) or _UNFINISHED.fullmatch(part) for part in path.parts
        )

    def _note(self, note: Note) -> None:
        self.own.append(note)
        data = msgspec.json.encode(note) + b"\n"
        if self._handle < 0 or self._size + len(data) > _BYTES_MOST:
            return
        with contextlib.suppress(OSError):
            # A line that was cut is no note; the one behind it begins a line of its own.
            self._size += os.write(self._handle, data if self._size == 0 else b"\n" + data)
            if (now_s := time.monotonic()) - self._flushed_s >= _FLUSH_EVERY_S:
                self._flushed_s = now_s
                os.fsync(self._handle)


def read(file: Path) -> list[Note]:
    """Return the notes of a journal, in their order; a line that was cut is none."""
    notes = []
    with contextlib.suppress(OSError):
        for line in file.read_bytes().split(b"\n"):
            with contextlib.suppress(msgspec.DecodeError):
                notes.append(_decode(line))
    return notes


def with_left(context: ToolContext, args: Any) -> Any:
    """Return the arguments of an undo with what the attempts of the task that it names in `left_by` have left here."""
    journal, task = context.witness, getattr(args, "left_by", "")
    if not task or not isinstance(journal, Journal):
        return args
    notes = journal.of(task)
    left = Left(context, notes, notes, {})
    fields: dict[str, Any] = msgspec.to_builtins(args)
    for name, items in (("paths", left.added), ("put_back", left.moved), ("tickets", left.tickets)):
        if name in fields:
            fields[name] = [*fields[name], *items]
    return msgspec.convert(fields, type(args))


def with_earlier(context: ToolContext, value: dict[str, Any]) -> dict[str, Any]:
    """Return the result of a call with the changes of the attempts before it that are still in place."""
    journal = context.witness
    if not isinstance(journal, Journal) or not journal.earlier:
        return value
    left = Left(context, [*journal.earlier, *journal.own], journal.earlier, value)
    result = dict(value)
    if isinstance(value.get("added"), list):
        named = {item["path"] for item in value["added"] if item.get("folder")}
        result["added"] = [*(item for item in left.added if item["path"] not in named), *value["added"]]
    if isinstance(value.get("put_back"), list):
        named = {item["path"] for item in value["put_back"]}
        result["put_back"] = [*(item for item in left.moved if item["path"] not in named), *value["put_back"]]
        result["count"] = len(result["put_back"])
        result["left_out"] = [item for item in value["left_out"] if not left.has_moved(item["path"])]
    if isinstance(value.get("tickets"), list):
        result["tickets"] = [*(ticket for ticket in left.tickets if ticket not in value["tickets"]), *value["tickets"]]
    if isinstance(value.get("missing"), list) and left.tickets:
        result["items"] = [*left.trashed, *value["items"]]
        result["count"] = len(result["items"])
        result["missing"] = [path for path in value["missing"] if not left.has_moved(path)]
    return result


class Left:
    """The noted changes that are still in place, as the tools of files name them in their results.

    `value` is a result of the same work: a path is given as it has it, so that an undo names each folder once.
    """

    def __init__(self, context: ToolContext, notes: list[Note], wanted: list[Note], value: dict[str, Any]) -> None:
        self._context = context
        self._shown = dict(_shown_paths(context, value))
        self.added: list[dict[str, Any]] = []
        self.moved: list[dict[str, Any]] = []
        self.trashed: list[dict[str, Any]] = []
        self._was: set[Path] = set()
        self._made = {note.at for note in notes if not note.file[1]}
        asked = {id(note) for note in wanted}
        for note, place in self._in_place(notes):
            if id(note) not in asked:
                continue
            if note.was:
                self._take_moved(note)
            else:
                self.added += self._added(note, place)
        self.trashed.reverse()  # `fs.trash` begins with the last item, and names the first one first

    @property
    def tickets(self) -> list[str]:
        return [item["ticket"] for item in self.trashed]

    def has_moved(self, path: str) -> bool:
        """Tell whether a path names a file that was moved from there, to the trash or elsewhere."""
        try:
            return self._context.resolve_write(path) in self._was
        except ToolFailed:
            return False

    def _take_moved(self, note: Note) -> None:
        at, was = Path(note.at), Path(note.was)
        in_trash = any(map(is_trash, at.parts))
        if self._context.files.exists(was) and not in_trash:
            return
        self._was.add(was)
        if in_trash:
            item: dict[str, Any] = {"path": self._path(was), "ticket": at.parent.name}
            if self._context.files.is_folder(at):
                item |= {"folder": True, "files": len(_hashes(self._context.files, at))}
            self.trashed.append(item)
        else:
            made = next((up for up, above in enumerate(at.parents) if str(above) not in self._made), 0)
            self.moved.append({"path": self._path(at), "was": self._path(was), "state": note.state, "made": made})

    def _in_place(self, notes: list[Note]) -> list[tuple[Note, Path]]:
        """Return the notes whose file is where they say, or in the trash since a later one replaced it, and where."""
        files, holder, found = self._context.files, dict[str, Path](), list[tuple[Note, Path]]()
        for note in reversed(notes):
            place = holder.get(note.at, Path(note.at))
            about = files.status(place)
            if not note.file[1]:
                is_there = about is not None and files.is_folder(place)
            else:
                is_there = about is not None and (about.st_dev, about.st_ino) == note.file[:2]
            if note.was and about is not None and not is_there:
                # On the way to another file system it was copied, which gives it another number.
                is_there = not note.state or state_of(files, place) == note.state
            # The old file is in the trash: the new one was in its place, whatever others did with it since.
            if is_there or (note.kept and files.exists(Path(note.kept))):
                found.append((note, place))
                if note.kept:
                    holder[note.at] = Path(note.kept)
        return found[::-1]

    def _added(self, note: Note, place: Path) -> list[dict[str, Any]]:
        """Return the item of an undo for a file or folder that came to its place, and is at `place` now."""
        at = Path(note.at)
        path = self._path(at)
        if not note.file[1]:
            known = any(item["path"] == path and item.get("folder") for item in self.added)
            return [] if known else [{"path": path, "folder": True, "on_way": True}]
        files = self._context.files
        if note.state:
            held = _hashes(files, place)
            holds = hash_of_files(held) if state_of(files, place) == note.state else _CHANGED
            return [{"path": path, "folder": True, "holds": holds, "files": len(held)}]
        about = files.status(place)
        is_same = about is not None and _file(about) == note.file
        item = {"path": path, "wrote": sha256_of(files, place)[0] if is_same else _CHANGED}
        return [item | ({"replaced": Path(note.kept).parent.name} if note.kept else {})]

    def _path(self, at: Path) -> str:
        """Return a path as the result shows it, or the whole one."""
        for above in (at, *at.parents):
            if above in self._shown:
                shown = os.path.normpath(Path(self._shown[above]) / at.relative_to(above))
                return readable_as(self._context, shown, at)
        return str(at)


def _shown_paths(context: ToolContext, value: dict[str, Any]) -> Iterator[tuple[Path, str]]:
    """Yield the real places of the paths that a result shows, and of the folders above them in these paths."""
    items = [value, *(item for name in _NAMING if isinstance(value.get(name), list) for item in value[name])]
    for item in items:
        shown = item.get("path") if isinstance(item, dict) else None
        if isinstance(shown, str) and shown and not Path(shown).is_absolute():
            try:
                real = context.resolve_write(shown)
            except ToolFailed:
                continue
            for above, path in zip((real, *real.parents), (Path(shown), *Path(shown).parents), strict=False):
                if any(map(above.is_relative_to, context.folders.write)):
                    yield above, str(path)


def _file(about: os.stat_result) -> tuple[int, int, int, int]:
    return about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns


def _hashes(files: Beneath, folder: Path) -> dict[str, str]:
    walk = Walk(files, folder, hidden=True, trash=True, any_name=True)
    return {shown_name(found.below): sha256_of(files, found.path)[0] for found in walk}


def _sweep(folder: Path) -> None:
    """Remove the journals that are old, and the oldest ones beyond the space that all may take."""
    with os.scandir(folder) as entries:
        journals = sorted(((entry.stat(), entry.path) for entry in entries), key=lambda one: -one[0].st_mtime)
    oldest, total = time.time() - _KEPT_S, 0
    for about, path in journals:
        total += max(about.st_size, _FILE_BYTES_LEAST)
        if about.st_mtime < oldest or total > _ALL_BYTES_MOST:
            with contextlib.suppress(OSError):
                os.unlink(path)  # noqa: PTH108 - a path of scandir
