"""The command `starloom-agent grant` says which grants count, and which the hub holds back."""

from __future__ import annotations

from pathlib import Path

import pytest

from starloom_agent.cli import main
from starloom_agent.home.directory import AgentHome, Joined
from starloom_agent.policy.file import read_policy, write_policy
from starloom_agent.policy.policy import Policy
from starloom_protocol.vocabulary import Profile


def test_a_grant_beyond_the_join_code_is_not_in_force(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    home = AgentHome(tmp_path / "agent")
    home.make()
    home.join(Joined(hub="http://127.0.0.1:9", hub_key="k", name="kitchen"))
    photos = tmp_path / "photos"
    photos.mkdir()
    home.keep_limit("files")
    write_policy(home.policy, Policy(profile=Profile.FILES, read=(str(photos),)))
    assert main(["grant", "shell:run", "--home", str(home.root), "--", "env"]) == 0
    said = capsys.readouterr().out
    assert "granted; in force now on kitchen: files:read\n" in said
    assert "not in force: shell:run: the join code of this device allowed the profile files at most" in said
    assert "starloom-agent leave" in said
    home.keep_limit("operate")
    assert main(["grant", "shell:run", "--home", str(home.root), "--", "env"]) == 0
    assert "granted; in force now on kitchen: files:read, shell:run\n" in capsys.readouterr().out


def test_a_change_of_the_policy_with_a_fault_changes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home = AgentHome.at(str(tmp_path / "home"))
    home.make()
    line = ["policy", "profile", "work", "--answers", "hub", "--home", str(home.root)]
    assert main([*line, "--quiet-hours", "late"]) == 2
    assert "quiet_hours" in capsys.readouterr().err
    assert read_policy(home.policy) == Policy()
    assert main([*line, "--quiet-hours", "22:00-07:00", "--trash-keep-days", "9"]) == 0
    policy = read_policy(home.policy)
    assert (policy.profile, policy.answers, policy.trash.keep_days) == (Profile.WORK, "hub", 9)
    assert policy.courtesy.quiet_hours == "22:00-07:00"


def ended(line: list[str]) -> object:
    """Return the code of a command; argparse ends the program by itself."""
    try:
        return main(line)
    except SystemExit as end:
        return end.code


@pytest.fixture
def home(tmp_path: Path) -> AgentHome:
    home = AgentHome(tmp_path / "agent")
    home.make()
    home.join(Joined(hub="http://127.0.0.1:9", hub_key="k", name="kitchen"))
    write_policy(home.policy, Policy(profile=Profile.OPERATE))
    return home


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["files:raed", "."], "'files:raed' is no grant; did you mean files:read? There are adb:use, "),
        (["files:raed"], "did you mean files:read?"),
        (["screen"], "'screen' is no grant; did you mean screen:view?"),
        (["mcp:"], "'mcp:' is no grant"),
        (["files:read", "{tmp}/Foto"], "/Foto is not a folder; did you mean "),
        (["files:read", "{tmp}/Fotos/a.jpg"], "/a.jpg is a file, and a grant names folders: "),
        (["files:read", "{tmp}/Xylophon"], "/Xylophon is not a folder. Make it, then type this line again"),
        (["files:read", "~no-such-user/x"], "begins with the home folder of a user that is not here"),
        (["files:read", ""], "a word of grant is empty"),
        (["net:reach", "https://example.org:8080/x"], ": starloom-agent grant net:reach example.org"),
        (["net:reach", "*.example.org"], "'*.example.org' is no host"),
        (["net:reach", "exa mple"], "'exa mple' is no host"),
        (["shell:run", "--cwd", " ", "--", "ls"], "the word behind --cwd is empty"),
        (["shell:run", "--effects", "raed", "--", "ls"], "'raed' is none of read, write, "),
        (["shell:run", "--effects", "", "--", "ls"], "the word behind --effects is empty"),
        (["shell:run", "--", ""], "a command begins with the name of its program"),
        (["service:restart", "  "], "a word of grant is empty"),
        (["python:run", "x\x1b[31m"], "holds a control character (U+001B)"),
    ],
)
def test_a_mistyped_grant_is_refused_with_the_nearest(
    home: AgentHome, tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    (tmp_path / "Fotos").mkdir()
    (tmp_path / "Fotos/a.jpg").touch()
    before = read_policy(home.policy)
    line = ["grant", words[0], "--home", str(home.root), *(word.format(tmp=tmp_path) for word in words[1:])]
    assert (ended(line), read_policy(home.policy)) == (2, before)
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    "host", ["example.org", "NAS", "192.168.1.7", "::1", "*", "b\u00fccher.example", "my_nas.local"]
)
def test_a_host_is_granted_as_it_is_typed(home: AgentHome, host: str) -> None:
    assert main(["grant", "net:reach", host, "--home", str(home.root)]) == 0
    assert read_policy(home.policy).hosts == (host.lower(),)


def test_a_grant_for_a_server_that_no_file_names_says_so(home: AgentHome, capsys: pytest.CaptureFixture[str]) -> None:
    at = ["--home", str(home.root)]
    assert main(["grant", "mcp:notes", *at]) == 0
    assert "mcp.toml names no notes yet, so this grant allows nothing until it does" in capsys.readouterr().out
    path = home.root / "mcp.toml"
    path.write_text('[servers.notes]\ncommand = ["notes"]\n', encoding="utf-8")
    path.chmod(0o600)
    assert main(["grant", "mcp:notes", *at]) == 0
    assert "names no" not in capsys.readouterr().out
    assert main(["grant", "mcp:noets", *at]) == 2
    assert "mcp.toml names no 'noets'; did you mean notes?" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["policy", "log", "--last", "few"], "'few' is not a number"),
        (["policy", "log", "--last", "-3"], "a number from 1 on"),
        (["start", "--slots", "x"], "'x' is not a number"),
        (["upgrade", "--wait-s", "x"], "'x' is not a number"),
        (["join", "", "CODE"], "a word of join is empty"),
        (["join", "http://127.0.0.1:9", "CODE", "--name="], "the word behind --name is empty"),
        (["deny", "x" * 5_000], "a word of deny has 5,000 characters, and at most 4,096 are read"),
    ],
)
def test_a_word_that_cannot_be_meant_is_refused(
    home: AgentHome, capsys: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    assert (ended([*words, "--home", str(home.root)]), said in capsys.readouterr().err) == (2, True)


@pytest.mark.parametrize("command", ["status", "start", "stop", "leave", "trash", "approvals", "agents", "upgrade"])
def test_a_home_that_is_not_there_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str) -> None:
    assert ended([command, "--home", str(tmp_path / "no")]) == 2
    assert f"there is no folder {tmp_path / 'no'}, so no agent is there" in capsys.readouterr().err
    (tmp_path / "file").touch()
    for line in ([command, "--home", str(tmp_path / "file")], [command, "--home", "~no-such-user/x"]):
        assert ended(line) == 2, line
        assert "starloom-agent: " in capsys.readouterr().err


def test_a_place_that_is_shut_is_named(home: AgentHome, capsys: pytest.CaptureFixture[str]) -> None:
    home.hub.unlink()
    home.hub.symlink_to(home.hub)
    assert ended(["status", "--home", str(home.root)]) == 1
    assert f"starloom-agent: {home.hub}: " in capsys.readouterr().err


def test_an_argument_of_a_command_may_be_empty(home: AgentHome) -> None:
    assert main(["grant", "shell:run", "--home", str(home.root), "--", "env", ""]) == 0
    assert read_policy(home.policy).commands[0].plain() == ["env", ""]
