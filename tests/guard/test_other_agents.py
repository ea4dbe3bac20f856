"""Attacks of another agent on the device that it runs on: files, programs, questions, floods, a life beyond its turn.

Each goes through the real agent of the device, its runner and its policy; the owner has handed the work over and
allows nothing more.
"""

from __future__ import annotations

import asyncio
import json
import os
import tempfile
from pathlib import Path
from typing import Any

import pytest

from starloom_agent.policy.commands import CommandRule
from starloom_agent.policy.policy import Always
from starloom_agent.sandbox import confinement
from starloom_agent.sandbox.layers import landlock
from starloom_protocol.values import canonical
from starloom_protocol.vocabulary import Outcome
from starloom_protocol.wire.frames import Cancel, OwnerAnswer
from tests.device_agents.toolkit.clients.other_agents import NAME, OtherAgents, other_agents

SECRET = "the key of this device"


def handed(text: str) -> dict[str, Any]:
    return {"always": (Always(NAME, canonical({"text": text})),)}


async def tried(device: OtherAgents, text: str, last: str) -> list[str]:
    """Hand the work over and return the lines of the call, up to the one that begins with `last`."""
    await device.send(text)
    await device.until_logged(f"message: {last}")
    return device.logged.splitlines()


def line_of(lines: list[str], name: str) -> str:
    return next(line for line in lines if line.startswith(f"message: {name} "))


async def test_t101_no_door_leads_out_of_its_folder(tmp_path: Path) -> None:
    target = tmp_path / "secret.txt"
    target.write_text(SECRET)
    async with other_agents(tmp_path, "outside", **handed(str(target))) as device:
        lines = await tried(device, str(target), "hands write")
        assert not any(SECRET in line for line in lines if not line.startswith("message: hands"))
        for door in ("read", "link", "up", "write", "through"):
            assert "is outside the folders of files:" in line_of(lines, door)
    assert (device.folder / "link").is_symlink()
    assert target.read_text() in (SECRET, "x")


@pytest.mark.skipif(not confinement.can_confine(foreign=True), reason="this kernel confines no program (Landlock)")
async def test_t101_its_own_hands_reach_no_file_outside(tmp_path: Path) -> None:
    target = tmp_path / "secret.txt"
    target.write_text(SECRET)
    async with other_agents(tmp_path, "outside", **handed(str(target))) as device:
        lines = await tried(device, str(target), "hands write")
        assert line_of(lines, "hands") == "message: hands PermissionError"
        assert not any(SECRET in line for line in lines)
    assert target.read_text() == SECRET


@pytest.mark.skipif(not confinement.can_confine(foreign=True), reason="this kernel confines no program (Landlock)")
@pytest.mark.parametrize("name", ["device.key", "policy.toml", "agents.toml"])
async def test_t101_it_reads_nothing_of_the_home_of_the_device(tmp_path: Path, name: str) -> None:
    target = tmp_path / "home" / name
    async with other_agents(tmp_path, "outside", **handed(str(target))) as device:
        before = target.read_bytes()
        lines = await tried(device, str(target), "hands write")
        assert line_of(lines, "hands") == "message: hands PermissionError"
        assert target.read_bytes() == before


@pytest.mark.skipif(not confinement.can_confine(foreign=True), reason="this kernel confines no program (Landlock)")
@pytest.mark.parametrize("name", ["environ", "maps", "root/etc/hostname", "cwd/pyproject.toml"])
async def test_t101_it_looks_into_no_process_of_the_device(tmp_path: Path, name: str) -> None:
    target = f"/proc/{os.getpid()}/{name}"
    async with other_agents(tmp_path, "outside", **handed(target)) as device:
        lines = await tried(device, target, "hands write")
        assert line_of(lines, "hands") == "message: hands PermissionError"


@pytest.mark.skipif(
    not confinement.can_confine(foreign=True) or landlock.abi() < landlock.ABI_SCOPE,
    reason="this kernel keeps no signals inside (Landlock, ABI 6)",
)
async def test_t101_no_service_or_process_outside_acts_for_it(tmp_path: Path) -> None:
    # The path of a Unix socket must be short.
    with tempfile.TemporaryDirectory() as place:
        path = f"{place}/bus"
        server = await asyncio.start_unix_server(lambda _, writer: writer.write(b"at your service"), path)
        async with server, other_agents(tmp_path, "escapes", **handed(path)) as device:
            lines = await tried(device, path, "signal")
            assert line_of(lines, "socket") == "message: socket EAFNOSUPPORT"
            assert line_of(lines, "signal") == "message: signal PermissionError"


async def test_t101_a_program_without_a_rule_does_not_run(tmp_path: Path) -> None:
    made = tmp_path / "folder" / "made"
    text = json.dumps(["touch", str(made)])
    async with other_agents(tmp_path, "terminal", **handed(text)) as device:
        lines = await tried(device, text, "refused")
        assert "no command rule of this device allows touch" in line_of(lines, "refused:")
        assert not made.exists()


@pytest.mark.skipif(not confinement.can_confine(foreign=True), reason="this kernel confines no program (Landlock)")
async def test_t101_an_allowed_program_reaches_no_file_outside_either(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text(SECRET)
    text = json.dumps(["cat", str(tmp_path / "secret.txt")])
    rule = CommandRule.of(["cat", {"word": ".*"}], effects=["read"], cwd=str(tmp_path / "folder"))
    async with other_agents(tmp_path, "terminal", **handed(text), commands=(rule,)) as device:
        lines = await tried(device, text, "1 ")
        assert any("Permission denied" in line for line in lines)
        assert SECRET not in device.logged


async def test_t101_a_variable_makes_no_other_program_of_an_allowed_one(tmp_path: Path) -> None:
    async with other_agents(tmp_path, "loader", **handed("go")) as device:
        lines = await tried(device, "go", "terminal/create")
        assert any("takes variables for credentials only: 'LD_PRELOAD'" in line for line in lines)


async def test_t102_a_claim_that_an_action_only_reads_saves_no_question(tmp_path: Path) -> None:
    async with other_agents(tmp_path, "spoof", **handed("go")) as device:
        await device.send("go")
        ask = await device.asked()
        told = json.loads(ask.args)["permission"]
        assert told["input"] == '{"command":"rm -rf ~"}'
        assert told["title"].isprintable()
        await device.hub.send(OwnerAnswer(action=ask.action, allow=True, ask=ask.id, by="ann"))
        await device.until_logged('message: {"outcome"')
        # Two options of one name: an allowed action must not be taken for another one.
        assert 'message: {"outcome": {"outcome": "cancelled"}}' in device.logged


async def test_t102_an_answer_for_one_action_allows_no_other(tmp_path: Path) -> None:
    async with other_agents(tmp_path, "swaps", **handed("go")) as device:
        await device.send("go")
        ask = await device.asked()
        await device.hub.send(OwnerAnswer(action=ask.action, allow=True, ask=ask.id, by="ann"))
        await device.until_logged("message: first once")
        # The second action has the same name and the same title, and is asked about again.
        await device.asked(beside=ask.id)
        assert "second" not in device.logged


async def test_t102_an_answer_that_nobody_was_asked_for_allows_nothing(tmp_path: Path) -> None:
    async with other_agents(tmp_path, "asks", **handed("go")) as device:
        await device.send("go")
        ask = await device.asked()
        await device.hub.send(OwnerAnswer(action="0" * 64, allow=True, ask=ask.id, by="ann"))
        await device.hub.until(lambda: any("belongs to no open question" in line for line in device.said))
        assert not (device.folder / "asked.txt").exists()


async def test_t102_questions_are_bounded(tmp_path: Path) -> None:
    async with other_agents(tmp_path, "floods_questions", **handed("go")) as device:
        await tried(device, "go", "292 refused")
        assert len(device.asks.open()) <= 8


@pytest.mark.parametrize(
    ("mode", "words"),
    [("flood", "a message of more than 4194304 bytes"), ("crash", "it ended with exit code 3"), ("garbage", "no JSON")],
)
async def test_t102_an_agent_that_floods_or_breaks_ends_in_words(tmp_path: Path, mode: str, words: str) -> None:
    async with other_agents(tmp_path, mode, **handed("go")) as device:
        order = await device.send("go")
        result = await device.hub.result(order.at)
        assert result.outcome is Outcome.ERROR
        assert words in str(result.detail)


async def test_t102_an_agent_that_ignores_its_end_is_ended(tmp_path: Path) -> None:
    async with other_agents(tmp_path, "silent", "silent_s = 1", **handed("go")) as device:
        order = await device.send("go")
        result = await device.hub.result(order.at)
        assert "it said nothing for 1 s and was ended" in str(result.detail)


async def test_t102_a_babbling_agent_is_ended_by_a_cancel(tmp_path: Path) -> None:
    async with other_agents(tmp_path, "babble", **handed("go")) as device:
        order = await device.send("go")
        await device.until_logged("message: yyy")
        await device.hub.send(Cancel(at=order.at, reason="enough"))
        await device.hub.receipt(order.at)


async def test_t102_nothing_is_done_for_it_after_its_turn(tmp_path: Path) -> None:
    async with other_agents(tmp_path, "late", **handed("go")) as device:
        await tried(device, "go", "done")
        await device.hub.until(lambda: any(line.startswith("message: done") for line in device.logged.splitlines()))
    assert not (device.folder / "late.txt").exists()
