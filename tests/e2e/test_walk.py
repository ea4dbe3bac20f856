"""Every visible control of every screen is pressed once; none stays silent.

The short form walks the constellation, wide and on a phone. `make walk` walks all screens in four sizes and two themes.
"""

from __future__ import annotations

import json
import os
import re

import pytest
from playwright.sync_api import Page, StorageState

from tests.e2e.conftest import NewContext
from tests.e2e.pointer import Hand
from tests.e2e.screens import Screens
from tests.e2e.stack import Stack
from tests.e2e.walk import Walk, controls_in_the_way
from tests.e2e.witness import Seen

pytestmark = pytest.mark.e2e

WHOLE = os.environ.get("WALK") == "whole"
SIZES = {"wide": (1440, 900), "phone": (390, 844), "sideways": (844, 390), "doubled": (720, 450)}
WINDOWS = {**SIZES, "small": (320, 480)}
"""The windows in which no control may be covered; nothing is pressed there, so all of them are quick."""
SHORT = ["wide", "phone"]
THEMES = ("light", "dark") if WHOLE else ("light",)

OF_A_CONSTELLATION = {
    "/constellations/{sample}?lens=graph": ".node[data-task]",
    "/constellations/{sample}?lens=list": ".taskrow",
    "/constellations/{sample}/t/send.3?lens=list": ".inspector .tabbody",
}
OTHERS = {
    "/": ".ask",
    "/new": "#main h2, #main .ask",
    "/constellations": "a[href^='/constellations/c-']",
    "/devices": ".fleethead, #main table, #main a",
    "/recipes": "#main a",
    "/inbox": "#main h2, #main .empty",
    "/activity": "#main li, #main .empty",
    "/schedules": "#main h2, #main .empty",
    "/settings": "#main summary",
}


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("size", list(SIZES) if WHOLE else SHORT)
def test_no_control_stays_silent(
    size: str, theme: str, session: StorageState, sample: Seen, new_context: NewContext
) -> None:
    touch = size in ("phone", "sideways")
    context = new_context("phone" if touch else "wide", session)
    page = context.new_page()
    wide, high = SIZES[size]
    page.set_viewport_size({"width": wide, "height": high})
    page.emulate_media(color_scheme="dark" if theme == "dark" else "light")
    walk = Walk(set(), [], each_task=WHOLE)
    with walk.watching(page):
        for path, ready in {**OF_A_CONSTELLATION, **(OTHERS if WHOLE else {})}.items():
            walk.over(page, Hand(page, touch), path.format(sample=sample.constellation), ready)
    context.close()
    figures = {"controls": len(walk.pressed), "dead_controls": len(walk.dead), "missed_presses": walk.missed}
    print(f"\n{size} {theme}: {json.dumps(figures)}")
    assert len(walk.pressed) > 15, walk.pressed
    cards = [kind for kind in walk.pressed if kind.startswith(("button.node", "button.pip"))]
    assert cards, "no card of the graph was in view"
    assert not walk.dead, "\n".join(walk.dead)


@pytest.mark.parametrize("width", ["wide"], indirect=True)
@pytest.mark.parametrize("window", list(WINDOWS))
def test_no_control_is_covered(page: Page, sample: Seen, screens: Screens, window: str) -> None:
    wide, high = WINDOWS[window]
    page.set_viewport_size({"width": wide, "height": high})
    faults: list[str] = []
    for path, ready in {**OF_A_CONSTELLATION, "/constellations/{sample}": ".stage", **OTHERS}.items():
        page.goto(path.format(sample=sample.constellation))
        page.locator(ready).first.wait_for()
        screens.snap(page, f"walk-{window}-{len(path)}.png")
        faults += [f"{path}: {one}" for one in controls_in_the_way(page)]
    assert faults == [], "\n".join(faults)


UNDER_A_BAR = """<!doctype html><title>Bar</title><main id="main" style="height: 3000px">
<button style="position: fixed; bottom: 4px">Under</button> <button style="width: 3px; padding: 0">Narrow</button>
<button>Free</button>
<select aria-label="Cut" style="width: 40px"><option>As it was before</option></select>
<select aria-label="Dotted" style="width: 60px"><option>Now and then</option></select>
<div style="width: 60px; overflow: auto hidden; white-space: nowrap"><button role="tab" aria-selected="true"
style="width: 120px">Contact sheet</button></div>
<a href="/far" style="position: fixed; left: -400px">Far</a></main>
<div style="position: fixed; bottom: 0; left: 0; right: 0; height: 60px">A bar</div>
"""


@pytest.mark.parametrize("width", ["wide"], indirect=True)
def test_the_walk_tells_a_control_that_is_covered(page: Page) -> None:
    page.route("**/under-a-bar", lambda route: route.fulfill(content_type="text/html", body=UNDER_A_BAR))
    page.goto("/under-a-bar")
    tab, under, narrow, cut, dotted, far = controls_in_the_way(page)
    assert tab == "button Contact sheet#0 is cut to 60 pixels by its bar"
    assert under.startswith("button Under#0 lies under <div")
    assert narrow.startswith("button Narrow#0 is 4x")
    assert re.match(r"select Cut#0 shows \d+ pixels of its words", cut)
    assert dotted.startswith("select Dotted#0 shows")
    assert far == "a Far#0 is outside of the window"


# Nothing on this page changes by itself but a number, so each answer is that of a press.
BESIDE_A_CLOCK = """<!doctype html><title>Walk</title><main id="main">
<button>Silent</button> <button onclick="this.after('pressed')">Speaks</button>
<button onclick="fetch('/api/v1/nothing', {method: 'POST'}).catch(() => {})">Asks</button>
<button onclick="navigator.sendBeacon('/api/v1/nothing')">Leaks</button> <p>used <span>0</span> s ago</p></main>
<script>let age = 0; setInterval(() => { document.querySelector("span").firstChild.data = ++age; }, 700)</script>
"""


@pytest.mark.parametrize("width", ["wide"], indirect=True)
def test_the_walk_tells_a_control_that_stays_silent(page: Page, stack: Stack) -> None:
    """A request that would change the hub is an answer and is held; one that gets past the hold is a fault."""
    page.route("**/beside-a-clock", lambda route: route.fulfill(content_type="text/html", body=BESIDE_A_CLOCK))
    walk = Walk(set(), [])
    with walk.watching(page):
        walk.over(page, Hand(page, touch=False), "/beside-a-clock", "#main")
    assert walk.pressed == {f"button {name}" for name in ("Silent", "Speaks", "Asks", "Leaks")}
    leaked = f"POST {stack.url}/api/v1/nothing went to the hub"
    assert walk.dead == ["/beside-a-clock: button Silent#0", leaked, "/beside-a-clock: button Leaks#0"]
