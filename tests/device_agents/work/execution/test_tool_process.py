"""The process of a tool that serves several calls: real tools, with the runners of an agent."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from starloom_agent.platforms import processes
from starloom_agent.toolkit.messages import CallSpec, Ended
from starloom_agent.work import registry
from starloom_agent.work.execution import tool_process
from starloom_agent.work.execution.tool_process import ToolProcess
from starloom_protocol.vocabulary import Outcome
from tests.device_agents.played_call import Call, Loop
from tests.waiting import PATIENCE_S

ROWS = [{"n": 2}, {"n": 1}]
CALLS: dict[str, dict[str, Any]] = {
    "data.filter": {"rows": ROWS, "where": [{"output": "/n", "op": "ge", "value": 2}]},
    "data.merge": {"rows": ROWS, "second": ROWS},
    "data.sort": {"rows": ROWS, "by": ["n"]},
    "fs.find": {"what": "all files"},
    "fs.hash": {"paths": ["a.txt"]},
    "fs.list": {"path": "."},
    "fs.read": {"path": "a.txt"},
    "fs.stat": {"paths": ["a.txt"]},
}
TOOLS = {tool.name: tool for tool in registry.all_tools()}

Play = Callable[..., Call]


@pytest.fixture(scope="module")
def loop() -> Iterator[Loop]:
    made = Loop(warm=True, slots=2)
    yield made
    made.close()


@pytest.fixture
def play(tmp_path: Path, loop: Loop) -> Iterator[Play]:
    calls: list[Call] = []
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "a.txt").write_text("a line\n", encoding="utf-8")

    def begin(tool: str, reuse: str) -> Call:
        fields: dict[str, Any] = {
            "args": json.dumps(CALLS[tool]),
            "confined": TOOLS[tool].confined,
            "connection_file": str(tmp_path / "connection.json"),
            "effectless": True,
            "fence": "1.1",
            "module": registry.module_of()[tool],
            "read": [str(tmp_path / "folder")],
            "reuse": reuse,
            "start_to_close_s": 30.0,
            "tool": tool,
            "workdir": str(tmp_path / f"work-{len(calls)}"),
        }
        calls.append(Call(loop, CallSpec(**fields)))
        return calls[-1]

    yield begin
    for call in calls:
        call.close()


def of_its_own(ended: Ended) -> tuple[object, ...]:
    return ended.outcome, ended.value, ended.bytes, ended.tail


@pytest.mark.parametrize("tool", sorted(CALLS))
def test_calls_in_one_process_answer_as_calls_of_their_own(play: Play, tool: str) -> None:
    alone = play(tool, "")
    want = alone.end()
    assert want.outcome is Outcome.OK, want
    together = [play(tool, tool) for _ in range(1)]
    together[0].end()
    for _ in range(3):
        together.append(play(tool, tool))
        together[-1].end()
    assert {of_its_own(call.end()) for call in together} == {of_its_own(want)}
    assert len({call.leader for call in together}) == 1
    assert alone.leader != together[0].leader


def test_each_slot_keeps_one_process_and_the_oldest_ends_first(play: Play) -> None:
    first, second = play("fs.stat", "a"), play("fs.stat", "b")
    for call in (first, second):
        call.end()
    third = play("fs.stat", "c")
    third.end()
    kept = [call.leader for call in (first, second, third) if processes.start_mark(call.leader)]
    assert len(kept) <= 2
    assert third.leader in kept
    again = play("fs.stat", "c")
    again.end()
    assert again.leader == third.leader


def test_two_calls_at_once_have_two_processes(play: Play, loop: Loop) -> None:
    # Both wait for the loop, so that neither ends before the other begins.
    both = threading.Event()
    loop.loop.call_soon_threadsafe(both.wait, PATIENCE_S)
    calls = [play("fs.hash", "together") for _ in range(2)]
    both.set()
    for call in calls:
        assert call.end().outcome is Outcome.OK
    assert len({call.leader for call in calls}) == 2


@pytest.fixture
def waiting() -> Iterator[tuple[ToolProcess, socket.socket]]:
    """A process in a group of its own, with the other end of its link."""
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    process = subprocess.Popen(["sleep", "60"], start_new_session=True)
    known = ToolProcess(process.pid, "key", ours, None)
    yield known, theirs
    known.let_go()
    theirs.close()
    process.kill()
    process.wait()


def test_a_process_that_closes_its_link_reports_nothing_more(waiting: tuple[ToolProcess, socket.socket]) -> None:
    process, theirs = waiting
    assert process.hear()
    theirs.send(b"s")
    assert process.hear()
    assert process.settled
    theirs.close()
    assert not process.hear()


def test_a_process_with_other_descriptors_is_not_quiet(waiting: tuple[ToolProcess, socket.socket]) -> None:
    assert not waiting[0].is_quiet(tool_process.resident_pages(os.getpid()))
