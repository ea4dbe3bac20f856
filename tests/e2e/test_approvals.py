"""Approvals on the page: several at once, always with what it covers, who answered, and the way to take it back."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.pointer import SEEN_MS
from tests.e2e.screens import Screens
from tests.e2e.stack import Stack

pytestmark = pytest.mark.e2e

DOUBLE_MS = 180
"""Between the two presses of a double click."""


def test_several_are_answered_at_once_and_the_page_says_who(
    page: Page, stack: Stack, screens: Screens, width: str
) -> None:
    names = [f"Held {number} {width}" for number in (1, 2)]
    looks = [{"id": "usage", "tool": "disk.usage", "device": {"name": stack.desktop}}]
    made = [stack.submit({"starloom": 1, "name": name, "tasks": looks}, hold=True) for name in names]
    page.goto("/inbox")
    for name in names:
        page.get_by_label(f"Choose: Run {name}?", exact=False).check()
    screens.shoot(page, "inbox", "several", width)
    page.get_by_role("button", name="Approve chosen").click()
    for name, constellation in zip(names, made, strict=True):
        said = page.locator(".card", has=page.get_by_role("heading", name="Answered lately"))
        expect(said.locator(".item", has_text=name)).to_contain_text("approved by")
        stack.until_state(constellation, "succeeded")
    screens.shoot(page, "inbox", "answered", width)


def test_a_double_press_answers_the_question_that_was_seen(page: Page, stack: Stack, width: str) -> None:
    looks = [{"id": "usage", "tool": "disk.usage", "device": {"name": stack.desktop}}]
    made = [
        stack.submit({"starloom": 1, "name": f"Twice {number} {width}", "tasks": looks}, hold=True)
        for number in (1, 2, 3, 4)
    ]
    page.goto("/inbox")
    asked = page.get_by_role("group", name=re.compile(f"^Question: Run Twice . {width}"))
    expect(asked).to_have_count(4)
    button = asked.first.get_by_role("button", name="Approve", exact=True)
    button.scroll_into_view_if_needed()
    box = button.bounding_box()
    assert box
    at = (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    press = page.touchscreen.tap if width == "phone" else page.mouse.click
    press(*at)
    page.wait_for_timeout(DOUBLE_MS)
    press(*at)
    expect(asked).to_have_count(3)
    # Enter that is held down presses once, too.
    asked.first.get_by_role("button", name="Approve", exact=True).focus()
    for _ in range(5):
        page.keyboard.down("Enter")
    page.keyboard.up("Enter")
    expect(asked).to_have_count(2)
    states = [stack.state(one) for one in made]
    assert states.count("awaiting_approval") == 2, states
    # A press that was meant for the next one counts.
    page.wait_for_timeout(SEEN_MS)
    press(*at)
    expect(asked).to_have_count(1)
    for one in made:
        if stack.state(one) == "awaiting_approval":
            stack.client.post(f"/approvals/{one}:approve-plan/deny")


def test_always_covers_one_call_and_is_taken_back_in_settings(
    page: Page, stack: Stack, screens: Screens, width: str
) -> None:
    port = 9000 + len(width)
    check = {"id": "look", "tool": "net.check", "args": {"host": "127.0.0.1", "port": port}}
    plan: dict[str, Any] = {"starloom": 1, "name": f"Reach {width}", "tasks": [check]}
    constellation = stack.submit(plan)
    page.goto(f"/constellations/{constellation}")
    asked = page.get_by_role("region", name="Needs you")
    asked.get_by_text("What “Always allow” covers from now on").click()
    expect(asked).to_contain_text(f'"port":{port}')
    screens.shoot(page, "constellation", "always", width)
    asked.get_by_role("button", name="Always allow").click()
    expect(asked).to_have_count(0)
    assert stack.client.get(f"/constellations/{stack.submit(plan)}")["state"] != "awaiting_approval"
    page.goto("/settings")
    kept = page.locator(".item", has_text=f'"port":{port}')
    kept.wait_for()
    screens.shoot(page, "settings", "always", width)
    kept.get_by_role("button", name="Take back").click()
    expect(kept).to_have_count(0)
    again = stack.submit(plan)
    assert stack.client.get(f"/constellations/{again}")["state"] == "awaiting_approval"
    stack.client.post(f"/approvals/{again}:approve-plan/deny")


def test_a_question_shows_the_result_that_it_is_about(page: Page, stack: Stack, screens: Screens, width: str) -> None:
    look = {"id": "look", "tool": "system.info", "device": {"name": stack.desktop}}
    ask = {
        "id": "ask",
        "person": f"Is this the one? {width}",
        "shows": {"from": "look", "output": "/system"},
        "choices": [{"value": "yes", "label": "It is"}, {"value": "no", "label": "It is not", "fails": True}],
    }
    turns = {
        "id": "again",
        "tool": "system.info",
        "device": {"name": stack.desktop},
        "repeat": {"max": 2, "every_s": 600},
    }
    constellation = stack.submit({"starloom": 1, "name": f"Shown {width}", "tasks": [look, ask, turns]})
    page.goto("/inbox")
    asked = page.locator(".item", has_text=f"Is this the one? {width}")
    shown = asked.get_by_role("region", name="Shown: system of look")
    expect(shown).to_contain_text("Linux")
    screens.shoot(page, "inbox", "shown", width)
    asked.get_by_role("button", name="It is", exact=True).click()
    expect(shown).to_have_count(0)
    page.goto(f"/constellations/{constellation}")
    expect(page.get_by_text("Waiting, begins at").locator("visible=true").first).to_be_visible()
    screens.shoot(page, "constellation", "turns", width)
    stack.client.post(f"/constellations/{constellation}/tasks/again.2/skip")
    stack.until_state(constellation, "succeeded")
