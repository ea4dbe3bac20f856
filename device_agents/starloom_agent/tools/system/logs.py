"""`log.search`: lines of the system's log since a moment, from the journal, /var/log or a granted folder; reading only.

Lines are data of unknown origin: they are cut and counted, never interpreted.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, BinaryIO, Literal, NotRequired, TypedDict

import msgspec

from starloom_agent.toolkit.beneath import Beneath
from starloom_agent.toolkit.faults import plain
from starloom_agent.toolkit.files.walking import Walk
from starloom_agent.toolkit.interface import Args, Tool, ToolContext, ToolFailed
from starloom_agent.toolkit.results import Finding, Named, Summary, of_device
from starloom_agent.toolkit.running.programs import run_program
from starloom_agent.toolkit.text.durations import Age, begin_of
from starloom_agent.toolkit.text.moments import moment_of, without_moment
from starloom_protocol.text.wording import few, quoted
from starloom_protocol.vocabulary import Code, Effect, Repeatability

_LINE_CHARS = 400
_LINE_BYTES_MOST = 1024 * 1024
"""A longer line is taken in parts."""
_STEP_BYTES = 8 * 1024 * 1024
_SAMPLE_BYTES = 64 * 1024
_READ_BYTES_MOST = 128 * 1024 * 1024
"""Of one log: some ten seconds. Of a longer one the end is read, and the answer says so."""
_JOURNAL_S = 60
_JOURNAL_LINES = 20_000
_JOURNAL_END = f"--lines={_JOURNAL_LINES}"
_NAMED_MOST = 4
_FOLDER = Path("/var/log")
# Where the system keeps its log, and what its own program needs to read it.
_SYSTEM_LOGS = ("/var/log", "/run/log", "/run/systemd", "/etc/machine-id", "/etc/systemd", "/proc")
_TROUBLE = re.compile(r"\b(error|err|fail(ed|ure)?|fatal|critical|panic|emerg|oom)\b", re.IGNORECASE)
_CHANGING = re.compile(r"\b0x[0-9a-fA-F]+\b|\b[0-9a-f]{8,}\b|\d+")
_HIDDEN = "not seeing messages from other users"


class Search(Args, frozen=True, kw_only=True):
    """`since` is how far back (`2h`) or from when (`22:00`, `2026-01-31`); `path` a log file or a folder of them in
    place of the system's log; `contains` a plain text in the line (any case); `level` error keeps what speaks of
    trouble. Of more than `limit` lines the latest come. `unseen` of the summary says what could not be read. With
    `contains`, logs without known times are searched, too; their lines are `untimed`, apart from the others.
    """

    since: Age = "24h"
    contains: str = ""
    # Left out, it is `error` where no text is asked for: a text that is asked for is meant wherever it stands.
    level: Literal["any", "error"] | msgspec.UnsetType = msgspec.UNSET
    service: str = ""
    path: str = ""
    limit: Annotated[int, msgspec.Meta(ge=1, le=2000)] = 200
    device_name: str = ""

    @property
    def only_trouble(self) -> bool:
        return self.level == "error" or (self.level is msgspec.UNSET and not self.contains)


def shape_of(text: str) -> str:
    """Return what stays the same when a message comes again: without its time, its numbers and its identifiers."""
    bare = without_moment(text).strip(" ]")
    return _CHANGING.sub("#", bare)[:200]


class LogLine(TypedDict):
    at_s: int
    source: str
    text: str


class LogRow(Named, LogLine):
    """`shape` is what stays the same when a message comes again."""

    shape: str


class UntimedLine(Named):
    """A line of a log that tells no known times: nobody knows whether it is of the time that is asked for."""

    source: str
    text: str


class LogRead(TypedDict):
    """Which log was read, and how many of its lines are wanted."""

    device: NotRequired[str]
    lines: int
    source: str


class LogWindow(TypedDict):
    """Which lines were looked for: the text in them, and how long before the search they may begin.

    `lines` were found, of which the oldest `left_out` are not among the rows. Where there are such files: `others` are
    no logs by their names, `older` were last written before that, and `untimed` tell no known times: `names` are
    theirs, and `undated` the lines with the text in them.
    """

    contains: str
    left_out: NotRequired[int]
    lines: int
    names: NotRequired[str]
    older: NotRequired[int]
    others: NotRequired[int]
    seconds: int
    undated: NotRequired[int]
    untimed: NotRequired[int]


class LogSearch(TypedDict):
    """`read` is one row, for a table over devices."""

    count: int
    findings: list[Finding]
    read: list[LogRead]
    rows: list[LogRow]
    source: str
    summary: Summary
    truncated: bool
    unreadable: int
    untimed: list[UntimedLine]
    window: LogWindow


@dataclass
class _Lines:
    """The fitting lines of one log: how many, and the newest of them, no more than are asked for."""

    args: Search
    begin: float
    source: str
    rows: list[LogLine] = field(default_factory=list)
    count: int = 0

    def fits(self, line: str) -> bool:
        return not (self.args.only_trouble and not _TROUBLE.search(line)) and self.args.contains.casefold() in (
            line.casefold()
        )

    def take(self, line: str, at: float) -> None:
        if at < self.begin:
            return
        self.count += 1
        trouble = _TROUBLE.search(line) if self.args.only_trouble else None
        text = _cut(line, self.args.contains or (trouble[0] if trouble else ""))
        self.rows.append({"at_s": int(at), "source": self.source, "text": text})
        if len(self.rows) > 2 * self.args.limit:
            self.rows = _newest(self.rows, self.args.limit)


def _newest(rows: list[LogLine], limit: int) -> list[LogLine]:
    return sorted(rows, key=lambda row: row["at_s"])[-limit:]


def _cut(line: str, word: str) -> str:
    """Return a line within its bound, with the word that was looked for in it."""
    at = line.casefold().find(word.casefold()) + len(word)
    if at <= _LINE_CHARS:
        return line[:_LINE_CHARS]
    # Its beginning has the time.
    head, before = line[: _LINE_CHARS // 4], at - _LINE_CHARS // 2
    return f"{head} ... {line[before : before + _LINE_CHARS - len(head) - len(' ... ')]}"


def _from_journal(args: Search, begin: float) -> tuple[_Lines, bool, bool]:
    """Return the lines, whether only the end was read, and whether this user may not see messages of others."""
    # Not `--quiet`: that leaves out the hint that messages are hidden.
    argv = ["journalctl", "--no-pager", "--output=short-iso", f"--since=@{int(begin)}"]
    if args.only_trouble:
        argv.append("--priority=err")
    if args.service:
        argv.append(f"--unit={args.service}")
    # A word may be in the oldest message. Without one, and where all take too long, the newest are looked at.
    for end in [[], [_JOURNAL_END]] if args.contains else [[_JOURNAL_END]]:
        reading = _Journal(args, begin)
        try:
            ran = run_program([*argv, *end], timeout_s=_JOURNAL_S, tell_out=reading.take)
        except ToolFailed as failed:
            if end or failed.code is not Code.TIMED_OUT:
                raise
            continue
        if ran.exit_code:
            raise ToolFailed(Code.TOOL_FAILED, f"journalctl does not answer: {ran.stderr.strip()[:300]}")
        reading.take("\n")
        break
    return reading.lines, bool(end) and reading.count >= _JOURNAL_LINES, _HIDDEN in ran.stderr


class _Journal:
    """The output of the journal as it comes."""

    def __init__(self, args: Search, begin: float) -> None:
        # What has the journal's own mark of trouble needs no word of it.
        self.lines = _Lines(msgspec.structs.replace(args, level="any"), begin, "journal")
        self.count = 0
        self._at = begin
        self._now = datetime.now(UTC)
        self._unread = ""

    def take(self, text: str) -> None:
        *whole, self._unread = (self._unread + text).split("\n")
        for line in whole:
            if line and not line.startswith("-- "):
                # The later lines of a message have no time of their own.
                self._at = moment_of(line, self._now) or self._at
                self.count += 1
                if self.lines.fits(line):
                    self.lines.take(line, self._at)


def _is_log(path: Path) -> bool:
    return path.suffix == ".log" or path.name in ("syslog", "messages", "auth.log")


_LOG_NAMES = "*.log, syslog, messages and auth.log"


@dataclass
class _Files:
    """The fitting lines of log files, and how many files were not judged.

    rows         the newest fitting lines; `count` is the number of all
    undated      the last fitting lines of logs without known times, where a word is asked for, and how many there are
    unreadable   logs that were refused
    untimed      logs without known times that have fitting lines or, where no word is asked for, any lines
    older        logs that were last written before the time that is asked for
    others       files of a folder that are no logs by their names
    cut          logs of which only the end was read
    """

    rows: list[LogLine] = field(default_factory=list)
    count: int = 0
    undated: list[UntimedLine] = field(default_factory=list)
    undated_count: int = 0
    unreadable: int = 0
    untimed: list[str] = field(default_factory=list)
    older: int = 0
    others: int = 0
    cut: list[str] = field(default_factory=list)

    def take(self, lines: _Lines) -> None:
        self.count += lines.count
        self.rows = _newest(self.rows + lines.rows, lines.args.limit)

    def read(self, file: BinaryIO, args: Search, begin: float, name: str, now: datetime) -> None:
        """Read one log; a line without a time belongs to the one before it, the first ones to the first time."""
        start, is_cut = _start(file, begin, now, any_time=bool(args.contains))
        if is_cut:
            self.cut.append(name)
        lines = _Lines(args, begin, name)
        early: deque[str] = deque(maxlen=args.limit)
        early_count, is_empty, at = 0, True, None
        for line in _lines_from(file, start):
            is_empty = False
            moment = moment_of(line, now)
            if at is None and moment is not None and args.contains:
                for one in early:
                    lines.take(one, moment)
            at = at if moment is None else moment
            if lines.fits(line):
                if at is not None:
                    lines.take(line, at)
                else:
                    early.append(line)
                    early_count += 1
        self.take(lines)
        if at is None and (early_count if args.contains else not is_empty):
            self.untimed.append(name)
            if args.contains:
                self.undated_count += early_count
                self.undated += [{"source": name, "text": _cut(line, args.contains)} for line in early]
                self.undated = self.undated[-args.limit :]


def _start(file: BinaryIO, begin: float, now: datetime, *, any_time: bool) -> tuple[int, bool]:
    """Return where to begin in a log, so that nothing since a moment is before it, and whether more would be needed.

    The latest lines win: a long log is looked at from its end, in growing steps, until a line is older. One without
    times is read as a whole for `any_time` alone.
    """
    size = os.fstat(file.fileno()).st_size
    back = _STEP_BYTES
    while back < size:
        if back >= _READ_BYTES_MOST:
            return size - _READ_BYTES_MOST, True
        file.seek(size - back)
        _, *sample = file.read(_SAMPLE_BYTES).decode("utf-8", "replace").split("\n")
        first = next((moment for line in sample if (moment := moment_of(line, now)) is not None), None)
        is_enough = not any_time if first is None else first < begin
        if is_enough:
            return size - back, False
        back *= 2
    return 0, False


def _lines_from(file: BinaryIO, start: int) -> Iterator[str]:
    file.seek(start)
    if start:
        file.readline(_LINE_BYTES_MOST)  # the rest of a line
    while data := file.readline(_LINE_BYTES_MOST):
        yield data.decode("utf-8", "replace").rstrip("\r\n")


def _from_files(args: Search, begin: float, files: Beneath, place: Path) -> _Files:
    now = datetime.now(UTC)
    seen = _Files()
    # Links are left out: they may lead anywhere.
    walk = Walk(files, place, hidden=True)
    for path in [place] if files.is_file(place) else sorted(rows.path for rows in walk):
        if path != place and not _is_log(path):
            seen.others += 1
            continue
        if args.service and args.service.casefold() not in path.name.casefold():
            continue
        try:
            with files.open(path) as file:
                if os.fstat(file.fileno()).st_mtime < begin:
                    seen.older += 1
                    continue
                seen.read(file, args, begin, path.name, now)
        except OSError:
            seen.unreadable += 1
    seen.unreadable += walk.unreadable
    return seen


def _has_journal() -> bool:
    return bool(shutil.which("journalctl")) and any(
        any(folder.glob("*/*.journal")) for folder in (Path("/var/log/journal"), Path("/run/log/journal"))
    )


def search(context: ToolContext, args: Search) -> LogSearch:
    now = datetime.now(UTC)
    begin = begin_of(args.since, now)
    if args.service.startswith("-"):
        raise ToolFailed(Code.BAD_ARGUMENTS, f"{quoted(args.service)} is not the name of a service", effect=False)
    seen, hidden = _Files(), False
    if args.path:
        source = args.path
        real = context.resolve_read(args.path)
        with plain(real, "looking at", effect=False):
            exists = context.files.exists(real)
        if not exists:
            raise ToolFailed(Code.FILE_NOT_FOUND, f"{args.path} is not there on this device ({real})", effect=False)
        seen = _from_files(args, begin, context.files, real)
    elif _has_journal():
        source = "journal"
        lines, is_cut, hidden = _from_journal(args, begin)
        seen.take(lines)
        seen.cut = ["the journal"] if is_cut else []
    else:
        source = str(_FOLDER)
        folder = _FOLDER.resolve()
        texts = _from_files(args, begin, Beneath(read=(folder,)), folder)
        # A system has files of other forms as well; only of a named place is it said what was not judged.
        seen = replace(texts, others=0, older=0, untimed=texts.untimed if args.contains else [])
    device = of_device(args.device_name)
    unseen = _unseen(seen, args, hidden=hidden)
    why = f"trouble in the log: {_counted(seen)}" if args.only_trouble and seen.count else ""
    rows_shown: list[LogRow] = [{**device, **row, "shape": shape_of(row["text"])} for row in seen.rows]
    return {
        "source": source,
        "read": [{**device, "lines": seen.count, "source": source}],
        "rows": rows_shown,
        "count": seen.count,
        "truncated": seen.count > len(seen.rows),
        "unreadable": seen.unreadable,
        "untimed": [{**device, **line} for line in seen.undated],
        "summary": {**device, "severity": 1 if why else 0, "weight": 1 if why else 0, "why": why, "unseen": unseen},
        "findings": [{**device, "looked_at": "log", "severity": 1, "why": why}] if why else [],
        "window": _window(seen, args, round(now.timestamp() - begin)),
    }


def _window(seen: _Files, args: Search, seconds: int) -> LogWindow:
    window: LogWindow = {"contains": args.contains, "lines": seen.count, "seconds": max(0, seconds)}
    if seen.count > args.limit:
        window["left_out"] = seen.count - args.limit
    if seen.older:
        window["older"] = seen.older
    if seen.others:
        window["others"] = seen.others
    if seen.untimed:
        window["untimed"] = len(seen.untimed)
        window["names"] = few(seen.untimed, _NAMED_MOST)
    if seen.undated:
        window["undated"] = seen.undated_count
    return window


def _unseen(seen: _Files, args: Search, *, hidden: bool) -> str:
    """Return what could not be read or judged, in words; empty where all was."""
    on = f" on {args.device_name}" if args.device_name else ""
    parts = [f"could not read the journal of the system and of other users{on}"] if hidden else []
    if seen.unreadable:
        parts.append(f"could not read {_logs(seen.unreadable)}{on}")
    if seen.untimed:
        parts.append(f"could not tell the times of {few(seen.untimed, _NAMED_MOST)}{on}")
    if seen.cut:
        end = f"only the end of {few(seen.cut, _NAMED_MOST)} was read{on}"
        parts.append(f"{end}: what is asked for may begin before it")
    if seen.others:
        some = f"{seen.others} other file{'s were' if seen.others != 1 else ' was'}"
        parts.append(f"only {_LOG_NAMES} were searched in {args.path}{on}, and {some} not")
    if seen.older and args.contains:
        some = f"{_logs(seen.older)}{on} {'were' if seen.older != 1 else 'was'}"
        parts.append(f"{some} last written before that time, and not searched")
    return "; ".join(parts)


def _logs(count: int) -> str:
    return f"{count} log{'s' if count != 1 else ''}"


def _counted(seen: _Files) -> str:
    """Return how many lines, and the last of them, which says most."""
    last = without_moment(seen.rows[-1]["text"]).strip(" ]")[:120]
    return f"{seen.count} line{'s' if seen.count != 1 else ''}, the last: {last}"


def _probe() -> str | None:
    if sys.platform == "win32":
        return "the Windows event log is not read yet"
    return None if _has_journal() or _FOLDER.is_dir() else "there is neither a journal nor /var/log"


TOOLS = (
    Tool(
        name="log.search",
        title="Search the system's log",
        args=Search,
        run=search,
        effects=(Effect.READ,),
        repeatability=Repeatability.PURE,
        probe=_probe,
        confined=True,
        reads=_SYSTEM_LOGS,
    ),
)
