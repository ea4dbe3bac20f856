"""What `make test` chooses to run, and that two lanes run each layer once."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

import verify
from steps import Unable
from verify import Layer


def argv_of(layers: list[Layer], name: str) -> list[str]:
    (found,) = (layer for layer in layers if layer.name == name)
    return found.argv


@pytest.mark.parametrize("name", ["tests", "processes", "chaos", "e2e"])
def test_a_slow_machine_leaves_out_what_is_long_and_nothing_else(tmp_path: Path, name: str) -> None:
    whole, short = verify.pytest_layers(tmp_path), verify.pytest_layers(tmp_path, slow=True, short=True)
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


def test_a_slow_machine_is_waited_for_longer_whatever_is_left_out(tmp_path: Path) -> None:
    for short in (False, True):
        slow = verify.pytest_layers(tmp_path, slow=True, short=short)
        assert {layer.environment.get("TESTS_SLOWER") for layer in slow} == {str(verify.SLOWER)}
        assert "-n" not in argv_of(slow, "chaos")
    for short in (False, True):
        fast = verify.pytest_layers(tmp_path, short=short)
        assert not any("TESTS_SLOWER" in layer.environment for layer in fast)
        assert "-n" in argv_of(fast, "chaos")


@pytest.mark.parametrize(("given", "slow"), [(1.0, False), (0.6, False), (0.59, True), (0.1, True)])
def test_the_pace_of_the_machine_decides(
    given: float, slow: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("LONG", raising=False)
    monkeypatch.setattr(verify, "pace", lambda: given)
    assert verify.is_slow() is slow
    assert verify.is_short(slow) is slow
    assert ("LONG=1" in capsys.readouterr().out) is slow


@pytest.mark.parametrize(("asked", "short"), [("1", False), ("0", True)])
def test_who_asks_decides_what_is_left_out(asked: str, short: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LONG", asked)
    assert verify.is_short(slow=True) is short
    assert verify.is_short(slow=False) is short


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
