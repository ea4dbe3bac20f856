"""Settings > Model: an owner sets the model of another role by the pointer, tries it, and forgets it again."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import ON_BOTH
from tests.e2e.pointer import Hand
from tests.e2e.screens import Screens
from tests.e2e.stack import Stack
from tests.models.server import Say
from tests.models.threaded import a_model
from tests.waiting import SLOWER

pytestmark = pytest.mark.e2e

READY = Say(tool={"kind": "cannot", "text": "ready"})
WAIT_MS = 30_000 * SLOWER


@ON_BOTH
def test_an_owner_sets_a_role_and_forgets_it(page: Page, stack: Stack, screens: Screens, width: str) -> None:
    hand = Hand(page, touch=width == "phone")

    def press(name: str) -> None:
        button = page.get_by_role("button", name=name, exact=True)
        button.scroll_into_view_if_needed()
        hand.press_on(button)

    with a_model(READY) as near, a_model(READY) as critic:
        stack.client.put("/model", {"url": near.url, "model": "near-1"})
        try:
            page.goto("/settings")
            press("Other roles")
            form = page.get_by_role("form", name="Set the model of a role")
            form.get_by_label("Role").select_option("judge")
            form.get_by_label("Address; empty is the planner's, with its key").fill(critic.url)
            form.get_by_label("Model", exact=True).fill("critic-1")
            form.get_by_label("Key, if that address needs one").fill("sk-critic")
            screens.shoot(page, "settings", "role", width)
            press("Test before saving")
            expect(form.get_by_role("status")).to_contain_text("It answered in", timeout=WAIT_MS)
            assert (len(near.asked), len(critic.asked)) == (0, 1)
            assert critic.headers[0]["authorization"] == "Bearer sk-critic"
            press("Save")
            expect(page.get_by_text(f"As judge: critic-1 at 127.0.0.1:{critic.port}")).to_be_visible(timeout=WAIT_MS)
            press("Other roles")
            form.get_by_label("Role").select_option("judge")
            expect(form.get_by_label("Key (one is kept; leave empty to keep it)")).to_have_value("")
            expect(form.get_by_label("Model", exact=True)).to_have_value("critic-1")
            press("Forget it")
            expect(page.get_by_text("As judge:")).to_have_count(0, timeout=WAIT_MS)
            assert stack.client.get("/model")["roles"] == []
        finally:
            stack.client.delete("/model")
