"""The journey of tasks through the core: gates, retries, groups, rules, rounds - on events and states."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from starloom.core.answer.why import explain
from starloom.core.state import inputs as i
from starloom.core.state.tasks.graph import END_RANK
from starloom_protocol.records.edits import AddDependency, AddTask, DropItems, RemoveTask
from starloom_protocol.records.entities import (
    Check,
    Choice,
    Condition,
    ForEach,
    Policy,
    ResultSpec,
    RuleRecord,
    Selector,
)
from starloom_protocol.values import canonical
from starloom_protocol.vocabulary import Code, Gate, Need, Op, Outcome
from tests.builders import IDEMPOTENT, MAYBE, NONE, Driver, edge, plan, task, when


def test_a_chain_runs_in_order_and_ends_succeeded() -> None:
    driver = Driver("one")
    driver.submit(plan(task("a"), task("b", "x=a/v"), task("c", "x=b"), edge("a>c")))
    assert driver.states() == {"a": "leased", "b": "waiting", "c": "waiting"}
    assert driver.run(value={"v": 1}) == "succeeded"
    driver.folded_equals_state()
    answer = driver.shard.constellations["c1"].tables["answer"][""]
    assert answer.state == "final"
    assert "3 tasks on one" in answer.sentence


def test_a_failure_skips_success_dependents_and_opens_failure_dependents() -> None:
    driver = Driver("one")
    driver.submit(plan(task("a"), task("b"), task("c"), task("d"), edge("a>b"), edge("a>c", Gate.FAILURE), edge("b>d")))
    (dispatch,) = driver.take()
    driver.result(dispatch, outcome=Outcome.ERROR, code=Code.TOOL_FAILED, detail="boom")
    states = driver.states()
    assert (states["a"], states["b"], states["c"], states["d"]) == ("failed", "skipped", "leased", "skipped")
    run = driver.shard.constellations["c1"]
    assert run.tasks["d"].cause == "a"
    assert driver.run() == "failed"
    assert "First cause: a" in run.tables["answer"][""].sentence
    driver.folded_equals_state()


def test_partial_needs_the_policy_and_a_useful_branch() -> None:
    driver = Driver("one")
    driver.submit(plan(task("a"), task("b"), policy=Policy(partial=True)))
    first, second = driver.take()
    driver.result(first, outcome=Outcome.ERROR, code=Code.TOOL_FAILED)
    driver.result(second, 1)
    assert driver.shard.constellations["c1"].head.state == "partial"


def test_a_transient_error_is_retried_after_backoff_within_its_budget() -> None:
    driver = Driver("one")
    driver.submit(plan(task("a")))
    for attempt in (1, 2, 3):
        (dispatch,) = driver.take()
        assert dispatch.at.attempt == attempt
        driver.result(dispatch, outcome=Outcome.ERROR, code=Code.NETWORK)
        if attempt < 3:
            assert driver.states()["a"] == "ready"
            assert not driver.dispatched
            driver.fire(driver.timers.pop())
    assert driver.states()["a"] == "failed"


def test_never_repeatable_work_interrupted_with_an_effect_is_unknown_until_a_person_says() -> None:
    driver = Driver("one")
    driver.submit(plan(task("a", tool="t.never"), task("b", "x=a")))
    (dispatch,) = driver.take()
    assert dispatch.after == "durable"
    driver.started(dispatch)
    driver.result(dispatch, outcome=Outcome.INTERRUPTED, effect=MAYBE)
    run = driver.shard.constellations["c1"]
    assert driver.states() == {"a": "unknown", "b": "waiting"}
    assert run.head.attention == ["task_unknown"]
    assert driver.control("retry", "a").faults[0].code is Code.NEEDS_CONFIRM
    assert not driver.control("mark", "a", value="7").faults
    assert driver.run() == "succeeded"
    assert run.head.attention == []
    driver.folded_equals_state()


def test_interrupted_without_effect_is_tried_again_only_within_its_budget() -> None:
    driver = Driver("one")
    driver.submit(plan(task("a", tool="t.never")))
    (dispatch,) = driver.take()
    driver.result(dispatch, outcome=Outcome.INTERRUPTED, effect=NONE)
    assert driver.states()["a"] == "failed"


def test_a_result_from_another_device_or_of_a_closed_lease_changes_nothing() -> None:
    driver = Driver("one", "two")
    driver.submit(plan(task("a", device="one")))
    (dispatch,) = driver.take()
    before = len(driver.events)
    driver.result(dispatch, 1, device="d-two")
    wrong = msgspec.structs.replace(dispatch.at, incarnation=9)
    driver.result(dispatch, 1, at=wrong)
    assert len(driver.events) == before
    assert driver.ignored == {
        "came from another device than the leased one": 1,
        "its lease is closed": 1,
    }
    driver.result(dispatch, 1)
    done = len(driver.events)
    driver.result(dispatch, 2)
    assert len(driver.events) == done


def test_silence_moves_pure_work_and_the_first_late_result_is_noted_once() -> None:
    driver = Driver("one", "two")
    driver.submit(plan(task("a")))
    (first,) = driver.take()
    driver.expire(first.at)
    (second,) = driver.take()
    assert second.device != first.device
    driver.result(first, 1)
    driver.result(first, 1)
    assert [event.kind for event in driver.events].count("result_late") == 1
    assert driver.states()["a"] == "leased"
    driver.result(second, 2)
    assert driver.shard.constellations["c1"].head.state == "succeeded"
    driver.folded_equals_state()


def test_silence_of_never_work_waits_and_goes_on_when_heard() -> None:
    driver = Driver("one")
    driver.submit(plan(task("a", tool="t.never")))
    (dispatch,) = driver.take()
    driver.started(dispatch)
    driver.expire(dispatch.at)
    run = driver.shard.constellations["c1"]
    assert run.tasks["a"].reason == "absent"
    answer = driver.connect("one")
    assert answer.value["entries"][0]["action"] == "continue"
    assert not run.tasks["a"].absent_since_ms
    driver.result(dispatch, 1)
    assert run.head.state == "succeeded"


def test_cancel_stays_cancelling_until_the_receipt() -> None:
    driver = Driver("one")
    driver.submit(plan(task("a"), task("b", "x=a")))
    driver.submit(plan(task("z")), name="c2")
    first, other = driver.take()
    driver.started(first)
    driver.control("cancel")
    assert driver.states() == {"a": "cancelling", "b": "cancelled"}
    assert driver.cancels[0].device == "d-one"
    assert driver.states("c2") == {"z": "leased"}
    driver.receipt(first)
    assert driver.shard.constellations["c1"].head.state == "cancelled"
    driver.result(other, 1)
    assert driver.shard.constellations["c2"].head.state == "succeeded"
    driver.folded_equals_state()


def test_a_result_already_made_wins_over_a_cancel() -> None:
    driver = Driver("one")
    driver.submit(plan(task("a")))
    (dispatch,) = driver.take()
    driver.started(dispatch)
    driver.control("cancel", "a")
    driver.result(dispatch, 5)
    assert driver.states()["a"] == "succeeded"


def test_a_family_expands_in_one_version_and_siblings_follow_each_other() -> None:
    driver = Driver("one", slots=8)
    each = ForEach(source="list", output="/files", max_parallel=2)
    driver.submit(
        plan(
            task("list"),
            task("send", for_each=each, tool="t.idem"),
            task("copy", "f=send/x", for_each=ForEach(same="send"), tool="t.idem"),
            task("sheet", "all=copy/y"),
        )
    )
    (dispatch,) = driver.take()
    driver.result(dispatch, {"files": ["a", "b", "c"]}, facts={"/files": canonical(["a", "b", "c"])})
    run = driver.shard.constellations["c1"]
    assert run.head.version == 2
    assert run.versions["2"].author == "expand"
    sends = driver.take()
    assert [item.at.task for item in sends] == ["send.0", "send.1"]
    assert sends[1].item == '"b"'
    driver.result(sends[0], {"x": 1})
    following = driver.take()
    assert {item.at.task for item in following} == {"send.2", "copy.0"}
    for item in [sends[1], *following]:
        driver.result(item, {"x": 1, "y": 2})
    assert driver.run(value={"y": 2}) == "succeeded"
    assert driver.states()["send"] == "succeeded"
    driver.folded_equals_state()


def test_an_empty_list_and_no_list() -> None:
    for value, state in (([], "succeeded"), ("no", "failed")):
        driver = Driver("one")
        driver.submit(plan(task("list"), task("g", for_each=ForEach(source="list", output="/v"))))
        driver.run(value={"v": value})
        assert driver.states()["g"] == state


def test_a_group_over_devices_runs_once_on_each() -> None:
    driver = Driver("one", "two", "three")
    driver.submit(plan(task("g", for_each=ForEach(devices=Selector(os="linux"))), task("m", "rows=g")))
    dispatches = driver.take()
    assert sorted(item.device for item in dispatches) == ["d-one", "d-three", "d-two"]
    driver.dispatched = dispatches
    assert driver.run() == "succeeded"


def test_enough_children_skip_the_rest() -> None:
    driver = Driver("one", slots=1)
    each = ForEach(source="list", output="/v", need=Need.AT_LEAST, need_count=1)
    driver.submit(plan(task("list"), task("g", for_each=each)))
    (dispatch,) = driver.take()
    driver.result(dispatch, {"v": [1, 2, 3]})
    assert driver.run() == "succeeded"
    assert sorted(driver.states()[f"g.{n}"] for n in range(3)) == ["skipped", "skipped", "succeeded"]
    driver.folded_equals_state()


def rule(name: str, on: str, event: str, operations: list[object], **fields: Any) -> RuleRecord:
    text = canonical(msgspec.to_builtins(operations))
    return RuleRecord(name=name, task=on, event=event, operations=text, order=0, reason=name, **fields)


def test_a_rule_drops_items_and_another_adds_a_check_after_a_retry() -> None:
    driver = Driver("one", slots=8)
    drop = rule(
        "duplicates",
        "digest",
        "succeeded",
        [DropItems(of="send", keys='{"output":"/dup"}')],
        condition=Condition(op=Op.NOT_EMPTY, output="/dup"),
    )
    recheck = rule(
        "recheck",
        "send",
        "succeeded",
        [
            AddTask(spec=task("recheck", "f=copy")),
            AddDependency(dependency=edge("recheck>proof")),
        ],
        attempts=Condition(op=Op.GT, output="", value="1"),
    )
    driver.submit(
        plan(
            task("list"),
            task("digest", "f=list"),
            task("send", for_each=ForEach(source="list", output="/f", max_parallel=1), tool="t.idem"),
            task("copy", "f=send", for_each=ForEach(same="send"), tool="t.idem"),
            task("proof", "all=copy"),
            rules=[drop, recheck],
        )
    )
    (dispatch,) = driver.take()
    driver.result(dispatch, {"f": [1, 2, 3]})
    by_task = {item.at.task: item for item in driver.take()}
    driver.result(by_task["digest"], {"dup": [2]})
    run = driver.shard.constellations["c1"]
    assert run.versions["3"].author == "rule:duplicates"
    assert run.versions["3"].removed == ["send.2", "copy.2"]
    driver.result(by_task["send.0"], outcome=Outcome.INTERRUPTED, effect=MAYBE)
    again = driver.take()
    assert again[0].at.task == "send.0"
    assert again[0].at.attempt == 2
    driver.result(again[0], 1)
    assert run.versions["4"].author == "rule:recheck"
    assert "recheck-0" in run.specs
    assert run.specs["recheck-0"].inputs[0].source == "copy.0"
    assert driver.run() == "succeeded"
    sentence = run.tables["answer"][""].sentence
    assert "Recovered without help: send.0" in sentence
    assert "2 tasks dropped" in sentence
    driver.folded_equals_state()


def test_a_refused_rule_is_an_event_and_an_attention() -> None:
    driver = Driver("one")
    driver.submit(plan(task("a"), task("b", "x=a"), rules=[rule("bad", "a", "succeeded", [RemoveTask(id="nothing")])]))
    (dispatch,) = driver.take()
    driver.result(dispatch, 1)
    run = driver.shard.constellations["c1"]
    assert run.head.attention == ["rule_refused"]
    assert "rule_refused" in [event.kind for event in driver.events]
    assert run.head.version == 1
    assert driver.run() == "succeeded"
    driver.folded_equals_state()


def test_conditions_choose_a_branch_and_a_person_is_asked() -> None:
    for enough, state in ((True, "skipped"), (False, "ready")):
        driver = Driver("one")
        choices = [Choice(value="go", label="Copy"), Choice(value="stop", label="Stop", fails=True)]
        driver.submit(
            plan(
                task("space"),
                task("ask", person="Room?", choices=choices),
                task("send"),
                when("space>ask", "/enough", Op.EQ, False),
                edge("ask>send", Gate.UNLESS_FAILED),
            )
        )
        (dispatch,) = driver.take()
        driver.result(dispatch, {"enough": enough})
        assert driver.states()["ask"] == state
        if enough:
            assert driver.states()["send"] == "leased"
            continue
        run = driver.shard.constellations["c1"]
        assert run.head.attention == ["question_open"]
        answered = driver.answer_question("ask-1", "stop")
        assert not answered.faults
        assert driver.states() == {"space": "succeeded", "ask": "failed", "send": "skipped"}
        assert run.head.state == "failed"
        driver.folded_equals_state()


def test_a_missed_check_fails_and_a_met_one_is_shown_as_checked() -> None:
    for value, state, checked in ((True, "succeeded", True), (False, "failed", False)):
        driver = Driver("one")
        driver.submit(plan(task("a", checks=[Check(output="/same", op=Op.EQ, value="true")])))
        (dispatch,) = driver.take()
        driver.result(dispatch, {"same": value})
        record = driver.shard.constellations["c1"].tasks["a"]
        assert (record.state, record.checked) == (state, checked)


@pytest.mark.parametrize(
    ("result", "detail"),
    [
        ({"enough": False, "free_bytes": 20_000_000, "path": "/big"}, "only 20.0 MB are free in '/big'"),
        ({"enough": False}, "Enough must be yes but is no (/enough)"),
    ],
)
def test_a_check_tells_what_is_wrong_in_its_own_words(result: dict[str, Any], detail: str) -> None:
    driver = Driver("one")
    says = "only {free_bytes} are free in {path}"
    driver.submit(plan(task("a", checks=[Check(output="/enough", op=Op.EQ, says=says, value="true")])))
    (dispatch,) = driver.take()
    driver.result(dispatch, result)
    attempt = driver.shard.constellations["c1"].last_attempt("a")
    assert attempt is not None
    assert attempt.detail == detail
    explanation = explain(driver.shard, "c1", "a")
    assert detail in explanation.sentence
    assert explanation.actions == ["retry"]


def test_retry_opens_a_round_of_everything_downstream() -> None:
    driver = Driver("one")
    driver.submit(plan(task("a"), task("b", "x=a"), task("c", "x=b")))
    (dispatch,) = driver.take()
    driver.result(dispatch, outcome=Outcome.ERROR, code=Code.TOOL_FAILED)
    run = driver.shard.constellations["c1"]
    assert run.head.state == "failed"
    assert not driver.control("retry", "a").faults
    assert run.head.state == "active"
    assert run.tasks["c"].round == 2
    assert driver.run() == "succeeded"
    driver.folded_equals_state()


def test_edits_conflict_by_base_version_and_never_touch_started_work() -> None:
    driver = Driver("one", slots=1)
    driver.submit(plan(task("a"), task("b", "x=a"), task("c", "x=b")))

    def edit(base: int, *operations: Any) -> Any:
        return driver.edit(*operations, base=base)

    assert edit(1, RemoveTask(id="a")).faults[0].code is Code.TASK_STARTED
    assert edit(1, RemoveTask(id="b")).faults[0].code is Code.HAS_DEPENDENTS
    assert edit(1, AddDependency(dependency=edge("c>b"))).faults[0].code is Code.PLAN_CYCLE
    assert driver.shard.constellations["c1"].head.version == 1
    added = edit(1, AddTask(spec=task("d", "x=a")), AddDependency(dependency=edge("d>c")))
    assert added.value == {"version": 2}
    assert edit(1, RemoveTask(id="c")).faults[0].code is Code.EDIT_CONFLICT
    faults = edit(1, RemoveTask(id="a"), RemoveTask(id="nothing")).faults
    assert [fault.code for fault in faults] == [Code.TASK_STARTED, Code.UNKNOWN_TASK]
    assert driver.run() == "succeeded"
    driver.folded_equals_state()


def test_pause_draws_nothing_and_resume_goes_on() -> None:
    driver = Driver("one")
    driver.submit(plan(task("a"), task("b", "x=a")))
    (dispatch,) = driver.take()
    driver.control("pause")
    driver.result(dispatch, 1)
    assert driver.states()["b"] == "ready"
    assert not driver.dispatched
    driver.control("resume")
    assert driver.run() == "succeeded"


def test_hold_and_release_and_skip() -> None:
    driver = Driver("one")
    driver.submit(plan(task("a"), task("b", "x=a"), task("c")))
    driver.control("hold", "b")
    (first, second) = driver.take()
    driver.result(first, 1)
    driver.result(second, 1)
    assert driver.states()["b"] == "ready"
    driver.control("release", "b")
    assert [item.at.task for item in driver.dispatched] == ["b"]
    driver.take()
    assert driver.control("skip", "b").faults[0].code is Code.ILLEGAL_CONTROL


def test_an_idempotency_key_makes_one_constellation() -> None:
    driver = Driver("one")
    new_plan = plan(task("a"))
    driver.submit(new_plan, caller="ann", idempotency=("k", "h1"))
    again = driver.do(
        i.RequestReceived(
            id="x", by="person:ann", constellation="c2", plan=new_plan, caller="ann", idempotency=("k", "h1")
        )
    )
    assert again.value["id"] == "c1"
    other = driver.do(
        i.RequestReceived(
            id="y", by="person:ann", constellation="c3", plan=new_plan, caller="ann", idempotency=("k", "h2")
        )
    )
    assert other.faults[0].code is Code.IDEMPOTENCY_MISMATCH
    assert list(driver.shard.constellations) == ["c1"]


def test_ten_thousand_tasks_in_a_chain_build_without_recursion_in_any_order() -> None:
    driver = Driver("one", whole=False)
    specs = [task(f"t{n}", f"x=t{n - 1}") if n else task("t0") for n in range(10_000)]
    specs = specs[::2] + specs[1::2]
    run = driver.submit(plan(*specs))
    assert run.rank["t0"] == END_RANK + 9_999
    (dispatch,) = driver.take()
    assert dispatch.at.task == "t0"


def test_results_name_the_answers_items() -> None:
    driver = Driver("one")
    driver.submit(plan(task("a"), results=[ResultSpec(source="a", output="/v", title="V")]))
    driver.run(value={"v": 3})
    answer = driver.shard.constellations["c1"].tables["answer"][""]
    assert [(item.title, item.value) for item in answer.items] == [("V", "3")]


def test_idempotent_work_is_declared_by_the_plan() -> None:
    driver = Driver("one")
    driver.submit(plan(task("a", tool="t.never", repeatability=IDEMPOTENT)))
    (dispatch,) = driver.take()
    assert dispatch.after == "commit"
    assert dispatch.fence_after_ms > 0
