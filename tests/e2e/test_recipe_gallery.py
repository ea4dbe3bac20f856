"""The gallery of recipes: by purpose, with pictures and sentences for this fleet; a try with the demo devices runs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, StorageState, expect

from tests.e2e.conftest import NewContext
from tests.e2e.screens import Screens, axe_violations
from tests.e2e.stack import SERVER, Stack
from tests.e2e.witness import Seen

pytestmark = pytest.mark.e2e

SIZES = {"wide": (1440, 900), "phone": (390, 844), "sideways": (844, 390), "doubled": (720, 450)}
"""A window of 1440x900 at 200 % has 720x450 CSS pixels."""
_CUT = """() => [...document.querySelectorAll(".recipecard, .recipecard *")]
  .filter((one) => !one.closest("svg") && getComputedStyle(one).display !== "inline")
  .filter((one) => one.scrollWidth > one.clientWidth + 1 && one.clientWidth > 0)
  .map((one) => [one.scrollWidth, one.clientWidth, one.outerHTML.slice(0, 160), [...one.querySelectorAll("*")]
    .filter((part) => part.getBoundingClientRect().right > one.getBoundingClientRect().right + 1)
    .map((part) => part.outerHTML.slice(0, 80)).slice(0, 3)].join(" | "))"""


def card(page: Page, title: str) -> Locator:
    return page.get_by_role("article", name=re.compile(title))


def asks_for(link: Locator) -> Any:
    return link.get_attribute("href")


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("width", ["wide"], indirect=True)
def test_the_gallery_fits_every_window(page: Page, screens: Screens, size: str, width: str) -> None:
    wide, high = SIZES[size]
    page.set_viewport_size({"width": wide, "height": high})
    page.goto("/recipes")
    for title in ("Keep it safe", "Find and move files", "See how things are", "Look after machines", "Build, test"):
        expect(page.get_by_role("region", name=re.compile(f"^{title}"))).to_be_visible()
    cards = page.get_by_role("article")
    assert cards.count() >= 21
    expect(page.get_by_role("img", name=re.compile("tasks? in"))).to_have_count(cards.count())
    texts = [text for one in page.locator(".recipecard .sentence").all() if (text := one.inner_text())]
    assert len(texts) == cards.count()
    assert not [text for text in texts if "{" in text or "}" in text]
    cut = page.evaluate(_CUT)
    assert cut == [], "\n".join(cut)
    assert axe_violations(page) == []
    screens.shoot(page, "recipes", f"gallery-{size}", "wide")


def test_a_sentence_opens_its_plan_and_starts_nothing(page: Page, stack: Stack, width: str) -> None:
    before = len(stack.client.get("/constellations")["items"])
    page.goto("/recipes")
    card(page, "How all machines are").get_by_role("link", name="how are my machines").click()
    expect(page).to_have_url(re.compile(r"/new\?q=how"))
    expect(page.get_by_text("I understood")).to_be_visible()
    expect(page.get_by_text("What will run")).to_be_visible()
    assert len(stack.client.get("/constellations")["items"]) == before


def test_every_try_with_the_demo_devices_runs_to_its_answer(page: Page, stack: Stack, width: str) -> None:
    """By the pointer, one after the other; all of them on the wide page, the first one by a finger on the phone."""
    page.goto("/recipes")
    page.get_by_role("article").first.wait_for()
    tries = page.get_by_role("link", name="Try with the demo devices")
    count = tries.count() if width == "wide" else 1
    assert tries.count() >= 6
    ended: dict[str, str] = {}
    for at in range(count):
        page.goto("/recipes")
        one = tries.nth(at)
        one.wait_for()
        one.scroll_into_view_if_needed()
        one.tap() if width == "phone" else one.click()
        words = page.get_by_role("textbox", name="What should happen?").input_value()
        expect(page.get_by_text("What will run")).to_be_visible()
        launch = page.get_by_role("button", name=re.compile("^Launch"))
        expect(launch).not_to_have_attribute("aria-disabled", "true")
        launch.click()
        page.wait_for_url(re.compile(r"/constellations/"))
        made = page.url.split("/constellations/")[1].split("?")[0].split("/")[0]
        ended[words] = stack.until_state(made, "succeeded", "partial", "failed", "awaiting_approval")
        used = {task.get("device_name") for task in stack.client.get(f"/constellations/{made}")["tasks"]}
        named = {name for name in used if name and f" {name}" in f" {words}".replace(",", " ")}
        assert named, (words, used)
        assert all(name.startswith("demo-") for name in named), (words, used)
    assert set(ended.values()) == {"succeeded"}, ended


@pytest.fixture
def without_demo(stack: Stack, session: StorageState, sample: Seen, new_context: NewContext) -> Iterator[Page]:
    """A page whose hub tells that its demo devices are not running."""
    del sample
    context = new_context("wide", session)
    page = context.new_page()

    def gone(route: Any) -> None:
        answer = route.fetch()
        found = answer.json()
        for item in found["items"]:
            if item["demo"]:
                item["demo"].update(words="", devices=[])
        route.fulfill(response=answer, json=found)

    page.route("**/api/v1/recipes", gone)
    yield page
    context.close()


def test_without_running_demo_devices_the_gallery_says_once_how_to_have_them(without_demo: Page) -> None:
    without_demo.goto("/recipes")
    said = without_demo.get_by_text(re.compile("can be tried with the demo devices"))
    expect(said).to_have_count(1)
    expect(said).to_be_visible()
    expect(without_demo.get_by_role("link", name="Try with the demo devices")).to_have_count(0)


def test_a_slot_without_a_device_is_told_with_the_way(page: Page, stack: Stack, width: str) -> None:
    page.goto("/recipes")
    lacking = card(page, "Take a picture with a phone")
    expect(lacking).to_contain_text("the browser of a phone can")
    lacking.get_by_role("link", name="Add a phone").click()
    expect(page).to_have_url(re.compile(r"/devices\?add=1&way=phone"))
    assert stack.devices()[SERVER]["link"] == "online"
