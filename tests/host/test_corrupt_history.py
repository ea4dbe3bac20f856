"""A hub whose history is corrupt: it does not start on it, and one that runs says so and takes nothing more."""

from __future__ import annotations

import asyncio
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from starloom.client.problems import Problem
from starloom.host.ports import free_port
from starloom.store.file_names import DATABASE_FILE
from tests.installation import Installation
from tests.programs import ran_command
from tests.store.sql.test_dump import filled
from tests.store.sql.torn import tear
from tests.waiting import SLOWER, until

BOUND_S = 120 * SLOWER
SOON = {"STARLOOM_RETIRE_AFTER_S": "0", "STARLOOM_FINISHED_MOST": "0"}


def starloom(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return ran_command(home, *arguments, timeout=BOUND_S)


def test_no_hub_starts_on_a_corrupt_history(tmp_path: Path) -> None:
    home = tmp_path / "home"
    file = home / DATABASE_FILE

    async def write() -> None:
        await (await filled(f"sqlite:///{file}")).close()

    asyncio.run(write())
    tear(file)
    before = file.read_bytes()
    done = starloom(home, "up", "--no-agent", "--port", str(free_port()))
    said = done.stdout + done.stderr
    assert done.returncode == 5, said
    assert f"the history in SQLite {file} is corrupt" in said
    assert "starloom restore FILE" in said
    assert "Traceback" not in said
    assert file.read_bytes() == before
    looked = starloom(home, "doctor")
    assert f"FAIL  history: the history in SQLite {file} is corrupt" in looked.stdout
    assert "starloom restore FILE" in looked.stdout


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Installation]:
    made = Installation(tmp_path / "home", SOON)
    try:
        made.up("--no-agent")
        yield made
    finally:
        made.close()


def test_a_record_that_changed_is_refused_and_readiness_says_it(service: Installation) -> None:
    plan = {"starloom": 1, "name": "old", "tasks": [{"id": "a", "tool": "system.info"}]}
    made = service.client.post("/constellations", {"plan": plan})["id"]
    service.client.post(f"/constellations/{made}/cancel", {})
    # What is finished leaves memory and Redis within a sweep; then the history alone has it.
    until(lambda: held(service) == 0, "the constellation has left memory", BOUND_S)
    with closing(sqlite3.connect(service.home / DATABASE_FILE)) as sql:
        sql.execute("UPDATE commits SET events = substr(events, 1, length(events) - 40) || zeroblob(40)")
        sql.commit()
    with pytest.raises(Problem) as caught:
        service.client.get(f"/constellations/{made}")
    told = caught.value
    assert (told.document["status"], told.code) == (503, "history_corrupt")
    assert "is corrupt" in told.reason
    assert "starloom restore FILE" in told.hint
    until(lambda: service.client.outside("/readyz")[0] == 503, "readiness says it", BOUND_S)
    waits = service.client.outside("/readyz")[1]["waits_for"]
    assert waits == [told.reason]
    with pytest.raises(Problem) as refused:
        service.client.post("/constellations", {"plan": plan})
    assert refused.value.code == "history_corrupt"
    assert "Traceback" not in service.log("hub", 1_000)


def held(service: Installation) -> int:
    figures = service.client.outside("/metrics")[1]
    (line,) = [line for line in str(figures).splitlines() if line.startswith("starloom_constellations_held ")]
    return int(float(line.split()[1]))
