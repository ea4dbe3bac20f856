"""Devices as a person meets them: lines that grow, a page for each, a hub that was away told as a gap."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Page, StorageState, expect

from tests.e2e.conftest import NewContext
from tests.e2e.pointer import Hand
from tests.e2e.screens import FOLDER, Screens, axe_violations
from tests.e2e.stack import Stack
from tests.e2e.windows import clipped
from tests.e2e.witness import Seen
from tests.waiting import until

pytestmark = pytest.mark.e2e

SIZES = {"wide": (1440, 900), "phone": (390, 844), "sideways": (844, 390), "doubled": (720, 450)}
_WIDER = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"


def _lines(stack: Stack, device: str) -> dict[str, list[int | None]]:
    told: dict[str, Any] = stack.client.get("/vitals", device=device)
    found: dict[str, list[int | None]] = told["items"][0]["lines"]
    return found


def test_a_device_is_seen_alive_and_has_a_page(page: Page, stack: Stack, screens: Screens, width: str) -> None:
    name = stack.desktop
    until(lambda: {"load_percent", "memory_percent", "disk_percent", "latency_ms"} <= set(_lines(stack, name)), "lines")
    page.goto("/devices")
    place = page.locator(".devicecards li, .fleettable tbody tr").filter(has_text=name).first
    expect(place.get_by_role("img", name=re.compile(r"^Load \d+ %"))).to_be_visible()
    expect(place.get_by_role("img", name=re.compile(r"^Latency \d"))).to_be_visible()
    screens.shoot(page, "fleet", "alive", width)
    hand = Hand(page, touch=width == "phone")
    hand.press_on(place.get_by_role("link").filter(has_text=name).first)
    panel = page.get_by_role("complementary", name=f"Device {name}")
    hand.press_on(panel.get_by_role("link", name="Open its page"))
    expect(page).to_have_url(re.compile(r"/devices/d-\w+$"))
    hour = page.get_by_role("region", name="The last hour")
    expect(hour.get_by_role("img")).to_have_count(len(_lines(stack, name)))
    expect(page.get_by_role("region", name="Today").get_by_role("link").first).to_be_visible()
    screens.shoot(page, "device", "page", width)
    table = hour.get_by_text("As a table")
    table.scroll_into_view_if_needed()
    hand.press_on(table)
    expect(hour.get_by_role("table")).to_be_visible()
    last = page.get_by_role("region", name="Today").get_by_role("link").first
    last.scroll_into_view_if_needed()
    hand.press_on(last)
    expect(page).to_have_url(re.compile(r"/constellations/c-"))


@pytest.mark.parametrize("width", ["wide"], indirect=True)
def test_what_a_hub_forgot_is_not_drawn_and_the_page_says_since_when_it_listens(page: Page, stack: Stack) -> None:
    name = stack.desktop
    until(lambda: _lines(stack, name).get("load_percent"), "a line")
    before = stack.client.get("/vitals", device=name)
    with stack.hub_away():
        pass
    stack.until_online(name)
    until(lambda: _lines(stack, name).get("load_percent"), "a line of the hub that began anew")
    told = stack.client.get("/vitals", device=name)
    assert told["since_ms"] > before["since_ms"], "the hub that began anew listens since later"
    for line in told["items"][0]["lines"].values():
        assert len(line) <= (told["until_ms"] - told["since_ms"]) / 1000 / told["step_s"] + 2, "it made points up"
    page.goto(f"/devices/{stack.devices()[name]['id']}")
    hour = page.get_by_role("region", name="The last hour")
    since = page.evaluate("(ms) => new Date(ms).toTimeString().slice(0, 5)", told["since_ms"])
    expect(
        hour.get_by_text(f"Since {since}, when this hub began to listen; what was before is not kept.")
    ).to_be_visible()


@pytest.mark.parametrize("size", list(SIZES))
def test_fleet_page_and_home_fit_every_window(
    size: str, session: StorageState, sample: Seen, new_context: NewContext, stack: Stack
) -> None:
    del sample
    context = new_context("phone" if size in ("phone", "sideways") else "wide", session)
    page = context.new_page()
    wide, high = SIZES[size]
    page.set_viewport_size({"width": wide, "height": high})
    device = stack.devices()[stack.desktop]["id"]
    faults: list[str] = []
    FOLDER.mkdir(exist_ok=True)
    for path, ready in (("/devices", ".sparks"), (f"/devices/{device}", ".linechart"), ("/", ".deviceline .spark")):
        page.goto(path)
        page.locator(ready).first.wait_for()
        page.screenshot(
            path=FOLDER / f"alive-{path.split('/')[1] or 'home'}{'-one' if device in path else ''}-{size}.png",
            full_page=True,
        )
        faults += [f"{path}: {one}" for one in clipped(page)]
        faults += [f"{path}: axe {one}" for one in axe_violations(page)]
        if page.evaluate(_WIDER) > 0:
            faults.append(f"{path} scrolls sideways")
    context.close()
    assert not faults, "\n".join(faults)
