"""Recordings of a live model: each prompt and reply of a run kept in a file, and a model that says the replies again.

A file is `TASK.PROFILE.sSEED.jsonl` in the folder of `--record`, one line a call in the order of time, secrets masked.
A new world has another day, other ports and other ids, so that no prompt is the same twice: a reply is found by its
stage and its turn, and the report names the first line in which a prompt differs.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import msgspec

from starloom.client.answers import TranscriptJson
from starloom.lab.nebula.planners.script import Said
from starloom.planner.context.cards import scrubbed
from starloom_protocol.values import parse

OWN_FILE_MODE: Final = 0o600
LINE_CHARS: Final = 120
BYTES_MOST: Final = 64 * 1024 * 1024
"""A run of a model has at most some hundred calls of some ten thousand bytes each."""


class RecordingInvalid(Exception):
    """A file is no recording, or there is none: says which and why."""


class RecordedCall(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One call: the texts of its prompt, the instructions first, and its reply byte for byte."""

    stage: str
    prompt: list[str]
    reply: str
    cut: bool = False
    refused: bool = False
    model: str = ""


def file_of(task: str, profile: str, seed: int) -> str:
    """Return the name of a task's recording."""
    return f"{task}.{profile}.s{seed}.jsonl"


def record(found: TranscriptJson, file: Path) -> int:
    """Write the calls of a run, and return how many have no text that could be kept."""
    lines, lost = [], 0
    for item in found["calls"]:
        prompt, reply = item.get("prompt_text"), item.get("reply_text")
        if prompt is None or reply is None:
            lost += 1
            continue
        asked, said = scrubbed(parse(prompt)), parse(reply)
        call = RecordedCall(
            stage=item["call"]["stage"],
            prompt=[asked["instructions"], *(turn["text"] for turn in asked["turns"])],
            reply=scrubbed(said["text"]),
            cut=said["cut"],
            refused=said["refused"],
            model=item["call"].get("model", ""),
        )
        lines.append(msgspec.json.encode(call) + b"\n")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.touch(mode=OWN_FILE_MODE)
    file.write_bytes(b"".join(lines))
    return lost


def read_recording(file: Path) -> Replay:
    """Return a recording to say again.

    Raises:
        RecordingInvalid: there is none, it is no file or too large, or a line is no call.
    """
    lines = _bytes_of(file).splitlines()
    calls = []
    for number, line in enumerate(lines, start=1):
        try:
            calls.append(msgspec.json.decode(line, type=RecordedCall))
        except msgspec.DecodeError as error:
            raise RecordingInvalid(f"{file.name}, line {number} is no recorded call: {error}") from error
    return Replay(calls)


def _bytes_of(file: Path) -> bytes:
    # A folder of somebody else may have a pipe there, which nobody writes to, or a device without an end.
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK)
        with os.fdopen(descriptor, "rb") as opened:
            about = os.fstat(descriptor)
            if not stat.S_ISREG(about.st_mode):
                raise RecordingInvalid(f"the recording {file.name} is no file")
            if about.st_size > BYTES_MOST:
                raise RecordingInvalid(f"the recording {file.name} has more than {BYTES_MOST} bytes")
            return opened.read(BYTES_MOST)
    except OSError as error:
        raise RecordingInvalid(f"the recording {file.name} cannot be read ({error.strerror})") from error


@dataclass
class Replay:
    """A recording as it is said again. `differs` names each call whose prompt is not the recorded one."""

    calls: Sequence[RecordedCall]
    differs: list[str] = field(default_factory=list)
    _said: set[int] = field(default_factory=set)

    def reply(self, stage: str, turns: Sequence[str]) -> Said:
        """Return the reply to a call: the one to exactly this prompt, else the next of its stage."""
        open_ = [at for at, call in enumerate(self.calls) if at not in self._said and call.stage == stage]
        number = len(self._said) + 1
        if not open_:
            return Said(faults=(f"call {number} ({stage}) is not in the recording",))
        at = next((one for one in open_ if self.calls[one].prompt == list(turns)), open_[0])
        self._said.add(at)
        call = self.calls[at]
        if call.prompt != list(turns):
            self.differs.append(f"call {number} ({stage}): {_first_difference(call.prompt, turns)}")
        return Said(call.reply, cut=call.cut, refused=call.refused)

    def left(self) -> list[str]:
        """Return the stages of the calls that did not come."""
        return [call.stage for at, call in enumerate(self.calls) if at not in self._said]


def _first_difference(recorded: Sequence[str], now: Sequence[str]) -> str:
    before, after = "\n".join(recorded).splitlines(), "\n".join(now).splitlines()
    for number, (old, new) in enumerate(zip(before, after, strict=False), start=1):
        if old != new:
            at = next(
                (place for place, (one, other) in enumerate(zip(old, new, strict=False)) if one != other),
                min(len(old), len(new)),
            )
            begin = max(0, at - LINE_CHARS // 2)
            return f"line {number} is now {_shown(new, begin)}, not {_shown(old, begin)}"
    return f"the prompt has {len(after)} lines, not {len(before)}"


def _shown(line: str, begin: int) -> str:
    return json.dumps(line[begin : begin + LINE_CHARS], ensure_ascii=False)
