"""Results are kept when their tasks succeed, and equal tasks of later runs take them over without a call."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from starloom.core.clock.expiry import due_moment
from starloom.core.state.apply import put_all
from starloom.core.state.inputs import QuestionAnswered
from starloom.core.state.settings import ShardSettings
from starloom.core.state.work import Marks, Work
from starloom.engine.commits import settings_of, with_settings
from starloom_protocol.records.entities import Check, Policy, Reuse
from starloom_protocol.stream.events import EventKind
from starloom_protocol.values import canonical
from starloom_protocol.vocabulary import Approval, Op, Outcome
from tests.builders import PURE, Driver, plan, task
from tests.core.plan.reuse.reusing import DAY_S, OFFERED, carry_out, files, fleet, function, totals
from tests.core.watched import WatchedDriver


def test_an_equal_task_takes_the_result_over_without_a_call() -> None:
    driver = fleet("one")
    assert carry_out(driver, plan(function()), "c1", {"sum": 7}) == ["a"]
    driver.now_ms += 60_000
    assert carry_out(driver, plan(function("b"), task("after", "x=b/sum")), "c2") == ["after"]
    run = driver.shard.constellations["c2"]
    attempt = run.attempt("b", 1)
    assert (attempt.value, attempt.device) == ('{"sum":7}', "d-one")
    assert (attempt.origin, attempt.origin_task, attempt.origin_ms) == ("c1", "a/1", 1_000_000)
    assert run.tasks["b"].started == 0
    assert "1 result was taken over from earlier runs." in run.tables["answer"][""].sentence
    (event,) = [event for event in driver.events if event.kind == EventKind.TASK_REUSED]
    assert (event.stream, event.about, event.note) == ("c2", "b", "from a of c1")
    driver.folded_equals_state()


def test_only_the_task_of_the_changed_file_runs_again() -> None:
    driver = fleet()
    first = carry_out(driver, totals(), "c1", files(a="h1", b="h2", c="h3"), {"sum": 1})
    assert [name.partition(".")[0] for name in first] == ["list", "total", "total", "total"]
    again = carry_out(driver, totals(), "c2", files(a="h1", b="h9", c="h3"), {"sum": 2})
    assert len(again) == 2
    (changed,) = again[1:]
    values = {
        name: driver.shard.constellations["c2"].attempt(name, 1).value for name in driver.states("c2") if "." in name
    }
    assert values.pop(changed) == '{"sum":2}'
    assert set(values.values()) == {'{"sum":1}'}
    driver.folded_equals_state()


@pytest.mark.parametrize(
    "changed",
    [
        {"args": {"x": 2}},
        {"tool": "t.pure", "reuse": Reuse(fresh_s=DAY_S, key=canonical({"key": 1}))},
        {"device": "two"},
        {"reuse": Reuse(fresh_s=DAY_S, key=canonical({"key": 1}))},
        {"reuse": None},
    ],
)
def test_another_tool_argument_place_or_key_makes_the_result_again(changed: dict[str, Any]) -> None:
    driver = fleet()
    carry_out(driver, plan(function(device="one")), "c1")
    assert carry_out(driver, plan(function(**{"device": "one", **changed})), "c2") == ["a"]


def test_another_input_makes_the_result_again() -> None:
    driver = fleet("one")
    new_plan = plan(task("in"), task("a", "rows=in", tool="t.function", reuse=Reuse(fresh_s=DAY_S)))
    assert carry_out(driver, new_plan, "c1", {"n": 1}) == ["in", "a"]
    assert carry_out(driver, new_plan, "c2", {"n": 1}) == ["in"]
    assert carry_out(driver, new_plan, "c3", {"n": 2}) == ["in", "a"]


def test_a_result_is_too_old_after_the_time_of_the_plan() -> None:
    driver = fleet("one")
    carry_out(driver, plan(function()), "c1")
    driver.now_ms += DAY_S * 1000
    assert carry_out(driver, plan(function()), "c2") == []
    driver.now_ms += 1
    assert carry_out(driver, plan(function()), "c3") == ["a"]
    driver.now_ms += DAY_S * 1000
    assert carry_out(driver, plan(function()), "c4") == []


def test_a_result_outlives_the_history_of_its_run() -> None:
    driver = fleet("one")
    carry_out(driver, plan(function()), "c1")
    del driver.shard.constellations["c1"]
    assert carry_out(driver, plan(function()), "c2") == []


def test_a_retry_makes_the_result_again_and_replaces_it() -> None:
    driver = fleet("one")
    carry_out(driver, plan(function()), "c1", {"sum": 1})
    carry_out(driver, plan(function()), "c2")
    assert not driver.control("retry_from", "a", name="c2").faults
    (dispatch,) = driver.take()
    driver.result(dispatch, {"sum": 2})
    carry_out(driver, plan(function()), "c3")
    assert driver.shard.constellations["c3"].attempt("a", 1).value == '{"sum":2}'


def test_nothing_is_taken_over_before_the_plan_is_approved() -> None:
    driver = fleet("one")
    carry_out(driver, plan(function()), "c1")
    driver.submit(plan(function(), policy=Policy(approval=Approval.ALWAYS)), "c2")
    assert driver.states("c2") == {"a": "ready"}
    (question,) = driver.shard.constellations["c2"].open_questions
    driver.do(
        QuestionAnswered(id=driver.ident(), by="person:ann", constellation="c2", question=question, value="allow")
    )
    assert (driver.states("c2"), driver.take()) == ({"a": "succeeded"}, [])


def test_a_result_that_misses_a_check_is_made_again() -> None:
    driver = fleet("one")
    carry_out(driver, plan(function()), "c1", {"sum": 1})
    checked = function(checks=[Check(output="/sum", op=Op.GT, value="1")])
    assert carry_out(driver, plan(checked), "c2", {"sum": 2}) == ["a"]


@pytest.mark.parametrize("tool", ["t.never", "t.idem", "t.pure", "python.run"])
def test_work_that_does_more_than_compute_is_not_kept(tool: str) -> None:
    """`t.pure` looks at its device and names no key; a program is reused only where the plan says that it is pure."""
    driver = fleet("one")
    carry_out(driver, plan(function(tool=tool)), "c1")
    assert carry_out(driver, plan(function(tool=tool)), "c2") == ["a"]
    assert not driver.shard.access.kept


def test_a_program_that_the_plan_calls_pure_is_reused() -> None:
    driver = fleet("one")
    new_plan = plan(function(tool="python.run", repeatability=PURE))
    carry_out(driver, new_plan, "c1")
    assert carry_out(driver, new_plan, "c2") == []


@pytest.mark.parametrize(
    ("rows", "again"),
    [
        ({"artifact": "a" * 64, "mtime_s": 2}, ["in"]),
        ({"artifact": "b" * 64, "mtime_s": 1}, ["in", "a"]),
        ({"sha256": "a" * 64, "mtime_s": 2}, ["in", "a"]),
    ],
)
def test_the_time_of_a_file_makes_no_program_run_again(rows: dict[str, Any], again: list[str]) -> None:
    driver = fleet("one")
    program = task("a", "files=in/files", tool="python.run", repeatability=PURE, reuse=Reuse(fresh_s=DAY_S))
    new_plan = plan(task("in"), program)
    carry_out(driver, new_plan, "c1", {"files": [{**rows, "artifact": "a" * 64, "mtime_s": 1}]}, {"sum": 1})
    assert carry_out(driver, new_plan, "c2", {"files": [rows]}, {"sum": 1}) == again


@pytest.mark.parametrize("value", [{"artifact": "0" * 64}, {"text": "x" * 9000}])
def test_a_result_that_names_a_file_or_is_long_is_not_kept(value: Any) -> None:
    driver = fleet("one")
    carry_out(driver, plan(function()), "c1", value)
    assert not driver.shard.access.kept


def test_a_failure_and_a_marked_task_are_not_kept() -> None:
    driver = fleet("one")
    driver.submit(plan(function(), policy=Policy(on_failure="fail")), "c1")
    (dispatch,) = driver.take()
    driver.result(dispatch, outcome=Outcome.ERROR, code="bad_arguments")
    assert driver.states()["a"] == "failed"
    assert not driver.control("mark", "a", value=canonical({"sum": 3})).faults
    assert driver.states()["a"] == "succeeded"
    assert not driver.shard.access.kept


def test_the_number_of_kept_results_is_bounded_and_the_oldest_gives_way() -> None:
    settings = ShardSettings()
    settings.kept_results_most = 3
    driver = Driver(settings=settings)
    driver.add_device("one", tools=OFFERED)
    for number in range(5):
        driver.now_ms += 1_000
        carry_out(driver, plan(function(args={"x": number})), f"c{number}")
    assert len(driver.shard.access.kept) == 3
    assert carry_out(driver, plan(function(args={"x": 4})), "newest") == []
    assert carry_out(driver, plan(function(args={"x": 0})), "oldest") == ["a"]


def test_results_beyond_a_month_are_forgotten() -> None:
    driver = fleet("one")
    carry_out(driver, plan(function()), "c1")
    driver.now_ms += 30 * DAY_S * 1000 + 1
    driver.fire(due_moment(driver.now_ms))
    assert not driver.shard.access.kept


def test_a_hub_that_keeps_none_runs_everything() -> None:
    settings = ShardSettings()
    settings.kept_results_most = 0
    driver = Driver(settings=settings)
    driver.add_device("one", tools=OFFERED)
    for name in ("c1", "c2"):
        assert carry_out(driver, plan(function()), name) == ["a"]


def test_a_busy_or_absent_device_does_not_matter() -> None:
    driver = fleet("one")
    carry_out(driver, plan(function()), "c1")
    known = driver.shard.fleet.devices["d-one"]
    driver.shard.fleet.devices["d-one"] = replace(known, link="offline")
    assert carry_out(driver, plan(function()), "c2") == []
    assert driver.state("c2") == "succeeded"


def test_a_kept_result_is_there_after_a_restart_of_the_hub() -> None:
    driver = WatchedDriver()
    driver.add_device("one", tools=OFFERED)
    carry_out(driver, plan(function()), "c1")
    driver.restart()
    assert carry_out(driver, plan(function()), "c2") == []


def test_a_log_of_a_hub_without_kept_results_is_decided_without() -> None:
    assert with_settings({"ttl_ms": 1}).kept_results_most == 0
    assert with_settings(settings_of(ShardSettings())).kept_results_most > 0


def test_one_change_undone_takes_its_kept_result_back() -> None:
    """A refused input leaves nothing: the shard is as before, the kept results too."""
    driver = fleet("one")
    carry_out(driver, plan(function()), "c1")
    before = dict(driver.shard.access.kept)
    work = Work(driver.shard)
    put_all(driver.shard, driver.shard.access, [("kept", key, None) for key in before])
    work.back_to(Marks(0, 0, 0))
    assert driver.shard.access.kept == before
