"""A person's hand on the page: real mouse events on a wide screen, real touches on a phone, at a place on the screen.

A locator's own `click` may scroll and retry; here the browser alone decides which element a press at a point reaches.
"""

from __future__ import annotations

from dataclasses import dataclass

from playwright.sync_api import Locator, Page, expect

LONG_PRESS_MS = 900
SEEN_MS = 1000
"""After so long a person has seen what came under the pointer; the page takes no press on it before."""


@dataclass(frozen=True)
class Hand:
    """Presses with the mouse, or with a finger where the screen is touched."""

    page: Page
    touch: bool

    def press(self, x: float, y: float) -> None:
        if self.touch:
            self.page.touchscreen.tap(x, y)
        else:
            self.page.mouse.click(x, y)

    def press_on(self, what: Locator) -> None:
        self.press(*self.middle(what))

    def hold_on(self, what: Locator) -> None:
        """Ask for the menu: the right button of a mouse, a long touch of a finger."""
        x, y = self.middle(what)
        if not self.touch:
            self.page.mouse.click(x, y, button="right")
            return
        session = self.page.context.new_cdp_session(self.page)
        session.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [{"x": x, "y": y}]})
        self.page.wait_for_timeout(LONG_PRESS_MS)
        session.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
        session.detach()

    def middle(self, what: Locator) -> tuple[float, float]:
        """Return the middle of what stands still in view; a drawing may still be fitting itself in."""
        expect(what).to_be_in_viewport()
        last = what.bounding_box()
        while True:
            self.page.wait_for_timeout(50)
            box = what.bounding_box()
            assert box is not None, "it left the page before it was pressed"
            if box == last:
                return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
            last = box
