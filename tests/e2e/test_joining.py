"""From *Add device* to a finished test task: by the pasted line, by ssh, and the way to a phone's QR code.

Real join.py with its own environment, a real SSH server, real clicks; nothing is typed but the line that was copied.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.e2e.elsewhere import elsewhere, terminal
from tests.e2e.screens import Screens
from tests.e2e.stack import Stack
from tests.installation import kill
from tests.ssh_server import ssh_server
from tests.waiting import SLOWER, until

pytestmark = pytest.mark.e2e
READY_MS = 60_000 * SLOWER


@pytest.fixture
def away() -> Iterator[Path]:
    with elsewhere() as home:
        yield home


class Clicks:
    """Counts what a person clicks."""

    def __init__(self) -> None:
        self.count = 0

    def on(self, place: Locator) -> None:
        place.click()
        self.count += 1


@pytest.mark.parametrize("width", ["wide"])
def test_a_device_joins_by_the_pasted_line(page: Page, stack: Stack, screens: Screens, away: Path, width: str) -> None:
    clicks = Clicks()
    page.goto("/devices")
    clicks.on(page.get_by_role("button", name="Add device"))
    sheet = page.get_by_role("complementary", name="Add a device")
    line = sheet.locator("code").first
    expect(line).to_contain_text("join.py")
    began, screen = time.monotonic(), away / "screen.log"
    with terminal(line.inner_text(), away, screen) as typing:
        words = sheet.locator(".words")
        expect(words).to_be_visible(timeout=READY_MS)
        until(lambda: words.inner_text() in screen.read_text(), "the terminal shows the same words")
        clicks.on(sheet.get_by_role("button", name="Same, approve"))
        expect(sheet.get_by_text("in the fleet")).to_be_visible(timeout=READY_MS)
        took_s = time.monotonic() - began
        expect(sheet.get_by_text("Test of", exact=False).first).to_be_visible()
        assert typing.wait(30 * SLOWER) == 0, screen.read_text()
    screens.shoot(page, "joining", "line", width)
    assert clicks.count <= 3
    print(f"by line: {took_s:.1f} s, {clicks.count} clicks")


@pytest.mark.parametrize("width", ["wide"])
def test_a_new_device_takes_the_place_of_an_older_one(page: Page, stack: Stack, screens: Screens, width: str) -> None:
    made = stack.client.create("/enrollments", {"preapproved": True})
    older = stack.ask_to_join(made["code"], "atlas")
    assert older.process.wait(60 * SLOWER) == 0, older.said()
    before = stack.devices()["atlas"]["id"]
    page.goto("/devices?add=1")
    sheet = page.get_by_role("complementary", name="Add a device")
    sheet.get_by_text("It takes the place of an older device").click()
    line = sheet.locator("code").first
    further = line.inner_text()
    sheet.get_by_label("The device whose place it takes").select_option("atlas")
    expect(sheet.get_by_text("is revoked in the same moment, for good")).to_be_visible()
    expect(line).not_to_have_text(further)
    screens.shoot(page, "joining", "replacing", width)
    code = line.inner_text().rpartition("join.py ")[2].split()[1]
    newer = stack.ask_to_join(code, "atlas-two")
    expect(sheet.locator(".words")).to_be_visible(timeout=READY_MS)
    expect(sheet.get_by_role("alert")).to_contain_text("revokes the device that is called atlas now")
    sheet.get_by_role("button", name="Same, approve").click()
    assert newer.process.wait(60 * SLOWER) == 0, newer.said()
    assert stack.devices()["atlas"]["id"] != before
    assert stack.client.get(f"/devices/{before}")["revoked"]


@pytest.mark.parametrize("width", ["wide"])
def test_a_server_joins_by_ssh(page: Page, stack: Stack, screens: Screens, away: Path, width: str) -> None:
    clicks = Clicks()
    page.goto("/devices")
    clicks.on(page.get_by_role("button", name="Add device"))
    sheet = page.get_by_role("complementary", name="Add a device")
    clicks.on(sheet.get_by_role("tab", name="By ssh"))
    line = sheet.locator("code").first
    expect(line).to_contain_text("enroll --ssh")
    screens.shoot(page, "joining", "ssh-line", width)
    with ssh_server(away / "ssh") as server:
        typed = line.inner_text().replace("user@host", "server")
        # What stands in ~/.ssh/config on a real computer; and the hub is not the usual one here.
        typed += f" --ssh-config {server.config} --hub {stack.home} --label far-server"
        began, screen = time.monotonic(), away / "screen.log"
        with terminal(typed, away, screen) as typing:
            expect(sheet.get_by_text("in the fleet")).to_be_visible(timeout=READY_MS)
            code = typing.wait(60 * SLOWER)
        took_s = time.monotonic() - began
        assert code == 0, screen.read_text()
        assert "far-server is in the fleet" in screen.read_text()
        assert stack.devices()["far-server"]["labels"] == ["server"]
        assert clicks.count <= 3
        screens.shoot(page, "joining", "ssh", width)
        print(f"by ssh: {took_s:.1f} s, {clicks.count} clicks")

        # The tunnel is cut as by a network that fails: it comes back by itself, with the device.
        assert server.cut() > 0
        until(lambda: stack.devices()["far-server"]["link"] != "online", "the cut is noticed")
        stack.until_online("far-server")
        # The hub is killed: the tunnel is the supervisor's, so it is still there when the hub is.
        with stack.hub_away():
            pass
        stack.until_online("far-server")
        # Its agent is killed, and nothing there starts it again: the hub that keeps the tunnel does.
        (agent,) = (one for one in psutil.process_iter(["cmdline"]) if runs_agent_of(one, server.home))
        kill(agent)
        until(lambda: stack.devices()["far-server"]["link"] != "online", "the death is noticed")
        stack.until_online("far-server")


def runs_agent_of(process: psutil.Process, home: Path) -> bool:
    """Whether it is the agent itself whose files lie below this home, and none of its runners."""
    words = process.info["cmdline"] or []
    return "run" in words and "--home" in words and any(str(home) in word for word in words)


def test_the_phone_tab_asks_for_the_network_and_then_shows_a_code(
    page: Page, stack: Stack, screens: Screens, width: str
) -> None:
    page.goto("/devices")
    page.get_by_role("button", name="Add device").click()
    sheet = page.get_by_role("complementary", name="Add a device")
    sheet.get_by_role("tab", name="A phone").click()
    screens.shoot(page, "joining", "phone-closed", width)
    sheet.get_by_role("button", name="Allow phones").click()
    expect(sheet.get_by_role("img", name="Scan this with the phone's camera")).to_be_visible()
    expect(sheet.locator("code").first).to_contain_text("/tab/#join=")
    screens.shoot(page, "joining", "phone", width)
    sheet.get_by_role("button", name="Close it").click()
    expect(sheet.get_by_text("Open for this network")).to_have_count(0)
    until(lambda: not stack.client.get("/lan")["open"], "the listener is closed")


@pytest.mark.parametrize("width", ["wide"], indirect=True)
def test_a_network_that_cannot_be_opened_is_told_in_the_panel(page: Page) -> None:
    refused = {"reason": "192.0.2.2 is not an address of a private network", "hint": "Use a proxy."}
    page.route("**/api/v1/lan/open", lambda route: route.fulfill(status=409, json=refused))
    page.goto("/devices")
    page.get_by_role("button", name="Add device").click()
    sheet = page.get_by_role("complementary", name="Add a device")
    sheet.get_by_role("tab", name="A phone").click()
    sheet.get_by_role("button", name="Allow phones").click()
    expect(sheet.get_by_role("alert")).to_contain_text(refused["reason"])
    expect(page.locator(".toast")).to_have_count(0)
    sheet.get_by_role("tab", name="By ssh").click()
    expect(sheet.get_by_role("alert")).to_have_count(0)


@pytest.mark.parametrize("width", ["wide"])
def test_a_phone_joins_by_its_code(
    page: Page, browser: Browser, stack: Stack, screens: Screens, away: Path, width: str
) -> None:
    """Its browser is shown the hub's own certificate, and goes on; the code is what the QR code holds."""
    clicks = Clicks()
    page.goto("/devices")
    clicks.on(page.get_by_role("button", name="Add device"))
    sheet = page.get_by_role("complementary", name="Add a device")
    stack.client.post("/lan/open")
    clicks.on(sheet.get_by_role("tab", name="A phone"))
    if sheet.get_by_role("button", name="Allow phones").is_visible():
        sheet.get_by_role("button", name="Allow phones").click()  # once in the life of a hub, not for each phone
    address = sheet.locator("code").first.inner_text()
    assert address.startswith(f"https://127.0.0.1:{stack.lan_port}/tab/#join=")
    pocket = browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True, ignore_https_errors=True)
    try:
        began = time.monotonic()
        phone = pocket.new_page()
        phone.goto(address)
        words = sheet.locator(".words")
        expect(words).to_be_visible(timeout=READY_MS)
        expect(phone.get_by_text(words.inner_text())).to_be_visible()
        clicks.on(sheet.get_by_role("button", name="Same, approve"))
        expect(sheet.get_by_text("in the fleet")).to_be_visible(timeout=READY_MS)
        took_s = time.monotonic() - began
        expect(sheet.get_by_text("Test of", exact=False).first).to_be_visible()
        screens.shoot(page, "joining", "by-phone", width)
        assert clicks.count <= 3
        print(f"by phone: {took_s:.1f} s, {clicks.count} clicks")
    finally:
        pocket.close()
        stack.client.post("/lan/close")
