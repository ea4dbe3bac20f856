"""Priority in the page: what goes before a constellation is shown, and raising it makes the later one go first."""

from __future__ import annotations

import re

import httpx
import pytest
from playwright.sync_api import Page, expect

from tests.e2e.screens import Screens, axe_violations
from tests.e2e.stack import Stack
from tests.waiting import until

pytestmark = pytest.mark.e2e

QUEUED = 3


def states(stack: Stack, constellation: str) -> dict[str, str]:
    return {item["id"]: str(item["state"]) for item in stack.client.get(f"/constellations/{constellation}")["tasks"]}


def running(stack: Stack, constellation: str) -> int:
    return sum(state == "running" for state in states(stack, constellation).values())


def test_a_later_constellation_goes_first_when_its_priority_is_raised(
    page: Page, stack: Stack, screens: Screens, width: str
) -> None:
    slots = int(stack.devices()[stack.desktop]["slots"])
    size = slots + QUEUED
    first = stack.submit(
        {
            "starloom": 1,
            "name": f"Holds the slots ({width})",
            "policy": {"approval": "never"},
            "tasks": [stack.gated(f"t{at}", f"hold-{width}-{at}") for at in range(size)],
        }
    )
    until(lambda: running(stack, first) == slots, "every slot is taken")
    later = stack.submit(
        {
            "starloom": 1,
            "name": f"Came later ({width})",
            "policy": {"approval": "never"},
            "tasks": [stack.gated("only", f"later-{width}")],
        }
    )
    page.goto(f"/constellations/{later}?lens=list")
    behind = page.locator(".behindline")
    expect(behind).to_contain_text(f"{QUEUED} tasks go before it, of Holds the slots")
    choice = page.get_by_role("combobox", name="Priority")
    expect(choice).to_have_value("normal")
    assert axe_violations(page) == []
    screens.shoot(page, "constellation", "behind", width)
    choice.select_option("high")
    expect(behind).to_contain_text("It is next, after work of Holds the slots")
    assert stack.client.get(f"/constellations/{later}")["policy"]["priority"] == "high"
    held = next(task for task, state in states(stack, first).items() if state == "running")
    stack.open_gate(f"hold-{width}-{held[1:]}")
    until(lambda: states(stack, first)[held] == "succeeded", "a slot became free")
    until(lambda: running(stack, later) == 1, "the later one goes first")
    assert running(stack, first) == slots - 1
    expect(behind).to_have_count(0)
    stack.open_gate(f"later-{width}")
    stack.until_state(later, "succeeded")
    for at in range(size):
        stack.open_gate(f"hold-{width}-{at}")
    stack.until_state(first, "succeeded")


def test_priority_is_chosen_with_a_request(page: Page, stack: Stack, width: str) -> None:
    page.goto("/new?q=how%20are%20my%20machines")
    expect(page.get_by_text("What will run")).to_be_visible()
    page.get_by_role("combobox", name="Priority").select_option("low")
    page.get_by_role("button", name=re.compile("^Launch")).click()
    page.wait_for_url(re.compile(r"/constellations/"))
    made = page.url.split("/constellations/")[1].split("?")[0].split("/")[0]
    stack.until_state(made, "succeeded", "partial")
    assert stack.client.get(f"/constellations/{made}")["policy"]["priority"] == "low"


def test_who_may_only_look_cannot_set_it(stack: Stack, sample: object) -> None:
    del sample
    gate = "viewer-priority"
    constellation = stack.submit({"starloom": 1, "name": "Looked at", "tasks": [stack.gated("one", gate)]})
    token = stack.client.create("/tokens", {"role": "viewer"})["token"]
    edit = {"base_version": 1, "operations": [{"set_policy": {"priority": "high"}}]}
    path = f"{stack.url}/api/v1/constellations/{constellation}/edits"
    refused = httpx.post(path, json=edit, headers={"Authorization": f"Bearer {token}"}, trust_env=False)
    assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")
    assert stack.client.get(f"/constellations/{constellation}")["policy"].get("priority", "normal") == "normal"
    stack.open_gate(gate)
    stack.until_state(constellation, "succeeded", "failed", "awaiting_approval")
