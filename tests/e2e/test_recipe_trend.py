"""The last runs of a recipe on its own page: the sentence, a row for each, and the way to one of them."""

from __future__ import annotations

import pytest
from playwright.sync_api import StorageState, expect

from tests.e2e.conftest import NewContext
from tests.e2e.screens import Screens
from tests.e2e.stack import Stack
from tests.e2e.witness import Seen
from tests.waiting import until

pytestmark = pytest.mark.e2e
WORDS = "how are my machines"
ENDED = {"succeeded", "partial", "failed"}


@pytest.mark.parametrize("width", ["wide", "phone"])
def test_a_recipe_shows_its_last_runs(
    stack: Stack, sample: Seen, session: StorageState, new_context: NewContext, screens: Screens, width: str
) -> None:
    del sample
    made = stack.client.create("/constellations", {"request": WORDS})["id"]
    until(lambda: stack.client.get(f"/constellations/{made}")["state"] in ENDED, "the run ended")
    context = new_context(width, session)
    page = context.new_page()
    page.goto("/recipes/fleet-health")
    card = page.get_by_role("region", name="Trend")
    expect(card.get_by_role("row").nth(1)).to_be_visible()
    screens.shoot(page, "recipe", "trend", width)
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    card.get_by_role("link").first.click()
    expect(page).to_have_url(f"{stack.url}/constellations/{made}")
    context.close()
