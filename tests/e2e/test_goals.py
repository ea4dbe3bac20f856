"""The panel of a goal: its steps with their calls appear while it runs, and a hint given there reaches its model."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import ON_BOTH
from tests.e2e.pointer import Hand
from tests.e2e.screens import Screens
from tests.e2e.stack import SERVER, Stack
from tests.models.server import Json, Say
from tests.models.threaded import a_model
from tests.waiting import PATIENCE_S, SLOWER

pytestmark = pytest.mark.e2e

FIRST_MS = 90_000 * SLOWER
STEP: Any = {
    "kind": "step",
    "note": "to know its system",
    "calls": [{"device": SERVER, "tool": "system.info", "args": {}}],
}
REACHED: Any = {
    "kind": "answer",
    "value": {"system": "known"},
    "note": "it is there",
    "cites": [{"task": "why.1", "pointer": ""}],
}
GOAL: Any = {"id": "why", "goal": "Find out its system.", "device": {"name": SERVER}, "gives": {"system": "text"}}


@ON_BOTH
def test_a_goal_shows_its_steps_and_takes_a_hint(page: Page, stack: Stack, screens: Screens, width: str) -> None:
    hand, hinted = Hand(page, touch=width == "phone"), threading.Event()

    def answers(asked: Json) -> Say:
        """Make a second step once the hint was given, so that the third turn is told of it."""
        hinted.wait(PATIENCE_S)
        told = json.dumps(asked["messages"])
        return Say(tool=REACHED if "look at the kernel" in told else {**STEP, "note": "to wait for the hint"})

    with a_model(Say(tool=STEP), answers) as fake:
        stack.client.put("/model", {"url": fake.url, "model": "fake-1"})
        try:
            plan = {"starloom": 1, "name": f"Its system {width}", "tasks": [GOAL]}
            found = stack.client.create("/constellations", {"plan": plan})["id"]
            page.goto(f"/constellations/{found}/t/why")
            steps = page.get_by_role("list", name="Steps")
            expect(steps).to_contain_text("to know its system", timeout=FIRST_MS)
            expect(steps).to_contain_text("system.info")
            page.get_by_role("textbox", name="Hint").fill("look at the kernel")
            hand.press_on(page.get_by_role("button", name="Give hint"))
            expect(steps).to_contain_text("look at the kernel")
            card = steps.get_by_role("button").filter(has_text="{").first
            hand.press_on(card)
            expect(card).to_have_attribute("aria-expanded", "true")
            expect(steps).to_contain_text("tokens")
            screens.shoot(page, "goal", "hinted", width)
            hinted.set()
            stack.until_state(found, "succeeded")
        finally:
            hinted.set()
            stack.client.delete("/model")
    told = json.dumps(fake.asked[-1]["messages"])
    assert "DATA hint of the person whose goal it is" in told
    expect(page.get_by_role("textbox", name="Hint")).to_have_count(0)
    hand.press_on(page.get_by_role("button", name="Open all results"))
    expect(steps.get_by_role("button", expanded=True)).to_have_count(3)
    expect(steps).to_contain_text("answer")
    hand.press_on(page.get_by_role("button", name="Close all results"))
    hand.press_on(steps.get_by_role("button", name="why.1"))
    expect(page.get_by_role("complementary", name="Task why.1")).to_be_visible()


def test_a_fork_from_a_step_goes_on_with_the_steps_before_it(page: Page, stack: Stack, width: str) -> None:
    hand = Hand(page, touch=width == "phone")
    trail = {**STEP, "note": "a wrong trail", "calls": [{"device": SERVER, "tool": "process.list", "args": {}}]}
    with a_model(Say(tool=STEP), Say(tool=trail), Say(tool=REACHED)) as fake:
        stack.client.put("/model", {"url": fake.url, "model": "fake-1"})
        try:
            plan = {"starloom": 1, "name": f"Its system again {width}", "tasks": [GOAL]}
            found = stack.client.create("/constellations", {"plan": plan})["id"]
            stack.until_state(found, "succeeded")
            page.goto(f"/constellations/{found}/t/why.2")
            hand.press_on(page.get_by_role("button", name="Fork from here"))
            page.wait_for_url(lambda url: "/constellations/" in url and found not in url)
            forked = page.url.rpartition("/constellations/")[2].partition("/")[0]
            stack.until_state(forked, "succeeded")
            page.goto(f"/constellations/{forked}/t/why")
            steps = page.get_by_role("list", name="Steps")
            expect(steps).to_contain_text("to know its system")
            expect(steps).not_to_contain_text("a wrong trail")
            expect(steps.get_by_role("button", name="why.1")).to_be_visible()
            hand.press_on(steps.get_by_role("button", name="why.1"))
            expect(page.get_by_role("link", name="result of an earlier run")).to_be_visible()
        finally:
            stack.client.delete("/model")
    told = json.dumps(fake.asked[-1]["messages"])
    assert ("to know its system" in told, "a wrong trail" in told) == (True, False)
    assert len(fake.asked) == 4, "the fork asks for one turn"
