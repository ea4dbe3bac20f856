"""T138, T155: calls that share a process under attack: nothing of one is there in the next, and no stranger gets in.

The attacker is a tool (`attacking_tools`) whose code runs in the process. Zygote, runners and calls are real.
"""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from starloom_agent.sandbox import usage
from starloom_agent.toolkit.messages import CallSpec, Order
from starloom_agent.work.calls import runners
from starloom_agent.work.execution.tool_process import resident_pages
from starloom_protocol.vocabulary import Code, EffectSeen, Outcome
from tests.device_agents.played_call import Call, Loop
from tests.guard.attacking_tools import LEFT, UNSEEN, attacked_by
from tests.guard.test_runners import agent, gone, lines, told
from tests.waiting import until

KEY: Final = "key of a constellation"
FEW_PAGES: Final = 1024
"""4 MiB: what the interpreter itself takes up."""

Play = Callable[..., Call]


@pytest.fixture(scope="module")
def loop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Loop]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", attacked_by(tmp_path_factory.mktemp("attack") / "site", loaded=True))
        made = Loop(warm=True, slots=1)
        yield made
        made.close()


def spec_of(folder: Path, number: int, do: str, text: str = "nothing", **more: Any) -> CallSpec:
    fields = {
        "args": json.dumps({"do": do, "text": text}),
        "connection_file": str(folder / "connection.json"),
        "effectless": True,
        "fence": f"1.{number}",
        "module": "attacking_tools",
        "read": [str(folder / "granted")],
        "reuse": KEY,
        "start_to_close_s": 60.0,
        "tool": "attack",
        "workdir": str(folder / f"work-{number}"),
        **more,
    }
    return CallSpec(**fields)


@pytest.fixture
def play(tmp_path: Path, loop: Loop) -> Iterator[Play]:
    loop.warmed()
    loop.do(released(loop))
    (tmp_path / "granted").mkdir()
    calls: list[Call] = []

    def begin(do: str = "serve", text: str = "nothing", **more: Any) -> Call:
        made = Call(loop, spec_of(tmp_path, len(calls) + 1, do, text, **more))
        calls.append(made)
        return made

    yield begin
    for made in calls:
        made.close()


async def released(loop: Loop) -> None:
    loop.runners.release()


def served(call: Call) -> dict[str, Any]:
    """What a call returned that went well."""
    ended = call.end()
    assert ended.outcome is Outcome.OK, ended
    found: dict[str, Any] = json.loads(ended.value or "")
    return found


def test_t138_calls_of_a_key_share_a_process(play: Play) -> None:
    first, second = served(play()), served(play())
    assert second["pid"] == first["pid"]
    assert (first["fence"], second["fence"]) == ("1.1", "1.2")
    assert (second["workdir"], second["files"]) == (first["workdir"], [])
    assert second["precision"] == first["precision"], "the context of decimals belongs to a call"


def test_t138_output_belongs_to_the_call_that_made_it(play: Play) -> None:
    calls = [play(text=f"call {number}") for number in range(3)]
    assert {served(call)["runner"] for call in calls}
    for number, call in enumerate(calls):
        text = "".join(said.text for said in call.said)
        assert sorted(text.splitlines()) == [f"log of call {number}", f"output of call {number}"]
        assert min(said.offset for said in call.said) == 0


@pytest.mark.parametrize("left", [name for name in LEFT if name != "nothing"])
def test_t138_what_a_call_leaves_ends_its_process(play: Play, left: str) -> None:
    first = served(play(text=left))
    second = served(play())
    assert second["pid"] != first["pid"]
    assert second["files"] == []
    gone(first["pid"])


@pytest.mark.parametrize("left", UNSEEN)
def test_t155_what_a_call_leaves_where_nothing_shows_it_ends_its_process(play: Play, left: str) -> None:
    first = served(play(text=left))
    second = served(play())
    assert second["pid"] != first["pid"]
    gone(first["pid"])
    assert served(play())["pid"] == second["pid"], "the one after it is shared again"


def test_t138_a_call_that_fails_ends_its_process(play: Play) -> None:
    first = served(play())
    failed = play("fail")
    assert failed.leader == first["pid"]
    assert failed.end().code is Code.TOOL_FAILED
    assert served(play())["pid"] != first["pid"]


def test_t138_a_process_serves_so_many_calls_and_no_more(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runners, "_CALLS_MOST", 0)
    first = served(play())
    gone(first["pid"])
    assert served(play())["pid"] != first["pid"]


def test_t138_a_process_without_work_ends(play: Play, loop: Loop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runners, "_REUSE_WITHIN_S", 0.1)
    first = served(play())
    gone(first["pid"])
    until(lambda: not Path(first["workdir"]).exists(), "its folder is removed")
    assert served(play())["runner"] == first["runner"]


@pytest.mark.parametrize("reuse", ["key of another constellation", ""])
def test_t138_no_other_call_gets_into_a_process(play: Play, reuse: str) -> None:
    first = served(play())
    other = served(play(reuse=reuse))
    assert other["runner"] == first["runner"]
    assert other["pid"] != first["pid"]
    assert other["workdir"] != first["workdir"]
    gone(first["pid"])


def test_t138_many_constellations_leave_one_process_of_a_slot(play: Play, tmp_path: Path) -> None:
    seen = [served(play(reuse=f"key {number}")) for number in range(40)]
    assert len({one["pid"] for one in seen}) == 40
    until(lambda: usage.children(seen[-1]["runner"]) == [seen[-1]["pid"]], "the others have ended")
    assert {one["runner"] for one in seen} == {seen[-1]["runner"]}
    until(lambda: len([*tmp_path.glob("work-*")]) == 1, "their folders are gone")


def test_t138_many_calls_keep_no_memory(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runners, "_REUSE_WITHIN_S", 60.0)
    first = served(play())
    pages = resident_pages(first["pid"])
    seen = [served(play()) for _ in range(60)]
    assert {one["pid"] for one in seen} == {first["pid"]}
    assert resident_pages(first["pid"]) - pages < FEW_PAGES
    assert len(usage.children(first["runner"])) == 1


def test_t138_a_process_takes_no_call_with_other_grants(play: Play, tmp_path: Path) -> None:
    first = served(play())
    ended = play(read=[str(tmp_path)]).end()
    assert (ended.outcome, ended.value) == (Outcome.ERROR, None)
    assert "may not follow" in ended.tail
    gone(first["pid"])


def test_t138_a_changed_policy_ends_the_process_at_once(play: Play, loop: Loop) -> None:
    first = served(play())
    loop.do(released(loop))
    gone(first["pid"])
    assert not Path(first["workdir"]).exists()


def test_t138_an_exchanged_folder_is_a_folder_for_a_new_process(play: Play, tmp_path: Path) -> None:
    first = served(play())
    (tmp_path / "granted").rename(tmp_path / "before")
    (tmp_path / "granted").mkdir()
    (tmp_path / "granted" / "new.txt").write_text("new", encoding="utf-8")
    second = served(play())
    assert second["pid"] != first["pid"]
    assert second["read"] == ["new"]


def test_t138_a_cancel_ends_a_shared_process(play: Play) -> None:
    first = served(play())
    second = play("look")
    told(second)
    assert second.leader == first["pid"]
    second.order(Order(stop="cancel"))
    assert second.end().stopped == "cancel"
    gone(first["pid"])
    assert served(play())["pid"] != first["pid"]


def test_t138_time_runs_out_in_a_shared_process(play: Play) -> None:
    first = served(play(start_to_close_s=2.0))
    second = play("look", start_to_close_s=2.0)
    assert second.end().code is Code.TIMED_OUT
    assert second.leader == first["pid"]
    gone(first["pid"])


def test_t138_a_process_killed_between_calls_costs_none(play: Play) -> None:
    first = served(play())
    os.kill(first["pid"], signal.SIGKILL)
    second = served(play())
    assert second["pid"] != first["pid"]
    assert second["runner"] == first["runner"]


def test_t138_a_process_killed_before_a_call_begins_costs_none(play: Play) -> None:
    first = served(play())
    os.kill(first["pid"], signal.SIGSTOP)
    second = play()
    assert second.leader == first["pid"]
    os.kill(first["pid"], signal.SIGKILL)
    assert served(second)["pid"] != first["pid"]


def test_t138_a_process_killed_during_a_call_ends_that_call(play: Play) -> None:
    first = served(play())
    second = play("look")
    told(second)
    os.kill(first["pid"], signal.SIGKILL)
    ended = second.end()
    assert ended.code is Code.TOOL_FAILED
    assert "was ended by signal 9 (SIGKILL) without a result" in ended.detail
    assert served(play())["pid"] != first["pid"]


def test_t138_a_killed_runner_takes_the_waiting_process_with_it(play: Play) -> None:
    first = served(play())
    os.kill(first["runner"], signal.SIGKILL)
    gone(first["pid"])
    again = play()
    if again.end().outcome is Outcome.INTERRUPTED:
        # The agent had not seen yet that the runner was dead: the call has begun nowhere, and the hub gives it again.
        assert again.end().effect is EffectSeen.NONE
        again = play()
    assert served(again)["runner"] != first["runner"]


def test_t138_no_process_outlives_a_killed_agent(tmp_path: Path) -> None:
    (tmp_path / "granted").mkdir()
    with agent(tmp_path, spec_of(tmp_path, 1, "serve")) as process:
        _, output, log, value = lines(process, 4)
        assert {output, log} == {"output of nothing\n", "log of nothing\n"}
        process.kill()
        gone(json.loads(value)["pid"])
