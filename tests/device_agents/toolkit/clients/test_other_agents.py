"""Work for another agent of the device, from the dispatch to its end: the owner's answers, cancel, policy, ledger."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from starloom_agent.cli import main
from starloom_agent.platforms import processes
from starloom_agent.policy.policy import Always
from starloom_agent.work.ledger import Ledger
from starloom_protocol.records.approvals import OwnerAsk
from starloom_protocol.values import canonical
from starloom_protocol.vocabulary import Code, EffectSeen, Outcome
from starloom_protocol.wire.frames import AsksFrame, Cancel, OwnerAnswer
from tests.device_agents.stand_in import lease
from tests.device_agents.toolkit.clients.other_agents import NAME, OtherAgents, other_agents

pytestmark = pytest.mark.short


def every_call(text: str) -> tuple[Always, ...]:
    """The owner's consent to hand this work over; nothing of it allows a question of the agent."""
    return (Always(NAME, canonical({"text": text})),)


async def answer(device: OtherAgents, ask: OwnerAsk, *, allow: bool) -> None:
    await device.hub.send(OwnerAnswer(action=ask.action, allow=allow, ask=ask.id, by="ann", reason="ask me first"))


async def test_work_is_handed_over_only_after_the_owner_agreed(tmp_path: Path) -> None:
    async with other_agents(tmp_path, "well") as device:
        order = await device.send("write it")
        result = await device.hub.result(order.at)
        assert (result.outcome, result.code) == (Outcome.REFUSED, Code.NEEDS_APPROVAL)
        ask = await device.asked()
        assert (ask.tool, ask.args) == (NAME, '{"text":"write it"}')
        await answer(device, ask, allow=True)
        await device.hub.until(lambda: not device.hub.of(AsksFrame)[-1].open)
        await device.send("write it", at=lease(attempt=2))
        await device.until_logged("The note is there")
        assert (device.folder / "note.txt").read_text() == "write it\n"


async def test_a_question_of_a_running_agent_is_answered_at_the_hub(tmp_path: Path) -> None:
    async with other_agents(tmp_path, "asks", always=every_call("go")) as device:
        await device.send("go")
        ask = await device.asked()
        told = json.loads(ask.args)["permission"]
        assert (ask.task, ask.tool, told["kind"], told["title"]) == ("t", NAME, "edit", "Write asked.txt")
        assert not (device.folder / "asked.txt").exists()
        await answer(device, ask, allow=True)
        await device.until_logged("chosen once")
        await device.hub.until((device.folder / "asked.txt").exists)
        assert "allowed: ann approved it at the hub" in device.logged
        await device.hub.until(lambda: not device.hub.of(AsksFrame)[-1].open)


async def test_a_question_of_a_running_agent_is_answered_on_the_device(tmp_path: Path) -> None:
    async with other_agents(tmp_path, "asks", always=every_call("go")) as device:
        await device.send("go")
        ask = await device.asked()
        device.asks.answer(ask.id, "deny", "not today")
        await device.until_logged("chosen no")
        assert not (device.folder / "asked.txt").exists()
        assert "refused: its owner denied it here: not today" in device.logged


async def test_a_question_goes_with_its_call(tmp_path: Path) -> None:
    async with other_agents(tmp_path, "asks", always=every_call("go")) as device:
        order = await device.send("go")
        await device.asked()
        await device.hub.send(Cancel(at=order.at, reason="enough"))
        receipt = await device.hub.receipt(order.at)
        assert receipt.effect is EffectSeen.MAYBE
        assert device.asks.all() == []
        await device.hub.until(lambda: not device.hub.of(AsksFrame)[-1].open)


async def test_an_action_that_the_owner_allowed_for_good_does_not_ask(tmp_path: Path) -> None:
    async with other_agents(tmp_path, "asks", always=every_call("go")) as device:
        await device.send("go")
        ask = await device.asked()
        assert main(["approve", ask.id, "--always", "--home", str(device.home.root)]) == 0
        await device.until_logged("chosen once")
        await device.send("go", at=lease("u"))
        await device.until_logged("its owner has allowed just this for good")


@pytest.mark.parametrize(("argv", "words"), [(["echo", "hello"], "0 hello"), (["id"], "no command rule")])
async def test_programs_run_as_far_as_command_rules_allow(tmp_path: Path, argv: list[str], words: str) -> None:
    text = json.dumps(argv)
    async with other_agents(tmp_path, "terminal", always=every_call(text)) as device:
        await device.send(text)
        await device.until_logged(words)
        assert device.asks.all() == []


async def test_a_cancel_ends_the_agent_and_all_that_it_started(tmp_path: Path) -> None:
    async with other_agents(tmp_path, "spawns", always=every_call("go")) as device:
        order = await device.send("go")
        found: Any = await device.hub.until(lambda: re.search(r"child (\d+)", device.logged))
        child = int(found[1])
        assert processes.start_mark(child)
        await device.hub.send(Cancel(at=order.at, reason="enough"))
        await device.hub.receipt(order.at)
        # The receipt is sent only when no process of the call is left.
        assert processes.start_mark(child) is None


async def test_every_decision_of_a_running_call_stands_in_the_policy_log(tmp_path: Path) -> None:
    text = '["id"]'
    async with other_agents(tmp_path, "terminal", always=every_call(text)) as device:
        await device.send(text)
        await device.until_logged("refused: no command rule")
    shown = [row for row in _decisions(device) if row[0] == "shell.run"]
    assert shown == [("shell.run", False)]


def _decisions(device: OtherAgents) -> list[tuple[str, bool]]:
    ledger = Ledger(device.home.ledger)
    try:
        return [(row.tool, row.allowed) for row in ledger.decisions(20)]
    finally:
        ledger.close()
