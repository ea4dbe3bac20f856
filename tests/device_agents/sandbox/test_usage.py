"""Memory as it is counted over real processes: what is shared once, what is reserved not at all."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from starloom_agent.sandbox import usage

MIB = 1 << 20


@contextmanager
def running(code: str) -> Iterator[list[int]]:
    """Run a program until it prints a line; its processes."""
    program = [sys.executable, "-c", f"{code}\nprint('up', flush=True); import sys; sys.stdin.read()"]
    with subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        assert process.stdout.readline() == b"up\n"
        yield [process.pid, *usage.below(process.pid)]
        process.stdin.close()


FORKS = (
    "import atexit, os, signal\nfor _ in range(5):\n    if os.fork() == 0: signal.pause()\n"
    "atexit.register(os.killpg, 0, 9)"
)
MAPPED = (
    "import mmap, os; f = os.memfd_create('x'); os.write(f, bytes(100 << 20)); m = mmap.mmap(f, 100 << 20); "
    "x = sum(m[::4096])"
)


@pytest.mark.parametrize(
    ("code", "least", "most"),
    [
        ("x = b'x' * (100 << 20)", 100, 130),
        ("import mmap; m = mmap.mmap(-1, 8 << 30, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)", 0, 30),
        ("import mmap; m = mmap.mmap(-1, 100 << 20); m.write(bytes(100 << 20))", 100, 130),
        ("import os; f = os.memfd_create('x'); os.write(f, bytes(100 << 20))", 100, 130),
        (MAPPED, 100, 130),
        (f"import os; os.setpgid(0, 0); x = b'x' * (100 << 20)\n{FORKS}", 100, 160),
        (
            f"import os, mmap; os.setpgid(0, 0); m = mmap.mmap(-1, 100 << 20); m.write(bytes(100 << 20))\n{FORKS}",
            100,
            160,
        ),
    ],
    ids=["own", "reserved", "shared", "memfd", "mapped memfd", "forked", "shared by all"],
)
def test_memory_in_use_is_counted_once(code: str, least: int, most: int) -> None:
    with running(code) as pids:
        assert least <= usage.memory_bytes(pids, 0) // MIB <= most
        # Where the upper bound fits, nothing more is looked at; it is never below what is used.
        assert usage.memory_bytes(pids, 8 << 30) >= least * MIB


def test_a_process_that_has_ended_uses_nothing() -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    assert usage.memory_bytes([process.pid], 0) == 0
    assert usage.written_bytes([process.pid]) == 0
    assert not usage.maps_shared_memory([process.pid])


def test_processes_below_are_found_where_no_list_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    with running(f"import os; os.setpgid(0, 0)\n{FORKS}") as (first, *below):
        monkeypatch.setattr(usage, "_listed", lambda _root: False)
        assert sorted(usage.below(first)) == sorted(below)
        assert len(below) == 5
