"""Work for an agent of others, from a plan to its answer: real hub, real agent of the device, real program behind it.

One program is the tests' fake agent. The others are OpenCode and Qwen Code as their registry hands them out, before the
fake model server.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import secrets
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.chaos.conftest import Settled
from tests.chaos.stack import Accepted, Stack
from tests.chaos.work import plan
from tests.device_agents.toolkit.clients.other_agents import AGENT
from tests.device_agents.tools.agents.test_remote_agent import serving
from tests.installation import type_at_agent
from tests.models.server import Say
from tests.models.threaded import a_model
from tests.waiting import SLOWER, until

pytestmark = pytest.mark.chaos

DEVICE = "north"
THIRD_PARTY = Path(__file__).parents[1] / "device_agents" / "third_party"
OPENCODE = "node_modules/opencode-linux-x64/bin/opencode"
QWEN = "node_modules/.bin/qwen"
INSTALL_WITHIN_S = 600 * SLOWER
ON_THIS_MACHINE = pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() != "x86_64", reason="the pinned programs are for Linux on x86-64"
)
Configure = Callable[[dict[str, Any]], Path]


def toml_of(entry: dict[str, Any]) -> str:
    return "".join(f"{name} = {json.dumps(value)}\n" for name, value in entry.items())


@pytest.fixture
def configure(stack: Stack) -> Iterator[Configure]:
    """Name one agent on the device, grant it, and start the device's agent again; return the folder for its work."""
    home = stack.home / "agents" / DEVICE
    folder = stack.home / "folders" / DEVICE

    def offers() -> bool:
        items = stack.client.get("/devices")["items"]
        return any("agent.helper" in json.dumps(item["tools"]) for item in items if item["link"] == "online")

    def named(entry: dict[str, Any]) -> Path:
        env = entry.pop("env", {})
        given = entry if "url" in entry else {"folders": [str(folder)], **entry}
        text = f"[agents.helper]\n{toml_of(given)}" + (f"[agents.helper.env]\n{toml_of(env)}" if env else "")
        (home / "agents.toml").write_text(text)
        (home / "agents.toml").chmod(0o600)
        type_at_agent(home, "policy", "--answers", "hub")
        type_at_agent(home, "grant", "agent:helper")
        stack.stop_agent(DEVICE)
        stack.start_agent(DEVICE)
        until(offers, f"{DEVICE} offers agent.helper")
        return folder

    yield named
    (home / "agents.toml").unlink(missing_ok=True)


def work(name: str, text: str) -> dict[str, Any]:
    task = {"id": "hand", "device": {"name": DEVICE}, "tool": "agent.helper", "args": {"text": text}}
    return plan(name, [task])


def allow(stack: Stack, request: Accepted, sign: str) -> dict[str, Any]:
    """Wait for the question of this request that holds a sign, allow it as a person at the hub, and return it."""

    def asked() -> dict[str, Any] | None:
        items = stack.client.get("/asks")["items"]
        mine = [item for item in items if item["constellation"] == request.id]
        return next((item for item in mine if sign in json.dumps(item)), None)

    found: dict[str, Any] = until(asked, f"a question with {sign} of {request.name}")
    stack.client.post(f"/asks/{found['id']}/approve", {"action": found["action"], "reason": "go"})
    return found


def result_of(stack: Stack, request: Accepted) -> dict[str, Any]:
    value: dict[str, Any] = stack.client.get(f"/constellations/{request.id}/result")
    return value


def test_a_plan_hands_work_over_and_gets_the_result(stack: Stack, settled: Settled, configure: Configure) -> None:
    folder = configure({"command": [sys.executable, str(AGENT), "asks"], "reads": [str(AGENT.parent)]})
    made = work("hand-over", "write asked.txt")

    def warned() -> list[str]:
        # A device that has just connected may still stand with what it offered before.
        warnings = stack.client.post("/constellations/preview", {"plan": made})["warnings"]
        return [text for text in warnings if text.startswith("hand: Hand work to the agent helper, in north")]

    (warning,) = until(warned, "a warning of the agent")
    assert "it may read, write, change." in warning
    assert "an approval of this plan gives none" in warning
    request = stack.submit(made)
    allow(stack, request, "write asked.txt")
    told = allow(stack, request, "permission")
    assert told["tool"] == "agent.helper"
    assert stack.until_final(request) == "succeeded"
    assert (folder / "asked.txt").read_text() == "yes"
    shown = json.dumps(result_of(stack, request))
    assert "chosen once" in shown
    assert "asked.txt" in shown
    settled()


def test_a_hint_of_a_person_is_the_next_prompt(stack: Stack, settled: Settled, configure: Configure) -> None:
    configure({"command": [sys.executable, str(AGENT), "attentive"], "reads": [str(AGENT.parent)]})
    request = stack.submit(work("hand-hint", "look around"))
    allow(stack, request, "look around")
    task = f"/constellations/{request.id}/tasks/hand/hint"
    until(lambda: [item for item in stack.client.get("/asks")["items"] if "Begin" in json.dumps(item)], "it asks")
    stack.client.post(task, {"reason": "the disk first"})
    allow(stack, request, "Begin")
    assert stack.until_final(request) == "succeeded"
    shown = json.dumps(result_of(stack, request))
    assert "heard 'look around'" in shown
    assert "the disk first" in shown
    settled()


def test_a_cancel_at_the_hub_reaches_an_agent_of_the_network(
    stack: Stack, settled: Settled, configure: Configure, tmp_path: Path
) -> None:
    with serving(tmp_path, "endless") as others:
        note, url = others.note("endless"), others.url("endless")
        configure({"url": url, "effects": ["read"]})
        request = stack.submit(work("remote-cancel", "never end"))
        until(note.exists, "the other agent works")
        # It can be told once it has named its task, which its first event does.
        log = f"/constellations/{request.id}/tasks/hand/attempts/1/log"
        until(lambda: stack.client.get(log)["text"].strip(), "it has named its task")
        stack.client.post(f"/constellations/{request.id}/cancel", {"reason": "enough"})
        assert stack.until_final(request) == "cancelled"
        until(lambda: note.read_text() == "cancelled", "the other agent was told")
    settled()


def test_a_cancel_at_the_hub_ends_the_other_agent(stack: Stack, settled: Settled, configure: Configure) -> None:
    configure({"command": [sys.executable, str(AGENT), "spawns"], "reads": [str(AGENT.parent)]})
    request = stack.submit(work("hand-cancel", "never end"))
    allow(stack, request, "never end")
    stack.until_task(request, "hand", "running")
    stack.control(request, "cancel")
    assert stack.until_final(request) == "cancelled"
    settled()


def cache_for(name: str, lock: Path) -> Path:
    """Return the folder in which what a lock pins is installed once for all runs of this account."""
    digest = hashlib.sha256(lock.read_bytes()).hexdigest()[:16]
    return Path.home() / ".cache" / "starloom-tests" / f"{name}-{digest}"


@pytest.fixture(scope="session")
def third_party() -> Path:
    """Install the pinned agents into a cache beside other caches of this account, once; return its folder."""
    cache = cache_for("third-party", THIRD_PARTY / "package-lock.json")
    if not (cache / OPENCODE).exists() or not (cache / QWEN).exists():
        cache.mkdir(parents=True, exist_ok=True)
        for name in ("package.json", "package-lock.json"):
            shutil.copyfile(THIRD_PARTY / name, cache / name)
        # Not `npm ci`: it wants a lock of every system's optional packages, and none of them is needed.
        install = [node("npm"), "install", "--ignore-scripts", "--omit=optional", "--no-audit", "--no-fund"]
        subprocess.run(install, cwd=cache, check=True, timeout=INSTALL_WITHIN_S)
    return cache


def node(program: str) -> str:
    found = shutil.which(program, path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    assert found, f"{program} is missing; type: .venv/bin/python scripts/environment.py --dev --page"
    return found


def writes(tool: str, path_name: str, path: Path) -> Callable[[dict[str, Any]], Say]:
    """Return a model that writes one file by a tool of its agent, and says so."""

    def model(asked: dict[str, Any]) -> Say:
        if not asked.get("tools"):
            return Say(text="A note")
        if any(message["role"] == "tool" for message in asked["messages"]):
            return Say(text="The note is written.")
        args = json.dumps({path_name: str(path), "content": "hello\n"})
        call = {"id": "c1", "type": "function", "function": {"name": tool, "arguments": args}}
        return Say(message=(("tool_calls", [call]),), stop="tool_calls")

    return model


@pytest.mark.proof(shown_by="tests/chaos/test_other_agents.py::test_a_plan_hands_work_over_and_gets_the_result")
@ON_THIS_MACHINE
@pytest.mark.parametrize("name", ["opencode", "qwen"])
def test_an_agent_of_a_registry_does_work_that_its_owner_allows(
    stack: Stack, settled: Settled, configure: Configure, third_party: Path, tmp_path: Path, name: str
) -> None:
    note = stack.home / "folders" / DEVICE / f"{name}.txt"
    tool, path_name, entry_of = KNOWN[name]
    with a_model(writes(tool, path_name, note), streams=True) as fake:
        state = tmp_path / name
        state.mkdir()
        configure(entry_of(third_party, state, fake.url))
        request = stack.submit(work(name, "write a note"))
        allow(stack, request, "write a note")
        told = allow(stack, request, "permission")
        assert note.name in json.dumps(told["args"])
        assert stack.until_final(request) == "succeeded"
    assert note.read_text() == "hello\n"
    shown = json.dumps(result_of(stack, request))
    assert "The note is written." in shown
    assert "end_turn" in shown
    settled()


def opencode_entry(installed: Path, state: Path, url: str) -> dict[str, Any]:
    """Return the entry of docs/agents.md for OpenCode, with the fake model as its only provider."""
    models = {"fake-1": {"name": "Fake 1", "tool_call": True, "limit": {"context": 32_000, "output": 4_000}}}
    options = {"baseURL": url, "apiKey": "none"}
    provider = {"npm": "@ai-sdk/openai-compatible", "name": "Fake", "options": options, "models": models}
    settings = {
        "autoupdate": False, "share": "disabled", "snapshot": False, "lsp": False, "formatter": False,
        "model": "fake/fake-1", "small_model": "fake/fake-1", "enabled_providers": ["fake"],
        "provider": {"fake": provider}, "permission": {"edit": "ask", "bash": "ask", "webfetch": "deny"},
    }  # fmt: skip
    (state / "opencode.json").write_text(json.dumps(settings))
    off = ("AUTOUPDATE", "MODELS_FETCH", "LSP_DOWNLOAD", "DEFAULT_PLUGINS", "SHARE", "PROJECT_CONFIG", "CLAUDE_CODE")
    env = {
        "OPENCODE_CONFIG": str(state / "opencode.json"), "OPENCODE_SERVER_PASSWORD": secrets.token_hex(16),
        "OPENCODE_PURE": "1", "npm_config_offline": "true", **{f"OPENCODE_DISABLE_{name}": "1" for name in off},
    }  # fmt: skip
    return {"command": [str(installed / OPENCODE), "acp"], "state": [str(state)], "env": env}


def qwen_entry(installed: Path, state: Path, url: str) -> dict[str, Any]:
    """Return the entry of docs/agents.md for Qwen Code, with the fake model behind it."""
    settings = {
        "security": {"auth": {"selectedType": "openai"}}, "privacy": {"usageStatisticsEnabled": False},
        "telemetry": {"enabled": False}, "model": {"name": "fake-1"},
        "general": {"enableAutoUpdate": False, "disableAutoUpdate": True, "disableUpdateNag": True},
    }  # fmt: skip
    (state / ".qwen").mkdir()
    (state / ".qwen" / "settings.json").write_text(json.dumps(settings))
    env = {"OPENAI_API_KEY": "none", "OPENAI_BASE_URL": url, "OPENAI_MODEL": "fake-1"}
    command = [node("node"), str(installed / QWEN), "--acp"]
    return {"command": command, "reads": [str(installed)], "state": [str(state)], "env": env}


KNOWN: dict[str, tuple[str, str, Callable[[Path, Path, str], dict[str, Any]]]] = {
    "opencode": ("write", "filePath", opencode_entry),
    "qwen": ("write_file", "file_path", qwen_entry),
}
"""The tool by which each writes a file, the name of its path, and the entry for the owner's file."""
