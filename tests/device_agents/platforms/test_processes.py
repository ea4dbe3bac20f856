"""The mark of a process on systems without `/proc`, here by the same `ps`."""

from __future__ import annotations

import subprocess
import sys

import pytest

from starloom_agent.platforms import processes


def test_the_mark_stays_when_zone_and_language_change(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "LINUX", False)
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        marks = set()
        for zone in ("Europe/Rome", "Asia/Tokyo"):
            monkeypatch.setenv("TZ", zone)
            marks.add(processes.start_mark(child.pid))
        child.kill()
    assert len(marks) == 1
    assert None not in marks
