"""`starloom-agent policy profile`: a name of a profile and nothing else; a folder is granted by itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from starloom_agent import cli
from starloom_agent.home.directory import AgentHome


def said(capsys: pytest.CaptureFixture[str], home: Path, *words: str) -> tuple[int, str]:
    try:
        code = cli.main(["policy", *words, "--home", str(home)])
    except SystemExit as end:
        code = int(end.code or 0)
    shown = capsys.readouterr()
    return code, shown.out + shown.err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("profile", "work", "/srv/my films"), "`starloom-agent grant files:read '/srv/my films'`"),
        (("profile", "work", "~/films"), "Type `starloom-agent policy profile work`, then"),
        (("profile", "./films"), "Type `starloom-agent policy profile files`, then"),
        (("profile", "wrk"), "'wrk' is no profile; name one of observe, files, work, operate"),
        (("profile",), "name one of observe, files, work, operate: starloom-agent policy profile work"),
        (("profile", "work", "files"), "name one of observe, files, work, operate"),
        (("show", "work"), "`policy show` takes no more words; a profile: starloom-agent policy profile work"),
        (("work",), "Did you mean 'profile work'?"),
    ],
    ids=lambda one: " ".join(one)[:20] if isinstance(one, tuple) else "",
)
def test_what_names_no_profile_is_answered_with_the_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, words: tuple[str, ...], told: str
) -> None:
    home = AgentHome(tmp_path)
    code, text = said(capsys, home.root, *words)
    assert (code, told in text) == (2, True), text
    assert not home.policy.exists()


def test_a_profile_is_taken(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, text = said(capsys, tmp_path, "profile", "work")
    assert code == 0, text
    assert 'profile = "work"' in AgentHome(tmp_path).policy.read_text()
