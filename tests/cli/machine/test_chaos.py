"""Where `chaos run` takes its scenario from: a file, or the name of one that comes with the installation."""

from __future__ import annotations

from pathlib import Path

import pytest

from starloom.cli.machine.chaos import read_file
from starloom.client.problems import Problem


@pytest.mark.parametrize("named", ["killed-agent", "killed-agent.yaml", "recipes/scenarios/killed-agent.yaml"])
def test_a_scenario_that_comes_with_starloom_is_found_by_its_name(
    named: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert "killed" in read_file(Path(named)).decode()


def test_a_file_goes_before_a_name_and_an_unknown_name_lists_those_that_are_there(tmp_path: Path) -> None:
    mine = tmp_path / "killed-agent.yaml"
    mine.write_text("mine", encoding="utf-8")
    assert read_file(mine) == b"mine"
    with pytest.raises(Problem) as refused:
        read_file(tmp_path / "nowhere.yaml")
    assert "killed-agent, killed-hub" in refused.value.hint
