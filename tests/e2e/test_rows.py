"""The plan editor in rows: from empty to a running plan without YAML, faults with their fix, drafts, recipes saved."""

from __future__ import annotations

import json
import re
import time
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.pointer import SEEN_MS
from tests.e2e.screens import Screens
from tests.e2e.stack import Stack
from tests.waiting import until

pytestmark = pytest.mark.e2e

ACTIONS_MOST_S = 60
EVERY_KIND: dict[str, Any] = {
    "starloom": 1,
    "name": "Of every kind",
    "tasks": [
        {"id": "find", "tool": "fs.find", "device": {"name": "demo-phone"}, "args": {"root": "Pictures"}},
        {
            "id": "hash",
            "for_each": {"from": "find", "output": "/files", "max_parallel": 2, "need": "best_effort"},
            "tool": "fs.hash",
            "device": {"name": "demo-phone"},
            "args": {"paths": [{"each": "/path"}]},
        },
        {
            "id": "count",
            "tool": "data.sort",
            "inputs": {"rows": {"from": "hash", "output": "/files", "flatten": True}},
            "args": {"by": ["path"]},
            "timeouts": {"start_to_close_s": 90},
        },
        {"id": "info", "for_each": {"devices": {"os": "linux"}}, "tool": "system.info"},
    ],
    "dependencies": [{"from": "info", "to": "count", "when": "finish", "all": True}],
    "rules": [
        {
            "name": "again",
            "when": {"task": "find", "event": "failed"},
            "edit": [{"add_task": {"id": "look", "tool": "disk.usage", "device": {"name": "demo-phone"}}}],
            "reason": "see whether the disk is there",
        }
    ],
    "policy": {"partial": True},
    "result": [{"title": "Pictures", "from": "count", "output": "/rows", "show": "table"}],
}


def choose_tool(page: Page, words: str) -> None:
    page.get_by_role("combobox", name=re.compile("does|do with it")).fill(words)
    page.keyboard.press("Enter")


def start_empty(page: Page) -> None:
    page.goto("/new?way=build")
    expect(page.get_by_role("button", name="Add a row")).to_be_visible()


def try_row(page: Page, number: int) -> None:
    page.get_by_role("button", name=re.compile("^Try this row")).click()
    expect(page.get_by_role("heading", name=f"Output of row {number}")).to_be_visible()


def launched(page: Page) -> str:
    page.wait_for_url(re.compile(r"/constellations/"))
    return page.url.split("/constellations/")[1].split("?")[0].split("/")[0]


def test_three_rows_with_a_data_dependency_run_within_a_minute(
    page: Page, stack: Stack, screens: Screens, width: str
) -> None:
    start_empty(page)
    before = len(stack.client.get("/constellations", limit=100)["items"])
    spent = time.monotonic()
    page.get_by_role("button", name="Add a row").click()
    choose_tool(page, "find files")
    page.get_by_label("Where row 1 runs").select_option(label="demo-phone")
    page.get_by_label("root", exact=True).fill("Pictures")
    try_row(page, 1)
    page.get_by_role("button", name="files", exact=True).click()
    choose_tool(page, "order rows")
    page.get_by_label("by needed").fill("-bytes")
    try_row(page, 2)
    page.get_by_role("button", name="rows", exact=True).click()
    choose_tool(page, "table")
    expect(page.get_by_role("button", name=re.compile("^Launch"))).not_to_have_attribute("aria-disabled", "true")
    spent = time.monotonic() - spent
    screens.shoot(page, "rows", "three", width)
    page.get_by_role("tab", name="Graph").click()
    screens.shoot(page, "rows", "graph", width)
    page.keyboard.press("Control+Enter")
    constellation = launched(page)
    assert spent < ACTIONS_MOST_S
    assert stack.until_state(constellation, "succeeded", "partial", "failed") == "succeeded"
    made = stack.client.get(f"/constellations/{constellation}")
    gates = {(gate["from"], gate["to"]) for gate in made["dependencies"]}
    assert gates == {("find", "sort"), ("sort", "table")}
    rows = next(item["value"]["rows"] for item in made["answer"]["items"])
    sizes = [row["bytes"] for row in rows]
    assert sizes == sorted(sizes, reverse=True)
    assert len(sizes) > 3
    # The two tries ran as constellations of their own, which no list shows.
    assert len(stack.client.get("/constellations", limit=100)["items"]) == min(100, before + 1)


def test_faults_stand_in_their_row_with_a_fix(page: Page, screens: Screens, width: str) -> None:
    start_empty(page)
    page.get_by_role("tab", name="Text").click()
    broken = "starloom: 1\nname: Slips\ntasks:\n- {id: a, tool: fs.fnd}\n- {id: b, tool: data.sort, args: {bye: [x]}}\n"
    page.get_by_role("textbox", name="Plan, as YAML or JSON").fill(broken)
    page.get_by_role("tab", name="Rows").click()
    expect(page.get_by_role("button", name="Use fs.find")).to_be_visible()
    expect(page.get_by_text("data.sort takes no bye.")).to_be_visible()
    expect(page.get_by_text("data.sort takes no bye")).to_have_count(1)
    expect(page.get_by_role("status").filter(has_text="2 faults in row 1, 2")).to_be_visible()
    screens.shoot(page, "rows", "faults", width)
    page.get_by_role("button", name="Use fs.find").click()
    page.get_by_role("button", name="Call it by").click()
    expect(page.get_by_text("data.sort takes no bye.")).to_have_count(0)
    expect(page.get_by_role("status").filter(has_text="To fill in in row 2: rows")).to_be_visible()
    page.get_by_role("button", name="Undo, Ctrl Z").click()
    expect(page.get_by_text("data.sort takes no bye.")).to_be_visible()
    page.keyboard.press("Control+Y")
    page.reload()
    expect(page.get_by_role("button", name="Row 2, b")).to_be_visible()
    expect(page.get_by_text("data.sort takes no bye.")).to_have_count(0)


def test_a_long_plan_stays_light(page: Page, screens: Screens, width: str) -> None:
    """The judge of the screens counts elements, too."""
    start_empty(page)
    page.get_by_role("tab", name="Text").click()
    tasks = [{"id": f"t{at}", "tool": "disk.usage"} for at in range(400)]
    plan = json.dumps({"starloom": 1, "name": "Long", "tasks": tasks})
    page.get_by_role("textbox", name="Plan, as YAML or JSON").fill(plan)
    page.get_by_role("tab", name="Rows").click()
    page.get_by_role("button", name="Later rows").click()
    expect(page.get_by_text("31 to 60 of 400")).to_be_visible()
    screens.shoot(page, "rows", "long", width)


@pytest.mark.parametrize("width", ["wide"], indirect=True)
def test_the_tool_of_a_row_is_whole_in_small_windows(page: Page, screens: Screens, width: str) -> None:
    start_empty(page)
    page.get_by_role("tab", name="Text").click()
    tools = ("fs.find", "disk.usage", "artifact.put", "image.check")
    tasks = [{"id": tool.partition(".")[2], "tool": tool} for tool in tools]
    plan = json.dumps({"starloom": 1, "name": "Titles", "tasks": tasks})
    page.get_by_role("textbox", name="Plan, as YAML or JSON").fill(plan)
    page.get_by_role("tab", name="Rows").click()
    expect(page.get_by_role("button", name="What row 4 does")).to_have_text("Find empty or broken pictures")
    for wide, high in ((720, 450), (844, 390), (1280, 800)):
        page.set_viewport_size({"width": wide, "height": high})
        cut = page.locator(".rowline .what b").evaluate_all(
            "all => all.filter(one => one.scrollWidth > one.clientWidth).map(one => one.textContent)"
        )
        assert cut == [], f"{wide}x{high}"
        screens.shoot(page, "rows", f"titles-{wide}", width)


def test_a_value_is_picked_from_an_earlier_row(page: Page, screens: Screens, width: str) -> None:
    start_empty(page)
    page.get_by_role("button", name="Add a row").click()
    page.get_by_role("combobox").fill("")
    screens.shoot(page, "rows", "tools", width)
    choose_tool(page, "find files")
    page.get_by_label("Where row 1 runs").select_option(label="demo-phone")
    page.get_by_label("root", exact=True).fill("Pictures")
    page.get_by_role("button", name="Add a row").click()
    choose_tool(page, "order rows")
    page.get_by_role("button", name="Use an earlier row for rows").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name=re.compile("^Try")).click()
    expect(dialog.get_by_role("button", name="files", exact=True)).to_be_visible()
    expect(dialog.get_by_text("real, from demo-phone")).to_be_visible()
    screens.shoot(page, "rows", "uses", width)
    dialog.get_by_role("button", name="files", exact=True).click()
    expect(page.get_by_role("button", name="Values of row 2")).to_contain_text("files of row 1")


def test_values_are_picked_by_their_schemas_before_anything_ran(
    page: Page, stack: Stack, screens: Screens, width: str
) -> None:
    start_empty(page)
    page.get_by_role("button", name="Add a row").click()
    choose_tool(page, "find files")
    page.get_by_label("Where row 1 runs").select_option(label="demo-phone")
    page.get_by_label("root", exact=True).fill("Pictures")
    for row, tool, field, value in ((2, "order rows", "rows", "files"), (3, "table", "rows", "rows")):
        page.get_by_role("button", name="Add a row").click()
        choose_tool(page, tool)
        if row == 2:
            page.get_by_label("by needed").fill("-bytes")
        page.get_by_role("button", name=f"Use an earlier row for {field}").click()
        dialog = page.get_by_role("dialog")
        earlier = dialog.get_by_role("region", name=re.compile(f"^Row {row - 1},"))
        expect(earlier.get_by_text("an example of what this tool gives")).to_be_visible()
        screens.shoot(page, "rows", f"example-{row}", width)
        earlier.get_by_role("button", name=value, exact=True).click()
    page.get_by_role("button", name=re.compile("^Launch")).click()
    constellation = launched(page)
    assert stack.until_state(constellation, "succeeded", "partial", "failed") == "succeeded"
    made = stack.client.get(f"/constellations/{constellation}")
    sizes = [row["bytes"] for row in next(item["value"]["rows"] for item in made["answer"]["items"])]
    assert len(sizes) > 3
    assert sizes == sorted(sizes, reverse=True)


def test_what_ran_is_saved_as_a_recipe_and_said_in_words(
    page: Page, stack: Stack, screens: Screens, width: str
) -> None:
    name = f"sorted-{width}"
    plan = {
        "starloom": 1,
        "name": f"Sorted {width}",
        "tasks": [
            {"id": "find", "tool": "fs.find", "device": {"name": "demo-phone"}, "args": {"root": "Pictures"}},
            {
                "id": "sort",
                "tool": "data.sort",
                "inputs": {"rows": {"from": "find", "output": "/files"}},
                "args": {"by": ["-bytes"], "limit": 3},
            },
        ],
    }
    constellation = stack.submit(plan)
    stack.until_state(constellation, "succeeded")
    page.goto(f"/new?way=build&from={constellation}")
    expect(page.get_by_role("button", name="Row 2, sort")).to_be_visible()
    page.get_by_role("button", name="Save as recipe").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Name", exact=True).fill(name)
    dialog.get_by_label(re.compile("^Words")).fill(f"sort the {width} pictures in {{root}} of {{demo_phone}}")
    dialog.get_by_label(re.compile("limit")).check()
    screens.shoot(page, "recipes", "saving", width)
    dialog.get_by_role("button", name="Save", exact=True).click()
    page.wait_for_url(re.compile(f"/recipes/{name}$"))
    expect(page.get_by_text("What will run")).to_be_visible()
    screens.shoot(page, "recipes", "one", width)
    saved = stack.client.get(f"/recipes/{name}")
    assert {key: item["type"] for key, item in saved["params"].items()} == {
        "demo_phone": "device",
        "root": "path",
        "limit": "integer",
    }
    page.get_by_label("Limit").fill("2")
    page.get_by_role("button", name="Run", exact=True).click()
    again = launched(page)
    assert stack.until_state(again, "succeeded", "failed") == "succeeded"
    item = stack.client.get(f"/constellations/{again}/result")["items"][0]
    assert len(item["value"]["rows"]) == 2
    words = f"sort the {width} pictures in Pictures of demo-phone"
    understood = stack.client.post("/constellations/preview", {"request": words})
    assert understood["recipe"] == name


def test_importing_tells_every_fault_and_runs_nothing(page: Page, stack: Stack, screens: Screens, width: str) -> None:
    page.goto("/recipes")
    page.get_by_role("button", name="Import").click()
    dialog = page.get_by_role("dialog")
    good = (
        f"starloom_recipe: 1\nname: brought-{width}\ntitle: Brought {width}\nversion: 1\n"
        "plan:\n  starloom: 1\n  tasks:\n    - {id: look, tool: system.info}\n"
    )
    text = dialog.get_by_label("Recipe, as YAML or JSON")
    text.fill(good.replace("tool:", "tol:").replace("title:", "titel:"))
    expect(dialog.get_by_role("alert")).to_contain_text("title")
    screens.shoot(page, "recipes", "faults", width)
    text.fill(good)
    expect(dialog.get_by_text("reads well")).to_be_visible()
    count = len(stack.client.get("/constellations", limit=100)["items"])
    dialog.get_by_role("button", name="Import", exact=True).click()
    page.wait_for_url(re.compile(f"/recipes/brought-{width}$"))
    assert len(stack.client.get("/constellations", limit=100)["items"]) == count


def test_a_running_plan_is_written_back_as_the_very_same_plan(page: Page, stack: Stack, width: str) -> None:
    """What rows are made of a constellation means, by its hash, the plan that was submitted."""
    constellation = stack.submit(EVERY_KIND)
    stack.until_state(constellation, "succeeded", "partial", "failed")
    page.goto(f"/new?way=build&from={constellation}")
    page.get_by_role("tab", name="Text").click()
    page.get_by_role("tab", name="JSON").click()
    written = json.loads(page.get_by_role("textbox", name="Plan, as YAML or JSON").input_value())
    hashes = {stack.client.post("/constellations/preview", {"plan": one})["plan_hash"] for one in (EVERY_KIND, written)}
    assert len(hashes) == 1, written


def test_warnings_of_a_plan_stand_beside_its_launch(page: Page, width: str) -> None:
    start_empty(page)
    page.get_by_role("tab", name="Text").click()
    page.get_by_role("textbox", name="Plan, as YAML or JSON").fill(
        "starloom: 1\nname: Site\ntasks:\n"
        "  - {id: put, tool: fs.write, device: {name: demo-server}, args: {path: a.txt, text: x, on_clash: replace}}\n"
    )
    warning = page.get_by_text("put may overwrite files that are there already at 'a.txt'.")
    expect(warning).to_be_visible()
    page.get_by_text("What will run, where and why").click()
    expect(page.get_by_role("heading", name="What will run")).to_be_visible()
    expect(warning).to_have_count(1)


def test_a_running_plan_is_edited_in_the_same_rows(page: Page, stack: Stack, screens: Screens, width: str) -> None:
    gate = f"edit-{width}"
    plan = {
        "starloom": 1,
        "name": f"Held {width}",
        "tasks": [
            stack.gated("first", gate),
            {"id": "later", "tool": "data.sort", "args": {"rows": [{"n": 1}, {"n": 2}], "by": ["n"]}},
            {"id": "unwanted", "tool": "system.info"},
        ],
        "dependencies": [
            {"from": "first", "to": "later", "when": "success"},
            {"from": "first", "to": "unwanted", "when": "success"},
        ],
    }
    constellation = stack.submit(plan)
    until(lambda: stack.task_state(constellation, "first") == "running", "the first row runs")
    page.goto(f"/constellations/{constellation}")
    edit, more = page.get_by_role("button", name="Edit plan"), page.locator(".thumb").get_by_role("button", name="More")
    expect(edit.or_(more).first).to_be_visible()
    if not edit.is_visible():
        more.click()
    edit.click()
    expect(page.get_by_role("button", name="Row 1, first")).to_be_visible()
    expect(page.get_by_text("It has started: it stays as it is.").first).to_be_visible()
    # The first row that can be changed is open already.
    page.get_by_label("by needed").fill("-n")
    # It is scrolled to the place of the press before, where a person first sees what came there.
    unwanted = page.get_by_role("button", name="Row 3, unwanted")
    unwanted.scroll_into_view_if_needed()
    page.wait_for_timeout(SEEN_MS)
    unwanted.click()
    page.get_by_role("button", name="Remove", exact=True).click()
    expect(page.get_by_text("draft: \u22121 ~1")).to_be_visible()
    screens.shoot(page, "rows", "live", width)
    # Meanwhile someone else needs a row that the draft removes: the draft is carried over before it is applied.
    stack.client.create(
        f"/constellations/{constellation}/edits",
        {
            "base_version": 1,
            "operations": [
                {"add_task": {"id": "theirs", "tool": "system.info"}},
                {"add_dependency": {"from": "unwanted", "to": "theirs", "when": "finish"}},
            ],
            "reason": "someone else",
        },
    )
    expect(page.get_by_text("The plan is at version 2 now: theirs came.")).to_be_visible()
    page.get_by_role("button", name="Take that in, keep my changes").click()
    # A step back takes back a change made here, and never what came from the other.
    page.keyboard.press("Control+z")
    expect(page.get_by_text("draft: ~1")).to_be_visible()
    page.keyboard.press("Control+y")
    expect(page.get_by_text("draft: \u22121 ~1")).to_be_visible()
    apply = page.get_by_role("button", name="Apply")
    expect(apply).not_to_have_attribute("aria-disabled", "true")
    apply.click()
    page.wait_for_url(re.compile(f"/constellations/{constellation}$"))
    stack.open_gate(gate)
    assert stack.until_state(constellation, "succeeded", "failed", "partial") == "succeeded"
    made = stack.client.get(f"/constellations/{constellation}")
    assert sorted(task["id"] for task in made["tasks"]) == ["first", "later", "theirs"]
    assert made["version"] == 3
    rows = next(item["value"]["rows"] for item in made["answer"]["items"] if item["from"]["task"] == "later")
    assert rows == [{"n": 2}, {"n": 1}]


def test_words_are_changed_in_rows_with_what_was_understood(page: Page, stack: Stack, width: str) -> None:
    page.goto("/new")
    page.get_by_role("textbox", name="What should happen?").fill("list the files in Papers on demo-server")
    page.get_by_role("button", name="Change it in rows").click()
    values = page.get_by_role("region", name="Values for this run")
    expect(values.get_by_role("textbox", name="Folder")).to_have_value("Papers")
    expect(page.get_by_role("tab", name="Build")).to_have_attribute("aria-selected", "true")
    page.go_back()
    words = page.get_by_role("textbox", name="What should happen?")
    expect(words).to_have_value("list the files in Papers on demo-server")
