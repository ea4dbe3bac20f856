"""A preview as text: the way to a missing grant, and the way out where words start nothing."""

from __future__ import annotations

from typing import Any, cast

import pytest
from rich.console import Console

from starloom.cli.text.preview_text import preview_text
from starloom_protocol.vocabulary import CODES, Code

SWITCH = "Camera is switched off on this device; open its page and switch it on"
LINE = "starloom-agent grant files:read ~/Papers"


@pytest.mark.parametrize(
    ("way", "told"),
    [(SWITCH, f"pixel lacks tab:camera; {SWITCH}"), (LINE, f"pixel lacks tab:camera; type there:\n{LINE}\n")],
)
def test_nothing_is_to_be_typed_on_a_phone_s_page(way: str, told: str) -> None:
    task = {"id": "a", "device": "pixel", "devices": [], "tool": "camera.capture", "effects": [], "why": "named"}
    missing = {"device": "pixel", "grant": "tab:camera", "line": way, "task": "a"}
    found = {"name": "Take", "tasks": [task], "missing_grants": [missing], "warnings": [], "effects": []}
    console = Console(width=200)
    with console.capture() as shown:
        console.print(preview_text(cast(Any, {**found, "asks_approval": False, "plan_hash": "x"})))
    assert told in shown.get()


def test_a_line_to_copy_is_whole_in_a_narrow_terminal() -> None:
    line = f"{LINE}/of-the-year/with-a-long-name --most 200"
    task = {"id": "a", "device": "pi", "devices": [], "tool": "files.read", "effects": [], "why": "named"}
    missing = {"device": "pi", "grant": "files:read", "line": line, "task": "a"}
    found = {"name": "Read", "tasks": [task], "missing_grants": [missing], "warnings": [], "effects": []}
    console = Console(width=40)
    with console.capture() as shown:
        console.print(preview_text(cast(Any, {**found, "asks_approval": False, "plan_hash": "x"})), crop=False)
    assert line in [said.rstrip() for said in shown.get().splitlines()]


def test_words_that_start_nothing_are_told_the_way_out() -> None:
    code = CODES[Code.REQUEST_NOT_UNDERSTOOD]
    understood = {"outcome": "none", "candidates": [], "title": code.title, "said": "hello", "hint": code.hint}
    console = Console(width=400)
    with console.capture() as shown:
        console.print(preview_text(cast(Any, {"tasks": [], "understood": understood})))
    assert "*New request*, *Build*" in shown.get()
    assert "starloom submit -f PLAN.yaml" in shown.get()


def test_a_rule_is_named_with_the_calls_that_it_may_add() -> None:
    task = {"id": "copy", "device": "pi", "devices": [], "tool": "fs.write", "effects": [], "why": "named"}
    rule = {"name": "late", "task": "copy", "reason": "the copy failed", "calls": ["tell: notify"]}
    found = {"name": "Copy", "tasks": [task], "missing_grants": [], "warnings": [], "effects": [], "rules": [rule]}
    console = Console(width=200)
    with console.capture() as shown:
        console.print(preview_text(cast(Any, {**found, "asks_approval": False, "plan_hash": "x"})))
    assert "rule late after copy: the copy failed, may run tell: notify\n" in shown.get()
