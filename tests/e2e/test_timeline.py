"""The timeline of a run under a mouse, under a finger and with keys: live, its bars, its zoom, and its figures."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from tests.e2e.conftest import ON_BOTH
from tests.e2e.pointer import Hand
from tests.e2e.screens import ELEMENTS_MOST, Screens
from tests.e2e.stack import Stack
from tests.e2e.test_sideways import DESK, LOW
from tests.e2e.windows import clipped, room
from tests.e2e.witness import Seen
from tests.waiting import until

pytestmark = pytest.mark.e2e

LANES_LEAST = 110
"""The axis of the timeline and two lanes, in pixels."""

AXIS = 26
NAMES = {"wide": 148, "phone": 84}
"""The room of the names of lanes, in pixels."""


@pytest.fixture
def hand(page: Page, width: str) -> Hand:
    return Hand(page, touch=width == "phone")


def drawing(page: Page) -> Locator:
    return page.locator(".timeline canvas")


def reading(page: Page) -> Locator:
    return page.get_by_role("listbox", name=re.compile("^Timeline as a list"))


def first_bar(page: Page, width: str) -> tuple[float, float]:
    """Return a place in the first row of bars, at the beginning of the run: a forecast makes room behind the last."""
    box = drawing(page).bounding_box()
    assert box
    return box["x"] + NAMES[width] + 5, box["y"] + AXIS + 12


@ON_BOTH
def test_a_run_is_drawn_live_and_a_press_on_a_bar_opens_its_task(
    page: Page, hand: Hand, stack: Stack, screens: Screens, width: str
) -> None:
    tasks = [stack.gated(name, f"lane-{name}") for name in ("one", "two", "three")]
    links = [{"from": name, "to": "three", "when": "success"} for name in ("one", "two")]
    plan = {"starloom": 1, "name": "Three bars", "tasks": tasks, "dependencies": links}
    made = stack.submit(plan)
    page.goto(f"/constellations/{made}")
    hand.press_on(page.get_by_role("tab", name="Timeline"))
    expect(page).to_have_url(re.compile("lens=timeline"))
    expect(page.get_by_label("Figures of this run")).to_contain_text("So far")
    listed = reading(page).get_by_role("option")
    # A forecast, if there is one by now, lists the third as one that should begin.
    expect(listed.filter(has_not_text="should begin")).to_have_count(2)
    stack.open_gate("lane-one")
    stack.open_gate("lane-two")
    expect(listed.filter(has_text="three")).to_contain_text("worked on")
    screens.shoot(page, "timeline", "live", width)
    hand.press(*first_bar(page, width))
    expect(page).to_have_url(re.compile("/t/(one|two|three)"))
    expect(page.get_by_role("complementary", name=re.compile("^Task "))).to_be_visible()
    stack.open_gate("lane-three")
    stack.until_state(made, "succeeded")
    page.goto(f"/constellations/{made}?lens=timeline")
    figures = page.get_by_label("Figures of this run")
    expect(figures).to_contain_text("Took")
    expect(figures).to_contain_text("Critical path")
    expect(listed.filter(has_text="three")).to_contain_text("on the critical path")
    screens.shoot(page, "timeline", "ended", width)


@ON_BOTH
def test_what_if_is_asked_at_a_lane_while_a_run_goes_on(
    page: Page, hand: Hand, stack: Stack, screens: Screens, width: str
) -> None:
    known = [stack.gated(f"known-{number}", "known") for number in range(4)]
    stack.open_gate("known")
    stack.until_state(stack.submit({"starloom": 1, "name": "Known", "tasks": known}), "succeeded")
    tasks = [stack.gated(name, f"if-{name}") for name in ("one", "two", "three")]
    links = [{"from": before, "to": after, "when": "success"} for before, after in (("one", "two"), ("two", "three"))]
    plan = {"starloom": 1, "name": "What if", "tasks": tasks, "dependencies": links}
    made = stack.submit(plan, deadline_s=3_600)
    page.goto(f"/constellations/{made}?lens=timeline")
    coming = reading(page).get_by_role("option").filter(has_text="should begin")
    expect(coming).to_have_count(2)
    expect(page.get_by_text(re.compile("^[0-9]+ % in time")).locator("visible=true")).to_be_visible()
    hand.press_on(page.get_by_role("button", name="What if", exact=True))
    hand.press_on(page.get_by_role("menuitem", name=f"What if there were one more like {stack.desktop}?"))
    expect(page.get_by_role("status").filter(has_text="With a copy of")).to_be_visible()
    screens.shoot(page, "timeline", "what-if", width)
    hand.press_on(page.get_by_role("button", name="Back to the run as it is"))
    # The name of the lane asks, too.
    box = drawing(page).bounding_box()
    assert box
    hand.press(box["x"] + 30, box["y"] + AXIS + 14)
    hand.press_on(page.get_by_role("menuitem", name=f"What if {stack.desktop} were off?"))
    expect(page.get_by_role("status").filter(has_text=f"Without {stack.desktop}")).to_contain_text("no expected end")
    assert clipped(page) == []
    for name in ("one", "two", "three"):
        stack.open_gate(f"if-{name}")
    stack.until_state(made, "succeeded")


@ON_BOTH
def test_the_sample_has_lanes_and_figures(page: Page, hand: Hand, sample: Seen, screens: Screens, width: str) -> None:
    page.goto(f"/constellations/{sample.constellation}?lens=timeline")
    expect(reading(page).get_by_role("option").first).to_be_attached()
    expect(page.get_by_label("Figures of this run")).to_contain_text("At once")
    screens.shoot(page, "timeline", "sample", width)
    shown = page.locator(".timeline output")
    before = shown.inner_text()
    hand.press_on(page.get_by_role("button", name="Zoom in"))
    expect(shown).to_have_text(re.compile(" of "))
    hand.press_on(page.get_by_role("button", name="All of the run"))
    expect(shown).to_have_text(before)


@pytest.mark.parametrize("width", ["wide"], indirect=True)
def test_wheel_and_keys_zoom_move_and_choose(page: Page, hand: Hand, sample: Seen) -> None:
    page.goto(f"/constellations/{sample.constellation}?lens=timeline")
    shown = page.locator(".timeline output")
    expect(reading(page).get_by_role("option").first).to_be_attached()
    whole = shown.inner_text()
    x, y = hand.middle(drawing(page))
    page.mouse.move(x, y)
    page.keyboard.down("Control")
    page.mouse.wheel(0, -400)
    page.keyboard.up("Control")
    expect(shown).to_have_text(re.compile(f" of {re.escape(whole)}$"))
    page.keyboard.press("f")
    expect(shown).to_have_text(whole)
    reading(page).focus()
    page.keyboard.press("ArrowRight")
    expect(page).to_have_url(re.compile("/t/"))
    expect(reading(page).get_by_role("option", selected=True)).to_contain_text("on the critical path")
    reading(page).press("Home")
    expect(reading(page).get_by_role("option", selected=True)).to_have_attribute("aria-posinset", "1")
    page.keyboard.press("Escape")
    expect(page).not_to_have_url(re.compile("/t/"))
    reading(page).press("Shift+F10")
    expect(page.get_by_role("menu")).to_be_visible()


@pytest.mark.parametrize("width", ["phone"], indirect=True)
def test_two_fingers_zoom(page: Page, hand: Hand, sample: Seen) -> None:
    page.goto(f"/constellations/{sample.constellation}?lens=timeline")
    shown = page.locator(".timeline output")
    expect(reading(page).get_by_role("option").first).to_be_attached()
    x, y = hand.middle(drawing(page))
    fingers = page.context.new_cdp_session(page)

    def touch(kind: str, apart: float) -> None:
        points = [{"x": x - apart, "y": y, "id": 1}, {"x": x + apart, "y": y, "id": 2}] if apart else []
        fingers.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    touch("touchStart", 30)
    for apart in (45, 60, 80, 100):
        touch("touchMove", apart)
    touch("touchEnd", 0)
    expect(shown).to_have_text(re.compile(" of "))


@pytest.mark.parametrize("width", ["wide"], indirect=True)
def test_the_timeline_has_room_sideways(page: Page, sample: Seen, screens: Screens) -> None:
    for size in (LOW, DESK):
        page.set_viewport_size(size)
        page.goto(f"/constellations/{sample.constellation}?lens=timeline&answer=none")
        expect(reading(page).get_by_role("option").first).to_be_attached()
        until(lambda: (drawing(page).bounding_box() or {"height": 0.0})["height"] > 150, "the bars have room")
        screens.snap(page, f"timeline-sideways-{size['width']}.png")
        assert clipped(page) == [], size


@pytest.mark.parametrize("width", ["wide"], indirect=True)
def test_the_lanes_are_in_sight_at_twice_the_size(page: Page, sample: Seen, screens: Screens) -> None:
    """A desk or a laptop at 200 %, with and without the answer of the run: two lanes are seen before any scroll."""
    faults = []
    for wide, high in ((640, 400), (720, 450), (960, 540)):
        page.set_viewport_size({"width": wide, "height": high})
        for answer in ("", "&answer=none"):
            page.goto(f"/constellations/{sample.constellation}?lens=timeline{answer}")
            expect(reading(page).get_by_role("option").first).to_be_attached()
            until(lambda: (drawing(page).bounding_box() or {"height": 0.0})["height"] > 150, "the bars have room")
            screens.snap(page, f"timeline-zoomed-{wide}x{high}{answer[1:7]}.png")
            found = room(page, ".timeline > .bars")
            if found["first"] < LANES_LEAST:
                faults.append(f"{wide}x{high}{answer}: {found}")
            faults += clipped(page)
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize("width", ["wide"], indirect=True)
def test_five_thousand_bars_are_one_canvas(page: Page, hand: Hand, sample: Seen, screens: Screens) -> None:
    """The report of a large run, in place of the sample's: the page stays small, and is painted and answers."""

    def large(route: Route) -> None:
        answer = route.fetch()
        route.fulfill(response=answer, json={**answer.json(), "spans": spans_of(5_000)})

    page.route("**/report?spans=true", large)
    page.add_init_script(LONG_TASKS)
    page.goto(f"/constellations/{sample.constellation}?lens=timeline&answer=none")
    expect(reading(page).get_by_role("option").first).to_have_attribute("aria-setsize", "5000")
    until(lambda: page.evaluate(PAINTED), "the bars are painted")
    screens.snap(page, "timeline-large.png")
    x, y = hand.middle(drawing(page))
    page.mouse.move(x, y)
    page.keyboard.down("Control")
    for _ in range(8):
        page.mouse.wheel(0, -200)
    page.keyboard.up("Control")
    expect(page.locator(".timeline output")).to_have_text(re.compile(" of "))
    page.mouse.click(x, y)
    expect(page).to_have_url(re.compile("/t/t[0-9]+"))
    print(f"longest tasks of the page, in ms: {page.evaluate('() => window.longTasks')}")
    assert page.evaluate("() => document.getElementsByTagName('*').length") <= ELEMENTS_MOST


LONG_TASKS = """
window.longTasks = [];
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) window.longTasks.push(Math.round(entry.duration));
}).observe({type: "longtask", buffered: true});
"""
PAINTED = """() => {
  const canvas = document.querySelector(".timeline canvas");
  if (!canvas?.width) return false;
  const {data} = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  return data.some((value) => value > 0);
}"""


def spans_of(count: int) -> dict[str, Any]:
    """Return the columns of a run of many tasks on twenty devices with four slots: each waits, begins and works."""
    columns: dict[str, list[Any]] = {"task": [], "device": [], "phase": [], "from_ms": [], "to_ms": []}
    for task in range(count):
        begin = task // 80 * 800
        for phase, start, end in (
            ("queue", 0, begin),
            ("starting", begin, begin + 100),
            ("working", begin + 100, begin + 300 + task % 7 * 80),
        ):
            if start == end:
                continue
            row = (task, -1 if phase == "queue" else task % 20, phase, start, end)
            for column, value in zip(columns.values(), row, strict=True):
                column.append(value)
    filled = {"attempt": [1] * len(columns["task"]), "hedge": [0] * len(columns["task"])}
    names = {"tasks": [f"t{task}" for task in range(count)], "devices": [f"d-{at}" for at in range(20)]}
    return {**columns, **filled, **names}
