"""Devices as a person meets them: lines that grow, a page for each, a hub that was away told as a gap."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Page, StorageState, expect

from tests.e2e.conftest import NewContext
from tests.e2e.pointer import Hand
from tests.e2e.screens import Screens, axe_violations
from tests.e2e.stack import SERVER, Stack
from tests.e2e.windows import clipped
from tests.e2e.witness import Seen
from tests.waiting import until

pytestmark = pytest.mark.e2e

SIZES = {
    "wide": (1440, 900),
    "phone": (390, 844),
    "sideways": (844, 390),
    "doubled": (720, 450),
    "narrow": (320, 640),
    "broad": (1920, 1080),
}
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
    expect(hour.get_by_role("img", name=re.compile("^(?!Calls)"))).to_have_count(len(_lines(stack, name)))
    expect(page.get_by_role("region", name="Today").get_by_role("link").first).to_be_visible()
    screens.shoot(page, "device", "page", width)
    table = hour.get_by_text("As a table")
    table.scroll_into_view_if_needed()
    hand.press_on(table)
    expect(hour.get_by_role("table", name="Figures of the last hour")).to_be_visible()
    last = page.get_by_role("region", name="Today").get_by_role("link").first
    last.scroll_into_view_if_needed()
    hand.press_on(last)
    expect(page).to_have_url(re.compile(r"/constellations/c-"))


def test_the_hour_of_a_device_is_read_at_a_moment_and_in_a_stretch(page: Page, stack: Stack, width: str) -> None:
    until(lambda: len(_lines(stack, SERVER).get("load_percent", [])) > 2, "a line of some points")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto("/devices")
    page.locator(".sparks").first.wait_for()
    assert not [url for url in asked if "HourCharts" in url], "the charts are read before a device's page is opened"
    page.goto(f"/devices/{stack.devices()[SERVER]['id']}")
    hour = page.get_by_role("region", name="The last hour")
    calls = hour.get_by_role("img", name=re.compile(r"^Calls: \d+ calls"))
    expect(calls).to_be_visible()
    load = hour.get_by_role("img", name=re.compile("^Load"))
    load.locator("canvas").wait_for()
    load.scroll_into_view_if_needed()
    said = hour.get_by_role("status")
    expect(said).to_have_text(re.compile(r"^\d\d:\d\d to \d\d:\d\d$"))
    place = load.bounding_box()
    assert place is not None
    across, up = place["x"] + place["width"] * 0.9, place["y"] + place["height"] / 2
    if width == "phone":
        page.touchscreen.tap(across, up)
    else:
        page.mouse.move(across, up)
    expect(said).to_have_text(re.compile(r"^\d\d:\d\d:[03]0"))
    places = hour.locator(".u-cursor-x").evaluate_all("(all) => all.map((one) => one.style.transform)")
    assert len(places) > 3
    assert len(set(places)) == 1, f"the charts show different moments: {places}"
    moment = hour.get_by_role("slider", name="Moment of the last hour")
    before = moment.get_attribute("aria-valuetext")
    moment.focus()
    page.keyboard.press("ArrowLeft")
    expect(moment).not_to_have_attribute("aria-valuetext", str(before))
    whole = hour.get_by_role("button", name="Whole hour")
    expect(whole).to_have_attribute("aria-disabled", "true")
    if width == "phone":
        hour.get_by_role("button", name="Zoom in").click()
    else:
        page.mouse.move(place["x"] + place["width"] * 0.5, up)
        page.mouse.down()
        page.mouse.move(place["x"] + place["width"] * 0.7, up, steps=4)
        page.mouse.up()
    expect(whole).not_to_have_attribute("aria-disabled", "true")
    whole.click()
    expect(whole).to_have_attribute("aria-disabled", "true")


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
    size: str, session: StorageState, sample: Seen, new_context: NewContext, stack: Stack, screens: Screens
) -> None:
    del sample
    context = new_context("phone" if size in ("phone", "sideways", "narrow") else "wide", session)
    page = context.new_page()
    wide, high = SIZES[size]
    page.set_viewport_size({"width": wide, "height": high})
    device = stack.devices()[stack.desktop]["id"]
    faults: list[str] = []
    for path, ready in (("/devices", ".sparks"), (f"/devices/{device}", ".hour canvas"), ("/", ".deviceline .spark")):
        page.goto(path)
        page.locator(ready).first.wait_for()
        screens.snap(
            page, f"alive-{path.split('/')[1] or 'home'}{'-one' if device in path else ''}-{size}.png", whole=True
        )
        faults += [f"{path}: {one}" for one in clipped(page)]
        faults += [f"{path}: axe {one}" for one in axe_violations(page)]
        if page.evaluate(_WIDER) > 0:
            faults.append(f"{path} scrolls sideways")
    context.close()
    assert not faults, "\n".join(faults)
