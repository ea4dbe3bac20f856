"""The part of models in the rows, and a person's word after it: a judge, a point of review, a successor, a verdict."""

from __future__ import annotations

import json
import re

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import ON_BOTH
from tests.e2e.pointer import Hand
from tests.e2e.screens import Screens
from tests.e2e.stack import SERVER, Stack
from tests.models.server import Json, Say
from tests.models.threaded import a_model
from tests.waiting import SLOWER, until

pytestmark = pytest.mark.e2e

QUESTION = "Is the number the right one?"
NO = {"holds": "no", "because": "It could be any number.", "cites": []}


def refuses(asked: Json) -> Say:
    """Judge with a no, and change nothing in a review."""
    told = "\n".join(str(turn["content"]) for turn in asked["messages"])
    return Say(tool=NO if "You judge a result" in told else {"kind": "no_change"})


@ON_BOTH
def test_rows_name_a_judge_and_a_person_has_the_last_word(
    page: Page, stack: Stack, screens: Screens, width: str
) -> None:
    gate, hand = f"judged-{width}", Hand(page, touch=width == "phone")
    at = {"name": SERVER}
    plan = {
        "starloom": 1,
        "name": f"Judged {width}",
        "tasks": [
            {"id": "told", "tool": "lab.echo", "device": at, "args": {"value": 42}},
            {"id": "lost", "tool": "fs.read", "device": at, "args": {"path": "no-such-file.txt"}},
            stack.gated("found", gate),
        ],
    }
    with a_model(refuses) as fake:
        stack.client.put("/model", {"url": fake.url, "model": "fake-1"})
        try:
            identity = launched_with_a_judge(page, hand, screens, plan, width)
            until(lambda: stack.task_state(identity, "told") == "failed", "the judge says no", 60 * SLOWER)
            until(lambda: stack.task_state(identity, "lost") == "failed", "the file is not there")
        finally:
            stack.client.delete("/model")
    assert QUESTION in json.dumps(stack.client.get(f"/constellations/{identity}"))

    page.goto(f"/constellations/{identity}/t/told")
    panel = page.get_by_role("complementary", name="Task told")
    expect(panel).to_contain_text("It could be any number.")
    hand.press_on(panel.get_by_role("button", name="It holds"))
    expect(panel.locator("header")).to_contain_text("Marked done by a person")
    assert stack.task_state(identity, "told") == "succeeded"

    page.goto(f"/constellations/{identity}/t/lost")
    panel = page.get_by_role("complementary", name="Task lost")
    panel.get_by_label("Counts as done by").select_option("found")
    screens.shoot(page, "constellation", "successor", width)
    hand.press_on(panel.get_by_role("button", name="Apply"))
    expect(panel.locator("header")).to_contain_text("found did its work")
    stack.open_gate(gate)
    assert stack.until_state(identity, "succeeded", "failed", "partial") == "succeeded"


def launched_with_a_judge(page: Page, hand: Hand, screens: Screens, plan: dict[str, object], width: str) -> str:
    """Give the first row a judge and a review in the rows, launch the plan and return its constellation."""
    page.goto("/new?way=build")
    page.get_by_role("tab", name="Text").click()
    page.get_by_role("textbox", name="Plan, as YAML or JSON").fill(json.dumps(plan))
    page.get_by_role("tab", name="Rows").click()
    page.get_by_role("button", name="Row 1, told").click()
    page.get_by_label("question to a judge").fill(QUESTION)
    page.get_by_label("when it has ended").select_option(label="a model reviews the plan first")
    expect(page.get_by_text("Another model answers it.")).to_be_visible()
    screens.shoot(page, "rows", "judge", width)
    launch = page.get_by_role("button", name=re.compile("^Launch"))
    expect(launch).not_to_have_attribute("aria-disabled", "true")
    launch.scroll_into_view_if_needed()
    hand.press_on(launch)
    page.wait_for_url(re.compile(r"/constellations/"))
    return page.url.split("/constellations/")[1].split("?")[0].split("/")[0]
