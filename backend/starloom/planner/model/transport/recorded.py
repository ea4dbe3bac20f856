"""Recorded calls of a model: their texts in one form, and a model that gives recorded replies instead of new ones.

A reply is found by the hash of all that was asked, so a request that is planned again from the same state needs no key.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from starloom.planner.model.answers import Stage
from starloom.planner.model.port import ModelFault, Reply, Turn
from starloom_protocol.values import canonical
from starloom_protocol.vocabulary import Code


class Recorded(msgspec.Struct, frozen=True, kw_only=True):
    """One line of a recording: a call with both of its texts; `prompt` and `reply` are None where none was kept.

    A recording without prompts has their hashes in `asked` and repeats just as well; it is small and tells less.
    """

    stage: str
    asked: str | None = None
    prompt: str | None = None
    reply: str | None = None
    model: str = ""


class _Told(msgspec.Struct, frozen=True):
    text: str = ""
    cut: bool = False
    refused: bool = False


def prompt_text(instructions: str, turns: Sequence[Turn], stage: Stage) -> str:
    """Return what is asked as canonical JSON; its hash finds the same question in a recording."""
    lines = [{"by": turn.by, "text": turn.text} for turn in turns]
    return canonical({"instructions": instructions, "stage": str(stage), "turns": lines})


def reply_text(reply: Reply) -> str:
    """Return a reply as canonical JSON."""
    return canonical({"cut": reply.cut, "refused": reply.refused, "text": reply.text})


def replies_in(lines: Iterable[bytes]) -> dict[str, Reply]:
    """Return the replies of a recording by the hash of their prompt; of equal prompts the first counts.

    Raises:
        ModelFault: a line is not a recorded call.
    """
    replies: dict[str, Reply] = {}
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            call = msgspec.json.decode(line, type=Recorded)
            reply = msgspec.json.decode(call.reply, type=_Told) if call.reply is not None else None
        except msgspec.DecodeError as error:
            reason = f"line {number} of the recording is no recorded call: {error}"
            raise ModelFault(Code.MODEL_NOT_SET, reason) from error
        prompt_hash = _hash(call.prompt) if call.prompt is not None else call.asked
        if prompt_hash is not None and reply is not None:
            replies.setdefault(prompt_hash, Reply(reply.text, cut=reply.cut, refused=reply.refused))
    return replies


@dataclass(frozen=True)
class RecordedModel:
    """A model that only repeats. `replies` has them by the hash of the prompt; `source` names the recording."""

    replies: Mapping[str, Reply]
    source: str

    async def ask(self, instructions: str, turns: Sequence[Turn], stage: Stage = Stage.PLANNING) -> Reply:
        """Return the recorded reply to exactly this prompt.

        Raises:
            ModelFault: the recording has none; something that the prompt tells has changed since.
        """
        reply = self.replies.get(_hash(prompt_text(instructions, turns, stage)))
        if reply is None:
            reason = f"{self.source} has no reply to this prompt ({stage}): words, devices, tools or results differ"
            raise ModelFault(Code.MODEL_UNREACHABLE, reason)
        return reply


def _hash(prompt: str) -> str:
    return hashlib.sha256(prompt.encode("utf-8", "replace")).hexdigest()
