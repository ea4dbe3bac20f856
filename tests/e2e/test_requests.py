"""New request: words understood, near and not at all; a plan with two faults; launch."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.screens import Screens
from tests.e2e.stack import Stack

pytestmark = pytest.mark.e2e

TWO_FAULTS = """\
starloom: 1
name: Two faults
tasks:
  - {id: first, tool: disk.usage}
  - {id: first, tool: no.such.tool}
"""


def test_words_are_previewed_and_launched(page: Page, stack: Stack, screens: Screens, width: str) -> None:
    page.goto("/new")
    page.get_by_role("textbox", name="What should happen?").fill("how are my machines")
    expect(page.get_by_text("I understood")).to_be_visible()
    expect(page.get_by_text("What will run")).to_be_visible()
    screens.shoot(page, "new", "understood", width)
    page.keyboard.press("Control+Enter")
    page.wait_for_url(re.compile(r"/constellations/"))
    constellation = page.url.split("/constellations/")[1].split("?")[0].split("/")[0]
    assert stack.until_state(constellation, "succeeded", "partial", "failed") == "succeeded"
    expect(page.locator(".answer .sentence")).not_to_be_empty()
    screens.shoot(page, "constellation", "health", width)


def test_launching_what_was_shown_asks_nothing_again(page: Page, stack: Stack, width: str) -> None:
    """The preview's hash says that this very plan is approved, also when it began as words."""
    # To a folder of its own: the proof of a photo backup counts what else lies in the folder that it fills.
    page.goto("/new?q=copy%20Pictures%20from%20demo-phone%20to%20Elsewhere%20on%20demo-server")
    expect(page.get_by_text("What will run")).to_be_visible()
    page.get_by_role("button", name=re.compile("^Launch")).click()
    page.wait_for_url(re.compile(r"/constellations/"))
    constellation = page.url.split("/constellations/")[1].split("?")[0].split("/")[0]
    assert stack.until_state(constellation, "succeeded", "failed", "partial", "awaiting_approval") == "succeeded"


def test_near_words_start_nothing(page: Page, screens: Screens, width: str) -> None:
    page.goto("/new")
    page.get_by_role("textbox", name="What should happen?").fill("copy a folder")
    expect(page.get_by_text("Did you mean")).to_be_visible()
    launch = page.get_by_role("button", name=re.compile("^Launch"))
    expect(launch).to_have_attribute("aria-disabled", "true")
    screens.shoot(page, "new", "near", width)


def test_words_that_mean_nothing_name_a_way_on(page: Page, screens: Screens, width: str) -> None:
    page.goto("/new")
    page.get_by_role("textbox", name="What should happen?").fill("sing me a sea shanty")
    expect(page.get_by_text("No recipe fits these words.")).to_be_visible()
    screens.shoot(page, "new", "none", width)


def test_a_plan_with_two_faults_shows_both(page: Page, screens: Screens, width: str) -> None:
    page.goto("/new")
    page.get_by_role("tab", name="Build").click()
    page.get_by_role("tab", name="Text").click()
    page.get_by_role("textbox", name="Plan, as YAML or JSON").fill(TWO_FAULTS)
    page.get_by_role("tab", name="Rows").click()
    faults = page.get_by_role("list", name="Faults of this row")
    expect(faults).to_contain_text(["no.such.tool"])
    expect(faults.get_by_role("listitem")).to_have_count(2)
    screens.shoot(page, "new", "faults", width)


def test_recipes_are_listed_and_filled_in(page: Page, screens: Screens, width: str) -> None:
    page.goto("/recipes")
    page.get_by_role("article", name=re.compile("^Back up pictures, check")).wait_for()
    screens.shoot(page, "recipes", "all", width)
    page.goto("/new?recipe=disk-space")
    expect(page.get_by_text("What will run")).to_be_visible()
    screens.shoot(page, "new", "recipe", width)
