"""A model's plan is drawn while it is written: looks in words, ghost cards, the real plan; questions and cancelling.

The model is a scripted server that streams each piece when the test lets it go, so nothing here waits for a time.
"""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.e2e.conftest import ON_BOTH
from tests.e2e.pointer import Hand
from tests.e2e.screens import Screens
from tests.e2e.stack import SERVER, Stack
from tests.installation import kill
from tests.models.server import Say
from tests.models.streams import Gate
from tests.models.threaded import a_model
from tests.waiting import SLOWER

pytestmark = pytest.mark.e2e

LOOK: Any = {
    "kind": "look",
    "why": "to know its system",
    "calls": [{"device": SERVER, "tool": "system.info", "args": {}}],
}
FIRST = {"id": "collect", "tool": "lab.echo", "device": {"name": SERVER}, "args": {"value": 1}}
SECOND = {"id": "sort", "tool": "lab.echo", "device": {"name": SERVER}, "args": {"value": 2}}
THIRD = {"id": "report", "tool": "lab.echo", "device": {"name": SERVER}, "args": {"value": 3}}
BETWEEN = [{"from": "collect", "to": "sort"}, {"from": "sort", "to": "report"}]
PIECES = (
    '{"kind": "plan", "plan": {"starloom": 1, "name": "By hand", "dependencies": '
    + json.dumps(BETWEEN)
    + ', "tasks": [',
    json.dumps(FIRST) + ", ",
    json.dumps(SECOND) + ", ",
    json.dumps(THIRD) + "]",
    "}}",
)
BEFORE_TEXT = 3
"""Events of a stream before its text: a sign of life, the role, the call."""
BEHIND_TEXT = 3
"""Events behind it: the reason of the end, the usage, the end."""
QUESTION: Any = {
    "kind": "question",
    "text": "Which of the wagons?",
    "choices": ["the red ones", "all"],
    "default": "all",
}
READY = Say(tool={"kind": "plan", "plan": {"starloom": 1, "name": "Wagons", "tasks": [FIRST]}})
FIRST_MS = 90_000 * SLOWER
"""A worker loads the libraries of the wires at its first call, which takes long on a busy machine."""
CANNOT = Say(tool={"kind": "cannot", "text": "there is nothing to say"})


def asked_in_words(page: Page, hand: Hand, words: str) -> Locator:
    """Say it on the page *New request*, and return the panel of the constellation that a model plans then."""
    page.goto("/new")
    page.get_by_role("textbox", name="What should happen?").fill(words)
    start = page.get_by_role("button", name=re.compile("Have the model plan it"))
    expect(start).not_to_have_attribute("aria-disabled", "true")
    # What was understood is still being laid out around it, so the press waits for what it is to reach.
    (start.tap if hand.touch else start.click)()
    expect(page).to_have_url(re.compile("/constellations/"))
    return page.get_by_role("region", name="Planning")


def names(panel: Locator) -> Locator:
    return panel.get_by_role("region", name="Plan so far").locator(".name")


@ON_BOTH
def test_a_plan_is_drawn_while_it_is_written(page: Page, stack: Stack, screens: Screens, width: str) -> None:
    gate, hand = Gate(), Hand(page, touch=width == "phone")
    planned = Say(tool="".join(PIECES), pieces=PIECES, gate=gate)
    with a_model(Say(tool=LOOK), planned, CANNOT, streams=True) as fake:
        stack.client.put("/model", {"url": fake.url, "model": "fake-1"})
        try:
            panel = asked_in_words(page, hand, f"tell me how the old wagons roll {width}")
            lines = panel.get_by_role("list", name="What the planner does")
            expect(lines).to_contain_text("Looks first: to know its system", timeout=FIRST_MS)
            expect(lines).to_contain_text(f"Looks at the machine on {SERVER}")
            gate.release(BEFORE_TEXT + 1)
            expect(lines).to_contain_text("Begins to write the plan")
            expect(names(panel)).to_have_count(0)
            gate.release()
            expect(names(panel)).to_have_text(["collect"])
            expect(lines).to_contain_text("Writes the plan: 1 task so far")
            gate.release()
            expect(names(panel)).to_have_text(["collect", "sort"])
            screens.shoot(page, "planning", "drawn", width)
            gate.release()
            expect(names(panel)).to_have_text(["collect", "sort", "report"])
            expect(lines).to_contain_text("Writes the plan: 3 tasks so far")
            found = constellation_of(page)
            # Nothing of the drawing is in the log: no task, no version, no name.
            made = stack.client.get(f"/constellations/{found}")
            assert [task["id"] for task in made["tasks"]] == ["look-1-1"]
            assert "collect" not in json.dumps(stack.client.get(f"/constellations/{found}/events"))
            gate.release(1 + BEHIND_TEXT)
            stack.until_state(found, "succeeded")
        finally:
            gate.release(1000)
            stack.client.delete("/model")
    expect(panel).to_have_count(0)
    page.goto(f"/constellations/{found}?lens=list&answer=none")
    for task in ("collect", "sort", "report"):
        expect(page.get_by_role("region", name="List")).to_contain_text(task)


WORDS = (
    '{"kind": "answer", "text": "The wagons',
    ' roll on 1 wheel [1]."',
    ', "cites": [{"task": "collect", "pointer": ""}]}',
)


@ON_BOTH
def test_an_answer_is_shown_while_it_is_written(page: Page, stack: Stack, screens: Screens, width: str) -> None:
    gate, hand = Gate(), Hand(page, touch=width == "phone")
    with a_model(READY, Say(tool="".join(WORDS), pieces=WORDS, gate=gate), streams=True) as fake:
        stack.client.put("/model", {"url": fake.url, "model": "fake-1"})
        try:
            asked_in_words(page, hand, f"tell me how the wagons roll now {width}")
            writing = page.get_by_role("region", name="What the model writes")
            expect(writing).to_contain_text("Writing the answer", timeout=FIRST_MS)
            gate.release(BEFORE_TEXT + 1)
            expect(writing).to_contain_text("The wagons")
            gate.release()
            expect(writing).to_contain_text("The wagons roll on 1 wheel. Not checked yet.")
            screens.shoot(page, "planning", "answer", width)
            gate.release(1 + BEHIND_TEXT)
            stack.until_state(constellation_of(page), "succeeded")
        finally:
            gate.release(1000)
            stack.client.delete("/model")
    expect(writing).to_have_count(0)
    expect(page.get_by_role("region", name="Answer", exact=True).first).to_contain_text("The wagons roll on 1 wheel")


def test_a_plan_that_is_being_written_can_be_cancelled(page: Page, stack: Stack, width: str) -> None:
    gate, hand = Gate(), Hand(page, touch=width == "phone")
    with a_model(Say(tool="".join(PIECES), pieces=PIECES, gate=gate), streams=True) as fake:
        stack.client.put("/model", {"url": fake.url, "model": "fake-1"})
        try:
            panel = asked_in_words(page, hand, f"stop the old wagons at once {width}")
            gate.release(BEFORE_TEXT + 2)
            expect(names(panel)).to_have_text(["collect"], timeout=FIRST_MS)
            hand.press_on(page.get_by_role("button", name="Cancel", exact=True).first)
            hand.press_on(page.get_by_role("dialog").get_by_role("button", name="Cancel the constellation"))
            stack.until_state(constellation_of(page), "cancelled")
            expect(panel).to_have_count(0)
            assert stack.client.get(f"/constellations/{constellation_of(page)}")["tasks"] == []
        finally:
            gate.release(1000)
            stack.client.delete("/model")


def constellation_of(page: Page) -> str:
    return page.url.split("/constellations/")[1].split("?")[0].split("/")[0]


@ON_BOTH
def test_a_question_is_answered_where_the_work_stands(page: Page, stack: Stack, screens: Screens, width: str) -> None:
    hand = Hand(page, touch=width == "phone")
    with a_model(Say(tool=QUESTION), Say(tool=QUESTION), READY, CANNOT, streams=True) as fake:
        stack.client.put("/model", {"url": fake.url, "model": "fake-1"})
        try:
            asked_in_words(page, hand, f"tell me about the old wagons here {width}")
            found = constellation_of(page)
            card = page.get_by_role("region", name="Needs you")
            expect(card).to_contain_text("Which of the wagons?", timeout=FIRST_MS)
            expect(card).to_contain_text('The planner would take "all".')
            screens.shoot(page, "planning", "asked", width)
            hand.press_on(card.get_by_role("button", name="all", exact=True))
            # The second one is answered on the page *New request*, by keyboard and in words of one's own.
            page.goto("/new")
            again = page.get_by_role("region", name="Asked while planning")
            expect(again).to_contain_text("Which of the wagons?")
            screens.shoot(page, "new", "asked", width)
            again.get_by_role("textbox", name="Answer").fill("those of 1950")
            page.keyboard.press("Enter")
            stack.until_state(found, "succeeded")
        finally:
            stack.client.delete("/model")
    said = [call["messages"][1]["content"] for call in fake.asked]
    assert '"answer":"all"' in said[1]
    assert "those of 1950" in said[2]


@pytest.mark.proof(shown_by="tests/edge/live/test_sketches.py")
def test_a_killed_worker_takes_its_picture_with_it_and_another_draws_anew(page: Page, stack: Stack, width: str) -> None:
    gates, hand = (Gate(), Gate()), Hand(page, touch=width == "phone")
    plans = [Say(tool="".join(PIECES), pieces=PIECES, gate=gate) for gate in gates]
    with a_model(*plans, CANNOT, streams=True) as fake:
        stack.client.put("/model", {"url": fake.url, "model": "fake-1"})
        try:
            panel = asked_in_words(page, hand, f"say which old wagons are lost {width}")
            gates[0].release(BEFORE_TEXT + 3)
            expect(names(panel)).to_have_text(["collect", "sort"], timeout=FIRST_MS)
            kill(stack.child("starloom.jobs.worker"))
            expect(names(panel)).to_have_count(0, timeout=60_000 * SLOWER)
            gates[1].release(BEFORE_TEXT + 2)
            expect(names(panel)).to_have_text(["collect"], timeout=90_000 * SLOWER)
            gates[1].release(1000)
            stack.until_state(constellation_of(page), "succeeded")
        finally:
            for gate in gates:
                gate.release(1000)
            stack.client.delete("/model")
    assert len(fake.asked) >= 2
