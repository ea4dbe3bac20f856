"""A canary: a random secret is used on real parts, then looked for in everything that they wrote and said."""

from __future__ import annotations

import asyncio
import base64
import json
import secrets
import sys
import urllib.parse
from pathlib import Path
from typing import Any

import httpx
import websockets

from starloom.client.view import View
from starloom_protocol.vocabulary import Attention, Code, TaskState
from tests.programs import ran
from tests.recipes.fleet import Fleet, Running
from tests.waiting import PATIENCE_S, SLOWER, until

# Says what it was given in every way that a program has, and ends well or badly as it was told.
SAYS_ALL = """
import base64, json, os, sys, time, urllib.parse
value = os.environ["CANARY_TOKEN"]
for part in (value, value[:7], value[7:] + "\\n"):
    sys.stdout.write(part); sys.stdout.flush(); time.sleep(0.01)
print("out", value, base64.b64encode(("user:" + value).encode()).decode(), urllib.parse.quote(value), json.dumps(value))
print("err", value, file=sys.stderr)
os.makedirs("out", exist_ok=True)
open("out/" + value + ".txt", "w").write("a file")
json.dump({"value": value, value: [value], "encoded": value.encode().hex()}, open("result.json", "w"))
if sys.argv[1:] == ["badly"]:
    sys.exit("it broke on " + value)
"""
LEAKS_A_FILE = """
import os
os.makedirs("out", exist_ok=True)
open("out/kept.txt", "w").write("the key is " + os.environ["CANARY_TOKEN"])
"""


def tasks(*codes: tuple[str, str, list[str]]) -> dict[str, Any]:
    return {
        "starloom": 1,
        "name": "Canary",
        "tasks": [
            {
                "id": name,
                "tool": "python.run",
                "device": {"name": "laptop"},
                "args": {"code": code, "argv": argv, "env": {"CANARY_TOKEN": {"secret": "canary"}}},
            }
            for name, code, argv in codes
        ],
    }


def submit(fleet: Fleet, plan: dict[str, Any]) -> Running:
    previewed = fleet.client.post("/constellations/preview", {"plan": plan})
    made = fleet.client.create("/constellations", {"plan": plan, "plan_hash": previewed["plan_hash"]})
    return Running(fleet, str(made["id"]), {})


def set_secret(fleet: Fleet, value: str, *more: str) -> str:
    argv = [sys.executable, "-m", "starloom.cli", "secret", "set", "canary", *more, "--hub", fleet.client.address.url]
    environment = {"STARLOOM_HOME": str(fleet.home), "PATH": "/usr/bin:/bin", "COLUMNS": "200"}
    typed = ran(argv, input=value + "\n", timeout=PATIENCE_S, env=environment)
    assert typed.returncode == 0, typed.stdout + typed.stderr
    return typed.stdout + typed.stderr


def forms(value: str) -> list[bytes]:
    """What to look for: written independently of the scrubber."""
    whole = [value, urllib.parse.quote(value, safe=""), value.encode().hex(), json.dumps(value)[1:-1]]
    inner = [base64.b64encode(b"_" * before + value.encode() + b"__").decode()[4:-6] for before in range(3)]
    return [form.encode() for form in (*whole, *inner)]


def hits(root: Path, value: str) -> list[str]:
    """Return every file below a folder that holds a form of the value, or is named by it."""
    found = []
    for path in sorted(root.rglob("*")):
        data = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
        found += [f"{path}: {form!r}" for form in forms(value) if form in data or form in str(path).encode()]
    return found


async def watched(fleet: Fleet, identity: str, stop: asyncio.Event, heard: list[str]) -> None:
    """Listen to the live stream of a constellation and of the fleet, as a page does."""
    address = fleet.client.address
    headers = {"Authorization": f"Bearer {address.token}"}
    async with httpx.AsyncClient(base_url=address.url, headers=headers) as http:
        ticket = (await http.post("/api/v1/live/tickets")).json()["ticket"]
    async with websockets.connect(address.url.replace("http", "ws", 1) + "/api/v1/live", max_size=None) as socket:
        await socket.send(json.dumps({"t": "ticket", "ticket": ticket}))
        for stream in (identity, "fleet"):
            await socket.send(json.dumps({"t": "subscribe", "stream": stream, "after_seq": 0}))
        while not stop.is_set():
            try:
                heard.append(str(await asyncio.wait_for(socket.recv(), 0.5)))
            except TimeoutError:
                continue


def test_a_plan_waits_for_its_secret_and_nothing_ever_shows_it(fleet: Fleet) -> None:
    value = f'cn-{secrets.token_urlsafe(18)}+é"x'
    plan = tasks(("well", SAYS_ALL, ["well"]), ("badly", SAYS_ALL, ["badly"]), ("leaks", LEAKS_A_FILE, []))
    previewed = fleet.client.post("/constellations/preview", {"plan": plan})
    assert previewed["secrets"] == [
        {
            "name": "canary",
            "set": False,
            "version": None,
            "tasks": ["well", "badly", "leaks"],
            "devices": ["laptop"],
            "line": "starloom secret set canary",
        }
    ]
    running = submit(fleet, plan)
    until(lambda: running.look() and _attention(running.view), "it waits for the secret")
    assert _attention(running.view) == [Attention.MISSING_SECRET]
    why = fleet.client.get(f"/constellations/{running.id}/why")["items"][0]
    assert (why["reason"], why["fix"]) == ("missing_secret", "starloom secret set canary")

    heard: list[str] = []
    said = asyncio.run(_listen_while(fleet, running, value, heard))
    assert running.task("well").state is TaskState.SUCCEEDED, running.told()
    assert [running.task(name).code for name in ("badly", "leaks")] == [Code.EXIT_CODE, Code.SECRET_IN_FILE]
    shown = running.attempts("well")[0]
    assert json.loads(shown.value or "{}")["value"] == {"***": ["***"], "encoded": "***", "value": "***"}
    assert "it broke on ***" in running.attempts("badly")[0].detail

    listed = [row for row in fleet.client.get("/secrets")["items"] if row["name"] == "canary"]
    assert [(row["name"], row["version"], bool(row["last_used_at"])) for row in listed] == [("canary", 1, True)]
    rest = _everything_rest_says(fleet, running.view)
    canary_hits = hits(fleet.home, value)
    canary_hits += [f"{name}: {form!r}" for name, text in {**rest, "live": "\n".join(heard), "cli": said}.items()
                    for form in forms(value) if form in text.encode()]  # fmt: skip
    print(f"canary_hits={len(canary_hits)} files={sum(1 for path in fleet.home.rglob('*') if path.is_file())}")
    # The hub tells a page together what happened within a frame, so messages are fewer than what they tell.
    told = [event for text in heard for event in json.loads(text).get("events", [])]
    assert len(told) > 10
    assert any("***" in text for text in heard), "the stream never carried the cleaned output"
    assert canary_hits == []

    assert "canary removed" in fleet.cli("secret", "rm", "canary", "--yes")
    assert "canary" not in fleet.cli("secret", "ls").split()


def _attention(view: View) -> list[Attention]:
    return view.head.attention if view.head is not None else []


async def _listen_while(fleet: Fleet, running: Running, value: str, heard: list[str]) -> str:
    stop = asyncio.Event()
    listening = asyncio.create_task(watched(fleet, running.id, stop, heard))
    await asyncio.sleep(0)
    said = await asyncio.to_thread(set_secret, fleet, value, "--for-device", "laptop", "--for-tool", "python.run")
    await asyncio.to_thread(running.wait)
    stop.set()
    await listening
    return said


def _everything_rest_says(fleet: Fleet, view: View) -> dict[str, str]:
    found = {}
    for path in (
        "", "/result", "/events?after=0&limit=500", "/versions", "/why",
        *(f"/tasks/{task}/attempts/1/log" for task in ("well", "badly", "leaks")),
    ):  # fmt: skip
        found[path] = _get(fleet, f"/constellations/{view.constellation}{path}")
    for path in ("/secrets", "/constellations", "/approvals", "/devices", "/capabilities", "/brief"):
        found[path] = _get(fleet, path)
    return found


def _get(fleet: Fleet, path: str) -> str:
    address = fleet.client.address
    answer = httpx.get(
        f"{address.url}/api/v1{path}", headers={"Authorization": f"Bearer {address.token}"}, timeout=30 * SLOWER
    )
    assert answer.status_code == 200, (path, answer.text)
    return answer.text
