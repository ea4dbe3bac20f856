"""Only a failed test or a violation counts as a bug that was noticed; a copy that does not run shows nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.programs import ran
from tests.seeded_bugs.run import COMMANDS, ROOT, Broken, copy_to, fails, found_wrong, sound

pytestmark = pytest.mark.test


@pytest.mark.parametrize(
    ("verdict", "found"),
    [
        ("1 failed, 3 passed in 0.12s", True),
        ("1 failed, 1 error in 0.12s", True),
        ("12 passed in 0.12s", False),
        ("1 error in 0.12s", None),
        ("11 passed, 2 errors in 0.12s", None),
        ('{"schedules": 3, "violations": 1}', True),
        ('{"schedules": 3, "violations": 0}', False),
        ('{"sequences": 3, "different": true}', True),
        ("ModuleNotFoundError: No module named 'tests.waiting'", None),
        ("", None),
    ],
)
def test_only_failures_and_violations_count(verdict: str, found: bool | None) -> None:
    assert found_wrong(verdict) is found


@pytest.mark.parametrize("layer", ["core", "sim"])
def test_a_copy_that_cannot_run_catches_nothing(tmp_path: Path, layer: str) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "__init__.py").write_text("raise ImportError('a module is missing')\n")
    with pytest.raises(Broken):
        fails(layer, tmp_path)


def test_a_baseline_out_of_time_is_told_and_nothing_is_caught() -> None:
    done = ran(
        [sys.executable, "-m", "tests.seeded_bugs.run", "a result of another incarnation counts"],
        cwd=ROOT,
        env={**os.environ, "TESTS_SLOWER": "0.0001"},
    )
    told = done.stdout + done.stderr
    assert done.returncode == 1
    assert "Traceback" not in told
    assert "the core tests did not end within 0.09 s. The way out: PROCESSES=1" in told
    assert "NOT SHOWN  core a result of another incarnation counts" in told
    assert json.loads(done.stdout.splitlines()[-1]) == {"bugs": 1, "caught": 0}


def test_a_baseline_that_fails_says_how_to_see_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "tests" / "core").mkdir(parents=True)
    (tmp_path / "tests" / "core" / "test_it.py").write_text(
        "def test_it() -> None:\n    assert 1 == 2, 'AssertionError'\n"
    )
    assert not sound("core", tmp_path)
    told = capsys.readouterr().out
    assert told.startswith("RED        core without any bug: ")
    assert "To see it: python -m pytest" in told


def test_a_copy_is_the_whole_tree(tmp_path: Path) -> None:
    copy_to(tmp_path)
    for name in ("tests/waiting.py", "pyproject.toml", "recipes", "tests/store/twins.py"):
        assert (tmp_path / name).exists()
    assert not (tmp_path / ".venv").exists()
    # Nothing is asserted: to write each assertion out, and to keep it, was half of the work.
    listed = [sys.executable, "-B", "-m", "pytest", "-q", "--collect-only", "--assert=plain", "-p", "no:cacheprovider"]
    done = subprocess.run([*listed, *layer_folders()], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:]


def layer_folders() -> list[str]:
    """Return the folders and modules of tests that the layers run."""
    found = [word for command in COMMANDS.values() for word in command if word.startswith("tests/")]
    assert found
    assert all((ROOT / name).exists() for name in found)
    return found
