"""A run whose time is over begins no further test and fails, whatever passed before."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.conftest import OUT_OF_TIME

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


@pytest.mark.parametrize(("left_s", "code"), [(3600.0, 0), (-1.0, OUT_OF_TIME)])
def test_after_its_time_no_test_begins(tmp_path: Path, left_s: float, code: int) -> None:
    (tmp_path / "test_some.py").write_text(TESTS, encoding="utf-8")
    argv = [sys.executable, "-m", "pytest", "-q", "-p", "tests.conftest", "-p", "no:cacheprovider", str(tmp_path)]
    environment = {**os.environ, "TESTS_UNTIL": str(time.time() + left_s), "PYTHONPATH": str(ROOT)}
    ran = subprocess.run(argv, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=180)
    assert ran.returncode == code, ran.stdout + ran.stderr
    assert ("3 passed" in ran.stdout) is (code == 0)
    assert ("the time of this run is over" in ran.stdout) is (code != 0)
