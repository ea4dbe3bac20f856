"""Plans of 1,000 and 5,000 tasks outside of any group: the page stays small, whatever it shows of them."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, Route, expect

from tests.e2e.large import layered
from tests.e2e.screens import ELEMENTS_MOST
from tests.e2e.stack import Stack
from tests.waiting import until

pytestmark = pytest.mark.e2e

_ELEMENTS = "() => document.getElementsByTagName('*').length"
_PAINTED = """() => {
  const canvas = document.querySelector("canvas.overview");
  if (!canvas?.width) return false;
  const {data} = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  return data.some((value) => value > 0);
}"""

# A card in view that neither the feed nor the map covers.
_BARE_CARD = """() => {
  for (const card of document.querySelectorAll(".node[data-task]")) {
    const box = card.getBoundingClientRect();
    const at = [box.left + box.width / 2, box.top + box.height / 2];
    if (card.contains(document.elementFromPoint(...at))) return at;
  }
  throw new Error("no card is in view");
}"""
_ON_THE_MAP = """() => {
  const canvas = document.querySelector(".minimap canvas");
  const {data} = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  const pixel = data.findIndex((value, index) => index % 4 === 3 && value > 0) / 4 | 0;
  const box = canvas.getBoundingClientRect();
  return [box.left + (pixel % canvas.width) / 2 + 1, box.top + Math.floor(pixel / canvas.width) / 2 + 1];
}"""


@pytest.mark.parametrize("width", ["wide"], indirect=True)
@pytest.mark.parametrize("size", [1_000, 5_000])
def test_a_large_plan_stays_within_the_bound(page: Page, stack: Stack, size: int) -> None:
    one = stack.submit(layered(size), hold=True)
    page.goto(f"/constellations/{one}")
    page.get_by_role("list", name="Tasks").get_by_role("button").first.wait_for()
    assert page.evaluate(_ELEMENTS) <= ELEMENTS_MOST, "the list comes first, and is small"
    page.get_by_role("tab", name="Graph", exact=True).click()
    until(lambda: page.evaluate(_PAINTED), "the drawing is painted")
    expect(page.locator(".react-flow__node")).to_have_count(0)
    assert page.evaluate(_ELEMENTS) <= ELEMENTS_MOST, "below the zoom at which cards can be read there are none"
    zoom_in = page.get_by_title("Zoom in (+)")

    def nearest() -> bool:
        """A press within the movement of the one before it adds little: press until it is as near as it gets."""
        zoom_in.click()
        assert page.evaluate(_ELEMENTS) <= ELEMENTS_MOST
        return "160 %" in page.locator(".zoom").inner_text()

    until(nearest, "zoomed in")
    x, y = page.evaluate(_ON_THE_MAP)
    page.mouse.click(x, y)
    until(lambda: page.locator(".react-flow__node").count() > 0, "cards where they can be read")
    assert page.evaluate(_ELEMENTS) <= ELEMENTS_MOST
    page.mouse.click(*page.evaluate(_BARE_CARD))
    expect(page).to_have_url(re.compile("/t/"))
    assert page.evaluate(_ELEMENTS) <= ELEMENTS_MOST


@pytest.mark.parametrize("width", ["wide"], indirect=True)
def test_a_pan_before_the_first_fit_hides_nothing(page: Page, stack: Stack) -> None:
    held: list[Route] = []
    page.route("**/layout.worker*", lambda route: held.append(route))
    one = stack.submit(layered(1_000), hold=True)
    page.goto(f"/constellations/{one}?lens=graph")
    expect(page.get_by_text("Placing 1000 tasks.")).to_be_in_viewport()
    drawing = page.locator(".react-flow__pane").bounding_box()
    assert drawing is not None
    page.mouse.move(drawing["x"] + drawing["width"] / 2, drawing["y"] + drawing["height"] / 2)
    page.mouse.wheel(0, 300)
    until(lambda: held, "the placement is asked for")
    for route in held:
        route.continue_()
    until(lambda: page.evaluate(_PAINTED), "the drawing is painted")
    expect(page.locator("canvas.overview")).to_be_visible()


@pytest.mark.parametrize("width", ["phone"], indirect=True)
def test_a_large_plan_that_has_not_begun_shows_its_first_cards_on_a_phone(page: Page, stack: Stack) -> None:
    one = stack.submit(layered(5_000), hold=True)
    page.goto(f"/constellations/{one}?lens=graph")
    expect(page.locator(".node[data-task]").first).to_be_in_viewport()
    page.touchscreen.tap(*page.evaluate(_BARE_CARD))
    expect(page).to_have_url(re.compile("/t/"))


@pytest.mark.parametrize("width", ["wide"], indirect=True)
def test_a_task_far_away_is_found_by_its_name_and_brought_into_view(page: Page, stack: Stack) -> None:
    one = stack.submit(layered(5_000), hold=True)
    page.goto(f"/constellations/{one}/t/t0?lens=graph")
    until(lambda: page.evaluate(_PAINTED), "the drawing is painted")
    zoom_in = page.get_by_title("Zoom in (+)")

    def nearest() -> bool:
        zoom_in.click()
        return "160 %" in page.locator(".zoom").inner_text()

    until(nearest, "zoomed in")
    page.keyboard.press("Control+k")
    page.keyboard.type("t4987")
    page.get_by_role("option", name="t4987").first.click()
    expect(page).to_have_url(re.compile("/t/t4987"))
    expect(page.locator('.node[data-task="t4987"]')).to_be_in_viewport()
