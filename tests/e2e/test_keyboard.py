"""Every control of a screen is reached by the keyboard alone, forwards and back."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.e2e

STOPS_MOST = 80
HERE = """() => {
  const at = document.activeElement;
  if (!at || at === document.body) return "";
  window.stops ??= [];
  if (!window.stops.includes(at)) window.stops.push(at);
  return `${window.stops.indexOf(at)} ${at.getAttribute("aria-label") ?? at.textContent.slice(0, 40)}`;
}"""


def walk(page: Page, key: str) -> list[str]:
    """Press a key until the keyboard is where it began; return the stops.

    In the bar of the browser the last stop of the page stays the active one.

    Raises:
        AssertionError: it does not come back.
    """
    stops: list[str] = []
    for _ in range(STOPS_MOST):
        page.keyboard.press(key)
        stop = page.evaluate(HERE)
        if stops and stop == stops[0]:
            return stops
        if stop:
            stops.append(stop)
    raise AssertionError(f"the keyboard stays: {stops}")


@pytest.mark.parametrize("key", ["Tab", "Shift+Tab"])
def test_the_keyboard_leaves_a_button_that_says_why_not(page_in_a_window: Page, key: str) -> None:
    """Beyond the last stop is the bar of the browser. The headless shell has none, and the keyboard stays there."""
    page = page_in_a_window
    page.goto("/new?way=build")
    row = page.get_by_role("button", name="Add a row").first
    row.wait_for()
    expect(page.get_by_role("button", name="Launch").first).to_have_attribute("aria-disabled", "true")
    page.get_by_role("textbox", name="Name of the plan").focus()
    stops = walk(page, key)
    for name in ("Launch", "Add a row"):
        assert any(name in stop for stop in stops), f"{name} is not reached: {stops}"
