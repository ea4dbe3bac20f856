"""Recordings of a live model: each prompt and reply of a run kept in a file, and a model that says the replies again.

A file is `TASK.PROFILE.sSEED.jsonl` in the folder of `--record`, one line a call in the order of time. The keys of the
model are masked exactly, what looks like a secret by its pattern; a file that still held a key is not written.
The words of its world (days, addresses, devices) stand in it by name, so that a reply fits another world. A reply is
found by its prompt, or by its stage and turn; a prompt that differs otherwise is one of another product, and is named.
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
from starloom.lab.nebula.planners.key_masking import KeyMask
from starloom.lab.nebula.planners.script import ScriptReply
from starloom.lab.nebula.planners.world_words import WorldWords, compared, same
from starloom.planner.context.cards import scrubbed
from starloom_protocol.values import parse

OWN_FILE_MODE: Final = 0o600
LINE_CHARS: Final = 120
NO_WORDS: Final = WorldWords({})
NO_KEYS: Final = KeyMask()
BYTES_MOST: Final = 64 * 1024 * 1024
"""A run of a model has at most some hundred calls of some ten thousand bytes each."""


class RecordingInvalid(Exception):
    """A file is no recording, or there is none: says which and why."""


class RecordingRefused(Exception):
    """A recording is not written: says in which call a key is left, and how it is written there."""


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


def record(transcript: TranscriptJson, file: Path, words: WorldWords = NO_WORDS, keys: KeyMask = NO_KEYS) -> int:
    """Write the calls of a run, and return how many have no text that could be kept.

    Raises:
        RecordingRefused: a call still holds a key of the model; nothing is written.
    """

    def masked(text: str) -> str:
        return words.named(str(scrubbed(keys.text(text))))

    lines, lost = [], 0
    for number, item in enumerate(transcript["calls"], start=1):
        prompt, reply = item.get("prompt_text"), item.get("reply_text")
        if prompt is None or reply is None:
            lost += 1
            continue
        sent, received = parse(prompt), parse(reply)
        call = RecordedCall(
            stage=item["call"]["stage"],
            prompt=[masked(text) for text in (sent["instructions"], *(turn["text"] for turn in sent["turns"]))],
            reply=masked(received["text"]),
            cut=received["cut"],
            refused=received["refused"],
            model=keys.text(item["call"].get("model", "")),
        )
        line = msgspec.json.encode(call)
        if how := keys.left_in(line.decode()):
            raise RecordingRefused(f"call {number} ({call.stage}) still holds the key of the model {how}")
        lines.append(line + b"\n")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.touch(mode=OWN_FILE_MODE)
    file.write_bytes(b"".join(lines))
    return lost


def read_recording(file: Path, words: WorldWords = NO_WORDS) -> Replay:
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
    return Replay(calls, words)


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
    words: WorldWords = NO_WORDS
    differs: list[str] = field(default_factory=list)
    _replayed: set[int] = field(default_factory=set)

    def reply(self, stage: str, turns: Sequence[str]) -> ScriptReply:
        """Return the reply to a call: the one to exactly this prompt, else the next of its stage."""
        open_ = [at for at, call in enumerate(self.calls) if at not in self._replayed and call.stage == stage]
        number = len(self._replayed) + 1
        if not open_:
            return ScriptReply(faults=(f"call {number} ({stage}) is not in the recording",))
        now = compared([self.words.named(turn) for turn in turns])
        differences = {one: _first_difference(compared(self.calls[one].prompt), now) for one in open_}
        at = next((one for one in open_ if not differences[one]), open_[0])
        self._replayed.add(at)
        call = self.calls[at]
        if differences[at]:
            self.differs.append(f"call {number} ({stage}): {differences[at]}")
        return ScriptReply(self.words.filled(call.reply), cut=call.cut, refused=call.refused)

    @property
    def said(self) -> int:
        """How many calls were answered."""
        return len(self._replayed)

    def left(self) -> list[str]:
        """Return the stages of the calls that did not come."""
        return [call.stage for at, call in enumerate(self.calls) if at not in self._replayed]


def _first_difference(before: Sequence[str], after: Sequence[str]) -> str:
    """Return the first line in which two prompts differ; empty where none does."""
    for number, (old, new) in enumerate(zip(before, after, strict=False), start=1):
        if not same(old, new):
            at = next(
                (place for place, (one, other) in enumerate(zip(old, new, strict=False)) if one != other),
                min(len(old), len(new)),
            )
            begin = max(0, at - LINE_CHARS // 2)
            return f"line {number} is now {_excerpt(new, begin)}, not {_excerpt(old, begin)}"
    return "" if len(after) == len(before) else f"the prompt has {len(after)} lines, not {len(before)}"


def _excerpt(line: str, begin: int) -> str:
    return json.dumps(line[begin : begin + LINE_CHARS], ensure_ascii=False)
