"""A run whose time is over begins no further test, says how many are left, and is judged by those that ran."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

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


@pytest.mark.parametrize(("left_s", "line"), [(3600.0, "3 passed"), (-1.0, "3 deselected")])
def test_after_its_time_no_test_begins(tmp_path: Path, left_s: float, line: str) -> None:
    (tmp_path / "test_some.py").write_text(TESTS, encoding="utf-8")
    argv = [sys.executable, "-m", "pytest", "-q", "-p", "tests.conftest", "-p", "no:cacheprovider", str(tmp_path)]
    environment = {**os.environ, "TESTS_UNTIL": str(time.time() + left_s), "PYTHONPATH": str(ROOT)}
    ran = subprocess.run(argv, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=180)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert ran.stdout.splitlines()[-1].startswith(line)
