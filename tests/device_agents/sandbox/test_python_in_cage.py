"""`python.run` as the agent runs it, in the cage of this machine: bombs and tricks end alone, the agent stays."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from starloom_agent.policy.file import write_policy
from starloom_agent.policy.policy import Policy
from starloom_agent.sandbox.levels import NOT_TRIED, Sandbox
from starloom_agent.work.runtime import Settings
from starloom_protocol.vocabulary import Code, Outcome, Profile
from starloom_protocol.wire.frames import Alive, OfferFrame, ResultFrame
from tests.device_agents.sandbox.tried import SANDBOX
from tests.device_agents.stand_in import HubStandIn, dispatch, lease
from tests.device_agents.started import joined_home, started

BOMBS = {
    "memory": "x = b'x' * (8 << 30)",
    "processes": (
        "import os, time\nfor _ in range(10):\n    try: os.fork()\n    except OSError: pass\n    time.sleep(0.03)\n"
        "time.sleep(60)"
    ),
    "output": "import sys\nfor _ in range(400): sys.stdout.write('x' * 100_000)\nraise SystemExit(1)",
}


@dataclass(frozen=True)
class Bench:
    """A hub stand-in with an agent on it, and the folder in which the agent's home lies."""

    hub: HubStandIn
    folder: Path

    async def python(self, code: str, task: str = "t", start_to_close_s: float = 30.0) -> ResultFrame:
        args = json.dumps({"code": code})
        await self.hub.send(dispatch("python.run", args, at=lease(task), start_to_close_s=start_to_close_s))
        return await self.hub.result(lease(task))


@asynccontextmanager
async def a_bench(folder: Path, sandbox: Sandbox) -> AsyncIterator[Bench]:
    """Start an agent with profile `work` in a sandbox."""
    async with HubStandIn() as hub:
        home = joined_home(folder / "home", hub)
        (folder / "granted").mkdir()
        write_policy(home.policy, Policy(profile=Profile.WORK, write=(str(folder / "granted"),)))
        async with started(home, hub, settings=Settings(lab=True), sandbox=sandbox):
            yield Bench(hub, folder)


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    async with a_bench(tmp_path, SANDBOX) as made:
        yield made


async def test_bombs_end_alone_and_the_agent_stays_connected(bench: Bench) -> None:
    for name, code in BOMBS.items():
        result = await bench.python(code, name)
        code_of_it = Code.MEMORY_EXCEEDED if name == "memory" else Code.EXIT_CODE
        assert (result.outcome, result.code) == (Outcome.ERROR, code_of_it), (name, result.detail)
    heard = len(bench.hub.of(Alive))
    await bench.hub.until(lambda: len(bench.hub.of(Alive)) > heard)
    assert (await bench.python("print(1)", "after")).outcome is Outcome.OK
    assert len(bench.hub.hellos) == 1


async def test_memory_above_the_limit_is_told_with_both_figures(bench: Bench) -> None:
    result = await bench.python("import mmap\nm = mmap.mmap(-1, 8 << 30)\nfor _ in range(8): m.write(bytes(1 << 30))")
    assert result.code is Code.MEMORY_EXCEEDED, result.detail
    assert re.search(r"was ended: it used \d+ MiB of memory; its limit is 2048 MiB$", result.detail), result.detail


async def test_address_space_may_be_reserved(bench: Bench) -> None:
    code = (
        "import mmap; kept = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000; "
        "a = mmap.mmap(-1, 64 << 30, flags=kept); b = mmap.mmap(-1, 64 << 30, flags=kept, prot=0)"
    )
    result = await bench.python(code)
    assert result.outcome is Outcome.OK, result.detail


async def test_it_reads_granted_folders_and_gives_its_value(bench: Bench) -> None:
    given = bench.folder / "granted" / "given"
    given.write_text("x")
    code = f"import json; json.dump([open({str(given)!r}).read()], open('result.json', 'w'))"
    result = await bench.python(code)
    assert result.outcome is Outcome.OK, result.detail
    assert json.loads(result.value or "")["value"] == ["x"]


async def test_what_would_change_a_granted_folder_is_told_the_way(bench: Bench) -> None:
    result = await bench.python(f"open({str(bench.folder / 'granted' / 'made')!r}, 'w')")
    assert (result.outcome, result.code) == (Outcome.ERROR, Code.EXIT_CODE)
    assert "leave files in out/, and have artifact.get or fs.write put them there" in (result.detail or "")


async def test_links_that_it_leaves_lead_nowhere(bench: Bench) -> None:
    secret = bench.folder / "secret.json"
    secret.write_text('"secret"')
    code = (
        f"import os; os.symlink({str(secret)!r}, 'result.json'); os.rmdir('out'); "
        f"os.symlink({str(bench.folder)!r}, 'out')"
    )
    result = await bench.python(code)
    found = json.loads(result.value or "")
    assert (found["value"], found["files"]) == (None, [])


async def test_a_file_it_plants_is_not_followed_by_the_agent(bench: Bench) -> None:
    victim = bench.folder / "victim"
    victim.write_text("safe")
    # A value above 16 KiB is written beside the program's directory before it is sent: nothing can be planted there.
    # The stand-in takes no artifacts, so the call ends when its time does.
    code = (
        f"import json, os; os.symlink({str(victim)!r}, 'value.json'); "
        "json.dump('x' * 20_000, open('result.json', 'w'))\n"
        f"try: os.symlink({str(victim)!r}, '../value.json')\nexcept OSError: pass\n"
    )
    result = await bench.python(code, start_to_close_s=2.0)
    assert result.outcome in (Outcome.ERROR, Outcome.TIMEOUT)
    assert victim.read_text() == "safe"


async def test_without_a_sandbox_it_is_offered_as_unavailable_and_refused(tmp_path: Path) -> None:
    async with a_bench(tmp_path, NOT_TRIED) as made:
        offers = await made.hub.until(lambda: made.hub.of(OfferFrame))
        (tool,) = [tool for tool in offers[0].offer.tools if tool.name == "python.run"]
        assert "starloom-agent grant python:unconfined" in (tool.unavailable or "")
        assert offers[0].offer.facts["sandbox"] == "L1"
        result = await made.python("print(1)")
        assert (result.outcome, result.code) == (Outcome.REFUSED, Code.TOOL_UNAVAILABLE)
