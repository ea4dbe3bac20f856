"""The contract of every writer of whole files: durable in order, mode and owner kept, and nothing half after a fault.

The writers are the placing of a tool's file, at a free place and over a file, also where the trash or the folder of the
call is on another file system; and the writing of the agent's own files.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from starloom_agent.home.directory import write_private
from starloom_agent.platforms import exchange
from starloom_agent.toolkit.beneath import TRASH, Beneath
from starloom_agent.toolkit.files.filling import noted
from starloom_agent.toolkit.files.placing import new_draft, place
from starloom_agent.toolkit.interface import Folders, ToolContext, ToolFailed
from tests.device_agents.platforms.test_carrying import apart
from tests.device_agents.tools.conftest import Device
from tests.killed_steps import KILLED, run_killed

OLD, NEW = b"the old contents", b"the new contents"
NOBODY = 65534


@dataclass
class Ground:
    """A folder with the file `it`, if there is one, and a private folder; `write` replaces or makes the file."""

    folder: Path
    private: Path
    write: Callable[[], object]
    makes: bytes = NEW
    over: bool = True
    keeps: bool = True
    """Whether it keeps the owner of the file that was there; the agent's own files are its own."""

    @property
    def it(self) -> Path:
        return self.folder / "it"

    def beside(self) -> list[str]:
        return sorted(path.name for path in self.folder.iterdir() if path.name not in ("it", TRASH))


@pytest.fixture(params=["free", "over", "over plain", "over, other", "free, other", "own", "noted"])
def ground(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Ground:
    kind: str = request.param
    folder, private = tmp_path / "folder", tmp_path / "private"
    folder.mkdir()
    private.mkdir()
    made = Ground(folder, private, lambda: None, over="free" not in kind)
    if kind == "own":
        made.keeps = False
        made.write = lambda: write_private(made.it, NEW)
    elif kind == "noted":
        monkeypatch.setattr("starloom_agent.toolkit.files.filling._FILE", "it")
        made.write = lambda: noted(folder, "disk", total=10, free=5, now_s=7200)
        made.keeps = False
        made.makes = b'{"disk":{"total":10,"samples":[[7200,5]]}}'
    else:
        made.write = lambda: _placed(made)
    rename = exchange._rename

    def as_system(before: int, name: str, after: int, wanted: str, flags: int) -> None:
        if "plain" in kind and flags == exchange._EXCHANGE:
            raise OSError(errno.EINVAL, "no exchange")
        if "other" in kind and os.fstat(before).st_ino != os.fstat(after).st_ino:
            raise OSError(errno.EXDEV, "another file system")
        rename(before, name, after, wanted, flags)

    monkeypatch.setattr(exchange, "_rename", as_system)
    if made.over:
        made.it.write_bytes(OLD)
    return made


def _placed(ground: Ground) -> None:
    context: Any = ToolContext(
        workdir=ground.private, artifacts=_none(), output=_none(), folders=Folders.of(write=[str(ground.folder)])
    )
    draft = new_draft(context)
    draft.write_bytes(NEW)
    place(context, draft, ground.it)


def _none() -> Any:
    return None


def test_the_file_is_whole_and_nothing_is_beside_it(ground: Ground) -> None:
    ground.write()
    assert ground.it.read_bytes() == ground.makes
    assert ground.beside() == []
    assert list(ground.private.iterdir()) == []


def test_the_file_is_on_the_disk_before_its_name_and_the_folder_after(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[tuple[str, bytes]] = []
    fsync = os.fsync

    def synced(handle: int) -> None:
        about = os.fstat(handle)
        there = ground.it.read_bytes() if ground.it.exists() else b""
        kind = "folder" if about.st_ino == ground.folder.stat().st_ino else "other"
        if kind == "other" and about.st_size == len(ground.makes) and Path(f"/proc/self/fd/{handle}").is_file():
            kind = "file"
        steps.append((kind, there))
        fsync(handle)

    monkeypatch.setattr(os, "fsync", synced)
    ground.write()
    assert ("file", OLD if ground.over else b"") in steps, "before it has its name"
    assert steps.index(("folder", ground.makes)) > [kind for kind, _ in steps].index("file")


def test_a_file_that_is_replaced_keeps_its_mode_and_owner(ground: Ground) -> None:
    if not ground.over:
        ground.write()
        assert ground.it.stat().st_uid == os.geteuid()
        return
    ground.it.chmod(0o600)
    owner = NOBODY if os.geteuid() == 0 else os.geteuid()
    os.chown(ground.it, owner, -1)
    ground.write()
    about = ground.it.stat()
    assert about.st_mode & 0o7777 == 0o600
    assert about.st_uid == (owner if ground.keeps else os.geteuid())


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO, errno.EDQUOT])
@pytest.mark.parametrize("step", ["fsync", "rename"])
def test_a_fault_leaves_the_old_file_and_nothing_else(
    step: str, number: int, ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: Any, **__: Any) -> None:
        raise OSError(number, os.strerror(number))

    if step == "fsync":
        monkeypatch.setattr(os, "fsync", refused)
    else:
        monkeypatch.setattr(exchange, "_rename", refused)
        monkeypatch.setattr(os, "replace", refused)
    with pytest.raises((OSError, ToolFailed)):
        ground.write()
    assert (ground.it.read_bytes() if ground.it.exists() else None) == (OLD if ground.over else None)
    assert ground.beside() == []


def test_a_link_in_the_place_is_replaced_and_not_followed(ground: Ground, tmp_path: Path) -> None:
    theirs = tmp_path / "theirs"
    theirs.write_bytes(OLD)
    ground.it.unlink(missing_ok=True)
    ground.it.symlink_to(theirs)
    ground.write()
    assert theirs.read_bytes() == OLD
    assert ground.it.read_bytes() == ground.makes
    assert not ground.it.is_symlink()


WRITING = """
from pathlib import Path
from starloom_agent.home.directory import write_private
from starloom_agent.platforms import exchange
from starloom_agent.toolkit.files.placing import new_draft, place
from starloom_agent.toolkit.interface import Folders, ToolContext
folder, private, kind = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
context = ToolContext(workdir=private, artifacts=None, output=None, folders=Folders.of(write=[str(folder)]))
draft = new_draft(context)
draft.write_text("the new contents")
exchange._rename = counted(exchange._rename)
for name in ("replace", "rename", "unlink", "fsync", "mkdir", "open", "link"):
    setattr(os, name, counted(getattr(os, name)))
place(context, draft, folder / "it") if kind == "free" else write_private(folder / "it", b"the new contents")
print(steps)
"""


@pytest.mark.parametrize("kind", ["free", "own"])
def test_a_kill_at_any_step_leaves_the_old_file_or_the_new_one(kind: str, tmp_path: Path) -> None:
    def killed(last: int) -> tuple[Path, str]:
        home = tmp_path / str(last)
        for path in (home / "folder", home / "private"):
            path.mkdir(parents=True)
        if kind == "own":
            (home / "folder/it").write_bytes(OLD)
        code, said = run_killed(WRITING, last, str(home / "folder"), str(home / "private"), kind)
        assert code == (KILLED if last else 0)
        return home / "folder/it", said

    steps = int(killed(0)[1])
    assert steps > 3
    for last in range(1, steps + 1):
        it, _ = killed(last)
        found = it.read_bytes() if it.exists() else None
        assert found in ((OLD, NEW) if kind == "own" else (None, NEW)), last


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_a_move_to_another_file_system_is_on_its_disk_before_the_old_one_goes(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    for path in (one, other):
        path.mkdir()
    source = one / "it"
    if kind == "folder":
        (source / "deep").mkdir(parents=True)
        (source / "deep/file").write_bytes(NEW)
    else:
        source.write_bytes(NEW)
    fsync = os.fsync
    synced: set[str] = set()

    def noting(handle: int) -> None:
        path = Path(f"/proc/self/fd/{handle}").readlink()
        synced.add("top" if path == other and (other / "new").exists() else path.name)
        assert source.exists()
        fsync(handle)

    monkeypatch.setattr(exchange, "_rename", apart(exchange._rename, one))
    monkeypatch.setattr(os, "fsync", noting)
    Beneath((), (one, other)).move(source, other / "new")
    assert not source.exists()
    assert "top" in synced, "the folder with the new name"
    if kind == "folder":
        assert (other / "new/deep/file").read_bytes() == NEW
        assert {"deep", "file"} <= synced


def test_a_text_over_a_private_file_leaves_it_private(tmp_path: Path) -> None:
    device = Device(tmp_path)
    path = device.write("secret.txt", OLD)
    path.chmod(0o600)
    device.call("fs.write", path="secret.txt", text=NEW.decode(), on_clash="replace")
    assert (path.read_bytes(), path.stat().st_mode & 0o777) == (NEW, 0o600)
    path.chmod(0o4755)
    device.call("artifact.get", artifact=device.store.take(OLD), to="secret.txt", on_clash="replace")
    assert path.stat().st_mode & 0o7777 == 0o755


def test_a_file_with_a_mode_of_its_own_is_given_to_nobody(tmp_path: Path) -> None:
    """The owner of the file before could read what a private file brings."""
    device = Device(tmp_path)
    path = device.write("backup", OLD)
    if os.geteuid() == 0:
        os.chown(path, NOBODY, -1)
    private = device.store.take(NEW, name="backup") | {"mode": 0o600}
    device.call("fs.write", files=[private], under=".", on_clash="replace")
    assert (path.stat().st_uid, path.stat().st_mode & 0o777) == (os.geteuid(), 0o600)


@pytest.mark.parametrize("name", ["x" * 255, "\u00e9" * 127, ".hidden" + "x" * 248, "from.json"])
def test_a_name_of_any_length_is_replaced_and_comes_back(name: str, tmp_path: Path) -> None:
    device = Device(tmp_path)
    device.write(name, OLD)
    added = device.call("fs.write", path=name, text=NEW.decode(), on_clash="replace")["added"]
    device.call("fs.trash", paths=added)
    assert (device.folder / name).read_bytes() == OLD
