"""The runner with real processes: whatever a tool does, its whole group is gone at the end, and the end is told."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from starloom_agent.platforms import processes
from starloom_agent.sandbox.limits import MEMORY_BYTES_MAX
from starloom_agent.toolkit.messages import OUTPUT_BYTES_MAX, Begin, CallSpec, Ended, Order, decode_tool_line, encode
from starloom_agent.work import registry
from starloom_agent.work.execution import runner
from starloom_protocol.vocabulary import Code, EffectSeen, Outcome
from starloom_protocol.wire.frames import DispatchInput, InputPart
from tests.device_agents.played_call import Call, Loop
from tests.waiting import PATIENCE_S, SLOWER, until

WITHIN_S = PATIENCE_S


Play = Callable[..., Call]


@pytest.fixture(scope="module", params=["forked", "executed"])
def loop(request: pytest.FixtureRequest) -> Iterator[Loop]:
    """The same calls on both kinds of runners."""
    made = Loop(warm=request.param == "forked")
    yield made
    made.close()


@pytest.fixture
def call(tmp_path: Path, loop: Loop) -> Iterator[Play]:
    calls: list[Call] = []

    def play(tool: str, args: dict[str, Any], **more: Any) -> Call:
        folder = tmp_path / "folder"
        folder.mkdir(exist_ok=True)
        fields = {
            "args": json.dumps(args),
            "connection_file": str(tmp_path / "connection.json"),
            "effectless": False,
            "fence": "1.2",
            "module": registry.module_of()[tool],
            "read": [str(folder)],
            "start_to_close_s": 30.0,
            "tool": tool,
            "workdir": str(tmp_path / "work"),
            "write": [str(folder)],
            **more,
        }
        stop_at_once = fields.pop("stop_at_once", "")
        made = Call(loop, CallSpec(**fields), stop_at_once=stop_at_once)
        calls.append(made)
        return made

    yield play
    for made in calls:
        made.close()


def shell(script: str) -> dict[str, Any]:
    return {"argv": ["sh", "-c", script]}


def gone(pid: int) -> bool:
    deadline = time.monotonic() + WITHIN_S
    while time.monotonic() < deadline:
        if processes.start_mark(pid) is None:
            return True
        time.sleep(0.01)
    return False


def pid_in(call: Call) -> int:
    """The pid that a script echoed as `pid N.`; N is whole once the dot has been said."""
    while True:
        text = "".join(said.text for said in call.said)
        if "pid " in text and "." in text.partition("pid ")[2]:
            return int(text.partition("pid ")[2].partition(".")[0])
        assert not isinstance(call.line(), Ended)


def test_a_value_comes_back_with_its_facts(call: Play) -> None:
    ended = call("lab.echo", {"value": {"a": [1, 2], "b": "x"}}, wants=["/value/a", "/value/b", "/none"]).end()
    assert ended.outcome is Outcome.OK
    assert ended.value == '{"value":{"a":[1,2],"b":"x"}}'
    assert ended.facts == {"/value/a": "[1,2]", "/value/b": '"x"'}


def test_inputs_are_laid_over_the_arguments(call: Play) -> None:
    part = InputPart(value='{"x":[1]}', output="/x")
    item = DispatchInput(name="value", flatten=True, many=True, parts=[part, part])
    assert call("lab.echo", {}, inputs=[item]).end().value == '{"value":[1,1]}'


def test_a_call_larger_than_any_pipe_comes_back_whole(call: Play) -> None:
    text = "x" * 3_000_000
    part = InputPart(value=json.dumps({"long": text, "short": text[:60_000]}), output="")
    inputs = [DispatchInput(name="value", parts=[part])]
    # Sending is tried until shortly before the end of the call.
    ended = call("lab.echo", {}, inputs=inputs, wants=["/value/short"], start_to_close_s=5.0 * SLOWER).end()
    # Too long to stay here, and there is no hub to take it.
    assert (ended.outcome, ended.code) == (Outcome.ERROR, Code.NETWORK), ended
    part = InputPart(value=json.dumps({"long": text}), output="")
    item = DispatchInput(name="value", parts=[part])
    ended = call("shell.run", {"argv": ["head", "-c", "300000", "/dev/zero"]}, inputs=[item]).end()
    assert (ended.outcome, ended.code) == (Outcome.ERROR, Code.BAD_ARGUMENTS), ended


def test_a_call_that_is_stopped_at_once_does_not_begin(call: Play, tmp_path: Path) -> None:
    running = call("fs.write", {"path": "made.txt", "text": "x"}, stop_at_once="cancel")
    ended = running.end()
    assert (ended.stopped, ended.effect) == ("cancel", EffectSeen.NONE), "nothing of it can have happened"
    assert not (tmp_path / "folder" / "made.txt").exists()


@pytest.mark.parametrize("how", ["cancel", "agent_stopped"])
def test_a_call_that_fetches_its_inputs_when_it_is_stopped_never_started(call: Play, how: str) -> None:
    # There is no hub, so each is fetched until it is stopped.
    kept, source = "a" * 64, "b" * 64
    item = DispatchInput(name="stdin", parts=[InputPart(artifact=kept, output="")])
    file = {"artifact": source, "bytes": 1, "name": "x", "media": "text/plain"}
    for running in (
        call("shell.run", shell("echo ran"), inputs=[item]),
        call("python.run", {"code": "print('ran')", "files": [file]}, cage="none"),
    ):
        assert running.leader
        running.order(Order(stop=how))
        ended = running.end()
        assert (ended.outcome, ended.effect, ended.stopped) == (Outcome.NEVER_STARTED, EffectSeen.NONE, how)


def test_a_program_is_in_doubt_from_its_own_start_on(call: Play) -> None:
    running = call("python.run", {"code": "import time; print('pid 1.', flush=True); time.sleep(300)"}, cage="none")
    pid_in(running)
    running.order(Order(stop="cancel"))
    ended = running.end()
    assert (ended.outcome, ended.effect) == (Outcome.INTERRUPTED, EffectSeen.MAYBE)


def test_an_idle_runner_that_died_costs_no_call(call: Play, loop: Loop) -> None:
    assert call("lab.echo", {"value": 1}).end().outcome is Outcome.OK
    for link in loop.runners._idle:
        os.kill(link.pid, signal.SIGKILL)
        assert gone(link.pid)
    assert call("lab.echo", {"value": 1}).end().outcome is Outcome.OK


def test_a_wrong_argument_is_named(call: Play) -> None:
    ended = call("lab.echo", {"valeu": 1}).end()
    assert (ended.outcome, ended.code, ended.effect) == (Outcome.ERROR, Code.BAD_ARGUMENTS, EffectSeen.NONE)
    assert "valeu" in ended.detail


def test_a_cancel_ends_the_whole_group(call: Play) -> None:
    running = call("shell.run", shell("sleep 300 & echo pid $!.; wait"))
    grandchild = pid_in(running)
    running.order(Order(stop="cancel"))
    ended = running.end()
    assert (ended.stopped, ended.outcome, ended.effect) == ("cancel", Outcome.INTERRUPTED, EffectSeen.MAYBE)
    assert gone(grandchild)


def test_a_process_that_left_the_group_ends_as_well(call: Play) -> None:
    running = call("shell.run", shell("setsid sleep 300 & echo pid $!.; sleep 300"))
    escaped = pid_in(running)
    running.order(Order(stop="cancel"))
    running.end()
    assert gone(escaped)


def test_what_is_left_in_the_background_ends_with_the_call(call: Play) -> None:
    running = call("shell.run", shell("sleep 300 >/dev/null 2>&1 & echo pid $!."))
    left = pid_in(running)
    assert running.end().outcome is Outcome.OK
    assert gone(left)


def test_a_tool_that_ignores_term_is_killed(call: Play) -> None:
    running = call("shell.run", shell("trap '' TERM; echo pid $$.; while :; do sleep 1; done"))
    stubborn = pid_in(running)
    running.order(Order(stop="cancel"))
    assert running.end().stopped == "cancel"
    assert gone(stubborn)


def test_the_fence_ends_the_group_at_once(call: Play) -> None:
    running = call(
        "shell.run", shell("trap '' TERM; echo pid $$.; sleep 300"), fence_at=processes.awake_clock_s() + 300
    )
    fenced = pid_in(running)
    running.order(Order(fence_at=processes.awake_clock_s() + 0.05))
    ended = running.end()
    assert (ended.code, ended.stopped) == (Code.FENCED, "fence")
    assert gone(fenced)


def test_work_without_a_fence_cannot_be_given_one(call: Play) -> None:
    running = call("shell.run", shell("echo pid $$.; sleep 0.2"))
    pid_in(running)
    running.order(Order(fence_at=processes.awake_clock_s() - 1))
    assert running.end().outcome is Outcome.OK


def test_time_runs_out(call: Play) -> None:
    ended = call("shell.run", shell("sleep 300"), start_to_close_s=0.5).end()
    assert (ended.outcome, ended.code, ended.stopped) == (Outcome.TIMEOUT, Code.TIMED_OUT, "")


def test_a_closed_socket_ends_the_group(call: Play) -> None:
    running = call("shell.run", shell("trap '' TERM; echo pid $$.; sleep 300"))
    orphan, runner = pid_in(running), running.runner_pid
    running.cut()
    assert gone(orphan)
    assert gone(runner)


def ignores_broken_pipes(status: str) -> bool:
    """Whether a process ignores SIGPIPE, by the text of its `/proc/PID/status`."""
    (mask,) = re.findall(r"^SigIgn:\s*([0-9a-f]+)$", status, re.MULTILINE)
    return bool(int(mask, 16) & 1 << (signal.SIGPIPE - 1))


def test_a_cut_connection_is_an_error_of_the_tool_and_ends_only_programs(call: Play) -> None:
    running = call("shell.run", shell("cat /proc/$$/status; echo pid $$.; sleep 60"))
    pid_in(running)
    assert not ignores_broken_pipes("".join(said.text for said in running.said))
    # A file is sent again after its connection was cut: the process of the tool must live to do so.
    assert ignores_broken_pipes(Path(f"/proc/{running.leader}/status").read_text())


def test_a_killed_runner_takes_the_tool_with_it(call: Play) -> None:
    running = call("shell.run", shell("echo pid $$.; sleep 300"))
    pid_in(running)
    os.kill(running.runner_pid, signal.SIGKILL)
    assert running.end().code is Code.INTERRUPTED
    assert running.group is not None
    assert gone(running.group.group)
    assert processes.end_groups([(running.group.group, running.group.mark)]) == []


@pytest.mark.parametrize("begins", [True, False])
def test_a_tool_waits_until_its_group_was_told(begins: bool) -> None:
    ours, tool = socket.socketpair()
    output, text = os.pipe()
    begun = runner._Call(Begin(start_to_close_s=WITHIN_S), [tool.detach(), text, os.dup(text)])
    # The tool's process says on its standard error that this is no call, as soon as it reads it.
    ours.sendall(b"no call")
    ours.shutdown(socket.SHUT_WR)
    group = begun.start()
    if begins:
        begun.let_begin()
    else:
        for descriptor in begun._gate:
            os.close(descriptor)
    with os.fdopen(output, "rb") as said:
        assert bool(said.read()) is begins
    assert os.waitpid(group.group, 0)[1]
    ours.close()


def test_output_is_capped_and_the_loss_is_stated(call: Play) -> None:
    running = call("shell.run", shell(f"head -c {OUTPUT_BYTES_MAX + 500_000} /dev/zero | tr '\\0' 'x'"))
    ended = running.end()
    assert sum(len(said.text) for said in running.said) <= OUTPUT_BYTES_MAX + 200
    assert "were not kept" in ended.tail
    assert len(ended.tail.encode()) <= 4096


def test_offsets_count_the_bytes_before(call: Play) -> None:
    running = call("shell.run", shell("echo one; sleep 0.1; echo two >&2; sleep 0.1; echo \u00e4"))
    running.end()
    expected = 0
    for said in [said for said in running.said if said.stream]:
        assert said.offset == expected
        expected += len(said.text.encode())
    assert expected > 0


def test_secrets_leave_nowhere(call: Play) -> None:
    running = call("shell.run", shell("echo the key is hunter22; echo hunt''er22"), secrets={"KEY": "hunter22"})
    ended = running.end()
    everything = "".join(said.text for said in running.said) + ended.tail + (ended.value or "") + ended.detail
    assert "***" in everything
    assert "hunter22" not in everything


def test_the_fence_is_in_the_environment(call: Play) -> None:
    running = call("shell.run", shell("echo fence $STARLOOM_FENCE"))
    running.end()
    assert "fence 1.2" in "".join(said.text for said in running.said)


# 0x4000 is MAP_NORESERVE, for which this Python may have no name.
RESERVES = (
    "import mmap; m = mmap.mmap(-1, 64 << 30, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000); "
    "n = mmap.mmap(-1, 64 << 30, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=0); print('reserved')"
)


def test_reserved_address_space_is_no_memory(call: Play) -> None:
    ended = call("shell.run", {"argv": [sys.executable, "-c", RESERVES]}, memory_bytes_max=MEMORY_BYTES_MAX).end()
    assert ended.outcome is Outcome.OK, ended.detail
    assert "reserved" in (ended.value or "")


@pytest.mark.parametrize(
    "script",
    [
        "x = b'x' * (600 << 20)",
        "import mmap; m = mmap.mmap(-1, 600 << 20); m.write(bytes(600 << 20))",
        "import os; f = os.memfd_create('x'); [os.write(f, bytes(1 << 20)) for _ in range(600)]",
        "import os\nfor _ in range(8):\n    if os.fork() == 0: break\nx = b'x' * (80 << 20)",
    ],
    ids=["own", "shared", "memfd", "children"],
)
def test_memory_in_use_above_the_limit_ends_the_call_alone(call: Play, script: str) -> None:
    argv = [sys.executable, "-c", f"{script}\nimport time; time.sleep(300)"]
    ended = call("shell.run", {"argv": argv}, memory_bytes_max=400 * 1024**2).end()
    assert (ended.outcome, ended.code) == (Outcome.ERROR, Code.MEMORY_EXCEEDED)
    said = re.fullmatch(r"shell.run was ended: it used (\d+) MiB of memory; its limit is 400 MiB", ended.detail)
    assert said is not None, ended.detail
    assert int(said[1]) > 400


def put_program(folder: Path, name: str, body: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
    (folder / name).chmod(0o755)


@pytest.fixture
def desktop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A display whose programs are played by scripts: a clipboard is a process that answers as long as it runs."""
    folder = tmp_path / "programs"
    put_program(
        folder,
        "xclip",
        f"cd {folder}\nif [ $3 = -out ]; then kill -0 $(cat owner) 2>/dev/null && cat text; else cat > text; "
        "echo $$ > owner; exec sleep 300; fi",
    )
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    monkeypatch.setenv("DISPLAY", ":93")
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    return folder


def test_a_clipboard_outlives_its_call_and_can_be_read(call: Play, desktop: Path) -> None:
    ended = call("clipboard.write", {"text": "Grüße"}).end()
    assert ended.outcome is Outcome.OK, ended.detail
    (owner,) = ended.detached
    try:
        assert (owner.kind, owner.keep_s, owner.pid) == ("clipboard", 3600, int((desktop / "owner").read_text()))
        assert owner.mark == processes.start_mark(owner.pid)
        read = call("clipboard.read", {}).end()
        assert json.loads(read.value or "")["text"] == "Grüße"
    finally:
        assert processes.end_groups([(owner.pid, owner.mark)]) == []


@pytest.mark.parametrize(
    "body",
    [
        "echo $$ > {0}/opened; exec sleep 300",
        # as programs that a desktop starts: in the background, in a session of their own, the opener long gone
        "setsid sh -c 'echo $$ > {0}/opened.part; mv {0}/opened.part {0}/opened; exec sleep 300' & exit 0",
    ],
    ids=["stays", "hands on"],
)
def test_what_was_opened_outlives_its_call(call: Play, desktop: Path, body: str) -> None:
    put_program(desktop, "xdg-open", body.format(desktop))
    ended = call("open", {"target": "http://example.org/"}).end()
    assert ended.outcome is Outcome.OK, ended.detail
    until((desktop / "opened").exists, "the program runs")
    pid = int((desktop / "opened").read_text())
    try:
        assert processes.start_mark(pid) is not None
    finally:
        os.kill(pid, signal.SIGKILL)


def test_what_cannot_be_opened_is_a_failure(call: Play, desktop: Path) -> None:
    put_program(desktop, "xdg-open", f"sleep 300 & echo $! > {desktop}/child; exit 3")
    ended = call("open", {"target": "http://example.org/"}).end()
    assert (ended.outcome, ended.code) == (Outcome.ERROR, Code.TOOL_FAILED)
    assert "could not be opened" in ended.detail
    assert "no program for it is installed" in ended.detail
    assert processes.start_mark(int((desktop / "child").read_text())) is None


def test_a_call_that_is_stopped_leaves_nothing_open(call: Play, desktop: Path) -> None:
    put_program(desktop, "xdg-open", f"cd {desktop}; echo $$ > part; mv part opened; sleep 300")
    running = call("open", {"target": "http://example.org/"})
    until((desktop / "opened").exists, "the program runs")
    running.order(Order(stop="cancel"))
    assert running.end().stopped == "cancel"
    assert processes.start_mark(int((desktop / "opened").read_text())) is None


def test_a_stranger_with_the_same_number_is_left_alone() -> None:
    stranger = subprocess.Popen(["sleep", "300"], start_new_session=True)
    try:
        assert processes.end_groups([(stranger.pid, "not its mark")]) == []
        assert stranger.poll() is None
        mark = processes.start_mark(stranger.pid)
        assert mark is not None
        assert processes.end_groups([(stranger.pid, mark)]) == []
        assert stranger.wait(WITHIN_S) == -signal.SIGKILL
    finally:
        stranger.kill()
        stranger.wait(WITHIN_S)


def test_lines_round_trip() -> None:
    ended = Ended(outcome=Outcome.OK, value="1", facts={"/a": "1"}, tail="t")
    assert decode_tool_line(encode(ended)) == ended
    with pytest.raises(msgspec.ValidationError):
        decode_tool_line(b'{"k":"other"}')


CANARY = "hunter22/+é"


def test_a_secret_reaches_a_program_by_its_environment_or_its_input_and_leaves_nowhere(call: Play) -> None:
    script = """
        read line; printf '%s' "$MY_TOKEN" | head -c 4; sleep 0.1; printf '%s' "$MY_TOKEN" | tail -c +5; echo
        echo $line; printf '%s' "x$MY_TOKEN" | base64; echo $MY_TOKEN >&2; [ "$line" = "$MY_TOKEN" ] && echo same
    """
    node = {"secret": "key#1"}
    args = {**shell(script), "env": {"MY_TOKEN": node}, "stdin": node}
    running = call("shell.run", args, secrets={"key#1": CANARY})
    ended = running.end()
    assert ended.outcome is Outcome.OK, ended
    value = json.loads(ended.value or "{}")
    assert value["stdout"].splitlines()[-1] == "same"
    assert value["stderr"] == "***\n"
    everything = "".join(said.text + said.note for said in running.said) + ended.tail + (ended.value or "")
    for form in (CANARY, "hunter22", "aHVudGVyMjI", "eGh1bnRlcjIy"):
        assert form not in everything
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # an executed runner may have ended
        assert CANARY.encode() not in Path(f"/proc/{running.runner_pid}/cmdline").read_bytes()


def test_variables_that_steer_a_program_are_refused(call: Play) -> None:
    for name in ("PATH", "LD_PRELOAD", "GIT_ASKPASS", "my_token", "BASH_ENV"):
        ended = call("shell.run", {**shell("true"), "env": {name: "x"}}).end()
        assert (ended.outcome, ended.code, ended.effect) == (Outcome.ERROR, Code.BAD_ARGUMENTS, EffectSeen.NONE), name
        assert "credentials only" in ended.detail


def test_an_error_that_is_cut_shows_no_half_of_a_secret(call: Play) -> None:
    script = "printf 'x%.0s' $(seq 1 300); printf '%s' \"$MY_TOKEN\"; printf 'y%.0s' $(seq 1 493); exit 3"
    args = {**shell(script), "env": {"MY_TOKEN": {"secret": "key#1"}}}
    ended = call("shell.run", args, secrets={"key#1": CANARY}).end()
    assert ended.code is Code.EXIT_CODE
    assert "***" in ended.detail
    assert "nter22" not in ended.detail + ended.tail


def test_a_call_without_files_loads_no_network_library() -> None:
    code = "import sys; from starloom_agent.work.execution import runner, toolcall; print('ssl' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"
