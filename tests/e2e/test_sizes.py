"""Twelve windows, from a small phone to a desk, held upright and sideways and at 200 %: the work has room in each."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page

from tests.e2e.screens import FOLDER
from tests.e2e.witness import Seen

pytestmark = [pytest.mark.e2e]

SIZES = [
    (320, 480),
    (360, 640),
    (390, 844),
    (430, 932),
    (667, 375),
    (844, 390),
    (640, 400),
    (720, 450),
    (768, 1024),
    (1024, 768),
    (1280, 720),
    (1440, 900),
]
LEAST = 150
"""How many pixels of list or graph a person works with at the least: three rows of a phone."""

AT_FIRST = 44
"""How many of them are in the window before anything is scrolled: one row."""

_ROOM = """(selector) => {
  const element = document.querySelector(selector);
  const seen = () => {
    const box = element.getBoundingClientRect();
    const ceiling = document.querySelector(".top").getBoundingClientRect().bottom;
    const bars = [...document.querySelectorAll(".bottombar, .thumb")].map((bar) => bar.getBoundingClientRect());
    const floor = Math.min(innerHeight, ...bars.filter((bar) => bar.height > 0).map((bar) => bar.top));
    return Math.min(box.bottom, floor) - Math.max(box.top, ceiling);
  };
  const first = seen();
  element.scrollIntoView({block: "center"});
  const found = {first, reached: seen(), high: element.clientHeight};
  document.getElementById("main").scrollTo(0, 0);
  return found;
}"""
_CLIPPED = """() => {
  const found = [];
  const bars = ".top, .band, .thumb, .tools, .bottombar, .inspector > header, .inspector > footer";
  for (const one of document.querySelectorAll(bars)) {
    const {display, overflowX, overflowY} = getComputedStyle(one);
    if (display === "none") continue;
    const name = one.className || one.tagName;
    if (one.scrollWidth > one.clientWidth + 1 && overflowX !== "auto") found.push(`${name} is cut at its side`);
    if (one.scrollHeight > one.clientHeight + 1 && overflowY !== "auto") found.push(`${name} is cut below`);
  }
  const wide = document.documentElement;
  if (wide.scrollWidth > wide.clientWidth) found.push("the page is wider than its window");
  return found;
}"""


@pytest.mark.parametrize("width", ["wide"], indirect=True)
def test_every_size_leaves_room_for_the_work(page: Page, sample: Seen) -> None:
    faults: list[str] = []
    FOLDER.mkdir(exist_ok=True)
    for wide, high in SIZES:
        page.set_viewport_size({"width": wide, "height": high})
        for lens, selector in (("list", ".tasklist"), ("graph", ".flow")):
            page.goto(f"/constellations/{sample.constellation}?lens={lens}")
            page.locator(selector).wait_for(state="attached")
            room: dict[str, Any] = page.evaluate(_ROOM, selector)
            if room["high"] < LEAST or room["reached"] < LEAST or room["first"] < AT_FIRST:
                faults.append(f"{wide}x{high} {lens}: {room}")
            faults += [f"{wide}x{high} {lens}: {one}" for one in page.evaluate(_CLIPPED)]
            page.screenshot(path=FOLDER / f"size-{wide}x{high}-{lens}.png")
        page.goto(f"/constellations/{sample.constellation}/t/send.3?lens=list")
        page.locator(".inspector .tabbody").wait_for()
        body: dict[str, Any] = page.evaluate(_ROOM, ".inspector .tabbody")
        if body["high"] < 20 or body["reached"] < 20:
            faults.append(f"{wide}x{high} task: {body}")
        faults += [f"{wide}x{high} task: {one}" for one in page.evaluate(_CLIPPED)]
    assert not faults, "\n".join(faults)
