"""The answer first: large on the first screen, of every kind, and each part under an address of its own."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.e2e import answers
from tests.e2e.conftest import ON_BOTH, SIZES
from tests.e2e.pointer import Hand
from tests.e2e.screens import Screens
from tests.e2e.stack import Stack
from tests.e2e.witness import Seen

pytestmark = pytest.mark.e2e

LARGE = 0.15
"""Which part of the window a thing covers at the least that one came to see; a chip covers less than 0.5 %."""

FILES = {
    "chart.svg": "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 300 200'><rect width='300' height='200'/></svg>",
    "doc.pdf": answers.pdf(),
    "notes.md": "# Notes of today\n\n- one\n- **two**\n",
    "report.html": "<h1 style='color: rgb(200, 0, 0)'>Report</h1><p>All is well.</p>",
    "sizes.csv": "name,size\nalpha,1\nbeta,2\n",
    "thing.bin": "x",
}
LONG_TEXT = "".join(f"line {number}\n" for number in range(40))
VALUES = {
    "Change": ("value", {"path": "etc/hosts", "before": LONG_TEXT, "after": LONG_TEXT.replace("line 20\n", "new\n")}),
    "Words": ("markdown", "# Hello\n\nThere is *much*."),
    "Machines": ("table", [{"name": "nas", "load": 1}, {"name": "desk", "load": 2}]),
}


def _covered(page: Page, what: Locator) -> float:
    """Return which part of the window a thing covers before anything is scrolled."""
    box, size = what.bounding_box(), page.viewport_size
    assert box is not None, "it is not to be seen"
    assert size is not None, "the page has no size"
    wide = min(box["x"] + box["width"], size["width"]) - max(box["x"], 0)
    high = min(box["y"] + box["height"], size["height"]) - max(box["y"], 0)
    return max(0, wide) * max(0, high) / (size["width"] * size["height"])


def _done(stack: Stack, constellation: str) -> str:
    assert stack.until_state(constellation, "succeeded", "failed", "partial") == "succeeded"
    return constellation


def test_a_picture_is_seen_at_once(page: Page, stack: Stack, screens: Screens, width: str) -> None:
    made = _done(stack, stack.submit(answers.of_a_picture("A view")))
    page.goto(f"/constellations/{made}")
    picture = page.locator(".stage img")
    expect(picture).to_be_visible()
    page.wait_for_function("() => document.querySelector('.stage img').naturalWidth === 640")
    assert _covered(page, picture) > LARGE
    if width == "wide":  # the graph stands beside it
        expect(page.get_by_text("make", exact=True).first).to_be_in_viewport()
    screens.shoot(page, "answer", "picture", width)


@ON_BOTH
def test_the_table_of_machines_is_seen_at_once(page: Page, stack: Stack, screens: Screens, width: str) -> None:
    made = stack.client.create("/constellations", {"request": "how are my machines"})["id"]
    _done(stack, made)
    page.goto(f"/constellations/{made}")
    table = page.get_by_role("region", name="Result").get_by_role("table")
    expect(table.get_by_role("cell", name=stack.desktop, exact=True)).to_be_in_viewport()
    screens.shoot(page, "answer", "machines", width)


@pytest.mark.parametrize(("partial", "state"), [(True, "partial"), (False, "failed")])
def test_a_sweep_that_ended_opens_with_its_answer(
    page: Page, stack: Stack, width: str, *, partial: bool, state: str
) -> None:
    made = stack.submit(answers.of_a_sweep(f"A sweep {state}", 5, failing=3, partial=partial))
    assert stack.until_state(made, "succeeded", "failed", "partial") == state
    page.goto(f"/constellations/{made}")
    expect(page.get_by_role("region", name="Result").get_by_role("cell", name="swept", exact=True)).to_be_visible()
    failed = page.get_by_role("region", name="Answer", exact=True).get_by_role("link", name="run.3", exact=True)
    expect(failed).to_be_in_viewport()
    assert page.url.endswith(f"/constellations/{made}"), f"{width}: no task is opened in its place"
    failed.click()
    expect(page.locator(".inspector")).to_contain_text("ValueError: 3")


def test_a_failed_run_without_an_answer_opens_at_its_tasks(page: Page, stack: Stack, width: str) -> None:
    plan = answers.of_a_sweep("Bare", 5, failing=3, partial=False)
    made = stack.submit({name: part for name, part in plan.items() if name != "result"})
    assert stack.until_state(made, "succeeded", "failed", "partial") == "failed"
    page.goto(f"/constellations/{made}")
    expect(page.get_by_role("region", name="List" if width == "phone" else "Graph", exact=True)).to_be_visible()


def test_the_contact_sheet_of_the_sample_is_seen(page: Page, stack: Stack, sample: Seen, width: str) -> None:
    page.goto(f"/constellations/{sample.constellation}")
    page.get_by_role("tab", name="Contact sheet").click()
    frame = page.locator(".stage iframe")
    assert _covered(page, frame) > LARGE
    assert frame.get_attribute("sandbox") == ""
    expect(page.frame_locator(".stage iframe").locator("img").first).to_be_attached()


def test_every_kind_of_file_is_shown(page: Page, stack: Stack, screens: Screens, width: str) -> None:
    made = _done(stack, stack.submit(answers.of_files("Kinds", FILES)))
    page.goto(f"/constellations/{made}")
    stage = page.get_by_role("region", name="Result")
    hand = Hand(page, touch=width == "phone")

    def part(name: str) -> None:
        tab = stage.get_by_role("tab", name=name)
        tab.scroll_into_view_if_needed()
        hand.press_on(tab)
        expect(tab).to_have_attribute("aria-selected", "true")
        for link in ("Save", "This part on a page of its own"):
            expect(stage.get_by_role("link", name=link)).to_be_in_viewport(ratio=1)

    part("chart.svg")
    page.wait_for_function("() => document.querySelector('.stage img').naturalWidth > 0")
    part("report.html")
    expect(page.frame_locator(".stage iframe").get_by_role("heading", name="Report")).to_be_visible()
    colour = page.frame_locator(".stage iframe").locator("h1").evaluate("one => getComputedStyle(one).color")
    assert colour == "rgb(200, 0, 0)", "the page has not its own look"
    screens.shoot(page, "answer", "page", width)
    part("doc.pdf")
    assert _covered(page, page.locator(".stage iframe")) > LARGE
    part("notes.md")
    expect(stage.get_by_role("heading", name="Notes of today")).to_be_visible()
    part("sizes.csv")
    expect(stage.get_by_role("cell", name="beta")).to_be_visible()
    part("thing.bin")
    with page.expect_download() as saved:
        stage.get_by_role("link", name="Save").click()
    assert saved.value.suggested_filename == "thing.bin"


def test_t255_odd_files_of_a_device_hold_up_no_page(page: Page, stack: Stack) -> None:
    commas = "," * 20_000 + "\n" + "a\n" * 6_000
    files = {
        "links.md": "![a](b" * 1_000,
        "signs.md": "a`" * 1_500,
        "commas.csv": commas,
        "last.csv": "name\nthe end\n",
    }
    made = _done(stack, stack.submit(answers.of_files("Odd", files)))
    page.goto(f"/constellations/{made}")
    stage = page.get_by_role("region", name="Result")
    for name in files:
        stage.get_by_role("tab", name=name).click()
        expect(stage.get_by_role("tab", name=name)).to_have_attribute("aria-selected", "true")
        expect(stage.locator("[data-reading]")).to_have_count(0)
    expect(stage.get_by_role("cell", name="the end")).to_be_visible()


def test_a_change_is_shown_by_its_lines(page: Page, stack: Stack, screens: Screens, width: str) -> None:
    made = _done(stack, stack.submit(answers.of_values("Values", VALUES)))
    page.goto(f"/constellations/{made}")
    change = page.locator(".stage .change")
    expect(change.locator(".removed")).to_have_text(re.compile("- line 20"))
    expect(change.locator(".added")).to_have_text(re.compile(r"\+ new"))
    expect(change).to_contain_text("equal lines")
    expect(change).not_to_contain_text("line 5\n")
    screens.shoot(page, "answer", "change", width)
    page.get_by_role("tab", name="Words").click()
    expect(page.get_by_role("region", name="Result").get_by_role("heading", name="Hello")).to_be_visible()
    page.get_by_role("tab", name="Machines").click()
    expect(page.get_by_role("cell", name="nas")).to_be_visible()
    assert "answer=v2" in page.url, "the part that is shown does not stand in the address"


def test_a_part_has_an_address_of_its_own(page: Page, stack: Stack, screens: Screens, width: str) -> None:
    made = _done(stack, stack.submit(answers.of_a_picture("A view alone")))
    page.goto(f"/constellations/{made}")
    Hand(page, touch=width == "phone").press_on(page.get_by_role("link", name="This part on a page of its own"))
    page.wait_for_url(re.compile(r"/answer/make$"))
    address = page.url
    page.goto("/")
    page.goto(address)
    expect(page.get_by_role("heading", name="view.png", level=1)).to_be_visible()
    picture = page.locator(".alone img")
    expect(picture).to_be_visible()
    assert _covered(page, picture) > LARGE
    expect(page.locator(".canvas")).to_have_count(0)
    screens.shoot(page, "answer", "alone", width)
    page.goto(f"/constellations/{made}/answer")
    expect(page.get_by_role("heading", name="view.png", level=2)).to_be_visible()
    page.goto(f"/constellations/{made}/answer/other")
    expect(page.get_by_text("The answer has no such part.")).to_be_visible()


@pytest.mark.parametrize("width", ["wide"], indirect=True)
def test_the_answer_has_room_in_every_window(page: Page, stack: Stack) -> None:
    made = _done(stack, stack.submit(answers.of_a_picture("A view in small")))
    for wide, high in [*SIZES.values(), (844, 390), (720, 450), (320, 480), (1024, 768), (1920, 1080)]:
        page.set_viewport_size({"width": wide, "height": high})
        page.goto(f"/constellations/{made}")
        picture = page.locator(".stage img")
        expect(picture).to_be_in_viewport()
        box = picture.bounding_box()
        assert box is not None, f"{wide}x{high} shows no picture"
        assert box["height"] >= 150, f"{wide}x{high}: {box}"
        wider = page.evaluate("() => document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wider <= 0, f"{wide}x{high} scrolls sideways"


@pytest.mark.parametrize("width", ["wide"], indirect=True)
def test_empty_parts_stand_behind_the_others_and_no_name_is_cut(page: Page, stack: Stack, screens: Screens) -> None:
    named = {f"A part with a long name {at}": ("text", f"text {at}") for at in range(3)}
    values = {"Copied": ("table", []), "Already there": ("value", 3), "Not copied": ("table", []), **named}
    made = _done(stack, stack.submit(answers.of_values("Copied again", values)))
    page.goto(f"/constellations/{made}")
    tabs = page.get_by_role("tablist", name="Parts of the answer")
    expect(tabs.get_by_role("tab", name="Already there")).to_have_attribute("aria-selected", "true")
    expect(tabs.get_by_role("tab").last).to_have_text("Not copied 0")
    screens.shoot(page, "answer", "empty-parts", "wide")
    edge = tabs.bounding_box()
    assert edge
    for tab in tabs.get_by_role("tab").all():
        box = tab.bounding_box()
        assert box
        assert box["x"] + box["width"] <= edge["x"] + edge["width"] + 1, tab.inner_text()
    tabs.get_by_role("tab", name="Copied 0", exact=True).click()
    expect(page.get_by_role("region", name="Result")).to_contain_text("Nothing.")


@pytest.mark.parametrize("width", ["wide"], indirect=True)
def test_a_wide_table_shows_that_it_goes_on_and_scrolls_in_itself(page: Page, stack: Stack, screens: Screens) -> None:
    why = "the load is high, and ninety updates wait since the list of them is old"
    titles = ["device", "why", *(f"a long title {at}" for at in range(8))]
    rows = [{title: why if title == "why" else "some words" for title in titles} for _ in range(2)]
    wide = {"columns": [{"field": title, "title": title} for title in titles], "rows": rows}
    made = _done(stack, stack.submit(answers.of_values("A wide table", {"Wide": ("table", wide)})))
    page.goto(f"/constellations/{made}")
    table = page.get_by_role("region", name="Table")
    expect(table).to_have_attribute("data-more", "right")
    screens.shoot(page, "answer", "wide-table", "wide")
    sentence = table.get_by_role("cell", name=why).first.bounding_box()
    assert sentence
    assert sentence["height"] < 100, "a sentence stands in a column of single words"
    Hand(page, touch=False).press_on(table.get_by_role("columnheader").first)
    page.mouse.wheel(5000, 0)
    expect(table).to_have_attribute("data-more", "left")
    expect(table.get_by_role("columnheader").last).to_be_in_viewport(ratio=0.99)
