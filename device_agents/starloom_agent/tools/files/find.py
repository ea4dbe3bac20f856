"""`fs.list` and `fs.find`: what is in a folder, and which files fit a question; they read names, never contents."""

from __future__ import annotations

import fnmatch
import os
import re
import stat
import unicodedata
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Final, Literal, NotRequired, TypedDict

import msgspec

from starloom_agent.toolkit.beneath import composed
from starloom_agent.toolkit.faults import plain
from starloom_agent.toolkit.files.near import near_name
from starloom_agent.toolkit.files.walking import MISSED_MOST, OF_THE_TRASH, UNREADABLE, Found, Missed, Walk, shown_name
from starloom_agent.toolkit.interface import Args, Tool, ToolContext, ToolFailed, typed_path
from starloom_agent.toolkit.refs import media_of
from starloom_agent.toolkit.results import LeftOut, Named, of_device
from starloom_agent.toolkit.text.durations import Age, begin_of
from starloom_protocol.text.file_sorts import kind_of, sort_fits
from starloom_protocol.vocabulary import Code, Effect, Repeatability

_MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_WORD = re.compile(r"[^\W_]+")
_WORD_OR_ENDING = re.compile(r"(?:(?<=[^\W_])\.(?=[a-z0-9]{0,4}[a-z][a-z0-9]{0,4}(?![^\W_]|\.)))?[^\W_]+")
"""A word, or the ending of a file's name with its dot."""
_FILLER = frozenset(_WORD.findall("a an the my our of in on at for from with and or to is are that this file files"))
_OF_A_SORT = re.compile(r"(?i:all|every)\s")
_NAMED_MOST = 5
"""The paths stand in an error text, for a person who then names the folder, too."""


class List(Args, frozen=True, kw_only=True):
    """`path` is a folder; entries come by name, folders first. `device_name` is put into each entry.

    Without `path`, or with `.`, every granted folder is listed; entries of all but the first are named `FOLDER/NAME`.
    """

    path: str = "."
    hidden: bool = False
    limit: Annotated[int, msgspec.Meta(ge=1, le=10_000)] = 1000
    device_name: str = ""


class FolderEntry(Named):
    bytes: int
    kind: Literal["file", "folder", "link", "other"]
    """`other` is a pipe, a socket or a hardware device, which no tool reads."""
    mtime_s: int
    name: str
    path: str


class FolderList(TypedDict):
    count: int
    entries: list[FolderEntry]
    left_out: list[LeftOut]
    path: str
    truncated: bool


def _near(context: ToolContext, typed: str, real: Path) -> str:
    """Return the words on names that are like that of a folder which is not there, of any folder that is looked in."""
    path = typed_path(typed)
    return near_name(context.files, real, *([] if path.is_absolute() else [one / path for one in context.folders.read]))


def list_folder(context: ToolContext, args: List) -> FolderList:
    first = context.resolve_read(args.path or ".")
    if not context.files.exists(first):
        reason = f"{args.path} does not exist on this device{_near(context, args.path, first)}"
        raise ToolFailed(Code.FILE_NOT_FOUND, reason, effect=False)
    entries = _entries_of(context, args, first, "")
    if args.path in ("", "."):
        for folder, _ in roots_of(context, ".")[1:]:
            entries += _entries_of(context, args, folder, f"{folder.name}/")
    return {
        "path": os.fspath(first),
        "entries": entries[: args.limit],
        "left_out": _beyond(args, len(entries) - args.limit),
        "count": len(entries),
        "truncated": len(entries) > args.limit,
    }


def _beyond(args: List, unlisted: int) -> list[LeftOut]:
    if unlisted <= 0:
        return []
    why = f"{unlisted:,} more entries are there, and a list has at most {args.limit:,}"
    return [{**of_device(args.device_name), "path": args.path or ".", "why": why}]


def _entries_of(context: ToolContext, args: List, folder: Path, before: str) -> list[FolderEntry]:
    """Return the entries of one folder; `before` is put before their names."""
    entries: list[FolderEntry] = []
    with plain(folder, "listing"), context.files.scan(folder) as listing:
        for entry in listing:
            if not args.hidden and entry.name.startswith("."):
                continue
            try:
                about = entry.stat(follow_symlinks=False)
            except FileNotFoundError:
                continue  # it was removed since
            row: FolderEntry = {
                # A name that is no text is shown, and can be given to no tool.
                "name": before + shown_name(entry.name),
                "kind": _kind_of(about.st_mode),
                "bytes": about.st_size,
                "mtime_s": int(about.st_mtime),
                "path": os.path.normpath(Path(args.path or ".") / before / shown_name(entry.name)),
            }
            if args.device_name:
                row["device"] = args.device_name
            entries.append(row)
    entries.sort(key=lambda entry: (entry["kind"] != "folder", entry["name"]))
    return entries


def _kind_of(mode: int) -> Literal["file", "folder", "link", "other"]:
    if stat.S_ISLNK(mode):
        return "link"
    if stat.S_ISDIR(mode):
        return "folder"
    return "file" if stat.S_ISREG(mode) else "other"


class Find(Args, frozen=True, kw_only=True):
    """Every given condition must hold. Without `root` every granted folder is searched, with all below it; a `root`
    that is not there is an error, or `missing: nothing`. `pattern` fits the name (`*.csv`) or the path (`data/*.csv`,
    where `*` stands for folders in folders, too); `words` are looked for in the path, never in the contents: half of
    them must be there, the best come first (a month also as a number: March fits `2026-03`); a comma parts the words
    of several files, and `all wavs` are of a sort. `newer_than` and `older_than` are an age (`7d`) or a moment
    (`2026-01-31`). `what` is a sort of file as people call it: `PDFs`, `pictures`, `*.csv`, `all files`. `same_size`
    keeps files as large as another one, which alone can be equal. `device_name` is put into each row. `not_under`
    leaves out one folder. `root` may be a file, too; `file` is the one file of this name, or of this path below the
    root. `largest` keeps the largest of more than `limit` files, and `order` the first of another order. `whole` is for
    a copy of a folder: hidden files, modes and empty folders come along, and `left_out` names the links.
    """

    root: str = ""
    what: str = ""
    not_under: str = ""
    missing: Literal["fail", "nothing"] = "fail"
    kinds: tuple[Literal["image", "video", "audio", "document", "archive", "code", "other"], ...] = ()
    pattern: str = ""
    file: str = ""
    words: str = ""
    newer_than: Age | None = None
    older_than: Age | None = None
    min_bytes: int = 0
    max_bytes: int | None = None
    group_by: Literal["", "folder"] = ""
    hidden: bool = False
    whole: bool = False
    same_size: bool = False
    largest: bool = False
    order: Literal["any", "newest", "oldest", "largest", "smallest"] = "any"
    limit: Annotated[int, msgspec.Meta(ge=1, le=100_000)] = 10_000
    device_name: str = ""


class _Folds(dict[int, str]):
    """The folded form of each character met so far. Character by character, because normalising a long run of combining
    accents at once takes quadratic time."""

    def __missing__(self, code: int) -> str:
        parts = unicodedata.normalize("NFKD", chr(code))
        self[code] = folded = "".join(part for part in parts if not unicodedata.combining(part)).casefold()
        return folded


def fold(text: str) -> str:
    """Return text for comparing: lower case, accents taken off."""
    return text.lower() if text.isascii() else text.translate(_Folds())


def search_words(text: str) -> list[str]:
    """Return the meaningful words of a question, the ending of a name with its dot; all of them if none is."""
    words: list[str] = _WORD_OR_ENDING.findall(fold(text))
    return [word for word in words if word not in _FILLER] or words


def _forms(word: str) -> tuple[str, ...]:
    if word in _MONTHS:
        number = f"{_MONTHS.index(word) + 1:02d}"
        return (word, word[:3], f"-{number}", f"_{number}", f"/{number}")
    if len(word) > 3 and word.endswith("s"):
        return (word, word[:-1])
    return (word,)


_EXACT: Final = 100
"""More than the words of any request give: a file that is named so comes before all that are only alike."""


def score(path: str, words: list[str]) -> int:
    """Return how well a path fits: 0 is not at all; a word in the file's name counts more than in a folder's.

    An ending alone fits nothing where there are other words: *oma.jpg* is not in every picture.
    """
    whole = fold(path)
    name = whole.rpartition("/")[2]
    points = 0
    hits = 0
    endings = [word for word in words if word.startswith(".")]
    words = [word for word in words if not word.startswith(".")]
    if not words:
        return 3 if any(name.endswith(ending) for ending in endings) else 0
    for word in words:
        in_name = any(form in name for form in _forms(word))
        if in_name or any(form in whole for form in _forms(word)):
            hits += 1
            points += 3 if in_name else 1
    if hits * 2 < len(words) or not hits:
        return 0
    has_endings = all(name.endswith(ending) for ending in endings)
    return points + (10 if hits == len(words) and has_endings else 0)


def roots_of(context: ToolContext, root: str) -> list[tuple[Path, str]]:
    """Return the folders to search and how their files are written: `Pictures` stays `Pictures`.

    Without a root, or with `.`, that is every granted folder. Where `root` is found in another granted folder than the
    first, or is one itself (the owner granted `~/Pictures`), its files are written with their absolute path.
    """
    if root in ("", "."):
        granted = context.folders.read
        first = granted[:1]
        # Relative paths start at the first granted folder; a folder inside another granted one is searched once.
        inner = [path for path in granted[1:] if not any(path != other and other in path.parents for other in granted)]
        return [*((path, ".") for path in first), *((path, os.fspath(path)) for path in inner)]
    real = context.resolve_read(root)
    granted = context.folders.read
    whole = typed_path(root).is_absolute() or real in granted
    elsewhere = bool(granted) and not os.path.lexists(granted[0] / root) and context.files.exists(real)
    return [(real, os.fspath(real) if whole or elsewhere else os.path.normpath(root))]


class FoundFile(Named):
    """`below` is the path from the folder that was searched on, its name first; `mode` comes with `whole`, `score` with
    `words`.
    """

    below: str
    bytes: int
    media: str
    mode: NotRequired[int]
    mtime_s: int
    name: str
    path: str
    score: NotRequired[int]


class FoundFolder(TypedDict):
    """`below` is said of empty folders."""

    below: NotRequired[str]
    bytes: int
    files: list[FoundFile]
    path: str


class AbsentFolder(Named):
    """A folder that is not there; `devices` is 1, to be added up over devices."""

    devices: int
    folder: str


class FoundFiles(TypedDict):
    """`files`, or with `group_by: folder` the `folders` that hold them; with `missing: nothing`, `not_there` is the
    root without a folder.

    `left_out` names what no tool can take or look into: names that are no text, folders that this user may not read or
    that lie too deep; files that it may not read, but for `file`, `words` and `largest`; a trash; with `whole` links,
    too; without an order, how many files are beyond `limit`. A file that would not have fitted is not among them.
    """

    count: int
    files: NotRequired[list[FoundFile]]
    folders: NotRequired[list[FoundFolder]]
    left_out: list[LeftOut]
    not_there: list[AbsentFolder]
    total_bytes: int
    truncated: bool
    unreadable: int


def _fits(file: Found, root: Path, args: Find) -> bool:
    """Whether a file fits every condition but those of time."""
    if not _name_fits(file.path.name, file.below, root, args):
        return False
    return file.bytes >= args.min_bytes and (args.max_bytes is None or file.bytes <= args.max_bytes)


def _name_fits(name_there: str, below_there: str, root: Path, args: Find) -> bool:
    name, below = composed(name_there), composed(below_there)
    if args.kinds and kind_of(name) not in args.kinds:
        return False
    if args.what and not sort_fits(composed(args.what), name):
        return False
    if args.file and below != composed(os.path.normpath(args.file)) and name != composed(args.file):
        return False
    pattern = composed(args.pattern)
    return not pattern or any(fnmatch.fnmatch(path, pattern) for path in _paths(name, below, root, pattern))


def _paths(name: str, below: str, root: Path, pattern: str) -> list[str]:
    """Return what a pattern may mean of a file; one with folders may begin with the folder that is searched."""
    return [name, below, f"{composed(root.name)}/{below}"] if "/" in pattern else [name, below]


_LINK = "a link is not copied"


def _apart(context: ToolContext, folder: str) -> Path | None:
    """Return the folder that is left out of a search, None where the search cannot come into it.

    A plan names the folder of another device, where this one may allow nothing.
    """
    try:
        return context.resolve_read(folder) if folder else None
    except ToolFailed as refused:
        if refused.code is not Code.POLICY_REFUSED:
            raise
        return None


class _Search:
    """Collects what fits, keeping no more rows than are asked for."""

    def __init__(self, context: ToolContext, args: Find) -> None:
        self._context = context
        self._args = args
        self._not_under = _apart(context, args.not_under)
        parts = [part.strip() for part in args.words.split(",")]
        self._sorts = [part for part in parts if _OF_A_SORT.match(part)]
        self._names = {fold(part) for part in parts}
        self._words = [words for part in parts if part not in self._sorts and (words := search_words(part))]
        self._scored = bool(self._words or self._sorts)
        now = datetime.now(UTC)
        self._since_s = begin_of(args.newer_than, now) if args.newer_than is not None else None
        self._until_s = begin_of(args.older_than, now) if args.older_than is not None else None
        self.rows: list[FoundFile] = []
        self._identities: dict[str, tuple[int, int]] = {}
        self.count = 0
        self.bytes = 0
        self.unreadable = 0
        self.unlisted = 0
        self.missed: list[LeftOut] = []
        self.empty: list[FoundFolder] = []
        self.not_there: list[AbsentFolder] = []

    def _score(self, path: str) -> int:
        name = composed(path.rpartition("/")[2])
        of_sort = any(sort_fits(composed(sort), name) for sort in self._sorts)
        points = max((score(path, words) for words in self._words), default=0) or int(of_sort)
        return points + _EXACT if points and fold(name) in self._names else points

    def look(self, root: Path, under: str) -> None:
        args = self._args
        walk = Walk(self._context.files, root, hidden=args.hidden or args.whole)
        named_only = bool(args.words or args.file or args.largest)
        for file in walk:
            points = self._score(file.below) if self._scored else 1
            if self._not_under is not None and self._not_under in file.path.parents:
                continue
            if not (points and self._is_of_time(file) and _fits(file, root, args)):
                continue
            # Where a file is, or how large, can be said of one that nobody here may read, too.
            if named_only or self._context.files.is_readable(file.path):
                self._take(file, points, root, under)
                continue
            self.unreadable += 1
            if len(self.missed) < MISSED_MOST:
                self.missed.append(self._left_out_row(under, file.below, UNREADABLE))
        self.unreadable += walk.unreadable
        self.missed += [
            self._left_out_row(under, missed.below, missed.why) for missed in walk.missed if self._may_fit(missed, root)
        ]
        if not args.file:
            self.missed += [self._left_out_row(under, below, OF_THE_TRASH) for below in walk.trashes]
        if args.whole:
            self.missed += [self._left_out_row(under, below, _LINK) for below in walk.links]
            self.empty += [
                {"path": os.path.normpath(f"{under}/{below}"), "below": f"{root.name}/{below}", "files": [], "bytes": 0}
                for below in walk.empty
            ]

    def _left_out_row(self, under: str, below: str, why: str) -> LeftOut:
        row: LeftOut = {"path": os.path.normpath(f"{under}/{below}"), "why": why}
        if self._args.device_name:
            row["device"] = self._args.device_name
        return row

    def _may_fit(self, missed: Missed, root: Path) -> bool:
        """Tell whether the search may lack something for this: a file by its name, a folder in any case."""
        args = self._args
        if not missed.file:
            return True
        name = missed.below.rpartition("/")[2]
        if args.words and not self._score(missed.below):
            return False
        return _name_fits(name, missed.below, root, args)

    def note_absent(self) -> None:
        device = of_device(self._args.device_name)
        self.not_there.append({**device, "devices": 1, "folder": self._args.root})

    def note_unlisted(self) -> None:
        """Name the files beyond the limit as left out: a caller that asked for no order takes the list as whole."""
        limit = self._args.limit
        why = (
            f"{self.unlisted:,} more files fit, and a list has at most {limit:,}: take the folders below it one by one"
        )
        self.missed.append(self._left_out_row(self._args.root or ".", "", why))

    def take_file(self, file: Path, path: str) -> None:
        """Take the root itself, which is a file."""
        about = self._context.files.status(file)
        if about is None:
            return
        entry = Found(file, file.name, about.st_size, int(about.st_mtime), stat.S_IMODE(about.st_mode))
        if self._is_of_time(entry) and _fits(entry, file.parent, self._args):
            self._take(entry, 1, file.parent, os.path.dirname(path) or ".")  # noqa: PTH120 - a shown path, not one here

    def _is_of_time(self, file: Found) -> bool:
        new_enough = self._since_s is None or file.mtime_s >= self._since_s
        return new_enough and (self._until_s is None or file.mtime_s <= self._until_s)

    def keep_same_sizes(self) -> None:
        """Drop the files whose size no other one has; files dropped from a full list are not counted.

        A second name of a file, or the same one by another mount, is no other file: it takes no room.
        """
        all_seen = self.count == len(self.rows)
        first: dict[tuple[int, int], str] = {}
        rows = [row for row in self.rows if first.setdefault(self._identities[row["path"]], row["path"]) == row["path"]]
        sizes = Counter(row["bytes"] for row in rows)
        self.rows = [row for row in rows if sizes[row["bytes"]] > 1]
        if all_seen:
            self.count, self.bytes = len(self.rows), sum(row["bytes"] for row in self.rows)

    def keep_the_file(self) -> None:
        """Keep the one file that was asked for: that of the absolute path, else the only one of the name.

        Raises:
            ToolFailed: `file_not_found` without one, `bad_arguments` with several; their paths are named.
        """
        path = self._args.file
        whole = [row for row in self.rows if row["below"].partition("/")[2] == os.path.normpath(path)]
        rows = whole if len(whole) == 1 else self.rows
        if not rows:
            everywhere = self._args.root in ("", ".")
            where = "the folders that this device allows" if everywhere else self._args.root
            unseen = self._unseen()
            raise ToolFailed(Code.FILE_NOT_FOUND, f"there is no file {path} in {where}{unseen}", effect=False)
        if len(rows) > 1:
            paths = ", ".join(row["path"] for row in rows[:_NAMED_MOST])
            raise ToolFailed(
                Code.BAD_ARGUMENTS,
                f"{len(rows)} files are called {path}: {paths}. Name the folder, too",
                effect=False,
            )
        self.rows, self.count, self.bytes = rows, 1, rows[0]["bytes"]
        self.empty, self.missed = [], []

    def _unseen(self) -> str:
        """Return the words on what the file may be among."""
        if not self.missed:
            return ""
        reasons = "; ".join(f"{row['path']}: {row['why']}" for row in self.missed[:_NAMED_MOST])
        return f", as far as it can be read ({reasons})"

    def _means_another(self, under: str, path: str) -> bool:
        """Whether a later call would look elsewhere: in the home folder, or in another granted folder, too."""
        return path.startswith("~/") or (under == "." and self._context.is_shared(path))

    def _take(self, file: Found, points: int, root: Path, under: str) -> None:
        self.count += 1
        self.bytes += file.bytes
        if self.count % 512 == 0:
            self._context.progress(done_bytes=self.bytes, note=f"{self.count} files")
        if not (self._scored or _is_ranked(self._args)) and len(self.rows) >= self._args.limit:
            self.unlisted += 1
            return
        path = os.path.normpath(f"{under}/{file.below}")
        row: FoundFile = {
            "path": os.fspath(file.path) if self._means_another(under, path) else path,
            "name": file.path.name,
            "below": f"{root.name}/{file.below}",
            "bytes": file.bytes,
            "mtime_s": file.mtime_s,
            "media": media_of(file.path.name),
        }
        if self._scored:
            row["score"] = points
        if self._args.whole:
            row["mode"] = file.mode
        if self._args.device_name:
            row["device"] = self._args.device_name
        if self._args.same_size:
            self._identities[row["path"]] = file.identity
        self.rows.append(row)
        if len(self.rows) >= 2 * self._args.limit + 64:
            self.rows = _best(self.rows, self._args)[: self._args.limit]


def _whole_path_placed(context: ToolContext, args: Find) -> Find:
    """Return the arguments with a `file` that is an absolute path as their root; one outside the folders is refused."""
    if not (args.file.startswith("~/") or Path(args.file).is_absolute()):
        return args
    real = context.resolve_read(args.file)
    below = args.root in ("", ".") or context.resolve_read(args.root) in real.parents
    if not below or not context.files.is_file(real):
        return args
    return msgspec.structs.replace(args, root=os.fspath(real), file=real.name)


def no_folder(context: ToolContext, typed: str, root: Path) -> ToolFailed:
    """Return the failure of a search below a path that is no folder, with a folder that is nearly called so."""
    reason = f"{typed or root} is not a folder on this device ({root}){_near(context, typed, root)}"
    return ToolFailed(Code.FILE_NOT_FOUND, reason, effect=False)


def find(context: ToolContext, args: Find) -> FoundFiles:
    args = _whole_path_placed(context, args)
    search = _Search(context, args)
    for root, path_as_typed in roots_of(context, args.root):
        # A search by words in all folders asks where a file is: each has its absolute path, in the first folder, too.
        under = os.fspath(root) if args.words and args.root in ("", ".") else path_as_typed
        with plain(root, "searching"):
            is_folder = context.files.is_folder(root)
            alone = not is_folder and context.files.is_file(root)
        if alone:
            search.take_file(root, under)
            continue
        if not is_folder and args.missing == "nothing":
            search.note_absent()
            continue
        if not is_folder:
            raise no_folder(context, args.root, root)
        search.look(root, under)
    if args.file:
        search.keep_the_file()
    if args.same_size:
        search.keep_same_sizes()
    rows = (_best(search.rows, args) if args.words or _is_ranked(args) else search.rows)[: args.limit]
    if search.unlisted:
        search.note_unlisted()
    missed = sorted(search.missed, key=lambda row: row["path"])
    result: FoundFiles = {
        "total_bytes": search.bytes,
        "count": search.count,
        "truncated": search.count > len(rows),
        "unreadable": search.unreadable,
        "left_out": [
            *(row for row in missed if row["why"] != _LINK),
            *(row for row in missed if row["why"] == _LINK),
        ],
        "not_there": search.not_there,
    }
    if args.group_by == "folder":
        result["folders"] = sorted([*_by_folder(rows), *search.empty], key=lambda folder: folder["path"])
    else:
        result["files"] = rows
    return result


def _is_ranked(args: Find) -> bool:
    """Tell whether a search has to see every file that fits before it knows which come first."""
    return args.largest or args.order != "any"


def _rank(row: FoundFile, order: str) -> int:
    amount = row["mtime_s"] if order in ("newest", "oldest") else row["bytes"]
    return -amount if order in ("newest", "largest") else amount


def _best(rows: list[FoundFile], args: Find) -> list[FoundFile]:
    if _is_ranked(args):
        order = "largest" if args.largest else args.order
        return sorted(rows, key=lambda row: (_rank(row, order), row["path"]))
    return sorted(rows, key=lambda row: (-row.get("score", 0), -row["mtime_s"], row["path"]))


def _by_folder(rows: list[FoundFile]) -> list[FoundFolder]:
    folders: dict[str, list[FoundFile]] = {}
    for row in rows:
        folders.setdefault(os.path.dirname(row["path"]) or ".", []).append(row)  # noqa: PTH120 - a shown path, not one here
    return [
        {"path": path, "files": files, "bytes": sum(file["bytes"] for file in files)}
        for path, files in sorted(folders.items())
    ]


TOOLS = (
    Tool(
        name="fs.list",
        title="List a folder",
        args=List,
        run=list_folder,
        effects=(Effect.READ,),
        repeatability=Repeatability.PURE,
        confined=True,
        reusable=True,
        grant="files:read",
    ),
    Tool(
        name="fs.find",
        title="Find files by kind, name, words, size or age",
        args=Find,
        run=find,
        effects=(Effect.READ,),
        repeatability=Repeatability.PURE,
        confined=True,
        reusable=True,
        grant="files:read",
    ),
)
