"""The mailbox of a model: a call becomes a readable file, and a reply file the answer that was asked for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from model_mailbox import Mailbox, chat, readable

TOOL: dict[str, Any] = {
    "function": {"description": "Give the plan.", "name": "answer", "parameters": {"type": "object"}}
}
CALL: dict[str, Any] = {
    "messages": [
        {"content": "You write one plan.", "role": "system"},
        {"content": [{"text": "How full is it?", "type": "text"}], "role": "user"},
    ],
    "model": "planner",
}


def test_a_call_is_readable_whole() -> None:
    text = readable(CALL | {"tools": [TOOL]})
    parts = ("system\nYou write one plan.", "user\nHow full is it?", "tool answer: Give the plan.", '{"type":"object"}')
    assert [part for part in parts if part not in text] == []


def test_a_reply_has_the_form_that_the_call_asked_for() -> None:
    plain = json.loads(chat(CALL, "{}", 400))["choices"][0]
    assert (plain["message"]["content"], plain["finish_reason"]) == ("{}", "stop")
    called = json.loads(chat(CALL | {"tools": [TOOL]}, "{}", 400))
    assert called["choices"][0]["message"]["tool_calls"][0]["function"] == {"arguments": "{}", "name": "answer"}
    assert called["usage"] == {"completion_tokens": 1, "prompt_tokens": 101, "total_tokens": 102}


def test_calls_are_numbered_on_and_one_without_a_reply_in_time_has_none(tmp_path: Path) -> None:
    for number, text in ((1, "first\n"), (2, "second")):
        (tmp_path / "out").mkdir(exist_ok=True)
        (tmp_path / "out" / f"{number:04}.txt").write_text(text)
    assert Mailbox(tmp_path, 20.0).exchange("one") == "first"
    again = Mailbox(tmp_path, 20.0)
    assert again.exchange("two") == "second"
    assert [file.name for file in sorted((tmp_path / "in").iterdir())] == ["0001.txt", "0002.txt"]
    assert (tmp_path / "in" / "0002.txt").read_text() == "two"
    assert Mailbox(tmp_path, 0.0).exchange("three") is None
