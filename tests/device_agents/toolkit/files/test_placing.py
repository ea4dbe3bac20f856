"""Two processes that put equal bytes in the same place at once: the half-written file is never shared."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from starloom_agent.toolkit import beneath
from starloom_agent.work.execution.toolcall import _file_out
from tests.device_agents.tools.conftest import Device
from tests.waiting import PATIENCE_S

# Both begin at a sign and go over the same target again and again; a shared half-written file makes one of them fail.
WRITER = """
import pathlib, sys
from starloom_agent.toolkit.beneath import Beneath
folder, private, mine, rounds = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3], int(sys.argv[4])
files = Beneath(read=(), write=(folder,), private=private)
data = bytes(range(256)) * 12288
print("ready", flush=True)
sys.stdin.readline()
for number in range(rounds):
    source = private / f"source-{mine}-{number}"
    source.write_bytes(data)
    assert files.place(source, folder / "target") == len(data)
    assert (folder / "target").read_bytes() == data, "a reader saw half of it"
"""


def test_tasks_that_write_equal_bytes_at_once_do_not_meet(tmp_path: Path) -> None:
    folder, private = tmp_path / "folder", tmp_path / "private"
    folder.mkdir()
    private.mkdir()
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(folder), str(private), str(number), "20"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(3)
    ]
    for writer in writers:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write("go\n")
        writer.stdin.flush()
    ended = [(*writer.communicate(timeout=PATIENCE_S), writer.returncode) for writer in writers]
    assert [(said[1], said[2]) for said in ended] == [("", 0)] * 3
    assert sorted(path.name for path in folder.iterdir()) == ["target"]


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
