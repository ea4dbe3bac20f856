"""Typed text in a real browser: two tabs, a session that ends elsewhere, and the pointer and keys at a dialog."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import ON_BOTH, NewContext
from tests.e2e.pointer import Hand
from tests.e2e.screens import Screens
from tests.e2e.stack import Stack

pytestmark = pytest.mark.e2e

ROWS = "starloom: 1\nname: {name}\ntasks:\n- {{id: look, tool: system.info}}\n"


def _name(page: Page) -> str:
    expect(page.get_by_label("Name of the plan")).to_be_visible()
    return page.get_by_label("Name of the plan").input_value()


def _write(page: Page, name: str) -> None:
    page.goto("/new?way=build")
    page.get_by_role("tab", name="Text").click()
    page.get_by_role("textbox", name="Plan, as YAML or JSON").fill(ROWS.format(name=name))
    page.get_by_role("tab", name="Rows").click()
    expect(page.get_by_role("button", name="Row 1, look")).to_be_visible()


def test_two_tabs_at_one_place_have_a_draft_each(page: Page) -> None:
    _write(page, "Tab one")
    other = page.context.new_page()
    other.goto("/new?way=build")
    assert _name(other) == "Tab one", "a new tab begins with the newest"
    other.get_by_label("Name of the plan").fill("Tab two")
    # The news of it reach the first tab, which keeps its own again, after a moment.
    count = "() => Object.keys(localStorage).filter((key) => key.startsWith('starloom.rows.draft')).length === 2"
    page.wait_for_function(count)
    for each in (page, other):
        each.reload()
    assert (_name(page), _name(other)) == ("Tab one", "Tab two")


def test_a_draft_waits_for_its_person_and_goes_with_a_sign_out(stack: Stack, new_context: NewContext) -> None:
    page = new_context("wide").new_page()
    page.goto(stack.sign_in_link())
    expect(page.get_by_role("heading", name="Home", exact=True)).to_be_visible()
    _write(page, "An evening's work")
    sessions = [item for item in stack.client.get("/tokens")["items"] if item["kind"] == "session"]
    newest = max(sessions, key=lambda item: str(item["created_at"]))
    stack.client.delete(f"/tokens/{newest['id']}")
    expect(page.get_by_text("starloom open").first).to_be_visible()
    page.goto(stack.sign_in_link())
    expect(page.get_by_role("heading", name="Home", exact=True)).to_be_visible()
    page.goto("/new?way=build")
    assert _name(page) == "An evening's work"
    page.goto("/settings")
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_text("starloom open").first).to_be_visible()
    assert "evening" not in page.evaluate("() => JSON.stringify({...localStorage, ...sessionStorage})")
    page.context.close()


@ON_BOTH
def test_a_dialog_keeps_its_text_and_its_keys(page: Page, screens: Screens, width: str) -> None:
    _write(page, "Facts")
    expect(page.get_by_role("button", name=re.compile("^Launch"))).not_to_have_attribute("aria-disabled", "true")
    page.get_by_role("button", name="Save as recipe").click()
    dialog = page.get_by_role("dialog", name="Save as recipe")
    title = dialog.get_by_label("Title")
    title.fill("My careful title")
    title.press("End")
    page.keyboard.type(" and more")
    frame, field = dialog.bounding_box(), title.bounding_box()
    assert frame is not None
    assert field is not None
    # A text is marked with the mouse, which is let go beside the dialog; then it is pressed beside it.
    page.mouse.move(field["x"] + field["width"] / 2, field["y"] + field["height"] / 2)
    page.mouse.down()
    page.mouse.move(frame["x"] / 2, field["y"] + 8, steps=6)
    page.mouse.up()
    Hand(page, touch=width == "phone").press(frame["x"] / 2, frame["y"] + 20)
    expect(title).to_have_value("My careful title and more")
    screens.shoot(page, "drafts", "dialog", width)
    title.press("End")
    page.keyboard.press("Control+z")
    expect(title).not_to_have_value("My careful title and more")
    page.keyboard.press("Control+Enter")
    expect(dialog).to_be_visible()
    # A browser closes a dialog at the second Escape in a row whatever the page says, so each is taken before it.
    for _ in range(3):
        page.keyboard.press("Escape")
    expect(dialog.get_by_text("is lost when it closes")).to_be_visible()
    screens.shoot(page, "drafts", "leaving", width)
    page.keyboard.press("Escape")
    expect(title).to_be_focused()
    dialog.get_by_role("button", name="Cancel").click()
    expect(page.get_by_role("button", name="Row 1, look")).to_be_visible()
    page.keyboard.press("Control+z")
    expect(page.get_by_text("Each row does one thing")).to_be_visible()
    page.keyboard.press("Control+Shift+Z")
    expect(page.get_by_role("button", name="Row 1, look")).to_be_visible()


@ON_BOTH
def test_changes_of_an_opened_recipe_are_kept_beside_the_own_plan(page: Page, screens: Screens, width: str) -> None:
    _write(page, "My own plan")
    page.goto("/new?way=build&recipe=photo-backup")
    opened = _name(page)
    page.get_by_label("Name of the plan").fill("Changed by me")
    page.reload()
    assert _name(page) == "Changed by me"
    expect(page.get_by_text("These are your changes of last time")).to_be_visible()
    screens.shoot(page, "drafts", "changes", width)
    page.get_by_role("button", name="Start over").click()
    assert _name(page) == opened
    page.goto("/new?way=build")
    assert _name(page) == "My own plan"
    page.get_by_role("tab", name="Text").click()
    text = page.get_by_role("textbox", name="Plan, as YAML or JSON")
    text.press("Control+End")
    page.keyboard.type("- {id: half")
    page.get_by_role("tab", name="Rows").click()
    expect(page.get_by_text("The text has a fault in line")).to_be_visible()
    screens.shoot(page, "drafts", "fault", width)
    page.reload()
    page.get_by_role("button", name="To the text").click()
    expect(text).to_have_value(re.compile(r"\{id: half$"))


@ON_BOTH
def test_words_of_a_request_stay_until_they_are_launched(page: Page, screens: Screens, width: str) -> None:
    page.goto("/new")
    box = page.get_by_role("textbox", name="What should happen?")
    box.fill("ten minutes of work")
    page.get_by_role("link", name="Home").first.click()
    expect(page.get_by_role("heading", name="Home", exact=True)).to_be_visible()
    page.go_back()
    expect(box).to_have_value("ten minutes of work")
    page.keyboard.press("Control+k")
    page.get_by_role("combobox", name=re.compile("^Search")).fill("how are my machines")
    page.get_by_role("option", name=re.compile("^Ask")).click()
    expect(box).to_have_value("how are my machines")
    screens.shoot(page, "drafts", "words", width)
    page.get_by_role("button", name=re.compile("^Launch")).click()
    page.wait_for_url(re.compile(r"/constellations/"))
    page.goto("/new")
    expect(box).to_have_value("ten minutes of work")
    box.fill("")
    page.reload()
    expect(box).to_have_value("")
