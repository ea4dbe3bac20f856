"""Breaking things from the page: a simulated phone in the middle of its work, and a scenario to its verdict."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.screens import Screens
from tests.e2e.stack import PHONE, Stack
from tests.waiting import SLOWER

pytestmark = pytest.mark.e2e

SLOW_MS = 120_000 * SLOWER
COUNTING = "import time\ntime.sleep({seconds})\nresult = 'counted'"


def counting(seconds: float) -> dict[str, Any]:
    """Return work on the phone that takes so long, and may be done again."""
    return {
        "id": "count",
        "tool": "python.run",
        "device": {"name": PHONE},
        "args": {"code": COUNTING.format(seconds=seconds)},
        "repeatability": "idempotent",
    }


def test_a_person_breaks_a_phone_in_the_middle_of_its_work_and_reads_what_became_of_it(
    page: Page, stack: Stack, screens: Screens, width: str
) -> None:
    plan = {"starloom": 1, "name": "Count slowly", "policy": {"approval": "never"}, "tasks": [counting(6 * SLOWER)]}
    one = stack.submit(plan)
    page.goto(f"/constellations/{one}")
    page.get_by_role("button", name="Break something").first.click()
    sheet = page.get_by_role("dialog", name="Break something")
    sheet.get_by_role("radio", name=re.compile("Kill its agent")).check()
    sheet.get_by_role("tab", name="60 s").click()
    screens.shoot(page, "lab", "choosing", width)
    sheet.get_by_role("button", name="Break it").click()
    expect(sheet.get_by_text(re.compile(r"Broken, \d+ s left"))).to_be_visible()
    expect(sheet.get_by_text(re.compile("count: begun once"))).to_be_visible()
    screens.glimpse(page, "lab", "broken", width)
    sheet.get_by_role("button", name="Heal now").click()
    expect(sheet.get_by_role("button", name="Heal now")).to_have_count(0)
    expect(sheet.get_by_text(re.compile(r"count: begun 2 times \(demo-phone 2\)"))).to_be_visible(timeout=SLOW_MS)
    stack.until_state(one, "succeeded")
    expect(sheet.get_by_role("list", name="Story of Count slowly")).to_contain_text("count: Done on demo-phone")
    screens.shoot(page, "lab", "report", width)
    events = stack.client.events(one, 0)
    assert [event.kind for event in events if event.kind.startswith("fault_")] == ["fault_injected", "fault_ended"]
    sheet.get_by_role("button", name="Close").last.click()
    page.goto("/activity")
    page.get_by_role("combobox", name="Subject").select_option("lab")
    expect(page.get_by_text(re.compile("asked the lab to repair it")).first).to_be_visible()


def test_a_real_device_is_not_offered_for_breaking(page: Page, stack: Stack) -> None:
    page.goto(f"/devices?device={stack.devices()[stack.desktop]['id']}")
    page.get_by_role("complementary", name=f"Device {stack.desktop}").get_by_role("button", name="Revoke").wait_for()
    expect(page.get_by_role("button", name="Break something")).to_have_count(0)


def test_a_person_runs_a_scenario_to_its_verdict(page: Page, screens: Screens, width: str) -> None:
    if width == "phone":
        page.goto("/lab")
        expect(page.get_by_role("button", name=re.compile("^Run ")).first).to_be_visible()
        screens.shoot(page, "lab", "scenarios", width)
        return
    page.goto("/settings")
    page.get_by_role("link", name="Open the lab").click()
    page.get_by_role("button", name="Run A killed agent in the middle of work").click()
    run = page.get_by_role("region", name="Run of A killed agent in the middle of work")
    expect(run.get_by_role("button", name="Stop")).to_be_visible()
    story = run.get_by_role("list", name="Story of A killed agent in the middle of work")
    expect(story).to_contain_text("is killed (SIGKILL)", timeout=SLOW_MS)
    screens.glimpse(page, "lab", "running", width)
    expect(run.get_by_text(re.compile(r"succeeded after \d+\.\d s, as expected\."))).to_be_visible(timeout=SLOW_MS)
    expect(run.get_by_text("by the devices' own ledgers")).to_be_visible()
    expect(run.get_by_text(re.compile("work: begun 2 times"))).to_be_visible()
    screens.shoot(page, "lab", "verdict", width)
