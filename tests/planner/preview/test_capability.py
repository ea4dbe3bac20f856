"""A preview tells that a task can never begin on the fleet as it is, before anybody approves the plan."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from starloom.planner.fleet import FleetSnapshot
from starloom.planner.recipes.catalogue import load_catalogue
from starloom.planner.requests.matching import Match, match_all
from starloom.planner.service import Planning
from starloom_protocol.api.previews import PlanPreview
from starloom_protocol.codes import Code
from starloom_protocol.plan import check_plan
from starloom_protocol.records.entities import Offer, ToolOffer
from starloom_protocol.vocabulary import Effect, Profile, Repeatability
from tests.planner.fleets import device, fleet, offer, tab_offer

NO_SYSTEMD = "this system has no systemd"
GRANTS = ("files:read", "service:restart")


def unable(tool: str, why: str) -> Offer:
    """Return the offer of a device that says why it cannot do one tool."""
    plain = offer(grants=GRANTS)
    tools = [msgspec.structs.replace(item, unavailable=why) if item.name == tool else item for item in plain.tools]
    return msgspec.structs.replace(plain, tools=tools)


BOX = unable("service.restart", NO_SYSTEMD)


def previewed(view: FleetSnapshot, tasks: list[dict[str, Any]], **more: Any) -> PlanPreview:
    check = check_plan({"starloom": 1, "name": "x", "tasks": tasks, **more})
    assert check.plan is not None, check.faults
    return Planning(load_catalogue(), lambda: view).preview(check.plan)


def restart(view: FleetSnapshot, where: dict[str, Any]) -> PlanPreview:
    service = Planning(load_catalogue(), lambda: view)
    check = service.plan_recipe("restart-and-check", {"service": "cron", "where": where})
    assert check.plan is not None, check.faults
    return service.preview(check.plan)


def test_a_restart_without_systemd_is_a_fault_that_names_who_can() -> None:
    view = fleet(device("Große Kiste"), device("nas"), offers={"Große Kiste": BOX, "nas": offer(grants=GRANTS)})
    found = restart(view, {"name": "Große Kiste"})
    (fault,) = found["faults"]
    assert fault["task"] == "restart"
    assert f"Große Kiste cannot do service.restart now: {NO_SYSTEMD}" in fault["reason"]
    assert fault["way_out"] == "Name another device: nas."
    assert fault["reason"] in found["warnings"]


def test_where_no_device_can_the_way_out_is_to_leave_it_out() -> None:
    found = restart(fleet(device("box"), offers={"box": BOX}), {"name": "box"})
    (fault,) = found["faults"]
    assert fault["way_out"] == "Leave box out, or make service.restart possible there first."


def test_of_several_devices_only_the_one_that_cannot_is_named() -> None:
    where = {"any": [{"name": "box"}, {"name": "nas"}]}
    view = fleet(device("box"), device("nas"), offers={"box": BOX, "nas": offer(grants=GRANTS)})
    (fault,) = restart(view, where)["faults"]
    assert fault["reason"].startswith("restart can never begin: box cannot do")


def test_every_device_that_can_leaves_out_a_browser_tab() -> None:
    view = fleet(device("nas"), device("phone"), offers={"phone": tab_offer("Safari")})
    task: dict[str, Any] = {"id": "list", "tool": "fs.list", "args": {"path": "x"}, "for_each": {"devices": {}}}
    found = previewed(view, [task])
    assert ([row["devices"] for row in found["tasks"]], found.get("faults", [])) == ([["nas"]], [])
    same = {**task, "id": "same", "for_each": {"same": "pick"}}
    found = previewed(
        view, [{"id": "pick", "tool": "notify", "args": {"text": "x"}, "for_each": {"devices": {}}}, same]
    )
    assert [row["task"] for row in found["faults"]] == ["same"], "the list is that of the first"


def test_a_device_that_is_away_or_never_told_its_tools_is_no_fault() -> None:
    view = fleet(device("nas", online=False))
    task = {"id": "t", "tool": "service.restart", "args": {"name": "cron"}, "device": {"name": "nas"}}
    assert previewed(view, [task])["faults"] == []
    new = FleetSnapshot.of({"d-new": device("new")}, {})
    named = {"id": "t", "tool": "fs.list", "args": {"path": "."}, "device": {"name": "new"}}
    assert previewed(new, [named])["faults"] == []


def test_a_missing_grant_is_no_fault() -> None:
    view = fleet(device("nas"), offers={"nas": offer(grants=())})
    task = {"id": "t", "tool": "service.restart", "args": {"name": "cron"}, "device": {"name": "nas"}}
    found = previewed(view, [task])
    assert found["missing_grants"]
    assert found["faults"] == []


def test_a_grant_that_mends_nothing_is_not_asked_for() -> None:
    box = unable("service.restart", NO_SYSTEMD)
    view = fleet(device("box"), offers={"box": msgspec.structs.replace(box, grants=["files:read"])})
    found = restart(view, {"name": "box"})
    (fault,) = found["faults"]
    assert NO_SYSTEMD in fault["reason"]
    assert found["missing_grants"] == []


def test_a_misspelt_tool_is_told_with_the_nearest() -> None:
    (fault,) = previewed(fleet(device("nas")), [{"id": "t", "tool": "fs.fnd"}])["faults"]
    assert fault["reason"] == "t waits: no device offers fs.fnd now. Did you mean fs.find?"


def test_a_task_that_only_a_failure_calls_for_is_a_warning() -> None:
    tasks: list[dict[str, Any]] = [
        {"id": "look", "tool": "fs.list", "args": {"path": "."}},
        {"id": "mend", "tool": "service.restart", "args": {"name": "cron"}, "device": {"name": "box"}},
        {"id": "after", "tool": "camera.capture"},
    ]
    gates = [{"from": "look", "to": "mend", "when": "failure"}, {"from": "mend", "to": "after", "when": "success"}]
    found = previewed(fleet(device("box"), offers={"box": BOX}), tasks, dependencies=gates)
    assert found["faults"] == []
    assert any(text.startswith("mend can never begin") for text in found["warnings"])
    assert any(text.startswith("after waits: no device offers") for text in found["warnings"])


def test_a_former_name_of_a_device_is_its_name_in_plans_and_words() -> None:
    renamed = msgspec.structs.replace(device("thicket"), former_names=["Bramble"])
    view = fleet(renamed, device("nas"))
    assert view.by_name["bramble"].name == "thicket"
    service = Planning(load_catalogue(), lambda: view)
    check = service.plan_recipe("list-folder", {"folder": "logs", "where": {"name": "Bramble"}})
    assert check.plan is not None, check.faults
    assert [row["devices"] for row in service.preview(check.plan)["tasks"] if row["tool"] == "fs.list"] == [["thicket"]]


def test_a_browser_tab_hands_over_what_is_picked_by_words_that_a_recipe_takes() -> None:
    pick = ToolOffer(name="file.pick", effects=[Effect.READ], repeatability=Repeatability.NEVER)
    plain = offer()
    tab = msgspec.structs.replace(plain, tools=[pick, *(item for item in plain.tools if item.name == "notify")])
    view = fleet(device("pixel2"), device("nas"), offers={"pixel2": tab, "nas": offer(grants=("files:write",))})
    service = Planning(load_catalogue(), lambda: view)
    check = service.plan_recipe("phone-to-desk", {"phone": {"name": "pixel2"}, "desk": {"name": "nas"}})
    assert check.plan is not None, check.faults
    faults = service.preview(check.plan)["faults"]
    said = "back up the pictures that I pick on pixel2 to nas"
    assert all(said in fault["way_out"] for fault in faults if fault["task"] in ("look", "send"))
    assert {"look", "send"} <= {fault["task"] for fault in faults}
    found = match_all(said, load_catalogue(), view)
    assert (found.outcome, found.candidates[0].recipe) == (Match.EXACT, "picked-pictures")
    planned = service.plan_recipe("picked-pictures", dict(found.candidates[0].params))
    assert planned.plan is not None, planned.faults
    assert service.preview(planned.plan)["faults"] == []


def test_files_for_a_browser_tab_are_sent_by_words_that_a_recipe_takes() -> None:
    save = ToolOffer(name="file.save", effects=[Effect.WRITE], repeatability=Repeatability.NEVER)
    plain = offer()
    tab = msgspec.structs.replace(plain, tools=[save])
    view = fleet(device("Handy"), device("Küche"), offers={"Handy": tab, "Küche": offer(grants=("files:read",))})
    service = Planning(load_catalogue(), lambda: view)
    values = {"source": {"name": "Küche"}, "target": {"name": "Handy"}, "file": "rezepte.txt"}
    check = service.plan_recipe("copy-file", values)
    assert check.plan is not None, check.faults
    faults = {fault["task"]: fault["way_out"] for fault in service.preview(check.plan)["faults"]}
    assert "Say: send the file FILE from Küche to Handy." in faults["copy"]
    found = match_all("send the file rezepte.txt from Küche to Handy", load_catalogue(), view)
    assert (found.outcome, found.candidates[0].recipe) == (Match.EXACT, "file-to-phone")
    planned = service.plan_recipe("file-to-phone", dict(found.candidates[0].params))
    assert planned.plan is not None, planned.faults
    assert service.preview(planned.plan)["faults"] == []


def test_a_join_code_that_forbids_a_tool_is_a_fault_without_a_grant() -> None:
    plain = offer()
    ungranted = "shell:run is not granted here; on this device: starloom-agent grant shell:run -- COMMAND"
    tools = [
        msgspec.structs.replace(tool, unavailable=ungranted) if tool.name == "shell.run" else tool
        for tool in plain.tools
    ]
    held = msgspec.structs.replace(plain, tools=tools, grants=["files:read"])
    limited = msgspec.structs.replace(device("Kueche"), profile_most=Profile.WORK)
    service = Planning(load_catalogue(), lambda: fleet(limited, offers={"Kueche": held}))
    check = service.plan_recipe("run-everywhere", {"command": ["uptime"], "where": {"name": "Kueche"}})
    assert check.plan is not None, check.faults
    found = service.preview(check.plan)
    assert found["missing_grants"] == []
    assert "starloom-agent grant" not in str(found)
    assert "the join code of this device allowed the profile work at most" in found["faults"][0]["reason"]
    # A command line submits no such plan, so no person is asked about it.
    assert [fault.code for fault in service.unable(check.plan)] == [Code.TOOL_UNAVAILABLE]


def test_a_first_request_is_refused_with_the_line_for_the_grant() -> None:
    view = fleet(device("laptop"), offers={"laptop": offer(grants=())})
    service = Planning(load_catalogue(), lambda: view)
    check = service.plan_recipe("find-file", {"what": "a.txt"})
    assert check.plan is not None, check.faults
    (fault,) = service.preview(check.plan)["faults"]
    assert fault["reason"] == "look waits: no device can do fs.find now: laptop has not granted files:read."
    assert fault["way_out"] == (
        "Type `starloom-agent grant files:read ~/FOLDER` on laptop. Then send the request again."
    )


def test_a_device_without_a_tool_of_the_group_says_why() -> None:
    view = fleet(device("box"), offers={"box": BOX})
    task = {"id": "t", "tool": "service.restart", "args": {"name": "cron"}, "device": {"tools": ["service.restart"]}}
    (fault,) = previewed(view, [task])["faults"]
    assert f"box cannot do service.restart now: {NO_SYSTEMD}" in fault["reason"]


ONLY_TEXT = '{"additionalProperties":false,"properties":{"text":{}},"required":["text"],"type":"object"}'
ALSO_TIME = '{"additionalProperties":false,"properties":{"text":{},"within_s":{}},"required":["text"],"type":"object"}'
NEEDS_TITLE = '{"additionalProperties":false,"properties":{"text":{},"title":{}},"required":["title"],"type":"object"}'
QUESTION = {"id": "q", "tool": "ask", "args": {"text": "Which?", "within_s": 60}}


def asking(args: str) -> Offer:
    """Return the offer of a device whose version of `ask` has this schema of arguments."""
    ask = ToolOffer(args=args, name="ask", effects=[Effect.READ], repeatability=Repeatability.NEVER)
    return Offer(digest=args, grants=[], slots=3, tools=[ask])


def two_versions(old: str = ONLY_TEXT) -> FleetSnapshot:
    return fleet(device("phone"), device("nas"), offers={"phone": asking(old), "nas": asking(ALSO_TIME)})


def test_an_argument_that_its_device_does_not_take_is_a_fault() -> None:
    view = two_versions()
    task = {**QUESTION, "device": {"name": "phone"}}
    plan = {"starloom": 1, "name": "x", "tasks": [task]}
    check = check_plan(plan, known_tools=view.known_tools(), known_signatures=view.known_signatures())
    assert check.plan is not None, "some device takes it, so the plan reads"
    service = Planning(load_catalogue(), lambda: view)
    (fault,) = service.preview(check.plan)["faults"]
    assert fault["reason"] == "q would be refused by phone (ask there takes no `within_s`)."
    assert fault["way_out"].startswith("Name another device: nas; or change the arguments of q")
    assert [(one.code, one.place) for one in service.unable(check.plan)] == [(Code.UNKNOWN_FIELD, "tasks.q")]


def test_an_argument_that_its_device_needs_is_a_fault() -> None:
    task = {"id": "q", "tool": "ask", "args": {"text": "Which?"}, "device": {"name": "phone"}}
    (fault,) = previewed(two_versions(NEEDS_TITLE), [task])["faults"]
    assert fault["reason"] == "q would be refused by phone (ask there needs `title`)."


def test_where_some_devices_take_an_argument_it_is_a_warning() -> None:
    found = previewed(two_versions(), [QUESTION])
    assert found["faults"] == []
    assert "q would be refused by phone (ask there takes no `within_s`)." in found["warnings"]
    every = {"devices": {"tools": ["ask"]}}
    some = previewed(two_versions(), [{**QUESTION, "for_each": {**every, "need": "best_effort"}}])
    assert some["faults"] == []
    assert "q would be refused by phone (ask there takes no `within_s`)." in some["warnings"]
    assert [fault["task"] for fault in previewed(two_versions(), [{**QUESTION, "for_each": every}])["faults"]] == ["q"]


def test_a_fitting_call_of_an_input_is_no_fault() -> None:
    tasks = [
        {"id": "now", "tool": "ask", "args": {"text": "When?"}, "device": {"name": "phone"}},
        {
            "id": "q",
            "tool": "ask",
            "inputs": {"text": {"from": "now", "output": "/answer"}},
            "device": {"name": "phone"},
        },
    ]
    found = previewed(two_versions(), tasks)
    assert found["faults"] == []


@pytest.mark.parametrize("words", ["how is pixel2", "find duplicates on pixel2"])
def test_words_for_a_browser_tab_that_lacks_the_tools_may_not_start(words: str) -> None:
    view = fleet(device("pixel2", os="browser"), device("nas"), offers={"pixel2": tab_offer("Chrome")})
    service = Planning(load_catalogue(), lambda: view)
    first = match_all(words, load_catalogue(), view).candidates[0]
    check = service.plan_recipe(first.recipe, dict(first.params))
    assert check.plan is not None, check.faults
    found = service.preview(check.plan)
    assert found["may_not"].startswith(f"{found['tasks'][0]['id']} can never begin: pixel2 does not offer ")
    assert found["may_not"].endswith(found["faults"][0]["way_out"])


def test_an_optional_task_without_a_device_is_said_to_be_skipped_and_stops_nothing() -> None:
    view = fleet(device("box"), offers={"box": offer(without=["notify"])})
    look: dict[str, Any] = {"id": "look", "tool": "fs.list", "args": {"path": "."}}
    tell: dict[str, Any] = {"id": "tell", "tool": "notify", "args": {"text": "x"}, "device": {"name": "box"}}
    found = previewed(view, [look, tell | {"optional": True}])
    assert (found["faults"], "may_not" in found) == ([], False)
    assert "tell is optional and will be skipped: box does not offer notify." in found["warnings"]
    tell_any = {name: value for name, value in tell.items() if name != "device"}
    waits = previewed(view, [look, tell_any | {"optional": True}])["warnings"]
    assert "tell is optional and will be skipped after 300 s: box does not offer notify." in waits
    needed = previewed(
        view, [look, tell | {"optional": True}], dependencies=[{"from": "tell", "to": "look", "when": "success"}]
    )
    assert [fault["task"] for fault in needed["faults"]] == ["tell"]
    assert needed["may_not"] == f"{needed['faults'][0]['reason']} {needed['faults'][0]['way_out']}"


def test_a_plan_that_only_waits_for_a_grant_may_start() -> None:
    view = fleet(device("nas"), offers={"nas": offer(grants=())})
    task = {"id": "t", "tool": "service.restart", "args": {"name": "cron"}}
    assert "may_not" not in previewed(view, [task])
