"""Programs, waiting, the network on this machine, and people at a device."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import msgspec
import pytest

from starloom_agent.policy.policy import Policy, decide
from starloom_agent.sandbox import usage
from starloom_agent.toolkit.interface import ToolFailed
from starloom_agent.toolkit.running import left_running
from starloom_agent.toolkit.running.programs import run_program
from starloom_agent.tools.desktop.person import TOOLS
from starloom_agent.tools.wait import Until, until
from starloom_agent.work.registry import all_tools
from starloom_protocol.vocabulary import Code, Profile
from tests.device_agents.tools.conftest import Device
from tests.served import Quiet, Served

LOCAL = ("127.0.0.1",)


class Answers(Quiet, BaseHTTPRequestHandler):
    def _answer(self) -> None:
        length = int(self.headers.get("content-length") or 0)
        body = self.rfile.read(length)
        self.send_response({"/moved": 302, "/bad": 500}.get(self.path, 200))
        self.send_header("Content-Type", "application/json" if self.path != "/file" else "application/zip")
        if self.path == "/moved":
            self.send_header("Location", "http://elsewhere.example/")
        self.end_headers()
        self.wfile.write(body or b'{"ok": true}')

    do_GET = _answer  # noqa: N815 - the library's name
    do_POST = _answer  # noqa: N815 - the library's name


@pytest.fixture
def site() -> Iterator[int]:
    with Served(Answers) as served:
        yield served.port


@pytest.fixture(autouse=True)
def own_family(monkeypatch: pytest.MonkeyPatch) -> None:
    """A runner has one tool's process below it; that of this call has the other workers of the tests beside it."""
    monkeypatch.setattr(left_running, "present", lambda: frozenset(usage.below(os.getpid())))


def test_a_program_runs_by_its_words_and_no_shell_reads_them(device: Device) -> None:
    found = device.call("shell.run", argv=["printf", "%s", "$HOME; `id`"], device_name="box")
    assert (found["stdout"], found["exit_code"], found["device"]) == ("$HOME; `id`", 0, "box")
    assert device.said.lines == ["$HOME; `id`"]


def test_a_failing_program_fails_the_task_unless_any_exit_is_taken(device: Device) -> None:
    argv = [sys.executable, "-c", "import sys; print('why', file=sys.stderr); sys.exit(3)"]
    with pytest.raises(ToolFailed, match=r"ended with 3: why") as failed:
        device.call("shell.run", argv=argv)
    assert failed.value.code is Code.EXIT_CODE
    assert device.call("shell.run", argv=argv, any_exit=True)["exit_code"] == 3


def test_the_last_line_of_an_error_comes_first(device: Device) -> None:
    argv = [sys.executable, "-c", "import sys; sys.exit('looking\\nno printer')"]
    with pytest.raises(ToolFailed, match=r"ended with 1: no printer\nlooking\nno printer$"):
        device.call("shell.run", argv=argv)


def test_the_end_of_a_long_error_begins_with_words(device: Device) -> None:
    argv = [sys.executable, "-c", "import sys; sys.exit('x' * 600 + '\\n' + 'y' * 499)"]
    with pytest.raises(ToolFailed, match=r"ended with 1: y{499}$"):
        device.call("shell.run", argv=argv)


def test_the_last_line_of_python_comes_first(device: Device) -> None:
    code = "import sys; sys.exit('\\n'.join(f'line {n} of the error' for n in range(200)))"
    with pytest.raises(ToolFailed) as failed:
        device.call("python.run", code=code)
    first, second, *_ = str(failed.value).splitlines()
    assert first.endswith("the program ended with 1: line 199 of the error")
    assert second.startswith("line "), "it begins in the middle of a line"


def test_a_program_that_is_not_there_and_a_bad_argv_are_named(device: Device) -> None:
    with pytest.raises(ToolFailed, match="no program surely-not-there") as failed:
        device.call("shell.run", argv=["surely-not-there"])
    assert failed.value.code is Code.TOOL_UNAVAILABLE
    with pytest.raises(msgspec.ValidationError):
        device.call("shell.run", argv="uptime")
    with pytest.raises(ToolFailed, match="NUL"):
        device.call("shell.run", argv=["a", "b\x00"])


def test_output_is_bounded_and_the_loss_is_said() -> None:
    ran = run_program([sys.executable, "-c", "print('a' * 300_000 + 'END')"], timeout_s=30, kept_bytes=1000)
    assert ran.lost_bytes > 298_000
    assert "bytes left out" in ran.stdout
    assert ran.stdout.endswith("END\n")
    assert len(ran.stdout) < 1100


def test_outputs_that_differ_only_in_what_is_left_out_are_different_texts() -> None:
    code = "print('a' * 9_000 + {!r} + 'b' * 9_000)"
    shown = {
        middle: run_program([sys.executable, "-c", code.format(middle)], timeout_s=30, kept_bytes=1000).stdout
        for middle in ("one", "two")
    }
    assert shown["one"] != shown["two"]
    again = run_program([sys.executable, "-c", code.format("one")], timeout_s=30, kept_bytes=1000)
    assert again.stdout == shown["one"]


def test_a_program_that_takes_too_long_is_ended() -> None:
    with pytest.raises(ToolFailed, match=r"longer than 0\.2 s") as failed:
        run_program([sys.executable, "-c", "import time; print('begun', flush=True); time.sleep(60)"], timeout_s=0.2)
    assert failed.value.code is Code.TIMED_OUT


def test_a_program_that_reads_no_input_is_ended_in_time_all_the_same() -> None:
    waits = [sys.executable, "-c", "import signal; signal.pause()"]
    with pytest.raises(ToolFailed) as failed:
        run_program(waits, timeout_s=0.3, stdin=bytes(1024 * 1024))
    assert failed.value.code is Code.TIMED_OUT


def test_a_program_gets_all_of_its_input_and_may_leave_the_rest() -> None:
    counts = [sys.executable, "-c", "import sys; print(len(sys.stdin.buffer.read()))"]
    assert run_program(counts, timeout_s=60, stdin=bytes(300_000)).stdout == "300000\n"
    assert run_program(["true"], timeout_s=60, stdin=bytes(300_000)).exit_code == 0


def test_a_python_program_takes_and_gives_files_and_a_value(device: Device) -> None:
    code = (
        "import json, pathlib\n"
        "given = json.load(open('input.json'))\n"
        "text = pathlib.Path('data.txt').read_text()\n"
        "pathlib.Path('out/twice.txt').write_text(text * given['times'])\n"
        "json.dump({'length': len(text)}, open('result.json', 'w'))\n"
    )
    ref = device.store.take(b"abc", name="data.txt")
    found = device.call("python.run", code=code, files=[ref], input={"times": 2})
    assert found["value"] == {"length": 3}
    assert device.store.read(found["files"][0]) == b"abcabc"
    assert found["files"][0]["name"] == "twice.txt"


def test_a_result_of_a_program_that_cannot_be_taken_is_named(device: Device) -> None:
    code = (
        "import os, pathlib\n"
        "pathlib.Path('out/good.txt').write_text('x')\n"
        "open(b'out/nur\\xe9.txt', 'wb').close()\n"
        "os.symlink('/etc/passwd', 'out/link')\n"
    )
    ran = device.call("python.run", code=code)
    assert [file["name"] for file in ran["files"]] == ["good.txt"]
    assert ran["left_out"] == [
        {"path": r"nur\xe9.txt", "why": "its name is no text (UTF-8); rename it"},
        {"path": "link", "why": "a link is not taken"},
    ]
    assert "left_out" not in device.call("python.run", code="print(1)")


def test_what_a_python_program_leaves_beside_out_is_named(device: Device) -> None:
    ref = device.store.take(b"given", name="given.txt")
    code = """
import json, os
open("field.bin", "wb").write(b"x" * 100)
os.mkdir("more")
open("out/kept.txt", "w").write("kept")
json.dump(1, open("result.json", "w"))
"""
    ran = device.call("python.run", code=code, files=[ref])
    assert [file["name"] for file in ran["files"]] == ["kept.txt"]
    why = "it is not in out/"
    assert ran["left_out"] == [{"path": "field.bin", "why": why}, {"path": "more", "why": why}]


def test_a_python_program_that_fails_says_its_last_words(device: Device) -> None:
    with pytest.raises(ToolFailed, match="ZeroDivisionError"):
        device.call("python.run", code="1 / 0")
    with pytest.raises(ToolFailed, match="not JSON"):
        device.call("python.run", code="open('result.json', 'w').write('{')")


def test_a_python_program_does_not_see_the_agent_s_environment(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VERY_SECRET", "hidden")
    found = device.call("python.run", code="import os; print(os.environ.get('VERY_SECRET'))")
    assert found["stdout"] == "None\n"


def test_waiting_looks_again_until_it_is_so_or_too_late(device: Device) -> None:
    now = [0.0]

    def pause(seconds: float) -> None:
        now[0] += seconds
        if now[0] >= 3:
            device.write("ready", b"")

    args = Until(what="file", path="ready", within_s=10)
    found = until(device.context(), args, clock=lambda: now[0], pause=pause)
    assert found == {"waited_s": 3.0, "looks": 4}
    late = Until(what="no_file", path="ready", within_s=5)
    with pytest.raises(ToolFailed, match="was not so within 5 s") as failed:
        until(device.context(), late, clock=lambda: now[0], pause=pause)
    assert failed.value.code is Code.NOT_IN_TIME


def test_waiting_needs_to_know_for_what(device: Device) -> None:
    with pytest.raises(ToolFailed, match="give path and contains"):
        device.call("wait.until", what="text")
    device.write("log", "it is done")
    assert device.call("wait.until", what="text", path="log", contains="done")["looks"] == 1


def test_a_site_is_checked_and_asked(device: Device, site: int) -> None:
    up = device.call("net.check", hosts=LOCAL, host="127.0.0.1", port=site, path="/")
    assert (up["up"], up["status"], up["reason"]) == (True, 200, "")
    bad = device.call("net.check", hosts=LOCAL, host="127.0.0.1", port=site, path="/bad")
    assert (bad["up"], bad["reason"]) == (False, "the page answers 500")
    assert device.call("wait.until", hosts=LOCAL, what="port", host="127.0.0.1", port=site)["looks"] == 1
    base = f"http://127.0.0.1:{site}"
    found = device.call("http.request", hosts=LOCAL, url=f"{base}/x", method="POST", json={"a": 1})
    assert (found["status"], found["json"]) == (200, {"a": 1})
    moved = device.call("http.request", hosts=LOCAL, url=f"{base}/moved")
    assert (moved["status"], moved["headers"]["location"]) == (302, "http://elsewhere.example/")
    packed = device.call("http.request", hosts=LOCAL, url=f"{base}/file")
    assert device.store.read(packed["file"]) == b'{"ok": true}'
    with pytest.raises(ToolFailed, match="answered 500"):
        device.call("http.request", hosts=LOCAL, url=f"{base}/bad")
    assert device.call("http.request", hosts=LOCAL, url=f"{base}/bad", accept=[500])["status"] == 500


def test_a_closed_port_is_an_answer_of_the_check_and_a_failure_of_the_request(device: Device, site: int) -> None:
    free = 1  # nobody listens there without being root and meaning it
    found = device.call("net.check", hosts=LOCAL, host="127.0.0.1", port=free)
    assert found["up"] is False
    assert found["reason"]
    with pytest.raises(ToolFailed) as failed:
        device.call("http.request", hosts=LOCAL, url=f"http://127.0.0.1:{free}/")
    assert failed.value.code is Code.NETWORK


@pytest.mark.parametrize("url", ["file:///etc/passwd", "http://user:pw@127.0.0.1/", "ftp://x/", "http://", "nonsense"])
def test_addresses_of_other_kinds_are_refused(device: Device, url: str) -> None:
    with pytest.raises(ToolFailed) as failed:
        device.call("http.request", hosts=("*",), url=url)
    assert failed.value.code is Code.BAD_ARGUMENTS


def test_hosts_that_the_owner_has_not_listed_are_refused(device: Device) -> None:
    calls: tuple[tuple[str, dict[str, Any]], ...] = (
        ("net.check", {"host": "example.org"}),
        ("http.request", {"url": "http://example.org/"}),
        ("wait.until", {"what": "port", "host": "example.org", "port": 80}),
    )
    for name, args in calls:
        with pytest.raises(ToolFailed, match="starloom-agent grant net:reach") as failed:
            device.call(name, **args)
        assert failed.value.code is Code.POLICY_REFUSED


def no_desktop(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/nowhere")


def test_a_notice_that_nobody_can_see_is_a_failure(
    device: Device, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    no_desktop(monkeypatch)
    monkeypatch.setattr(sys, "platform", "linux")
    with pytest.raises(ToolFailed, match="no desktop to show a notice on") as failed:
        device.call("notify", text="Your pictures are safe", count=21)
    assert failed.value.code is Code.TOOL_UNAVAILABLE
    assert device.said.lines == ["Starloom: Your pictures are safe (21)"]


def test_a_notice_of_courtesy_is_kept_in_the_log(
    device: Device, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    program = tmp_path / "notify-send"
    monkeypatch.setenv("PATH", f"{tmp_path}")
    monkeypatch.setattr(sys, "platform", "linux")
    no_desktop(monkeypatch)
    kept = device.call("notify", text="Safe", unshown="log")
    assert (kept["shown"], kept["reason"]) == ("log", "this device has no desktop to show a notice on")
    program.write_text('#!/bin/sh\necho "no notification daemon" >&2\nexit 1\n', encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("DISPLAY", ":9")
    failed = device.call("notify", text="Safe", unshown="log")
    assert (failed["shown"], device.said.lines) == ("log", ["Starloom: Safe"] * 2)
    assert "notify-send failed: no notification daemon" in failed["reason"]


def test_a_demo_device_shows_its_notices_in_its_log(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    no_desktop(monkeypatch)
    monkeypatch.setattr(sys, "platform", "linux")
    (tool,) = [tool for tool in TOOLS if tool.name == "notify"]
    found = tool.run(replace(device.context(), unattended=True), msgspec.convert({"text": "Safe"}, tool.args))
    assert (found["shown"], device.said.lines) == ("log", ["Starloom: Safe"])


def test_a_desktop_that_shows_no_notice_is_a_failure(
    device: Device, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    program = tmp_path / "notify-send"
    program.write_text('#!/bin/sh\necho "no notification daemon" >&2\nexit 1\n', encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setenv("DISPLAY", ":9")
    monkeypatch.setattr(sys, "platform", "linux")
    with pytest.raises(ToolFailed, match="was not shown: notify-send failed: no notification daemon"):
        device.call("notify", text="x")


def test_a_notice_is_given_to_the_desktop_as_words(
    device: Device, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    program = tmp_path / "notify-send"
    program.write_text(f'#!/bin/sh\nprintf "%s|" "$@" > {tmp_path}/shown\n', encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setenv("DISPLAY", ":9")
    monkeypatch.setattr(sys, "platform", "linux")
    assert device.call("notify", text="--help $(id)")["shown"] == "notify-send"
    assert (tmp_path / "shown").read_text(encoding="utf-8") == "--app-name=Starloom|--|Starloom|--help $(id)|"


def test_questions_and_openers_are_not_offered_without_a_desktop(
    device: Device, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    no_desktop(monkeypatch)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "platform", "linux")
    reasons = {tool.name: tool.probe() for tool in TOOLS}
    assert reasons["notify"] is None
    assert "no desktop" in str(reasons["ask"])
    assert "no desktop" in str(reasons["open"])


def test_a_script_is_read_from_the_input_and_asks_whatever_was_granted(device: Device) -> None:
    row = device.call("shell.script", text="echo one; echo $# $MY_TOKEN; exit 3", env={"MY_TOKEN": "me"}, any_exit=True)
    assert (row["stdout"], row["exit_code"], row["argv"]) == ("one\n0 me\n", 3, ["sh", "-s"])
    with pytest.raises(ToolFailed) as failed:
        device.call("shell.script", text="echo no >&2; exit 1")
    assert failed.value.code is Code.EXIT_CODE
    with pytest.raises(ToolFailed, match="no NUL"):
        device.call("shell.script", text="a\x00b")
    (tool,) = [tool for tool in all_tools() if tool.name == "shell.script"]
    for profile in Profile:
        assert decide(Policy(profile=profile), tool, {"text": "ls"}).code is Code.MISSING_GRANT
    granted = decide(Policy(grants=frozenset({"shell:script"})), tool, {"text": "ls"})
    assert granted.asks
    assert not granted.allowed
