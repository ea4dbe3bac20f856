"""T274: what an owner takes back ends the calls that were given it; all other work goes on."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from starloom_agent.policy.commands import CommandRule
from starloom_agent.policy.file import read_policy, write_policy
from starloom_agent.policy.policy import Policy
from starloom_protocol.vocabulary import TAKEN_BACK, Code, Outcome, Profile
from starloom_protocol.wire.frames import AsksFrame, OwnerAnswer
from tests.device_agents.stand_in import dispatch, lease
from tests.device_agents.work.conftest import Bench, bench, shell

__all__ = ["bench"]
EVERYTHING = CommandRule.of(["sh", "-c", {"word": "(?s).*"}], effects=["read", "write"])
WAITS = "while [ ! -e {} ]; do sleep 0.02; done"


def another(tmp_path: Path) -> Path:
    made = tmp_path / "another"
    made.mkdir()
    return made


def folder_of(bench: Bench) -> Path:
    return Path(read_policy(bench.home.policy).read[0])


async def test_t274_a_command_ends_with_its_rule(bench: Bench) -> None:
    bench.start()
    await bench.hub.connected()
    order = dispatch("shell.run", shell("sleep 300"))
    await bench.hub.send(order)
    await bench.hub.started(order.at)
    write_policy(bench.home.policy, replace(read_policy(bench.home.policy), commands=()))
    result = await bench.hub.result(order.at)
    assert (result.outcome, result.detail) == (Outcome.INTERRUPTED, f"shell.run was ended: {TAKEN_BACK}")


async def test_t274_a_file_is_read_no_further_than_its_folder_is_allowed(bench: Bench) -> None:
    bench.start()
    await bench.hub.connected()
    large = folder_of(bench) / "large"
    large.touch()
    os.truncate(large, 2**40)  # it has no blocks, and reading it takes an hour
    order = dispatch("fs.hash", msgspec.json.encode({"paths": [str(large)]}).decode(), repeatability="pure")
    await bench.hub.send(order)
    await bench.hub.started(order.at)
    write_policy(bench.home.policy, Policy(profile=Profile.OPERATE, commands=(EVERYTHING,)))
    result = await bench.hub.result(order.at)
    assert (result.outcome, result.detail) == (Outcome.INTERRUPTED, f"fs.hash was ended: {TAKEN_BACK}")


@pytest.mark.parametrize("change", ["more", "other", "edited"])
async def test_t274_work_that_lost_nothing_goes_on(bench: Bench, change: str, tmp_path: Path) -> None:
    bench.start()
    await bench.hub.connected()
    go = tmp_path / "go"
    order = dispatch("shell.run", shell(WAITS.format(go)))
    await bench.hub.send(order)
    await bench.hub.started(order.at)
    policy = read_policy(bench.home.policy)
    if change == "edited":
        bench.home.policy.write_text(bench.home.policy.read_text() + "# a folder that is to come\n")
    else:
        more = (*policy.read, str(another(tmp_path)))
        folders: dict[str, Any] = {"read": more} if change == "more" else {"read": (), "write": ()}
        write_policy(bench.home.policy, replace(policy, **folders))
    await bench.until_said("the policy changed")
    go.touch()
    assert (await bench.hub.result(order.at)).outcome is Outcome.OK


async def test_t274_an_answer_that_was_given_stays(bench: Bench, tmp_path: Path) -> None:
    asks = CommandRule.of(["sh", "-c", {"word": "(?s).*"}])
    write_policy(bench.home.policy, Policy(profile=Profile.OPERATE, commands=(asks,), answers="hub"))
    bench.start()
    await bench.hub.connected()
    go = tmp_path / "go"
    await bench.hub.send(dispatch("shell.run", shell(WAITS.format(go))))
    assert (await bench.hub.result(lease())).code is Code.NEEDS_APPROVAL
    asked = await bench.hub.until(lambda: next((one for one in bench.hub.of(AsksFrame) if one.open), None))
    (ask,) = asked.open
    await bench.hub.send(OwnerAnswer(action=ask.action, allow=True, ask=ask.id, by="person:ann"))
    order = dispatch("shell.run", shell(WAITS.format(go)), at=lease(attempt=2))
    await bench.until_said("person:ann answered allow")
    await bench.hub.send(order)
    await bench.hub.started(order.at)
    write_policy(bench.home.policy, Policy(profile=Profile.OPERATE, commands=(asks,), read=(str(another(tmp_path)),)))
    await bench.until_said("the policy changed")
    go.touch()
    assert (await bench.hub.result(order.at)).outcome is Outcome.OK
