"""Recordings of a live model: what is kept, what is masked, and the replies in their order."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from typer.testing import CliRunner

from starloom.lab.nebula.planners.key_masking import KeyMask
from starloom.lab.nebula.planners.recording import (
    RecordedCall,
    RecordingInvalid,
    RecordingRefused,
    Replay,
    read_recording,
    record,
)
from starloom.lab.nebula.planners.script import ScriptReply
from starloom.lab.nebula.planners.world_words import WorldWords
from starloom.planner.model.answers import Stage
from starloom.planner.model.port import Reply, Turn
from starloom.planner.model.transport.recorded import prompt_text, reply_text
from tests.programs import command_line

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


OWN = "aB3~secretKey/with+signs_90"
"""A key that no pattern knows."""


def in_parts(text: str, size: int) -> str:
    return "\n".join(text[at : at + size] for at in range(0, len(text), size))


PLANTED = {
    "url": f"https://models.example.org/v1?key={OWN}",
    "quoted url": f"GET /v1/{quote(OWN, safe='')}/chat",
    "header": f"x-api-key: {OWN}\nauthorization: Bearer {OWN}",
    "body": json.dumps({"model": "m", "extra": json.dumps({"k": OWN})}),
    "error text": f"401: Incorrect API key provided: {OWN}.",
    "error in capitals": f"KEY {OWN.upper()} IS NOT KNOWN",
    "base64": base64.b64encode(OWN.encode()).decode(),
    "base64 with a name": base64.b64encode(f"user:{OWN}".encode()).decode(),
    "base64 for urls": base64.urlsafe_b64encode(f"ab{OWN}c".encode()).decode(),
    "hex": OWN.encode().hex(),
}


@pytest.mark.parametrize("where", PLANTED)
@pytest.mark.parametrize("place", ["prompt", "reply", "model"])
def test_the_models_own_key_is_masked_wherever_it_stands(tmp_path: Path, where: str, place: str) -> None:
    text = f"before {PLANTED[where]} after"
    row = kept(Stage.PLANNING, text if place == "prompt" else "x", text if place == "reply" else "y")
    if place == "model":
        row["call"]["model"] = text
    file = tmp_path / "one.jsonl"
    record({"calls": [row]}, file, keys=KeyMask([OWN]))
    (made,) = read_recording(file).calls
    found = {"prompt": made.prompt[1], "reply": made.reply, "model": made.model}[place]
    assert "***" in found
    assert found.startswith("before ")
    assert found.endswith(" after")
    assert KeyMask([OWN]).left_in(file.read_text()) == ""
    assert OWN[:12] not in file.read_text()


@pytest.mark.parametrize(
    ("text", "how"),
    [
        (in_parts(OWN, 7), "in parts"),
        (in_parts(base64.b64encode(OWN.encode()).decode(), 10), "in parts, as base64"),
        (base64.b64encode(base64.b64encode(OWN.encode())).decode(), "as base64, as base64"),
        ("".join(f"%{ord(sign):02x}" for sign in OWN), "in a URL"),
        ("".join(f"&#{ord(sign)};" for sign in OWN), "in HTML"),
        (OWN[::-1], "as it is"),
    ],
)
def test_a_recording_that_would_still_hold_the_key_is_refused(tmp_path: Path, text: str, how: str) -> None:
    file = tmp_path / "one.jsonl"
    rows = [kept(Stage.PLANNING, "x", "y"), kept(Stage.ANSWERING, f"it is {text}.", "y")]
    with pytest.raises(RecordingRefused, match=rf"^call 2 \(answering\) still holds the key of the model {how}$"):
        record({"calls": rows}, file, keys=KeyMask([OWN]))
    assert not file.exists()


def test_a_prompt_with_a_masked_part_is_the_recorded_one(tmp_path: Path) -> None:
    file = tmp_path / "one.jsonl"
    record({"calls": [kept(Stage.PLANNING, f"ask {OWN} now", "y")]}, file, keys=KeyMask([OWN]))
    replay = read_recording(file)
    replay.reply("planning", ["The rules.", f"ask {OWN} now"])
    assert replay.differs == []


def test_a_key_of_a_few_signs_cannot_be_masked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "key").touch(mode=0o600)
    (tmp_path / "key").write_text("abc")
    monkeypatch.setenv("STARLOOM_HOME", str(tmp_path))
    monkeypatch.setenv("STARLOOM_LLM_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("STARLOOM_LLM_MODEL", "small")
    monkeypatch.setenv("STARLOOM_LLM_KEY_FILE", str(tmp_path / "key"))
    words = ["bench", "nebula", "run", "18", "--planner", "model", "--record", str(tmp_path / "new")]
    ended = CliRunner().invoke(command_line(), words)
    assert ended.exit_code == 2
    assert "--record: a key of fewer than 4 characters cannot be masked" in ended.output


def call(stage: str, words: str, reply: str) -> RecordedCall:
    return RecordedCall(stage=stage, prompt=["The rules.", words], reply=reply)


def test_a_reply_is_found_by_its_prompt_and_else_by_its_stage_and_turn() -> None:
    replay = Replay([call("working", "of a", "1"), call("working", "of b", "2"), call("answering", "all", "3")])
    assert replay.reply("working", ["The rules.", "of b"]) == ScriptReply("2")
    assert replay.reply("answering", ["The rules.", "all of them"]) == ScriptReply("3")
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
    assert replay.reply("planning", ["The rules.", "\n".join(now)]) == ScriptReply(
        "see http://127.0.0.1:5999/a on 2027-01-02"
    )
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
