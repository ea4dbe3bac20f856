"""The transcript of a constellation as text, and as a recording whose replies a hub can repeat."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from starloom_protocol.text.wording import escaped

if TYPE_CHECKING:
    from starloom.client.answers import ModelCallJson, TranscriptJson

_DOLLAR: Final = 1_000_000
_STAGES: Final = {
    "planning": "Planning",
    "reviewing": "Review",
    "answering": "Answer",
    "judging": "Judgement",
    "choosing": "Choice",
    "working": "Goal",
    "tiered": "Goal",
}
_NOT_KEPT: Final = "(this text was not kept, or went as old logs do)"


def lines(constellation: str, transcript: TranscriptJson) -> Iterator[str]:
    """Yield the lines of a transcript: for each call its head, what was new in it, and the reply."""
    calls = transcript["calls"]
    if not calls:
        yield f"No model was asked for {constellation}."
        return
    for number, item in enumerate(calls, start=1):
        call = item["call"]
        stage = _STAGES.get(call["stage"], call["stage"])
        yield escaped(f"{number}. {stage}: {_head(call)}")
        yield from _indented(_last_turn(item.get("prompt_text")), "told")
        if fault := call.get("fault"):
            yield f"   no reply: {escaped(fault)}"
        else:
            yield from _indented(_replied(item.get("reply_text")), "said")


def _head(call: ModelCallJson) -> str:
    cached_tokens = call.get("cached_tokens")
    cached = f", {cached_tokens} of them kept by the endpoint" if cached_tokens else ""
    micros = call.get("micros")
    money = f", {micros / _DOLLAR:.4f} dollars" if micros else ""
    tokens = f"{call.get('input_tokens', 0)} tokens in{cached}, {call.get('output_tokens', 0)} out"
    tier = f" (tier {tier_name})" if (tier_name := call.get("tier")) else ""
    return f"{call.get('model', 'a model')}{tier}, {tokens}{money}, {call.get('took_ms', 0) / 1000:.1f} s"


def _last_turn(text: str | None) -> str:
    """Return the last turn of a prompt; the earlier ones are those of the calls before."""
    if text is None:
        return _NOT_KEPT
    turns = json.loads(text)["turns"]
    return str(turns[-1]["text"]) if turns else ""


def _replied(text: str | None) -> str:
    return _NOT_KEPT if text is None else str(json.loads(text)["text"])


def _indented(text: str, speaker: str) -> Iterator[str]:
    first, *further = map(escaped, text.splitlines() or [""])
    yield f"   {speaker}: {first}"
    yield from (f"         {line}" for line in further)


def recording(transcript: TranscriptJson) -> bytes:
    """Return the calls as lines of JSON, `{model, prompt, reply, stage}`; a call without both texts is left out."""
    rows = [
        {
            "model": item["call"].get("model", ""),
            "prompt": item["prompt_text"],
            "reply": item["reply_text"],
            "stage": item["call"]["stage"],
        }
        for item in transcript["calls"]
        if item.get("prompt_text") is not None and item.get("reply_text") is not None
    ]
    return b"".join(json.dumps(row, ensure_ascii=False, sort_keys=True).encode() + b"\n" for row in rows)
