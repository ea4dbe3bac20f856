"""Twelve windows, from a small phone to a desk, held upright and sideways and at 200 %: the work has room in each."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page

from tests.e2e import answers
from tests.e2e.screens import Screens
from tests.e2e.stack import Stack
from tests.e2e.windows import ANSWER_SHARE, AT_ONCE_SHARE, LOW, SIZES, broken_words, clipped, room, shares, suffices
from tests.e2e.witness import Seen
from tests.waiting import until

pytestmark = pytest.mark.e2e

WIDE_ROW = {f"figure {at}": f"{at} of ten figures" for at in range(10)}
PLACES = ("", "new", "constellations", "devices", "recipes", "schedules", "inbox", "activity", "settings")
THREE_PARTS = ("contact-sheet.txt", "comparison.txt", "catalogue.txt")
PHONES = [(320, 480), (360, 640), (390, 844), (720, 450)]
UNDER_THE_BUTTONS = """() => {
  const main = document.getElementById("main");
  const thumb = document.querySelector(".thumb");
  const cutNow = () => thumb ? thumb.getBoundingClientRect().bottom - main.getBoundingClientRect().bottom : 0;
  // In a low window the buttons end the page, and are seen whole at its end.
  const stays = thumb && getComputedStyle(thumb).position === "sticky";
  const atFirst = stays ? cutNow() : 0;
  main.scrollTo(0, main.scrollHeight);
  const cut = Math.max(atFirst, cutNow());
  const stage = document.querySelector(".stage").getBoundingClientRect();
  const end = document.querySelector(".thumb")?.getBoundingClientRect();
  main.scrollTo(0, 0);
  return {cut, under: end ? stage.bottom - end.top : 0};
}"""
COVERED = """() => {
  const bar = document.querySelector(".tools").getBoundingClientRect();
  const parts = [...document.querySelectorAll(".tools > *")].map((one) => one.getBoundingClientRect().bottom);
  const below = document.querySelector(".tasklist, .canvas > .empty");
  return Math.max(bar.bottom, ...parts) - below.getBoundingClientRect().top;
}"""


@pytest.mark.parametrize("width", ["wide"], indirect=True)
def test_every_size_leaves_room_for_the_work(page: Page, sample: Seen, screens: Screens) -> None:
    faults: list[str] = []
    for wide, high in SIZES:
        page.set_viewport_size({"width": wide, "height": high})
        for lens, selector in (("list", ".tasklist"), ("graph", ".flow")):
            page.goto(f"/constellations/{sample.constellation}?lens={lens}")
            page.locator(selector).wait_for(state="attached")
            found = room(page, selector)
            if not suffices(found):
                faults.append(f"{wide}x{high} {lens}: {found}")
            faults += [f"{wide}x{high} {lens}: {one}" for one in clipped(page)]
            screens.snap(page, f"size-{wide}x{high}-{lens}.png")
        page.goto(f"/constellations/{sample.constellation}/t/send.3?lens=list")
        page.locator(".inspector .tabbody").wait_for()
        body = room(page, ".inspector .tabbody")
        if body["high"] < 20 or body["reached"] < 20:
            faults.append(f"{wide}x{high} task: {body}")
        faults += [f"{wide}x{high} task: {one}" for one in clipped(page)]
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize("width", ["wide"], indirect=True)
def test_every_size_leaves_room_for_the_table_of_an_answer(page: Page, stack: Stack, screens: Screens) -> None:
    rows = [{"machine": f"machine-{at}", **WIDE_ROW} for at in range(8)]
    made = stack.submit(answers.of_values("Machines in small", {"Machines": ("table", rows), "Words": ("text", "x")}))
    assert stack.until_state(made, "succeeded", "failed", "partial") == "succeeded"
    faults: list[str] = []
    for wide, high in SIZES:
        page.set_viewport_size({"width": wide, "height": high})
        page.goto(f"/constellations/{made}")
        page.locator(".stage table").wait_for()
        screens.snap(page, f"size-{wide}x{high}-answer.png")
        for part in (".stage > .body", ".stage .scroll"):
            found = room(page, part)
            if not suffices(found):
                faults.append(f"{wide}x{high} {part}: {found}")
        first, reached = shares(page, ".stage > .body")
        if high <= LOW and (first < AT_ONCE_SHARE or reached < ANSWER_SHARE):
            faults.append(f"{wide}x{high}: the answer has {first:.0%} of the height at once, {reached:.0%} scrolled to")
        faults += [f"{wide}x{high}: {one}" for one in clipped(page)]
        found = page.evaluate(UNDER_THE_BUTTONS)
        if found["cut"] > 1 or found["under"] > 1:
            faults.append(f"{wide}x{high} buttons: {found}")
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize("width", ["wide"], indirect=True)
def test_a_contact_sheet_scrolls_with_a_low_page(page: Page, sample: Seen, screens: Screens) -> None:
    for wide, high in [size for size in SIZES if size[1] <= LOW]:
        page.set_viewport_size({"width": wide, "height": high})
        page.goto(f"/constellations/{sample.constellation}")
        page.get_by_role("tab", name="Contact sheet").click()
        page.locator(".stage img").first.wait_for()
        screens.snap(page, f"sheet-{wide}x{high}.png")
        own = "parts => parts.filter(one => one.localName === 'iframe' || one.scrollHeight > one.clientHeight + 1)"
        boxes = page.locator(".stage .body, .stage .body :is(iframe, article)").evaluate_all(
            f"parts => ({own})(parts).map(one => one.outerHTML.slice(0, 60))"
        )
        assert boxes == [], f"{wide}x{high}"
        assert clipped(page) == [], f"{wide}x{high}"


@pytest.mark.parametrize("width", ["wide"], indirect=True)
def test_the_bar_above_a_list_covers_nothing_on_a_phone(page: Page, stack: Stack, screens: Screens) -> None:
    plan = answers.of_many("Two versions that run", 2)
    made = stack.submit({**plan, "tasks": [*plan["tasks"], stack.gated("late", "bar")]})
    until(lambda: stack.task_state(made, "second.0") == "succeeded", "its list has made the second version")
    for wide, high in PHONES:
        page.set_viewport_size({"width": wide, "height": high})
        for more in ("", "&q=second", "&v=1", "&q=second&v=1"):
            page.goto(f"/constellations/{made}?lens=list{more}")
            page.get_by_label("Version of the plan").wait_for()
            page.locator(".tasklist, .canvas > .empty").wait_for()
            screens.snap(page, f"bar-{wide}x{high}{more.replace('&', '-')}.png")
            assert page.evaluate(COVERED) <= 0, f"{wide}x{high} {more}"
            assert clipped(page) == [], f"{wide}x{high} {more}"


@pytest.mark.parametrize("width", ["wide"], indirect=True)
def test_no_size_breaks_a_short_word(page: Page, sample: Seen, stack: Stack) -> None:
    """In a part of too little width words stand in pieces. Nothing is cut, so scroll sizes do not tell."""
    device = stack.devices()[stack.desktop]["id"]
    faults: list[str] = []
    for place in (*PLACES, f"devices/{device}", f"constellations/{sample.constellation}"):
        page.goto(f"/{place}")
        page.locator("#main").wait_for()
        page.wait_for_load_state("networkidle")
        for wide, high in SIZES:
            page.set_viewport_size({"width": wide, "height": high})
            faults += [f"{wide}x{high} /{place}: {one}" for one in broken_words(page)]
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto("/recipes")
    page.add_style_tag(content=".recipecard .chip { white-space: normal; max-width: 3ch; overflow-wrap: anywhere }")
    page.get_by_role("article").first.wait_for()
    assert broken_words(page), "the measure sees a word in pieces"
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize("width", ["wide"], indirect=True)
def test_tabs_of_an_answer_scroll_sideways_only(page: Page, sample: Seen) -> None:
    for wide, high in PHONES:
        page.set_viewport_size({"width": wide, "height": high})
        page.goto(f"/constellations/{sample.constellation}")
        tabs = page.get_by_role("tablist", name="Parts of the answer")
        tabs.wait_for()
        assert tabs.evaluate("box => box.scrollHeight - box.clientHeight") == 0, f"{wide}x{high}"


@pytest.mark.parametrize("width", ["wide"], indirect=True)
def test_no_tab_of_three_is_covered_on_a_phone(page: Page, stack: Stack, screens: Screens) -> None:
    made = stack.submit(answers.of_files("Three parts", dict.fromkeys(THREE_PARTS, "x")))
    assert stack.until_state(made, "succeeded", "failed", "partial") == "succeeded"
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"/constellations/{made}")
    tabs = page.get_by_role("tablist", name="Parts of the answer").get_by_role("tab")
    tabs.nth(2).wait_for()
    screens.snap(page, "three-tabs-phone.png")
    covered = """tabs => tabs.filter(tab => {
      const box = tab.getBoundingClientRect();
      const over = document.elementFromPoint(box.left + box.width / 2, box.top + box.height / 2);
      return !tab.contains(over);
    }).map(tab => tab.textContent)"""
    assert tabs.evaluate_all(covered) == []


@pytest.mark.parametrize("width", ["wide"], indirect=True)
def test_names_in_the_fleet_stay_in_their_column(page: Page, sample: Seen) -> None:
    page.set_viewport_size({"width": 1440, "height": 900})
    page.goto("/devices?add=1&way=line")
    page.locator(".fleettable .chip.demo").first.wait_for()
    over = """marks => Math.max(...marks.map(mark => {
      const beside = mark.closest("td").nextElementSibling.getBoundingClientRect();
      return mark.getBoundingClientRect().right - beside.left;
    }))"""
    assert page.locator(".fleettable .chip.demo").evaluate_all(over) <= 0
