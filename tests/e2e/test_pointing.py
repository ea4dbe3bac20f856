"""The graph under a mouse and under a finger: cards, groups, links, tiles, the small map, the menu of a task."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import ON_BOTH
from tests.e2e.pointer import Hand
from tests.e2e.screens import Screens
from tests.e2e.stack import Stack
from tests.e2e.witness import Seen
from tests.waiting import until

pytestmark = pytest.mark.e2e

_LINK_MIDDLE = """(path) => {
  const point = path.getPointAtLength(12).matrixTransform(path.getScreenCTM());
  return [point.x, point.y];
}"""
_FIRST_TILE = """() => {
  const flow = document.querySelector(".flow").getBoundingClientRect();
  const [, x, y, zoom] = /translate\\((-?[\\d.]+)px, ?(-?[\\d.]+)px\\) scale\\(([\\d.]+)\\)/
    .exec(document.querySelector(".react-flow__viewport").style.transform).map(Number);
  return [flow.left + x + 40 * zoom, flow.top + y + 20 * zoom];
}"""


@pytest.fixture
def hand(page: Page, width: str) -> Hand:
    return Hand(page, touch=width == "phone")


@ON_BOTH
def test_a_press_on_a_card_opens_its_task(page: Page, hand: Hand, sample: Seen, screens: Screens, width: str) -> None:
    page.goto(f"/constellations/{sample.constellation}?lens=graph")
    hand.press_on(page.locator(".node[data-task=list]"))
    expect(page).to_have_url(re.compile("/t/"))
    expect(page.get_by_role("complementary", name=re.compile("^Task "))).to_be_visible()
    screens.shoot(page, "constellation", "pressed", width)
    expect(page.locator(".react-flow .node.selected")).to_have_count(1)


def test_a_press_on_a_group_opens_it(page: Page, hand: Hand, sample: Seen) -> None:
    page.goto(f"/constellations/{sample.constellation}?lens=graph")
    hand.press_on(page.locator(".family > header").first)
    group = page.get_by_role("complementary", name=re.compile("^Task "))
    expect(group).to_contain_text("items")


def test_a_press_on_a_link_follows_it(page: Page, hand: Hand, stack: Stack) -> None:
    tasks = [stack.gated(name, f"linked-{name}") for name in ("one", "two", "three")]
    ends = [("one", "three"), ("two", "three")]
    links = [{"from": source, "to": target, "when": "success"} for source, target in ends]
    plan = {"starloom": 1, "name": "Two links", "tasks": tasks, "dependencies": links}
    page.goto(f"/constellations/{stack.submit(plan, hold=True)}?lens=graph")
    link = page.locator(".links path.way").first
    hand.middle(page.locator(".node[data-task='three']"))
    hand.press(*link.evaluate(_LINK_MIDDLE))
    expect(page).to_have_url(re.compile("/t/three"))


@ON_BOTH
def test_the_menu_of_a_card_acts_on_its_task(
    page: Page, hand: Hand, stack: Stack, screens: Screens, width: str
) -> None:
    plan = {"starloom": 1, "name": "One card", "tasks": [stack.gated("only", "menu")]}
    page.goto(f"/constellations/{stack.submit(plan, hold=True)}?lens=graph")
    hand.hold_on(page.locator(".node[data-task='only']"))
    menu = page.get_by_role("menu", name="only")
    expect(menu.get_by_role("menuitem", name="Open")).to_be_focused()
    screens.shoot(page, "constellation", "menu", width)
    page.keyboard.press("Escape")
    expect(menu).to_have_count(0)
    page.get_by_role("tree").press("Shift+F10")
    page.keyboard.press("ArrowDown")
    expect(menu.get_by_role("menuitem", name="Log")).to_be_focused()
    hand.press_on(menu.get_by_role("menuitem", name="Hold"))
    expect(menu).to_have_count(0)
    expect(page.locator(".node[data-task='only']")).to_contain_text("Held")


@pytest.mark.parametrize("width", ["wide"], indirect=True)
def test_a_press_on_a_tile_opens_its_task(page: Page, hand: Hand, stack: Stack) -> None:
    """Too small to read, the drawing is one canvas; its tiles answer, and say whose they are under a mouse."""
    tasks = [stack.gated(f"t{number}", f"tiles-{number}") for number in range(120)]
    plan = {"starloom": 1, "name": "Many tiles", "tasks": tasks}
    page.goto(f"/constellations/{stack.submit(plan, hold=True)}?lens=graph")
    page.locator("canvas.overview").wait_for()
    hovered = page.locator(".hovered")

    def tile() -> bool:
        """The drawing may still fit itself in: look for the tile where it is now."""
        x, y = page.evaluate(_FIRST_TILE)
        page.mouse.move(x, y)
        page.mouse.move(x + 1, y + 1)
        page.wait_for_timeout(50)
        return hovered.count() == 1

    until(tile, "the tile under the mouse says whose it is")
    expect(hovered).to_have_text(re.compile(r"^t\d+, Ready"))
    name = str(hovered.text_content()).partition(",")[0]
    hand.press(*page.evaluate(_FIRST_TILE))
    expect(page).to_have_url(re.compile(rf"/t/{name}\b"))


@pytest.mark.parametrize("width", ["wide"], indirect=True)
def test_the_small_map_moves_the_drawing(page: Page, hand: Hand, stack: Stack) -> None:
    tasks = [stack.gated(f"m{number}", f"map-{number}") for number in range(60)]
    page.goto(f"/constellations/{stack.submit({'starloom': 1, 'name': 'Map', 'tasks': tasks}, hold=True)}")
    view = page.locator(".react-flow__viewport")
    minimap = page.locator(".minimap")
    x, y = hand.middle(minimap)

    def moves(do: Callable[[], None]) -> None:
        before = str(view.get_attribute("style"))
        do()
        expect(view).not_to_have_attribute("style", before)

    moves(lambda: hand.press(x, y - 40))

    def drag() -> None:
        page.mouse.move(x, y)
        page.mouse.down()
        page.mouse.move(x, y + 50, steps=4)
        page.mouse.up()

    hand.middle(minimap)
    moves(drag)
