"""Other people's agents: the owner's file, and calls through a real process of a fake agent in each of its modes."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
from jsonschema_rs import Draft202012Validator

from starloom_agent.cli import main
from starloom_agent.owner.agents import FILE, AgentsFault, find_agents, greet, read_agents
from starloom_agent.platforms import processes
from starloom_agent.policy.offers import make_offer
from starloom_agent.policy.policy import Policy, decide
from starloom_agent.toolkit.clients.acp import session, wire
from starloom_agent.toolkit.interface import Tool, ToolFailed
from starloom_agent.toolkit.messages import Heard, Permit
from starloom_agent.tools.agents.agent import MODULE
from starloom_agent.work.execution.toolcall import find_tool
from starloom_protocol.values import canonical, parse
from starloom_protocol.vocabulary import Code, Effect, Repeatability
from tests.device_agents.tools.conftest import Device
from tests.waiting import until

AGENT = Path(__file__).with_name("acp_agent.py")


@dataclass
class Owner:
    """Answers questions as the agent of a device does: each named tool by a rule of the test."""

    rules: Mapping[str, list[Permit]]
    asked: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    words: list[str] = field(default_factory=list)

    def hints(self, after: int) -> Heard:
        return Heard(last=max(after, len(self.words)), texts=self.words[after:])

    def permit(self, tool: str, args: Mapping[str, Any]) -> Permit:
        self.asked.append((tool, parse(canonical(args))))
        rule = self.rules.get(tool, [Permit(reason="no rule")])
        return rule.pop(0) if len(rule) > 1 else rule[0]


def entry(device: Device, mode: str, more: str = "") -> str:
    command = json.dumps([sys.executable, str(AGENT), mode])
    reads = json.dumps([str(AGENT.parent)])
    return f'command = {command}\nfolders = ["{device.folder}"]\nreads = {reads}\n{more}\n'


def configured(home: Path, text: str) -> Path:
    home.mkdir(exist_ok=True)
    (home / FILE).write_text(text, encoding="utf-8")
    (home / FILE).chmod(0o600)
    return home


def tool_for(device: Device, home: Path, mode: str, more: str = "") -> Tool:
    said: list[str] = []
    (tool,) = find_agents(configured(home, f"[agents.fake]\n{entry(device, mode, more)}"), said.append)
    assert said == []
    return tool


def call(device: Device, tool: Tool, owner: Owner | None = None, /, **args: Any) -> dict[str, Any]:
    """As the process of a tool does it: made again from what it was told."""
    again = find_tool(MODULE, tool.name, tool.settings)
    context = replace(device.context(), permits=owner or Owner({}))
    value = parse(canonical(again.run(context, msgspec.convert({"text": "say hello", **args}, again.args))))
    assert Draft202012Validator(parse(tool.returns)).is_valid(value)
    return value  # type: ignore[no-any-return]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def test_an_agent_is_a_tool_that_changes_and_is_never_repeated(device: Device, home: Path) -> None:
    tool = tool_for(device, home, "well")
    assert (tool.name, tool.grant, tool.repeatability) == ("agent.fake", "agent:fake", Repeatability.NEVER)
    assert tool.effects == (Effect.READ, Effect.WRITE, Effect.CHANGE)
    assert tool.title == "Hand work to the agent fake, in granted; it may read, write, change"
    assert decide(Policy(), tool, {"text": "x"}).code is Code.MISSING_GRANT
    assert decide(Policy(grants=frozenset({"agent:fake"})), tool, {"text": "x"}).asks
    offered = make_offer([tool], Policy(), slots=1, folder=home).offer
    assert "starloom-agent grant agent:fake" in str(offered.tools[0].unavailable)
    assert "acp_agent" not in msgspec.json.encode(offered).decode()


def test_a_wrong_entry_is_left_out_alone(device: Device, home: Path) -> None:
    wrong = {
        "Upper": (entry(device, "well"), "a name has 1 to 20"),
        "words": ('command = "x"\nfolders = ["/tmp"]\n', "Expected `array`, got `str` - at `$.command`"),
        "nothing": ('command = []\nfolders = ["/tmp"]\n', "a program and its arguments"),
        "nowhere": ('command = ["x"]\nfolders = []\n', "name a folder in which it may work"),
        "relative": ('command = ["x"]\nfolders = ["here"]\n', "'here' is not an absolute path"),
        "idle": (f"{entry(device, 'well')}effects = []\n", "name at least one of read"),
        "more": (f"{entry(device, 'well')}shell = true\n", "Object contains unknown field `shell`"),
        "keys": (f'command = ["x"]\nfolders = ["{home}"]\n', "would show it the key and the policy"),
        "above": (f'command = ["x"]\nfolders = ["/tmp"]\nstate = ["{home.parent}"]\n', "would show it the key"),
    }
    text = "".join(f"[agents.{name}]\n{body}" for name, (body, _) in wrong.items())
    said: list[str] = []
    (tool,) = find_agents(configured(home, f"{text}[agents.good]\n{entry(device, 'well')}"), said.append)
    assert tool.name == "agent.good"
    assert len(said) == len(wrong)
    for line, (_, words) in zip(said, wrong.values(), strict=True):
        assert words in line
        assert line.endswith("; this agent is left out")


def test_a_file_that_others_may_write_is_not_used(device: Device, home: Path) -> None:
    configured(home, f"[agents.fake]\n{entry(device, 'well')}").joinpath(FILE).chmod(0o666)
    with pytest.raises(AgentsFault, match="type: chmod 600"):
        read_agents(home)
    said: list[str] = []
    assert find_agents(home, said.append) == ()
    assert said[0].endswith("no agent of others is offered")


@pytest.mark.parametrize("text", ["[agents", "agents = 3", "other = 1", "[[agents.x]]\n"])
def test_a_file_of_another_form_is_refused_with_the_reason(home: Path, text: str) -> None:
    found: list[str] = []
    assert find_agents(configured(home, text), found.append) == ()
    assert str(home / FILE) in found[0]


def test_an_agent_without_confinement_may_do_everything_and_says_so(device: Device, home: Path) -> None:
    tool = tool_for(device, home, "well", "confined = false")
    assert tool.effects == tuple(Effect)
    assert tool.title == "Hand work to the agent fake, which runs with all rights of this account"


def test_an_agent_whose_program_is_missing_is_unavailable_with_the_reason(device: Device, home: Path) -> None:
    text = f'[agents.gone]\ncommand = ["no-such-agent"]\nfolders = ["{device.folder}"]\n'
    (tool,) = find_agents(configured(home, text), print)
    assert str(tool.probe()).startswith("there is no program no-such-agent on this device")


def test_the_command_lists_agents_with_the_lines_that_allow_them(
    device: Device, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    configured(home, f"[agents.fake]\n{entry(device, 'well')}[agents.Bad]\ncommand = []\nfolders = []\n")
    assert main(["agents", "ls", "--home", str(home)]) == 1
    shown = capsys.readouterr().out
    assert "left out: " in shown
    assert "agents.'Bad'" in shown
    assert "Hand work to the agent fake" in shown
    assert f"--home {home} agent:fake" in shown
    assert f"--home {home} files:write {device.folder}" in shown


def test_the_command_checks_agents_by_a_greeting(
    device: Device, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    configured(home, f"[agents.one]\n{entry(device, 'well')}[agents.two]\n{entry(device, 'version')}")
    assert main(["agents", "check", "one", "--home", str(home)]) == 0
    assert "it answers: Fake agent 0.1" in capsys.readouterr().out
    assert main(["agents", "check", "--home", str(home)]) == 1
    assert "it speaks version 2 of the protocol; this device speaks 1" in capsys.readouterr().out
    assert main(["agents", "check", "three", "--home", str(home)]) == 1
    assert "no usable agent three; there are: one, two" in capsys.readouterr().err
    with pytest.raises(AgentsFault, match="there is no program"):
        greet(msgspec.structs.replace(read_agents(home)[0]["one"], argv=["no-such-agent"]))


def test_work_is_done_and_told(device: Device, home: Path) -> None:
    value = call(device, tool_for(device, home, "well"))
    assert (device.folder / "note.txt").read_text() == "say hello\n"
    transcript = value.pop("transcript")
    assert value == {
        "added": [{"path": str(device.folder / "note.txt"), "wrote": hashlib.sha256(b"say hello\n").hexdigest()}],
        "changed": ["note.txt"], "changed_complete": True,
        "complete": True, "folder": str(device.folder),
        "refused": 0, "stop": "end_turn", "text": "The note is there: say hello\n",
        "tokens": {"input": 12, "output": 5, "total": 17},
    }  # fmt: skip
    assert device.said.lines == [
        "thought: I look first.", "plan: write the note (pending)", "tool edit: Write note.txt (pending)",
        "tool edit: Write note.txt (completed)", "message: The note is there: say hello",
    ]  # fmt: skip
    lines = [json.loads(line) for line in device.store.read(transcript).splitlines()]
    asked = [line["method"] for line in lines if line["by"] == "device" and "method" in line]
    assert asked == ["initialize", "session/new", "session/prompt"]
    assert {line["by"] for line in lines} == {"device", "agent"}
    assert any(line.get("params", {}).get("update", {}).get("sessionUpdate") == "plan" for line in lines)


@pytest.mark.parametrize("below", ["", "project"])
def test_a_file_that_an_agent_replaces_comes_back(below: str, device: Device, home: Path) -> None:
    note = device.write(f"{below}/note.txt".lstrip("/"), "mine")
    tool = tool_for(device, home, "well")
    value = call(device, tool, folder=str(device.folder / below))
    assert note.read_text() == "say hello\n"
    assert value["changed"] == ["note.txt"]
    assert call(device, tool, folder=str(device.folder / below))["added"] == []
    device.call("fs.trash", paths=value["added"])
    assert note.read_text() == "mine"


def test_a_permission_waits_for_the_owner_and_is_given_once(device: Device, home: Path) -> None:
    open_ = Permit(open=True, reason="type: starloom-agent approve 12345678")
    owner = Owner({"agent.fake": [open_, open_, Permit(allowed=True, reason="its owner approved it here")]})
    value = call(device, tool_for(device, home, "asks"), owner)
    assert value["text"] == "chosen once"
    assert value["changed"] == ["asked.txt"]
    assert len(owner.asked) == 3
    tool, args = owner.asked[0]
    assert tool == "agent.fake"
    told = args["permission"]
    assert (told["kind"], told["title"], told["input"]) == ("edit", "Write asked.txt", '{"path":"asked.txt"}')
    assert device.said.lines.count("waits for the owner of this device: type: starloom-agent approve 12345678") == 1


def test_a_permission_that_is_refused_is_counted(device: Device, home: Path) -> None:
    value = call(device, tool_for(device, home, "asks"), Owner({"agent.fake": [Permit(reason="its owner denied it")]}))
    assert (value["text"], value["refused"], value["changed"]) == ("chosen no", 1, [])


def test_an_effect_that_was_not_declared_is_refused_without_a_question(device: Device, home: Path) -> None:
    owner = Owner({"agent.fake": [Permit(allowed=True)]})
    value = call(device, tool_for(device, home, "undeclared"), owner)
    assert (value["text"], value["refused"], owner.asked) == ("chosen no", 1, [])
    assert "did not declare the effect destroy" in device.said.lines[0]


def test_programs_ask_as_calls_of_the_command_tool(device: Device, home: Path) -> None:
    owner = Owner({"shell.run": [Permit(allowed=True, reason="command rule 1 allows it")]})
    value = call(device, tool_for(device, home, "terminal"), owner, text='["sh", "-c", "echo hello; exit 4"]')
    assert value["text"] == "4 hello\n"
    assert owner.asked == [("shell.run", {"argv": ["sh", "-c", "echo hello; exit 4"], "cwd": str(device.folder)})]
    value = call(device, tool_for(device, home, "terminal"), text='["id"]')
    assert value["text"] == "refused: no rule"
    assert value["refused"] == 1


def test_an_agent_that_may_only_read_writes_nothing(device: Device, home: Path) -> None:
    tool = tool_for(device, home, "terminal", 'effects = ["read"]')
    owner = Owner({"shell.run": [Permit(allowed=True)]})
    value = call(device, tool, owner, text='["id"]')
    assert "did not declare the effect change" in value["text"]
    assert owner.asked == []


def test_a_folder_must_be_named_by_the_owner_and_granted(device: Device, home: Path, tmp_path: Path) -> None:
    (device.folder / "sub").mkdir()
    tool = tool_for(device, home, "well")
    assert call(device, tool, folder="sub")["folder"] == str(device.folder / "sub")
    assert call(device, tool, folder="granted")["changed"] == ["note.txt"]
    with pytest.raises(ToolFailed, match=r"outside the folders of the agent fake .* agents\.toml"):
        call(device, tool, folder=str(tmp_path))
    with pytest.raises(ToolFailed, match="is not a folder on this device"):
        call(device, tool, folder="missing")
    device.folder = tmp_path / "other"
    device.folder.mkdir()
    granted, device.folder = device.folder, tmp_path / "granted"
    tool = tool_for(device, home, "well")
    device.folder = granted
    with pytest.raises(ToolFailed, match=r"outside the folders of files:write.*starloom-agent grant files:write"):
        call(device, tool)


@pytest.mark.parametrize(
    ("mode", "words"),
    [
        ("crash", "it ended with exit code 3 before the end of the turn; its last words: 'Traceback: the model is"),
        ("garbage", "it said something that is no JSON: 'this is no message'"),
        ("flood", "it said a message of more than 4194304 bytes"),
        ("version", "it speaks version 2 of the protocol; this device speaks 1"),
        ("auth", "session/new: Authentication required. Sign in with its own program on this device"),
        ("reason", "its turn ended with the unknown reason 'because I said so'"),
    ],
)
def test_an_agent_that_misbehaves_ends_in_a_plain_error(mode: str, words: str, device: Device, home: Path) -> None:
    with pytest.raises(ToolFailed) as caught:
        call(device, tool_for(device, home, mode))
    assert caught.value.code is Code.TOOL_FAILED
    assert f"the agent fake: {words}" in caught.value.detail


def test_an_agent_that_ends_before_its_programs_ends_in_a_plain_error(device: Device, home: Path) -> None:
    owner = Owner({"shell.run": [Permit(allowed=True)]})
    with pytest.raises(ToolFailed, match="the agent fake: it ended with exit code 3 before the end of the turn"):
        call(device, tool_for(device, home, "crash_waiting"), owner)


def test_a_check_leaves_no_process_behind(device: Device, home: Path, tmp_path: Path) -> None:
    state = tmp_path / "state"
    state.mkdir()
    configured(home, f"[agents.fake]\n{entry(device, 'leaves', f'state = [{json.dumps(str(state))}]')}")
    assert main(["agents", "check", "--home", str(home)]) == 0
    until(lambda: processes.start_mark(int((state / "child").read_text())) is None, "the child is gone")


def test_an_agent_that_says_too_much_is_ended(device: Device, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "ALL_BYTES_MOST", 2 * 1024 * 1024)
    with pytest.raises(ToolFailed, match="it said more than 2097152 bytes in one call"):
        call(device, tool_for(device, home, "babble"))


def test_a_silent_agent_is_ended(device: Device, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ToolFailed, match="it said nothing for 1 s and was ended"):
        call(device, tool_for(device, home, "silent", "silent_s = 1"))
    monkeypatch.setattr(session, "GREET_WITHIN_S", 0.2)
    with pytest.raises(ToolFailed, match=r"initialize: no answer within 0\.2 s"):
        call(device, tool_for(device, home, "mute"))


def test_a_turn_that_takes_too_long_is_cancelled_and_fails(device: Device, home: Path) -> None:
    with pytest.raises(ToolFailed) as caught:
        call(device, tool_for(device, home, "endless"), timeout_s=1)
    assert caught.value.code is Code.TIMED_OUT
    assert device.said.lines[0] == "message: I begin"


def test_lines_and_text_of_an_agent_are_bounded(device: Device, home: Path) -> None:
    value = call(device, tool_for(device, home, "chatter"))
    assert len(device.said.lines) == 2001
    assert device.said.lines[-1].startswith("further lines are left out")
    assert value["complete"]
    assert len(value["text"].splitlines()) == 5000


def test_strange_messages_change_nothing(device: Device, home: Path) -> None:
    lines = call(device, tool_for(device, home, "strange"))["text"].splitlines()
    assert lines[0] == "this request belongs to no session of this device"
    assert lines[1] == "host/own_everything is not offered by this device"
    assert "there is no terminal terminal-7" in lines[2]
    assert "the absolute path of a file is expected" in lines[3]


def test_an_agent_moves_no_terminal(device: Device, home: Path) -> None:
    call(device, tool_for(device, home, "steers"))
    assert device.said.lines
    assert all(sign.isprintable() for line in device.said.lines for sign in line)


def test_nothing_is_done_for_an_agent_after_its_turn(device: Device, home: Path) -> None:
    value = call(device, tool_for(device, home, "late"))
    assert (value["text"], value["changed"]) == ("done", [])
    assert not (device.folder / "late.txt").exists()


def test_the_hints_of_people_are_its_next_prompt(device: Device, home: Path) -> None:
    owner = Owner({"agent.fake": [Permit(allowed=True)]}, words=["look at the disk first", "and be brief"])
    value = call(device, tool_for(device, home, "attentive"), owner)
    first, second = value["text"].splitlines()
    assert first == "heard 'say hello'"
    assert second == "heard 'The person whose work this is adds:\\nlook at the disk first\\nand be brief'"
