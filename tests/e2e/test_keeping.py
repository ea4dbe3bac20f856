"""Recipes from what worked: words, a model's plan, a clean end, *Keep it*; then the same words need no model."""

from __future__ import annotations

import os
import platform
import random
import re
import string
from typing import Any
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect

from tests import programs
from tests.e2e.conftest import SIZES
from tests.e2e.screens import Screens
from tests.e2e.stack import SERVER, Stack
from tests.models.server import Say
from tests.models.threaded import a_model
from tests.waiting import SLOWER

pytestmark = pytest.mark.e2e

ANSWER: Any = {"kind": "answer", "text": "It is well [1].", "cites": [{"task": "look", "pointer": ""}]}
draw = random.Random(os.getpid())


def planned(title: str) -> tuple[Say, ...]:
    """Return the replies of a model: a plan with this title on its result, and two answers in words."""
    # A wait of its own makes it a plan that nobody has dismissed; other tests ask for the same call.
    wait_s = 600 + sum(ord(letter) * place for place, letter in enumerate(title))
    timeouts = {"schedule_to_start_s": wait_s}
    task = {"id": "look", "tool": "system.info", "device": {"name": SERVER}, "timeouts": timeouts}
    plan: Any = {"starloom": 1, "name": "By a model", "tasks": [task], "result": [{"title": title, "from": "look"}]}
    return (Say(tool={"kind": "plan", "plan": plan}), Say(tool=ANSWER), Say(tool=ANSWER))


RUNS = 3
LONG_MS = 60_000 * SLOWER


def on_both(page: Page, screens: Screens, name: str, state: str) -> None:
    """Judge and photograph the page on a wide screen and on that of a phone."""
    for width, (across, down) in SIZES.items():
        page.set_viewport_size({"width": across, "height": down})
        screens.shoot(page, name, state, width)
    across, down = SIZES["wide"]
    page.set_viewport_size({"width": across, "height": down})


def launched(page: Page, stack: Stack, words: str, button: str) -> str:
    """Say the words on the page *New request*, press the button once it may be pressed, and wait for the end."""
    page.goto("/new")
    page.get_by_role("textbox", name="What should happen?").fill(words)
    if button == "On trial":
        expect(page.get_by_text("On trial:").first).to_be_visible(timeout=LONG_MS)
    start = page.get_by_role("button", name=re.compile("Launch" if button else "Launch|Have the model plan it"))
    expect(start).not_to_have_attribute("aria-disabled", "true", timeout=LONG_MS)
    start.click()
    expect(page).to_have_url(re.compile("/constellations/"), timeout=LONG_MS)
    found = page.url.rsplit("/", 1)[1].split("?")[0]
    stack.until_state(found, "succeeded")
    return found


@pytest.mark.parametrize("width", ["wide"], indirect=True)
def test_what_worked_is_kept_by_a_press_and_trusted_after_three_runs(
    page: Page, stack: Stack, screens: Screens, width: str
) -> None:
    # A plan of a try before is not proposed again, and its words have a recipe.
    quiet = "".join(draw.choices(string.ascii_lowercase, k=8))
    words = f"tell the {quiet} numbers of {SERVER}"
    for one in stack.client.get("/recipe-proposals")["items"]:
        stack.client.delete(f"/recipe-proposals/{one['id']}")
    with a_model(*planned(quiet)) as fake:
        stack.client.put("/model", {"url": fake.url, "model": "fake-1"})
        try:
            first = launched(page, stack, words, "")
            asked = len(fake.asked)
            assert asked >= 2  # the plan, and its answer in words
            page.goto("/")
            expect(page.get_by_role("region", name="Keep as recipes")).to_contain_text(words, timeout=LONG_MS)
            screens.shoot(page, "home", "proposal", width)
            page.goto(f"/constellations/{first}")
            card = page.get_by_role("region", name="Keep this as a recipe")
            expect(card).to_contain_text(words, timeout=LONG_MS)
            on_both(page, screens, "constellation", "proposal")
            card.get_by_role("button", name="Keep it").click()
            dialog = page.get_by_role("dialog", name="Save as recipe")
            expect(dialog.get_by_label("Words to type for it")).to_have_value(
                f"tell the {quiet} numbers of {{demo_server}}"
            )
            expect(dialog.get_by_role("region", name="What it does")).to_contain_text(f"system.info on {SERVER}")
            expect(dialog.get_by_text("On trial for three runs:")).to_be_visible()
            dialog.get_by_label("Name of the parameter demo_server").fill("where")
            expect(dialog.get_by_label("Words to type for it")).to_have_value(f"tell the {quiet} numbers of {{where}}")
            expect(dialog.get_by_role("note", name="Its sentence")).to_contain_text(words)
            on_both(page, screens, "recipe", "keep-it")
            dialog.get_by_role("button", name="Save", exact=True).click()
            runs = page.get_by_role("region", name="Runs")
            expect(runs).to_contain_text("On trial: 0 of 3 clean runs in a row", timeout=LONG_MS)
            name = page.url.rsplit("/", 1)[1]
            for ran in range(RUNS):
                launched(page, stack, words, "On trial")
                if ran == 0:
                    page.goto("/recipes")
                    trial = page.get_by_role("region", name="On trial")
                    expect(trial).to_contain_text("1 of 3 clean runs", timeout=LONG_MS)
                    on_both(page, screens, "recipes", "on-trial")
                    page.goto(f"/new?q={quote(words)}")
                    expect(page.get_by_text("On trial: runs as it did on")).to_be_visible(timeout=LONG_MS)
                    on_both(page, screens, "new", "on-trial")
            page.goto(f"/recipes/{name}")
            expect(runs).to_contain_text("3 clean runs", timeout=LONG_MS)
            expect(runs).not_to_contain_text("On trial")
            screens.shoot(page, "recipe", "trusted", width)
            last = launched(page, stack, words, "Launch")
            made = stack.client.get(f"/constellations/{last}")
            assert (made["recipe"], made["request"]) == (name, words)
            assert len(fake.asked) == asked
        finally:
            stack.client.delete("/model")
    assert words not in [one["request"] for one in stack.client.get("/recipe-proposals")["items"]]


def starloom(stack: Stack, *arguments: str) -> str:
    done = programs.ran_command(stack.home, *arguments, timeout=120 * SLOWER)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("width", ["wide"], indirect=True)
def test_the_command_line_keeps_and_dismisses_too(page: Page, stack: Stack, width: str) -> None:
    # What a try before dismissed is not proposed again.
    drawn = "".join(draw.choices(string.ascii_lowercase, k=8))
    kept_name, gone_name, recipe = f"Count {drawn} wagons", f"Weigh {drawn} barrels", f"count-{drawn}-wagons"
    for name in (kept_name, gone_name):
        tool = {"tool": "lab.echo", "args": {"value": name}}
        found = stack.submit({"starloom": 1, "name": name, "tasks": [{"id": "a", "device": {"name": SERVER}, **tool}]})
        stack.until_state(found, "succeeded")
    listed = starloom(stack, "recipe", "proposals")
    kept, gone = (
        next(line.split()[0] for line in listed.splitlines() if title in line and not line.startswith(" "))
        for title in (kept_name, gone_name)
    )
    assert "on trial" in starloom(stack, "recipe", "keep", kept)
    assert "not proposed again" in starloom(stack, "recipe", "dismiss", gone)
    left = starloom(stack, "recipe", "proposals")
    assert kept_name not in left
    assert gone_name not in left
    starloom(stack, "recipe", "run", recipe, "--wait")
    shown = starloom(stack, "recipe", "show", recipe)
    assert "on trial: 1 of 3 clean runs in a row" in shown
    assert "(1 clean, 0 failed)" in shown
    page.goto(f"/recipes/{recipe}")
    expect(page.get_by_role("region", name="Runs")).to_contain_text("1 clean run", timeout=LONG_MS)


@pytest.mark.parametrize("width", ["wide"], indirect=True)
def test_a_recipe_that_went_back_says_why_and_the_press_undoes_it(
    page: Page, stack: Stack, screens: Screens, width: str
) -> None:
    good = {"id": "a", "tool": "lab.echo", "device": {"name": SERVER}, "args": {"value": 1}}
    bad = {**good, "checks": [{"output": "/value", "op": "eq", "value": 2}]}
    # The runs of a try before would count for a recipe of the same name.
    name = f"weigh-{''.join(draw.choices(string.ascii_lowercase, k=8))}"
    recipe = {"starloom_recipe": 1, "name": name, "title": "Weigh barrels", "version": 1}

    def saved(task: Any, base: int | None) -> None:
        plan = {"starloom": 1, "name": "Weigh barrels", "tasks": [task]}
        body = {"recipe": {**recipe, "plan": plan}, **({"base_version": base} if base else {})}
        stack.client.create("/recipes", body)

    def ran(state: str) -> None:
        made = stack.client.create("/constellations", {"recipe": name})
        stack.until_state(made["id"], state)

    saved(good, None)
    ran("succeeded")
    saved(bad, 1)
    for _ in range(2):
        ran("failed")
    page.goto("/inbox")
    notice = page.get_by_role("region", name="From your recipes")
    expect(notice).to_contain_text("version 2 failed in 2 of its last 2 runs", timeout=LONG_MS)
    screens.shoot(page, "inbox", "went-back", width)
    notice.get_by_role("button", name="Undo that").click()
    expect(notice).to_have_count(0, timeout=LONG_MS)
    page.goto(f"/recipes/{name}")
    versions = page.get_by_role("region", name="Versions")
    expect(versions).to_contain_text("Back from version 2", timeout=LONG_MS)
    assert stack.client.get(f"/recipes/{name}")["version"] == 4
    ran("failed")


@pytest.mark.parametrize("width", ["wide"], indirect=True)
def test_a_value_of_a_look_is_read_again_at_each_run(page: Page, stack: Stack, screens: Screens, width: str) -> None:
    """A model looks at a device, and its plan has what it saw; code finds the place."""
    look: Any = {"kind": "look", "why": "to see", "calls": [{"device": SERVER, "tool": "system.info", "args": {}}]}

    def repeated(value: Any) -> Any:
        task = {"id": "again", "tool": "lab.echo", "device": {"name": SERVER}, "args": {"value": value}}
        return {"kind": "plan", "plan": {"starloom": 1, "name": "By a model", "tasks": [task]}}

    quiet = "".join(draw.choices(string.ascii_lowercase, k=8))
    words = f"repeat the {quiet} kernel of {SERVER}"
    kernel = platform.release()
    said = Say(tool={"kind": "answer", "text": "It is told.", "cites": []})
    try:
        with a_model(Say(tool=look), Say(tool=repeated(kernel)), said) as fake:
            stack.client.put("/model", {"url": fake.url, "model": "fake-1"})
            launched(page, stack, words, "")
            card = page.get_by_role("region", name="Keep this as a recipe")
            card.get_by_role("button", name="Keep it").click(timeout=LONG_MS)
            dialog = page.get_by_role("dialog", name="Save as recipe")
            does = dialog.get_by_role("region", name="What it does")
            expect(does).to_contain_text("value from look-1-1, read again each time")
            screens.shoot(page, "recipe", "keep-a-look", width)
            dialog.get_by_role("button", name="Save", exact=True).click()
            expect(page.get_by_role("region", name="Runs")).to_contain_text("On trial: 0 of 3", timeout=LONG_MS)
            again = launched(page, stack, words, "On trial")
            tasks = stack.client.get(f"/constellations/{again}")["tasks"]
            assert sorted(task["id"] for task in tasks) == ["again", "look-1-1"]
    finally:
        stack.client.delete("/model")
