"""T141: a recording of somebody else steers no terminal, stops no run, and what is recorded is the owner's alone."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from starloom.cli.machine import bench
from starloom.cli.text.transcript_text import lines
from starloom.lab.nebula.planners import recording
from starloom.lab.nebula.planners.recording import RecordedCall, RecordingInvalid, Replay, read_recording
from starloom.lab.nebula.reports.report import Report
from starloom.lab.nebula.running import MODEL, Ran
from starloom.lab.nebula.scoring.score import Scored
from starloom.lab.nebula.task import chosen
from tests.cli.test_commands import StubHub, hub, starloom
from tests.guard.test_terminal_texts import STEERS

__all__ = ["hub"]

KEY = '{"stage": "planning", "prompt": [], "reply": "", "\\u001b[2J\\u202e": 1}'


def steering(text: str) -> list[str]:
    return [sign for sign in text if sign not in "\n\t" and not sign.isprintable()]


def told_of(ran: Ran, capsys: pytest.CaptureFixture[str]) -> str:
    """Return all that the suite prints of a run."""
    bench._print_report(Report("id", MODEL, "P0", [1], [ran], 1.0), compared=False)
    bench._say(ran.fault)
    said = capsys.readouterr()
    return said.out + said.err


def test_t141_no_text_of_a_recording_steers_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    replay = Replay([RecordedCall(stage="planning", prompt=[STEERS], reply="")])
    replay.reply("planning", [f"{STEERS} now"])
    file = tmp_path / "one.jsonl"
    file.write_text(KEY, encoding="utf-8")
    with pytest.raises(RecordingInvalid) as invalid:
        read_recording(file)
    (task,) = chosen(["18"])
    scored = Scored((("done", False, 1),))
    said = told_of(Ran(task, 1, "", scored, fault=str(invalid.value), differs=tuple(replay.differs)), capsys)
    assert "evil.example" in said
    assert not steering(said)


def test_t141_a_recording_is_a_file_of_a_bounded_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pipe, endless, large = tmp_path / "pipe", tmp_path / "endless", tmp_path / "large"
    os.mkfifo(pipe)
    endless.symlink_to("/dev/zero")
    monkeypatch.setattr(recording, "BYTES_MOST", 10)
    large.write_bytes(b" " * 11)
    for file, why in ((pipe, "is no file"), (endless, "is no file"), (large, "more than 10 bytes")):
        with pytest.raises(RecordingInvalid, match=why):
            read_recording(file)


def test_t141_a_transcript_names_a_model_without_steering_the_terminal() -> None:
    found: Any = {"calls": [{"call": {"model": STEERS, "stage": STEERS}, "prompt_text": None, "reply_text": None}]}
    said = "\n".join(lines("c-1", found))
    assert "evil.example" in said
    assert not steering(said)


def test_t141_a_saved_transcript_is_for_its_owner_and_follows_no_link(hub: StubHub, tmp_path: Path) -> None:
    hub.answers["GET", "/constellations/c-1/transcript"] = (200, {"calls": []})
    file, link, target = tmp_path / "kept", tmp_path / "link", tmp_path / "target"
    code, said = starloom(hub, "transcript", "c-1", "--save", str(file))
    assert code == 0, said
    assert file.stat().st_mode & 0o777 == 0o600
    link.symlink_to(target)
    code, said = starloom(hub, "transcript", "c-1", "--save", str(link))
    assert (code, target.exists()) == (2, False), said
