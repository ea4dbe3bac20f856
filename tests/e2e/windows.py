"""Twelve windows, and what of a page has room in one: the list or graph that a person works with, and its bars."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import Page

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

ANSWER_SHARE = 0.75
"""The part of a low window's height that an answer has, once it is scrolled to."""

AT_ONCE_SHARE = 0.53
"""The part of a low window's height that an answer has before anything is scrolled."""

LOW = 560
"""As in `narrow.css`: a window of this height at the most is low."""

_ROOM = """(selector) => {
  const element = document.querySelector(selector);
  const seen = () => {
    const box = element.getBoundingClientRect();
    const ceiling = Math.max(0, document.querySelector(".top").getBoundingClientRect().bottom);
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

# A word of up to twelve letters has its line for itself at least; longer ones (paths, hashes) may break anywhere.
_BROKEN = r"""async () => {
  // A change of size reaches the parts that measure themselves a frame later.
  for (let frame = 0; frame < 2; frame += 1) await new Promise((next) => requestAnimationFrame(next));
  const found = [];
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = texts.nextNode(); node && found.length < 20; node = texts.nextNode()) {
    for (const word of node.data.matchAll(/(?<!\p{L})\p{L}{2,12}(?!\p{L})/gu)) {
      const range = document.createRange();
      range.setStart(node, word.index);
      range.setEnd(node, word.index + word[0].length);
      const tops = new Set([...range.getClientRects()].filter((r) => r.width > 0).map((r) => Math.round(r.top)));
      const around = node.data.slice(Math.max(0, word.index - 1), word.index + word[0].length + 1);
      if (tops.size > 1 && !/[-_./\d]/.test(around)) found.push(`${word[0]} of ${node.data.trim().slice(0, 60)}`);
    }
  }
  return found;
}"""


def room(page: Page, selector: str) -> dict[str, Any]:
    """Return how high a part is, and how much of it is seen at first and when it is scrolled to."""
    found: dict[str, Any] = page.evaluate(_ROOM, selector)
    return found


def shares(page: Page, selector: str) -> tuple[float, float]:
    """Return which part of the window's height a part of the page has at first, and once it is scrolled to."""
    size = page.viewport_size
    assert size is not None, "the page has no size"
    found = room(page, selector)
    return found["first"] / size["height"], found["reached"] / size["height"]


def suffices(found: dict[str, Any]) -> bool:
    """Tell whether a person can work in this room."""
    return bool(found["high"] >= LEAST and found["reached"] >= LEAST and found["first"] >= AT_FIRST)


def clipped(page: Page) -> list[str]:
    """Return the bars whose content is cut, by their scroll sizes."""
    found: list[str] = page.evaluate(_CLIPPED)
    return found


def broken_words(page: Page) -> list[str]:
    """Return the short words that are written over more than one line, for want of width."""
    found: list[str] = page.evaluate(_BROKEN)
    return found
