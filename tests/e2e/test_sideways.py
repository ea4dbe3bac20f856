"""A phone held sideways (844x390): names, the input and the graph have room, and a turned window is fitted again."""

from __future__ import annotations

import itertools

import pytest
from playwright.sync_api import Locator, Page, ViewportSize, expect

from tests.e2e.screens import Screens
from tests.e2e.stack import Stack
from tests.e2e.windows import clipped
from tests.e2e.witness import Seen

pytestmark = [pytest.mark.e2e]

LOW: ViewportSize = {"width": 844, "height": 390}
UPRIGHT: ViewportSize = {"width": 390, "height": 844}
DOUBLED: ViewportSize = {"width": 720, "height": 450}
"""A window of a desk at 200 %."""
DESK: ViewportSize = {"width": 1280, "height": 800}
VERSIONS = 28
"""More than the strip below the graph has room for."""
ON_TOP = """(part) => {
  const box = part.getBoundingClientRect();
  return [0.1, 0.5, 0.9].every((share) =>
    part.contains(document.elementFromPoint(box.left + box.width * share, box.top + box.height / 2)));
}"""
NAME = "Read all letters of the attic"

OVERPRINTED = """() => {
  const found = [];
  for (const item of document.querySelectorAll(".columns .item")) {
    const parts = [...item.children].map((one) => ({one, box: one.getBoundingClientRect()}));
    for (const [at, {one, box}] of parts.entries())
      for (const other of parts.slice(at + 1)) {
        const wide = Math.min(box.right, other.box.right) - Math.max(box.left, other.box.left);
        const high = Math.min(box.bottom, other.box.bottom) - Math.max(box.top, other.box.top);
        if (wide > 1 && high > 1) found.push(`${one.textContent} and ${other.one.textContent}`);
      }
  }
  return found;
}"""


def one_line(page: Page) -> bool:
    """Return whether the icons at the end of the bar stand in the line of the name."""
    name = page.locator(".top h1").bounding_box()
    icon = page.locator(".top .search").bounding_box()
    assert name
    assert icon
    return abs((name["y"] + name["height"] / 2) - (icon["y"] + icon["height"] / 2)) < 12


def bar_height(page: Page) -> float:
    box = page.locator(".top").bounding_box()
    assert box
    return box["height"]


@pytest.mark.parametrize("width", ["phone"], indirect=True)
def test_controls_are_high_enough_for_a_finger_sideways(page: Page, stack: Stack) -> None:
    ask = {"id": "ask", "person": "Shall the attic be read?", "choices": [{"value": "go", "label": "Read the attic"}]}
    tasks = [stack.gated("first", "finger"), ask, {"id": "facts", "tool": "system.info"}]
    waits = [{"from": "first", "to": "facts", "when": "success"}]
    made = stack.submit({"starloom": 1, "name": NAME, "tasks": tasks, "dependencies": waits})
    page.set_viewport_size(LOW)

    def is_high(control: Locator) -> None:
        expect(control).to_be_visible()
        box = control.bounding_box()
        assert box
        assert box["height"] >= 44, control

    page.goto("/")
    is_high(page.get_by_role("button", name="Read the attic").first)
    page.goto(f"/constellations/{made}")
    is_high(page.get_by_role("button", name="Pause"))
    stack.until_state(made, "active")
    page.goto(f"/constellations/{made}/edit")
    for name in ("Apply", "Row 3, facts"):
        is_high(page.get_by_role("button", name=name))
    is_high(page.get_by_label("Where row 3 runs"))
    # What has started cannot be changed: the first row that can be stands open.
    expect(page.get_by_role("button", name="Row 1, first")).to_have_attribute("aria-expanded", "false")
    stack.client.post(f"/constellations/{made}/cancel", {})


@pytest.mark.parametrize("width", ["wide"], indirect=True)
def test_home_sideways_keeps_names_and_the_input(page: Page, stack: Stack, screens: Screens) -> None:
    ask = {"id": "ask", "person": "Shall the letters be read?", "choices": [{"value": "go", "label": "Go"}]}
    made = [
        stack.submit({"starloom": 1, "name": NAME, "tasks": [ask, stack.gated("look", "sideways")]}),
        stack.submit({"starloom": 1, "name": NAME, "tasks": [stack.gated("look", "sideways")]}),
    ]
    page.set_viewport_size(LOW)
    page.goto("/")
    running = page.locator("section.card", has=page.get_by_role("heading", name="Running", exact=True))
    names = running.locator(".item b.strong")
    expect(names).to_have_count(2)
    expect(running.locator(".item", has_text="0 of 1")).to_have_count(1)
    expect(running.locator(".item", has_text="0 of 2")).to_have_count(1)
    for at in range(2):
        box = names.nth(at).bounding_box()
        assert box
        assert box["width"] > 150, box
    screens.snap(page, "sideways-home.png")
    assert page.evaluate(OVERPRINTED) == []
    box = page.get_by_label("What should happen?").bounding_box()
    assert box
    assert box["width"] > 200, box
    assert one_line(page)
    assert clipped(page) == []
    for size in (LOW, DESK):
        page.set_viewport_size(size)
        page.goto(f"/constellations/{made[0]}?lens=graph")
        page.get_by_role("button", name="Cancel").first.wait_for()
        screens.snap(page, f"sideways-running-{size['width']}.png")
        assert one_line(page), size
        assert bar_height(page) < 52, size
        assert clipped(page) == [], size


@pytest.mark.parametrize("width", ["wide"], indirect=True)
def test_graph_is_fitted_again_when_the_window_turns(page: Page, sample: Seen, screens: Screens) -> None:
    page.set_viewport_size(DESK)
    page.goto(f"/constellations/{sample.constellation}?lens=graph&answer=none")
    zoom = page.locator(".zoom span")
    page.locator(".flow:not(.unfitted)").wait_for()
    page.locator(".minimap").wait_for()
    page.set_viewport_size(LOW)
    page.reload()
    page.locator(".flow:not(.unfitted)").wait_for()
    expect(page.locator(".dock.shut")).to_be_visible()
    screens.snap(page, "sideways-graph.png")
    canvas = page.locator(".canvas").bounding_box()
    assert canvas
    assert canvas["y"] < 100, "one line for the answer and its counts is left of the bars above the graph"
    low = zoom.inner_text()
    assert int(low.split()[0]) >= 30
    page.set_viewport_size(DESK)
    expect(page.locator(".dock:not(.shut)")).to_be_visible()
    expect(zoom).not_to_have_text(low)
    screens.snap(page, "sideways-turned.png")
    page.set_viewport_size(LOW)
    expect(zoom).to_have_text(low)
    page.get_by_title("Zoom in (+)").click()
    expect(zoom).not_to_have_text(low)
    page.set_viewport_size(DESK)
    expect(page.locator(".dock:not(.shut)")).to_be_visible()
    expect(zoom).not_to_have_text(low)


@pytest.mark.parametrize("width", ["wide"], indirect=True)
def test_many_versions_leave_their_neighbours_free(page: Page, stack: Stack, screens: Screens) -> None:
    gate = "versions"
    made = stack.submit({"starloom": 1, "name": "Often edited", "tasks": [stack.gated("first", gate)]})
    for version in range(1, VERSIONS):
        task = {"id": f"more-{version}", "tool": "system.info"}
        wait = {"from": "first", "to": task["id"], "when": "success"}
        operations = [{"add_task": task}, {"add_dependency": wait}]
        stack.client.create(f"/constellations/{made}/edits", {"base_version": version, "operations": operations})
    for size in (DESK, LOW):
        page.set_viewport_size(size)
        page.goto(f"/constellations/{made}?lens=graph")
        dock = page.locator(".dock")
        newest = dock.get_by_title(f"v{VERSIONS} by")
        expect(newest).to_be_in_viewport(ratio=0.9)
        screens.snap(page, f"sideways-versions-{size['width']}.png")
        for part in (".pill.now", "[aria-expanded]", "[aria-label='Play the versions']"):
            assert dock.locator(part).evaluate(ON_TOP), (size, part)
        newest.focus()
        for _ in range(VERSIONS - 1):
            page.keyboard.press("ArrowLeft")
        expect(dock.get_by_title("v1 by")).to_be_in_viewport(ratio=0.9)
        assert dock.get_by_role("button", name="Back to now").evaluate(ON_TOP), size
        screens.snap(page, f"sideways-versions-first-{size['width']}.png")
    stack.open_gate(gate)


@pytest.mark.parametrize("width", ["wide"], indirect=True)
def test_files_of_a_question_are_read_where_the_page_opens(page: Page, stack: Stack, screens: Screens) -> None:
    find = {"id": "find", "tool": "fs.find", "device": {"name": "demo-phone"}, "args": {"root": "Pictures"}}
    ask = {"id": "ask", "person": "Put these files into the trash?", "shows": {"from": "find", "output": "/files"}}
    made = stack.submit({"starloom": 1, "name": "Asks about files", "tasks": [find, ask]})
    for size in (DESK, LOW, UPRIGHT):
        page.set_viewport_size(size)
        page.goto(f"/constellations/{made}")
        question = page.get_by_role("group", name="Question: Put these files")
        lines = question.get_by_role("listitem")
        expect(lines).to_have_count(5)
        expect(question.get_by_text("Put these files into the trash?")).to_be_in_viewport()
        screens.snap(page, f"sideways-files-{size['width']}.png")
        more = question.get_by_role("button", name="more")
        more.scroll_into_view_if_needed()
        more.click()
        expect(lines.nth(5)).to_be_visible()
        assert clipped(page) == [], size
    page.get_by_role("button", name="Cannot").first.click()


@pytest.mark.parametrize("width", ["wide"], indirect=True)
def test_the_actions_behind_more_are_one_menu(page: Page, stack: Stack, screens: Screens) -> None:
    made = stack.submit({"starloom": 1, "name": "Has actions", "tasks": [stack.gated("first", "actions")]})
    for size in (LOW, UPRIGHT):
        page.set_viewport_size(size)
        page.goto(f"/constellations/{made}?lens=list")
        page.locator(".acts .more button").click()
        parts = page.locator(".acts.open > .act.over")
        expect(parts.nth(1)).to_be_visible()
        screens.snap(page, f"sideways-more-{size['width']}.png")
        boxes = sorted((box["y"], box["y"] + box["height"]) for one in parts.all() if (box := one.bounding_box()))
        assert all(abs(below[0] - above[1]) < 1 for above, below in itertools.pairwise(boxes)), (size, boxes)
    stack.open_gate("actions")


@pytest.mark.parametrize("width", ["wide"], indirect=True)
def test_the_buttons_of_a_long_dialog_are_in_a_low_window(page: Page) -> None:
    page.set_viewport_size(LOW)
    page.goto("/schedules?add=1")
    for name in ("Cancel", "Save the schedule", "Close"):
        expect(page.get_by_role("button", name=name, exact=True)).to_be_in_viewport(ratio=1)


@pytest.mark.parametrize("width", ["wide"], indirect=True)
def test_a_dialog_outlives_a_turn_of_the_phone(page: Page, stack: Stack) -> None:
    made = stack.submit({"starloom": 1, "name": "Room", "tasks": [{"id": "room", "tool": "disk.usage"}]})
    stack.until_state(made, "succeeded")
    for before, after in ((UPRIGHT, LOW), (DESK, DOUBLED)):
        page.set_viewport_size(before)
        page.goto(f"/constellations/{made}")
        page.get_by_role("button", name="Repeat...").click()
        name = page.get_by_label("Name", exact=True)
        name.fill("Room of the attic")
        page.set_viewport_size(after)
        expect(page.locator(".thumb")).to_have_count(int(after is DOUBLED))
        expect(name).to_have_value("Room of the attic")
    page.goto("/devices")
    page.get_by_role("button", name="Stop everything").click()
    page.set_viewport_size(UPRIGHT)
    expect(page.get_by_role("dialog").get_by_role("button", name="Let it run")).to_be_visible()
