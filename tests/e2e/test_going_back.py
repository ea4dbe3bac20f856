"""A file that was written over comes back by a press of *Undo*, and on the command line; the refusal stands before."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from starloom.lab.sample.facts import Places
from tests.e2e.conftest import NewContext
from tests.e2e.screens import Screens
from tests.e2e.stack import SERVER, Stack
from tests.e2e.witness import Seen
from tests.waiting import PATIENCE_S, until

pytestmark = pytest.mark.e2e

OLD, NEW = "as it was", "written over"


def written_over(stack: Stack, name: str) -> str:
    """Let a plan without a word about undo write over a file, and return the constellation."""
    (Places(stack.home).server / name).write_text(OLD)
    args = {"path": name, "text": NEW, "on_clash": "replace"}
    call: dict[str, Any] = {"id": "write", "tool": "fs.write", "device": {"name": SERVER}, "args": args}
    one = stack.submit({"starloom": 1, "name": "Write over", "policy": {"approval": "never"}, "tasks": [call]})
    stack.until_state(one, "succeeded")
    assert (Places(stack.home).server / name).read_text() == NEW
    return one


def until_back(stack: Stack, name: str) -> None:
    until(lambda: (Places(stack.home).server / name).read_text() == OLD, f"{name} is as it was")


def signed_in(new_context: NewContext, url: str, button: str = "") -> Page:
    page = new_context("wide").new_page()
    page.goto(url)
    if button:
        page.get_by_role("button", name=button).click()
    expect(page.get_by_role("heading", name="Home", exact=True)).to_be_visible()
    return page


def test_a_press_brings_back_the_file_and_who_may_not_reads_why(
    stack: Stack, sample: Seen, new_context: NewContext
) -> None:
    del sample  # it is the first that its hub is asked for
    one = written_over(stack, "pressed.txt")
    invited = stack.client.create("/sign-in-links", {"for": "lo", "role": "operator", "scopes": ["read", "run"]})
    other = signed_in(new_context, invited["url"], "Sign in as lo")
    for place in ("", "/t/write"):
        other.goto(f"/constellations/{one}{place}")
        undo = other.get_by_role("button", name=re.compile("^Undo")).first
        expect(undo).to_have_attribute("aria-disabled", "true")
        expect(undo).to_have_attribute("title", re.compile("lo may undo own work only"))
    other.context.close()
    page = signed_in(new_context, stack.sign_in_link())
    page.goto(f"/constellations/{one}")
    page.get_by_role("button", name="Undo write").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text(f"It puts 1 file of write into the trash of {SERVER}")
    dialog.get_by_role("button", name="Undo write", exact=True).click()
    until_back(stack, "pressed.txt")
    stack.until_state(one, "succeeded")
    expect(page.get_by_role("button", name="Undo write")).to_have_count(0)
    page.context.close()


def test_a_changed_file_is_named_beside_what_came_back(
    stack: Stack, sample: Seen, new_context: NewContext, screens: Screens
) -> None:
    del sample
    folder = Places(stack.home).server
    calls = [
        {
            "id": f"write-{at}",
            "tool": "fs.write",
            "device": {"name": SERVER},
            "args": {"path": f"{at}.txt", "text": NEW},
        }
        for at in ("first", "second")
    ]
    links = [{"from": "write-first", "to": "write-second", "when": "success"}]
    made = {"starloom": 1, "name": "Write two", "policy": {"approval": "never"}, "tasks": calls, "dependencies": links}
    one = stack.submit(made)
    stack.until_state(one, "succeeded")
    (folder / "first.txt").write_text("changed by somebody")
    stack.client.create(f"/constellations/{one}/undo", {})
    stack.until_state(one, "failed", "partial")
    page = signed_in(new_context, stack.sign_in_link())
    page.goto(f"/constellations/{one}")
    lines = page.get_by_role("list", name="Undone and not undone").get_by_role("listitem")
    expect(lines.first).to_contain_text(re.compile("^write-first stays as it is .*first.txt was changed since"))
    expect(lines.last).to_have_text(f"write-second is taken back: second.txt went to the trash of {SERVER}.")
    screens.shoot(page, "constellation", "undo-failed", "wide")
    page.context.close()


def test_the_command_line_shows_an_undo_and_then_does_it(stack: Stack, sample: Seen) -> None:
    del sample
    one = written_over(stack, "typed.txt")

    def typed(*words: str) -> str:
        line = [str(Path(sys.executable).with_name("starloom")), "undo", *words, "--hub", str(stack.home)]
        return subprocess.run(line, capture_output=True, text=True, check=True, timeout=PATIENCE_S).stdout

    assert typed(one, "--preview") == (
        f"{one} would undo, in this order: write\n"
        f"  1 file of write: into the trash of {SERVER}, from where they can be taken back\n"
    )
    assert (Places(stack.home).server / "typed.txt").read_text() == NEW
    assert f"{one} undoes, in this order: write\n" in typed(one)
    until_back(stack, "typed.txt")
    stack.until_state(one, "succeeded")
    sentence = stack.client.get(f"/constellations/{one}")["answer"]["sentence"]
    assert sentence.startswith("Write over was done and then taken back: write.")
