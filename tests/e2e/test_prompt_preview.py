"""New request with a model: one press shows the exact text that then leaves, and the share of results is chosen."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.e2e.conftest import ON_BOTH
from tests.e2e.pointer import Hand
from tests.e2e.screens import NARROW_WIDTHS, Screens
from tests.e2e.stack import Stack
from tests.models.server import Say
from tests.models.threaded import a_model
from tests.waiting import SLOWER, until

pytestmark = pytest.mark.e2e

WORDS = "tell me a riddle about the moon and three cats"
NO = Say(tool={"kind": "cannot", "text": "no"})
WAIT_MS = 30_000 * SLOWER


def typed(page: Page) -> Locator:
    """Type the words and return the card that says where they would go."""
    page.goto("/new")
    page.get_by_role("textbox", name="What should happen?").fill(WORDS)
    card = page.get_by_role("region", name="What leaves this machine")
    expect(card).to_be_visible(timeout=WAIT_MS)
    return card


@ON_BOTH
def test_the_text_on_the_page_is_the_text_that_leaves(page: Page, stack: Stack, screens: Screens, width: str) -> None:
    hand = Hand(page, touch=width == "phone")
    with a_model(NO) as fake:
        stack.client.put("/model", {"url": fake.url, "model": "fake-1", "share": "cards"})
        try:
            card = typed(page)
            offered = card.get_by_role("combobox").locator("option").all_text_contents()
            assert offered == [
                "As the hub is set. Cards: shapes and facts, no content of files",
                "Names only: it cannot look",
                "Cards: shapes and facts, no content of files",
            ]
            card.get_by_role("combobox").select_option("names")
            button = card.get_by_role("button", name="Show the exact text")
            button.scroll_into_view_if_needed()
            hand.press_on(button)
            told = card.get_by_role("status")
            expect(told).to_contain_text(f"To fake-1 at 127.0.0.1:{fake.port}: ", timeout=WAIT_MS)
            expect(told).to_contain_text("it costs no money, since the model is on this machine")
            expect(told).to_contain_text("Results: Names only: it cannot look")
            texts = card.get_by_role("region", name="The exact text").locator("pre").all_text_contents()
            assert fake.asked == []
            screens.shoot(page, "new", "prompt", width)
            launch = page.get_by_role("button", name="Have the model plan it")
            launch.scroll_into_view_if_needed()
            hand.press_on(launch)
            page.wait_for_url("**/constellations/**")
            made = page.url.split("/constellations/")[1].split("?")[0].split("/")[0]
            stack.until_state(made, "failed")
        finally:
            stack.client.delete("/model")
    instructions, message = (turn["content"] for turn in fake.asked[0]["messages"])
    assert instructions == texts[0]
    assert message == "\n\n".join(texts[1:])
    assert "You cannot look" in message


def test_it_is_reached_and_read_by_the_keyboard(page: Page, stack: Stack) -> None:
    with a_model(NO) as fake:
        stack.client.put("/model", {"url": fake.url, "model": "fake-1"})
        try:
            card = typed(page)
            card.get_by_role("combobox").focus()
            page.keyboard.press("Tab")
            while page.evaluate("document.activeElement.tagName") == "A":
                page.keyboard.press("Tab")
            expect(card.get_by_role("button", name="Show the exact text")).to_be_focused()
            page.keyboard.press("Enter")
            text = card.get_by_role("region", name="The exact text")
            expect(text).to_be_visible(timeout=WAIT_MS)
            page.keyboard.press("Tab")
            expect(text).to_be_focused()
            page.keyboard.press("End")
            until(lambda: page.evaluate("document.activeElement.scrollTop") > 0, "the text is scrolled to its end")
            button = card.get_by_role("button", name="Hide the text")
            expect(button).to_have_attribute("aria-expanded", "true")
        finally:
            stack.client.delete("/model")


def test_it_fits_the_narrowest_screen(page: Page, stack: Stack, width: str) -> None:
    with a_model(NO) as fake:
        stack.client.put("/model", {"url": fake.url, "model": "fake-1", "share": "names"})
        try:
            page.set_viewport_size({"width": min(NARROW_WIDTHS), "height": 640})
            card = typed(page)
            expect(card).to_contain_text("Change that in Settings")
            card.get_by_role("button", name="Show the exact text").click()
            expect(card.get_by_role("region", name="The exact text")).to_be_visible(timeout=WAIT_MS)
            wide = page.evaluate("document.documentElement.scrollWidth")
            assert wide <= min(NARROW_WIDTHS)
            for control in ("combobox", "button"):
                box = card.get_by_role(control).first.bounding_box()
                assert box is not None
                assert box["x"] >= 0
                assert box["x"] + box["width"] <= min(NARROW_WIDTHS)
        finally:
            stack.client.delete("/model")
