"""The command line as its own process against real processes: what failed, what is waited for, what was mistyped.

Nothing is killed here. Exit codes are those that a script would branch on, and words those that a person reads.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from starloom_protocol.plan.language.document import DOCUMENT_BYTES_MAX
from tests.chaos.conftest import Settled
from tests.chaos.stack import Stack
from tests.programs import bare_environment, ran
from tests.waiting import PATIENCE_S, until

pytestmark = pytest.mark.chaos

Ended = subprocess.CompletedProcess[str]


def typed(*argv: str, **environment: str) -> Ended:
    """Run a command of ours as a person types it, with no setting of Starloom's but those given."""
    # A pipe of a person has no width; a worker of these tests has one, which would break long paths.
    environment = {**bare_environment("COLUMNS"), **environment}
    return ran([sys.executable, "-m", *argv], env=environment, stdin=subprocess.DEVNULL, timeout=PATIENCE_S)


def starloom(stack: Stack, *words: str) -> Ended:
    return typed("starloom.cli", *words, "--hub", str(stack.hub_home))


def echo(task: str, **more: Any) -> dict[str, Any]:
    return {"id": task, "tool": "lab.echo", "args": {"value": task}, **more}


def fails(task: str) -> dict[str, Any]:
    """Return a task that fails on its device, once and for good."""
    return {"id": task, "tool": "fs.read", "args": {"path": "there-is-none.txt"}, "device": {"name": "north"}}


def written(folder: Path, name: str, *tasks: dict[str, Any], **more: Any) -> str:
    """Write a plan and return its path. JSON is YAML, too."""
    path = folder / f"{name}.yaml"
    path.write_text(json.dumps({"starloom": 1, "name": name, "tasks": tasks, **more}))
    return str(path)


def newest(stack: Stack) -> dict[str, Any]:
    """Return the newest constellation whole, as `starloom show` reads it."""
    (item,) = stack.client.get("/constellations", limit=1)["items"]
    stack.remember(item["id"], item["name"])
    found: dict[str, Any] = stack.client.get(f"/constellations/{item['id']}")
    return found


def count(stack: Stack) -> int:
    return len(stack.client.get("/constellations", limit=100)["items"])


def test_what_follows_a_failure_is_skipped_or_run_and_the_exit_code_is_1(
    stack: Stack, settled: Settled, tmp_path: Path
) -> None:
    gates = [{"from": "read", "to": "report", "when": "success"}, {"from": "read", "to": "alarm", "when": "failure"}]
    path = written(tmp_path, "breaks", fails("read"), echo("report"), echo("alarm"), dependencies=gates)
    done = starloom(stack, "submit", "-f", path, "--wait")
    assert done.returncode == 1, done.stdout + done.stderr
    states = {task["id"]: (task["state"], task["reason"]) for task in newest(stack)["tasks"]}
    assert states["read"][0] == "failed"
    assert states["report"] == ("skipped", "upstream_failed")
    assert states["alarm"][0] == "succeeded"
    assert "First cause: read" in done.stdout
    assert "Skipped because read failed: report." in " ".join(done.stdout.split())
    assert starloom(stack, "result").returncode == 1
    shown = starloom(stack, "show")
    assert "1 of 3 tasks done, 0 running, 1 failed, 1 skipped" in shown.stdout
    settled()


def test_what_is_done_in_part_where_the_plan_allows_it_is_3(stack: Stack, settled: Settled, tmp_path: Path) -> None:
    tasks = (fails("bad"), echo("good"))
    allowed = starloom(
        stack, "submit", "-f", written(tmp_path, "half", *tasks, policy={"partial": True}), "--wait", "--json"
    )
    assert allowed.returncode == 3, allowed.stdout + allowed.stderr
    assert newest(stack)["state"] == "partial"
    refused = starloom(stack, "submit", "-f", written(tmp_path, "whole", *tasks), "--wait")
    assert refused.returncode == 1
    assert newest(stack)["state"] == "failed"
    settled()


def test_every_fault_of_a_plan_is_told_at_once_and_nothing_begins(stack: Stack, tmp_path: Path) -> None:
    before = count(stack)
    path = written(
        tmp_path,
        "wrong",
        echo("a", colour="red"),
        echo("b", device={"name": "nroth"}),
        echo("b"),
        echo("c"),
        {"id": "d", "tool": "fs.stat", "args": {"path": "notes.txt"}},
        dependencies=[{"from": "a", "to": "c"}, {"from": "c", "to": "a"}],
    )
    done = starloom(stack, "submit", "-f", path, "--json")
    assert done.returncode == 2
    problem = json.loads(done.stderr)["problem"]
    assert {(fault["place"], fault["code"]) for fault in problem["errors"]} == {
        ("tasks[0].colour", "unknown_field"),
        ("tasks[1].device.name", "unknown_device"),
        ("tasks[2].id", "duplicate_id"),
        ("tasks[4].args.path", "unknown_field"),
        ("tasks[4].args.paths", "plan_invalid"),
        ("dependencies[1]", "plan_cycle"),
    }
    said = starloom(stack, "submit", "-f", path).stderr
    assert [fault["place"] for fault in problem["errors"] if fault["place"] not in said] == []
    for word in (
        "Did you mean `north`?",
        "Did you mean `paths`?",
        "these tasks wait for each other: a > c > a",
        "The way out:",
    ):
        assert word in " ".join(said.split())
    assert count(stack) == before


def test_a_plan_above_the_limit_is_told_the_limit(stack: Stack, tmp_path: Path) -> None:
    before = count(stack)
    large = {"value": "x" * 60_000}
    tasks = [{"id": f"t{at}", "tool": "lab.echo", "args": large} for at in range(DOCUMENT_BYTES_MAX // 60_000 + 1)]
    done = starloom(stack, "submit", "-f", written(tmp_path, "large", *tasks))
    assert done.returncode == 2
    assert f"at most {DOCUMENT_BYTES_MAX} are taken" in done.stderr
    assert "The way out: Split it" in done.stderr
    assert count(stack) == before


def test_why_names_every_device_while_one_is_off(stack: Stack, settled: Settled, tmp_path: Path) -> None:
    stack.stop_agent("south")
    try:
        until(
            lambda: (
                {"name": "south", "link": "offline"}.items()
                <= next(item for item in stack.client.get("/devices")["items"] if item["name"] == "south").items()
            ),
            "south is off",
        )
        path = written(tmp_path, "waits", echo("there", device={"name": "south"}))
        assert starloom(stack, "submit", "-f", path).returncode == 0
        done = starloom(stack, "why", "there")
        assert done.returncode == 0
        lines = [line.strip() for line in done.stdout.splitlines()]
        assert "south: is off or out of reach" in lines
        # Devices with one reason share a line.
        named = {name for line in lines if ": " in line for name in line.partition(":")[0].split(", ")}
        assert {"north", "south", "east"} <= named
        assert newest(stack)["tasks"][0]["state"] == "ready"
    finally:
        stack.start_agent("south")
    assert starloom(stack, "watch").returncode == 0
    settled()


def test_a_wrong_token_a_wrong_code_and_a_hub_that_is_not_there(stack: Stack, tmp_path: Path) -> None:
    url = stack.client.address.url
    token = typed("starloom.cli", "ls", "--hub", url, STARLOOM_TOKEN="slt_nobody")
    assert token.returncode == 2
    assert "starloom token create" in token.stderr
    home = tmp_path / "agent"
    code = typed("starloom_agent", "join", url, "AAAA-BBBB", "--home", str(home), "--yes")
    assert code.returncode == 1
    assert "there is no such join code" in code.stderr
    assert "starloom enroll" in code.stderr
    away = typed("starloom.cli", "ls", "--hub", "http://127.0.0.1:9", STARLOOM_TOKEN="slt_nobody")
    assert away.returncode == 5
    assert all("Traceback" not in done.stdout + done.stderr for done in (token, code, away))


def test_what_a_device_has_not_granted_is_refused_there_with_the_line_to_type(
    stack: Stack, settled: Settled, tmp_path: Path
) -> None:
    private = tmp_path / "private.txt"
    private.write_text("nobody else's")
    look = {"id": "look", "tool": "fs.read", "args": {"path": str(private)}, "device": {"name": "north"}}
    done = starloom(stack, "submit", "-f", written(tmp_path, "curious", look), "--wait")
    assert done.returncode == 1, done.stdout + done.stderr
    assert f"{private} is outside the folders of files:read." in " ".join(done.stdout.split())
    # The answer's last line is the command that tells the rest.
    opening, _, asked = done.stdout.splitlines()[-1].partition(" why ")
    assert opening.startswith("Why, and the way out: ")
    told = starloom(stack, "why", *asked.split())
    assert told.returncode == 0
    line = " ".join(told.stdout.split()).partition("type on the device: ")[2]
    assert re.match(rf"\S+/starloom-agent grant --home \S+ files:read {re.escape(str(tmp_path))}", line), line
    assert "nobody else's" not in done.stdout + told.stdout + starloom(stack, "logs").stdout
    settled()


WITHOUT_A_FIT = {
    "find out which of my machines is slow and why": "No recipe fits these words",
    "find report.pdf on north and copy it to south": "No recipe fits these words exactly",
    "back up Documents of north to toaster, keep -3": "there is no device like toaster",
    "do not run uptime everywhere": "no recipe has a place for 'do not run uptime everywhere'",
    "hello": "for example",
    "wie lange lebt ein Igel": "for example",
}


@pytest.mark.parametrize("words", WITHOUT_A_FIT)
def test_words_that_no_recipe_fits_start_nothing_and_end_with_2(stack: Stack, words: str) -> None:
    before = count(stack)
    for more in ((), ("--preview",)):
        done = starloom(stack, "submit", words, *more)
        assert done.returncode == 2, done.stdout + done.stderr
        said = " ".join((done.stdout + done.stderr).split())
        assert WITHOUT_A_FIT[words] in said
        assert said.casefold().count("no recipe fits these words") == 1
    assert count(stack) == before
