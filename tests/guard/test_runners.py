"""Warm runners under attack: no call finds anything of another, none holds its runner or the zygote, none stays.

The attacker is a tool (`attacking_tools`) whose code runs in the process of a call. Zygote, runners and calls are real.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest

from starloom_agent.platforms import processes
from starloom_agent.toolkit.messages import CallSpec, Ended, Order, encode
from starloom_agent.work.calls.runners import environment
from starloom_protocol.vocabulary import Code, Outcome
from tests.device_agents.played_call import Call, Loop
from tests.guard.attacking_tools import attacked_by, give_up_rights
from tests.waiting import until

WORD: Final = "canary-" + "5b1f" * 4
SECRET: Final = "canary-" + "9e2c" * 4
_WRITABLE: Final = re.compile(r"([0-9a-f]+)-([0-9a-f]+) rw")
_PART_BYTES: Final = 1 << 20

Play = Callable[..., Call]


@pytest.fixture(scope="module")
def loop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Loop]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", attacked_by(tmp_path_factory.mktemp("attack") / "site"))
        made = Loop(warm=True, slots=1)
        yield made
        made.close()


@pytest.fixture
def attack(tmp_path: Path, loop: Loop) -> Iterator[Play]:
    loop.warmed()
    calls: list[Call] = []

    def play(do: str, secrets: dict[str, str] | None = None, more: dict[str, Any] | None = None, **args: Any) -> Call:
        made = Call(loop, spec_of(tmp_path / f"work-{len(calls)}", do, secrets, more, **args))
        calls.append(made)
        return made

    yield play
    for made in calls:
        made.close()


def spec_of(
    workdir: Path, do: str, secrets: dict[str, str] | None = None, more: dict[str, Any] | None = None, **args: Any
) -> CallSpec:
    fields = {
        "args": json.dumps({"do": do, **args}),
        "connection_file": str(workdir.parent / "connection.json"),
        "effectless": False,
        "fence": "1.2",
        "module": "attacking_tools",
        "secrets": secrets or {},
        "start_to_close_s": 60.0,
        "tool": "attack",
        "workdir": str(workdir),
        **(more or {}),
    }
    return CallSpec(**fields)


def told(call: Call) -> Any:
    """What the attacker logged, as JSON."""
    while not any("\n" in said.text for said in call.said):
        assert not isinstance(call.line(), Ended), call.ended
    return json.loads("".join(said.text for said in call.said).splitlines()[0])


def gone(*pids: int) -> None:
    until(lambda: all(processes.start_mark(pid) is None for pid in pids), f"{pids} have ended")


def memory_holds(pid: int, *words: str) -> list[str]:
    """Return which of these words stand in the writable memory of a process."""
    found = set()
    overlap = max(map(len, words))
    with Path(f"/proc/{pid}/mem").open("rb", buffering=0) as memory:
        for line in Path(f"/proc/{pid}/maps").read_text(encoding="utf-8", errors="replace").splitlines():
            if (at := _WRITABLE.match(line)) is None:
                continue
            place, end = (int(part, 16) for part in at.groups())
            tail = b""
            while place < end:
                try:
                    memory.seek(place)
                    part = memory.read(min(end - place, _PART_BYTES))
                except (OSError, OverflowError):
                    break
                if not part:
                    break
                place += len(part)
                found |= {word for word in words if word.encode() in tail + part}
                tail = part[-overlap:]
    return sorted(found)


# T49: one call and the next.


def test_t49_the_next_call_finds_nothing_of_a_call(attack: Play, loop: Loop) -> None:
    first = attack("leave", text=WORD).end()
    assert WORD in (first.value or "")
    second = attack("look")
    found = told(second)
    # The very same runner: else nothing would be shown.
    assert found["runner"] == json.loads(first.value or "")["runner"]
    assert not found["kept"]
    assert found["files"] == []
    assert found["leads"]
    assert found["signal"]
    assert found["umask"] == 0o022
    assert set(found["environment"]) - set(environment()) == {"STARLOOM_FENCE"}
    assert set(found["descriptors"]) - {"0", "1", "2", "3"} <= {"4"}, "4 is the look itself"
    looked_at = [second.leader]
    if os.getuid() == 0:
        looked_at += [found["runner"], loop.runners.zygote_pid]
    assert [memory_holds(pid, WORD) for pid in looked_at] == [[] for _ in looked_at]


def test_t49_a_secret_of_a_call_is_nowhere_afterwards(attack: Play, loop: Loop) -> None:
    first = attack("leave", {"key#1": SECRET}, text=SECRET)
    ended = first.end()
    assert ended.outcome is Outcome.OK, ended
    assert SECRET not in repr(ended) + repr(first.said)
    second = attack("look")
    found = told(second)
    assert found["runner"] != json.loads(ended.value or "")["runner"], "a runner of a secret call serves no other"
    looked_at = [second.leader]
    if os.getuid() == 0:
        looked_at += [found["runner"], loop.runners.zygote_pid]
    assert [memory_holds(pid, SECRET) for pid in looked_at] == [[] for _ in looked_at]


def test_t49_a_search_of_memory_finds_what_is_there(attack: Play) -> None:
    call = attack("look", text=WORD)
    told(call)
    assert memory_holds(call.leader, WORD, SECRET) == [WORD]


def test_t49_what_a_call_leaves_running_costs_it_the_runner(attack: Play) -> None:
    first = attack("daemon", text="return")
    left, runner = told(first), first.runner_pid
    assert first.end().outcome is Outcome.OK
    gone(*left)
    assert told(attack("look"))["runner"] != runner


# T50: a call and its runner, the zygote.


def test_t50_a_call_that_kills_its_runner_leaves_nothing(attack: Play) -> None:
    victim = attack("daemon")
    left = told(victim)
    os.kill(victim.runner_pid, signal.SIGKILL)
    assert victim.end().code is Code.INTERRUPTED
    gone(*left)
    ended = attack("signal", text="SIGKILL").end()
    assert (ended.outcome, ended.code) == (Outcome.INTERRUPTED, Code.INTERRUPTED)
    assert attack("leave", text="goes on").end().outcome is Outcome.OK


def test_t50_a_dead_zygote_stops_no_call(attack: Play, loop: Loop) -> None:
    running = attack("daemon")
    left, before = told(running), loop.runners.zygote_pid
    ended = attack("signal", pid=before, text="SIGKILL")
    gone(before)
    until(lambda: loop.runners.zygote_pid not in (0, before), "there is another zygote")
    assert [processes.start_mark(pid) is None for pid in left] == [False, False]
    for call in (running, ended):
        call.order(Order(stop="cancel"))
        assert call.end().stopped == "cancel"
    gone(*left)
    assert attack("leave", text="goes on").end().outcome is Outcome.OK


def test_t50_a_stopped_zygote_is_replaced(attack: Play, loop: Loop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("starloom_agent.work.calls.runners._FORKED_WITHIN_S", 1.0)
    before = loop.runners.zygote_pid
    holding = attack("signal", pid=before, text="SIGSTOP")
    told(holding)
    # The only idle runner is taken: this one has to be made.
    assert attack("leave", text="goes on").end().outcome is Outcome.OK
    gone(before)
    loop.warmed()


def test_t50_a_stopped_runner_is_ended_by_the_agent(attack: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("starloom_agent.work.calls.running_call._BEHIND_S", 0.1)
    call = attack("signal", more={"start_to_close_s": 1.0}, text="SIGSTOP")
    runner = call.runner_pid
    assert call.end().code is Code.INTERRUPTED
    gone(runner, call.leader)


@pytest.mark.parametrize("line", ['{"k":"over","status":0}', "no line at all", '{"k":"end","outcome":7}'])
def test_t50_a_line_that_no_tool_says_ends_the_call_alone(attack: Play, line: str) -> None:
    ended = attack("say", text=line).end()
    assert (ended.outcome, ended.code) == (Outcome.ERROR, Code.TOOL_FAILED)
    assert "what no tool says" in ended.detail
    assert attack("leave", text="goes on").end().outcome is Outcome.OK


AGENT: Final = """
import asyncio, sys
from starloom_agent.toolkit.messages import decode_spec
from starloom_agent.work.calls.runners import Runners
from starloom_agent.work.calls.running_call import RunningCall

async def main():
    runners = Runners()
    runners.start()
    await runners.warmed()
    spec = decode_spec(sys.stdin.buffer.readline())
    print(runners.zygote_pid, flush=True)
    say = lambda said: print(said.text, end="", flush=True)
    ended = await RunningCall(spec, lambda group: None, say, runners).run()
    print(ended.value, flush=True)
    await runners.close()

asyncio.run(main())
"""


@contextmanager
def agent(folder: Path, spec: CallSpec) -> Iterator[subprocess.Popen[bytes]]:
    """The agent's side of one call as a process, without any right of root; it prints zygote, output, value."""
    env = {**os.environ, "PYTHONPATH": attacked_by(folder / "site")}
    with subprocess.Popen(
        [sys.executable, "-P", "-c", AGENT],
        env=env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        preexec_fn=give_up_rights,
    ) as process:
        assert process.stdin is not None
        process.stdin.write(encode(spec) + b"\n")
        process.stdin.flush()
        yield process
        process.kill()


def lines(process: subprocess.Popen[bytes], number: int) -> list[str]:
    assert process.stdout is not None
    return [process.stdout.readline().decode() for _ in range(number)]


def test_t50_nothing_of_a_call_outlives_a_killed_agent(tmp_path: Path) -> None:
    with agent(tmp_path, spec_of(tmp_path / "work", "daemon")) as process:
        zygote, left = lines(process, 2)
        process.kill()
        gone(int(zygote), *json.loads(left))


def test_t50_runner_and_zygote_are_closed_to_a_call(tmp_path: Path) -> None:
    with agent(tmp_path, spec_of(tmp_path / "work", "reach")) as process:
        found = json.loads(lines(process, 2)[1])
    assert found == {"runner": [], "zygote": [], "child": ["memory", "descriptors", "tracing"]}
