"""T230: a program that a request brings changes files of its device for good, and nobody was asked."""

from __future__ import annotations

import sys

import pytest

from starloom_protocol.vocabulary import Outcome
from tests.device_agents.sandbox.test_python_in_cage import Bench, bench

pytestmark = [pytest.mark.short, pytest.mark.skipif(sys.platform != "linux", reason="cages of Linux")]
__all__ = ["bench"]

ATTACKS = """
import os, shutil
folder = {folder!r}
def tried(what, *given, **named):
    try: what(*given, **named)
    except OSError: return
    print("done:", what.__name__, *given)
tried(os.remove, f"{{folder}}/kept")
tried(shutil.rmtree, f"{{folder}}/deep")
tried(os.rename, f"{{folder}}/kept", f"{{folder}}/gone")
tried(os.rename, f"{{folder}}/kept", "taken")
tried(os.replace, "program.py", f"{{folder}}/kept")
tried(os.link, f"{{folder}}/kept", "out/linked")
tried(os.truncate, f"{{folder}}/kept", 0)
tried(open, f"{{folder}}/kept", "a")
tried(open, f"{{folder}}/made", "w")
tried(os.mkdir, f"{{folder}}/new")
tried(os.symlink, "/", f"{{folder}}/away")
tried(shutil.rmtree, f"{{folder}}/.starloom-trash")
tried(open, f"/proc/self/cwd/../../{{folder}}/kept", "w")
tried(os.chmod, f"{{folder}}/kept", 0)
tried(os.utime, f"{{folder}}/kept", (1, 1))
"""


async def test_t230_a_program_changes_no_granted_folder(bench: Bench) -> None:
    granted = bench.folder / "granted"
    (granted / "deep" / "er").mkdir(parents=True)
    (granted / ".starloom-trash").mkdir()
    for name in ("kept", "deep/er/kept", ".starloom-trash/kept"):
        (granted / name).write_text("kept")
    before = {path: path.lstat() for path in (granted, *granted.rglob("*"))}
    result = await bench.python(ATTACKS.format(folder=str(granted)))
    assert result.outcome is Outcome.OK, result.detail
    assert "done:" not in (result.value or ""), result.value
    after = {path: path.lstat() for path in (granted, *granted.rglob("*"))}
    assert {path: (found.st_mode, found.st_mtime_ns, found.st_size) for path, found in after.items()} == {
        path: (found.st_mode, found.st_mtime_ns, found.st_size) for path, found in before.items()
    }
    assert {path.read_text() for path in granted.rglob("kept")} == {"kept"}
