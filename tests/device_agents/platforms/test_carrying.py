"""A file or folder that is carried to another file system: nothing written meanwhile is lost, and a cut is finished."""

from __future__ import annotations

import errno
import fcntl
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from starloom_agent.platforms import carrying, exchange
from starloom_agent.platforms.carrying import PART, copy_bytes, sweep
from starloom_agent.toolkit.beneath import Beneath
from tests.killed_steps import KILLED, run_killed


@dataclass
class Disks:
    """Two folders, as on two file systems."""

    one: Path
    other: Path

    def move(self) -> None:
        Beneath((), (self.one, self.other)).move(self.one / "album", self.other / "album")

    def texts(self, top: Path) -> dict[str, str]:
        return {str(path.relative_to(top)): path.read_text() for path in top.rglob("*") if path.is_file()}


def apart(rename: Callable[..., None], one: Path) -> Callable[..., None]:
    """Let a folder be on a disk of its own, for renames."""

    def renamed(before: int, name: str, after: int, wanted: str, flags: int) -> None:
        places = [Path(f"/proc/self/fd/{handle}").readlink() for handle in (before, after)]
        if len({place.is_relative_to(one) for place in places}) > 1:
            raise OSError(errno.EXDEV, "another file system")
        rename(before, name, after, wanted, flags)

    return renamed


@pytest.fixture
def disks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Disks:
    made = Disks(tmp_path / "one", tmp_path / "other")
    laid(made)
    monkeypatch.setattr(exchange, "_rename", apart(exchange._rename, made.one))
    return made


def laid(disks: Disks) -> None:
    (disks.one / "album/deep").mkdir(parents=True)
    disks.other.mkdir()
    for name in ("a", "b", "deep/c"):
        (disks.one / "album" / name).write_text(f"text of {name}")
    (disks.one / "album/link").symlink_to("a")
    (disks.one / "album/empty").mkdir()


WHOLE = {"a": "text of a", "b": "text of b", "deep/c": "text of deep/c", "link": "text of a"}


def test_names_modes_times_and_links_come_along(disks: Disks) -> None:
    (disks.one / "album/deep").chmod(0o511)
    os.utime(disks.one / "album/deep", (1_000, 2_000))
    os.utime(disks.one / "album/a", ns=(1, 1_234_567_891))
    disks.move()
    assert disks.texts(disks.other / "album") == WHOLE
    assert (disks.other / "album/link").is_symlink()
    assert (disks.other / "album/empty").is_dir()
    about = (disks.other / "album/deep").stat()
    assert (about.st_mode & 0o777, about.st_mtime) == (0o511, 2_000)
    assert (disks.other / "album/a").stat().st_mtime_ns == 1_234_567_891
    assert [*disks.one.iterdir()] == []
    assert [path.name for path in disks.other.iterdir()] == ["album"]


def written_after(monkeypatch: pytest.MonkeyPatch, copies: int, write: Callable[[], None]) -> None:
    """Let another program write when so many files were copied."""
    copy, done = carrying.copy_file, [0]

    def copied(*given: Any) -> None:
        copy(*given)
        done[0] += 1
        if done[0] == copies:
            write()

    monkeypatch.setattr(carrying, "copy_file", copied)


def test_what_is_written_during_the_copy_comes_along(disks: Disks, monkeypatch: pytest.MonkeyPatch) -> None:
    album = disks.one / "album"

    def write() -> None:
        (album / "a").write_text("a longer text of a")
        (album / "new").mkdir()
        (album / "new/photo").write_text("the only copy")
        (album / "b").unlink()
        (album / "b").mkdir()

    written_after(monkeypatch, 4, write)
    disks.move()
    assert disks.texts(disks.other / "album") == {
        "a": "a longer text of a", "deep/c": "text of deep/c", "link": "a longer text of a",
        "new/photo": "the only copy",
    }  # fmt: skip
    assert (disks.other / "album/b").is_dir()
    assert not album.exists()


def test_what_is_written_after_the_copy_stays(disks: Disks, monkeypatch: pytest.MonkeyPatch) -> None:
    rename, album = exchange._rename, disks.one / "album"
    (album / "deep").chmod(0o555)

    def brought(before: int, name: str, after: int, wanted: str, flags: int) -> None:
        rename(before, name, after, wanted, flags)
        (album / "deep/c").write_text("a longer text of c")
        (album / "photo").write_text("the only copy")

    monkeypatch.setattr(exchange, "_rename", brought)
    disks.move()
    assert disks.texts(disks.other / "album") == WHOLE
    assert disks.texts(album) == {"deep/c": "a longer text of c", "photo": "the only copy"}
    assert (album / "deep").stat().st_mode & 0o777 == 0o555


@pytest.mark.parametrize("step", ["access", "copy", "rename"])
def test_a_fault_leaves_the_source_and_nothing_else(step: str, disks: Disks, monkeypatch: pytest.MonkeyPatch) -> None:
    if step == "access":
        monkeypatch.setattr(os, "access", lambda *_, **__: False)
    elif step == "copy":
        written_after(monkeypatch, 2, lambda: os.mkfifo(disks.one / "album/empty/pipe"))
    else:
        (disks.other / "album").write_text("theirs")
    with pytest.raises(OSError, match=r"."):
        disks.move()
    assert disks.texts(disks.one / "album") == WHOLE
    assert disks.texts(disks.other) == ({"album": "theirs"} if step == "rename" else {})
    assert not any(path.name.startswith(PART) for path in disks.other.iterdir())


MOVING = """
from pathlib import Path
from starloom_agent.platforms import carrying, exchange
from starloom_agent.toolkit.beneath import Beneath
from tests.device_agents.platforms.test_carrying import apart
one, other = map(Path, sys.argv[1:])
exchange._rename = counted(apart(exchange._rename, one))
carrying.copy_bytes = counted(carrying.copy_bytes)
for name in ("unlink", "rmdir", "mkdir", "fsync", "symlink", "utime"):
    setattr(os, name, counted(getattr(os, name)))
Beneath((), (one, other)).move(one / "album", other / "album")
print(steps)
"""


def test_a_kill_at_any_step_loses_nothing_and_is_finished_by_the_next(tmp_path: Path, disks: Disks) -> None:
    def moved(last: int, disks: Disks) -> tuple[int, str]:
        return run_killed(MOVING, last, str(disks.one), str(disks.other))

    code, said = moved(0, disks)
    assert code == 0
    assert int(said) > 20
    for last in range(1, int(said) + 1):
        home = tmp_path / str(last)
        home.mkdir()
        cut = Disks(home / "one", home / "other")
        laid(cut)
        assert moved(last, cut)[0] == KILLED
        there = cut.texts(cut.other / "album") if (cut.other / "album").exists() else {}
        assert there in ({}, WHOLE), last
        if not there:
            assert cut.texts(cut.one / "album") == WHOLE, last
        if (cut.one / "album").exists():
            assert moved(0, cut)[0] == 0, last
            assert [path.name for path in cut.other.iterdir()] == ["album"], last
        assert cut.texts(cut.other / "album") == WHOLE
        assert not (cut.one / "album").exists()


def test_of_two_attempts_at_once_the_second_is_told(disks: Disks, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []

    def again() -> None:
        with pytest.raises(OSError, match="another call is moving it") as refused:
            disks.move()
        told.append(str(refused.value.errno))

    written_after(monkeypatch, 1, again)
    disks.move()
    assert told == [str(errno.EBUSY)]
    assert disks.texts(disks.other / "album") == WHOLE


def test_parts_of_ended_processes_are_swept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / f"{PART}left").mkdir()
    (tmp_path / f"{PART}left/album").write_text("half")
    (tmp_path / f"{PART}file").write_text("half")
    (tmp_path / f"{PART}link").symlink_to(tmp_path / "mine")
    (tmp_path / f"{PART}mark").mkdir()
    (tmp_path / "mine").write_text("mine")
    at_work = tmp_path / f"{PART}at work"
    at_work.write_text("half")
    folder = os.open(tmp_path, os.O_RDONLY)
    with at_work.open("rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        sweep(folder)
        assert len([*tmp_path.iterdir()]) == 6, "a young one may not have its lock yet"
        now = time.time()
        monkeypatch.setattr(time, "time", lambda: now + 3600)
        sweep(folder)
        assert {path.name for path in tmp_path.iterdir()} == {
            f"{PART}link", f"{PART}mark", f"{PART}at work", "mine"
        }  # fmt: skip
        monkeypatch.setattr(time, "time", lambda: now + 48 * 3600)
        sweep(folder)
    os.close(folder)
    assert {path.name for path in tmp_path.iterdir()} == {f"{PART}link", f"{PART}at work", "mine"}


def test_holes_stay_holes(tmp_path: Path) -> None:
    source, out = tmp_path / "source", tmp_path / "out"
    with source.open("wb") as file:
        file.write(b"begin")
        file.truncate(50 << 20)
        file.seek(20 << 20)
        file.write(b"middle")
    seen: list[int] = []
    with source.open("rb") as old, out.open("wb") as new:
        copy_bytes(old, new, lambda data: seen.append(len(data)))
    assert out.read_bytes() == source.read_bytes()
    assert sum(seen) == 50 << 20
    assert out.stat().st_blocks * 512 < 8 << 20
