"""The heap in large pages: what it says is what the kernel shows, and nothing is asked for where it is not wanted."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from starloom.process import huge_pages
from tests.waiting import PATIENCE_S

IN_A_PROCESS = """
import ctypes
import json
from pathlib import Path
from starloom.process import huge_pages

class Heard:
    def __init__(self, libc):
        self.mincore, self._madvise, self.answers = libc.mincore, libc.madvise, []

    def madvise(self, *asked):
        failed = self._madvise(*asked)
        self.answers.append(ctypes.get_errno() if failed else 0)
        return failed

def large():
    lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("AnonHugePages"))

objects = [{"number": number} for number in range(800_000)]
if huge_pages._libc is not None:
    huge_pages._libc = Heard(huge_pages._libc)
laid = set()
huge_pages.gather(laid)
said, shown, answers = len(laid), large(), huge_pages._libc.answers.copy() if huge_pages._libc is not None else []
first = laid.copy()
huge_pages.gather(laid)
total = sum(o["number"] for o in objects)
print(json.dumps({"said": said, "shown": shown, "answers": answers, "kept": first <= laid, "sum": total}))
"""
_FULL = {errno.EAGAIN, errno.EBUSY, errno.ENOMEM}
"""What `madvise(2)` says where the machine has no large page to give at the moment, as when it is under load."""


def test_the_heap_lies_in_large_pages_as_far_as_the_kernel_does_it() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", IN_A_PROCESS], capture_output=True, text=True, timeout=PATIENCE_S, check=True
    )
    found = json.loads(ran.stdout)
    assert found["sum"] == sum(range(800_000))
    assert found["said"] == found["answers"].count(0)
    assert found["said"] * huge_pages.HUGE_BYTES <= found["shown"]
    assert found["kept"]
    if huge_pages.are_allowed() and _kernel() >= (6, 1):
        assert len(found["answers"]) >= 10
        assert set(found["answers"]) <= {0} | _FULL


def _kernel() -> tuple[int, int]:
    first, second, *_ = Path("/proc/sys/kernel/osrelease").read_text().split(".")
    return int(first), int(second)


@pytest.mark.parametrize(
    ("setting", "bytes_each", "asked"),
    [
        ("always [madvise] never", 2 << 20, True),
        ("[always] madvise never", 2 << 20, True),
        ("always madvise [never]", 2 << 20, False),
        ("always [madvise] never", 512 << 20, False),
    ],
)
def test_it_is_left_alone_where_the_machine_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, setting: str, bytes_each: int, asked: bool
) -> None:
    monkeypatch.setattr(huge_pages, "_SETTINGS", tmp_path)
    assert not huge_pages.are_allowed()
    (tmp_path / "enabled").write_text(setting)
    (tmp_path / "hpage_pmd_size").write_text(f"{bytes_each}\n")
    here = sys.platform == "linux" and os.sysconf("SC_PAGE_SIZE") == 4096
    assert huge_pages.are_allowed() == (asked and here)


async def test_it_is_done_again_when_the_process_has_grown(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = iter([50, 55, 70, 71, 86])
    calls: list[int] = []
    waits: list[float] = []

    async def sleep(pause_s: float) -> None:
        waits.append(pause_s)

    monkeypatch.setattr(huge_pages, "are_allowed", lambda: len(waits) < 5)
    monkeypatch.setattr(huge_pages, "_resident_bytes", lambda: next(sizes) << 20)
    monkeypatch.setattr(huge_pages, "gather", lambda _laid: calls.append(len(waits)))
    monkeypatch.setattr("starloom.process.huge_pages.asyncio.sleep", sleep)
    await huge_pages.keep_gathered()
    assert calls == [0, 2, 4]
    assert waits == [huge_pages.EVERY_S] * 5
