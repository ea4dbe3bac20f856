"""What waits for a person, in a real browser: a device's own question, and the model set in the page."""

from __future__ import annotations

import json

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.e2e.asking import asking_device
from tests.e2e.screens import Screens
from tests.e2e.stack import Stack
from tests.models.server import Say
from tests.models.threaded import a_model
from tests.waiting import SLOWER

pytestmark = pytest.mark.e2e


def question_of(page: Page, stack: Stack, name: str, answers: str) -> tuple[str, Locator]:
    """Let a device ask before a call; return the constellation, and the question in the inbox."""
    asking_device(stack, name, answers)
    say = {"id": "say", "tool": "shell.run", "args": {"argv": ["echo", "hello"]}, "device": {"name": name}}
    constellation = stack.submit({"starloom": 1, "name": f"Asked by {name}", "tasks": [say]})
    if stack.state(constellation) == "awaiting_approval":
        stack.client.post(f"/approvals/{constellation}:approve-plan/approve", {})
    page.goto("/inbox")
    region = page.get_by_role("region", name="Waits on your devices")
    return constellation, region.locator(".item", has_text=f"{name} asks before")


def test_a_devices_question_is_answered_in_the_inbox(page: Page, stack: Stack, screens: Screens, width: str) -> None:
    name = f"asks-{width}"
    constellation, asked = question_of(page, stack, name, "hub")
    expect(asked).to_contain_text('"echo","hello"')
    screens.shoot(page, "inbox", "device-asks", width)
    asked.get_by_role("button", name="Allow once").click()
    expect(asked).to_have_count(0)
    lately = page.locator(".card", has=page.get_by_role("heading", name="Answered lately"))
    expect(lately.locator(".item", has_text=f"{name} asked before shell.run")).to_contain_text("approved by")
    stack.until_state(constellation, "succeeded")


def test_a_device_that_answers_itself_shows_the_line(page: Page, stack: Stack, screens: Screens, width: str) -> None:
    name = f"itself-{width}"
    constellation, asked = question_of(page, stack, name, "here")
    expect(asked).to_contain_text("starloom-agent approve")
    expect(asked.get_by_role("button", name="Allow once")).to_have_count(0)
    screens.shoot(page, "inbox", "answered-there", width)
    stack.client.post(f"/constellations/{constellation}/cancel")


def test_the_model_is_tried_set_and_forgotten_in_settings(
    page: Page, stack: Stack, screens: Screens, width: str
) -> None:
    with a_model(Say(tool={"kind": "cannot", "text": "ready"})) as fake:
        page.goto("/settings")
        page.get_by_role("button", name="Set a model").click()
        form = page.get_by_role("form", name="Set the model")
        form.get_by_label("Address").fill(fake.url)
        form.get_by_label("Model", exact=True).fill("fake-1")
        form.get_by_label("Key").fill("sk-of-the-page")
        form.get_by_role("button", name="Test before saving").click()
        expect(form.get_by_role("status")).to_contain_text("It answered", timeout=120_000 * SLOWER)
        screens.shoot(page, "settings", "model-form", width)
        form.get_by_role("button", name="Save").click()
        expect(page.get_by_text("fake-1 at 127.0.0.1")).to_be_visible()
        assert "sk-of-the-page" not in page.content()
        assert "sk-of-the-page" not in json.dumps(stack.client.get("/model"))
        screens.shoot(page, "settings", "model-set", width)
        page.get_by_role("button", name="Change", exact=True).click()
        page.get_by_role("button", name="Forget it").click()
        expect(page.get_by_role("button", name="Set a model")).to_be_visible()
    assert stack.client.get("/model")["set"] is False
