"""Settings, what is not there, and the hub going away and coming back under an open page."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.e2e import answers
from tests.e2e.screens import Screens
from tests.e2e.stack import Stack
from tests.waiting import SLOWER

pytestmark = pytest.mark.e2e


def open_palette(page: Page, width: str) -> None:
    """Open the palette by the bar; on a phone it is one of the places behind *More*."""
    if width == "phone":
        page.get_by_role("button", name="More").click()
        page.get_by_role("dialog").get_by_role("button", name="Search and do anything").click()
    else:
        page.get_by_role("button", name=re.compile("^Search and do")).click()


def test_settings(page: Page, screens: Screens, width: str) -> None:
    page.goto("/settings")
    page.get_by_role("heading", name="Sessions and tokens").wait_for()
    screens.shoot(page, "settings", "open", width)
    page.get_by_role("tab", name="Dark").click()
    page.reload()
    expect(page.get_by_role("tab", name="Dark")).to_have_attribute("aria-selected", "true")
    scheme = page.evaluate("() => getComputedStyle(document.documentElement).colorScheme")
    assert scheme == "dark"


def test_what_is_not_there(page: Page, screens: Screens, width: str) -> None:
    page.goto("/no/such/page")
    expect(page.get_by_text("There is no such page.")).to_be_visible()
    screens.shoot(page, "missing", "page", width)
    page.goto("/constellations/no-such-thing")
    expect(page.get_by_text("The hub knows no constellation no-such-thing.")).to_be_visible()
    screens.shoot(page, "missing", "constellation", width)


def test_keys_and_palette(page: Page, screens: Screens, width: str) -> None:
    page.goto("/")
    page.get_by_role("heading", name="Home", exact=True).wait_for()
    page.keyboard.press("Control+k")
    expect(page.get_by_role("dialog")).to_be_visible()
    screens.shoot(page, "palette", "open", width)
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()
    screens.shoot(page, "keys", "open", width)
    page.keyboard.press("Escape")
    page.keyboard.press("n")
    expect(page).to_have_url(re.compile("/new$"))


def test_the_palette_finds_what_the_hub_has(page: Page, screens: Screens, width: str) -> None:
    page.goto("/")
    page.get_by_role("heading", name="Home", exact=True).wait_for()
    start = page.get_by_role("region", name="Start here")
    expect(start.get_by_role("link", name=re.compile("how are my machines"))).to_be_visible()
    screens.shoot(page, "home", "start", width)
    for words, group, where in (
        ("demo-phone", "Device", r"/devices\?device="),
        ("fleet-health", "Recipe", "/recipes/fleet-health$"),
        ("pictures of", "Ask", r"/new\?q=pictures"),
    ):
        page.goto("/")  # on a phone the sheet of a device lies over the bar
        open_palette(page, width)
        page.get_by_role("dialog").get_by_role("combobox").fill(words)
        found = page.get_by_role("dialog").get_by_role("option", name=re.compile(f"^{group}")).first
        expect(found).to_be_visible()
        screens.shoot(page, "palette", group.lower(), width)
        found.click()
        expect(page).to_have_url(re.compile(where))
    page.goto("/")
    start.get_by_role("link", name=re.compile("Add a phone")).click()
    sheet = page.get_by_role("complementary", name="Add a device")
    expect(sheet.get_by_role("tab", name="A phone")).to_have_attribute("aria-selected", "true")


@pytest.mark.parametrize("width", ["wide", "phone"], indirect=True)
def test_the_kind_of_a_find_is_not_overprinted(page: Page, stack: Stack, screens: Screens, width: str) -> None:
    made = stack.submit(answers.of_values("Overprinted", {"Words": ("text", "x")}))
    stack.until_state(made, "succeeded")
    page.goto("/")
    open_palette(page, width)
    page.get_by_role("dialog").get_by_role("combobox").fill("overprinted")
    found = page.get_by_role("dialog").get_by_role("option", name=re.compile("^Constellation")).first
    expect(found).to_be_visible()
    screens.shoot(page, "palette", "constellation", width)
    kind = found.locator("span").first
    assert kind.evaluate("one => one.scrollWidth - one.clientWidth") <= 0, "its word is wider than its column"


CUT = """() => [...document.querySelectorAll("select")].filter((one) => one.offsetParent).filter((one) => {
  const style = getComputedStyle(one), pen = document.createElement("canvas").getContext("2d");
  pen.font = `${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
  const room = one.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
  return pen.measureText(one.selectedOptions[0]?.textContent ?? "").width > room;
}).map((one) => one.getAttribute("aria-label") || one.labels[0]?.textContent || one.className)"""
"""The choices of which the chosen word is wider than the choice."""
LENGTHENED = """() => document.querySelectorAll("select option:checked").forEach((one) => {
  one.textContent += " of the village";
})"""


@pytest.mark.parametrize("width", ["phone"], indirect=True)
def test_choices_on_a_phone_are_not_cut(page: Page, width: str) -> None:
    page.goto("/constellations")
    page.get_by_label("State").wait_for()
    page.evaluate(LENGTHENED)
    assert page.evaluate(CUT) == []
    page.goto("/new")
    page.get_by_role("textbox").first.fill("back up the folder Documents on toaster to server")
    page.locator(".slot-field select").first.wait_for()
    page.evaluate(LENGTHENED)
    assert page.evaluate(CUT) == []
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")


class Heard:
    """Every frame about one stream that the page's sockets received, over all of its connections."""

    def __init__(self, page: Page, stream: str) -> None:
        self.sockets = 0
        self._stream = stream
        self.steps: list[tuple[str, int]] = []
        page.on("websocket", lambda socket: self._opened(socket))

    def _opened(self, socket: Any) -> None:
        self.sockets += 1
        socket.on("framereceived", lambda text: self._hear(text))

    def _hear(self, text: str | bytes) -> None:
        frame = json.loads(text)
        if frame["t"] == "snapshot" and frame["stream"] == self._stream:
            self.steps.append(("snapshot", int(frame["seq"])))
        if frame["t"] == "events":
            self.steps += [("event", int(one["seq"])) for one in frame["events"] if one["stream"] == self._stream]

    @property
    def last(self) -> int:
        return self.steps[-1][1] if self.steps else 0

    def gaps(self) -> list[str]:
        """Return every place where an event is missing, doubled or out of order."""
        found, at = [], 0
        for kind, seq in self.steps:
            if (kind == "event" and seq != at + 1) or seq < at:
                found.append(f"{kind} {seq} after {at}")
            at = seq
        return found


def test_the_page_survives_the_hub(page: Page, stack: Stack, screens: Screens, width: str) -> None:
    """After the hub is back the page hears every event up to the end of the log, in order and once each."""
    gate = f"away-{width}"
    constellation = stack.submit(
        {
            "starloom": 1,
            "name": f"Goes on without the hub ({width})",
            "policy": {"approval": "never"},
            "tasks": [stack.gated("first", gate), {"id": "second", "tool": "disk.usage"}],
            "dependencies": [{"from": "first", "to": "second", "when": "success"}],
        }
    )
    heard = Heard(page, constellation)
    page.goto(f"/constellations/{constellation}?lens=list")
    state = page.locator(".phonestate .pill" if width == "phone" else ".top .pill").first
    expect(state).to_contain_text("Running")
    expect(page.locator(".linkpill")).to_have_text("Live")
    with stack.hub_away():
        expect(page.locator(".linkpill")).to_contain_text("Offline since")
        expect(page.get_by_role("button", name=re.compile("^first"))).to_be_visible()
        expect(page.get_by_role("button", name="Pause", exact=True)).to_have_attribute("aria-disabled", "true")
        stack.open_gate(gate)
        screens.shoot(page, "constellation", "offline", width)
    expect(page.locator(".linkpill")).to_have_text("Live", timeout=30_000 * SLOWER)
    stack.until_state(constellation, "succeeded")
    expect(state).to_contain_text("Done")
    rows = page.get_by_role("list", name="Tasks").get_by_role("button")
    expect(rows).to_have_count(2)
    log = stack.client.events(constellation, 0)
    assert heard.sockets >= 2, "the page connected again"
    assert not heard.gaps(), heard.steps
    assert heard.last == log[-1].seq, (heard.steps, log[-1].seq)
    stack.until_online(stack.desktop, "demo-server", "demo-phone")
