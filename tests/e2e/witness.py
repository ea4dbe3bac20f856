"""Watches the sample as a person would, on two screens at once, and remembers what they showed.

The sample is started by `starloom up --demo`, and so is its one fault. Its phone is released only when every screen
shows it at its first version, so that nothing of it can be missed.
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, field
from typing import Any, TypeVar

from playwright.sync_api import Page, expect

from tests.e2e.screens import Screens
from tests.e2e.stack import PHONE, Stack
from tests.waiting import SLOWER, until

T = TypeVar("T")
WITHIN_S = 150.0 * SLOWER
# Looks at every change of the page, because a state may be over before the next question; all as they came first.
_WATCH = """() => {
  const seen = (window.sampleSeen = {state: [], sentence: [], words: [], versions: [], newest: []});
  const note = (list, what) => list.includes(what) || list.push(what);
  const text = (selector) => [...document.querySelectorAll(selector)].map((one) => one.textContent).join(" ");
  const look = () => {
    note(seen.state, text(".top .pill, .phonestate .pill"));
    note(seen.sentence, text(".answer .sentence"));
    const ticks = [...document.querySelectorAll(".track .tick")].map((tick) => Number(/^v(\\d+) /.exec(tick.title)[1]));
    for (const number of ticks) note(seen.versions, number);
    if (ticks.length) note(seen.newest, Math.max(...ticks));
    const main = document.getElementById("main")?.textContent ?? "";
    for (const word of ["Out of reach", "Running", "Held"]) if (main.includes(word)) note(seen.words, word);
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
class Seen:
    """What the screens showed, in the order in which it was shown first."""

    constellation: str = ""
    states: list[str] = field(default_factory=list)
    sentences: list[str] = field(default_factory=list)
    versions: list[int] = field(default_factory=list)
    newest: list[int] = field(default_factory=list)
    words: set[str] = field(default_factory=set)
    phone_lost: bool = False


def _note(into: list[T], what: T) -> None:
    if what not in into:
        into.append(what)


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
    while True:
        for width, page in pages.items():
            found = page.evaluate(_SEEN)
            for state in found["state"]:
                _note(seen.states, re.sub(r"\s*\d.*", "", state).strip())
            for sentence in found["sentence"]:
                _note(seen.sentences, sentence)
            for version in found["versions"]:
                _note(seen.versions, int(version))
            for version in found["newest"]:
                _note(seen.newest, int(version))
            seen.words |= set(found["words"])
            moment = _moment(found)
            if moment and f"{moment} {width}" not in shot:
                shot.add(f"{moment} {width}")
                screens.glimpse(page, "sample", moment, width)
        if any(state.startswith(("Done", "Failed", "Partial")) for state in seen.states):
            break
        assert time.monotonic() < deadline, f"the sample did not end: {seen}\n{stack.explain()}"
        pages["wide"].wait_for_timeout(100)
    seen.phone_lost = bool(fleet.evaluate("() => window.phoneLost === true"))
    return seen


def _moment(found: dict[str, Any]) -> str:
    if max(found["versions"], default=0) > 1 and any(word in found["now"] for word in ("Out of reach", "Held")):
        return "killed"
    return {2: "v2", 3: "v3"}.get(max(found["versions"], default=0), "")
