"""A run whose time is over begins no further test and fails; a share is drawn by its seed, and the rest counted."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.conftest import OUT_OF_TIME
from tests.waiting import SLOWER

ROOT = Path(__file__).resolve().parents[2]
TESTS = """\
import pytest
@pytest.fixture(scope="module")
def opened():
    yield
    print("closed")
@pytest.mark.parametrize("number", range(3))
def test_it(opened, number):
    pass
"""


def run(folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "pytest", "-q", "-p", "tests.conftest", "-p", "no:cacheprovider", str(folder)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **variables}
    return subprocess.run(
        argv, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=180 * SLOWER
    )


@pytest.mark.parametrize(("left_s", "code"), [(3600.0, 0), (-1.0, OUT_OF_TIME)])
def test_after_its_time_no_test_begins(tmp_path: Path, left_s: float, code: int) -> None:
    (tmp_path / "test_some.py").write_text(TESTS, encoding="utf-8")
    ran = run(tmp_path, TESTS_UNTIL=str(time.time() + left_s))
    assert ran.returncode == code, ran.stdout + ran.stderr
    assert ("3 passed" in ran.stdout) is (code == 0)
    assert ("the time of this run is over" in ran.stdout) is (code != 0)


def test_a_share_of_the_files_is_drawn_by_the_seed(tmp_path: Path) -> None:
    for number in range(20):
        (tmp_path / f"test_{number}.py").write_text(TESTS, encoding="utf-8")
    first, same, least = (
        run(tmp_path, TESTS_SHARE=share, TESTS_SEED="1").stdout.splitlines()[-1].rpartition(" in ")[0]
        for share in ("0.4", "0.4", "0.0001")
    )
    passed, deselected = (int(number) for number in re.findall("[0-9]+", first))
    assert passed % 3 == 0
    assert passed + deselected == 60
    assert 0 < passed < 60
    assert first == same
    assert least == "3 passed, 57 deselected"
