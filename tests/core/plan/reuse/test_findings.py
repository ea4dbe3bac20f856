"""Findings: a task publishes a part of its result under a topic, and another takes the newest, as old as it may be."""

from __future__ import annotations

from typing import Any

import pytest

from starloom.core.answer.why import explain
from starloom.core.plan.reuse.findings import FINDINGS_MOST, VALUE_BYTES_MOST
from starloom.core.state import inputs as i
from starloom.core.state.apply import put_all
from starloom.core.state.orders import Answer, SendDispatch
from starloom_protocol.plan import check_edit, check_plan
from starloom_protocol.records.edits import LoweredPlan
from starloom_protocol.records.entities import Finding
from starloom_protocol.stream.events import EventKind
from starloom_protocol.values import parse
from starloom_protocol.vocabulary import Code, Outcome
from starloom_protocol.wire.frames import ResultFrame
from tests.builders import Driver
from tests.core.watched import WatchedDriver

TOPIC = "free space"
LOOKS: dict[str, Any] = {
    "id": "look",
    "tool": "t.pure",
    "device": {"name": "one"},
    "finds": {"topic": TOPIC, "value": "/free"},
}
USES: dict[str, Any] = {"id": "use", "tool": "t.pure", "inputs": {"free": {"finding": TOPIC}}}
SLOW: dict[str, Any] = {"id": "slow", "tool": "t.pure", "device": {"name": "one"}}
AFTER_SLOW = [{"from": "slow", "to": "use"}]


def made_of(*tasks: dict[str, Any], **fields: Any) -> LoweredPlan:
    check = check_plan({"starloom": 1, "name": "Findings", "tasks": list(tasks), **fields})
    assert check.plan is not None, check.faults
    return check.plan


def fresh(seconds: int, **fields: Any) -> dict[str, Any]:
    return {**USES, "inputs": {"free": {"finding": TOPIC, "fresh_s": seconds, **fields}}}


def begun(*tasks: dict[str, Any], **fields: Any) -> WatchedDriver:
    one = WatchedDriver("one", "two")
    one.submit(made_of(*tasks, **fields))
    return one


def edit(one: Driver, *written: dict[str, Any], by: str = "person:ann") -> Answer:
    faults, operations = check_edit(list(written))
    assert not faults, faults
    return one.edit(*operations, approves=True, by=by, reason="another look")


def sent(one: Driver) -> dict[str, SendDispatch]:
    return {dispatch.at.task: dispatch for dispatch in one.take()}


def given(dispatch: SendDispatch) -> Any:
    (part,) = dispatch.inputs
    (source,) = part.sources
    return parse(source.text) if source.text is not None else (source.task, source.attempt, source.output)


def found(one: WatchedDriver) -> dict[str, Finding]:
    return one.shard.constellations["c1"].findings


def took(one: WatchedDriver, task: str = "use") -> dict[str, str]:
    return one.shard.constellations["c1"].tasks[task].took


def test_a_task_takes_the_finding_of_another_branch_with_its_source() -> None:
    one = begun(LOOKS, USES)
    work = sent(one)
    assert list(work) == ["look"]
    one.result(work["look"], {"free": 7})
    finding = found(one)["1"]
    assert (finding.topic, finding.task, finding.by, finding.device, finding.value) == (
        TOPIC,
        "look",
        "look",
        "d-one",
        "7",
    )
    use = sent(one)["use"]
    assert (given(use), took(one)) == (7, {"free": "1"})
    one.now_ms += 4_000
    one.result(use, {})
    assert one.state() == "succeeded"
    said = explain(one.shard, "c1", "use").sentence
    assert "free is the finding “free space” of look on one, 0 s old then." in said
    sentence = one.shard.constellations["c1"].tables["answer"][""].sentence
    assert "It rests on a finding: free space from look on one." in sentence
    one.folded_equals_state()


def test_the_newest_of_two_findings_counts_and_both_are_kept() -> None:
    one = begun(LOOKS, {**LOOKS, "id": "again", "device": {"name": "two"}}, USES)
    work = sent(one)
    one.result(work["again"], {"free": 1})
    assert not one.take()
    one.now_ms += 1_000
    one.result(work["look"], {"free": 2})
    assert given(sent(one)["use"]) == 2
    assert [finding.value for finding in found(one).values()] == ["1", "2"]


def test_a_task_waits_for_every_task_that_publishes_its_topic() -> None:
    one = begun(LOOKS, {**LOOKS, "id": "again", "device": {"name": "two"}}, USES)
    work = sent(one)
    one.result(work["look"], {"free": 2})
    assert one.states()["use"] == "waiting"
    assert explain(one.shard, "c1", "use").waits_for == ["again"]
    one.result(work["again"], None, Outcome.ERROR, code=Code.BAD_ARGUMENTS)
    assert given(sent(one)["use"]) == 2


def test_without_a_finding_the_value_of_the_plan_is_handed_over() -> None:
    one = begun(LOOKS, {**USES, "inputs": {"free": {"finding": TOPIC, "else": {"unknown": True}}}})
    one.result(sent(one)["look"], None, Outcome.ERROR, code=Code.BAD_ARGUMENTS)
    assert (given(sent(one)["use"]), took(one)) == ({"unknown": True}, {"free": ""})
    assert "There was no finding" in explain(one.shard, "c1", "use").sentence


def test_without_a_finding_and_a_value_the_task_is_skipped_for_its_source() -> None:
    one = begun(LOOKS, USES)
    one.result(sent(one)["look"], None, Outcome.ERROR, code=Code.BAD_ARGUMENTS)
    record = one.shard.constellations["c1"].tasks["use"]
    assert (record.state, record.cause, one.state()) == ("skipped", "look", "failed")


def test_a_result_without_its_part_is_no_finding() -> None:
    one = begun(LOOKS, USES)
    one.result(sent(one)["look"], {"else": 1})
    assert (found(one), one.states()["use"]) == ({}, "skipped")
    (event,) = [event for event in one.events if event.kind == EventKind.FINDING_REFUSED]
    assert event.note == "free space: look gives nothing at /free"


def test_a_long_part_is_read_from_its_result() -> None:
    one = begun(LOOKS, USES)
    one.result(sent(one)["look"], {"free": "x" * VALUE_BYTES_MOST})
    assert found(one)["1"].value is None
    assert given(sent(one)["use"]) == ("look", 1, "/free")


def test_a_part_of_a_file_is_published_by_its_hash() -> None:
    one = begun(LOOKS, USES)
    work = sent(one)["look"]
    assert "/free" in work.wants
    frame = ResultFrame(
        artifact="a" * 64, at=work.at, bytes=99_999, facts_too_big={"/free": 50_000}, outcome=Outcome.OK, report=1
    )
    one.do(i.ResultReported(id=one.ident(), by="device:d-one", device="d-one", frame=frame))
    assert (found(one)["1"].hash, found(one)["1"].bytes) == ("a" * 64, 50_000)
    assert given(sent(one)["use"]) == ("look", 1, "/free")


def test_a_retry_of_the_source_takes_its_old_finding_away() -> None:
    one = begun(LOOKS, USES)
    one.result(sent(one)["look"], {"free": 1})
    one.result(sent(one)["use"], {})
    assert not one.control("retry_from", "look").faults
    one.result(sent(one)["look"], {"free": 2})
    assert given(sent(one)["use"]) == 2
    assert sorted(found(one)) == ["1", "2"]
    one.folded_equals_state()


def test_a_retry_that_fails_leaves_no_finding_to_take() -> None:
    one = begun(LOOKS, USES)
    one.result(sent(one)["look"], {"free": 1})
    one.result(sent(one)["use"], {})
    one.control("retry_from", "look")
    one.result(sent(one)["look"], None, Outcome.ERROR, code=Code.BAD_ARGUMENTS)
    assert one.states()["use"] == "skipped"


def test_a_flood_of_findings_is_refused_and_the_older_ones_stay() -> None:
    one = Driver()
    one.add_device("one")
    made: Any = one.submit(made_of(LOOKS, USES))
    filler = Finding(at_ms=1, by="x", hash="0" * 64, task="x", topic="x")
    put_all(one.shard, made, [("finding", str(number + 1), filler) for number in range(FINDINGS_MOST)])
    one.result(sent(one)["look"], {"free": 1})
    assert len(made.findings) == FINDINGS_MOST
    assert one.states()["use"] == "skipped"


def test_a_finding_that_is_fresh_enough_is_taken() -> None:
    one = begun(LOOKS, SLOW, fresh(60), dependencies=AFTER_SLOW)
    work = sent(one)
    one.result(work["look"], {"free": 1})
    one.now_ms += 60_000
    one.result(work["slow"], {})
    assert given(sent(one)["use"]) == 1


def test_an_old_finding_is_looked_at_again_before_it_is_used() -> None:
    one = begun({**LOOKS, "args": {"path": "/"}}, SLOW, fresh(60), dependencies=AFTER_SLOW)
    work = sent(one)
    one.result(work["look"], {"free": 1})
    one.now_ms += 61_000
    one.result(work["slow"], {})
    again = sent(one)
    assert list(again) == ["look-again"]
    assert (again["look-again"].device, again["look-again"].args) == ("d-one", '{"path":"/"}')
    assert one.states()["use"] == "waiting"
    run = one.shard.constellations["c1"]
    assert run.versions["2"].author == "engine"
    assert run.versions["2"].reason == "free space is 61 s old, and use needs it fresh"
    one.now_ms += 1_000
    one.result(again["look-again"], {"free": 3})
    assert given(sent(one)["use"]) == 3
    assert "looks again" in explain(one.shard, "c1", "look-again").sentence
    one.folded_equals_state()


def test_one_new_look_serves_all_that_wait_for_it() -> None:
    other = {**fresh(60), "id": "other"}
    gates = [*AFTER_SLOW, {"from": "slow", "to": "other"}]
    one = begun(LOOKS, SLOW, fresh(60), other, dependencies=gates)
    work = sent(one)
    one.result(work["look"], {"free": 1})
    one.now_ms += 61_000
    one.result(work["slow"], {})
    again = sent(one)
    assert list(again) == ["look-again"]
    one.result(again["look-again"], {"free": 3})
    uses = sent(one)
    assert {name: given(use) for name, use in uses.items()} == {"use": 3, "other": 3}


@pytest.mark.parametrize("instead", [{}, {"else": 0}])
def test_a_new_look_that_fails_is_not_repeated(instead: dict[str, Any]) -> None:
    one = begun(LOOKS, SLOW, fresh(60, **instead), dependencies=AFTER_SLOW)
    work = sent(one)
    one.result(work["look"], {"free": 1})
    one.now_ms += 61_000
    one.result(work["slow"], {})
    one.result(sent(one)["look-again"], None, Outcome.ERROR, code=Code.BAD_ARGUMENTS)
    if instead:
        one.result(sent(one)["use"], {})
        assert (took(one), one.state()) == ({"free": ""}, "succeeded")
    else:
        assert (one.states()["use"], one.state()) == ("skipped", "failed")
    assert "look-again-2" not in one.states()


def test_a_device_whose_tool_writes_now_is_not_asked_again() -> None:
    one = begun(LOOKS, SLOW, fresh(60), dependencies=AFTER_SLOW)
    work = sent(one)
    one.result(work["look"], {"free": 1})
    fleet = one.shard.fleet
    offer = fleet.offers["d-one"]
    writes = [
        type(tool)(**{**{name: getattr(tool, name) for name in tool.__struct_fields__}, "effects": ["write"]})
        for tool in offer.tools
    ]
    put_all(one.shard, fleet, [("offer", "d-one", type(offer)(**{**_fields(offer), "tools": writes}))])
    one.now_ms += 61_000
    one.result(work["slow"], {})
    assert "look-again" not in one.states()
    assert one.states()["use"] == "skipped"


def _fields(record: Any) -> dict[str, Any]:
    return {name: getattr(record, name) for name in record.__struct_fields__}


def test_a_task_that_is_added_waits_for_all_that_publish_its_topic() -> None:
    one = begun(LOOKS, SLOW)
    work = sent(one)
    assert not edit(one, {"add_task": USES}).faults
    assert one.states()["use"] == "waiting"
    one.result(work["look"], {"free": 1})
    assert given(sent(one)["use"]) == 1


def test_a_publisher_that_is_added_holds_back_what_takes_its_topic() -> None:
    one = begun(LOOKS, SLOW, USES, dependencies=AFTER_SLOW)
    work = sent(one)
    one.result(work["look"], {"free": 1})
    assert not edit(one, {"add_task": {**LOOKS, "id": "second"}}).faults
    one.result(work["slow"], {})
    assert one.states()["use"] == "waiting"
    one.now_ms += 1
    one.result(sent(one)["second"], {"free": 2})
    assert given(sent(one)["use"]) == 2


def test_an_edit_with_a_topic_that_nothing_publishes_is_refused_with_the_nearest() -> None:
    one = begun(LOOKS)
    (fault,) = edit(one, {"add_task": {**USES, "inputs": {"free": {"finding": "free spaces"}}}}).faults
    assert (fault.code, fault.hint) == (Code.UNKNOWN_TOPIC, "Did you mean `free space`?")


@pytest.mark.parametrize("by", ["model", "assistant:claude", "rule:r"])
def test_nobody_but_a_person_adds_a_task_that_publishes(by: str) -> None:
    one = begun(LOOKS, USES)
    (fault,) = edit(one, {"add_task": {**LOOKS, "id": "mine"}}, by=by).faults
    assert fault.code is Code.FORBIDDEN


def test_the_last_publisher_of_a_topic_is_not_removed_from_its_readers() -> None:
    one = begun({**LOOKS, "device": {"name": "nobody"}}, USES)
    assert edit(one, {"remove_task": {"id": "look"}}).faults[0].code is Code.HAS_DEPENDENTS
    assert not edit(one, {"add_task": {**LOOKS, "id": "second"}}).faults
    assert not edit(one, {"remove_task": {"id": "look"}}).faults
    one.result(sent(one)["second"], {"free": 2})
    assert given(sent(one)["use"]) == 2


def test_a_gate_by_topic_is_not_removed_by_itself() -> None:
    one = begun(LOOKS, USES)
    (fault,) = edit(one, {"remove_dependency": {"id": "look>use:free"}}).faults
    assert "belongs to the topic" in fault.reason


def test_a_turn_of_a_repeat_publishes_as_its_group() -> None:
    repeat = {"max": 3, "until": {"output": "/free", "op": "gt", "value": 1}}
    one = begun({**LOOKS, "repeat": repeat}, USES)
    one.result(sent(one)["look.1"], {"free": 1})
    assert one.states()["use"] == "waiting"
    one.now_ms += 1
    one.result(sent(one)["look.2"], {"free": 2})
    assert (given(sent(one)["use"]), found(one)["2"].by) == (2, "look")


def test_a_ready_task_that_gets_a_topic_takes_it_before_it_begins() -> None:
    one = begun(LOOKS, {**USES, "inputs": {}, "device": {"name": "nobody"}})
    one.result(sent(one)["look"], {"free": 1})
    assert one.states()["use"] == "ready"
    assert not edit(one, {"update_task": {"id": "use", "inputs": USES["inputs"], "device": {"name": "one"}}}).faults
    assert (given(sent(one)["use"]), took(one)) == (1, {"free": "1"})
    one.folded_equals_state()
