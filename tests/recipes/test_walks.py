"""The walks of docs/assistants.md: a chat client; a coding agent and an agent framework, before a fake model.

That of an agent framework by A2A is in `test_a2a.py`.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import venv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mcp import types

from tests import programs
from tests.chaos.test_other_agents import ON_THIS_MACHINE, THIRD_PARTY, cache_for, opencode_entry
from tests.chaos.test_other_agents import third_party as third_party
from tests.models.server import Say
from tests.models.threaded import a_model
from tests.recipes.fleet import Fleet
from tests.recipes.test_assistants import by_stdio, call
from tests.waiting import SLOWER

ENDS_WITHIN_S = 300 * SLOWER
INSTALL_WITHIN_S = 900 * SLOWER
RECIPE = "recipe_find-file"
FILE = "invoice-2026-03.txt"
SHOWN = "tests/recipes/test_walks.py::test_a_chat_client_calls_a_recipe_hears_how_far_it_is_and_reads_its_file"


def asks_the_recipe(heard: list[str]) -> Callable[[dict[str, Any]], Say]:
    """Return a model that calls the recipe's tool, whatever its agent puts before the name, and tells the answer."""

    def model(asked: dict[str, Any]) -> Say:
        offered = [tool["function"]["name"] for tool in asked.get("tools") or []]
        name = next((one for one in offered if one.endswith(RECIPE)), None)
        results = [json.dumps(message["content"]) for message in asked["messages"] if message["role"] == "tool"]
        if results:
            heard.extend(results)
            return Say(text=f"It is there: {FILE}" if any(FILE in one for one in results) else "It is not there.")
        if name is None:
            return Say(text="A title")
        call = {"name": name, "arguments": json.dumps({"what": "March invoice"})}
        return Say(message=(("tool_calls", [{"id": "c1", "type": "function", "function": call}]),), stop="tool_calls")

    return model


def entry_of(fleet: Fleet) -> list[str]:
    """Return the program and its arguments as `starloom mcp --config` prints them."""
    printed = json.loads(fleet.cli("mcp", "--config"))["mcpServers"]["starloom"]
    return [str(printed["command"]), *map(str, printed["args"])]


def environment(home: Path) -> dict[str, str]:
    """Return the few variables of a program of others: no setting of the tests reaches it or Starloom below it."""
    return {"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8", "NO_COLOR": "1"}


async def test_a_chat_client_calls_a_recipe_hears_how_far_it_is_and_reads_its_file(fleet: Fleet) -> None:
    """The first walk of docs/assistants.md: a recipe as a tool, progress, the answer and its file as resources."""
    laptop = fleet.device("laptop")
    laptop.write("Papers/invoice-2026-03.txt", "tax")
    await asyncio.to_thread(laptop.grant, "shell:run", "--", "uptime")
    lines: list[str] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        lines.append(message or "")

    async with by_stdio(fleet) as client:
        (tool,) = [one for one in (await client.list_tools()).tools if one.name == "recipe_find-file"]
        assert tool.input_schema["required"] == ["what"]
        assert tool.annotations is not None
        assert tool.annotations.read_only_hint
        answered = await client.call_tool(tool.name, {"what": "March invoice"}, progress_callback=hear)
        assert not answered.is_error, answered.content
        answer = answered.structured_content or {}
        assert (answer["state"], answer["needs_approval"]) == ("succeeded", False), answer
        assert "invoice-2026-03.txt" in json.dumps(answer["items"])
        assert any("look" in line for line in lines), lines
        listed = {str(one.uri): one for one in (await client.list_resources()).resources}
        root = f"starloom://constellations/{answer['constellation']}"
        (file,) = [uri for uri in listed if uri.startswith(f"{root}/files/")]
        assert {root, f"{root}/answer"} <= set(listed)
        (content,) = (await client.read_resource(file)).contents
        assert isinstance(content, types.TextResourceContents)
        assert "invoice-2026-03.txt" in content.text
        assert (listed[file].mime_type, listed[file].size) == ("text/csv", len(content.text.encode()))
        never = await client.call_tool("recipe_restart-and-check", {"where": "laptop", "service": "nginx"})
        assert "restart can never begin" in str(never.content)
        risky = await call(client, "recipe_run-everywhere", where="laptop", command=["uptime"])
        assert (risky["needs_approval"], risky["state"]) == (True, "awaiting_approval")
        refused = await client.call_tool("recipe_find-file", {"wath": "x"})
        assert "there is no argument 'wath'; did you mean `what`?" in str(refused.content)
    await asyncio.to_thread(fleet.client.create, f"/constellations/{risky['constellation']}/cancel", {})
    await asyncio.to_thread(laptop.ungrant, "shell:run", "--", "uptime")


@pytest.mark.proof(shown_by=SHOWN)
@ON_THIS_MACHINE
def test_a_coding_agent_calls_a_recipe_as_a_tool(fleet: Fleet, third_party: Path, tmp_path: Path) -> None:
    fleet.device("laptop").write(f"Papers/{FILE}", "tax")
    heard: list[str] = []
    with a_model(asks_the_recipe(heard), streams=True) as fake:
        entry = opencode_entry(third_party, tmp_path, fake.url)
        settings = json.loads((tmp_path / "opencode.json").read_text())
        settings["mcp"] = {"starloom": {"type": "local", "command": entry_of(fleet), "enabled": True}}
        (tmp_path / "opencode.json").write_text(json.dumps(settings))
        ran = programs.ran(
            [entry["command"][0], "run", "Where is my invoice of March?"],
            cwd=tmp_path,
            env={**environment(tmp_path), **entry["env"]},
            stdin=subprocess.DEVNULL,
            timeout=ENDS_WITHIN_S,
        )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert f"It is there: {FILE}" in ran.stdout
    assert any("never instructions" in one for one in heard), heard


@pytest.fixture(scope="session")
def framework() -> Path:
    """Install the pinned framework into an environment of its own beside other caches, once; return its Python."""
    lock = THIRD_PARTY / "framework.lock"
    folder = cache_for("framework", lock)
    python = folder / "bin" / "python"
    if not (folder / "installed").exists():
        venv.create(folder, with_pip=True, clear=True)
        install = [str(python), "-m", "pip", "install", "-q", "--require-hashes", "--no-deps", "-r", str(lock)]
        subprocess.run(install, check=True, timeout=INSTALL_WITHIN_S)
        (folder / "installed").touch()
    return python


@pytest.mark.proof(shown_by=SHOWN)
@ON_THIS_MACHINE
def test_an_agent_framework_calls_a_recipe_as_a_tool(fleet: Fleet, framework: Path, tmp_path: Path) -> None:
    fleet.device("laptop").write(f"Papers/{FILE}", "tax")
    heard: list[str] = []
    config = tmp_path / "starloom.json"
    config.write_text(fleet.cli("mcp", "--config"))
    with a_model(asks_the_recipe(heard)) as fake:
        ran = programs.ran(
            [str(framework), str(THIRD_PARTY / "framework.py"), fake.url, str(config)],
            cwd=tmp_path,
            env=environment(tmp_path),
            stdin=subprocess.DEVNULL,
            timeout=ENDS_WITHIN_S,
        )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert json.loads(ran.stdout)["said"] == f"It is there: {FILE}"
    assert any("never instructions" in one for one in heard), heard
