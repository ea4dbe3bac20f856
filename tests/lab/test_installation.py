"""The processes of an installation: which of those that name its home are left of it."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from starloom.lab.installation import left_over

pytestmark = pytest.mark.quick
WAITS = "import sys; print(flush=True); sys.stdin.read()"
SAYS = """
import sys
from pathlib import Path
from starloom.lab.installation import left_over
print(list(left_over(Path(sys.argv[1]))))
"""


@contextmanager
def waiting(*words: str, cwd: Path | None = None, at_terminal: bool = False) -> Iterator[int]:
    """Run a process with these words until the block ends."""
    ours, theirs = pty.openpty() if at_terminal else (-1, -1)
    lead = "import fcntl, termios, os; os.setsid(); fcntl.ioctl(0, termios.TIOCSCTTY, 0); " if at_terminal else ""
    process = subprocess.Popen(
        [sys.executable, "-c", lead + WAITS, *words],
        stdin=theirs if at_terminal else subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=cwd,
    )
    try:
        assert process.stdout is not None
        process.stdout.read(1)
        yield process.pid
    finally:
        process.kill()
        process.communicate()
        for end in (ours, theirs):
            if end >= 0:
                os.close(end)


def named(found: list[str]) -> set[int]:
    return {int(line.partition(" ")[0]) for line in found}


def test_a_process_that_names_the_home_or_stands_in_it_is_left(tmp_path: Path) -> None:
    home = tmp_path / "world"
    (home / "hub").mkdir(parents=True)
    with waiting("--home", str(home / "hub")) as one, waiting(cwd=home) as other, waiting(f"--at={home}") as third:
        assert named(list(left_over(home))) == {one, other, third}
    assert list(left_over(home)) == []


def test_a_folder_whose_name_only_begins_so_is_another(tmp_path: Path) -> None:
    with waiting(str(tmp_path / "world-2")), waiting(str(tmp_path / "world.bak" / "x")):
        assert list(left_over(tmp_path / "world")) == []


def test_the_process_that_started_this_one_is_not_left(tmp_path: Path) -> None:
    """`timeout 60 starloom bench nebula up DIR` has the folder in the words of its parent, which goes on."""
    outer = "import subprocess, sys; sys.exit(subprocess.call([sys.executable, '-c', sys.argv[2], sys.argv[1]]))"
    argv = [sys.executable, "-c", outer, str(tmp_path / "world"), SAYS]
    done = subprocess.run(argv, check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[]"


def test_a_process_at_a_terminal_is_of_a_person(tmp_path: Path) -> None:
    home = tmp_path / "world"
    home.mkdir()
    with waiting("--hub", str(home), at_terminal=True) as shell:
        assert named(list(left_over(home))) == {shell}
        assert list(left_over(home, at_terminals=False)) == []
