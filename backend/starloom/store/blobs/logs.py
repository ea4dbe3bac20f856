"""The output of attempts, as files: the head and the tail are kept, and lost ranges are stated.

A log is a set of segments, each a run of bytes without a hole, named by the offset at which it starts. The first half
of the limit is kept, in at most half of the segments; behind it the oldest go when the newest need room. Offsets count
the bytes of UTF-8 that the attempt wrote. Output is not an event: it is not fsynced and may end early after a crash of
the hub.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from starloom.store.blobs.artifacts import BlobRefused
from starloom_protocol.text.wording import quoted
from starloom_protocol.vocabulary import Code

LOG_BYTES_MOST: Final = 10 * 1024 * 1024
SEGMENTS_MOST: Final = 256
"""Each is a file, and a device may leave a hole behind every byte."""
READ_BYTES: Final = 64 * 1024
FOUND_MOST: Final = 200
LINE_BYTES_MOST: Final = 4096
_OPEN_MOST: Final = 512

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,199}")


class LogPart(msgspec.Struct, frozen=True, kw_only=True):
    """A range of a log. `text` covers `offset` to `next`; `end` is the number of bytes written so far.

    `lost` are the ranges (from, to) inside [offset, next) whose bytes are gone; `text` continues after them.
    """

    end: int
    lost: list[tuple[int, int]]
    next: int
    offset: int
    text: str


class LogLine(msgspec.Struct, frozen=True):
    """A found line, cut to 4 KiB, and the offset at which it begins."""

    offset: int
    text: str


class _Segment(msgspec.Struct):
    start: int
    size: int

    @property
    def end(self) -> int:
        return self.start + self.size


class _Log(msgspec.Struct):
    folder: Path
    segments: list[_Segment]

    @property
    def end(self) -> int:
        return self.segments[-1].end if self.segments else 0


class AttemptLogs:
    """Logs under one directory. One thread appends; reading elsewhere at the same time is safe."""

    def __init__(self, root: Path, *, bytes_most: int = LOG_BYTES_MOST) -> None:
        self._root = root / "logs"
        self._root.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._head_bytes = bytes_most // 2
        self._tail_bytes = bytes_most - self._head_bytes
        self._segment_bytes = max(1, self._tail_bytes // 8)
        self._logs: dict[Path, _Log] = {}

    def forget(self) -> None:
        """Read the folders again when they are next used: another hub that shares them may have written to them."""
        self._logs.clear()

    def append(self, constellation: str, task: str, attempt: int, offset: int, text: str) -> None:
        """Add output that begins at `offset`. Bytes already written are cut off; a hole stays a stated loss."""
        log = self._writing(constellation, task, attempt)
        raw = text.encode("utf-8", "replace")
        if offset < log.end:
            raw = raw[log.end - offset :]
            offset = log.end
        while raw:
            segment = self._segment_for(log, offset)
            room = self._head_bytes - offset if offset < self._head_bytes else self._segment_bytes - segment.size
            piece, raw = raw[:room], raw[room:]
            with (log.folder / _file(segment.start)).open("ab") as file:
                file.write(piece)
            segment.size += len(piece)
            offset += len(piece)
        self._drop_oldest(log)

    def read(
        self, constellation: str, task: str, attempt: int, offset: int | None = None, limit_bytes: int = READ_BYTES
    ) -> LogPart:
        """Return up to `limit_bytes` from `offset` on, or the last of them for None: the tail first.

        An attempt without output has an empty log.
        """
        log = self._reading(constellation, task, attempt)
        at = max(0, log.end - limit_bytes) if offset is None else min(max(0, offset), log.end)
        first, left_bytes = at, limit_bytes
        pieces: list[bytes] = []
        lost: list[tuple[int, int]] = []
        for segment in log.segments:
            if segment.end <= at or left_bytes <= 0:
                continue
            if segment.start > at:
                lost.append((at, segment.start))
                at = segment.start
            raw = _bytes(log.folder, segment, at, min(segment.end, at + left_bytes))
            pieces.append(raw)
            at += len(raw)
            left_bytes -= len(raw)
            if len(raw) == 0:
                break
        skipped, text = _whole_characters(b"".join(pieces), at_end=at >= log.end)
        behind = sum(len(piece) for piece in pieces) - skipped - len(text)
        return LogPart(
            end=log.end,
            lost=lost,
            next=at - behind,
            offset=first + skipped if not lost or lost[0][0] != first else first,
            text=text.decode("utf-8", "replace"),
        )

    def search(self, constellation: str, task: str, attempt: int, words: str, most: int = FOUND_MOST) -> list[LogLine]:
        """Return the first lines that contain `words`, regardless of case; a line does not cross a lost range."""
        log = self._reading(constellation, task, attempt)
        needle = words.casefold()
        matches: list[LogLine] = []
        for start, raw in _runs(log):
            at = start
            for line in raw.splitlines(keepends=True):
                text = line.decode("utf-8", "replace")
                if needle in text.casefold():
                    matches.append(LogLine(at, text.rstrip("\r\n")[:LINE_BYTES_MOST]))
                    if len(matches) >= most:
                        return matches
                at += len(line)
        return matches

    def remove(self, constellation: str) -> None:
        """Delete all logs of a constellation."""
        folder = self._root / _safe(constellation)
        for path in sorted(folder.rglob("*"), reverse=True):
            if path.is_dir():
                path.rmdir()
            else:
                path.unlink()
        if folder.exists():
            folder.rmdir()
        # A copy first: the thread that appends may add a log meanwhile; a log that is left out is read from the disk.
        self._logs = {path: log for path, log in dict(self._logs).items() if not path.is_relative_to(folder)}

    def expire(self, before_s: float, bytes_most: int, spared: Collection[str]) -> int:
        """Delete the logs of constellations last written before a moment (seconds since the epoch), then the longest
        quiet until the rest has at most `bytes_most`; those of `spared` stay. Return the number of constellations.
        """
        by_age = sorted(filter(None, map(_quiet_since, self._root.iterdir())))
        total = sum(size for _, size, _ in by_age)
        removed = 0
        for quiet_s, size, name in by_age:
            if name in spared or (quiet_s >= before_s and total <= bytes_most):
                continue
            self.remove(name)
            total -= size
            removed += 1
        return removed

    def _folder(self, constellation: str, task: str, attempt: int) -> Path:
        return self._root / _safe(constellation) / _safe(task) / str(attempt)

    def _writing(self, constellation: str, task: str, attempt: int) -> _Log:
        folder = self._folder(constellation, task, attempt)
        log = self._logs.pop(folder, None)
        if log is None:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            log = _load(folder)
            while len(self._logs) >= _OPEN_MOST:
                self._logs.pop(next(iter(self._logs)))
        self._logs[folder] = log
        return log

    def _reading(self, constellation: str, task: str, attempt: int) -> _Log:
        return _load(self._folder(constellation, task, attempt))

    def _segment_for(self, log: _Log, offset: int) -> _Segment:
        """Return the segment that takes the byte at `offset`; a hole or a full segment begins a new one."""
        last = log.segments[-1] if log.segments else None
        if last is not None and last.end == offset:
            in_head = offset < self._head_bytes
            if in_head or (last.start >= self._head_bytes and last.size < self._segment_bytes):
                return last
        segment = _Segment(offset, 0)
        log.segments.append(segment)
        return segment

    def _drop_oldest(self, log: _Log) -> None:
        in_head = bisect.bisect_left(log.segments, self._head_bytes, key=lambda segment: segment.start)
        first = min(in_head, SEGMENTS_MOST // 2)
        tail = sum(segment.size for segment in log.segments[first:])
        while len(log.segments) - first > 1 and (tail > self._tail_bytes or len(log.segments) > SEGMENTS_MOST):
            dropped = log.segments.pop(first)
            tail -= dropped.size
            (log.folder / _file(dropped.start)).unlink(missing_ok=True)


def _quiet_since(folder: Path) -> tuple[float, int, str] | None:
    """Return a folder's last time of writing, its size in bytes, and its name."""
    written_s, size = 0.0, 0
    for path in folder.rglob("*.log"):
        with suppress(FileNotFoundError):  # the writer drops old segments meanwhile
            stat = path.stat()
            written_s, size = max(written_s, stat.st_mtime), size + stat.st_size
    return (written_s, size, folder.name) if written_s else None


def _file(start: int) -> str:
    return f"{start:012d}.log"


def _safe(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise BlobRefused(Code.BAD_REQUEST, "this cannot name a log", place=f"log {quoted(name[:80])}")
    return name


def _load(folder: Path) -> _Log:
    if not folder.is_dir():
        return _Log(folder, [])
    files = sorted(folder.glob("*.log"))
    segments: list[_Segment] = []
    for path in files:
        try:
            segments.append(_Segment(int(path.stem), path.stat().st_size))
        except FileNotFoundError:
            continue  # dropped by the writer between the two reads
    return _Log(folder, segments)


def _bytes(folder: Path, segment: _Segment, start: int, end: int) -> bytes:
    try:
        with (folder / _file(segment.start)).open("rb") as file:
            file.seek(start - segment.start)
            return file.read(end - start)
    except FileNotFoundError:
        return b""


def _runs(log: _Log) -> list[tuple[int, bytes]]:
    """Return (start, bytes) of every run without a hole."""
    runs: list[tuple[int, bytes]] = []
    for segment in log.segments:
        raw = _bytes(log.folder, segment, segment.start, segment.end)
        if runs and runs[-1][0] + len(runs[-1][1]) == segment.start:
            runs[-1] = (runs[-1][0], runs[-1][1] + raw)
        else:
            runs.append((segment.start, raw))
    return runs


def _whole_characters(raw: bytes, *, at_end: bool) -> tuple[int, bytes]:
    """Cut a range to whole characters; return how many bytes were cut in front, and the rest."""
    front = 0
    while front < min(3, len(raw)) and raw[front] & 0xC0 == 0x80:
        front += 1
    raw = raw[front:]
    if at_end:
        return front, raw
    for back in range(1, min(4, len(raw)) + 1):
        byte = raw[-back]
        if byte & 0xC0 == 0x80:
            continue
        needed = 1 if byte < 0x80 else 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
        return front, raw[:-back] if needed > back else raw
    return front, raw
