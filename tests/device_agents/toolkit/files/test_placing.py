"""Processes that put files in the same place at once: no half-written file is shared, and none is lost."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from starloom_agent.toolkit import beneath
from starloom_agent.toolkit.beneath import TRASH
from starloom_agent.work.execution.toolcall import _file_out
from tests.device_agents.tools.conftest import Device
from tests.waiting import PATIENCE_S

# All begin at a sign and go over the same target again and again; a shared half-written file makes one of them fail.
WRITER = """
import pathlib, sys
from starloom_agent.platforms import exchange
from starloom_agent.toolkit.files.placing import place
from starloom_agent.toolkit.interface import Folders, ToolContext
folder, private, mine, rounds, steps = *map(pathlib.Path, sys.argv[1:3]), sys.argv[3], int(sys.argv[4]), sys.argv[5]
if steps == "without":
    def lacking(*_):
        raise OSError(22, "no such step")
    exchange.exchange_at = lacking
context = ToolContext(workdir=private, artifacts=None, output=None, folders=Folders.of(write=[str(folder)]))
print("ready", flush=True)
sys.stdin.readline()
for number in range(rounds):
    data = f"{mine}-{number} ".encode() * 200_000
    source = private / f"source-{mine}-{number}"
    source.write_bytes(data)
    while True:
        try:
            placed = place(context, source, folder / "target")
        except FileExistsError:
            assert steps == "without" and source.read_bytes() == data
            continue
        break
    assert placed.bytes == len(data)
    try:
        seen = (folder / "target").read_bytes()
    except FileNotFoundError:
        assert steps == "without"
    else:
        assert len(set(seen.split())) == 1, "a reader saw half of it"
"""
WRITERS, ROUNDS = 3, 12


@pytest.mark.parametrize("steps", ["exchange", "without"])
def test_calls_that_write_one_file_at_once_lose_none(steps: str, tmp_path: Path) -> None:
    """Each finds in the trash what it replaced: the target and the trash together hold all that was ever written."""
    folder, private = tmp_path / "folder", tmp_path / "private"
    folder.mkdir()
    private.mkdir()
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(folder), str(private), str(number), str(ROUNDS), steps],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(WRITERS)
    ]
    for writer in writers:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write("go\n")
        writer.stdin.flush()
    ended = [(*writer.communicate(timeout=PATIENCE_S), writer.returncode) for writer in writers]
    assert [(said[1], said[2]) for said in ended] == [("", 0)] * WRITERS
    assert sorted(path.name for path in folder.iterdir()) == [TRASH, "target"]
    kept = [path for path in (folder / TRASH).rglob("target") if path.is_file()]
    written = sorted(path.read_bytes().split()[0].decode() for path in [folder / "target", *kept])
    assert written == sorted(f"{writer}-{number}" for writer in range(WRITERS) for number in range(ROUNDS))
    assert len(list((folder / TRASH).iterdir())) == len(kept)


def test_a_file_placed_on_another_file_system_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, device: Device
) -> None:
    other = device.folder / f".target.1.1-{os.getpid()}.part"
    other.write_bytes(b"half")
    monkeypatch.setattr(beneath, "_made_alike", lambda *_: False)
    device.call("artifact.get", artifact=device.store.take(b"whole"), to="deep/target")
    assert (device.folder / "deep/target").read_bytes() == b"whole"
    assert other.read_bytes() == b"half"
    assert sorted(path.name for path in device.folder.rglob("*")) == [other.name, "deep", "target"]


def test_a_folder_that_sets_groups_has_its_files_made_in_it(device: Device) -> None:
    shared = device.folder / "shared"
    shared.mkdir()
    shared.chmod(0o2775)
    os.chown(shared, -1, os.getgid() + 7 if os.geteuid() == 0 else -1)
    device.call("fs.write", path="shared/a.txt", text="x")
    assert (shared / "a.txt").stat().st_gid == shared.stat().st_gid


def test_a_result_file_is_placed_like_any_other(device: Device) -> None:
    other = device.folder / f".out.1.1-{os.getpid()}.part"
    other.symlink_to(device.folder / "victim")
    ref = device.store.take(b"whole", name="out")
    _file_out(device.context(), {"report": ref}, "/report", "out")
    assert not (device.folder / "victim").exists()
    assert (device.folder / "out").read_bytes() == b"whole"
    _file_out(device.context(), {"report": ref}, "/report", "new/")
    assert (device.folder / "new/out").read_bytes() == b"whole"


def test_a_result_file_puts_the_file_that_was_there_into_the_trash(device: Device) -> None:
    out = device.write("out", "mine")
    for _ in range(2):  # the same contents take nothing away
        _file_out(device.context(), {"report": device.store.take(b"whole", name="out")}, "/report", "out")
    assert out.read_bytes() == b"whole"
    assert [path.read_text() for path in (device.folder / TRASH).rglob("out")] == ["mine"]
    (said,) = device.said.lines
    device.call("fs.trash", paths=["out"])
    device.call("fs.restore", tickets=[said.rpartition(" ")[2]])
    assert out.read_text() == "mine"
