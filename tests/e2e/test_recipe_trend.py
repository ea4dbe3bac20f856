"""The last runs of a recipe on its own page, and of a schedule in its row: the sentence, a row each, the way to one."""

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


@pytest.mark.parametrize("width", ["wide", "phone"])
def test_a_schedule_shows_how_long_its_runs_took(
    stack: Stack, sample: Seen, session: StorageState, new_context: NewContext, screens: Screens, width: str
) -> None:
    del sample
    name = f"Watched {width}"
    body = {"cron": "0 3 * * *", "name": name, "request": WORDS, "zone": "UTC"}
    schedule = stack.client.create("/schedules", body)["id"]
    stack.client.post(f"/schedules/{schedule}/run")
    until(lambda: stack.client.get(f"/schedule-runs/{schedule}")["runs"], "the run ended")
    (run,) = stack.client.get(f"/schedule-runs/{schedule}")["runs"]
    context = new_context(width, session)
    page = context.new_page()
    page.goto("/schedules")
    row = page.get_by_role("article", name=name)
    row.get_by_text("How long it took").click()
    card = row.get_by_role("region", name="Durations")
    expect(card.get_by_role("row")).to_have_count(2)
    expect(card.get_by_text("1 run so far")).to_be_visible()
    screens.shoot(page, "schedule", "durations", width)
    inside = "card => card.getBoundingClientRect().right <= card.closest('article').getBoundingClientRect().right"
    assert card.evaluate(inside), "the card ends where its row does"
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    card.get_by_role("link").first.click()
    expect(page).to_have_url(f"{stack.url}/constellations/{run['constellation']}")
    stack.client.delete(f"/schedules/{schedule}")
    context.close()
