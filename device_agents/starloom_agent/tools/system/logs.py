"""`log.search`: lines of the system's log since a moment, from the journal, /var/log or a granted folder; reading only.

Lines are data of unknown origin: they are cut and counted, never interpreted.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from dataclasses import dataclass, field
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
_TAIL_BYTES = 8 * 1024 * 1024
"""The latest lines win, so only the end of a long log is read."""
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


def _from_journal(args: Search, begin: float) -> tuple[list[LogLine], bool]:
    """Return the lines, and whether the journal has messages of others that this user may not see."""
    # Not `--quiet`: that leaves out the hint that messages are hidden.
    argv = ["journalctl", "--no-pager", "--output=short-iso", f"--since=@{int(begin)}", "--lines=20000"]
    if args.only_trouble:
        argv.append("--priority=err")
    if args.service:
        argv.append(f"--unit={args.service}")
    ran = run_program(argv, timeout_s=60, kept_bytes=_TAIL_BYTES)
    if ran.exit_code:
        raise ToolFailed(Code.TOOL_FAILED, f"journalctl does not answer: {ran.stderr.strip()[:300]}")
    now = datetime.now(UTC)
    rows: list[LogLine] = []
    at = begin
    for line in ran.stdout.splitlines():
        if not line.startswith("-- "):
            # The later lines of a message have no time of their own.
            at = moment_of(line, now) or at
            rows.append({"at_s": int(at), "source": "journal", "text": line[:_LINE_CHARS]})
    return rows, _HIDDEN in ran.stderr


def _is_log(path: Path) -> bool:
    return path.suffix == ".log" or path.name in ("syslog", "messages", "auth.log")


_LOG_NAMES = "*.log, syslog, messages and auth.log"


@dataclass
class _Files:
    """The fitting lines of log files, and how many files were not judged.

    undated      the fitting lines of logs without known times, where a word is asked for
    unreadable   logs that were refused
    untimed      logs without known times that have fitting lines or, where no word is asked for, any lines
    older        logs that were last written before the time that is asked for
    others       files of a folder that are no logs by their names
    """

    rows: list[LogLine] = field(default_factory=list)
    undated: list[UntimedLine] = field(default_factory=list)
    unreadable: int = 0
    untimed: list[str] = field(default_factory=list)
    older: int = 0
    others: int = 0


def from_file(
    file: BinaryIO, name: str, since_s: float, now: datetime, *, only_trouble: bool, word: str = ""
) -> tuple[list[LogLine], list[str] | None]:
    """Return the fitting lines of a log file's end; if it tells no known times, the lines that fit but for that.

    A line without a time belongs to the one before it. `word` is searched in all lines: those before
    the first time belong to that one.
    """
    about = os.fstat(file.fileno())
    file.seek(max(0, about.st_size - _TAIL_BYTES))
    lines = file.read(_TAIL_BYTES).decode("utf-8", "replace").splitlines()
    moments = [moment_of(line, now) for line in lines]
    first = next((moment for moment in moments if moment is not None), None)
    at = first if word else None
    fitting = [
        not (only_trouble and not _TROUBLE.search(line)) and word in line[:_LINE_CHARS].casefold() for line in lines
    ]
    if first is None:
        return [], [line[:_LINE_CHARS] for line, fits in zip(lines, fitting, strict=True) if fits or not word]
    rows: list[LogLine] = []
    for line, moment, fits in zip(lines, moments, fitting, strict=True):
        at = at if moment is None else moment
        if fits and at is not None and at >= since_s:
            rows.append({"at_s": int(at), "source": name, "text": line[:_LINE_CHARS]})
    return rows, None


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
                rows, untimed = from_file(
                    file, path.name, begin, now, only_trouble=args.only_trouble, word=args.contains.casefold()
                )
                seen.rows += rows
                if untimed:
                    seen.untimed.append(path.name)
                    if args.contains:
                        seen.undated += [{"source": path.name, "text": line} for line in untimed]
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
        seen.rows, hidden = _from_journal(args, begin)
    else:
        source = str(_FOLDER)
        folder = _FOLDER.resolve()
        texts = _from_files(args, begin, Beneath(read=(folder,)), folder)
        # A system has files of other forms as well; only of a named place is it said what was not judged.
        seen = _Files(texts.rows, texts.undated, texts.unreadable, untimed=texts.untimed if args.contains else [])
    word = args.contains.casefold()
    rows = [row for row in seen.rows if word in row["text"].casefold()]
    rows.sort(key=lambda row: row["at_s"])
    newest = rows[-args.limit :]
    device = of_device(args.device_name)
    unseen = _unseen(seen, args, hidden=hidden)
    why = f"trouble in the log: {_counted(rows)}" if args.only_trouble and rows else ""
    rows_shown: list[LogRow] = [{**device, **row, "shape": shape_of(row["text"])} for row in newest]
    return {
        "source": source,
        "read": [{**device, "lines": len(rows), "source": source}],
        "rows": rows_shown,
        "count": len(rows),
        "truncated": len(rows) > len(newest),
        "unreadable": seen.unreadable,
        "untimed": [{**device, **line} for line in seen.undated[-args.limit :]],
        "summary": {**device, "severity": 1 if why else 0, "weight": 1 if why else 0, "why": why, "unseen": unseen},
        "findings": [{**device, "looked_at": "log", "severity": 1, "why": why}] if why else [],
        "window": _window(seen, args, round(now.timestamp() - begin), len(rows)),
    }


def _window(seen: _Files, args: Search, seconds: int, lines: int) -> LogWindow:
    window: LogWindow = {"contains": args.contains, "lines": lines, "seconds": max(0, seconds)}
    if lines > args.limit:
        window["left_out"] = lines - args.limit
    if seen.older:
        window["older"] = seen.older
    if seen.others:
        window["others"] = seen.others
    if seen.untimed:
        window["untimed"] = len(seen.untimed)
        window["names"] = few(seen.untimed, _NAMED_MOST)
    if seen.undated:
        window["undated"] = len(seen.undated)
    return window


def _unseen(seen: _Files, args: Search, *, hidden: bool) -> str:
    """Return what could not be read or judged, in words; empty where all was."""
    on = f" on {args.device_name}" if args.device_name else ""
    if hidden:
        return f"could not read the journal of the system and of other users{on}"
    parts = []
    if seen.unreadable:
        parts.append(f"could not read {_logs(seen.unreadable)}{on}")
    if seen.untimed:
        parts.append(f"could not tell the times of {few(seen.untimed, _NAMED_MOST)}{on}")
    if seen.others:
        some = f"{seen.others} other file{'s were' if seen.others != 1 else ' was'}"
        parts.append(f"only {_LOG_NAMES} were searched in {args.path}{on}, and {some} not")
    if seen.older and args.contains:
        some = f"{_logs(seen.older)}{on} {'were' if seen.older != 1 else 'was'}"
        parts.append(f"{some} last written before that time, and not searched")
    return "; ".join(parts)


def _logs(count: int) -> str:
    return f"{count} log{'s' if count != 1 else ''}"


def _counted(rows: list[LogLine]) -> str:
    """Return how many lines, and the last of them, which says most."""
    last = without_moment(rows[-1]["text"]).strip(" ]")[:120]
    return f"{len(rows)} line{'s' if len(rows) != 1 else ''}, the last: {last}"


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
