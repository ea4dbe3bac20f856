"""Watches the sample as a person would, on two screens at once, and remembers what they showed.

It only looks: the sample is started by `starloom up --demo`, and so is its one fault.
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, field
from typing import TypeVar

from playwright.sync_api import Page

from tests.e2e.screens import Screens
from tests.e2e.stack import Stack, until

T = TypeVar("T")
WITHIN_S = 150.0
_SEEN = """() => ({
  state: [...document.querySelectorAll(".top .pill, .phonestate .pill")].map((one) => one.textContent).join(" "),
  sentence: document.querySelector(".answer .sentence")?.textContent ?? "",
  versions: document.querySelectorAll(".track .tick").length,
  body: document.getElementById("main")?.innerText ?? "",
})"""


@dataclass
class Seen:
    """What the screens showed, in the order in which it was shown first."""

    constellation: str = ""
    states: list[str] = field(default_factory=list)
    sentences: list[str] = field(default_factory=list)
    versions: list[int] = field(default_factory=list)
    words: set[str] = field(default_factory=set)


def _note(into: list[T], what: T) -> None:
    if what not in into:
        into.append(what)


def watch_sample(stack: Stack, pages: dict[str, Page], screens: Screens) -> Seen:
    """Follow the sample to its end.

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
    for page in pages.values():
        page.goto(f"/constellations/{seen.constellation}")
    shot: set[str] = set()
    deadline = time.monotonic() + WITHIN_S
    while True:
        for width, page in pages.items():
            found = page.evaluate(_SEEN)
            _note(seen.states, re.sub(r"\s*\d.*", "", found["state"]).strip())
            _note(seen.sentences, found["sentence"])
            if width == "wide":
                _note(seen.versions, int(found["versions"]))
            seen.words |= {word for word in ("Out of reach", "Running", "Held") if word in found["body"]}
            moment = _moment(found)
            if moment and f"{moment} {width}" not in shot:
                shot.add(f"{moment} {width}")
                screens.glimpse(page, "sample", moment, width)
        if any(state.startswith(("Done", "Failed", "Partial")) for state in seen.states):
            break
        assert time.monotonic() < deadline, f"the sample did not end: {seen}\n{stack.log('supervisor')}"
        pages["wide"].wait_for_timeout(100)
    return seen


def _moment(found: dict[str, object]) -> str:
    if any(word in str(found["body"]) for word in ("Out of reach", "Held")):
        return "killed"
    if found["versions"] == 3:
        return "v3"
    if found["versions"] == 2:
        return "v2"
    return ""
