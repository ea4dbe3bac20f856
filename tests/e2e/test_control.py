"""Stepping in: a failed task and its retry, pause, resume, cancel, a person's question, an approval."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.pointer import SEEN_MS
from tests.e2e.screens import Screens
from tests.e2e.stack import Stack

pytestmark = pytest.mark.e2e


def test_a_failed_task_says_what_why_and_retries(page: Page, stack: Stack, screens: Screens, width: str) -> None:
    missing = stack.gates / f"missing-{width}.txt"
    constellation = stack.submit(
        {
            "starloom": 1,
            "name": f"A file that is not there ({width})",
            "tasks": [
                {"id": "look", "tool": "fs.read", "args": {"path": str(missing)}, "device": {"name": stack.desktop}},
                {"id": "after", "tool": "disk.usage", "device": {"name": stack.desktop}},
            ],
            "dependencies": [{"from": "look", "to": "after", "when": "success"}],
        }
    )
    stack.until_state(constellation, "failed")
    page.goto(f"/constellations/{constellation}")
    if width == "phone":
        page.get_by_role("list", name="Tasks").get_by_role("button", name=re.compile("^look")).click()
    inspector = page.get_by_role("complementary", name="Task look")
    expect(inspector.get_by_label("What is wrong")).to_contain_text(f"missing-{width}.txt")
    screens.shoot(page, "task", "failed", width)
    inspector.get_by_role("tab", name="Why").click()
    expect(inspector.get_by_role("tabpanel")).not_to_be_empty()
    missing.parent.mkdir(parents=True, exist_ok=True)
    missing.write_text("now it is there\n")
    inspector.get_by_role("button", name=re.compile("^Retry( r)?$")).click()
    stack.until_state(constellation, "succeeded")
    expect(inspector.get_by_label("What is wrong")).to_have_count(0)
    expect(inspector.get_by_role("list", name="Attempts").get_by_role("listitem")).to_have_count(2)


def test_pause_resume_and_cancel(page: Page, stack: Stack, screens: Screens, width: str) -> None:
    gate = f"pause-{width}"
    constellation = stack.submit(
        {
            "starloom": 1,
            "name": f"Waits for a file ({width})",
            "policy": {"approval": "never"},
            "tasks": [stack.gated("first", gate), stack.gated("second", f"never-{width}")],
            "dependencies": [{"from": "first", "to": "second", "when": "success"}],
        }
    )
    page.goto(f"/constellations/{constellation}")
    state = page.locator(".phonestate .pill" if width == "phone" else ".top .pill").first
    expect(state).to_contain_text("Running")
    screens.shoot(page, "constellation", "running", width)
    page.get_by_role("button", name="Pause", exact=True).click()
    expect(state).to_contain_text("Paused")
    stack.open_gate(gate)
    page.get_by_role("list", name="Tasks").or_(page.locator(".react-flow")).first.wait_for()
    screens.shoot(page, "constellation", "paused", width)
    # *Resume* is where *Pause* was pressed.
    page.wait_for_timeout(SEEN_MS)
    page.get_by_role("button", name="Resume", exact=True).click()
    expect(state).to_contain_text("Running")
    page.get_by_role("button", name=re.compile("^Cancel$")).click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_be_visible()
    screens.shoot(page, "constellation", "cancel", width)
    dialog.get_by_role("button", name="Cancel the constellation").click()
    expect(state).to_contain_text("Cancelled")
    assert stack.state(constellation) == "cancelled"
    screens.shoot(page, "constellation", "cancelled", width)


def test_a_question_is_answered_on_home(page: Page, stack: Stack, screens: Screens, width: str) -> None:
    text = f"Is the {width} printer on?"
    constellation = stack.submit(
        {
            "starloom": 1,
            "name": f"Ask first ({width})",
            "tasks": [
                {
                    "id": "ask",
                    "person": text,
                    "choices": [{"value": "yes", "label": "It is on"}, {"value": "no", "label": "No", "fails": True}],
                }
            ],
        }
    )
    page.goto("/")
    item = page.locator(".item", has_text=text)
    item.wait_for()
    screens.shoot(page, "home", "question", width)
    item.get_by_role("button", name="It is on").click()
    expect(page.locator(".item", has_text=text).get_by_role("button", name="It is on")).to_have_count(0)
    stack.until_state(constellation, "succeeded")


def test_an_approval_starts_what_it_names(page: Page, stack: Stack, screens: Screens, width: str) -> None:
    name = f"Held plan {width}"
    constellation = stack.submit(
        {
            "starloom": 1,
            "name": name,
            "tasks": [{"id": "usage", "tool": "disk.usage", "device": {"name": stack.desktop}}],
        },
        hold=True,
    )
    page.goto("/inbox")
    item = page.locator(".item", has_text=name)
    item.wait_for()
    screens.shoot(page, "inbox", "approval", width)
    page.goto(f"/constellations/{constellation}")
    asked = page.get_by_role("region", name="Needs you")
    asked.wait_for()
    screens.shoot(page, "constellation", "approval", width)
    asked.get_by_role("button", name="Approve").click()
    expect(asked).to_have_count(0)
    stack.until_state(constellation, "succeeded")


@pytest.mark.parametrize("width", ["wide"], indirect=True)
def test_pause_pressed_twice_pauses(page: Page, stack: Stack) -> None:
    made = stack.submit({"starloom": 1, "name": "Paused once", "tasks": [stack.gated("first", "paused-once")]})
    page.goto(f"/constellations/{made}")
    pause = page.get_by_role("button", name="Pause", exact=True)
    pause.click()
    resume = page.get_by_role("button", name="Resume", exact=True)
    resume.wait_for()
    page.mouse.down()
    page.mouse.up()
    page.get_by_role("button", name="Edit plan").hover()
    expect(resume).to_be_visible()
    assert stack.state(made) == "paused"
    resume.click()
    expect(pause).to_be_visible()
    stack.client.post(f"/constellations/{made}/cancel")


@pytest.mark.parametrize("width", ["wide"], indirect=True)
def test_an_error_goes_with_its_page(page: Page, stack: Stack) -> None:
    made = stack.submit({"starloom": 1, "name": "Not to be paused", "tasks": [stack.gated("first", "error-card")]})
    page.route("**/pause", lambda route: route.fulfill(status=409, json={"reason": "It is over already.", "hint": ""}))
    page.goto(f"/constellations/{made}")
    card = page.locator(".toast")
    page.get_by_role("button", name="Pause", exact=True).click()
    expect(card).to_contain_text("It is over already.")
    card.get_by_role("button", name="Close the message").click()
    expect(card).to_have_count(0)
    page.get_by_role("button", name="Pause", exact=True).click()
    expect(card).to_have_count(1)
    page.get_by_role("link", name="Home", exact=True).first.click()
    expect(page.get_by_role("heading", name="Home", exact=True)).to_be_visible()
    expect(card).to_have_count(0)
