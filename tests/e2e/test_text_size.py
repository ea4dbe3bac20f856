"""Large text: the browser's own text size, and a phone at 200 %. Everything grows, and nothing lies over another."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, StorageState, expect

from tests.browsers import lean_browser
from tests.e2e.conftest import FLAGS, context_of, watched_page
from tests.e2e.large import layered
from tests.e2e.stack import Stack
from tests.e2e.windows import clipped
from tests.e2e.witness import Seen

pytestmark = pytest.mark.e2e

PLACES = ("", "new", "recipes", "schedules", "inbox", "activity", "settings", "devices")
FIELDS_MOST = 20
LARGE_PX = 24
HALF_A_PHONE = {"width": 195, "height": 422}
ROWS = 12
_IS_ON_TOP = """(one) => {
  const box = one.getBoundingClientRect();
  return one.contains(document.elementFromPoint(box.left + box.width / 2, box.top + box.height / 2));
}"""
_OVERLAPS = """() => {
  const parts = [...document.querySelectorAll(".bottombar > *, .bottombar > * > span")].filter((one) => {
    const {clipPath, display} = getComputedStyle(one);
    return clipPath === "none" && display !== "none" && !one.matches(".badge");
  });
  const found = [];
  for (const one of parts) for (const other of parts) {
    if (one === other || one.contains(other) || other.contains(one)) continue;
    const [a, b] = [one.getBoundingClientRect(), other.getBoundingClientRect()];
    if (a.left < b.right - 1 && b.left < a.right - 1) found.push(`${one.textContent} over ${other.textContent}`);
  }
  const bar = document.querySelector(".bottombar").getBoundingClientRect();
  const work = document.getElementById("main").getBoundingClientRect();
  if (bar.height > 0 && work.bottom > bar.top + 1) found.push("the bar over the page");
  return found;
}"""


@pytest.fixture
def large_text_page(browser: Browser, stack: Stack, width: str, session: StorageState, sample: Seen) -> Iterator[Page]:
    """A signed-in page of a browser whose person has set a larger text size."""
    del sample
    flags = [*FLAGS, f"--blink-settings=defaultFontSize={LARGE_PX}"]
    made = browser.browser_type.launch(executable_path=lean_browser(), args=flags)
    yield from watched_page(context_of(made, stack, width, session))
    made.close()


def faults_of(page: Page) -> list[str]:
    """Return what lies over something else, or is cut, in each place of the page."""
    faults: list[str] = []
    for place in PLACES:
        page.goto(f"/{place}")
        page.locator(".bottombar").wait_for(state="attached")
        faults += [f"/{place}: {one}" for one in [*page.evaluate(_OVERLAPS), *clipped(page)]]
    return faults


@pytest.mark.parametrize("width", ["phone"], indirect=True)
def test_half_of_a_phone_has_nothing_over_another(page: Page) -> None:
    page.set_viewport_size(HALF_A_PHONE)  # type: ignore[arg-type]
    assert faults_of(page) == []


@pytest.mark.parametrize("width", ["phone"], indirect=True)
def test_half_of_a_phone_keeps_launch_in_sight(page: Page) -> None:
    """It stood six screens down, behind the tasks of the plan; a field that is reached by Tab is not behind it."""
    page.set_viewport_size(HALF_A_PHONE)  # type: ignore[arg-type]
    page.goto("/new?q=back up the pictures of demo-phone to demo-server")
    launch = page.get_by_role("button", name="Launch", exact=True)
    expect(launch).to_be_enabled()
    expect(launch).to_be_in_viewport(ratio=1)
    fields = page.locator(".slot-field :is(select, input)")
    last = fields.nth(fields.count() - 1)
    page.get_by_role("textbox", name="What should happen?").focus()
    for _ in range(FIELDS_MOST):
        page.keyboard.press("Tab")
        field, bar = (page.locator(one).bounding_box() for one in (":focus", ".launchacts > .primary"))
        assert field
        assert bar
        assert field["y"] + field["height"] <= bar["y"], page.locator(":focus").evaluate("one => one.outerHTML")
        if last.evaluate("one => one === document.activeElement"):
            break
    expect(last).to_be_focused()


@pytest.mark.parametrize("width", ["phone"], indirect=True)
def test_a_row_reached_by_tab_is_not_below_the_buttons(page: Page, stack: Stack) -> None:
    made = stack.submit(layered(ROWS))
    stack.until_state(made, "succeeded")
    page.set_viewport_size(HALF_A_PHONE)  # type: ignore[arg-type]
    page.goto(f"/constellations/{made}?lens=list")
    page.locator(".taskrow").first.focus()
    for at in range(1, ROWS):
        page.keyboard.press("Tab")
        row = page.locator(".taskrow:focus")
        expect(row).to_have_count(1)
        assert row.evaluate(_IS_ON_TOP), f"row {at}"


@pytest.mark.parametrize("width", ["phone"], indirect=True)
def test_the_bar_below_a_sheet_is_not_reached(page: Page) -> None:
    page.goto("/devices?add=1&way=line")
    page.locator(".sheet").wait_for()
    expect(page.locator(".bottombar")).to_be_hidden()
    page.goto("/devices")
    expect(page.locator(".bottombar")).to_be_visible()


@pytest.mark.parametrize("width", ["wide", "phone"], indirect=True)
def test_the_text_size_of_the_browser_is_followed(large_text_page: Page, width: str) -> None:
    page = large_text_page
    page.goto("/schedules")
    button = page.get_by_role("button", name="New schedule").first
    assert button.evaluate("(one) => getComputedStyle(one).fontSize") == f"{14 * LARGE_PX // 16}px"
    box = button.bounding_box()
    assert box
    assert box["height"] == pytest.approx((28 if width == "wide" else 44) * LARGE_PX / 16, abs=1)
    assert faults_of(page) == []
