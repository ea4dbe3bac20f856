"""T298: a tool reads no file that its declaration leaves out: not for an edit, not once its folder is taken back."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace as replace_struct

from starloom.core.rights.edit_scope import wider_than_approved
from starloom_agent.home.directory import AgentHome
from starloom_agent.policy.allowance import Allowance
from starloom_agent.policy.file import read_policy, write_policy
from starloom_agent.sandbox.levels import NOT_TRIED
from starloom_agent.work.calls.judging import spec_of
from starloom_agent.work.registry import all_tools
from starloom_protocol.records.entities import Selector, ToolOffer
from starloom_protocol.records.specs import FileOut
from starloom_protocol.values import canonical
from starloom_protocol.vocabulary import TAKEN_BACK, Outcome
from tests.builders import TOOLS, Driver, plan, task
from tests.device_agents.stand_in import dispatch
from tests.device_agents.work.conftest import Bench, bench

__all__ = ["bench"]
REAL = {tool.name: tool for tool in all_tools()}


def offer(name: str) -> ToolOffer:
    return ToolOffer(name=name, repeatability=REAL[name].repeatability, effects=list(REAL[name].effects))


@pytest.mark.parametrize("tool", ["image.check", "image.info", "image.resize"])
def test_t298_an_edit_reads_no_picture_on_a_device_that_only_computes(tool: str) -> None:
    driver = Driver()
    driver.add_device("web", tools=[*TOOLS, offer("data.sort"), offer(tool)])
    sort = task("sort", tool="data.sort", args=canonical({"by": "name", "rows": []}))
    driver.submit(plan(sort))
    found = driver.shard.constellations["c1"]
    passport = canonical({"files": [{"path": "passport.png"}]})
    found.specs["read"] = task("read", tool=tool, args=passport, device=Selector(name="web"))
    assert wider_than_approved(driver.shard.fleet, found, {"sort": sort}, {}) == ["read would read on web"]


@pytest.mark.parametrize("name", sorted(REAL))
def test_t298_a_tool_without_effects_has_no_folder(name: str, tmp_path: Path) -> None:
    home, tool = AgentHome.at(str(tmp_path / "home")), REAL[name]
    home.make()
    allowance = Allowance(home, [tool], NOT_TRIED, slots=1, say=print)
    order = dispatch(name, "{}")
    spec = spec_of(
        allowance, order, tool, module="", fence_at=None, workdir=tmp_path, connection_file=tmp_path / "connection"
    )
    assert bool(spec.read) is bool(spec.write) is bool(tool.effects)
    written = replace_struct(order, files_out=[FileOut(output="/index", to="index.html")])
    spec = spec_of(
        allowance, written, tool, module="", fence_at=None, workdir=tmp_path, connection_file=tmp_path / "connection"
    )
    assert (bool(spec.read), bool(spec.write)) == (bool(tool.effects), True)


async def test_t298_a_folder_taken_back_ends_a_call_that_needs_no_grant(bench: Bench) -> None:
    bench.start()
    await bench.hub.connected()
    policy = read_policy(bench.home.policy)
    waits = {"what": "file", "path": f"{policy.read[0]}/never", "within_s": 600, "every_s": 1}
    order = dispatch("wait.until", msgspec.json.encode(waits).decode(), repeatability="pure")
    await bench.hub.send(order)
    await bench.hub.started(order.at)
    write_policy(bench.home.policy, replace(policy, read=(), write=()))
    result = await bench.hub.result(order.at)
    # On a busy machine the folder is taken back before the process of the call has begun.
    assert result.outcome in (Outcome.INTERRUPTED, Outcome.NEVER_STARTED)
    assert result.detail == f"wait.until was ended: {TAKEN_BACK}"
