"""A tier runs its tests and no others, ends itself in words, and counts each second try by name."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

import programs
import tier
from steps import Unable
from tests.browsers import HEADLESS_SHELL, lean_browser
from tests.tiers import OUT_OF_TIME
from tests.waiting import SLOWER

ROOT = Path(__file__).resolve().parents[2]
CONFIGURATION = """\
[pytest]
markers =
    chaos: of real processes
    quick: tier
    test: tier
    proof: tier
    short: tier
"""
TESTS = """\
from pathlib import Path
import pytest

@pytest.mark.quick
def test_of_quick(): pass

@pytest.mark.short
def test_without_mark(): pass

@pytest.mark.proof
def test_of_proof(): pass

@pytest.mark.proof
@pytest.mark.parametrize("number", [pytest.param(1, marks=pytest.mark.quick), 2])
def test_of_both(number): pass
"""
FLAKY = """\
from pathlib import Path
import pytest

{mark}
def test_flaky():
    seen = Path({seen!r})
    tries = len(seen.read_text()) if seen.exists() else 0
    seen.write_text("x" * (tries + 1))
    assert tries >= {fails}
"""
SHARED = """\
import pytest

@pytest.fixture(scope="module")
def stack():
    made = []
    yield made
    print("ended with", made)

@pytest.fixture(scope="module")
def model(stack):
    yield stack
    stack.append("model ended")

@pytest.mark.chaos
def test_that_goes_well(model): pass

@pytest.mark.chaos
def test_that_fails_in_the_middle(model):
    assert not model
    model.append("gate closed")
    raise AssertionError

@pytest.fixture
def closing(stack):
    yield
    stack.append("not closed")
    raise OSError

@pytest.mark.chaos
def test_that_fails_at_its_end(closing, stack):
    assert not stack

@pytest.mark.chaos
def test_after_both(stack):
    assert not stack
"""
PLUGINS = [word for name in ("xdist", "pytest_rerunfailures", "pytest_timeout") for word in ("-p", name)]
"""Those of a tier. Each of the processes would load the others as well, which is a third of all that it does."""

PARALLEL = ("-n", "2", "--dist=loadfile", "--no-loadscope-reorder")


def run(folder: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    (folder / "pytest.ini").write_text(CONFIGURATION, encoding="utf-8")
    argv = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "tests.conftest",
        "-p",
        "no:cacheprovider",
        *PLUGINS,
        *arguments,
    ]
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": str(ROOT), **variables}
    return subprocess.run(
        [*argv, str(folder)],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=180 * SLOWER,
    )


@pytest.mark.parametrize(
    ("name", "passed", "how"),
    [("quick", 2, PARALLEL), ("test", 3, ()), ("test", 3, PARALLEL), ("proof", 5, ()), ("short", 1, PARALLEL)],
)
def test_a_tier_runs_the_tests_of_its_marks(tmp_path: Path, name: str, passed: int, how: tuple[str, ...]) -> None:
    (tmp_path / "test_some.py").write_text(TESTS, encoding="utf-8")
    ran = run(tmp_path, f"--tier={name}", *how)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    last = ran.stdout.splitlines()[-1]
    assert last.startswith(f"{passed} passed, 0 failed")
    assert ("tier `short`" in last) is (name == "short")


def test_without_a_tier_every_test_runs(tmp_path: Path) -> None:
    (tmp_path / "test_some.py").write_text(TESTS, encoding="utf-8")
    assert "5 passed" in run(tmp_path).stdout.splitlines()[-1]


@pytest.mark.parametrize("folder", ["core", "e2e"])
def test_a_file_or_a_shared_folder_has_one_worker(tmp_path: Path, folder: str) -> None:
    place = tmp_path / "tests" / folder
    place.mkdir(parents=True)
    writes = "import pytest\n@pytest.mark.parametrize('number', range(6))\ndef test_it(worker_id, number):\n"
    writes += f"    open({str(tmp_path / 'said')!r}, 'a').write(f'{{worker_id}} {{__file__}}\\n')\n"
    for name in ("one", "two", "three"):
        (place / f"test_{name}.py").write_text(writes, encoding="utf-8")
    assert run(tmp_path, "--tier=test", *PARALLEL).returncode == 0
    pairs = {tuple(line.split()) for line in (tmp_path / "said").read_text().splitlines()}
    assert len(pairs) == 3
    assert len({worker for worker, _ in pairs}) == (1 if folder == "e2e" else 2)


def test_what_computes_runs_beside_what_waits(tmp_path: Path) -> None:
    """The browser has two installations, and one worker begins with what computes although what waits comes first."""
    writes = (
        f"def test_it(worker_id):\n    open({str(tmp_path / 'said')!r}, 'a').write(f'{{worker_id}} {{__file__}}\\n')\n"
    )
    for file in ("e2e/test_one", "e2e/test_two", "e2e/test_walk", "chaos/test_three", "core/test_four"):
        place = tmp_path / "tests" / f"{file}.py"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(writes, encoding="utf-8")
    workers = str((os.cpu_count() or 1) + 1)
    assert run(tmp_path, "--tier=test", "-n", workers, *PARALLEL[2:]).returncode == 0
    order: dict[str, list[str]] = {}
    for line in (tmp_path / "said").read_text().splitlines():
        worker, file = line.split()
        order.setdefault(worker, []).append(Path(file).stem)
    of = {file: worker for worker, files in order.items() for file in files}
    assert of["test_one"] == of["test_two"] != of["test_walk"]
    assert order[of["test_four"]][0] == "test_four"


@pytest.mark.parametrize("how", [(), PARALLEL], ids=["alone", "parallel"])
def test_a_run_past_its_end_names_what_did_not_run(tmp_path: Path, how: tuple[str, ...]) -> None:
    (tmp_path / "test_some.py").write_text(TESTS, encoding="utf-8")
    ran = run(tmp_path, "--tier=test", *how, TESTS_UNTIL=str(time.time() - 1))
    assert ran.returncode == OUT_OF_TIME, ran.stdout + ran.stderr
    assert "before 3 tests began" in ran.stdout
    assert "  test_some.py::test_of_quick\n" in ran.stdout
    assert ran.stdout.splitlines()[-1] == "0 passed, 0 failed, 3 not run"


def test_a_test_beyond_its_limit_fails(tmp_path: Path) -> None:
    endless = "import pytest, signal\n@pytest.mark.timeout(0.05)\ndef test_endless(): signal.pause()\n"
    (tmp_path / "test_some.py").write_text(endless, encoding="utf-8")
    ran = run(tmp_path, "--tier=test")
    assert ran.returncode == 1, ran.stdout + ran.stderr
    assert "Timeout" in ran.stdout


def test_tests_of_recipes_are_of_real_processes(tmp_path: Path) -> None:
    place = tmp_path / "tests" / "recipes"
    place.mkdir(parents=True)
    text = FLAKY.format(mark="", seen=str(tmp_path / "seen"), fails=1)
    (place / "test_some.py").write_text(text, encoding="utf-8")
    ran = run(tmp_path, "--tier=test", *PARALLEL)
    assert "Second tries: 1, of 1 tests." in ran.stdout, ran.stdout + ran.stderr


@pytest.mark.parametrize(
    ("mark", "fails", "again", "last", "how"),
    [
        ("@pytest.mark.chaos", 1, 1, "1 passed, 0 failed", PARALLEL),
        ("@pytest.mark.chaos", 99, 2, "0 passed, 1 failed", PARALLEL),
        ("@pytest.mark.chaos", 1, 1, "1 passed, 0 failed", ()),
        ("", 1, 0, "0 passed, 1 failed", PARALLEL),
    ],
)
def test_only_real_processes_are_tried_again_and_are_counted(
    tmp_path: Path, mark: str, fails: int, again: int, last: str, how: tuple[str, ...]
) -> None:
    text = FLAKY.format(mark=mark, seen=str(tmp_path / "seen"), fails=fails)
    (tmp_path / "test_some.py").write_text(text, encoding="utf-8")
    ran = run(tmp_path, "--tier=test", *how)
    assert f"Second tries: {again}, of {min(again, 1)} tests." in ran.stdout, ran.stdout + ran.stderr
    assert ("test_some.py::test_flaky (seen in two runs" in ran.stdout) is (again > 0)
    account = ran.stdout.partition("Second tries:")[2]
    assert ("    E " in account) is (again > 0), account
    assert ran.stdout.splitlines()[-1] == last


def test_a_second_try_and_the_tests_after_it_begin_anew(tmp_path: Path) -> None:
    """The second try would meet the gate that the first one closed; so would the test after both."""
    for name in ("last", "some"):
        text = SHARED if name == "some" else SHARED.partition("@pytest.fixture\ndef closing")[0]
        (tmp_path / f"test_{name}.py").write_text(text, encoding="utf-8")
    ran = run(tmp_path, "--tier=test", "-s")
    assert "Second tries: 6, of 3 tests." in ran.stdout, ran.stdout + ran.stderr
    assert ran.stdout.count("ended with ['gate closed', 'model ended']") == 2 * 3, ran.stdout
    assert ran.stdout.count("ended with ['not closed']") == 3, ran.stdout
    assert ran.stdout.splitlines()[-1].endswith(" passed, 3 failed"), "those after them go well"


@pytest.mark.parametrize(
    ("found", "factor"), [(1.0, 1), (tier.SLOW_BELOW, 1), (0.5, 5), (0.1, 10), (0.001, 15), (0.0, 15)]
)
def test_a_slow_machine_is_waited_for_longer(found: float, factor: int) -> None:
    assert tier.slower(found) == factor


@pytest.mark.parametrize(
    ("asked", "found", "must_end", "chosen"),
    [
        ("test", 1.0, True, "test"),
        ("test", tier.SHORT_BELOW, True, "test"),
        ("test", 0.1, True, "short"),
        ("test", 0.1, False, "test"),
        ("proof", 0.1, True, "proof"),
    ],
)
def test_only_a_run_that_must_end_is_short_on_a_slow_machine(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    asked: str,
    found: float,
    must_end: bool,
    chosen: str,
) -> None:
    monkeypatch.setenv("TESTS_UNTIL", "1" if must_end else "")
    assert tier.tier_for(asked, found) == chosen
    said = capsys.readouterr().out
    assert said.startswith("Tier `short`") is (chosen == "short")


def test_root_without_useradd_learns_it_before_the_tests(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "useradd"
    program.touch(mode=0o755)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setenv("PATH", "/nonexistent")
    monkeypatch.setattr(programs, "ADMINISTRATION", (str(tmp_path),))
    programs.ensure_useradd()
    monkeypatch.setattr(programs, "ADMINISTRATION", ())
    with pytest.raises(Unable, match="useradd"):
        programs.ensure_useradd()
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    programs.ensure_useradd()


@pytest.mark.parametrize(
    ("there", "available", "asked"),
    [
        ([], ["chromium", "shell"], [["chromium", "shell"]]),
        (["chromium"], ["shell"], [["chromium", "shell"]]),
        (["chromium"], [], [["chromium", "shell"]]),
        ([], ["chromium"], [["chromium", "shell"], ["chromium"]]),
        (["chromium", "shell"], [], []),
    ],
    ids=["nothing", "chromium", "no shell to be had", "chromium alone to be had", "both"],
)
def test_the_headless_shell_is_installed_where_there_is_one(
    monkeypatch: pytest.MonkeyPatch, there: list[str], available: list[str], asked: list[list[str]]
) -> None:
    found: list[list[str]] = []

    def install(what: str, need: str, packages: list[str]) -> None:
        found.append(packages)
        if not {*packages} <= {*there, *available}:
            raise Unable("not to be had", "")
        there.extend(packages)

    monkeypatch.setattr(programs, "HEADLESS_SHELL", "shell")
    monkeypatch.setattr(programs, "_install", install)
    monkeypatch.setattr(shutil, "which", lambda name: name if name in there else None)
    programs.ensure_browser()
    assert found == asked
    assert "chromium" in there


def test_a_browser_test_starts_the_headless_shell_before_the_whole_browser(monkeypatch: pytest.MonkeyPatch) -> None:
    there = {"chromium": "/usr/bin/chromium", HEADLESS_SHELL: "/usr/bin/shell"}
    monkeypatch.setattr(shutil, "which", there.get)
    assert (HEADLESS_SHELL, lean_browser()) == (programs.HEADLESS_SHELL, "/usr/bin/shell")
    del there[HEADLESS_SHELL]
    assert lean_browser() == "/usr/bin/chromium"
    there.clear()
    with pytest.raises(AssertionError, match="apt-get install chromium"):
        lean_browser()
