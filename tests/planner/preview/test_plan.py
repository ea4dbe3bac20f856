"""What a preview says: who would do what, what is missing and the line to type, and what a plan may do."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from starloom.client.exits import Exit, exit_of_plan, exit_of_refusal
from starloom.core.people.approvals.need import plan_effects
from starloom.planner.fleet import FleetSnapshot
from starloom.planner.preview.plan import core_fleet, preview, ungranted
from starloom.planner.recipes.catalogue import RecipeBroken, load_catalogue
from starloom.planner.service import Planning
from starloom_protocol.api.previews import TaskPreviewRow
from starloom_protocol.plan import check_plan
from starloom_protocol.records.edits import LoweredPlan
from starloom_protocol.records.entities import Dependency, Offer, ToolOffer
from starloom_protocol.text.folder_grants import POLICY_NOT_IN_FORCE
from starloom_protocol.values import canonical
from starloom_protocol.vocabulary import Code, Effect, Gate, Repeatability
from tests.cost import GROWTH_MOST, calls
from tests.planner.fleets import GRANTS, device, fleet, offer, sample

SAMPLE = "Back up the pictures of my phone to the server, check every copy, and put a contact sheet on my desktop"


def planning(view: FleetSnapshot) -> Planning:
    return Planning(load_catalogue(), lambda: view)


def plan_of(view: FleetSnapshot, recipe: str, **params: Any) -> LoweredPlan:
    check = planning(view).plan_recipe(recipe, params)
    assert check.plan is not None, check.faults
    return check.plan


def shown(view: FleetSnapshot, plan: LoweredPlan) -> dict[str, TaskPreviewRow]:
    return {task["id"]: task for task in planning(view).preview(plan)["tasks"]}


def test_what_is_not_granted_is_told_of_a_running_plan_whose_list_has_children() -> None:
    view = sample()
    made = plan_of(view, "photo-backup", source="demo-phone", target="demo-server")
    (one, *_) = made.specs
    child = Dependency(changed_in=0, gate=Gate.SUCCESS, source=one.id, target=f"{one.id}.d-1")
    assert ungranted(made.specs, [*made.dependencies, child], view) == []


def test_a_backup_by_contents_says_that_names_and_folders_are_not_kept() -> None:
    view = sample()
    found = planning(view).preview(plan_of(view, "photo-backup", source="demo-phone", target="demo-server"))
    (said,) = [one for one in found["warnings"] if "named by their contents" in one]
    assert "'Pictures'" in said
    named = plan_of(view, "photo-backup", source="demo-phone", target="demo-server", names="path")
    assert not [one for one in planning(view).preview(named)["warnings"] if "contents" in one]
    copying = plan_of(view, "copy-folder", source="demo-phone", target="demo-server", folder="Pictures")
    assert not [one for one in planning(view).preview(copying)["warnings"] if "contents" in one]


def test_the_sample_s_preview_names_each_device_and_needs_no_approval() -> None:
    service = planning(sample())
    meant = service.understand(SAMPLE, {}, "").candidates[0]
    check = service.plan_recipe(meant.recipe, meant.params)
    assert check.plan is not None
    found = service.preview(check.plan)
    assert canonical(found)
    tasks = {task["id"]: task for task in found["tasks"]}
    assert len(tasks) == 15
    assert {name: tasks[name]["device"] for name in ("list", "copy", "sheet", "thumb")} == {
        "list": "demo-phone",
        "copy": "demo-server",
        "sheet": "vm",
        "thumb": "vm",
    }
    assert (tasks["ask-room"]["person"] or "").startswith("There is little room")
    assert tasks["send"]["each"] == "item of digest/folders" or tasks["send"]["each"] == "item of list/folders"
    assert found["effects"] == ["read", "write"]
    assert found["asks_approval"] is False
    assert found["missing_grants"] == []
    assert found["plan_hash"] == check.plan.hash
    assert "seconds" not in found
    assert [item["title"] for item in found["results"]] == [
        "Contact sheet",
        "Catalogue",
        "Outcome",
        "Proof",
        "Left out",
        "Empty or broken",
        "Not opened",
    ]


def test_a_missing_grant_is_shown_once_with_the_line_to_type() -> None:
    view = fleet(device("phone"), device("server"), offers={"server": offer(grants=())})
    found = planning(view).preview(plan_of(view, "photo-backup", source="phone", target="server"))
    lines = {(item["device"], item["grant"]): item["line"] for item in found["missing_grants"]}
    assert lines == {
        ("server", "files:write"): "starloom-agent grant files:write ~/FOLDER",
        ("server", "files:read"): "starloom-agent grant files:read ~/FOLDER",
    }
    assert len(found["missing_grants"]) == 2


def test_a_task_that_lacks_a_grant_is_held_and_the_preview_needs_a_person() -> None:
    view = fleet(device("nas"), device("pc"), offers={"nas": offer(grants=())})
    listing = {"tool": "fs.find", "args": {"root": "."}}
    tasks = [
        {**listing, "id": "here", "device": {"name": "pc"}},
        {**listing, "id": "there", "device": {"name": "nas"}},
        {**listing, "id": "perhaps", "device": {"name": "nas"}, "optional": True},
        {**listing, "id": "else", "device": {"name": "nas"}},
    ]
    after = [{"from": "here", "to": "else", "when": "failure"}]
    plan = check_plan({"starloom": 1, "name": "x", "tasks": tasks, "dependencies": after}).plan
    assert plan is not None
    found = planning(view).preview(plan)
    assert found["held"] == ["there"]
    assert found["asks_approval"] is False
    assert exit_of_plan(found) is Exit.ATTENTION
    assert exit_of_plan(found, approved=found["plan_hash"]) is Exit.ATTENTION
    assert exit_of_plan({**found, "held": []}) is Exit.SUCCEEDED


def test_work_that_only_grants_keep_back_has_the_exit_code_of_its_refusal() -> None:
    view = fleet(device("a"), device("b"), offers={"a": offer(grants=()), "b": offer(grants=())})
    service, plan = planning(view), plan_of(view, "run-everywhere", command=["df", "-h"])
    (fault,) = service.unable(plan)
    assert fault.code is Code.MISSING_GRANT
    found = service.preview(plan)
    assert exit_of_plan(found, approved=found["plan_hash"]) is exit_of_refusal(422, fault.code) is Exit.ATTENTION
    (told,) = found["faults"]
    assert told["reason"] == fault.reason
    assert exit_of_plan({**found, "may_not": "by-name can never begin."}) is Exit.USAGE


def test_a_device_whose_policy_is_not_in_force_needs_its_acceptance_first() -> None:
    plain = offer(grants=())
    facts = {**plain.facts, "policy": POLICY_NOT_IN_FORCE}
    view = fleet(device("phone"), device("server"), offers={"server": msgspec.structs.replace(plain, facts=facts)})
    found = planning(view).preview(plan_of(view, "photo-backup", source="phone", target="server"))
    assert {item["line"] for item in found["missing_grants"]} == {"starloom-agent policy accept"}


def test_a_file_that_is_to_be_written_needs_its_grant_too() -> None:
    desk = offer(grants=[grant for grant in GRANTS if grant != "files:write"])
    view = fleet(device("phone"), device("server"), device("desk"), offers={"desk": desk})
    plan = plan_of(view, "photo-backup", source="phone", target="server", sheet_on="desk")
    assert shown(view, plan)["sheet"]["missing"][0]["grant"] == "files:write"
    assert shown(view, plan)["sheet"]["effects"] == ["write"]


def test_a_command_s_line_is_the_whole_rule() -> None:
    view = fleet(device("a"), device("b"), offers={"a": offer(grants=()), "b": offer(grants=())})
    found = planning(view).preview(plan_of(view, "run-everywhere", command=["df", "-h", "My Disk"]))
    assert {item["line"] for item in found["missing_grants"]} == {
        "starloom-agent grant shell:run -- df -h 'My Disk'",
    }
    assert {item["device"] for item in found["missing_grants"]} == {"a", "b"}
    assert found["asks_approval"] is True


def test_a_browser_tab_says_which_switch_instead_of_a_line() -> None:
    words = "Python is switched off on this device; open its page and switch it on"
    tool = ToolOffer(name="python.run", grant="python:run", unavailable=words)
    view = fleet(device("pocket", os="browser"), offers={"pocket": Offer(digest="x", tools=[tool])})
    plan = check_plan(
        {"starloom": 1, "name": "x", "tasks": [{"id": "a", "tool": "python.run", "args": {"code": "1"}}]}
    ).plan
    assert plan is not None
    assert [item["line"] for item in planning(view).preview(plan)["missing_grants"]] == [words]


def test_a_group_over_devices_names_them_all_and_leaves_the_demonstration_out() -> None:
    view = fleet(device("a"), device("b"), device("off", online=False), device("demo-phone", demo=True))
    found = planning(view).preview(plan_of(view, "fleet-health"))
    task = next(task for task in found["tasks"] if task["id"] == "info")
    assert (task["devices"], task["each"]) == (["a", "b"], "device")
    assert "demo-phone is for demonstration and is left out of groups that real devices fit." in found["warnings"]


def test_a_group_over_named_devices_has_the_demonstration_that_is_named() -> None:
    view = fleet(device("a"), device("demo-phone", demo=True), device("demo-server", demo=True))
    where = {"any": [{"name": "a"}, {"name": "demo-phone"}]}
    found = planning(view).preview(plan_of(view, "fleet-health", where=where))
    task = next(task for task in found["tasks"] if task["id"] == "info")
    assert task["devices"] == ["a", "demo-phone"]
    assert not [warning for warning in found["warnings"] if "demonstration" in warning]


def test_a_device_that_is_off_is_chosen_when_the_plan_names_it_and_a_warning_says_so() -> None:
    view = fleet(device("phone", online=False), device("server"))
    found = planning(view).preview(plan_of(view, "photo-backup", source="phone", target="server"))
    task = next(task for task in found["tasks"] if task["id"] == "list")
    assert task["device"] == "phone"
    assert "off" in task["why"]
    assert "phone is offline; its tasks wait for it." in found["warnings"]


def test_devices_of_a_group_that_are_off_are_told_of_or_left_out() -> None:
    view = fleet(device("laptop"), device("nas", online=False), device("demo", demo=True, online=False))
    found = planning(view).preview(plan_of(view, "fleet-health"))
    tasks = {task["id"]: task for task in found["tasks"]}
    assert tasks["info"]["devices"] == ["laptop"]
    assert [text for text in found["warnings"] if "is off" in text] == ["nas is off; the answer says since when."]
    patching = planning(view).preview(plan_of(view, "patch-one-by-one", command=["true"]))
    assert [text for text in patching["warnings"] if "is off" in text] == ["nas is off; it is left out."]
    none = fleet(device("nas", online=False))
    alone = {task["id"]: task for task in planning(none).preview(plan_of(none, "fleet-health"))["tasks"]}
    assert (alone["info"]["device"], alone["info"]["why"]) == (None, "no device that is online fits")


def test_paths_of_one_device_that_may_be_read_on_another_are_a_warning() -> None:
    view = fleet(device("nas"), device("laptop"))

    def warned(**more: Any) -> list[str]:
        find = {"id": "find", "tool": "fs.find", "device": {"name": "nas"}, "args": {"root": "Letters"}}
        document = {"starloom": 1, "name": "x", "tasks": [find, {"id": "read", "tool": "fs.read", **more}]}
        plan = check_plan(document).plan
        assert plan is not None
        said = "read takes paths that find gives, which are those of nas"
        return [text for text in planning(view).preview(plan)["warnings"] if text.startswith(said)]

    one: dict[str, Any] = {"inputs": {"path": {"from": "find", "output": "/files/0/path"}}}
    items: dict[str, Any] = {
        "for_each": {"from": "find", "output": "/files"},
        "args": {"path": {"each": "/path"}},
    }
    for takes in (one, items):
        (said,) = warned(**takes)
        assert said.endswith("Set the device of read to nas.")
        assert warned(**takes, device={"os": "linux"}), "any of a kind may be another, too"
        assert not warned(**takes, device={"name": "nas"})
        assert not warned(**takes, device={"name": "laptop"}), "that is what the plan says"
    assert not warned(**{**items, "args": {"path": "notes.txt", "encoding": {"each": "/path"}}})


def test_a_tool_that_nobody_has_is_a_warning_with_every_device_s_reason() -> None:
    document = {"starloom": 1, "name": "x", "tasks": [{"id": "t", "tool": "camera.capture"}]}
    plan = check_plan(document).plan
    assert plan is not None
    found = planning(sample()).preview(plan)
    assert found["tasks"][0]["device"] is None
    assert len(found["tasks"][0]["alternatives"]) == 3
    assert all("does not offer camera.capture" in item["why"] for item in found["tasks"][0]["alternatives"])
    assert found["warnings"] == ["t waits: no device offers camera.capture now."]


def test_a_label_that_no_device_has_is_no_missing_tool() -> None:
    task = {"id": "t", "tool": "disk.usage", "for_each": {"devices": {"labels": ["attic"]}}}
    plan = check_plan({"starloom": 1, "name": "x", "tasks": [task]}).plan
    assert plan is not None
    found = planning(sample()).preview(plan)
    (said,) = found["warnings"]
    assert said.startswith("t waits: no device has the label attic; ")
    assert said.endswith("To give it: starloom device label DEVICE attic")


def test_a_fleet_without_devices_has_a_preview_that_says_so() -> None:
    plan = plan_of(FleetSnapshot(), "fleet-health")
    assert planning(FleetSnapshot()).preview(plan)["warnings"] == [
        "There is no device yet; the tasks wait until one has joined."
    ]


@pytest.mark.parametrize(
    ("words", "code"),
    [("back up my pictures", Code.REQUEST_AMBIGUOUS), ("make me a sandwich", Code.REQUEST_NOT_UNDERSTOOD)],
)
def test_words_that_are_not_exact_have_a_fault(words: str, code: Code) -> None:
    service = planning(sample())
    assert service.refused(service.understand(words, {}, "")).code is code


def test_faults_of_values_and_names_are_all_told() -> None:
    service = planning(sample())
    wrong = service.plan_recipe("photo-backup", {"source": 5, "colour": "red"})
    assert {fault.place for fault in wrong.faults} == {"params.source", "params.colour", "params.target"}
    assert service.plan_recipe("none-such", {}).faults[0].code is Code.UNKNOWN_RECIPE
    assert service.plan_recipe("fleet-helth", {}).faults[0].hint == "Did you mean `fleet-health`?"
    unknown = service.plan_recipe("photo-backup", {"source": "demo-fone", "target": "demo-server"})
    assert {fault.code for fault in unknown.faults} == {Code.UNKNOWN_DEVICE}


def test_the_same_words_make_the_same_hash_and_other_devices_another() -> None:
    view = sample()
    first = plan_of(view, "photo-backup", source="demo-phone", target="demo-server")
    assert first.hash == plan_of(view, "photo-backup", source="demo-phone", target="demo-server").hash
    assert first.hash != plan_of(view, "photo-backup", source="vm", target="demo-server").hash


@pytest.mark.parametrize(
    ("task", "told"),
    [
        ({"tool": "fs.trash", "args": {"paths": ["app.py", "b.csv"]}}, "t may move 'app.py', 'b.csv' to the trash."),
        ({"tool": "fs.move", "args": {"path": "a.css", "to": "b.css"}}, "t may move 'a.css' to 'b.css'."),
        ({"tool": "fs.read", "args": {"path": "a.css"}}, ""),
    ],
)
def test_the_files_that_a_plan_takes_from_their_place_are_named(task: dict[str, Any], told: str) -> None:
    check = check_plan({"starloom": 1, "name": "Tidy", "tasks": [{"id": "t", "device": {"name": "a"}, **task}]})
    assert check.plan is not None, check.faults
    found = planning(fleet(device("a"), offers={"a": offer(grants=GRANTS)})).preview(check.plan)
    assert [warning for warning in found["warnings"] if warning.startswith("t may move")] == ([told] if told else [])


@pytest.mark.parametrize(("program", "told"), [("print.sh", 1), ("/srv/print.sh", 0), ("uptime", 0)])
def test_a_script_by_its_bare_name_is_looked_for_in_the_path_only(program: str, told: int) -> None:
    view = fleet(device("a"), device("b"), offers={"a": offer(grants=())})
    found = planning(view).preview(plan_of(view, "run-everywhere", command=[program], where="a"))
    assert found["missing_grants"]
    said = [warning for warning in found["warnings"] if "PATH" in warning]
    assert len(said) == told
    assert all("write its full path" in warning for warning in said)


@pytest.mark.parametrize(("to", "told"), [("results", 1), ("results/", 0)])
@pytest.mark.parametrize(("tool", "takes"), [("artifact.get", "artifact"), ("fs.copy", "path"), ("fs.move", "path")])
def test_one_file_for_a_whole_list_is_told(tool: str, takes: str, to: str, told: int) -> None:
    send = {"id": "send", "tool": "artifact.put", "args": {"paths": ["a", "b"]}}
    item = {"each": "" if takes == "artifact" else "/path"}
    save = {"id": "save", "tool": tool, "args": {takes: item, "to": to}}
    listed = {**save, "for_each": {"from": "send", "output": "/files"}}
    made = check_plan({"starloom": 1, "name": "t", "tasks": [send, listed]})
    assert made.plan is not None
    said = [words for words in planning(sample()).preview(made.plan)["warnings"] if "one file for all items" in words]
    assert len(said) == told
    assert all(words.endswith("write `to: results/`.") for words in said)


def test_recipes_are_listed_with_their_forms() -> None:
    service = planning(sample())
    rows = {row["name"]: row for row in service.recipes()}
    assert rows["photo-backup"]["params"]["sheet_on"]["optional"] is True
    assert rows["photo-backup"]["params"]["source"]["optional"] is False
    assert "plan" not in rows["photo-backup"]
    found = service.recipe("photo-backup")
    assert found is not None
    assert found["plan"]["name"] == "Photo backup"
    assert service.recipe("none-such") is None
    assert canonical(service.recipes())


def test_a_broken_recipe_is_named_with_its_places(tmp_path: Any) -> None:
    (tmp_path / "bad.yaml").write_text("starloom_recipe: 1\nname: bad\ntitle: x\nversion: 1\nplan: {starloom: 1}\n")
    with pytest.raises(RecipeBroken, match=r"bad\.yaml: .*tasks"):
        load_catalogue(tmp_path)


def test_devices_that_a_request_for_all_of_them_leaves_out_are_told_with_the_line() -> None:
    no_shell = offer(grants=[grant for grant in GRANTS if grant != "shell:run"])
    view = fleet(device("laptop"), device("nas"), offers={"nas": no_shell})
    found = planning(view).preview(plan_of(view, "run-everywhere", command=["uptime"]))
    (said,) = [warning for warning in found["warnings"] if "left out" in warning]
    assert said == (
        "nas is left out: it has not granted shell:run. On the device: starloom-agent grant shell:run -- uptime"
    )
    named = planning(view).preview(plan_of(view, "run-everywhere", command=["uptime"], where="laptop"))
    assert not [warning for warning in named["warnings"] if "left out" in warning]


def many(count: int, **more: Any) -> LoweredPlan:
    tools = ("system.info", "disk.usage", "process.list")
    tasks = [{"id": f"t{number}", "tool": tools[number % 3], **more} for number in range(count)]
    checked = check_plan({"starloom": 1, "name": "many", "tasks": tasks, "dependencies": []})
    assert checked.plan is not None
    return checked.plan


def crowd(count: int) -> FleetSnapshot:
    return fleet(*(device(f"m{number}") for number in range(count)))


def test_the_work_of_a_preview_grows_with_tasks_not_with_devices() -> None:
    few, more, plan, longer = crowd(2), crowd(40), many(400), many(800)
    cost = calls(lambda: preview(plan, few).plain())
    assert calls(lambda: preview(plan, more).plain()) < GROWTH_MOST * cost
    assert calls(lambda: preview(longer, few).plain()) < GROWTH_MOST * cost


def test_each_demand_of_a_plan_is_placed_as_it_would_be_alone() -> None:
    view = fleet(device("mac", os="macos"), device("nas"), offers={"nas": offer(grants=())})
    tasks: list[dict[str, Any]] = [
        {"id": "any", "tool": "fs.list", "args": {"path": "a"}},
        {"id": "nas", "tool": "fs.list", "args": {"path": "a"}, "device": {"name": "nas"}},
        {"id": "mac", "tool": "fs.list", "args": {"path": "a"}, "device": {"os": "macos"}},
        {"id": "all", "tool": "fs.list", "args": {"path": "a"}, "for_each": {"devices": {"os": "linux"}}},
        {"id": "facts", "tool": "system.info", "device": {"name": "nas"}},
    ]

    def alone(chosen: list[dict[str, Any]]) -> dict[str, TaskPreviewRow]:
        checked = check_plan({"starloom": 1, "name": "x", "tasks": chosen, "dependencies": []})
        assert checked.plan is not None
        return shown(view, checked.plan)

    together = alone(tasks)
    assert together == {task["id"]: alone([task])[task["id"]] for task in tasks}
    assert together["nas"]["missing"][0]["line"] == "starloom-agent grant files:read ~/FOLDER"


def test_a_long_plan_lists_few_devices_for_each_task() -> None:
    found = preview(many(5_000), crowd(30)).plain()
    assert {len(task["alternatives"]) for task in found["tasks"]} == {3}
    assert {len(task["alternatives"]) for task in preview(many(3), crowd(30)).plain()["tasks"]} == {19}


@pytest.mark.parametrize(("tool", "waits"), [("system.info", False), ("fs.write", True)])
def test_a_request_in_words_shows_whether_it_waits(tool: str, waits: bool) -> None:
    view = fleet(device("box"))
    check = check_plan({"starloom": 1, "name": "One", "tasks": [{"id": "a", "tool": tool}]})
    assert check.plan is not None
    service = planning(view)
    assert service.preview(check.plan, words=True)["asks_approval"] is waits
    assert service.preview(check.plan)["asks_approval"] is False


def test_a_number_of_different_devices_is_previewed_by_name() -> None:
    view = fleet(device("a"), device("b"), device("c"), offers=dict.fromkeys("abc", offer()))
    document = {
        "starloom": 1,
        "tasks": [
            {"id": "q", "tool": "system.info", "vote": {"n": 2, "apart": True}},
            {"id": "many", "tool": "system.info", "vote": {"n": 4, "apart": True}},
            {"id": "like", "tool": "system.info", "vote": {"n": 3}},
        ],
    }
    check = check_plan(document)
    assert check.plan is not None, check.faults
    tasks = shown(view, check.plan)
    assert (tasks["q-calls"]["device"], tasks["q-calls"]["each"]) == ("a, b", "device of 2")
    assert (tasks["many-calls"]["device"], tasks["many-calls"]["why"]) == (
        None,
        "3 of the 4 different devices that it needs are online and fit",
    )
    assert tasks["like-calls"]["each"] == "call of 3"


def test_the_choice_of_a_vote_says_who_decides() -> None:
    vote = {"n": 2, "rule": {"judge": "Which is newest?"}}
    check = check_plan({"starloom": 1, "tasks": [{"id": "q", "tool": "system.info", "vote": vote}]})
    assert check.plan is not None, check.faults
    choice = shown(fleet(device("a"), offers={"a": offer()}), check.plan)["q-choice"]
    assert (choice["person"], choice["why"]) == ("Which is newest?", "a judge chooses, or else a person")
    assert choice["judged"] is True


def test_other_calls_are_shown_and_their_effects_count() -> None:
    made = check_plan(
        {
            "starloom": 1,
            "tasks": [
                {
                    "id": "look",
                    "tool": "fs.find",
                    "any_of": [{"tool": "fs.write", "args": {"path": "a", "text": "b"}}],
                }
            ],
        }
    ).plan
    assert made is not None
    found = preview(made, sample())
    assert "where that cannot be done: fs.write" in found.tasks[0].why
    assert {"read", "write"} <= set(found.effects)


def test_the_effects_of_a_preview_are_those_that_the_approval_names() -> None:
    asking = ToolOffer(name="ask", repeatability=Repeatability.NEVER, effects=[Effect.READ])
    wider = ToolOffer(name="ask", repeatability=Repeatability.NEVER, effects=[Effect.READ, Effect.CONTROL])
    offers = {"phone": Offer(digest="p", slots=1, tools=[asking]), "desk": Offer(digest="d", slots=1, tools=[wider])}
    view = fleet(device("phone"), device("desk"), offers=offers)
    checked = check_plan({"starloom": 1, "tasks": [{"id": "q", "tool": "ask", "device": {"name": "phone"}}]})
    assert checked.plan is not None
    found = planning(view).preview(checked.plan)
    assert found["effects"] == ["read", "control"]
    assert sorted(found["effects"]) == [str(effect) for effect in plan_effects(core_fleet(view), checked.plan)]


def test_a_preview_says_that_a_call_may_overwrite() -> None:
    def warned(**args: str) -> list[str]:
        call = {"id": "copy", "tool": "fs.copy", "device": {"name": "server"}, "args": {"path": "a", "to": "b", **args}}
        made = check_plan({"starloom": 1, "name": "Copy", "tasks": [call]}).plan
        assert made is not None
        return planning(sample()).preview(made)["warnings"]

    said = "copy may overwrite files that are there already at 'b'."
    assert said in warned(on_clash="replace")
    assert said not in warned()


def test_a_preview_says_where_results_of_a_device_are_worked_on() -> None:
    view = fleet(device("nas"), device("pc"))
    plan = {
        "starloom": 1,
        "name": "Rank",
        "tasks": [
            {"id": "look", "tool": "fs.find", "device": {"name": "nas"}},
            {"id": "rank", "tool": "data.sort", "device": {"name": "pc"}, "inputs": {"rows": {"from": "look"}}},
            {"id": "list", "tool": "data.sort", "device": {"name": "nas"}, "inputs": {"rows": {"from": "look"}}},
        ],
    }
    check = check_plan(plan)
    assert check.plan is not None, check.faults
    assert planning(view).preview(check.plan)["warnings"] == [
        "Results of nas, names of files among them, go to pc for the work on them: rank."
    ]


def test_children_of_a_group_work_on_what_their_own_device_has() -> None:
    view = fleet(device("nas"), device("pc"))
    sort = {"tool": "data.sort", "inputs": {"rows": {"from": "look"}}}
    plan = {
        "starloom": 1,
        "name": "Rank",
        "tasks": [
            {"id": "look", "tool": "fs.find", "for_each": {"devices": {"tools": ["fs.find"]}}},
            {"id": "rank", "for_each": {"same": "look"}, **sort},
            {"id": "list", "device": {"name": "pc"}, **sort},
        ],
    }
    check = check_plan(plan)
    assert check.plan is not None, check.faults
    assert planning(view).preview(check.plan)["warnings"] == [
        "Results of nas, names of files among them, go to pc for the work on them: list."
    ]


def test_a_preview_says_what_no_undo_takes_back() -> None:
    def warned(tool: str, **more: Any) -> list[str]:
        args = {"fs.write": {"path": "a", "text": "b", "on_clash": "replace"}, "fs.restore": {"tickets": ["t"]}}
        given = args.get(tool, {"path": "a", "to": "b"})
        call = {"id": "work", "tool": tool, "device": {"name": "server"}, "args": given, **more}
        made = check_plan({"starloom": 1, "name": "Work", "tasks": [call]}).plan
        assert made is not None
        return planning(sample()).preview(made)["warnings"]

    said = "An undo will not take back the files of work."
    assert said in warned("fs.restore")
    assert said not in warned("fs.restore", undo={"tool": "fs.trash", "args": {"paths": ["a"]}})
    assert said not in warned("fs.copy") + warned("fs.write") + warned("fs.move")


def test_a_preview_says_that_values_stay_with_their_person() -> None:
    document = {
        "starloom": 1,
        "name": "Sort",
        "tasks": [
            {"id": "find", "tool": "fs.find", "device": {"name": "desk"}, "args": {"under": "."}},
            {"id": "sort", "tool": "data.sort", "inputs": {"rows": {"from": "find", "output": "/files"}}},
        ],
    }
    made = check_plan(document).plan
    assert made is not None

    def why(*people: str) -> str:
        names = ("desk", "laptop")
        view = fleet(*(device(name, let_in_by=person) for name, person in zip(names, people, strict=True)))
        return planning(view).preview(made)["tasks"][1]["why"]

    said = ", on a device of the person on whose device its values are made, while one can"
    assert why("person:ann", "person:ben") == f"one of 2 that can{said}"
    assert why("person:ann", "person:ann#t1") == "one of 2 that can"


def test_a_preview_names_the_calls_that_a_rule_may_add() -> None:
    view = sample()
    when = {"task": "say", "event": "failed"}
    tell = {"id": "tell", "tool": "notify", "args": {"text": "it failed"}}
    document = {
        "starloom": 1,
        "name": "Say",
        "tasks": [{"id": "say", "tool": "notify", "args": {"text": "begun"}}],
        "rules": [{"name": "late", "when": when, "edit": [{"add_task": tell}], "reason": "nobody was told"}],
    }
    check = check_plan(document)
    assert check.plan is not None, check.faults
    (rule,) = planning(view).preview(check.plan)["rules"]
    assert rule == {"name": "late", "task": "say", "reason": "nobody was told", "calls": ["tell: notify"]}
