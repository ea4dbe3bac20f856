"""The programs that outlive their calls and belong to the agent: one of a kind, for a time, never after the agent."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from starloom_agent.platforms import processes
from starloom_agent.policy.file import write_policy
from starloom_agent.policy.policy import Policy, action_of
from starloom_agent.toolkit.messages import Detached
from starloom_agent.work import registry
from starloom_agent.work.calls.leftovers import Leftovers
from starloom_protocol.vocabulary import Outcome
from tests.device_agents.stand_in import HubStandIn, dispatch, lease
from tests.device_agents.started import joined_home, started


class Programs:
    """Programs with a group of their own, as a tool leaves them."""

    def __init__(self) -> None:
        self.started: list[subprocess.Popen[bytes]] = []

    def start(self, kind: str = "clipboard", keep_s: int = 60) -> Detached:
        process = subprocess.Popen(["sleep", "300"], start_new_session=True)
        self.started.append(process)
        mark = processes.start_mark(process.pid)
        assert mark is not None
        return Detached(pid=process.pid, mark=mark, token="t", kind=kind, keep_s=keep_s)

    def alive(self) -> list[bool]:
        return [process.poll() is None for process in self.started]


@pytest.fixture
def programs() -> Iterator[Programs]:
    made = Programs()
    yield made
    for process in made.started:
        process.kill()
        process.wait()


def test_the_next_of_its_kind_ends_the_last(programs: Programs, tmp_path: Path) -> None:
    kept = Leftovers(tmp_path / "detached.json", print)
    kept.take([programs.start()])
    kept.take([programs.start()])
    kept.take([programs.start("other")])
    assert programs.alive() == [False, True, True]
    kept.end_all()
    assert programs.alive() == [False, False, False]


def test_its_time_ends_it(programs: Programs, tmp_path: Path) -> None:
    now = [100.0]
    kept = Leftovers(tmp_path / "detached.json", print, lambda: now[0])
    kept.take([programs.start(keep_s=60)])
    now[0] = 159.0
    kept.sweep()
    assert programs.alive() == [True]
    now[0] = 160.0
    kept.sweep()
    assert programs.alive() == [False]


def test_a_killed_agent_is_followed_by_one_that_ends_them(programs: Programs, tmp_path: Path) -> None:
    Leftovers(tmp_path / "detached.json", print).take([programs.start()])
    Leftovers(tmp_path / "detached.json", print).recover()
    assert programs.alive() == [False]
    (tmp_path / "detached.json").write_text("not a record")
    Leftovers(tmp_path / "detached.json", print).recover()


def test_a_record_that_the_disk_refuses_is_written_later(programs: Programs, tmp_path: Path) -> None:
    said: list[str] = []
    path = tmp_path / "detached.json"
    path.mkdir()
    kept = Leftovers(path, said.append)
    kept.take([programs.start()])
    kept.sweep()
    assert len(said) == 1, "the refusal is said once, not with each try"
    assert str(path) in said[0]
    path.rmdir()
    kept.sweep()
    Leftovers(path, said.append).recover()
    assert programs.alive() == [False]


def test_what_a_person_opened_is_not_the_agents(programs: Programs, tmp_path: Path) -> None:
    kept = Leftovers(tmp_path / "detached.json", print)
    kept.take([programs.start(kind="")])
    kept.end_all()
    assert programs.alive() == [True]


def test_a_stranger_with_its_number_is_left_alone(programs: Programs, tmp_path: Path) -> None:
    stranger = programs.start()
    kept = Leftovers(tmp_path / "detached.json", print)
    kept.take([Detached(pid=stranger.pid, mark="another", token="t", kind="clipboard", keep_s=60)])
    kept.sweep()
    kept.end_all()
    assert programs.alive() == [True]


async def test_a_clipboard_ends_with_its_agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "xclip").write_text(
        f"#!/bin/sh\ncd {programs}\n[ $3 = -out ] && {{ cat text; exit; }}\n"
        "cat > text; echo $$ > owner; exec sleep 300\n"
    )
    (programs / "xclip").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    monkeypatch.setenv("DISPLAY", ":93")
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    args = {"text": "x", "keep_s": 300}
    (tool,) = [tool for tool in registry.all_tools() if tool.name == "clipboard.write"]
    async with HubStandIn() as hub:
        home = joined_home(tmp_path / "home", hub)
        write_policy(home.policy, Policy(grants=frozenset({"clipboard:use"}), always=(action_of(tool, args),)))
        async with started(home, hub):
            await hub.send(dispatch("clipboard.write", json.dumps(args), at=lease("t")))
            result = await hub.result(lease("t"))
            assert result.outcome is Outcome.OK, result.detail
            owner = int((programs / "owner").read_text())
            assert processes.start_mark(owner) is not None
    assert processes.start_mark(owner) is None
