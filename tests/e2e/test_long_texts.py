"""Long names, long errors, very many results, and work that stands still: all of it told, none of it in the way."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.e2e import answers
from tests.e2e.screens import Screens
from tests.e2e.stack import PHONE, SERVER, Stack
from tests.e2e.windows import SIZES

pytestmark = pytest.mark.e2e

NAME = "averyveryverylongnamewithoutanyspace" * 4
_OVERLAPS = """() => {
  const boxes = [...document.querySelectorAll(".top > *, .top .pill, .top .age")]
    .filter((one) => one.checkVisibility() && one.getBoundingClientRect().width > 0);
  const found = [];
  for (const one of boxes) for (const other of boxes) {
    if (one === other || one.contains(other) || other.contains(one)) continue;
    const [a, b] = [one.getBoundingClientRect(), other.getBoundingClientRect()];
    if (a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1)
      found.push(one.textContent.slice(0, 30) + " | " + other.textContent.slice(0, 30));
  }
  for (const one of boxes)
    if (one.getBoundingClientRect().right > innerWidth + 1) found.push(one.textContent.slice(0, 30) + " leaves");
  return found;
}"""
_LEAVING = """() => [...document.querySelectorAll(".card *")].filter((one) => {
  const card = one.closest(".card").getBoundingClientRect();
  return one.getBoundingClientRect().right > card.right + 1 && !one.closest(".cut");
}).map((one) => one.outerHTML.slice(0, 120))"""


def _gated(stack: Stack, name: str, gate: str) -> dict[str, Any]:
    return {"starloom": 1, "name": name, "tasks": [stack.gated("one", gate), stack.gated("two", f"{gate}-2")]}


def _stuck(name: str) -> dict[str, Any]:
    """Return a plan whose one task no device can do: the demo phone has no phone on a cable."""
    lonely = {"id": "lonely", "tool": "adb.devices", "device": {"name": PHONE}}
    return {"starloom": 1, "name": name, "tasks": [lonely], "policy": {"approval": "never"}}


@pytest.mark.parametrize("width", ["wide"], indirect=True)
def test_a_long_name_covers_nothing(page: Page, stack: Stack) -> None:
    made = stack.submit(_gated(stack, NAME, "long-name"))
    faults = []
    for wide in (1440, 1280, 1024, 800, 390):
        page.set_viewport_size({"width": wide, "height": 900})
        page.goto(f"/constellations/{made}")
        expect(page.locator(".pill:visible").first).to_be_visible()
        faults += [f"{wide}: {one}" for one in page.evaluate(_OVERLAPS)]
    assert not faults, "\n".join(faults)


def test_a_long_name_stays_in_its_card(page: Page, stack: Stack, screens: Screens, width: str) -> None:
    ask = {"id": "ask", "person": NAME, "choices": [{"value": "go", "label": "Go"}, {"value": "stay", "label": "Stay"}]}
    stack.submit({"starloom": 1, "name": NAME, "tasks": [ask]})
    stack.submit(_stuck(NAME))
    for path in ("/inbox", "/"):
        page.goto(path)
        expect(page.get_by_text("Go", exact=True)).to_be_visible()
        expect(page.get_by_text("lonely needs you")).to_be_visible()
        assert page.evaluate(_LEAVING) == []
        screens.shoot(page, "long-names", "home" if path == "/" else "inbox", width)


@pytest.mark.parametrize("width", ["wide"], indirect=True)
def test_the_name_of_a_recent_row_has_the_whole_line(page: Page, stack: Stack) -> None:
    made = stack.submit(answers.of_many("Which machine has the fullest disk and what is on it", 1))
    stack.until_state(made, "succeeded")
    page.goto("/")
    name = page.locator(f'a.recent[href="/constellations/{made}"] > .cut').first
    expect(name).to_be_visible()
    cut = []
    for size in [one for one in SIZES if 640 <= one[0] <= 720]:
        page.set_viewport_size({"width": size[0], "height": size[1]})
        if name.evaluate("one => one.scrollWidth > one.clientWidth"):
            cut.append(size)
    assert not cut


def test_a_long_error_is_folded(page: Page, stack: Stack, screens: Screens, width: str) -> None:
    made = stack.submit(answers.of_a_long_error("Fails at length", 200))
    stack.until_state(made, "failed")
    page.goto(f"/constellations/{made}/t/fail")
    wrong = page.get_by_role("region", name="What is wrong")
    shown = wrong.locator(".folded pre")
    expect(shown).to_contain_text("the program ended with 3")
    assert shown.evaluate("one => getComputedStyle(one).fontFamily").lower().find("mono") >= 0
    assert shown.inner_text().count("\n") <= 4
    # The way out is in sight without a scroll.
    expect(page.get_by_role("tab", name="Log")).to_be_in_viewport()
    screens.shoot(page, "task", "long-error", width)
    wrong.get_by_role("button", name="more lines").click()
    expect(shown).to_contain_text("row 199")
    assert shown.inner_text().count("\n") > 20
    expect(page.get_by_role("button", name="Retry", exact=False).first).to_be_visible()


def test_very_many_results_are_one_part(page: Page, stack: Stack, screens: Screens, width: str) -> None:
    made = stack.submit(answers.of_many("Very many", 300))
    stack.until_state(made, "succeeded")
    page.goto(f"/constellations/{made}")
    result = page.get_by_role("region", name="Result")
    expect(result.get_by_role("heading", name="second")).to_be_visible()
    expect(result).to_contain_text("300 results of second")
    expect(result).to_contain_text("The first 200 of 300 rows.")
    assert page.locator(".outs li").count() <= 7
    screens.shoot(page, "answer", "many", width)


@pytest.mark.parametrize("width", ["wide"], indirect=True)
def test_sentence_pill_and_counts_are_of_one_moment(page: Page, stack: Stack) -> None:
    made = stack.submit(_gated(stack, "Two steps", "moment"))
    page.goto(f"/constellations/{made}")
    expect(page.locator(".answer .sentence")).to_contain_text("0 of 2 tasks done so far")
    stack.open_gate("moment")
    expect(page.locator(".top .pill")).to_have_text("Running 1 of 2")
    expect(page.locator(".answer .sentence")).to_contain_text("1 of 2 tasks done so far")
    expect(page.locator(".summary .count").first).to_contain_text("1done")


@pytest.mark.parametrize("width", ["wide"], indirect=True)
def test_a_retry_takes_the_failure_away(page: Page, stack: Stack) -> None:
    device = {"device": {"name": SERVER}}
    fail = {"id": "fail", "tool": "python.run", "args": {"code": "import sys; sys.exit(5)"}, **device}
    plan = {
        "starloom": 1,
        "name": "Fails once",
        "tasks": [fail, stack.gated("gate", "again")],
        "policy": {"approval": "never"},
    }
    stack.open_gate("again")
    made = stack.submit(plan)
    stack.until_state(made, "failed")
    page.goto(f"/constellations/{made}/t/gate")
    expect(page.locator(".answer .sentence")).to_contain_text("failed: 1 of 2 tasks succeeded")
    (stack.gates / "again.gate").unlink()
    page.get_by_role("button", name="Retry from here").click()
    expect(page.locator(".top .pill")).to_have_text("Running 0 of 2")
    expect(page.locator(".answer .sentence")).to_contain_text("0 of 2 tasks done so far")
    expect(page.locator(".answer .sentence")).not_to_contain_text("succeeded")
    stack.open_gate("again")
    stack.until_state(made, "failed")


def test_stuck_work_is_in_the_inbox_with_the_way_out(page: Page, stack: Stack, screens: Screens, width: str) -> None:
    made = stack.submit(_stuck("Cannot go on"))
    page.goto("/inbox")
    card = page.get_by_role("region", name="Waits on your devices")
    expect(card).to_contain_text("lonely needs you")
    expect(card).to_contain_text("adb is not installed")
    expect(card).to_contain_text("edit the plan")
    expect(page.get_by_text("Nothing waits for you.")).to_have_count(0)
    screens.shoot(page, "inbox", "stuck", width)
    card.get_by_role("link", name="Cannot go on").click()
    page.wait_for_url(f"**/constellations/{made}/t/lonely")
    page.goto(f"/constellations/{made}")
    needs = page.get_by_role("region", name="Needs you")
    expect(needs).to_contain_text("lonely needs you")
    expect(needs).to_contain_text("adb is not installed")
    expect(page.locator(".pill").first).to_have_text("Needs you, 0 of 1")
    # The counts and the list say of the task what the hub says of it, and not that it is ready.
    expect(page.locator("body")).to_contain_text("Held, no device can do it")
    screens.shoot(page, "constellation", "stuck", width)
    page.goto(f"/constellations/{made}?lens=list")
    expect(page.get_by_role("main")).to_contain_text("Held, no device can do it")
    screens.shoot(page, "constellation", "stuck-list", width)


@pytest.mark.parametrize("width", ["wide"], indirect=True)
def test_home_counts_what_it_shows(page: Page, stack: Stack) -> None:
    """A failure is no question: the line on top never says that nothing needs a person above a card that does."""
    stack.until_state(stack.submit(answers.of_a_long_error("Fails for Home", 1)), "failed")
    page.goto("/")
    top = page.locator(".top")
    expect(page.get_by_role("heading", name="Failed in the last day")).to_be_visible()
    expect(top).to_contain_text("failed in the last day")
    cards = page.get_by_role("heading", name=re.compile("^(Needs you|On your devices and plans)$"))
    # Other tests of this installation may have left what needs a person.
    before = _needing(top)
    if not before:
        expect(cards).to_have_count(0)
    stack.submit(_stuck("Cannot go on either"))
    page.reload()
    expect(top).to_contain_text(re.compile(rf"(?<!\d){before + 1} things? needs? you"))
    expect(page.get_by_role("heading", name="On your devices and plans")).to_be_visible()


def _needing(top: Locator) -> int:
    """Return how many things need a person by the line on top, which says so only when the page knows it."""
    expect(top).to_contain_text(re.compile(r"(Nothing needs|\d+ things? needs?) you"))
    found = re.search(r"(\d+) things? needs? you", top.inner_text())
    return int(found[1]) if found else 0


_BESIDE = """() => [...document.querySelectorAll(".preview li")].flatMap((row) => {
  const [chip, why] = [row.querySelector(".where > *"), row.querySelector(".why")].map((one) =>
    one.getBoundingClientRect());
  const over = chip.right > why.left + 1 && chip.left < why.right && chip.bottom > why.top + 1 && chip.top < why.bottom;
  return over || chip.right > row.getBoundingClientRect().right ? [row.textContent.slice(0, 60)] : [];
})"""
_NAMES = """() => [...document.querySelectorAll(".deviceline .tag + .cut")]
  .filter((one) => one.scrollWidth > one.clientWidth && one.clientWidth < 40).map((one) => one.textContent)"""


@pytest.mark.parametrize("width", ["wide"], indirect=True)
def test_a_long_device_name_gives_way_to_nothing(page: Page, stack: Stack, screens: Screens) -> None:
    long, phone = "a-phone-with-a-name-of-sixty-characters-as-some-people-have-1", stack.devices()[PHONE]["id"]
    stack.client.patch(f"/devices/{phone}", {"name": long})
    try:
        for wide, high in ((1440, 900), (844, 390), (720, 450), (390, 844)):
            page.set_viewport_size({"width": wide, "height": high})
            page.goto(f"/new?q=back up the pictures of {long} to {SERVER}")
            expect(page.locator(".preview li").first).to_be_visible()
            screens.snap(page, f"long-device-{wide}x{high}.png")
            assert page.evaluate(_BESIDE) == [], f"{wide}x{high}"
            page.goto("/")
            expect(page.locator(".deviceline").first).to_be_visible()
            assert page.evaluate(_NAMES) == [], f"{wide}x{high}"
            assert page.evaluate(_LEAVING) == [], f"{wide}x{high}"
    finally:
        stack.client.patch(f"/devices/{phone}", {"name": PHONE})


@pytest.mark.parametrize("width", ["wide"], indirect=True)
def test_long_heads_of_a_table_take_lines_and_are_whole(page: Page, stack: Stack, screens: Screens) -> None:
    """A head stood in one line, and made the table so wide that the next one was cut."""
    heads = ["Files with the same name on both devices", "Last time at which somebody changed the file", "X" * 40]
    rows = [dict.fromkeys(heads, "a value")]
    made = stack.submit(answers.of_values("Long heads", {"Heads": ("table", rows)}))
    for wide, high, fits in ((1440, 900, True), (195, 422, False)):
        page.set_viewport_size({"width": wide, "height": high})
        page.goto(f"/constellations/{made}")
        table = page.get_by_role("region", name="Table")
        expect(table.get_by_role("columnheader")).to_have_count(len(heads))
        screens.snap(page, f"long-heads-{wide}.png")
        cut = table.get_by_role("columnheader").evaluate_all(
            "heads => heads.filter(one => one.scrollWidth > one.clientWidth).map(one => one.textContent)"
        )
        assert cut == [], f"{wide}x{high}"
        assert (table.evaluate("box => box.scrollWidth - box.clientWidth") <= 0) is fits
