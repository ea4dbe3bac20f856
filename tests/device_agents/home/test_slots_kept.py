"""The number of calls at once that an owner names is kept for the starts that name none."""

from __future__ import annotations

from pathlib import Path

import pytest

from starloom_agent import cli
from starloom_agent.home.directory import DEFAULT_SLOTS, AgentHome, Joined


def joined_home(root: Path) -> AgentHome:
    home = AgentHome.at(str(root))
    home.make()
    home.join(Joined(hub="https://hub", hub_key="", name="desk"))
    return home


def test_a_later_start_takes_the_number_named_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home, started = joined_home(tmp_path), list[int]()
    monkeypatch.setattr("starloom_agent.install.background.start", lambda *_, slots: started.append(slots))
    for words in ([], ["--slots", "2"], [], ["--slots", "3"], []):
        assert cli.main(["start", "--home", str(home.root), *words]) == 0
    assert started == [DEFAULT_SLOTS, 2, 2, 3, 3]


def test_status_says_the_number_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    home = joined_home(tmp_path)
    home.keep_slots(2)
    assert cli.main(["status", "--home", str(home.root)]) == 0
    assert "at once   2 tasks" in capsys.readouterr().out


@pytest.mark.parametrize("text", ["", "many", "0", "5000"])
def test_a_number_that_is_none_counts_as_the_usual(tmp_path: Path, text: str) -> None:
    home = joined_home(tmp_path)
    home.slots.write_text(text, encoding="utf-8")
    assert home.slots_kept() == DEFAULT_SLOTS
