"""What `make test` chooses to run, and that two lanes run each layer once."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

import verify
from amount import SHARE_LEAST, Amount
from steps import Unable
from verify import Layer


def argv_of(layers: list[Layer], name: str) -> list[str]:
    (found,) = (layer for layer in layers if layer.name == name)
    return found.argv


@pytest.mark.parametrize("name", ["tests", "processes", "chaos", "e2e"])
def test_a_slow_machine_leaves_out_what_is_long_and_nothing_else(tmp_path: Path, name: str) -> None:
    whole, short = verify.pytest_layers(tmp_path), verify.pytest_layers(tmp_path, Amount(slower=5, short=True))
    assert [layer.name for layer in whole] == [layer.name for layer in short]
    assert "not long" not in argv_of(whole, name)
    assert "not long" in argv_of(short, name)
    changed = {layer.name for layer, other in zip(whole, short, strict=True) if layer.argv != other.argv}
    assert changed == {"tests", "processes", "chaos", "e2e"}


def test_every_folder_of_tests_is_in_one_layer(tmp_path: Path) -> None:
    folders = {path.relative_to(verify.ROOT / "tests").parts[0] for path in (verify.ROOT / "tests").rglob("test_*.py")}
    quick, processes, *own = verify.pytest_layers(tmp_path)
    ignored = {word.rpartition("/")[2] for word in quick.argv if word.startswith("--ignore=")}
    named = [word.rpartition("/")[2] for layer in (processes, *own) for word in layer.argv if word.startswith("tests/")]
    assert sorted(named) == sorted(ignored)
    assert ignored < folders


@pytest.mark.parametrize("short", [False, True])
def test_a_slow_machine_is_waited_for_longer_whatever_is_left_out(tmp_path: Path, short: bool) -> None:
    slow = verify.pytest_layers(tmp_path, Amount(slower=7, short=short))
    assert {layer.environment.get("TESTS_SLOWER") for layer in slow} == {"7"}
    assert "-n" not in argv_of(slow, "chaos")
    fast = verify.pytest_layers(tmp_path, Amount(short=short))
    assert not any("TESTS_SLOWER" in layer.environment for layer in fast)
    assert "-n" in argv_of(fast, "chaos")


def test_a_slow_machine_that_must_end_runs_a_share_of_every_layer(tmp_path: Path) -> None:
    told = "import os; print(os.environ.get('TESTS_SHARE'), os.environ.get('TESTS_SEED'), 'passed')"
    layers = [
        Layer(name, [sys.executable, "-c", told, "pytest"], tmp_path, counted=True)
        for name in ("tests", "processes", "chaos")
    ]
    layers += [Layer("types", [sys.executable, "-c", told], tmp_path)]
    verify.run_all(layers, Amount(slower=5, short=True, until_s=0.0, seed=4, found=0.2))
    for layer in layers[:3]:
        assert layer.environment == {"TESTS_SHARE": f"{SHARE_LEAST:.3f}", "TESTS_SEED": "4"}
    assert layers[3].environment == {}


def test_a_share_of_the_page_is_some_of_its_parts() -> None:
    layer = Layer("page test", ["npm", "run", "-s", "test", "--", "--maxWorkers=1"], counted=True)
    verify.divide(layer, 0.5, 7)
    assert layer.argv == ["npm", "run", "-s", "test", "--", "--maxWorkers=1", "--shard=2/2"]


def test_whoever_asks_for_a_layer_gets_all_of_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (asked,) = verify.chosen("chaos", tmp_path, Amount(slower=5, short=True, until_s=0.0))
    assert capsys.readouterr().out == ""
    assert "not long" not in asked.argv
    assert asked.environment == {"TESTS_SLOWER": "5"}


FLAKY = """\
from pathlib import Path
import pytest
@pytest.mark.parametrize("number", range({failing}))
def test_it(number):
    seen = Path({seen!r}) / str(number)
    first = not seen.exists()
    seen.touch()
    assert not ({always} or first)
def test_good():
    pass
"""


@pytest.mark.parametrize(
    ("failing", "always", "ok", "line"),
    [
        (1, False, True, "2 passed, 0 failed"),
        (1, True, False, "1 passed, 1 failed"),
        (verify.AGAIN_MOST + 1, False, False, f"1 passed, {verify.AGAIN_MOST + 1} failed"),
    ],
)
def test_what_fails_is_tried_once_more_and_a_fault_stays_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], failing: int, always: bool, ok: bool, line: str
) -> None:
    file = tmp_path / "test_some.py"
    (tmp_path / "seen").mkdir()
    file.write_text(FLAKY.format(failing=failing, always=always, seen=str(tmp_path / "seen")), encoding="utf-8")
    how = ["-q", f"--basetemp={tmp_path / 'base'}", "-o", f"cache_dir={tmp_path / 'cache'}"]
    layer = Layer("tests", [sys.executable, "-m", "pytest", *how, str(file)], tmp_path, counted=True)
    layer.run()
    assert not layer.ok
    verify.once_more([layer])
    assert layer.ok is ok
    assert verify.summary([layer]) == (0 if ok else 1)
    said = capsys.readouterr().out
    assert said.splitlines()[-1] == line
    assert ("1 of them at the second try" in said) is ok


DRAWN = """
import random
from pathlib import Path
def test_it():
    with Path({seen!r}).open("a") as seen:
        print(random.random(), file=seen)
    assert False
"""


def test_the_second_try_draws_what_the_first_drew(tmp_path: Path) -> None:
    file, seen = tmp_path / "test_some.py", tmp_path / "seen"
    file.write_text(DRAWN.format(seen=str(seen)), encoding="utf-8")
    how = ["-q", f"--basetemp={tmp_path / 'base'}", "-o", f"cache_dir={tmp_path / 'cache'}"]
    layer = Layer("tests", [sys.executable, "-m", "pytest", *how, str(file)], tmp_path, counted=True)
    layer.run()
    verify.once_more([layer])
    first, second = seen.read_text().split()
    assert first == second


def test_what_was_left_out_stands_in_the_summary(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    says = "print('26 passed, 63 deselected in 100.00s')"
    layer = Layer("chaos", [sys.executable, "-c", says], cwd=tmp_path, counted=True)
    layer.run()
    assert verify.summary([layer]) == 0
    said = capsys.readouterr().out
    assert "26 passed, 63 not run (`make chaos` runs them)" in said
    assert said.splitlines()[-1] == "26 passed, 0 failed"


def test_two_lanes_run_each_layer_once_and_chaos_beside_the_first(tmp_path: Path) -> None:
    began, meeting = tmp_path / "began", tmp_path / "meeting"
    began.mkdir()
    # Each end of it waits until the other is opened: one after the other they would never end.
    os.mkfifo(meeting)
    meets = {"format": f"open({str(meeting)!r}).read()", "chaos": f"open({str(meeting)!r}, 'w').close()"}

    def layer(name: str) -> Layer:
        program = f"open({str(began / name)!r}, 'x').close(); {meets.get(name, '')}"
        return Layer(name, [sys.executable, "-c", program], cwd=tmp_path)

    layers = [layer(name) for name in ("format", "tests", "sim", "chaos", "e2e", "page")]
    verify.run_all(layers)
    assert all(each.ok for each in layers)
    assert {path.name for path in began.iterdir()} == {each.name for each in layers}


def test_a_layer_that_fails_fails_the_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    layer = Layer(
        "tests", [sys.executable, "-c", "print('3 passed, 1 error in 1.00s'); exit(1)"], tmp_path, counted=True
    )
    layer.run()
    assert verify.summary([layer]) == 1
    assert capsys.readouterr().out.splitlines()[-1] == "3 passed, 1 failed"


def test_what_a_layer_needs_is_there_before_it_begins(tmp_path: Path) -> None:
    needed = tmp_path / "needed"
    layer = Layer("e2e", [sys.executable, "-c", "open('needed')"], tmp_path, before=needed.touch)
    layer.run()
    assert layer.ok


def test_a_layer_whose_needs_cannot_be_met_does_not_begin_and_fails(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def need() -> None:
        raise Unable("the browser tests need Chromium", "install it")

    layer = Layer("e2e", [sys.executable, "-c", "open('began', 'x')"], tmp_path, counted=True, before=need)
    layer.run()
    assert not (tmp_path / "began").exists()
    assert verify.summary([layer], 12.0) == 1
    said = capsys.readouterr().out
    assert "The way out: install it" in said
    assert said.splitlines()[-1] == "0 passed, 1 failed"


def test_root_without_useradd_learns_it_before_the_tests(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "useradd"
    program.touch(mode=0o755)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setenv("PATH", "/nonexistent")
    monkeypatch.setattr(verify, "ADMINISTRATION", (str(tmp_path),))
    verify.ensure_useradd()
    monkeypatch.setattr(verify, "ADMINISTRATION", ())
    with pytest.raises(Unable, match="useradd"):
        verify.ensure_useradd()
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    verify.ensure_useradd()
