"""The key of a device is made once: whole or not at all, private, and the same for two processes that make it."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from starloom_agent.home.identity import load_or_make
from tests.killed_steps import KILLED, run_killed

MAKING = """
from pathlib import Path
from starloom_agent.home.identity import load_or_make
for name in ("replace", "rename", "unlink", "fsync", "open", "fdopen", "link"):
    setattr(os, name, counted(getattr(os, name)))
load_or_make(Path(sys.argv[1]))
print(steps)
"""


def test_a_kill_at_any_step_leaves_no_key_or_a_whole_one(tmp_path: Path) -> None:
    code, said = run_killed(MAKING, 0, str(tmp_path / "whole" / "device.key"))
    assert (code, int(said) > 3) == (0, True)
    for last in range(1, int(said) + 1):
        path = tmp_path / str(last) / "device.key"
        assert run_killed(MAKING, last, str(path))[0] == KILLED
        assert not path.exists() or path.stat().st_size == 32, last
        made = load_or_make(path)
        assert (load_or_make(path).device, path.stat().st_mode & 0o777) == (made.device, 0o600)


def test_of_two_processes_that_make_the_key_the_first_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "device.key"
    made: list[str] = []
    link = os.link

    def late(part: Any, wanted: Any) -> None:
        if not made:
            made.append("")
            made[0] = load_or_make(path).device
        link(part, wanted)

    monkeypatch.setattr(os, "link", late)
    assert load_or_make(path).device == made[0]
    assert [found.name for found in tmp_path.iterdir()] == ["device.key"]


@pytest.mark.parametrize("number", [errno.EPERM, errno.ENOTSUP])
def test_a_file_system_without_links_has_a_key_too(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lacking(*_: Any) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "link", lacking)
    made = load_or_make(tmp_path / "device.key")
    assert load_or_make(tmp_path / "device.key").device == made.device


def test_a_disk_that_is_full_leaves_no_key_and_nothing_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", refused)
    with pytest.raises(OSError, match="No space"):
        load_or_make(tmp_path / "device.key")
    assert list(tmp_path.iterdir()) == []
