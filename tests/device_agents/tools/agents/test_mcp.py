"""MCP servers of a device: what its owner wrote, what they offer, and calls through a real process of theirs."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from jsonschema_rs import Draft202012Validator

from starloom_agent.owner.mcp import FILE, LaterTools, McpFault, _returns, find_tools, read_servers
from starloom_agent.policy.offers import make_offer
from starloom_agent.policy.policy import Policy, decide
from starloom_agent.toolkit.interface import Tool, ToolFailed, takes_secrets
from starloom_agent.tools.agents import mcp
from starloom_agent.tools.agents.mcp import MODULE
from starloom_agent.work.execution.outcomes import arguments
from starloom_agent.work.execution.secret_args import misplaced
from starloom_agent.work.execution.toolcall import find_tool
from starloom_protocol.plan.types.schemas import shape_of
from starloom_protocol.values import parse
from starloom_protocol.vocabulary import Code, Effect, Repeatability
from tests.arch.documents import blocks
from tests.device_agents.tools.agents.mcp_server import PDF
from tests.device_agents.tools.conftest import Device
from tests.waiting import SLOWER

SERVER = Path(__file__).with_name("mcp_server.py")


def configured(home: Path, mode: str = "well", more: str = "") -> Path:
    home.mkdir(exist_ok=True)
    path = home / FILE
    command = f'["{sys.executable}", "{SERVER}", "{mode}"]'
    path.write_text(f"[servers.notes]\ncommand = {command}\n{more}", encoding="utf-8")
    path.chmod(0o600)
    return path


def tools(home: Path, mode: str = "well", more: str = "") -> tuple[dict[str, Tool], list[str]]:
    configured(home, mode, more)
    said: list[str] = []
    return {tool.name: tool for tool in find_tools(home, home, said.append)}, said


def call(device: Device, tool: Tool, args: dict[str, Any]) -> Any:
    """As the process of a tool does it: made again from what it was told."""
    again = find_tool(MODULE, tool.name, tool.settings)
    return again.run(device.context(), msgspec.convert(args, again.args))


def opened(home: Path, schema: dict[str, Any]) -> Tool:
    """The tool `open` of the server, with this schema of its arguments."""
    configured(home)
    listed = [{"name": "open", "inputSchema": schema}]
    (tool,) = LaterTools(home, (), print).of("notes", listed)[1]
    return tool


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def test_its_tools_are_those_of_the_device_with_the_most_careful_effects(home: Path) -> None:
    found, said = tools(home)
    names = ["echo", "fail", "invoice", "picture", "sleep"]
    assert sorted(found) == [f"mcp.notes.{name}" for name in names]
    echo = found["mcp.notes.echo"]
    assert (echo.title, echo.effects, echo.repeatability) == ("Says it again", (Effect.CONTROL,), Repeatability.NEVER)
    assert found["mcp.notes.fail"].title == "Fails"
    assert found["mcp.notes.sleep"].title == "sleep"
    assert "the tool 'no/name' of the MCP server notes is left out: its name cannot stand in a plan" in said
    assert "the tool 'no_schema' of the MCP server notes is left out: its arguments have no usable schema" in said
    assert said[-1] == "the MCP server notes has 5 tools"
    args = {"text": "x"}
    assert decide(Policy(), echo, args).code is Code.MISSING_GRANT
    assert decide(Policy(grants=frozenset({"mcp:notes"})), echo, args).asks


def test_the_owner_says_what_they_may_do(home: Path) -> None:
    of_echo = '[servers.notes.tools.echo]\neffects = ["read"]\nrepeatability = "pure"\n'
    more = f'effects = ["write"]\n{of_echo}[servers.notes.tools.gone]\n'
    found, said = tools(home, more=more)
    echo = found["mcp.notes.echo"]
    assert (echo.effects, echo.repeatability) == ((Effect.READ,), Repeatability.PURE)
    assert found["mcp.notes.fail"].effects == (Effect.WRITE,)
    assert decide(Policy(grants=frozenset({"mcp:notes"})), echo, {}).allowed
    assert "the MCP server notes has no tool gone, which mcp.toml speaks of" in said


def test_the_owner_says_for_which_tool_one_stands_and_the_offer_tells_it(home: Path) -> None:
    found, _ = tools(home, more='[servers.notes.tools.echo]\nstands_for = "mcp.old.echo"\n')
    offered = make_offer(found.values(), Policy(), slots=1, folder=home).offer
    made = {tool.name: tool.stands_for for tool in offered.tools}
    assert (made["mcp.notes.echo"], set(made.values())) == ("mcp.old.echo", {"", "mcp.old.echo"})


def test_the_offer_has_the_schema_of_the_server_and_no_command(home: Path) -> None:
    found, _ = tools(home, more='env = {TOKEN = "abc123"}\n')
    offered = make_offer(found.values(), Policy(), slots=1, folder=home).offer
    (echo,) = [tool for tool in offered.tools if tool.name == "mcp.notes.echo"]
    assert parse(echo.args)["required"] == ["text"]
    assert "starloom-agent grant mcp:notes" in str(echo.unavailable)
    said = msgspec.json.encode(offered).decode()
    assert "abc123" not in said
    assert "mcp_server" not in said


def test_a_tool_that_says_nothing_of_its_result_may_give_anything(home: Path, device: Device) -> None:
    found, _ = tools(home)
    value = msgspec.to_builtins(call(device, found["mcp.notes.echo"], {"text": "x", "class": "y"}))
    assert Draft202012Validator(parse(found["mcp.notes.echo"].returns)).is_valid(value)
    shape = shape_of(found["mcp.notes.echo"].returns)
    assert shape.at("/structured/any/0").words() == "any value"
    assert shape.at("/files/0/bytes").words() == "a whole number"


@pytest.mark.parametrize("form", ["inner", "recursive", "large"])
def test_the_references_of_an_output_schema_still_lead_to_its_parts(form: str) -> None:
    output: dict[str, Any] = {
        "type": "object",
        "$defs": {"Row": {"type": "object", "properties": {"n": {"type": "integer"}}, "additionalProperties": False}},
        "properties": {"rows": {"type": "array", "items": {"$ref": "#/$defs/Row"}}, "up": {"$ref": "#"}},
        "additionalProperties": False,
    }
    if form == "large":
        output["description"] = "x" * 20_000
    shape = shape_of(_returns(output))
    place = "/structured/up/rows/0" if form == "recursive" else "/structured/rows/0"
    assert (shape.missing(f"{place}/m") is None) is (form == "large")
    assert shape.at(f"{place}/n").words() == ("any value" if form == "large" else "a whole number")


def test_a_call_reaches_the_server_with_its_variables(home: Path, device: Device) -> None:
    found, _ = tools(home, more='env = {TOKEN = "abc123"}\n')
    value = call(device, found["mcp.notes.echo"], {"text": "hello", "class": "x"})
    assert value == {
        "text": "hello abc123", "complete": True, "files": [], "structured": {"text": "hello", "class": "x"},
    }  # fmt: skip


def test_what_it_gives_as_bytes_becomes_files(home: Path, device: Device) -> None:
    found, _ = tools(home)
    value = call(device, found["mcp.notes.picture"], {})
    assert device.store.read(value["files"][0]) == b"\x00\x01\x02"
    assert value["files"][0]["media"] == "image/png"
    assert value["text"] == "file:///x\ninner"


def test_files_of_embedded_resources_have_the_names_of_their_addresses(home: Path, device: Device) -> None:
    found, _ = tools(home)
    value = call(device, found["mcp.notes.invoice"], {})
    named = [(file["name"], device.store.read(file)) for file in value["files"]]
    assert named == [
        ("no 42.pdf", PDF),
        ("7.pdf", b""),
        ("invoice-3.csv", b"\x00\x01\x02"),
        ("invoice-4.bin", b"\x00\x01\x02"),
    ]
    assert value["complete"]
    assert value["text"].splitlines()[0] == "made"


def test_a_part_of_an_unknown_type_makes_the_answer_incomplete(home: Path, device: Device) -> None:
    found, _ = tools(home)
    assert not call(device, found["mcp.notes.invoice"], {"with": "more"})["complete"]


_PERSON = {"type": "object", "properties": {"id": {}}, "required": ["id"]}


@pytest.mark.parametrize(
    ("schema", "args"),
    [
        ({"type": "object", "additionalProperties": True}, {"table": "t", "where": {"x": 1}}),
        ({"properties": {"name": {}}, "required": ["name"], "additionalProperties": {}}, {"name": "a", "lang": "de"}),
        ({"type": "object", "oneOf": [_PERSON, {"required": ["name"]}]}, {"id": 7}),
        ({"$ref": "#/$defs/Person", "$defs": {"Person": _PERSON}}, {"id": 7}),
        ({"properties": {}, "patternProperties": {"^x": {}}, "additionalProperties": False}, {"x1": 7}),
        ({"type": "object"}, {"id": 7}),
    ],
    ids=["free map", "typed map", "one of", "reference", "pattern", "no names"],
)
def test_arguments_whose_names_the_schema_leaves_open_go_to_the_server(
    schema: dict[str, Any], args: dict[str, Any], home: Path, device: Device
) -> None:
    assert Draft202012Validator(schema).is_valid(args)
    value = call(device, opened(home, schema), args)
    assert parse(value["text"]) == args


def test_a_needed_argument_that_lacks_in_an_open_map_is_refused_here(home: Path, device: Device) -> None:
    tool = opened(home, {"type": "object", "required": ["name"], "additionalProperties": True})
    with pytest.raises(ToolFailed, match="needs name") as failed:
        call(device, tool, {"lang": "de"})
    assert (failed.value.code, failed.value.effect) == (Code.BAD_ARGUMENTS, False)
    order = arguments(tool.args, {"name": "secret:a"}, {})
    assert order == {"name": "secret:a"}
    assert misplaced(tool, '{"name":{"secret":"a"}}', {"a": "x"}) is not None


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"id": {}}, "additionalProperties": False, "oneOf": [{"required": ["id"]}]},
        {"properties": {"id": {}}, "unevaluatedProperties": False},
        {"type": "object", "properties": {}},
    ],
)
def test_arguments_that_the_schema_closes_are_strict(schema: dict[str, Any], home: Path) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"other": 1}, opened(home, schema).args)


def test_what_fails_there_fails_here_with_its_words(home: Path, device: Device) -> None:
    found, _ = tools(home)
    with pytest.raises(ToolFailed, match="it went wrong"):
        call(device, found["mcp.notes.fail"], {})
    found, _ = tools(home, "refuses")
    with pytest.raises(ToolFailed, match="no such thing"):
        call(device, found["mcp.notes.fail"], {})


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("only_text", "gave only text, and no `structuredContent`; it said 'three rows'"),
        ("part", "gave a `structuredContent` without rows"),
        ("a_list", "gave a `structuredContent` that is no object"),
    ],
)
def test_a_result_without_what_its_schema_promises_fails(name: str, why: str, home: Path, device: Device) -> None:
    found, _ = tools(home, "promises")
    with pytest.raises(ToolFailed) as failed:
        call(device, found[f"mcp.notes.{name}"], {})
    assert failed.value.code == Code.TOOL_FAILED
    fault = f"the MCP server notes has a fault: its tool {name} tells an `outputSchema` and {why}"
    assert failed.value.detail == fault


def test_a_print_during_a_call_fails_the_call(home: Path, device: Device) -> None:
    found, _ = tools(home, "prints")
    with pytest.raises(ToolFailed, match="a print of it goes to stderr"):
        call(device, found["mcp.notes.echo"], {"text": "x"})


def test_the_server_of_the_documents_is_offered_and_answers(home: Path, device: Device) -> None:
    (program,) = (block.text for block in blocks() if "server=disks" in block.flags)
    home.mkdir()
    (home / "disks.py").write_text(QUICK + "\n" + program, encoding="utf-8")
    (home / FILE).write_text(f'[servers.disks]\ncommand = ["{sys.executable}", "{home / "disks.py"}"]\n')
    (home / FILE).chmod(0o600)
    (free,) = find_tools(home, home, print)
    assert (free.name, free.title) == ("mcp.disks.free", "How much of a folder's disk is free")
    value = call(device, free, {"folder": str(home)})
    assert value["structured"].keys() == {"free_bytes", "whole_bytes"}
    assert 0 < value["structured"]["free_bytes"] < value["structured"]["whole_bytes"]
    assert shape_of(free.returns).at("/structured/free_bytes").words() == "a whole number"
    with pytest.raises(ToolFailed, match="there is no folder /not/there"):
        call(device, free, {"folder": "/not/there"})


@pytest.mark.parametrize(
    ("schema", "args"),
    [
        ({"type": "object", "additionalProperties": True}, {"table": "t"}),
        ({"properties": {"name": {}}, "additionalProperties": {"type": "string"}}, {"name": "a", "lang": "de"}),
        ({"oneOf": [{"properties": {"id": {}}}, {"properties": {"name": {}}}]}, {"id": 7}),
    ],
)
def test_arguments_that_a_schema_does_not_name_are_taken_where_it_takes_them(
    home: Path, device: Device, schema: dict[str, Any], args: dict[str, Any]
) -> None:
    kind = mcp.arguments_of(schema)
    assert arguments(kind, args, {}) == args
    assert takes_secrets(kind) == frozenset()
    found, _ = tools(home)
    told = msgspec.json.decode(found["mcp.notes.echo"].settings, type=mcp.McpToolSettings)
    given = {"text": "x", **args}
    open_one = mcp.tool_of(msgspec.structs.replace(told, schema=msgspec.json.encode(schema).decode()))
    assert call(device, open_one, given)["structured"] == given


@pytest.mark.parametrize("args", [{}, {"text": "x", "other": 1}])
def test_arguments_are_strict(home: Path, args: dict[str, Any]) -> None:
    found, _ = tools(home)
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(args, found["mcp.notes.echo"].args)


@pytest.mark.parametrize(
    ("mode", "words"), [("ends", "ended"), ("garbage", "a print of it goes to stderr"), ("flood", "larger than")]
)
def test_a_server_that_misbehaves_is_left_out_and_said(mode: str, words: str, home: Path) -> None:
    found, said = tools(home, mode)
    assert found == {}
    assert said[0].startswith("the MCP server notes is left out: ")
    assert words in said[0]


def test_a_server_that_ends_at_its_start_is_left_out_with_its_last_words(home: Path) -> None:
    program = (
        "import sys; print('\\x1b[2Jno key abc123456\\n' * 900, 'bad key abc123456', file=sys.stderr); sys.exit(1)"
    )
    home.mkdir()
    path = home / FILE
    path.write_text(
        f"[servers.notes]\ncommand = {msgspec.json.encode([sys.executable, '-c', program]).decode()}\n"
        'env = {KEY = "abc123456"}\n'
    )
    path.chmod(0o600)
    said: list[str] = []
    assert find_tools(home, home, said.append) == ()
    (line,) = said
    assert line.startswith("the MCP server notes is left out: ")
    assert ", and wrote '" in line
    assert line.endswith("bad key ...'")
    assert ("abc123" in line, "\x1b" in line, len(line) < 500) == (False, False, True)


def test_a_server_that_says_nothing_is_not_waited_for_for_ever(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("starloom_agent.owner.mcp.LIST_WITHIN_S", 0.3)
    found, said = tools(home, "silent")
    assert found == {}
    assert "no answer in time" in said[0]


def test_a_call_that_takes_too_long_leaves_no_process(
    home: Path, device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    found, _ = tools(home)
    monkeypatch.setattr(mcp, "_CALL_S", 1.5 * SLOWER)
    with pytest.raises(ToolFailed, match="no answer in time"):
        call(device, found["mcp.notes.sleep"], {})
    with pytest.raises(ProcessLookupError):
        os.kill(int((device.workdir / "pid").read_text()), 0)


def test_one_that_cannot_be_started_is_said(home: Path) -> None:
    home.mkdir()
    (home / FILE).write_text('[servers.gone]\ncommand = ["/not/there"]\n', encoding="utf-8")
    (home / FILE).chmod(0o600)
    said: list[str] = []
    assert find_tools(home, home, said.append) == ()
    assert "could not be started" in said[0]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("nonsense", "not TOML"),
        ("[servers.x]\n", "command"),
        ("[servers.x]\ncommand = []\n", "a program and its arguments"),
        ("[servers.X]\ncommand = ['a']\n", "a name has"),
        ("[servers.x]\ncommand = ['a']\neffects = []\n", "at least one"),
        ("[servers.x]\ncommand = ['a']\n[servers.x.tools.y]\nstands_for = 'no tool'\n", "no name of a tool"),
        ("[servers.x]\ncommand = ['a']\neffects = ['fly']\n", "fly"),
        ("[servers.x]\ncommand = ['a']\nrepeatability = 'pure'\n", "is not pure"),
        ("[servers.x]\ncommand = ['a']\neffects = ['write']\nrepeatability = 'pure'\n", "is not pure"),
        ("[servers.x]\ncommand = ['a']\nshell = true\n", "shell"),
        ("".join(f"[servers.s{n}]\ncommand = ['a']\n" for n in range(17)), "at most 16"),
    ],
)
def test_a_file_that_is_wrong_is_used_in_no_part(text: str, words: str, home: Path) -> None:
    home.mkdir()
    path = home / FILE
    path.write_text(text, encoding="utf-8")
    path.chmod(0o600)
    with pytest.raises(McpFault, match=words):
        read_servers(path)
    said: list[str] = []
    assert find_tools(home, home, said.append) == ()
    assert said[0].endswith("no tool of an MCP server is offered")


def test_a_file_that_others_may_read_is_named_with_the_way_out(home: Path) -> None:
    configured(home).chmod(0o644)
    said: list[str] = []
    assert find_tools(home, home, said.append)
    assert said[0].startswith(f"{home / FILE} may be read by others")
    assert said[0].endswith(f"type: chmod 600 {home / FILE}")


def test_a_file_that_others_may_write_is_not_read(home: Path) -> None:
    path = configured(home)
    path.chmod(0o666)
    with pytest.raises(McpFault, match="chmod 600"):
        read_servers(path)
    assert read_servers(home / "none.toml") == {}


QUICK = "import gc; gc.disable()  # a third of the work of loading the kit, which is most of a server's"

OFFICIAL = """
from mcp.server.mcpserver import MCPServer

server = MCPServer("sums")

@server.tool()
def add(a: int, b: int = 1) -> int:
    "Adds two numbers"
    return a + b

server.run()
"""


def test_a_server_of_the_official_kit_is_understood(home: Path, device: Device) -> None:
    home.mkdir()
    program = home / "sums.py"
    program.write_text(QUICK + OFFICIAL, encoding="utf-8")
    (home / FILE).write_text(f'[servers.sums]\ncommand = ["{sys.executable}", "{program}"]\n', encoding="utf-8")
    (home / FILE).chmod(0o600)
    (add,) = find_tools(home, home, print)
    assert (add.name, add.title) == ("mcp.sums.add", "Adds two numbers")
    (offered,) = make_offer([add], Policy(), slots=1, folder=home).offer.tools
    value = call(device, add, {"a": 2, "b": 3})
    assert value["text"] == "5"
    assert Draft202012Validator(parse(offered.returns)).is_valid(value)
    shape = shape_of(offered.returns)
    assert shape.at("/structured/result").words() == "a whole number"
    assert shape.at("/structured/more").words() == "any value"
    assert shape.missing("/sum") is not None
    with pytest.raises(ToolFailed, match="add"):
        call(device, add, {"a": "many"})


LIBRARY = """
from mcp.server.mcpserver import MCPServer

server = MCPServer("library")

@server.resource("notes://today", title="Today", mime_type="text/markdown")
def today() -> str:
    "The note of today"
    return "# Buy milk"

@server.resource("notes://of/{day}")
def of_day(day: str) -> str:
    return f"Nothing on {day}"

@server.resource("notes://picture", mime_type="image/png")
def picture() -> bytes:
    return bytes([0, 1, 2])

@server.prompt(title="Sum up")
def sum_up(topic: str) -> str:
    "Sums up the notes"
    return f"Sum up my notes about {topic}."

server.run()
"""


def library(home: Path, more: str = "resources = true\nprompts = true\n") -> tuple[dict[str, Tool], list[str]]:
    home.mkdir(exist_ok=True)
    program = home / "library.py"
    program.write_text(QUICK + LIBRARY, encoding="utf-8")
    command = f'["{sys.executable}", "{program}"]'
    (home / FILE).write_text(f"[servers.notes]\ncommand = {command}\n{more}", encoding="utf-8")
    (home / FILE).chmod(0o600)
    said: list[str] = []
    return {tool.name: tool for tool in find_tools(home, home, said.append)}, said


def test_resources_and_prompts_are_tools_that_read_where_the_owner_wants_them(home: Path) -> None:
    found, said = library(home, "")
    assert found == {}
    assert "the MCP server notes has resources; `resources = true` in mcp.toml offers them to plans" in said
    assert "the MCP server notes has prompts; `prompts = true` in mcp.toml offers them to plans" in said
    found, _ = library(home)
    names = ["get_prompt", "list_prompts", "list_resources", "read_resource"]
    assert sorted(found) == [f"mcp.notes.{name}" for name in names]
    for tool in found.values():
        assert (tool.effects, tool.repeatability, tool.grant) == ((Effect.READ,), Repeatability.PURE, "mcp:notes")
        assert decide(Policy(), tool, {}).code is Code.MISSING_GRANT
        assert decide(Policy(grants=frozenset({"mcp:notes"})), tool, {}).allowed
    found, _ = library(
        home, 'resources = true\n[servers.notes.tools.read_resource]\neffects = ["control"]\nrepeatability = "never"\n'
    )
    assert decide(Policy(grants=frozenset({"mcp:notes"})), found["mcp.notes.read_resource"], {}).asks
    assert "mcp.notes.get_prompt" not in found


def test_resources_and_prompts_of_the_official_kit_are_listed_and_read(home: Path, device: Device) -> None:
    found, _ = library(home)
    offered = {tool.name: tool for tool in make_offer(found.values(), Policy(), slots=1, folder=home).offer.tools}
    listed = call(device, found["mcp.notes.list_resources"], {})
    assert {one["uri"]: one["media"] for one in listed["resources"]} == {
        "notes://today": "text/markdown",
        "notes://picture": "image/png",
    }
    assert [one["uri"] for one in listed["templates"]] == ["notes://of/{day}"]
    assert listed["complete"]
    read = call(device, found["mcp.notes.read_resource"], {"uri": "notes://today"})
    assert (read["text"], read["complete"], read["files"]) == ("# Buy milk", True, [])
    assert call(device, found["mcp.notes.read_resource"], {"uri": "notes://of/monday"})["text"] == "Nothing on monday"
    picture = call(device, found["mcp.notes.read_resource"], {"uri": "notes://picture"})
    assert device.store.read(picture["files"][0]) == b"\x00\x01\x02"
    prompts = call(device, found["mcp.notes.list_prompts"], {})
    assert prompts["prompts"] == [
        {"arguments": [{"name": "topic", "needed": True}], "name": "sum_up", "title": "Sum up"}
    ]
    given = {"name": "sum_up", "arguments": {"topic": "milk"}}
    words = call(device, found["mcp.notes.get_prompt"], given)
    assert words["text"] == "user: Sum up my notes about milk."
    for name, value in (
        ("list_resources", listed),
        ("read_resource", read),
        ("list_prompts", prompts),
        ("get_prompt", words),
    ):
        told = msgspec.to_builtins(value)
        assert Draft202012Validator(parse(offered[f"mcp.notes.{name}"].returns)).is_valid(told), name
    with pytest.raises(ToolFailed, match="gone"):
        call(device, found["mcp.notes.read_resource"], {"uri": "notes://gone"})
    with pytest.raises(ToolFailed, match="1 to 2048 characters"):
        call(device, found["mcp.notes.read_resource"], {"uri": ["notes://today"]})


def test_a_wish_for_what_a_server_does_not_have_is_said(home: Path) -> None:
    found, said = tools(home, more="resources = true\n")
    assert "mcp.notes.read_resource" not in found
    assert "the MCP server notes has no resources, which mcp.toml speaks of" in said
