"""A model's context is whole, bounded and stable: what it lost fails by name, and a prefix can be kept."""

from __future__ import annotations

from dataclasses import replace
from itertools import takewhile

import pytest

from starloom.planner.context.assembly import CONTEXT_BYTES_MAX, NEAR_BYTES_LEAST, Asking, joined
from starloom.planner.context.devices import Devices
from starloom.planner.context.recipes import call
from starloom.planner.context.relevance import ranked
from starloom.planner.context.tools import more, near, shelf, ways
from starloom.planner.fleet import FleetSnapshot
from starloom.planner.model.prompt import planning_context
from starloom.planner.recipes.catalogue import load_catalogue
from starloom_protocol.plan import Recipe
from starloom_protocol.records.entities import Offer, ToolOffer
from starloom_protocol.values import canonical
from tests.planner import prompts
from tests.planner.fleets import device, fleet
from tests.planner.prompts import BASICS, BYTES_MAX, CASES, LANGUAGE, Case

OTHER_WORDS = "send the contracts of office 3 to the printer"


@pytest.mark.parametrize("name", CASES)
def test_a_planner_is_told_what_it_needs(name: str) -> None:
    text = prompts.text_of(CASES[name])
    lost = [needed for needed in (*LANGUAGE, *BASICS, *CASES[name].needs) if needed not in text]
    assert lost == []


@pytest.mark.parametrize("name", CASES)
def test_the_prompt_is_the_golden_one(name: str) -> None:
    golden = (prompts.FOLDER / f"{name}.txt").read_text(encoding="utf-8")
    assert prompts.text_of(CASES[name]) == golden, "look at the change, then run `make gen`"


@pytest.mark.parametrize("name", CASES)
def test_every_fleet_fits_into_seven_thousand_tokens(name: str) -> None:
    assert len(prompts.text_of(CASES[name]).encode()) <= BYTES_MAX


def common(one: str, other: str) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one.encode(), other.encode(), strict=False)))


@pytest.mark.parametrize("name", CASES)
def test_another_request_and_other_devices_online_keep_the_stable_parts(name: str) -> None:
    case = CASES[name]
    changed = Case(OTHER_WORDS, lambda: prompts.away(case.fleet()), ())
    stable = len(prompts.made(case).stable.encode())
    assert stable > 0.6 * len(prompts.text_of(case).encode())
    assert common(prompts.text_of(case), prompts.text_of(changed)) >= 0.9 * stable


@pytest.mark.parametrize("name", CASES)
def test_stable_parts_come_first_and_what_is_left_out_is_said(name: str) -> None:
    found = prompts.made(CASES[name])
    order = [part.stable for part in found.parts]
    assert order == sorted(order, reverse=True)
    text = joined(part.text for part in found.parts)
    assert [sentence for sentence in found.left_out if sentence not in text] == []


def test_the_recipes_are_callables_with_their_slots() -> None:
    lines = {recipe.name: call(recipe) for recipe in load_catalogue().all()}
    assert lines["copy-file"].startswith("copy-file(source: device, target: device, file: file, folder? = '.'")
    assert "where?: devices" in lines["log-hunt"]


def test_many_saved_recipes_are_chosen_by_the_words() -> None:
    one = load_catalogue().all()[0]
    many: list[Recipe] = [
        one.model_copy(update={"name": f"zz-{number}", "title": f"Water plant {number}", "phrases": []})
        for number in range(300)
    ]
    many.append(one.model_copy(update={"name": "zzz-last", "title": "Brew the coffee", "phrases": ["coffee please"]}))
    asking = replace(prompts.asking(CASES["one"], "brew me a coffee"), recipes=tuple(many))
    found = planning_context(asking)
    text = joined(part.text for part in found.parts)
    assert "zzz-last(" in text
    assert "recipes are not listed" in text
    assert len(text.encode()) <= BYTES_MAX


def test_the_nearest_of_a_thousand_tools_are_shown_whatever_their_names() -> None:
    for office in (1, 33, 50):
        text = prompts.text_of(CASES["mcp"], f"list the invoices of office {office:02}")
        assert f"mcp.office{office:02}.list_invoice(limit?: int) [read] on: " in text


def test_more_tools_shows_the_next_ones_and_none_twice() -> None:
    view = CASES["mcp"].fleet()
    shown = shelf(view, Devices(view))
    told = {tool.offer.name for tool in shown.full}
    first = more(shown, "close ticket office 41", told)
    second = more(shown, "close ticket office 41", told)
    assert first[0].startswith("mcp.office41.close_ticket(")
    assert not set(first) & set(second)
    assert more(shown, "qqq", told) == []
    assert sum(len(line.encode()) for line in first) <= 5_000


def test_a_tool_that_a_plan_uses_is_shown_although_no_word_names_it() -> None:
    view = CASES["mcp"].fleet()
    shown = shelf(view, Devices(view))
    lines = near(shown, "anything", 4_000, ("mcp.office44.read_delivery",))
    assert lines[0].startswith("mcp.office44.read_delivery(")


def test_the_way_to_a_grant_is_written_here_and_only_where_it_is_missing() -> None:
    view = CASES["two"].fleet()
    shown = shelf(view, Devices(view))
    told = ways(shown, (("files:write", "phone"), ("files:write", "desk"), ("rm -rf /", "phone"), ("x", "nowhere")))
    assert told == " phone would have to allow files:write; there: starloom-agent grant files:write ~/FOLDER."


def test_devices_that_are_alike_are_one_line_and_others_are_not() -> None:
    names = [f"srv-{number}" for number in range(1, 31)]
    offers = {name: prompts.offer(()) for name in [*names, "desk"]}
    view = fleet(*(device(name) for name in [*names[:20], *names[21:]]), device("desk", os="windows"), offers=offers)
    lines = Devices(view).lines(2_000, [])
    assert len(lines) == 2
    assert '"srv-1" to "srv-9"' in lines[1]
    assert '"srv-10" to "srv-20", "srv-22" to "srv-30"' in lines[1]
    devices = Devices(view)
    assert devices.who(view.devices) == "all"
    assert devices.who([item for item in view.devices if item.name != "desk"]) == 'all but "desk"'
    assert devices.who([item for item in view.devices if item.name == "desk"]) == '"desk"'


def test_a_reserved_device_is_told_of_in_a_line_of_its_own() -> None:
    told = Devices(fleet(device("desk"), device("kids", reserved=True), device("nas"))).lines(2_000, [])
    assert [line.partition(":")[0] for line in told if "reserved: only where the person names it" in line] == [
        '- "kids"'
    ]


def test_a_whole_group_is_named_by_its_mark() -> None:
    names = [f"srv-{number:02}" for number in range(8)]
    others = [f"pc-{number:02}" for number in range(9)]
    view = fleet(*(device(name) for name in names), *(device(name, os="windows") for name in others))
    devices = Devices(view)
    assert devices.who([item for item in view.devices if item.os == "linux"]) == "group 2"


def test_devices_that_have_no_room_are_counted() -> None:
    view = fleet(*(device(f"{number}-{'x' * 30}-machine", labels=[f"l{number}"]) for number in range(200)))
    missing: list[str] = []
    lines = Devices(view).lines(1_600, missing)
    assert sum(len(line) + 1 for line in lines) <= 1_600
    assert missing[0].startswith(f"{200 - len(lines)} of 200 devices are not listed")


def hostile_fleet() -> FleetSnapshot:
    """Return a fleet in which every text, name and schema of a tool is as long and wide as a device may make it."""
    wide = {
        "properties": {f"field{number}": {"enum": ["v" * 60] * 30} for number in range(200)},
        "description": "d" * 999,
    }
    schema = canonical(wide)
    tools = [
        ToolOffer(name=name, title="t" * 400, args=schema, returns=schema, grant=f"g:{number}")
        for number, name in enumerate((*sorted(BASIC_NAMES), *(f"evil{number}.tool" for number in range(600))))
    ]
    names = [f"{number}{'ж' * 50}" for number in range(120)]
    offers = {name: Offer(digest="x", tools=[tools[number], *tools[:40]]) for number, name in enumerate(names)}
    return fleet(*(device(name, labels=[name]) for name in names), offers=offers)


BASIC_NAMES = ("fs.find", "fs.read", "shell.run", "system.info", "python.run", "data.merge", "log.search", "fs.write")


def test_no_fleet_makes_the_context_larger_than_its_bound() -> None:
    asking = Asking(words="find x", fleet=hostile_fleet(), recipes=tuple(load_catalogue().all()))
    found = planning_context(asking)
    assert sum(len(part.text.encode()) for part in found.parts) <= CONTEXT_BYTES_MAX + NEAR_BYTES_LEAST + 1_500


def test_rarer_words_weigh_more_and_equal_texts_keep_their_order() -> None:
    texts = ["list a file", "read a file", "print an invoice", "list an invoice", "read a file"]
    found = [number for number, score in ranked(list(enumerate(texts)), "print the file") if score]
    assert found == [2, 0, 1, 4]


def test_where_room_is_short_the_lines_of_the_near_come_before_what_they_say() -> None:
    view = CASES["two"].fleet()
    shown = shelf(view, Devices(view))
    words = "make the pictures smaller and pack the folder into an archive"
    short, long = near(shown, words, 900), near(shown, words, 9_000)
    named = [text.partition("(")[0] for text in short]
    assert {"image.resize", "archive.pack"} <= set(named)
    assert sum(len(text.encode()) + 1 for text in short) <= 900
    assert [text.partition("(")[0] for text in long][:2] == named[:2]
    assert all("\n  " in text for text in long if text.startswith(("image.resize(", "archive.pack(")))


def test_a_tool_that_nobody_allows_is_near_only_where_the_request_names_the_thing() -> None:
    view = fleet(device("laptop"), offers={"laptop": prompts.offer(())})
    shown = shelf(view, Devices(view))
    assert any(text.startswith("screen.capture(") for text in near(shown, "take a picture of the screen", 4_000))
    still = near(shown, "is it asked of the name that it has to be shown running steadily?", 4_000)
    assert not any(text.startswith(("service.restart(", "process.kill(")) for text in still)


def test_five_tools_say_how_values_enter_and_leave_them() -> None:
    text = prompts.text_of(CASES["nebula"])
    parts = ("input.json", "result.json", "never in the contents", "what 'fs.trash' may take to undo it")
    assert [part for part in parts if part not in text] == []


def test_a_tool_asked_for_by_its_name_is_told_whole() -> None:
    view = CASES["nebula"].fleet()
    shown = shelf(view, Devices(view))
    first, *_ = more(shown, "fs.find: what does whole mean?", {tool.offer.name for tool in shown.full})
    assert first.startswith("fs.find(")
    assert "hidden files, modes and empty folders come along" in first
