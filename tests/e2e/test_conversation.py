"""A request in words that a model plans: its answer in words with sources, and the conversation with its texts."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.screens import Screens
from tests.e2e.stack import SERVER, Stack
from tests.models.server import Say
from tests.models.threaded import a_model
from tests.waiting import SLOWER

pytestmark = pytest.mark.e2e

TASK = {"id": "echo", "tool": "lab.echo", "device": {"name": SERVER}, "args": {"value": {"errors": 1412, "of": "db"}}}
PLAN: Any = {"starloom": 1, "name": "Errors", "tasks": [TASK], "result": [{"title": "Errors", "from": "echo"}]}
ANSWER: Any = {
    "kind": "answer",
    "text": "The service db has the most errors, 1,412 of them [1]. It lost 99 orders.",
    "cites": [{"task": "echo", "pointer": ""}],
}


def test_an_answer_in_words_opens_its_sources_and_shows_the_conversation(
    page: Page, stack: Stack, screens: Screens, width: str
) -> None:
    says = (Say(tool={"kind": "plan", "plan": PLAN}), Say(tool=ANSWER), Say(tool=ANSWER))
    with a_model(*says) as fake:
        stack.client.put("/model", {"url": fake.url, "model": "fake-1"})
        try:
            made = stack.client.create("/constellations", {"request": "tell me who of them fails so very often"})
            stack.until_state(made["id"], "succeeded")
        finally:
            stack.client.delete("/model")
    page.goto(f"/constellations/{made['id']}?lens=graph")
    band = page.get_by_role("region", name="Answer", exact=True).first
    expect(band).to_contain_text("The service db has the most errors, 1,412 of them", timeout=30_000 * SLOWER)
    expect(band).not_to_contain_text(re.compile(r"errors.*99 orders.*Errors is done"))
    screens.shoot(page, "constellation", "worded", width)
    band.get_by_text("One sentence was left out").click()
    expect(band.get_by_text("It lost 99 orders.")).to_be_visible()
    page.get_by_role("tab", name="Conversation").click()
    talk = page.get_by_role("region", name="Conversation with the model")
    expect(talk).to_contain_text("3 calls of a model")
    talk.get_by_role("button", name=re.compile("Asked for a plan")).click()
    told = talk.get_by_role("region", name="What it was told")
    expect(told).to_contain_text("tell me who of them fails so very often", timeout=30_000 * SLOWER)
    expect(talk.get_by_role("region", name="What it said")).to_contain_text('"lab.echo"')
    screens.shoot(page, "constellation", "conversation", width)
    band.get_by_role("link", name="Source: echo").click()
    expect(page).to_have_url(re.compile(r"/t/echo\?tab=result"))
