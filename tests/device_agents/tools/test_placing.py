"""Two processes that put equal bytes in the same place at once: the half-written file is never shared."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from starloom_agent.toolcall import _file_out
from starloom_agent.tools import placing
from tests.device_agents.tools.conftest import Device
from tests.waiting import PATIENCE_S

# Both begin at a sign and go over the same target again and again; a shared half-written file makes one of them fail.
WRITER = """
import pathlib, sys
from starloom_agent.tools.placing import place
folder, mine, rounds = pathlib.Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
data = bytes(range(256)) * 12288
print("ready", flush=True)
sys.stdin.readline()
for number in range(rounds):
    source = folder / f"source-{mine}-{number}"
    source.write_bytes(data)
    assert place(source, folder / "target", fence="1.1") == len(data)
    assert (folder / "target").read_bytes() == data, "a reader saw half of it"
"""


def test_tasks_that_write_equal_bytes_at_once_do_not_meet(tmp_path: Path) -> None:
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(tmp_path), str(number), "20"],
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
    assert sorted(path.name for path in tmp_path.iterdir()) == ["target"]


def test_the_half_written_file_of_another_process_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / f".target.1.1-{os.getpid() + 1}.part"
    other.write_bytes(b"half")
    (tmp_path / "source").write_bytes(b"whole")
    placing.place(tmp_path / "source", tmp_path / "target", fence="1.1")
    assert other.read_bytes() == b"half"
    monkeypatch.setattr("os.getpid", lambda: 1)
    (tmp_path / "source").write_bytes(b"again")
    placing.place(tmp_path / "source", tmp_path / "target", fence="1.1")
    assert (tmp_path / "target").read_bytes() == b"again"


def test_a_result_file_of_another_process_is_left_alone(device: Device) -> None:
    other = device.folder / f".out.1.1-{os.getpid() + 1}.part"
    other.write_bytes(b"half")
    ref = device.store.take(b"whole", name="out")
    _file_out(device.context(), {"report": ref}, "/report", "out")
    assert other.read_bytes() == b"half"
    assert (device.folder / "out").read_bytes() == b"whole"
