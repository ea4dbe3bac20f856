"""Agents of others that are reached by A2A: a server of the official kit, and servers that lie."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import msgspec
import pytest
from jsonschema_rs import Draft202012Validator

from starloom.host.ports import free_port, is_free
from starloom_agent.owner.agents import FILE, find_agents, greet, module_of, read_agents
from starloom_agent.policy.policy import Policy, decide
from starloom_agent.toolkit.clients.a2a.card import PATH
from starloom_agent.toolkit.clients.a2a.messages import Followed, TaskFault
from starloom_agent.toolkit.interface import Tool, ToolFailed
from starloom_agent.toolkit.messages import Heard, Permit
from starloom_agent.work.execution.toolcall import find_tool
from starloom_protocol.values import canonical, parse
from starloom_protocol.vocabulary import Code, Effect, Repeatability
from tests.device_agents.tools.conftest import Device
from tests.served import Quiet, Served
from tests.waiting import PATIENCE_S, until

SERVER = Path(__file__).with_name("a2a_server.py")
MODES = ("well", "asks", "fails", "endless")


@dataclass
class People:
    """The answers of people: to questions, and hints in words."""

    permits: list[Permit] = field(default_factory=lambda: [Permit(reason="nobody was asked")])
    words: list[str] = field(default_factory=list)
    asked: list[dict[str, Any]] = field(default_factory=list)

    def permit(self, tool: str, args: Mapping[str, Any]) -> Permit:
        self.asked.append({"tool": tool, **args})
        return self.permits.pop(0) if len(self.permits) > 1 else self.permits[0]

    def hints(self, after: int) -> Heard:
        return Heard(last=max(after, len(self.words)), texts=self.words[after:])


@dataclass
class Others:
    """Agents of the official kit, each of which works as its mode says."""

    ports: Mapping[str, int]
    folder: Path

    def url(self, mode: str) -> str:
        return f"http://127.0.0.1:{self.ports[mode]}"

    def note(self, mode: str) -> Path:
        return self.folder / mode


@contextmanager
def serving(folder: Path, *modes: str) -> Iterator[Others]:
    """One process for every mode: its start, which loads the kit, is most of its work."""
    made = Others({mode: free_port() for mode in modes}, folder)
    agents = [f"{mode}={port}" for mode, port in made.ports.items()]
    process = subprocess.Popen([sys.executable, str(SERVER), str(folder), *agents], stderr=subprocess.DEVNULL)
    try:
        until(lambda: not any(is_free("127.0.0.1", port) for port in made.ports.values()), "the others listen")
        yield made
    finally:
        process.kill()
        process.wait()


@pytest.fixture(scope="module")
def others(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Others]:
    with serving(tmp_path_factory.mktemp("others"), *MODES) as made:
        yield made


def tool_at(home: Path, url: str, more: str = "") -> Tool:
    home.mkdir(exist_ok=True)
    (home / FILE).write_text(f'[agents.other]\nurl = "{url}"\n{more}', encoding="utf-8")
    (home / FILE).chmod(0o600)
    said: list[str] = []
    (tool,) = find_agents(home, said.append)
    assert said == []
    return tool


def call(device: Device, tool: Tool, people: People | None = None, /, **args: Any) -> dict[str, Any]:
    again = find_tool(module_of(tool), tool.name, tool.settings)
    context = replace(device.context(), permits=people or People())
    given = {"text": "plan my trip", "timeout_s": PATIENCE_S, **args}
    value: dict[str, Any] = parse(canonical(again.run(context, msgspec.convert(given, again.args))))
    assert Draft202012Validator(parse(tool.returns)).is_valid(value)
    return value


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def test_the_owner_names_it_and_its_words_leave_the_device(home: Path) -> None:
    tool = tool_at(home, "https://other.example/a", 'effects = ["read"]\nheaders = {Authorization = "Bearer s3cret"}\n')
    assert (tool.name, tool.repeatability) == ("agent.other", Repeatability.NEVER)
    assert set(tool.effects) == {Effect.READ, Effect.REACH}
    assert tool.title == "Hand work to the agent other at other.example; it may read, reach"
    assert decide(Policy(), tool, {}).code is Code.MISSING_GRANT
    assert "s3cret" not in tool.title + tool.returns


def test_work_goes_there_and_its_artifacts_come_back(home: Path, device: Device, others: Others) -> None:
    tool = tool_at(home, others.url("well"))
    assert greet(read_agents(home)[0]["other"]) == "Other"
    value = call(device, tool)
    assert value["text"].startswith("part one, heard 'plan my trip'")
    assert value["data"] == [{"rows": [1]}]
    assert (value["stop"], value["questions"], value["complete"]) == ("completed", 0, True)


@pytest.mark.parametrize(
    ("people", "heard"),
    [
        (People(permits=[Permit(open=True), Permit(allowed=True)]), "Yes."),
        (People(permits=[Permit(open=True)], words=["only second class"]), "only second class"),
    ],
    ids=["yes", "words"],
)
def test_a_question_of_it_is_a_question_to_a_person(
    home: Path, device: Device, others: Others, people: People, heard: str
) -> None:
    value = call(device, tool_at(home, others.url("asks")), people)
    assert f"heard {heard!r}" in value["text"]
    assert value["questions"] == 1
    assert all(one["question"] == "May I book the train for 40?" for one in people.asked)


def test_a_no_ends_its_task(home: Path, device: Device, others: Others) -> None:
    value = call(device, tool_at(home, others.url("asks")), People(permits=[Permit(reason="no")]))
    until(others.note("asks").exists, "it was told")
    others.note("asks").unlink()
    assert (value["stop"], value["refused"]) == ("refused", 1)


def test_a_failure_there_is_one_here_with_its_words(home: Path, device: Device, others: Others) -> None:
    with pytest.raises(ToolFailed, match="the model is gone"):
        call(device, tool_at(home, others.url("fails")))


def test_work_without_an_end_is_ended_and_the_agent_is_told(home: Path, device: Device, others: Others) -> None:
    note = others.note("endless")
    tool = tool_at(home, others.url("endless"), "silent_s = 2.0\n")
    with pytest.raises(ToolFailed, match="no answer in time"):
        call(device, tool)
    until(lambda: note.read_text(encoding="ascii") == "cancelled", "it was told")


Answers = Callable[[str, dict[str, Any]], tuple[int, dict[str, str], bytes]]


@contextmanager
def lying(answers: Answers) -> Iterator[str]:
    class Handler(Quiet, BaseHTTPRequestHandler):
        def _give(self, body: dict[str, Any]) -> None:
            status, headers, data = answers(self.path, body)
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data)

        def do_GET(self) -> None:
            self._give({})

        def do_POST(self) -> None:
            self._give(json.loads(self.given()))

    with Served(Handler) as served:
        yield served.url


def card_of(url: str, *, streams: bool = False) -> bytes:
    interface = {"url": url, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
    said = {"name": "Other", "supportedInterfaces": [interface], "capabilities": {"streaming": streams}}
    return json.dumps(said).encode()


@pytest.mark.parametrize(
    "elsewhere",
    ["http://169.254.169.254/latest", "http://127.0.0.1:1/x", "file:///etc/passwd", "http://u:p@127.0.0.1/"],
)
def test_t112_a_card_leads_to_no_other_host(home: Path, device: Device, elsewhere: str) -> None:
    asked: list[str] = []

    def answers(path: str, _: dict[str, Any]) -> tuple[int, dict[str, str], bytes]:
        asked.append(path)
        return 200, {}, card_of(elsewhere)

    with lying(answers) as url, pytest.raises(ToolFailed, match="another host"):
        call(device, tool_at(home, url))
    assert asked == [PATH]


def test_t112_a_redirect_is_not_followed(home: Path, device: Device) -> None:
    with (
        lying(lambda *_: (302, {"Location": "http://169.254.169.254/"}, b"")) as url,
        pytest.raises(ToolFailed, match="not followed"),
    ):
        call(device, tool_at(home, url))


def test_t112_a_stream_without_an_end_is_bounded(home: Path, device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("starloom_agent.toolkit.clients.http_streams.BODY_BYTES_MOST", 100_000)
    kind = {"Content-Type": "text/event-stream"}

    def answers(path: str, body: dict[str, Any]) -> tuple[int, dict[str, str], bytes]:
        if path == PATH:
            return 200, {}, card_of(f"{base[0]}/rpc", streams=True)
        status = {"state": "TASK_STATE_WORKING"}
        event = {
            "jsonrpc": "2.0",
            "id": body["id"],
            "result": {"task": {"id": "t", "contextId": "c", "status": status}},
        }
        return 200, kind, (b"data: " + json.dumps(event).encode() + b"\n\n") * 5_000

    base: list[str] = []
    with lying(answers) as url:
        base.append(url)
        tool = tool_at(home, url)
        with pytest.raises(ToolFailed, match="larger than"):
            call(device, tool)


def event(task: str, state: str, **more: Any) -> dict[str, Any]:
    return {"statusUpdate": {"taskId": task, "contextId": "c", "status": {"state": f"TASK_STATE_{state}", **more}}}


@pytest.mark.parametrize(
    ("events", "words"),
    [
        ([event("t", "WORKING"), event("other", "COMPLETED")], "another task"),
        ([event("t", "COMPLETED"), event("t", "WORKING")], "went on"),
        ([event("t", "OWNED")], "a state that is none"),
        ([{"approve": True}], "none of A2A"),
        ([[1]], "no result"),
        ([event("", "WORKING")], "names no task"),
    ],
)
def test_t112_events_that_no_agent_sends_are_refused(events: list[Any], words: str) -> None:
    task = Followed()
    for one in events[:-1]:
        task.take(one)
    with pytest.raises(TaskFault, match=words):
        task.take(events[-1])


@pytest.mark.parametrize("form", ["message", "status"])
def test_the_data_of_a_message_that_ends_a_task_are_its_data(form: str) -> None:
    said = {"messageId": "1", "role": "ROLE_AGENT", "parts": [{"data": {"total": 42}}, {"text": "done"}]}
    task = Followed()
    task.take({"message": said} if form == "message" else event("t", "COMPLETED", message=said))
    assert (task.state, task.data) == ("COMPLETED", [{"total": 42}])
    assert "done" in (task.text if form == "message" else task.words)


def test_a_file_is_named_and_not_fetched() -> None:
    task = Followed()
    part = {"url": "http://169.254.169.254/key"}
    task.take({"artifactUpdate": {"taskId": "t", "artifact": {"artifactId": "a", "parts": [part, {"raw": "AA"}]}}})
    assert "which was not fetched" in task.text
    assert "left out" in task.text


TOTAL = {"parts": [{"text": "the sum"}, {"data": {"total": 42}}]}


def test_an_answer_by_a_message_keeps_its_data() -> None:
    task = Followed()
    task.take({"message": {"messageId": "1", "role": "ROLE_AGENT", **TOTAL}})
    assert (task.state, task.text, task.data, task.is_complete) == ("COMPLETED", "the sum", [{"total": 42}], True)


def test_data_beside_the_last_words_are_those_of_a_task_without_artifacts() -> None:
    task = Followed()
    task.take(event("t", "COMPLETED", message=TOTAL))
    assert (task.words, task.data) == ("the sum", [{"total": 42}])
    task = Followed()
    made = {"artifactId": "a", "parts": [{"data": {"rows": 1}}]}
    task.take({"artifactUpdate": {"taskId": "t", "contextId": "c", "artifact": made}})
    task.take(event("t", "COMPLETED", message=TOTAL))
    assert task.data == [{"rows": 1}]


def test_a_message_that_is_cut_says_so() -> None:
    task = Followed()
    task.take({"message": {"parts": [{"text": "x" * (256 * 1024 + 1)}]}})
    assert (len(task.text), task.is_complete) == (256 * 1024, False)


def test_data_beyond_the_most_make_the_answer_incomplete() -> None:
    task = Followed()
    task.take({"message": {"parts": [{"data": number} for number in range(51)]}})
    assert (len(task.data), task.is_complete) == (50, False)


def streamed(stream: bytes, polls: list[str], base: list[str], *, cut: bool) -> Answers:
    """An agent whose stream ends or is cut off behind these bytes; each look at its task finds the next state."""

    def answers(path: str, body: dict[str, Any]) -> tuple[int, dict[str, str], bytes]:
        if path == PATH:
            return 200, {}, card_of(f"{base[0]}/rpc", streams=True)
        if body["method"] == "GetTask":
            status = {"state": f"TASK_STATE_{polls.pop(0)}"}
            task = {"id": "t", "contextId": "c", "status": status, "artifacts": [{"artifactId": "a", **TOTAL}]}
            return 200, {}, json.dumps({"jsonrpc": "2.0", "id": body["id"], "result": task}).encode()
        kind = {"Content-Type": "text/event-stream"}
        if not cut:
            return 200, kind, stream
        return 200, kind | {"Transfer-Encoding": "chunked"}, b"%x\r\n%b" % (len(stream) + 1, stream)

    return answers


def test_a_task_whose_stream_is_cut_off_is_followed_to_its_end(
    home: Path, device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("starloom_agent.toolkit.clients.a2a.session._POLL_EVERY_S", 0.0)
    first = {"jsonrpc": "2.0", "id": 1, "result": event("t", "WORKING")}
    polls, base = ["WORKING", "COMPLETED"], list[str]()
    with lying(streamed(b"data: " + json.dumps(first).encode() + b"\n\n", polls, base, cut=True)) as url:
        base.append(url)
        value = call(device, tool_at(home, url))
    assert (value["text"], value["data"], polls) == ("the sum", [{"total": 42}], [])


def test_an_agent_that_hangs_up_before_it_names_a_task_is_said(home: Path, device: Device) -> None:
    base: list[str] = []
    with lying(streamed(b": hello\n\n", [], base, cut=False)) as url:
        base.append(url)
        with pytest.raises(ToolFailed, match="it hung up before it named a task"):
            call(device, tool_at(home, url))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('url = "ftp://x"', "begins with"),
        ('url = "https://u:p@x/"', "no user"),
        ('url = "https://x"\ncommand = ["a"]', "command"),
        ('url = "https://x"\nheaders = {"a b" = "c"}', "cannot be sent"),
        ('url = "https://x"\neffects = ["fly"]', "fly"),
        ('url = "https://x"\nsilent_s = 0', "silent_s"),
    ],
)
def test_an_entry_that_is_wrong_is_left_out(home: Path, text: str, words: str) -> None:
    home.mkdir()
    (home / FILE).write_text(f"[agents.other]\n{text}\n", encoding="utf-8")
    (home / FILE).chmod(0o600)
    found, faults = read_agents(home)
    assert found == {}
    assert words in faults[0]
