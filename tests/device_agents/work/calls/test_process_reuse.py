"""Which calls may share a process, and that calls which differ in more than their work never have the same key."""

from __future__ import annotations

import ast
import importlib
import inspect
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from starloom_agent.home.directory import AgentHome
from starloom_agent.policy.allowance import Allowance
from starloom_agent.sandbox.levels import NOT_TRIED
from starloom_agent.toolkit.interface import Tool
from starloom_agent.toolkit.messages import CallSpec
from starloom_agent.work.calls.judging import may_reuse, reuse_key, spec_of
from starloom_agent.work.registry import all_tools, module_of
from starloom_protocol.records.entities import FileOut
from starloom_protocol.vocabulary import Effect, Repeatability
from starloom_protocol.wire.frames import DispatchInput, InputPart
from tests.device_agents.stand_in import dispatch

REUSABLE = {
    "data.compare", "data.diff", "data.duplicates",
    "data.filter", "data.group", "data.merge", "data.sort", "data.vote",
    "fs.find", "fs.hash", "fs.list", "fs.read", "fs.stat", "fs.verify",
}  # fmt: skip
TOOLS = {tool.name: tool for tool in all_tools()}
SPEC = CallSpec(
    args="{}",
    connection_file="/c",
    effectless=True,
    fence="1.1",
    module="files.read",
    read=["/a"],
    start_to_close_s=1.0,
    tool="fs.read",
    workdir="/w/1",
)


def test_tools_that_compute_or_read_share_processes_and_no_others() -> None:
    assert {name for name, tool in TOOLS.items() if may_reuse(tool, dispatch(name))} == REUSABLE


@pytest.mark.parametrize(
    "more",
    [
        {"secrets": {"key#1": "value"}},
        {"files_out": [FileOut(output="/value", to="/a/file")]},
        {"inputs": [DispatchInput(name="rows", parts=[InputPart(artifact="0" * 64, output="")])]},
    ],
)
def test_a_call_with_a_secret_or_a_stored_file_has_its_own_process(more: dict[str, Any]) -> None:
    assert not may_reuse(TOOLS["fs.read"], dispatch("fs.read", **more))


@pytest.mark.parametrize(
    "more",
    [
        {"effects": (Effect.READ, Effect.WRITE)},
        {"effects": (Effect.REACH,)},
        {"repeatability": Repeatability.NEVER},
        {"confined": False},
        {"caged": True},
        {"reads": ("/etc",)},
        {"settings": "{}"},
        {"kept_by": "server"},
        {"asks_within": ("shell.run",)},
        {"hears": True},
    ],
)
def test_a_declaration_alone_is_not_enough(more: dict[str, Any]) -> None:
    tool: Tool = replace(TOOLS["fs.read"], **more)
    assert not may_reuse(tool, dispatch(tool.name))


@pytest.mark.parametrize(
    "more",
    [
        {"args": '{"path":"b"}'},
        {"fence": "2.2", "fence_at": 7.0},
        {"start_to_close_s": 9.0},
        {"wants": ["/rows"]},
        {"workdir": "/w/2"},
    ],
)
def test_calls_that_differ_in_their_work_have_one_key(more: dict[str, Any]) -> None:
    assert reuse_key(msgspec.structs.replace(SPEC, **more), "c") == reuse_key(SPEC, "c")


@pytest.mark.parametrize(
    "more",
    [
        {"tool": "fs.stat"},
        {"module": "files.find"},
        {"read": ["/a", "/b"]},
        {"read": []},
        {"write": ["/a"]},
        {"hosts": ["example.org"], "network": True},
        {"memory_bytes_max": 1},
        {"notes": "/n"},
        {"unattended": True},
        {"confined": True},
        {"cage": "L2-landlock"},
        {"connection_file": "/d"},
    ],
)
def test_calls_with_other_rights_have_another_key(more: dict[str, Any]) -> None:
    assert reuse_key(msgspec.structs.replace(SPEC, **more), "c") != reuse_key(SPEC, "c")


def test_calls_of_another_constellation_have_another_key() -> None:
    assert reuse_key(SPEC, "c") != reuse_key(SPEC, "d")


@pytest.mark.parametrize(("name", "has_key"), [("fs.read", True), ("fs.write", False), ("data.table", False)])
def test_the_spec_of_a_call_has_the_key_where_it_may(tmp_path: Path, name: str, has_key: bool) -> None:
    tool = TOOLS[name]
    allowance = Allowance(AgentHome.at(str(tmp_path)), [tool], NOT_TRIED, slots=1, say=print)
    spec = spec_of(
        allowance,
        dispatch(name),
        tool,
        module=module_of()[name],
        fence_at=None,
        workdir=tmp_path / "work",
        connection_file=tmp_path / "connection.json",
    )
    assert bool(spec.reuse) is has_key


@pytest.mark.parametrize("name", sorted(REUSABLE))
def test_the_module_of_a_reusable_tool_keeps_nothing(name: str) -> None:
    """No cache, no global name that is bound again, no container that a call could fill."""
    module = importlib.import_module(f"starloom_agent.tools.{module_of()[name]}")
    tree = ast.parse(inspect.getsource(module))
    assert not [node for node in ast.walk(tree) if isinstance(node, ast.Global | ast.Nonlocal)]
    assert not {"cache", "lru_cache", "cached_property"} & {
        node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)
    }
    containers = {
        key for key, value in vars(module).items() if isinstance(value, dict | list | set) and not key.startswith("__")
    }
    assert containers == set()
