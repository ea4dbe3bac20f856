"""The hub's own tools in a plan: the state of devices in a repeat, and a drain that a person approved."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from starloom.core.clock.timers import due_moments
from starloom.core.state import inputs as i
from starloom.core.state.apply import load
from starloom_protocol.plan import check_edit, check_plan
from starloom_protocol.plan.types.signatures import signatures_of
from starloom_protocol.records.edits import AddTask, LoweredPlan
from starloom_protocol.records.entities import Principal, ToolOffer
from starloom_protocol.stream.feed import ACCESS
from starloom_protocol.tools.hub_tools import HUB_TOOLS, ROWS_MOST
from starloom_protocol.values import parse
from starloom_protocol.vocabulary import Code, Effect, Reason, Repeatability, Role
from tests.builders import TOOLS, plan, task
from tests.core.watched import WatchedDriver

SIGNATURES = signatures_of([*TOOLS, *HUB_TOOLS.values()])


def made(*tasks: dict[str, Any], **fields: Any) -> LoweredPlan:
    check = check_plan({"starloom": 1, "name": "Watch", "tasks": list(tasks), **fields}, known_signatures=SIGNATURES)
    assert check.plan is not None, check.faults
    return check.plan


def drain(device: str = "one", **fields: Any) -> dict[str, Any]:
    return {"id": "drain", "tool": "device.drain", "args": {"device": device}, **fields}


def value(one: WatchedDriver, name: str, of: str = "c1") -> Any:
    marked = one.shard.constellations[of].tasks[name].marked
    assert marked is not None
    return parse(marked)


def approve(one: WatchedDriver, of: str = "c1", word: str = "allow") -> None:
    (question,) = one.shard.constellations[of].open_questions
    answer = one.answer_question(question, word, name=of)
    assert not answer.faults, answer.faults


def off(one: WatchedDriver, name: str) -> None:
    device = one.shard.fleet.devices[f"d-{name}"]
    one.do(i.DeviceDisconnected(id=one.ident(), by="e", device=device.id, session=device.session, reason="gone"))


def restart(one: WatchedDriver, *names: str) -> None:
    """Let the hub end and start: it holds the socket of no device any more."""
    for name in names:
        device = one.shard.fleet.devices[f"d-{name}"]
        one.do(
            i.DeviceDisconnected(
                id=one.ident(),
                by="engine",
                device=device.id,
                hub_ended=True,
                reason="the hub that held its socket has ended",
                session=device.session,
            )
        )


def come(one: WatchedDriver) -> None:
    """Let the moment come that a task waits for."""
    (due,) = [timer for timer in due_moments(one.shard) if timer.kind == "moment"]
    one.now_ms = due.due_ms
    one.fire(due)


def test_the_state_of_devices_is_a_result_without_a_device() -> None:
    one = WatchedDriver("one", "two")
    off(one, "two")
    use = {"id": "use", "tool": "t.pure", "inputs": {"x": {"from": "look", "output": "/off/0/device"}}}
    run = one.submit(made({"id": "look", "tool": "fleet.devices"}, use))
    seen = value(one, "look")
    assert [(row["device"], row["state"]) for row in seen["rows"]] == [("one", "on"), ("two", "off")]
    assert (seen["down"], seen["count"], [row["device"] for row in seen["off"]]) == (1, 2, ["two"])
    (sent,) = one.take()
    assert (sent.at.task, sent.inputs[0].sources[0].output) == ("use", "/off/0/device")
    one.result(sent, {})
    assert (one.state(), run.tasks["look"].attempt) == ("succeeded", 0)
    one.folded_equals_state()


def test_looks_follow_each_other_until_a_device_was_down_twice_in_a_row() -> None:
    one = WatchedDriver("one", "two")
    until = {"output": "/off", "op": "not_empty"}
    look = {"id": "look", "tool": "fleet.devices", "repeat": {"max": 12, "every_s": 5, "until": until, "in_a_row": 2}}
    one.submit(made(look, {"id": "tell", "tool": "t.never", "inputs": {"x": {"from": "look", "output": "/off"}}}))
    began = one.now_ms

    def turn() -> None:
        timer = [timer for timer in one.timers if timer.kind == "moment"].pop()
        one.fire(timer)

    turn()
    off(one, "two")
    turn()
    assert not one.dispatched
    turn()
    (sent,) = one.take()
    assert (sent.at.task, one.now_ms - began) == ("tell", 15_000)
    assert one.states()["look"] == "succeeded"
    one.folded_equals_state()


def test_a_device_is_down_once_it_was_off_for_so_long_and_names_choose() -> None:
    one = WatchedDriver("one", "two", "three")
    off(one, "two")
    off(one, "three")
    one.now_ms += 4_000
    args = {"names": ["two", "one", "nobody"], "for_s": 5}
    one.submit(made({"id": "look", "tool": "fleet.devices", "args": args}))
    early = value(one, "look")
    assert (early["down"], early["count"], early["unknown"]) == (0, 2, ["nobody"])
    one.now_ms += 1_000
    one.submit(made({"id": "look", "tool": "fleet.devices", "args": args}), "c2")
    assert [row["device"] for row in value(one, "look", "c2")["off"]] == ["two"]


def test_a_device_that_the_hub_lost_by_its_own_end_is_not_down_until_it_had_time_to_connect() -> None:
    one = WatchedDriver("one", "two", "three")
    restart(one, "one", "two", "three")
    run = one.submit(made({"id": "look", "tool": "fleet.devices", "args": {"for_s": 5}}))
    assert (run.tasks["look"].state, run.tasks["look"].reason) == ("ready", Reason.MOMENT)
    assert run.tasks["look"].not_before_ms == one.now_ms + one.shard.settings.return_ms
    assert one.events[-1].note == "waits for one, three, two to connect again, as the hub has just started"
    one.connect("one")
    one.connect("two")
    come(one)
    assert [row["device"] for row in value(one, "look")["off"]] == ["three"]
    one.folded_equals_state()


def test_a_call_that_waits_goes_on_once_the_last_device_has_connected() -> None:
    one = WatchedDriver("one", "two", "three")
    off(one, "three")
    restart(one, "one", "two")
    one.submit(made({"id": "look", "tool": "fleet.devices"}))
    one.submit(made({"id": "look", "tool": "fleet.devices", "args": {"names": ["one"]}}), "c2")
    began = one.now_ms
    one.connect("one")
    assert one.states()["look"] == "ready"
    assert [row["state"] for row in value(one, "look", "c2")["rows"]] == ["on"]
    one.connect("two")
    assert ([row["device"] for row in value(one, "look")["off"]], one.now_ms) == (["three"], began)
    assert not one.shard.fleet.expected
    one.folded_equals_state()


def test_a_call_with_a_time_of_its_own_begins_no_earlier_because_a_device_connects() -> None:
    one = WatchedDriver("one", "two")
    look = {"id": "look", "tool": "fleet.devices", "repeat": {"max": 2, "every_s": 30}}
    one.submit(made(look))
    restart(one, "one")
    one.connect("one")
    assert one.shard.constellations["c1"].tasks["look.2"].reason is Reason.MOMENT
    assert one.now_ms < one.shard.constellations["c1"].tasks["look.2"].not_before_ms


def test_a_held_call_that_waits_stays_held_when_the_devices_have_connected() -> None:
    one = WatchedDriver("one")
    restart(one, "one")
    run = one.submit(made({"id": "look", "tool": "fleet.devices"}))
    one.control("hold", "look")
    one.connect("one")
    assert (run.tasks["look"].state, run.tasks["look"].reason) == ("ready", Reason.HELD)
    one.control("release", "look")
    assert value(one, "look")["down"] == 0


def test_a_look_at_devices_by_name_waits_for_no_other() -> None:
    one = WatchedDriver("one", "two")
    restart(one, "one", "two")
    one.connect("one")
    one.submit(made({"id": "look", "tool": "fleet.devices", "args": {"names": ["one"]}}))
    assert [row["state"] for row in value(one, "look")["rows"]] == ["on"]


def test_a_drain_after_a_restart_waits_for_the_devices_that_may_take_the_work() -> None:
    one = WatchedDriver("one", "two")
    one.submit(plan(task("may")), "work")
    (mine,) = one.take()
    one.started(mine)
    busy = mine.device.removeprefix("d-")
    run = one.submit(made(drain(busy)), controls=True)
    restart(one, "one", "two")
    approve(one)
    assert (run.tasks["drain"].reason, one.shard.fleet.devices[mine.device].draining) == (Reason.MOMENT, False)
    one.connect("one")
    one.connect("two")
    assert [item["task"] for item in value(one, "drain")["moving"]] == ["may"]
    assert one.shard.fleet.devices[mine.device].draining
    one.folded_equals_state()


def test_a_large_fleet_is_counted_whole_and_named_in_part_those_that_are_down_first() -> None:
    one = WatchedDriver(*(f"n{number:03}" for number in range(ROWS_MOST + 20)), whole=False)
    off(one, f"n{ROWS_MOST + 19:03}")
    one.submit(made({"id": "look", "tool": "fleet.devices"}))
    seen = value(one, "look")
    assert (len(seen["rows"]), seen["left_out"], seen["count"]) == (ROWS_MOST, 20, ROWS_MOST + 20)
    assert seen["rows"][-1]["state"] == "off"


def test_a_paused_plan_looks_when_it_goes_on() -> None:
    one = WatchedDriver("one")
    run = one.submit(
        made(
            {"id": "first", "tool": "t.pure"},
            {"id": "look", "tool": "fleet.devices"},
            dependencies=[{"from": "first", "to": "look"}],
        )
    )
    (sent,) = one.take()
    one.control("pause")
    one.result(sent, {})
    assert run.tasks["look"].state == "ready"
    one.control("resume")
    assert (run.tasks["look"].state, one.state()) == ("succeeded", "succeeded")


def test_a_drain_waits_for_a_person_then_moves_what_runs_and_says_what() -> None:
    one = WatchedDriver("one", "two")
    one.submit(plan(task("may", device=None), task("must-not", tool="t.never", device="one")), "work")
    mine = {item.at.task: item for item in one.take()}
    for item in mine.values():
        one.started(item)
    assert mine["may"].device == "d-one" or mine["must-not"].device == "d-one"
    busy = mine["may"].device.removeprefix("d-")
    run = one.submit(made(drain(busy)), controls=True)
    assert (run.head.state, one.shard.fleet.devices[f"d-{busy}"].draining) == ("awaiting_approval", False)
    approve(one)
    told = value(one, "drain")
    assert {item["task"] for item in told["moving"]} == {"may"}
    assert one.shard.constellations["work"].tasks["may"].reason is Reason.MOVING
    assert (one.shard.fleet.devices[f"d-{busy}"].draining, one.state()) == (True, "succeeded")
    one.receipt(mine["may"])
    (moved,) = one.take()
    assert moved.device != f"d-{busy}"
    one.folded_equals_state()


def test_a_resume_gives_it_work_again() -> None:
    one = WatchedDriver("one")
    again = {"id": "again", "tool": "device.resume", "args": {"device": "one"}}
    gates = [{"from": "drain", "to": "again"}]
    one.submit(made(drain(), again, dependencies=gates), controls=True)
    approve(one)
    assert (value(one, "again"), one.shard.fleet.devices["d-one"].draining) == (
        {"device": "one", "draining": False},
        False,
    )


def test_without_the_right_no_plan_controls_a_device() -> None:
    one = WatchedDriver("one")
    for by, controls in (("person:ann", False), ("assistant:bot", True), ("model", True)):
        request = i.RequestReceived(id=one.ident(), by=by, constellation="c1", plan=made(drain()), controls=controls)
        assert [fault.code for fault in one.do(request).faults] == [Code.FORBIDDEN]
    assert not one.shard.fleet.devices["d-one"].draining


def test_the_right_is_judged_again_when_the_time_has_come() -> None:
    one = WatchedDriver("one")
    ann = Principal(created_ms=0, id="p-ann", name="ann", role=Role.OPERATOR)
    load(one.shard, ACCESS, 0, {"principal/p-ann": ann})
    one.submit(made(drain()), controls=True)
    load(one.shard, ACCESS, 0, {"principal/p-ann": Principal(created_ms=0, id="p-ann", name="ann", role=Role.VIEWER)})
    approve(one)
    run = one.shard.constellations["c1"]
    assert (run.tasks["drain"].state, run.tasks["drain"].code) == ("failed", Code.FORBIDDEN)
    assert not one.shard.fleet.devices["d-one"].draining


def test_a_drain_is_not_made_twice() -> None:
    one = WatchedDriver("one")
    one.submit(made(drain()), controls=True)
    approve(one)
    one.do(i.DeviceControlled(id=one.ident(), by="person:ann", device="d-one", action="resume"))
    one.control("retry_from", "drain")
    assert one.shard.constellations["c1"].tasks["drain"].code is Code.FORBIDDEN
    assert not one.shard.fleet.devices["d-one"].draining


def test_a_device_that_nobody_knows_is_no_success() -> None:
    one = WatchedDriver("one")
    one.submit(made(drain("ghost")), controls=True)
    approve(one)
    assert one.shard.constellations["c1"].tasks["drain"].code is Code.UNKNOWN_DEVICE


@pytest.mark.parametrize("author", ["person:ann", "model"])
def test_no_edit_adds_or_changes_a_drain(author: str) -> None:
    one = WatchedDriver("one", "two")
    one.submit(made({"id": "a", "tool": "t.pure"}, drain()), controls=True)
    approve(one)
    faults, operations = check_edit([{"add_task": {**drain("two"), "id": "more"}}], known_signatures=SIGNATURES)
    assert [fault.code for fault in faults] == [Code.PLAN_INVALID]
    assert operations == []
    raw = task("more", tool="device.drain", args='{"device":"two"}')
    request = i.EditProposed(
        id=one.ident(),
        by=author,
        constellation="c1",
        base_version=1,
        operations=[AddTask(spec=raw)],
        reason="x",
        trigger="x",
    )
    assert [fault.code for fault in one.do(request).faults] == [Code.FORBIDDEN]


def test_t142_an_approval_names_the_devices_that_it_controls() -> None:
    one = WatchedDriver("one", "two")
    tasks = [
        {"id": "a", "tool": "device.drain", "args": {"device": "one"}},
        {"id": "b", "tool": "device.drain", "args": {"device": "d-two"}},
        {"id": "c", "tool": "device.drain", "args": {"device": "nowhere"}},
        {"id": "d", "tool": "device.resume", "args": {"device": "two"}},
    ]
    run = one.submit(replace(made(*tasks), name="Read the news"), controls=True)
    assert run.questions["approve-plan"].text == ("Run Read the news? It may drain one, two and 'nowhere'; resume two.")


def test_t142_what_else_a_plan_does_is_said_beside_the_devices_that_it_controls() -> None:
    one = WatchedDriver("one", "two")
    run = one.submit(made(drain(), {"id": "x", "tool": "t.never", "device": {"name": "two"}}), controls=True)
    assert run.questions["approve-plan"].text == "Run Watch? It may drain one. Its other tasks may write."


def test_a_device_that_claims_to_offer_a_tool_of_the_hub_is_not_asked() -> None:
    one = WatchedDriver("one")
    lie = ToolOffer(name="device.drain", repeatability=Repeatability.PURE, effects=[Effect.READ])
    one.add_device("evil", tools=[*TOOLS, lie])
    run = one.submit(made(drain()), controls=True)
    assert run.head.state == "awaiting_approval"
    approve(one)
    assert (one.dispatched, one.shard.fleet.devices["d-one"].draining) == ([], True)


@pytest.mark.parametrize(
    ("wrong", "place"),
    [
        ({"device": {"name": "one"}}, "tasks[0].device"),
        ({"repeat": {"max": 3, "every_s": 5}}, "tasks[0].repeat"),
        ({"for_each": {"times": 3}}, "tasks[0].for_each"),
        ({"inputs": {"device": {"from": "a", "output": "/x"}}, "args": {}}, "tasks[0].inputs"),
        ({"undo": {"tool": "device.drain", "args": {"device": "one"}}}, "tasks[0].undo"),
    ],
)
def test_what_does_not_go_with_a_drain_is_refused_with_its_place(wrong: dict[str, Any], place: str) -> None:
    tasks = [{**drain(), **wrong}, {"id": "a", "tool": "t.pure"}]
    check = check_plan({"starloom": 1, "name": "x", "tasks": tasks}, known_signatures=SIGNATURES)
    assert place in [fault.place for fault in check.faults]
