"""Waiting for a text in a file that is written meanwhile, and for the end of a process."""

from __future__ import annotations

import os
import subprocess
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from starloom_agent.toolkit.interface import ToolFailed
from starloom_agent.tools.wait import Until, until
from starloom_protocol.vocabulary import Code
from tests.device_agents.tools.conftest import Device

MEGABYTE = 1024 * 1024


@pytest.fixture
def log(device: Device) -> Path:
    return device.folder / "app.log"


def waited(device: Device, *between: Callable[[], object], contains: str = "needle", within_s: float = 60) -> int:
    """Wait for the text; something happens after each look. Return the number of looks."""
    steps = iter(between)
    passed = [0.0]

    def pause(seconds: float) -> None:
        passed[0] += seconds
        next(steps, lambda: None)()

    args = Until(what="text", path="app.log", contains=contains, every_s=1, within_s=within_s)
    return until(device.context(), args, clock=lambda: passed[0], pause=pause)["looks"]


def append(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


@pytest.mark.parametrize("before", [0, 1, 3, MEGABYTE - 3, MEGABYTE, 3 * MEGABYTE - 1])
def test_a_text_is_found_across_the_border_of_two_reads(device: Device, log: Path, before: int) -> None:
    log.write_bytes(b"x" * before + b"needle" + b"x" * MEGABYTE)
    assert waited(device) == 1


@pytest.mark.parametrize("before", [10, 2 * MEGABYTE])
def test_a_text_is_found_that_is_written_in_two_parts(device: Device, log: Path, before: int) -> None:
    log.write_bytes(b"x" * before + b"nee")
    assert waited(device, lambda: append(log, b"dle\n")) == 2


@pytest.mark.parametrize("before", [10, 2 * MEGABYTE])
def test_a_text_is_found_before_and_after_a_rotation(device: Device, log: Path, before: int) -> None:
    def rotate(last: bytes, first: bytes) -> None:
        append(log, last)
        log.rename(log.with_suffix(".1"))
        log.write_bytes(first)

    log.write_bytes(b"x" * before)
    assert waited(device, lambda: rotate(b"needle", b"")) == 2
    log.write_bytes(b"x" * before)
    assert waited(device, lambda: rotate(b"", b"needle")) == 2
    log.write_bytes(b"x" * before + b"nee")
    with pytest.raises(ToolFailed):  # the end of one file and the beginning of another are no text
        waited(device, lambda: rotate(b"", b"dle"), within_s=5)


@pytest.mark.parametrize("size", [10, 2 * MEGABYTE])
def test_a_text_is_found_in_a_file_that_is_cut_and_written_again(device: Device, log: Path, size: int) -> None:
    log.write_bytes(b"x" * size)
    assert waited(device, lambda: log.write_bytes(b""), lambda: log.write_bytes(b"y" * size + b"needle")) == 3
    log.write_bytes(b"x" * size)
    assert waited(device, lambda: log.write_bytes(b"needle" + b"y" * 2 * size)) == 2, "longer than before at once"


def test_a_small_file_may_change_anywhere(device: Device, log: Path) -> None:
    log.write_text('{"state": "waits_", "tail": "%s"}' % ("x" * 10_000), encoding="utf-8")

    def change() -> None:
        with log.open("r+b") as file:
            file.seek(11)
            file.write(b"needle")

    assert waited(device, change) == 2


def test_a_large_file_is_read_once_and_in_bounded_memory(
    device: Device, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log.write_bytes(b"x" * (32 * MEGABYTE))
    read = 0
    pread = os.pread

    def counted(handle: int, most: int, offset: int) -> bytes:
        nonlocal read
        found = pread(handle, most, offset)
        read += len(found)
        return found

    monkeypatch.setattr(os, "pread", counted)
    tracemalloc.start()
    try:
        assert waited(device, *[lambda: append(log, b"line\n")] * 20, lambda: append(log, b"needle")) == 22
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 8 * MEGABYTE
    assert read < 34 * MEGABYTE


def test_a_file_without_an_end_ends_with_the_time(device: Device, log: Path) -> None:
    with log.open("wb") as file:
        file.truncate(1 << 40)
    ticks = iter(range(1_000_000))
    args = Until(what="text", path="app.log", contains="needle", every_s=1, within_s=30)
    with pytest.raises(ToolFailed) as refused:
        until(device.context(), args, clock=lambda: float(next(ticks)), pause=lambda _: None)
    assert refused.value.code is Code.NOT_IN_TIME
    assert next(ticks) < 100


def test_no_descriptor_is_left(device: Device, log: Path) -> None:
    log.write_bytes(b"needle")
    before = {path.name for path in Path("/proc/self/fd").iterdir()}
    for _ in range(5):
        waited(device)
    # What an earlier test left may close meanwhile: only a new one is the fault of a wait.
    assert {path.name for path in Path("/proc/self/fd").iterdir()} <= before


@pytest.mark.parametrize("holds", [True, False])
def test_a_process_that_has_ended_is_known_by_itself(
    device: Device, monkeypatch: pytest.MonkeyPatch, holds: bool
) -> None:
    if not holds:
        monkeypatch.delattr(os, "pidfd_open")
    program = subprocess.Popen(["cat"], stdin=subprocess.PIPE)
    looks = 0

    def pause(_: float) -> None:
        nonlocal looks
        looks += 1
        program.communicate()

    args = Until(what="process_ended", pid=program.pid, every_s=1, within_s=60)
    assert until(device.context(), args, clock=lambda: 0.0, pause=pause)["looks"] == 2
    assert looks == 1
    assert device.call("wait.until", what="process_ended", pid=program.pid)["looks"] == 1


def test_a_number_that_another_process_has_meanwhile_has_ended(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    program = subprocess.Popen(["cat"], stdin=subprocess.PIPE)

    def pause(_: float) -> None:
        program.communicate()
        monkeypatch.setattr(os, "kill", lambda *_: None)

    args = Until(what="process_ended", pid=program.pid, every_s=1, within_s=60)
    ticks = iter(range(1000))
    assert until(device.context(), args, clock=lambda: float(next(ticks)), pause=pause)["looks"] == 2
