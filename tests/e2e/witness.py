"""Watches the sample as a person would, on two screens at once, and remembers what they showed.

The sample is started by `starloom up --demo`, and so is its one fault. Its phone is released only when every screen
shows it at its first version, so that nothing of it can be missed.
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, field
from typing import Any

from playwright.sync_api import Page, expect

from tests.e2e.screens import Screens
from tests.e2e.stack import PHONE, Stack
from tests.waiting import SLOWER, until

WITHIN_S = 150.0 * SLOWER
# Looks at every change of the page, because a state may be over before the next question; all as they came first.
_WATCH = """() => {
  const seen = (window.sampleSeen = {state: [], sentence: [], versions: [], newest: []});
  const note = (list, what) => list.includes(what) || list.push(what);
  const text = (selector) => [...document.querySelectorAll(selector)].map((one) => one.textContent).join(" ");
  const look = () => {
    note(seen.state, text(".top .pill, .phonestate .pill"));
    note(seen.sentence, text(".answer .sentence"));
    const ticks = [...document.querySelectorAll(".track .tick")].map((tick) => Number(/^v(\\d+) /.exec(tick.title)[1]));
    for (const number of ticks) note(seen.versions, number);
    if (ticks.length) note(seen.newest, Math.max(...ticks));
  };
  new MutationObserver(look).observe(document.body, {subtree: true, childList: true, characterData: true});
  look();
}"""
_SEEN = """() => ({...window.sampleSeen, now: document.getElementById("main")?.innerText ?? ""})"""
_WATCH_PHONE = """(name) => {
  const look = () => {
    const line = [...document.querySelectorAll(".deviceline")].find((one) => one.textContent.includes(name));
    if (line?.textContent.includes("Out of reach")) window.phoneLost = true;
  };
  new MutationObserver(look).observe(document.body, {subtree: true, childList: true, characterData: true});
  look();
}"""


@dataclass
class Shown:
    """What one screen showed from the first version to the end, in the order in which it was shown first.

    Only the wide screen draws a tick for each version.
    """

    states: list[str]
    sentences: list[str]
    versions: list[int]
    newest: list[int]

    @property
    def ended(self) -> bool:
        return any(state.startswith(("Done", "Failed", "Partial")) for state in self.states)


@dataclass
class Seen:
    """What was seen of the sample: on each screen of its own page, and on Home."""

    constellation: str = ""
    screens: dict[str, Shown] = field(default_factory=dict)
    phone_lost: bool = False


def watch_sample(stack: Stack, pages: dict[str, Page], fleet: Page, screens: Screens) -> Seen:
    """Let the sample go and follow it to its end, on its own page in each width, and its devices on Home.

    Raises:
        AssertionError: it did not appear or did not end in time.
    """
    seen = Seen()
    seen.constellation = str(
        until(
            lambda: next((row["id"] for row in stack.client.get("/constellations")["items"]), ""),
            "the sample was asked for",
        )
    )
    for width, page in pages.items():
        page.goto(f"/constellations/{seen.constellation}")
        expect(page.locator("#main")).to_contain_text("Held, its device takes no work")
        page.evaluate(_WATCH)
        screens.glimpse(page, "sample", "v1", width)
    fleet.goto("/")
    fleet.locator(".deviceline", has_text=PHONE).wait_for()
    fleet.evaluate(_WATCH_PHONE, PHONE)
    stack.release_sample()
    shot: set[str] = set()
    deadline = time.monotonic() + WITHIN_S
    while not all(width in seen.screens and seen.screens[width].ended for width in pages):
        assert time.monotonic() < deadline, f"the sample did not end: {seen}\n{stack.explain()}"
        for width, page in pages.items():
            found = page.evaluate(_SEEN)
            states = list(dict.fromkeys(re.sub(r"\s*\d.*", "", state).strip() for state in found["state"]))
            seen.screens[width] = Shown(states, found["sentence"], found["versions"], found["newest"])
            moment = _moment(found)
            if moment and f"{moment} {width}" not in shot:
                shot.add(f"{moment} {width}")
                screens.glimpse(page, "sample", moment, width)
        pages["wide"].wait_for_timeout(100)
    seen.phone_lost = bool(fleet.evaluate("() => window.phoneLost === true"))
    return seen


def _moment(found: dict[str, Any]) -> str:
    if max(found["versions"], default=0) > 1 and any(word in found["now"] for word in ("Out of reach", "Held")):
        return "killed"
    return {2: "v2", 3: "v3"}.get(max(found["versions"], default=0), "")
