"""The agent empties the trashes of its folders at the start and once a day, and one that fails stops no other."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from starloom_agent.policy.policy import Policy
from starloom_agent.policy.trash_rule import TrashRule
from starloom_agent.toolkit.beneath import TRASH
from starloom_agent.toolkit.files.emptying import DAY_S, Bounds, empty_by_bounds
from starloom_agent.toolkit.interface import Folders
from starloom_agent.work.calls import trash_keeper
from starloom_agent.work.calls.trash_keeper import TrashKeeper, empty_all
from tests.device_agents.tools.conftest import Device


class Allowed:
    """The part of an allowance that the keeper reads."""

    def __init__(self, *roots: Path) -> None:
        self.policy = Policy(trash=TrashRule(keep_days=2))
        self._roots = roots

    def folders(self) -> Folders:
        return Folders.of(write=[str(root) for root in self._roots])


def test_an_emptying_begins_at_the_start_and_once_a_day(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[Any] = []
    monkeypatch.setattr(trash_keeper, "empty_all", lambda *work: begun.append(work))
    now = [100.0]
    allowed: Any = Allowed(tmp_path)
    keeper = TrashKeeper(allowed, print, lambda: now[0])

    def swept() -> int:
        keeper.sweep()
        assert keeper._thread is not None
        keeper._thread.join()
        return len(begun)

    assert [swept(), swept()] == [1, 1]
    assert begun[0][:2] == ((tmp_path,), Bounds(keep_days=2))
    now[0] += DAY_S - 1
    assert swept() == 1
    now[0] += 1
    assert [swept(), swept()] == [2, 2]


def test_a_trash_that_fails_stops_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    device = Device(tmp_path)
    device.write("a", "x")
    (ticket,) = device.call("fs.trash", paths=["a"])["tickets"]
    locked = tmp_path / "locked"
    (locked / TRASH).mkdir(parents=True)
    real = empty_by_bounds

    def late(files: Any, root: Path, *given: Any, clock_s: float) -> int:
        if root == locked:
            raise PermissionError(13, "Permission denied", str(root))
        return real(files, root, *given, now_s=time.time() + 3 * DAY_S, clock_s=clock_s)

    monkeypatch.setattr(trash_keeper, "empty_by_bounds", late)
    said: list[str] = []
    roots = (locked, tmp_path / "not there", device.folder)
    empty_all(roots, Bounds(keep_days=2), said.append, 100)
    assert (device.folder / TRASH / ticket).exists(), "seen for the first time"
    said.clear()
    empty_all(roots, Bounds(keep_days=2), said.append, 100 + DAY_S)
    assert [line.split(":")[0] for line in said] == [
        f"the trash of {locked} could not be emptied", f"the trash of {device.folder}",
    ]  # fmt: skip
    assert f"emptied {device.folder}/a, " in said[1]
    assert "(older than 2 days)" in said[1]
    assert not (device.folder / TRASH / ticket).exists()


def test_a_long_list_is_cut_and_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def many(_files: Any, _root: Path, _bounds: Bounds, say: Any, clock_s: float) -> int:
        for number in range(50):
            say(str(number))
        return 0

    monkeypatch.setattr(trash_keeper, "empty_by_bounds", many)
    said: list[str] = []
    empty_all((tmp_path,), Bounds(), said.append, 0)
    assert len(said) == 21
    assert "30 more; starloom-agent trash log names them" in said[-1]
