"""Presses every visible control of a screen once, as a person does, and tells which of them answered nothing.

An answer is a change of the document, the address, the focus of a field, a request, a window, a download or a file
dialog. Requests that would change the hub count as answers and go no further, so a walk leaves everything as it was.

A control is silent if a click reached it and nothing followed. A press that never became a click of this control, on a
machine that draws more slowly than it is touched, is tried again; a control that no press reaches is named as well.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from playwright.sync_api import Error, Page, Request

from tests.e2e.pointer import Hand
from tests.waiting import SLOWER

UNSAFE = ("POST", "PUT", "PATCH", "DELETE")
HARMLESS = re.compile(r"/api/v1/(live|constellations/preview|schedule-preview)")
"""Sent by the page without a person; they change nothing and are let through."""

OF_A_TASK = ("button.node", "button.pip", "button.taskrow")
ANSWER_MS = 1_500 * SLOWER
PRESSES = 3
STEP_MS = 25
STILL_MS = 300
"""So long nothing on the page changes before a press: what changes by itself is no answer, and no press misses."""
STILL_WITHIN_MS = 5_000 * SLOWER

# A control that is on already, or says why it cannot be used, owes no answer.
# `whole`: those as well, because a person reads them.
_CONTROLS = """(whole) => {
  const seen = new Map();
  const all = document.querySelectorAll(
    "button, a[href], input, select, textarea, summary, [role=tab], [role=menuitem], [data-task]");
  const found = [];
  // On a phone a task or a device is a sheet over the whole page.
  const sheet = [...document.querySelectorAll(".inspector, .sheet")]
    .find((one) => getComputedStyle(one).position === "fixed");
  for (const one of all) {
    if (sheet && !sheet.contains(one)) continue;
    if (one.closest("[popover]:not(:popover-open), dialog:not([open])")) continue;
    // What a closed fold holds has a place, and is not drawn.
    if (!one.checkVisibility()) continue;
    const box = one.getBoundingClientRect();
    const style = getComputedStyle(one);
    if (box.width < 2 || box.height < 2 || style.visibility === "hidden" || one.closest(".sr")) continue;
    const flow = one.closest(".react-flow");
    if (one.closest(".react-flow__viewport")) {
      // A drawing is panned, not scrolled: a card outside its view, or below a panel, is not to be seen.
      const hit = document.elementFromPoint(box.left + box.width / 2, box.top + box.height / 2);
      if (!hit || !flow.contains(hit) || !(one.contains(hit) || hit.contains(one))) continue;
    }
    const off = one.disabled || one.getAttribute("aria-disabled") === "true";
    const on = "[aria-current], [aria-selected=true], [aria-pressed=true], input:checked[type=radio]";
    if (!whole && (off || one.matches(on) || (one.href && one.href === location.href))) continue;
    const text = (one.getAttribute("aria-label") || one.title || one.innerText || one.placeholder || "").trim();
    const name = one.tagName.toLowerCase() + (one.className ? "." + String(one.className).split(" ")[0] : "") +
      " " + text.replaceAll(/\\s+/g, " ").slice(0, 48);
    const number = seen.get(name) ?? 0;
    seen.set(name, number + 1);
    one.dataset.walk = name + "#" + number;
    found.push(one.dataset.walk);
  }
  return found;
}"""
# Returns where a control stands, once it stood there before and after so long a time without a change.
# The page waits by itself: to be asked every few milliseconds from outside costs it as much as a reload.
_AIM = """async ([name, stillMs, withinMs, stepMs]) => {
  const controls = CONTROLS;
  let changed = performance.now();
  const until = changed + withinMs;
  const watch = new MutationObserver(() => { changed = performance.now(); });
  watch.observe(document.documentElement, {subtree: true, childList: true, characterData: true,
    attributes: true, attributeFilter: ["style", "class", "transform", "aria-busy", "hidden"]});
  const aim = () => {
    controls(false);
    const one = [...document.querySelectorAll("[data-walk]")].find((each) => each.dataset.walk === name);
    if (!one) return null;
    // The drawing takes back every scroll within it, one frame later.
    if (!one.closest(".react-flow__viewport")) one.scrollIntoView({block: "center", inline: "center"});
    const box = one.getBoundingClientRect();
    const at = [box.left + box.width / 2, box.top + box.height / 2];
    const hit = document.elementFromPoint(...at);
    const over = hit && (one.contains(hit) || hit.contains(one) || hit.closest("label")?.contains(one));
    return {at, cover: over ? "" : (hit ? hit.outerHTML.slice(0, 90) : "nothing")};
  };
  let found = aim();
  for (;;) {
    await new Promise((next) => setTimeout(next, stepMs));
    const late = performance.now() >= until;
    if (!late && performance.now() - changed < stillMs) continue;
    const before = JSON.stringify(found);
    found = aim();
    if (late || name === null || (found && !found.cover && JSON.stringify(found) === before)) break;
    changed = performance.now();
  }
  watch.disconnect();
  return found;
}""".replace("CONTROLS", _CONTROLS)
# In the page, not by a route of Playwright: with one the browser keeps nothing, and compiles the page at every press.
_HOLD = """{
  const send = window.fetch;
  window.fetch = (asked, options) => {
    const method = (options?.method ?? asked.method ?? "GET").toUpperCase();
    if (!UNSAFE.includes(method) || HARMLESS.test(asked.url ?? asked)) return send(asked, options);
    window.walked?.answers.push("request");
    return Promise.reject(new TypeError("Failed to fetch"));
  };
}""".replace("UNSAFE", json.dumps(UNSAFE)).replace("HARMLESS", f"new RegExp({json.dumps(HARMLESS.pattern)})")
# The middle of the widest line of a control: a link that is broken over two lines has nothing in the middle of its box.
# A drawing has its own scale, and is zoomed in to be read.
_COVERED = """([least, words, arrow]) => {
  const found = [];
  // A bar of tabs scrolls; the chosen one is read whole, and of the next one a person has to see what it is.
  const scrolls = (part) => (getComputedStyle(part).overflowX === "visible" ? scrolls(part.parentElement) : part);
  const tabs = "[role=tab][data-walk][aria-selected=true], [role=tab][aria-selected=true] + [role=tab][data-walk]";
  for (const one of document.querySelectorAll(tabs)) {
    const [box, bar] = [one, scrolls(one.parentElement)].map((part) => part.getBoundingClientRect());
    const seen = Math.min(box.right, bar.right) - Math.max(box.left, bar.left);
    const whole = one.matches("[aria-selected=true]") ? box.width : Math.min(box.width, 2 * words);
    if (seen > 1 && seen < whole - 1)
      found.push(`${one.dataset.walk} is cut to ${Math.round(seen)} pixels by its bar`);
  }
  const pen = document.createElement("canvas").getContext("2d");
  // What a cut control still shows of its words, in pixels; null where they are whole.
  const shown = (one) => {
    if (one.matches("select")) {
      const style = getComputedStyle(one);
      pen.font = style.font;
      const room = one.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight) - arrow;
      const whole = pen.measureText(one.selectedOptions[0]?.text ?? "").width;
      return whole > room + 1 ? room - pen.measureText("...").width : null;
    }
    // Words for a screen reader alone are one pixel wide.
    const cut = [one, ...one.querySelectorAll("*")].filter((part) => part.innerText && part.clientWidth > 1 &&
      part.scrollWidth > part.clientWidth + 1 && getComputedStyle(part).overflowX !== "visible");
    return cut.length > 0 ? Math.min(...cut.map((part) => part.clientWidth)) : null;
  };
  for (const one of document.querySelectorAll("[data-walk]")) {
    const drawn = one.closest(".react-flow__viewport");
    if (!drawn) one.scrollIntoView({block: "center", inline: "center"});
    const lines = [...one.getClientRects()].sort((a, b) => b.width - a.width);
    if (lines.length === 0) continue;
    const [box] = lines;
    const hit = document.elementFromPoint(box.left + box.width / 2, box.top + box.height / 2);
    const rest = drawn ? null : shown(one);
    if (!hit) found.push(`${one.dataset.walk} is outside of the window`);
    else if (!one.contains(hit) && !hit.contains(one) && !hit.closest("label")?.contains(one))
      found.push(`${one.dataset.walk} lies under ${hit.outerHTML.slice(0, 90)}`);
    else if (!drawn && (box.width < least || box.height < least))
      found.push(`${one.dataset.walk} is ${Math.round(box.width)}x${Math.round(box.height)} pixels`);
    else if (rest !== null && rest < words)
      found.push(`${one.dataset.walk} shows ${Math.round(rest)} pixels of its words`);
  }
  return found;
}"""
LEAST_PX = 12
"""A control that is smaller cannot be hit."""
ARROW_PX = 20
"""The room that the arrow of a choice takes."""
WORDS_PX = 28
"""Of words that are cut, so much at least is shown: three or four letters."""

# Numbers run by themselves: a clock, an age. Only what else changes is an answer.
_WATCH = """(name) => {
  const one = [...document.querySelectorAll("[data-walk]")].find((each) => each.dataset.walk === name);
  const plain = (text) => (text ?? "").replaceAll(/\\d+|ms|s|min|h/g, "");
  window.walked = {answers: [], at: location.href, value: one.checked, reached: false, hit: "nothing"};
  const reach = (event) => {
    window.walked.hit = event.target.outerHTML?.slice(0, 90) ?? "the document";
    window.walked.reached ||= one.contains(event.target) || Boolean(event.target.closest?.("label")?.contains(one));
  };
  window.walkReach && removeEventListener("click", window.walkReach, true);
  window.walkReach = reach;
  addEventListener("click", reach, true);
  const note = (what) => window.walked.answers.length < 5 && window.walked.answers.push(what);
  window.walkWatch?.disconnect();
  window.walkWatch = new MutationObserver((list) => {
    for (const change of list) {
      if (change.type === "characterData") {
        if (plain(change.oldValue) !== plain(change.target.data)) note("text");
      } else if (change.type === "attributes") {
        if (change.attributeName !== "data-walk" &&
            change.oldValue !== change.target.getAttribute(change.attributeName)) note(change.attributeName);
      } else note("elements");
    }
  });
  window.walkWatch.observe(document.documentElement, {subtree: true, childList: true, characterData: true,
    attributes: true, attributeOldValue: true, characterDataOldValue: true});
  one.addEventListener("focus", () => one.matches("input, select, textarea") && note("focus"), {once: true});
}"""
_ANSWERED = """(name) => {
  const one = [...document.querySelectorAll("[data-walk]")].find((each) => each.dataset.walk === name);
  const {answers, at, value} = window.walked ?? {answers: ["left"]};
  return answers.length > 0 || location.href !== at || (one && one.checked !== value) ||
    document.activeElement?.matches("input, select, textarea") && document.activeElement === one;
}"""

# After a change of the page there is nothing to ask: that is an answer.
_REACHED = "() => window.walked ?? {reached: true, hit: ''}"


def controls_in_the_way(page: Page) -> list[str]:
    """Return the controls of a page that a press in their middle does not reach, after they were scrolled into view.

    Another element covers them, or they are outside of the window, or too small to be hit or read. Nothing is pressed.
    """
    page.evaluate(_AIM, [None, STILL_MS, STILL_WITHIN_MS, STEP_MS])
    page.evaluate(_CONTROLS, True)
    found: list[str] = page.evaluate(_COVERED, [LEAST_PX, WORDS_PX, ARROW_PX])
    return found


@dataclass
class Walk:
    """What was pressed and what stayed silent; a control of the frame of all pages is pressed on the first of them.

    `each_task`: all cards and rows are pressed, not one of each kind.
    """

    pressed: set[str]
    dead: list[str]
    each_task: bool = False
    sent: int = 0
    missed: int = 0

    @contextmanager
    def watching(self, page: Page) -> Iterator[None]:
        """Count requests, windows, downloads and file dialogs as answers, and keep the hub as it is."""

        def count(*_: Any) -> None:
            self.sent += 1

        def tell(request: Request) -> None:
            if request.method in UNSAFE and not HARMLESS.search(request.url):
                self.dead.append(f"{request.method} {request.url} went to the hub")

        page.add_init_script(_HOLD)
        page.on("request", tell)
        for event in ("popup", "download", "filechooser"):
            page.on(event, count)
        yield
        page.remove_listener("request", tell)

    def over(self, page: Page, hand: Hand, path: str, ready: str) -> None:
        """Press each control of this screen that no screen before it had."""
        self._open(page, path, ready)
        for name in page.evaluate(_CONTROLS):
            kind = name.rpartition("#")[0]
            if not self.each_task and kind.partition(" ")[0] in OF_A_TASK:
                kind = kind.partition(" ")[0]
            if kind in self.pressed:
                continue
            if self._press(page, hand, path, ready, name):
                self.pressed.add(kind)

    def _open(self, page: Page, path: str, ready: str) -> None:
        page.goto(path)
        page.locator(ready).first.wait_for()

    def _press(self, page: Page, hand: Hand, path: str, ready: str, name: str) -> bool:
        """Press a control and note if it is dead; false if it went away before, with the thing that it belonged to."""
        for _ in range(PRESSES):
            self._open(page, path, ready)
            aim = page.evaluate(_AIM, [name, STILL_MS, STILL_WITHIN_MS, STEP_MS])
            if aim is None:
                return False
            if aim["cover"]:
                self.dead.append(f"{path}: {name} lies under {aim['cover']}")
                return True
            page.evaluate(_WATCH, name)
            before = self.sent
            hand.press(*aim["at"])
            if self._answered(page, name, before):
                return True
            press = page.evaluate(_REACHED)
            if press["reached"]:
                self.dead.append(f"{path}: {name}")
                return True
            self.missed += 1
        self.dead.append(f"{path}: {name} is not reached by {PRESSES} presses, the last one hit {press['hit']}")
        return True

    def _answered(self, page: Page, name: str, before: int) -> bool:
        waited = 0.0
        while waited < ANSWER_MS:
            try:
                answered = self.sent > before or page.evaluate(_ANSWERED, name)
            except Error as left:
                # It leaves the document while it is asked, which is an answer.
                if "Execution context was destroyed" not in left.message:
                    raise
                answered = True
            if answered:
                return True
            page.wait_for_timeout(STEP_MS)
            waited += STEP_MS
        return False
