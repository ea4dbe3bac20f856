"""The transcript as text, and as a recording."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from starloom.cli.text.transcript_text import lines, recording
from starloom.planner.model.answers import Stage
from starloom.planner.model.port import Reply, Turn
from starloom.planner.model.transport.recorded import RecordedModel, prompt_text, replies_in, reply_text

if TYPE_CHECKING:
    from starloom.client.answers import ModelCallJson

PROMPT = prompt_text("how", [Turn("starloom", "first\nsecond")], Stage.ANSWERING)
FOUND: Any = {
    "calls": [
        {
            "call": {
                "asked_ms": 5,
                "job": "answer-1",
                "model": "small",
                "stage": "answering",
                "input_tokens": 900,
                "cached_tokens": 600,
                "output_tokens": 30,
                "micros": 1200,
                "took_ms": 2345,
            },
            "prompt_text": PROMPT,
            "reply_text": reply_text(Reply("It is db.")),
        },
        {"call": {"asked_ms": 9, "job": "answer-2", "stage": "answering", "fault": "it did not answer in time"}},
    ]
}


def test_transcript_shows_each_call_with_cost_and_texts() -> None:
    assert list(lines("c-1", FOUND)) == [
        "1. Answer: small, 900 tokens in, 600 of them kept by the endpoint, 30 out, 0.0012 dollars, 2.3 s",
        "   told: first",
        "         second",
        "   said: It is db.",
        "2. Answer: a model, 0 tokens in, 0 out, 0.0 s",
        "   told: (this text was not kept, or went as old logs do)",
        "   no reply: it did not answer in time",
    ]


def test_calls_of_a_goal_with_tiers_name_the_tier() -> None:
    call: Any = {"asked_ms": 5, "job": "goal-1", "model": "tiny", "stage": "tiered", "tier": "small", "took_ms": 1000}
    (head, *_) = lines("c-1", {"calls": [{"call": call}]})
    assert head == "1. Goal: tiny (tier small), 0 tokens in, 0 out, 1.0 s"


def test_constellation_without_a_model_says_so() -> None:
    assert list(lines("c-1", {"calls": []})) == ["No model was asked for c-1."]


async def test_recording_is_what_a_recorded_model_reads() -> None:
    raw = recording(FOUND)
    assert [json.loads(line)["stage"] for line in raw.splitlines()] == ["answering"]
    model = RecordedModel(replies_in(raw.splitlines()), "it")
    reply = await model.ask("how", [Turn("starloom", "first\nsecond")], Stage.ANSWERING)
    assert reply.text == "It is db."


def test_signs_that_steer_a_terminal_are_written_out() -> None:
    prompt = prompt_text("how", [Turn("starloom", "a\x1b[2Jb\tc")], Stage.PLANNING)
    call: ModelCallJson = {"job": "plan-1", "stage": "planning"}
    reply = reply_text(Reply("\x1b]0;x\x07"))
    shown = list(lines("c-1", {"calls": [{"call": call, "prompt_text": prompt, "reply_text": reply}]}))
    assert shown[1:] == ["   told: a\\x1b[2Jb\\tc", "   said: \\x1b]0;x\\x07"]
