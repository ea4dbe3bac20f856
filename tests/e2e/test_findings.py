"""The panel of a task shows the finding that it took: its topic, its source, its device and its age."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import ON_BOTH
from tests.e2e.pointer import Hand
from tests.e2e.screens import Screens
from tests.e2e.stack import SERVER, Stack

pytestmark = pytest.mark.e2e

LOOK: Any = {
    "id": "look",
    "tool": "disk.usage",
    "device": {"name": SERVER},
    "args": {"top": 3},
    "finds": {"topic": "largest folders", "value": "/rows"},
}
USE: Any = {
    "id": "use",
    "tool": "data.sort",
    "args": {"by": ["-bytes"]},
    "inputs": {"rows": {"finding": "largest folders"}},
}


@ON_BOTH
def test_a_task_shows_the_finding_that_it_took(page: Page, stack: Stack, screens: Screens, width: str) -> None:
    hand = Hand(page, touch=width == "phone")
    plan = {"starloom": 1, "name": f"Shared {width}", "tasks": [LOOK, USE]}
    found = stack.client.create("/constellations", {"plan": plan})["id"]
    stack.until_state(found, "succeeded")
    page.goto(f"/constellations/{found}/t/use")
    panel = page.get_by_role("complementary", name="Task use")
    hand.press_on(panel.get_by_role("tab", name="Input"))
    inputs = panel.get_by_role("list", name="Inputs from other tasks")
    expect(inputs).to_contain_text(f"the finding largest folders from look on {SERVER}")
    expect(inputs).to_contain_text("old then")
    screens.shoot(page, "task", "finding", width)
    hand.press_on(inputs.get_by_role("button", name="look"))
    expect(page.get_by_role("complementary", name="Task look")).to_be_visible()
