"""Work on a clock, wide and phone: from words and from what has run, its next five, run, pause, remove."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.pointer import SEEN_MS
from tests.e2e.screens import Screens
from tests.e2e.stack import Stack
from tests.waiting import SLOWER

pytestmark = pytest.mark.e2e


def test_words_on_a_clock(page: Page, stack: Stack, screens: Screens, width: str) -> None:
    name = f"Morning look ({width})"
    page.goto("/schedules?add=1")
    page.get_by_label("What is to run, in words").fill("how are my machines")
    page.get_by_label("How often").select_option("weekdays")
    page.get_by_label("At", exact=True).fill("07:30")
    page.get_by_label("Time zone").fill("Europe/Wien")
    expect(page.get_by_role("alert")).to_contain_text("there is no time zone 'Europe/Wien'")
    page.get_by_label("Time zone").fill("Europe/Vienna")
    firings = page.get_by_label("The next five firings")
    expect(firings.get_by_role("listitem")).to_have_count(5)
    expect(firings).to_contain_text(re.compile(r"(Mon|Tue|Wed|Thu|Fri) \d+ \w+ 07:30"))
    page.get_by_label("Name").fill(name)
    screens.shoot(page, "schedules", "adding", width)
    page.get_by_role("button", name="Save the schedule").click()
    row = page.get_by_role("article", name=name)
    expect(row).to_contain_text("At 07:30 on Monday through Friday, Europe/Vienna")
    row.locator("summary").click()
    expect(row.get_by_role("listitem")).to_have_count(5)
    screens.shoot(page, "schedules", "list", width)

    row.get_by_role("button", name="Run now").click()
    last = row.get_by_role("link", name=re.compile("^last"))
    expect(last).to_be_visible(timeout=30_000 * SLOWER)
    row.get_by_role("button", name="Pause").click()
    expect(row.get_by_role("button", name="Resume")).to_be_visible()
    (shown,) = [item for item in stack.client.get("/schedules")["items"] if item["name"] == name]
    assert (shown["state"], shown["next"], shown["fired"]) == ("paused", [], 1)
    assert shown["last"]["state"] == "succeeded"
    row.get_by_role("button", name="Remove").dblclick()
    expect(row.get_by_role("button", name="Remove this schedule")).to_be_visible()
    page.wait_for_timeout(SEEN_MS)
    row.get_by_role("button", name="Remove this schedule").click()
    expect(row).to_have_count(0)


def test_what_has_ended_is_repeated(page: Page, stack: Stack, screens: Screens, width: str) -> None:
    plan = {"starloom": 1, "name": f"Room ({width})", "tasks": [{"id": "room", "tool": "disk.usage"}]}
    made = stack.submit(plan)
    stack.until_state(made, "succeeded")
    page.goto(f"/constellations/{made}")
    page.get_by_role("button", name="Repeat...").click()
    page.get_by_label("How often").select_option("hourly")
    expect(page.get_by_label("The next five firings").get_by_role("listitem")).to_have_count(5)
    screens.shoot(page, "schedules", "repeating", width)
    page.get_by_role("button", name="Save the schedule").click()
    row = page.get_by_role("article", name=f"Room ({width})")
    expect(row).to_contain_text("a plan")
    (shown,) = [item for item in stack.client.get("/schedules")["items"] if item["name"] == f"Room ({width})"]
    fired = stack.client.post(f"/schedules/{shown['id']}/run", {})["id"]
    expect(row.get_by_role("link", name=re.compile("^last"))).to_be_visible(timeout=30_000 * SLOWER)
    stack.client.delete(f"/schedules/{fired}")
    expect(row).to_have_count(0)


def test_words_that_say_how_often_are_offered_as_a_schedule(
    page: Page, stack: Stack, screens: Screens, width: str
) -> None:
    page.goto("/new?q=how%20are%20my%20machines%20every%20sunday%20at%2023%3A00")
    note = page.get_by_role("note")
    expect(note).to_contain_text("Launch runs it once, now")
    screens.shoot(page, "schedules", "words-that-repeat", width)
    page.get_by_role("button", name="Use this").first.click()
    note.get_by_role("button", name="Schedule it...").click()
    dialog = page.get_by_role("dialog")
    firings = dialog.get_by_label("The next five firings")
    expect(firings.get_by_role("listitem")).to_have_count(5)
    expect(firings).to_contain_text(re.compile(r"Sun \d+ \w+ 23:00"))
    dialog.get_by_label("Name").fill(f"Sundays ({width})")
    dialog.get_by_role("button", name="Save the schedule").click()
    row = page.get_by_role("article", name=f"Sundays ({width})")
    expect(row).to_be_visible()
    (shown,) = [item for item in stack.client.get("/schedules")["items"] if item["name"] == f"Sundays ({width})"]
    assert shown["cron"] == "0 23 * * 0"
    stack.client.delete(f"/schedules/{shown['id']}")
