"""The sample, watched live from its start to its answer, then read back: graph, list, versions, inspector."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import ON_BOTH
from tests.e2e.screens import Screens
from tests.e2e.witness import Seen

pytestmark = pytest.mark.e2e


def test_it_was_seen_live(sample: Seen) -> None:
    assert sorted(sample.screens) == ["phone", "wide"]
    for shown in sample.screens.values():
        assert shown.states[-1].startswith("Done"), shown.states
        assert "Running" in shown.states, shown.states
        assert "Recovered without help: send.3" in shown.sentences[-1], shown.sentences
        grown = [sentence for sentence in shown.sentences if re.search(r"\d+ of \d+ tasks", sentence)]
        assert len(grown) >= 3, f"the answer grew while it ran: {shown.sentences}"
    wide = sample.screens["wide"]
    assert wide.versions == [1, 2, 3, 4], "the plan grew, shrank and was mended under the eyes of who watched"
    # Two that come within one frame of a busy page are drawn at once, so one of them may never be the newest.
    assert wide.newest == sorted(wide.newest), wide.newest
    assert (wide.newest[0], wide.newest[-1]) == (1, 4), wide.newest
    assert len(wide.newest) >= 3, wide.newest
    assert sample.phone_lost, "Home said of the killed phone that it was out of reach"


@ON_BOTH
def test_its_answer_and_graph(page: Page, sample: Seen, screens: Screens, width: str) -> None:
    page.goto(f"/constellations/{sample.constellation}?lens=graph")
    expect(page.locator(".answer .sentence")).to_contain_text("Photo backup is done")
    expect(page.get_by_role("region", name="Graph")).to_be_visible()
    page.locator(".react-flow__node").first.wait_for()
    screens.shoot(page, "constellation", "graph", width)


def test_every_version_can_be_seen_again(page: Page, sample: Seen, screens: Screens, width: str) -> None:
    if width == "phone":
        page.goto(f"/constellations/{sample.constellation}?lens=list")
        choice = page.get_by_role("combobox", name="Version of the plan")
        expect(choice.get_by_role("option")).to_have_count(5)
        choice.select_option("3")
        expect(page).to_have_url(re.compile("v=3"))
        for said in (page.get_by_text("As it was at the end of v3"), page.get_by_role("button", name="Fork v3")):
            expect(said).to_be_visible()
            said.click(trial=True)
        screens.shoot(page, "constellation", "v3", width)
        choice.select_option("Now")
        expect(page).not_to_have_url(re.compile(r"v="))
        return
    page.goto(f"/constellations/{sample.constellation}?lens=list")
    versions = page.get_by_role("toolbar", name="Versions of the plan")
    page.goto(f"/constellations/{sample.constellation}")
    expect(versions.get_by_role("button")).to_have_count(4)
    for number in (1, 2, 3):
        versions.get_by_role("button").nth(number - 1).click()
        expect(page).to_have_url(re.compile(rf"v={number}"))
        expect(page.get_by_text(f"As it was at the end of v{number}")).to_be_visible()
        screens.shoot(page, "constellation", f"v{number}", width)
    page.keyboard.press("[")
    expect(page).to_have_url(re.compile("v=2"))
    page.get_by_role("button", name="Back to now").click()
    expect(page).not_to_have_url(re.compile(r"v="))


def test_the_list_and_the_interrupted_task(page: Page, sample: Seen, screens: Screens, width: str) -> None:
    page.goto(f"/constellations/{sample.constellation}?lens=list")
    rows = page.get_by_role("list", name="Tasks").get_by_role("button")
    rows.first.wait_for()
    screens.shoot(page, "constellation", "list", width)
    page.goto(f"/constellations/{sample.constellation}/t/send.3?lens=list")
    inspector = page.get_by_role("complementary", name="Task send.3")
    attempts = inspector.get_by_role("list", name="Attempts").get_by_role("listitem")
    expect(attempts).to_have_count(2)
    expect(inspector.get_by_role("list", name="Attempts")).to_contain_text("Interrupted on demo-phone")
    for tab in ("Why", "Log", "Input", "History", "Result"):
        inspector.get_by_role("tab", name=tab).click()
        expect(inspector.get_by_role("tabpanel")).not_to_be_empty()
    screens.shoot(page, "task", "interrupted", width)
    page.keyboard.press("Escape")
    expect(inspector).to_have_count(0)


def test_home_and_the_list_of_all(page: Page, screens: Screens, sample: Seen, width: str) -> None:
    page.goto("/")
    expect(page.get_by_role("heading", name="Recent")).to_be_visible()
    expect(page.locator("a.recent").first).to_be_visible()
    screens.shoot(page, "home", "recent", width)
    page.goto("/constellations")
    expect(page.locator('a[href^="/constellations/c-"]').first).to_be_visible()
    screens.shoot(page, "constellations", "all", width)
    # Whatever else was asked for since: a person who knows a word of it finds it.
    page.get_by_role("textbox", name="Search constellations").fill("back up the pictures of demo-phone")
    found = page.locator(f'a[href="/constellations/{sample.constellation}"]')
    expect(found).to_be_visible()
    expect(found).to_contain_text("Photo backup is done")
    screens.shoot(page, "constellations", "found", width)
