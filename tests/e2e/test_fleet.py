"""Fleet: a device joins by the one line while the page shows each step; then it is renamed and revoked."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.screens import Screens
from tests.e2e.stack import Stack
from tests.waiting import SLOWER, until

pytestmark = pytest.mark.e2e


def _code_in(line: str) -> str:
    found = re.search(r"\b[A-Z2-7]{4}(?:-[A-Z2-7]{4})+\b", line)
    assert found, f"no code in {line!r}"
    return found.group()


def test_a_device_joins_is_renamed_and_revoked(page: Page, stack: Stack, screens: Screens, width: str) -> None:
    name, other = f"visitor-{width}", f"guest-{width}"
    page.goto("/devices")
    page.get_by_text("demo-phone").first.wait_for()
    screens.shoot(page, "fleet", "all", width)
    page.get_by_role("button", name="Add device").click()
    sheet = page.get_by_role("complementary", name="Add a device")
    line = sheet.locator("code").first
    expect(line).to_contain_text("join.py")
    screens.shoot(page, "fleet", "line", width)
    joining = stack.ask_to_join(_code_in(line.inner_text()), name)
    words = sheet.locator(".words")
    expect(words).to_be_visible()
    until(lambda: words.inner_text() in joining.said(), f"the device shows the same words {words.inner_text()!r}")
    screens.shoot(page, "fleet", "asking", width)
    sheet.get_by_role("button", name="Same, approve").click()
    assert joining.process.wait(30 * SLOWER) == 0, joining.said()
    agent = stack.run_agent(joining)
    expect(sheet.get_by_text("in the fleet")).to_be_visible()
    screens.shoot(page, "fleet", "ready", width)

    sheet.get_by_role("button", name="Close").first.click()
    page.get_by_role("link", name=re.compile(name)).first.click()
    panel = page.get_by_role("complementary", name=f"Device {name}")
    panel.get_by_label("Name").fill(other)
    panel.get_by_role("button", name="Rename").click()
    renamed = page.get_by_role("complementary", name=f"Device {other}")
    expect(renamed).to_be_visible()
    screens.shoot(page, "device", "renamed", width)
    renamed.get_by_role("button", name="Revoke").click()
    page.get_by_role("dialog").get_by_role("button", name="Revoke", exact=True).click()
    expect(page.get_by_role("link", name=re.compile(other))).to_have_count(0)
    until(lambda: stack.devices().get(other, {"revoked": True})["revoked"], f"{other} is revoked")
    until(lambda: agent.poll() is not None, "the agent of a revoked device ends")
