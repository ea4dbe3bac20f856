"""`starloom-agent stop` in the middle of work that may not be repeated: the hub hears what became of each call."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.installation import Installation
from tests.programs import ran
from tests.waiting import SLOWER, until

LATER = ("second", "third")


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Installation]:
    made = Installation(tmp_path / "hub")
    try:
        made.up()
        yield made
    finally:
        agent(tmp_path / "agent", "stop")
        made.close()


def agent(home: Path, *argv: str) -> None:
    command = [sys.executable, "-m", "starloom_agent", argv[0], "--home", str(home), *argv[1:]]
    done = ran(command, stdin=subprocess.DEVNULL, timeout=120 * SLOWER)
    assert done.returncode == 0, done.stdout + done.stderr


def test_only_the_call_that_ran_is_in_doubt(service: Installation, tmp_path: Path) -> None:
    home, folder = tmp_path / "agent", tmp_path / "folder"
    folder.mkdir()
    lines, script = folder / "lines", folder / "work.sh"
    script.write_text(f"echo $1 >> {lines}\nif [ $1 = first ]; then sleep 600; fi\n")
    code = str(service.client.post("/enrollments", {"preapproved": True})["code"])
    agent(home, "join", f"http://127.0.0.1:{service.port}", code, "--name", "box", "--profile", "work", str(folder))
    agent(home, "grant", "--effects", "read,write", "shell:run", "--", "sh", str(script), "{.*...}")
    agent(home, "start", "--slots", "1")
    service.until_online("box")

    def written(task: str) -> dict[str, object]:
        argv = ["sh", str(script), task]
        return {"id": task, "tool": "shell.run", "args": {"argv": argv}, "device": {"name": "box"}}

    tasks = [written(name) for name in ("first", *LATER)]
    plan = {"starloom": 1, "name": "work", "policy": {"approval": "never"}, "tasks": tasks}
    made = f"/constellations/{service.client.post('/constellations', {'plan': plan})['id']}"
    until(lambda: lines.exists(), "the first call runs", 20 * SLOWER)
    agent(home, "stop")

    def states() -> dict[str, str]:
        return {task["id"]: task["state"] for task in service.client.get(made)["tasks"]}

    until(lambda: states()["first"] == "unknown", "the hub knows that the first call was cut", 30 * SLOWER)
    assert states() == {"first": "unknown", "second": "ready", "third": "ready"}
    said = service.client.get(f"{made}/why", task_id="first")["sentence"]
    assert "it was ended there before it was done, because its agent was stopped" in said
    agent(home, "start")
    until(lambda: states() == {"first": "unknown", "second": "succeeded", "third": "succeeded"}, "the others are done")
    assert sorted(lines.read_text().split()) == ["first", "second", "third"]
