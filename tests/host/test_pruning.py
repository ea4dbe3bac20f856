"""A hub prunes its history while it runs, as a person sees it: real processes, commands, `doctor`."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator

import pytest

from starloom.client.problems import Problem
from starloom.process.computers import computer_name
from tests.installation import Installation
from tests.programs import ran_command
from tests.waiting import SLOWER, until

BOUND_S = 120 * SLOWER
DAYS = {
    "STARLOOM_ARTIFACTS_KEEP_S": "0",
    "STARLOOM_FINISHED_MOST": "0",
    "STARLOOM_HISTORY_KEEP_DAYS": "0",
    "STARLOOM_HISTORY_PRUNE_EVERY_S": "0.5",
    "STARLOOM_RETIRE_AFTER_S": "0",
}
WORDS = {"request": "how are my machines"}


@pytest.fixture
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    made = Installation(tmp_path_factory.mktemp("pruned") / "home", DAYS)
    made.up()
    made.until_online(computer_name())
    yield made
    made.close()


def starloom(hub: Installation, *words: str) -> subprocess.CompletedProcess[str]:
    return ran_command(hub.home, *words, env=DAYS, timeout=BOUND_S)


def pruned(hub: Installation, name: str) -> bool:
    try:
        hub.client.get(f"/constellations/{name}")
    except Problem as problem:
        return problem.code == "pruned"
    return False


def test_a_hub_prunes_while_it_runs_and_its_record_stays_whole(hub: Installation) -> None:
    live = hub.client.post("/constellations", {**WORDS, "hold": True})["id"]
    gone = hub.client.post("/constellations", WORDS)["id"]
    until(lambda: pruned(hub, gone), "what has ended is pruned", BOUND_S)

    for words in (("show", gone), ("why", gone), ("replay", gone)):
        said = starloom(hub, *words)
        assert said.returncode == 2, (words, said)
        assert "was pruned from the history on" in said.stderr + said.stdout, (words, said)
    assert [item["id"] for item in json.loads(starloom(hub, "ls", "--json").stdout)["items"]] == [live]

    checked = starloom(hub, "audit", "verify")
    assert checked.returncode == 0, checked
    assert "1 constellations with" in checked.stdout
    assert "The record is whole" in checked.stdout
    looked = starloom(hub, "doctor")
    assert "1 more pruned until" in looked.stdout, looked.stdout
