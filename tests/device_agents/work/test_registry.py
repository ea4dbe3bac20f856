"""The contract that every tool keeps, and the generated table."""

from __future__ import annotations

import ast
import inspect
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from starloom_agent.toolkit.interface import Args, Tool
from starloom_agent.work import registry
from starloom_protocol.values import canonical
from starloom_protocol.vocabulary import REPEATABLE, RISKY_EFFECTS, Effect, Repeatability
from tests.waiting import PATIENCE_S

TOOLS = registry.all_tools()
GRANTS = {"files:read", "files:write", "python:run", "shell:run", "net:reach", "desktop:use", None}
GRANTS |= {"git:run", "service:restart", "process:kill", "container:read", "adb:use"}
GRANTS |= {"clipboard:use", "screen:view", "desktop:control", "shell:script"}
WITHOUT_GRANT = {"image.info", "image.resize", "log.search", "wait.until"}
"""Tools that work without a granted folder, too: on artifacts, the system's log, a port. The context checks a path."""


@pytest.fixture(params=TOOLS, ids=lambda tool: tool.name)
def tool(request: pytest.FixtureRequest) -> Tool:
    found: Tool = request.param
    return found


def test_arguments_are_strict_and_an_unknown_field_is_named(tool: Tool) -> None:
    assert issubclass(tool.args, Args)
    with pytest.raises(msgspec.ValidationError, match=r"unknown field `surely_not_there`|missing required field"):
        msgspec.convert({"surely_not_there": 1}, tool.args)
    required = {field.name for field in msgspec.structs.fields(tool.args) if field.required}
    if not required:
        with pytest.raises(msgspec.ValidationError, match="unknown field `surely_not_there`"):
            msgspec.convert({"surely_not_there": 1}, tool.args)


def test_the_schema_of_its_arguments_is_plain_json(tool: Tool) -> None:
    schema: dict[str, Any] = msgspec.json.schema(tool.args)
    own = schema["$defs"][tool.args.__name__]
    assert own["additionalProperties"] is False
    assert canonical(schema)


def test_its_declarations_fit_together(tool: Tool) -> None:
    assert tool.args.__doc__, "say in its docstring what the call does: people and models read it"
    assert tool.grant in GRANTS
    assert isinstance(tool.repeatability, Repeatability)
    assert all(isinstance(effect, Effect) for effect in tool.effects)
    if tool.repeatability is Repeatability.PURE:
        assert set(tool.effects) <= {Effect.READ, Effect.REACH}
    if RISKY_EFFECTS & set(tool.effects):
        assert tool.repeatability not in REPEATABLE
    if RISKY_EFFECTS & set(tool.effects):
        assert tool.grant is not None
    if Effect.WRITE in tool.effects and tool.name != "notify":
        assert tool.grant in {"files:write", "python:run", "git:run", "shell:run", "shell:script"}
    assert tool.in_process is (tool.name == "lab.echo")


def opens_files(tool: Tool) -> bool:
    """Whether the function of a tool, or one of its module that it calls, asks its context for a path."""
    tree = ast.parse(inspect.getsource(inspect.getmodule(tool.run)))  # type: ignore[arg-type]
    bodies = {node.name: node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    reached, names = set[str](), [tool.run.__name__]
    while names:
        name = names.pop()
        if name not in reached and name in bodies:
            reached.add(name)
            names += [node.id for node in ast.walk(bodies[name]) if isinstance(node, ast.Name)]
    found = (node for name in reached for node in ast.walk(bodies[name]) if isinstance(node, ast.Attribute))
    return any(node.attr in {"resolve_read", "resolve_write", "resolve_cwd"} for node in found)


def undeclared(tool: Tool) -> list[str]:
    """Return what a tool that opens files does not declare."""
    if not opens_files(tool):
        return []
    return ["effects"] * (not tool.effects) + ["grant"] * (tool.grant is None and tool.name not in WITHOUT_GRANT)


def test_a_tool_of_files_declares_effects_and_grant(tool: Tool) -> None:
    assert undeclared(tool) == [], "it calls `context.resolve_...`: name its effects and the grant of the folders"


@pytest.mark.parametrize("name", ["fs.read", "fs.write", "shell.run", "archive.pack"])
def test_what_a_tool_of_files_leaves_out_is_found(name: str) -> None:
    (whole,) = (tool for tool in TOOLS if tool.name == name)
    assert undeclared(replace(whole, effects=())) == ["effects"]
    assert undeclared(replace(whole, grant=None)) == ["grant"]


def test_its_probe_has_no_effect(tool: Tool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    before = dict(os.environ)
    reason = tool.probe()
    assert reason is None or len(reason) > 10
    assert list(tmp_path.iterdir()) == []
    assert dict(os.environ) == before


def test_names_are_unique_and_lead_to_their_module() -> None:
    assert len({tool.name for tool in TOOLS}) == len(TOOLS)
    for name, module in registry.module_of().items():
        assert name in {tool.name for tool in registry.tools_of(module)}


def test_a_tool_process_starts_with_few_modules() -> None:
    code = "import sys, starloom_agent.tools.files.digest as d; print('asyncio' in sys.modules, 'ssl' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=PATIENCE_S)
    assert ran.stdout.split() == ["False", "False"]
