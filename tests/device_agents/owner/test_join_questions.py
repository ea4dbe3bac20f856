"""The questions of a join in a terminal: a wrong answer is asked again, and a folder's name may have a space."""

from __future__ import annotations

from pathlib import Path

import pytest

from starloom_agent.owner import join_command
from starloom_protocol.vocabulary import Profile


def answering(monkeypatch: pytest.MonkeyPatch, *answers: str) -> list[str]:
    """Answer the questions in order, and return the list of what was asked."""
    asked: list[str] = []
    left = list(answers)

    def answer(question: str) -> str:
        asked.append(question)
        return left.pop(0)

    monkeypatch.setattr("builtins.input", answer)
    return asked


def test_a_folder_that_is_not_there_is_asked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "Old photos").mkdir()
    wanted = f"'{tmp_path}/Old photos'"
    asked = answering(monkeypatch, "files", f"{tmp_path}/Ols", "'unclosed", wanted)
    policy = join_command._ask_profile()
    assert (policy.profile, policy.read) == (Profile.FILES, (str(tmp_path / "Old photos"),))
    assert len(asked) == 4
    said = capsys.readouterr()
    assert f"{tmp_path}/Ols is not a folder" in said.out + said.err


def test_the_profile_observe_is_asked_for_no_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = answering(monkeypatch, "")
    assert join_command._ask_profile().profile is Profile.OBSERVE
    assert len(asked) == 1
