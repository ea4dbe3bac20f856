"""An emptied trash: whole tickets or none after a kill, nothing outside of it, nothing young, an honest undo (T154).

The steps are those that change the disk; each is tried as the last one before a kill.
"""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from starloom_agent.platforms import exchange
from starloom_agent.platforms.carrying import EMPTYING
from starloom_agent.toolkit.beneath import TRASH, Beneath
from starloom_agent.toolkit.files import emptying
from starloom_agent.toolkit.files.emptying import DAY_S, LIVED, Bounds, emptied_of, empty_by_bounds, entries_of
from starloom_agent.toolkit.interface import ToolFailed
from starloom_protocol.vocabulary import Code
from tests.device_agents.tools.conftest import Device
from tests.killed_steps import KILLED, run_killed
from tests.waiting import PATIENCE_S

LATER_S = 40 * DAY_S
SEEN = 2.0 * DAY_S


@pytest.fixture
def device(tmp_path: Path) -> Device:
    return Device(tmp_path)


def trashed(device: Device, *names: str) -> list[str]:
    for name in names:
        device.write(f"{name}/deep/inner", f"text of {name}")
        device.write(f"{name}/also", "more")
    return [device.call("fs.trash", paths=[name])["tickets"][0] for name in names]


def emptied(device: Device, **more: Any) -> list[str]:
    said: list[str] = []
    bounds = more.pop("bounds", Bounds())
    files = Beneath((), (device.folder,))
    saw(device)
    empty_by_bounds(files, device.folder, bounds, said.append, now_s=time.time() + LATER_S, clock_s=SEEN, **more)
    return said


def saw(device: Device, clock_s: float = SEEN - DAY_S) -> None:
    """Let an emptying see the tickets, a day before `SEEN`, and take none."""
    empty_by_bounds(Beneath((), (device.folder,)), device.folder, Bounds(), print, now_s=0, clock_s=clock_s)


def left(device: Device) -> list[str]:
    return sorted(path.name for path in (device.folder / TRASH).iterdir() if path.name != LIVED)


def restorable(device: Device, ticket: str) -> bool:
    """Tell whether a ticket brings back all that it took; one that does not must say so."""
    if not (device.folder / TRASH / ticket).exists():
        with pytest.raises(ToolFailed, match="was emptied from the trash on 20") as failed:
            device.call("fs.restore", tickets=[ticket])
        assert failed.value.code is Code.FILE_NOT_FOUND
        return False
    (item,) = device.call("fs.restore", tickets=[ticket])["items"]
    back = Path(item["path"])
    assert (back / "deep/inner").read_text() == f"text of {back.name}"
    assert (back / "also").read_text() == "more"
    return True


EMPTYING_ALL = """
import pathlib, time
from starloom_agent.platforms import exchange
from starloom_agent.toolkit.beneath import Beneath
from starloom_agent.toolkit.files.emptying import Bounds, empty_by_bounds
folder = pathlib.Path(sys.argv[1])
exchange._rename = counted(exchange._rename)
for name in ("unlink", "rmdir", "mkdir", "utime", "rename"):
    setattr(os, name, counted(getattr(os, name)))
empty_by_bounds(
    Beneath((), (folder,)), folder, Bounds(), lambda line: None, now_s=time.time() + 40 * 86400, clock_s=2 * 86400
)
print(steps)
"""


def test_t154_a_kill_at_any_step_leaves_whole_tickets_or_none(tmp_path: Path) -> None:
    def laid(name: str) -> tuple[Device, list[str]]:
        home = tmp_path / name
        home.mkdir()
        made = Device(home)
        tickets = trashed(made, "a", "b")
        saw(made)
        return made, tickets

    code, said = run_killed(EMPTYING_ALL, 0, str(laid("whole")[0].folder))
    assert code == 0
    assert int(said) > 12
    for last in range(1, int(said) + 1):
        device, tickets = laid(str(last))
        assert run_killed(EMPTYING_ALL, last, str(device.folder))[0] == KILLED
        kept = [restorable(device, ticket) for ticket in tickets]
        assert kept != [True, False], "the oldest goes first"
        emptied(device)
        assert [name for name in left(device) if not name.startswith((".emptied", ".restored"))] == []
        assert not any(name.startswith(EMPTYING) for name in left(device)), last
        for ticket, was_kept in zip(tickets, kept, strict=True):
            if not was_kept:
                assert not restorable(device, ticket)


def test_t154_age_and_size_decide_the_oldest_first(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    tickets = trashed(device, "a", "b", "c")
    now = time.time()
    sizes = [entry.bytes for entry in entries_of(Beneath((), (device.folder,)), device.folder)]
    monkeypatch.setattr(Bounds, "most_bytes", lambda *_: sum(sizes) - 1)
    files = Beneath((), (device.folder,))
    # Whatever the size: an undo can count on its files for a day.
    saw(device)
    empty_by_bounds(files, device.folder, Bounds(), print, now_s=now + DAY_S - 60, clock_s=SEEN)
    assert len(left(device)) == 3
    empty_by_bounds(files, device.folder, Bounds(), print, now_s=now + DAY_S + 60)
    assert [name for name in left(device) if name[0] != "."] == sorted(tickets[1:])
    assert [ticket for _, ticket, _ in emptied_of(files, device.folder)] == tickets[:1]
    empty_by_bounds(files, device.folder, Bounds(keep_days=50), print, now_s=now + 49 * DAY_S)
    assert [restorable(device, ticket) for ticket in tickets] == [False, True, True]


def test_t315_a_date_that_is_set_forward_empties_nothing(device: Device) -> None:
    (ticket,) = trashed(device, "a")
    files = Beneath((), (device.folder,))

    def late(clock_s: float | None) -> list[str]:
        later = time.time() + LATER_S
        empty_by_bounds(files, device.folder, Bounds(), print, now_s=later, clock_s=clock_s, room=1 << 40)
        return [name for name in left(device) if not name.startswith(".")]

    assert late(5_000) == [ticket], "seen for the first time"
    assert late(5_000 + DAY_S / 2) == [ticket]
    # The system was started anew: the time while it was off is not known.
    assert late(60) == [ticket]
    (second,) = trashed(device, "b")
    assert late(None) == sorted([ticket, second]), "a call that makes room has no clock"
    assert late(60 + DAY_S / 2) == [second]
    assert not restorable(device, ticket)


def test_t315_a_full_disk_empties_what_was_seen_before(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    trashed(device, "a")
    saw(device)

    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "no room")

    monkeypatch.setattr(Beneath, "create", full)
    later = time.time() + LATER_S
    for _ in range(2):
        empty_by_bounds(Beneath((), (device.folder,)), device.folder, Bounds(), print, now_s=later, clock_s=SEEN)
    assert left(device) == [".emptied"]


def test_t154_a_clock_that_was_put_back_empties_nothing(device: Device) -> None:
    (ticket,) = trashed(device, "a")
    empty_by_bounds(Beneath((), (device.folder,)), device.folder, Bounds(1, 1), print, now_s=0)
    assert restorable(device, ticket)


def test_t154_an_undo_says_when_its_file_was_emptied_and_moves_nothing(device: Device) -> None:
    device.write("a", "old")
    added = device.call("fs.write", path="a", text="new", on_clash="replace")["added"]
    added += device.call("fs.write", path="b", text="new")["added"]
    emptied(device)
    day = time.strftime("%Y-%m-%d")
    with pytest.raises(ToolFailed, match=f"was emptied from the trash on {day} and cannot be brought back") as failed:
        device.call("fs.trash", paths=added)
    assert failed.value.effect is False
    assert ((device.folder / "a").read_text(), (device.folder / "b").read_text()) == ("new", "new")


def test_t154_a_restore_of_several_says_so_before_it_moves_one(device: Device) -> None:
    gone = trashed(device, "a")
    emptied(device)
    there = trashed(device, "b")
    with pytest.raises(ToolFailed, match="was emptied from the trash") as failed:
        device.call("fs.restore", tickets=[*there, *gone])
    assert failed.value.effect is False
    assert not (device.folder / "b").exists()
    assert restorable(device, there[0])


def test_t154_a_call_makes_room_before_it_fills_the_trash(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    tickets = trashed(device, "a", "b")
    device.write("big", "x" * 500)
    saw(device)
    saw(device, SEEN)
    monkeypatch.setattr(Bounds, "most_bytes", lambda *_: 510)
    monkeypatch.setattr(emptying, "SPARED_S", -1)
    device.call("fs.write", path="big", text="new", on_clash="replace")
    assert [restorable(device, ticket) for ticket in tickets] == [False, False]
    assert [line for line in device.said.lines if "emptied" in line and str(device.folder / "a") in line]


def test_t154_what_is_young_stays_however_full_the_trash_is(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    (ticket,) = trashed(device, "a")
    monkeypatch.setattr(Bounds, "most_bytes", lambda *_: 1)
    device.write("big", "x" * 500)
    added = device.call("fs.write", path="big", text="new", on_clash="replace")["added"]
    device.call("fs.trash", paths=added)
    assert (device.folder / "big").read_text() == "x" * 500
    assert restorable(device, ticket)


def outside_of(device: Device) -> Path:
    outside = device.folder.with_name("outside")
    (outside / "1-0123456789ab").mkdir(parents=True)
    (outside / "1-0123456789ab/from.json").write_text("{}")
    (outside / "theirs").write_text("theirs")
    return outside


def seen(folder: Path) -> list[tuple[str, bytes]]:
    return sorted((str(path), path.read_bytes()) for path in folder.rglob("*") if path.is_file())


def test_t154_no_link_leads_an_emptying_out(device: Device) -> None:
    outside = outside_of(device)
    before = seen(outside)
    (ticket,) = trashed(device, "a")
    trash = device.folder / TRASH
    (trash / ticket / "a/out").symlink_to(outside)
    (trash / "2-0123456789ab").symlink_to(outside / "1-0123456789ab")
    (trash / ".emptying-3-0123456789ab").symlink_to(outside)
    (trash / ".emptied").symlink_to(outside)
    emptied(device)
    assert seen(outside) == before
    assert not (trash / ticket).exists()


@pytest.mark.parametrize("to", ["outside", "nowhere"])
def test_t154_a_linked_trash_is_not_emptied(to: str, device: Device) -> None:
    outside = outside_of(device)
    before = seen(outside)
    (device.folder / TRASH).symlink_to(outside if to == "outside" else outside / "nowhere")
    emptied(device)
    assert entries_of(Beneath((), (device.folder,)), device.folder) == []
    assert seen(outside) == before


def test_t154_a_trash_that_becomes_a_link_meanwhile_leads_nowhere(
    device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    outside = outside_of(device)
    before = seen(outside)
    trashed(device, "a", "b")
    rename = Beneath.rename

    def late(files: Beneath, source: Path, target: Path) -> None:
        rename(files, source, target)
        if (trash := device.folder / TRASH).is_symlink() is False:
            trash.rename(trash.with_name("moved"))
            trash.symlink_to(outside)

    monkeypatch.setattr(Beneath, "rename", late)
    said = emptied(device)
    assert seen(outside) == before
    assert any("stays" in line or "cannot be removed" in line for line in said)


def test_t154_other_things_in_a_trash_stay(device: Device) -> None:
    trashed(device, "a")
    theirs = ["notes.txt", "my folder/x", "1-short/x", "1-0123456789AB/x", "12345678901234-0123456789ab/x"]
    for name in theirs:
        device.write(f"{TRASH}/{name}", "theirs")
    emptied(device)
    assert [(device.folder / TRASH / name).read_text() for name in theirs] == ["theirs"] * len(theirs)


def test_t154_names_of_any_length_and_depth_go(device: Device) -> None:
    (ticket,) = trashed(device, "a")
    home = device.folder / TRASH / ticket / "a"
    (home / os.fsdecode(b"\xff" + b"x" * 254)).mkdir()
    here = os.open(home, os.O_RDONLY)
    try:
        for _ in range(700):  # beyond the longest path and any recursion
            os.mkdir("d" * 50, dir_fd=here)
            inner = os.open("d" * 50, os.O_RDONLY, dir_fd=here)
            os.close(here)
            here = inner
    finally:
        os.close(here)
    assert not [line for line in emptied(device) if "cannot" in line]
    assert left(device) == [".emptied"]


def test_t154_two_agents_empty_one_trash(device: Device) -> None:
    trashed(device, *(f"f{number}" for number in range(12)))
    saw(device)
    with ThreadPoolExecutor(2) as pool:
        both = pool.map(lambda _: run_killed(EMPTYING_ALL, 0, str(device.folder)), range(2))
    assert [code for code, _ in both] == [0, 0]
    assert left(device) == [".emptied"]


def test_t154_a_full_disk_is_emptied_all_the_same(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    tickets = trashed(device, "a", "b")

    def full(_: Beneath, path: Path) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))

    monkeypatch.setattr(Beneath, "make_folder", full)
    assert [line.split(": ")[1].split()[0] for line in emptied(device)] == ["emptied", "emptied"]
    assert left(device) == []
    monkeypatch.undo()
    with pytest.raises(ToolFailed, match="no ticket"):
        device.call("fs.restore", tickets=tickets)


@pytest.mark.parametrize("number", [errno.EROFS, errno.EACCES, errno.EPERM])
def test_t154_a_trash_that_cannot_be_changed_is_said(
    number: int, device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    tickets = trashed(device, "a", "b")

    def refused(*_: Any) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(exchange, "_rename", refused)
    said = emptied(device)
    assert [line for line in said if "stays" in line] == said
    assert len(said) == 2
    monkeypatch.undo()
    assert all(restorable(device, ticket) for ticket in tickets)


PROTECTED = """
import os, pathlib, sys, time
import starloom_agent.sandbox.layers.kernel  # the other user may not be able to read where it lies
from starloom_agent.toolkit.beneath import Beneath
from starloom_agent.toolkit.files.emptying import Bounds, empty_by_bounds
folder = pathlib.Path(sys.argv[1])
if os.getuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
for now, clock in ((0, 0), (time.time() + 40 * 86400, 86400)):
    empty_by_bounds(Beneath((), (folder,)), folder, Bounds(), print, now_s=now, clock_s=clock)
"""


def test_t154_write_protected_entries_go() -> None:
    with TemporaryDirectory() as home:  # another user may enter it
        Path(home).chmod(0o755)
        device = Device(Path(home))
        (ticket,) = trashed(device, "a")
        kept = device.folder / TRASH / ticket
        for path, mode in ((kept / "a/also", 0o000), (kept / "a/deep", 0o500), (kept / "a", 0o000)):
            path.chmod(mode)
        if os.getuid() == 0:
            for path in [device.folder, *device.folder.rglob("*")]:
                os.chown(path, 65534, 65534)
        words = [sys.executable, "-c", PROTECTED, str(device.folder)]
        ran = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
        assert (ran.returncode, ran.stderr) == (0, "")
        assert "cannot be removed" not in ran.stdout
        assert left(device) == [".emptied"]


def test_t154_a_file_without_bytes_pushes_nothing_out(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sparse file says a terabyte and takes none."""
    (ticket,) = trashed(device, "a")
    sparse = device.write("sparse", "x")
    os.truncate(sparse, 1 << 40)
    monkeypatch.setattr(emptying, "SPARED_S", -1)
    device.call("fs.write", path="sparse", text="new", on_clash="replace")
    files = Beneath((), (device.folder,))
    saw(device)
    empty_by_bounds(files, device.folder, Bounds(most_gib=1), print, clock_s=SEEN)
    assert sum(entry.bytes for entry in entries_of(files, device.folder)) < 1 << 20
    assert restorable(device, ticket)


@pytest.mark.parametrize("step", ["move", "rename"])
def test_t154_a_restore_and_an_emptying_at_once_lose_nothing(
    step: str, device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The emptying comes when the file of the ticket is back and its note is not put away yet, or just before."""
    (ticket,) = trashed(device, "a")
    real = getattr(Beneath, step)
    turns = iter([True])

    def late(files: Beneath, source: Path, target: Path) -> None:
        if step == "move":
            real(files, source, target)
        if next(turns, False):
            emptied(device)
        if step == "rename":
            real(files, source, target)

    monkeypatch.setattr(Beneath, step, late)
    if step == "move":
        assert restorable(device, ticket)
    else:
        # The first rename is that of the file itself: it has gone for good, and the undo says so.
        with pytest.raises(ToolFailed) as failed:
            device.call("fs.restore", tickets=[ticket])
        assert failed.value.code is Code.FILE_NOT_FOUND
    monkeypatch.undo()
    assert (device.folder / "a").exists() is (step == "move")
    if step == "move":
        assert device.call("fs.restore", tickets=[ticket])["items"][0]["moved"] is False
    assert not any(name.startswith(EMPTYING) for name in left(device))


def test_t154_thousands_of_tickets_go_at_once(device: Device) -> None:
    trash = device.folder / TRASH
    for number in range(3000):
        home = trash / f"{number}-0123456789ab"
        home.mkdir(parents=True)
        (home / "from.json").write_text(f'{{"path": "{device.folder}/{number}"}}')
    scans = 0
    scan = Beneath.scan

    def counted(files: Beneath, path: Path) -> Any:
        nonlocal scans
        scans += path.name == ".emptied"
        return scan(files, path)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Beneath, "scan", counted)
        assert len(emptied(device)) == 3000
    assert scans < 10
    assert left(device) == [".emptied"]
    assert len(list((trash / ".emptied").iterdir())) == 1000
