"""`fs.search`: the lines of text files and office documents that have some words, within bounds.

Files of other kinds hold no text that is looked at: they are counted by their endings.
"""

from __future__ import annotations

import codecs
import fnmatch
from collections import Counter
from itertools import islice
from typing import Annotated, Final, Literal, NotRequired, TypedDict

import msgspec

from starloom_agent.toolkit.beneath import composed
from starloom_agent.toolkit.faults import plain
from starloom_agent.toolkit.files.walking import OF_THE_TRASH, Found, Walk
from starloom_agent.toolkit.interface import Args, Tool, ToolContext
from starloom_agent.toolkit.results import LeftOut, Named
from starloom_agent.toolkit.text import office
from starloom_agent.tools.files.find import fold, no_folder, roots_of
from starloom_protocol.vocabulary import Effect, Repeatability

_FILE_BYTES_MOST: Final = 8 * 1024 * 1024
_ALL_BYTES_MOST: Final = 1024 * 1024 * 1024
_HEAD_BYTES: Final = 8 * 1024
_LINE_CHARS_MOST: Final = 240
_LINES_A_FILE_MOST: Final = 20
_LEFT_OUT_SHOWN: Final = 100
_KINDS_NAMED: Final = 6
_OTHER_ENCODING: Final = "it is no UTF-8, so words with accents may be missed in it"
_MANY: Final = f"it is larger than {_FILE_BYTES_MOST // 1024**2} MiB"


class Search(Args, frozen=True, kw_only=True):
    """Find `text` in lines of text files and office documents (docx, odt and the like) below `root` (without it: in
    every granted folder), in any case, with or without accents. `pattern` fits the name (`*.md`). Files of more than
    8 MiB are left out; of each come 20 lines. Other files, PDF too, are only counted.
    """

    text: Annotated[str, msgspec.Meta(min_length=2, max_length=200)]
    root: str = ""
    pattern: str = ""
    hidden: bool = False
    limit: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 200
    device_name: str = ""


class FoundLine(Named):
    """A line with the text; `more` is the number of further such lines of its file that are not listed."""

    line: int
    more: NotRequired[int]
    path: str
    text: str


class WithoutText(Named):
    """The files of other kinds: how many, and their endings with the number of each, the most first."""

    files: int
    kinds: str
    what: Literal["without text"]


class FoundLines(TypedDict):
    """`count` is the number of files with the text; `complete`: every text file was read, and all lines are here."""

    complete: bool
    count: int
    files_read: int
    left_out: list[LeftOut]
    lines: int
    rows: list[FoundLine]
    without_text: WithoutText


class _Reading:
    """Reads files one after the other, within the bounds of a call."""

    def __init__(self, context: ToolContext, args: Search) -> None:
        self._context = context
        self._args = args
        self._folded_text = fold(args.text)
        self.bytes = 0
        self.files = 0
        self.hits = 0
        self.lines = 0
        self.unlisted = 0
        """The files with the text none of whose lines have room in the answer."""
        self.complete = True
        self.rows: list[FoundLine] = []
        self.left_out: list[LeftOut] = []
        self._other = Counter[str]()

    def leave_out(self, path: str, why: str) -> None:
        self.complete = False
        if len(self.left_out) < _LEFT_OUT_SHOWN:
            row: LeftOut = {"path": path, "why": why}
            if self._args.device_name:
                row["device"] = self._args.device_name
            self.left_out.append(row)

    def look(self, entry: Found, path: str) -> None:
        """Read one file, and keep its lines with the text."""
        if entry.bytes > _FILE_BYTES_MOST:
            self.leave_out(path, _MANY)
            return
        if self.bytes >= _ALL_BYTES_MOST:
            self.leave_out(path, "1 GiB was read before it")
            return
        ending = entry.path.suffix.lower()
        if ending in office.KINDS:
            self._look_into(entry, path)
            return
        try:
            with self._context.files.open(entry.path) as file:
                data = file.read(_FILE_BYTES_MOST)
        except OSError as error:
            self.leave_out(path, error.strerror or "it cannot be read")
            return
        self.bytes += len(data)
        marked = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
        if _is_other(data, ending) and not marked:
            self._other[ending[1:] or "no ending"] += 1
            return
        self._count(entry)
        try:
            text, fits = data.decode("utf-16" if marked else "utf-8"), True
        except UnicodeDecodeError:
            text, fits = data.decode("windows-1252", errors="replace"), False
        has_it = self._keep(text, path)
        # Plain letters are the same in every encoding that a text without a mark may have.
        if not (fits or has_it or (self._args.text.isascii() and not marked)):
            self.leave_out(path, "it is damaged" if marked else _OTHER_ENCODING)

    def _look_into(self, entry: Found, path: str) -> None:
        """Read an office document, and keep the paragraphs with the text."""
        try:
            with self._context.files.open(entry.path) as file:
                text = office.text_of(file)
        except OSError as error:
            self.leave_out(path, error.strerror or "it cannot be read")
            return
        except office.NotADocument as no:
            self.leave_out(path, str(no))
            return
        self.bytes += max(entry.bytes, len(text))  # of many small ones each may unpack to a book
        self._count(entry)
        self._keep(text, path)

    def _count(self, file: Found) -> None:
        self.files += 1
        self._context.progress(done_bytes=self.bytes, note=file.path.name)

    def without_text(self) -> WithoutText:
        kinds = [f"{count} {kind}" for kind, count in self._other.most_common()]
        more = len(kinds) - _KINDS_NAMED
        names = [*kinds[:_KINDS_NAMED], *([f"{more} kinds more"] if more > 0 else [])]
        row: WithoutText = {"files": self._other.total(), "kinds": ", ".join(names), "what": "without text"}
        if self._args.device_name:
            row["device"] = self._args.device_name
        return row

    def _keep(self, text: str, path: str) -> bool:
        """Keep the lines of a file with the text; tell whether there are any."""
        # As editors and grep count them; a form feed or a line separator of Unicode ends none.
        hits = [(number, line) for number, line in enumerate(text.split("\n"), 1) if self._folded_text in fold(line)]
        if not hits:
            return False
        self.hits += 1
        self.lines += len(hits)
        room = min(_LINES_A_FILE_MOST, self._args.limit - len(self.rows))
        for number, line in islice(hits, room):
            row: FoundLine = {"path": path, "line": number, "text": _cut(line.strip(), self._folded_text)}
            if self._args.device_name:
                row["device"] = self._args.device_name
            self.rows.append(row)
        if len(hits) > room:
            self.complete = False
            if room:
                self.rows[-1]["more"] = len(hits) - room
            else:
                self.unlisted += 1
        return True


def _is_other(data: bytes, ending: str) -> bool:
    """Tell whether the bytes of a file are no text. A PDF may begin with lines of it, and holds its words packed."""
    return b"\0" in data[:_HEAD_BYTES] or (ending == ".pdf" and data.startswith(b"%PDF"))


def _cut(line: str, folded_text: str) -> str:
    """Return a line within its bound, with the text that was looked for in it."""
    if len(line) <= _LINE_CHARS_MOST:
        return line
    at = max(0, fold(line).find(folded_text) - _LINE_CHARS_MOST // 4)
    part = line[at : at + _LINE_CHARS_MOST]
    return f"{'...' if at else ''}{part}{'...' if at + _LINE_CHARS_MOST < len(line) else ''}"


def search(context: ToolContext, args: Search) -> FoundLines:
    reading = _Reading(context, args)
    for root, root_path in roots_of(context, args.root):
        with plain(root, "searching", effect=False):
            if not (context.files.is_folder(root) or context.files.is_file(root)):
                raise no_folder(context, args.root, root)
        walk = Walk(context.files, root, hidden=args.hidden)
        with plain(root, "searching", effect=False):
            for file in walk:
                if not args.pattern or fnmatch.fnmatch(composed(file.path.name), composed(args.pattern)):
                    reading.look(file, file.below if root_path == "." else f"{root_path}/{file.below}")
        for missed in walk.missed:
            reading.leave_out(missed.below, missed.why)
        for below in walk.trashes:
            reading.leave_out(below, OF_THE_TRASH)
    if reading.unlisted:
        number = f"{reading.unlisted:,} more file{' has' if reading.unlisted == 1 else 's have'}"
        reading.leave_out(args.root or ".", f"{number} the text, and an answer has at most {args.limit:,} lines")
    return {
        "complete": reading.complete,
        "count": reading.hits,
        "files_read": reading.files,
        "left_out": reading.left_out,
        "lines": reading.lines,
        "rows": reading.rows,
        "without_text": reading.without_text(),
    }


TOOLS = (
    Tool(
        name="fs.search",
        title="Search inside text files",
        args=Search,
        run=search,
        effects=(Effect.READ,),
        repeatability=Repeatability.PURE,
        confined=True,
        grant="files:read",
    ),
)
