"""Recordings of a live model: what is kept, what is masked, and the replies in their order."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from starloom.cli.commands import build
from starloom.lab.nebula.planners.recording import RecordedCall, RecordingInvalid, Replay, read_recording, record
from starloom.lab.nebula.planners.script import Said
from starloom.lab.nebula.planners.world_words import WorldWords
from starloom.planner.model.answers import Stage
from starloom.planner.model.port import Reply, Turn
from starloom.planner.model.transport.recorded import prompt_text, reply_text

pytestmark = pytest.mark.quick
KEY = "sk-" + "a1" * 20


def kept(stage: Stage, words: str, said: str, **more: Any) -> Any:
    turns = [Turn("starloom", words)]
    texts = {"prompt_text": prompt_text("The rules.", turns, stage), "reply_text": reply_text(Reply(said))}
    return {"call": {"stage": str(stage), "model": "m"}, **texts, **more}


def test_a_recording_keeps_prompts_and_replies_and_masks_keys(tmp_path: Path) -> None:
    rows = [kept(Stage.PLANNING, f"use {KEY}", f"it is {KEY}"), kept(Stage.ANSWERING, "how many", "é")]
    file = tmp_path / "new" / "one.jsonl"
    assert record({"calls": [*rows, kept(Stage.JUDGING, "", "", reply_text=None)]}, file) == 1
    assert KEY not in file.read_text()
    first, second = read_recording(file).calls
    assert (first.stage, first.prompt[0]) == ("planning", "The rules.")
    assert second == RecordedCall(stage="answering", prompt=["The rules.", "how many"], reply="é", model="m")


def call(stage: str, words: str, reply: str) -> RecordedCall:
    return RecordedCall(stage=stage, prompt=["The rules.", words], reply=reply)


def test_a_reply_is_found_by_its_prompt_and_else_by_its_stage_and_turn() -> None:
    replay = Replay([call("working", "of a", "1"), call("working", "of b", "2"), call("answering", "all", "3")])
    assert replay.reply("working", ["The rules.", "of b"]) == Said("2")
    assert replay.reply("answering", ["The rules.", "all of them"]) == Said("3")
    assert replay.differs == ['call 2 (answering): line 2 is now "all of them", not "all"']
    assert replay.reply("answering", []).faults == ("call 3 (answering) is not in the recording",)
    assert replay.left() == ["working"]


def test_a_difference_far_in_a_long_line_is_shown() -> None:
    replay = Replay([call("planning", "a" * 500 + "x" + "b" * 500, "1")])
    replay.reply("planning", ["The rules.", "a" * 500 + "y" + "b" * 500])
    (said,) = replay.differs
    assert "ay" in said
    assert "ax" in said
    assert len(said) < 400


ONE = WorldWords({"today": "2026-11-27", "site.srv-a": "http://127.0.0.1:4100", "device.desk": "d-" + "a" * 26})
OTHER = WorldWords({"today": "2027-01-02", "site.srv-a": "http://127.0.0.1:5999", "device.desk": "d-" + "b" * 26})


def said_of(day: str, site: str, device: str) -> list[str]:
    asked = json.dumps({"request": f"Read {site}/a.html of {day}"})
    rows = [{"state": "succeeded", "task": f"page.{device}", "tool": "http.request", "age_s": len(site), "head": day}]
    rows.append({"state": "succeeded", "task": "list", "tool": "fs.list", "age_s": 1, "head": device})
    lines = [json.dumps(row) for row in (rows if day.startswith("2026") else rows[::-1])]
    return ["credentials: see 'variables'.", asked, *lines, json.dumps({"sentence": f"done on {device}"})]


def test_a_reply_fits_the_next_world_and_its_prompt_does_not_differ(tmp_path: Path) -> None:
    first = said_of("2026-11-27", "http://127.0.0.1:4100", "d-" + "a" * 26)
    file = tmp_path / "one.jsonl"
    record({"calls": [kept(Stage.PLANNING, "\n".join(first), "see http://127.0.0.1:4100/a on 2026-11-27")]}, file, ONE)
    assert "4100" not in file.read_text()
    replay = read_recording(file, OTHER)
    now = said_of("2027-01-02", "http://127.0.0.1:5999", "d-" + "b" * 26)
    assert replay.reply("planning", ["The rules.", "\n".join(now)]) == Said("see http://127.0.0.1:5999/a on 2027-01-02")
    assert (replay.differs, replay.said) == ([], 1)


@pytest.mark.parametrize(
    ("was", "is_now"),
    [
        ("credentials: see 'variables'.", "credentials: see below."),
        ("Read @{site.srv-a}/a.html", "Read @{site.srv-a}/b.html"),
        ('"tool": "fs.list"', '"tool": "fs.find"'),
        ('"state": "succeeded", "task": "list"', '"state": "failed", "task": "list"'),
        ('"age_s": 1, ', ""),
    ],
    ids=["rule", "request", "tool", "state", "field"],
)
def test_a_prompt_of_another_product_differs(was: str, is_now: str) -> None:
    same = ONE.named("\n".join(said_of("2026-11-27", "http://127.0.0.1:4100", "d-" + "a" * 26)))
    assert was in same
    replay = Replay([RecordedCall(stage="planning", prompt=["The rules.", same], reply="1")], ONE)
    replay.reply("planning", ["The rules.", same.replace(was, is_now)])
    (said,) = replay.differs
    assert said.startswith("call 1 (planning): line ")


@pytest.mark.parametrize("text", ["{", '{"stage": "planning"}', json.dumps({"stage": 1, "prompt": [], "reply": ""})])
def test_a_file_that_is_no_recording_is_named_with_its_line(tmp_path: Path, text: str) -> None:
    file = tmp_path / "one.jsonl"
    file.write_text(text)
    with pytest.raises(RecordingInvalid, match=r"one\.jsonl, line 1 is no recorded call"):
        read_recording(file)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--record", "new"], "--record needs --planner model"),
        (["--planner", "script", "--replay", "."], "--replay needs --planner model"),
        (["--planner", "model", "--record", "new", "--replay", "."], "--record and --replay are two runs"),
        (["--planner", "model", "--record", "."], ". is not an empty folder"),
        (["--planner", "model", "--replay", "nowhere"], "there is no folder nowhere"),
        (["--planner", "model", "--accept-prompts"], "--accept-prompts needs --replay"),
    ],
)
def test_wrong_words_about_recordings_start_nothing(words: list[str], said: str) -> None:
    ended = CliRunner().invoke(build(), ["bench", "nebula", "run", "18", *words])
    assert ended.exit_code == 2
    assert said in ended.output
