"""Two people on one hub: one invites the other, who reads what they may before and after they sign in."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import ON_BOTH, NewContext
from tests.e2e.screens import Screens
from tests.e2e.stack import Stack

pytestmark = pytest.mark.e2e

QUESTION = "Shall the letters of the attic be read?"
LINK = re.compile(r"https?://\S+/#/sign-in/[\w.-]+")


def invite(page: Page, name: str, preset: str) -> str:
    """Make a link as a person does, and return it."""
    page.goto("/settings")
    page.get_by_role("button", name="Invite a person").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Name", exact=True).fill(name)
    dialog.get_by_label("They may").select_option(label=preset)
    dialog.get_by_role("button", name="Make the link").click()
    expect(dialog.get_by_text(f"Send this to {name}.")).to_be_visible()
    found = LINK.search(dialog.inner_text())
    assert found, dialog.inner_text()
    return found.group(0)


def blocked(page: Page, name: str, why: str) -> None:
    """Expect of every button with this name that it says before it is pressed why it cannot be."""
    buttons = page.get_by_role("button", name=re.compile(name))
    expect(buttons.first).to_be_visible()
    for button in buttons.all():
        expect(button).to_have_attribute("aria-disabled", "true")
        expect(button).to_have_attribute("title", re.compile(why))


@ON_BOTH
def test_an_invited_person_reads_what_they_may(
    page: Page, stack: Stack, new_context: NewContext, screens: Screens, width: str
) -> None:
    made = stack.submit({"starloom": 1, "name": "Letters", "tasks": [{"id": "ask", "person": QUESTION}]})
    link = invite(page, f"noor-{width}", "Look, and answer questions")
    with new_context(width) as context:
        noor = context.new_page()
        noor.goto(link)
        expect(noor.get_by_text(f"invites you to this hub as noor-{width}. You may:")).to_be_visible()
        for words in ("see devices, work, answers and logs", "answer questions and approvals"):
            expect(noor.get_by_text(words)).to_be_visible()
        expect(noor.get_by_text("start, edit, stop and undo work")).to_have_count(0)
        screens.shoot(noor, "signin", "terms", width)
        noor.get_by_role("button", name=f"Sign in as noor-{width}").click()
        noor.get_by_role("heading", name="Home", exact=True).wait_for()
        blocked(noor, "^New request", "^An approver can look and answer")
        noor.goto("/devices")
        blocked(noor, "^(Stop everything|Add device)$", "^An approver can look and answer")
        noor.goto(f"/constellations/{made}")
        asked = noor.get_by_role("region", name="Needs you")
        blocked(noor, "^(Pause|Cancel)$", "^An approver can look and answer")
        asked.get_by_role("button", name="Done").click()
        stack.until_state(made, "succeeded")


@ON_BOTH
def test_a_viewer_is_needed_for_nothing(
    page: Page, stack: Stack, new_context: NewContext, screens: Screens, width: str
) -> None:
    made = stack.submit({"starloom": 1, "name": "Letters", "tasks": [{"id": "ask", "person": QUESTION}]})
    link = invite(page, f"sil-{width}", "Look, and change nothing")
    with new_context(width) as context:
        sil = context.new_page()
        sil.goto(link)
        sil.get_by_role("button", name=f"Sign in as sil-{width}").click()
        sil.get_by_role("heading", name="Waits for an approver").wait_for()
        blocked(sil, "^(Done|Cannot)$", "^A viewer can look")
        expect(sil.get_by_text(re.compile("needs? you|for you", re.IGNORECASE))).to_have_count(0)
        sil.goto("/constellations")
        row = sil.get_by_role("link", name=re.compile("Letters")).first
        expect(row).to_contain_text("Waits for others")
        screens.shoot(sil, "constellations", "viewer", width)
    assert stack.state(made) == "active"
