"""The command `starloom-agent trash`: the list, the question before anything goes, and what was emptied."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from starloom_agent import cli
from starloom_agent.home.directory import AgentHome, Joined
from starloom_agent.policy.file import write_policy
from starloom_agent.policy.policy import Policy
from starloom_agent.toolkit.beneath import TRASH
from starloom_protocol.vocabulary import Profile
from tests.device_agents.tools.conftest import Device

STEERS = "a\x1b[2J\nb"


@pytest.fixture
def device(tmp_path: Path) -> Device:
    return Device(tmp_path)


@pytest.fixture
def tickets(device: Device) -> list[str]:
    found = []
    for name in ("one", STEERS):
        device.write(name, "x" * 2048)
        found += device.call("fs.trash", paths=[name])["tickets"]
    return found


@pytest.fixture
def typed(
    device: Device, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., tuple[int, str, str]]:
    home = AgentHome(tmp_path / "agent")
    home.make()
    home.join(Joined(hub="http://127.0.0.1:9", hub_key="k", name="kitchen"))
    write_policy(home.policy, Policy(profile=Profile.FILES, write=(str(device.folder),)))

    def run(*words: str, answer: str | None = None) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.stdin.isatty", lambda: answer is not None, raising=False)
        asked: list[str] = []

        def answer_to(question: str) -> str:
            asked.append(question)
            return answer or ""

        monkeypatch.setattr(cli, "answer_to", answer_to)
        code = cli.main([*words, "--home", str(home.root)])
        said = capsys.readouterr()
        return code, "".join(asked) + said.out, said.err

    return run


def test_the_list_names_each_ticket(typed: Any, tickets: list[str], device: Device) -> None:
    code, out, _ = typed("trash")
    lines = out.splitlines()
    assert (code, len(lines)) == (0, 3)
    assert [line.split()[0] for line in lines[:2]] == tickets
    assert str(device.folder / "one") in lines[0]
    assert "\x1b" not in out
    assert lines[2].startswith("2 in the trash, 4.")
    code, out, _ = typed("trash", "--json")
    rows = json.loads(out)["trash"]
    assert [(row["ticket"], row["folder"]) for row in rows] == [(one, str(device.folder)) for one in tickets]
    assert rows[0].keys() == {"ticket", "folder", "path", "bytes", "since_s"}


@pytest.mark.parametrize(("answer", "code", "gone"), [("y", 0, True), ("", 1, False), ("no", 1, False)])
def test_nothing_goes_without_a_yes(
    answer: str, code: int, gone: bool, typed: Any, tickets: list[str], device: Device
) -> None:
    found, out, _ = typed("trash", "empty", answer=answer)
    assert found == code
    assert "Remove 2 from the trash for good, 4." in out
    assert [(device.folder / TRASH / ticket).exists() for ticket in tickets] == [not gone] * 2


def test_without_a_terminal_yes_must_be_typed(typed: Any, tickets: list[str], device: Device) -> None:
    code, _, err = typed("trash", "empty")
    assert code == 1
    assert "add --yes" in err
    code, out, _ = typed("trash", "empty", tickets[1], "--yes", "--json")
    assert (code, json.loads(out)) == (0, {"emptied": tickets[1:], "left": []})
    assert [(device.folder / TRASH / ticket).exists() for ticket in tickets] == [True, False]


def test_an_unknown_ticket_removes_nothing(typed: Any, tickets: list[str], device: Device) -> None:
    code, _, err = typed("trash", "empty", tickets[0], "../../x", "--yes")
    assert code == 1
    assert "no trash has the ticket ../../x" in err
    assert (device.folder / TRASH / tickets[0]).exists()


def test_the_log_says_what_was_emptied(typed: Any, tickets: list[str], device: Device) -> None:
    assert typed("trash", "log")[:2] == (0, "nothing was emptied here yet\n")
    typed("trash", "empty", "--yes")
    code, out, _ = typed("trash", "log")
    assert (code, len(out.splitlines())) == (0, 2)
    assert str(device.folder / "one") in out
    assert "\x1b" not in out
    rows = json.loads(typed("trash", "log", "--json")[1])["emptied"]
    assert sorted(row["ticket"] for row in rows) == sorted(tickets)
    assert rows[0].keys() == {"emptied_s", "ticket", "path"}
    assert typed("trash", "empty", "--yes")[0] == 0


def test_an_empty_trash_is_listed_and_emptied_quietly(typed: Any) -> None:
    assert typed("trash")[:2] == (0, "0 in the trash, 0 bytes\n")
    assert typed("trash", "empty", answer="n")[:2] == (0, "0 removed for good\n")


def test_the_bounds_are_set_by_the_policy(typed: Any) -> None:
    code, out, _ = typed("policy", "--trash-keep-days", "90", "--trash-most-gib", "2")
    assert code == 0
    assert 'trash = {keep_days = "90", most_gib = "2"}' in out
    for wrong in ("0", "-1", "x", "1e3", "9" * 400):
        code, _, err = typed("policy", f"--trash-keep-days={wrong}")
        assert code == 2
        assert "trash.keep_days" in err
    assert 'keep_days = "90"' in typed("policy")[1]
