"""The ladder: what becomes of each end of an attempt, within its budgets."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from starloom.core.answer.why import explain
from starloom.core.run.attempts import absence_of, bounds_of_lease, fence_after_ms, patience_most_ms
from starloom.core.run.recovery import backoff_ms
from starloom.core.state import inputs as i
from starloom.core.state.settings import PATIENCE_MOST_MS as MOST
from starloom.core.state.work import Work
from starloom.engine.commits import settings_of, with_settings
from starloom_protocol.records.edits import AddTask, RemoveTask
from starloom_protocol.records.entities import Check, OnAbsence, Policy, Retry, RuleRecord
from starloom_protocol.vocabulary import AttemptEnd, Attention, Code, Op, Outcome, Reason, Repeatability
from tests.builders import MAYBE, NONE, Driver, plan, task
from tests.core.placement.test_pace import taught


def test_backoff_doubles_up_to_its_limit_with_jitter_from_the_input() -> None:
    driver = Driver()
    work = Work(driver.shard)
    assert [backoff_ms(work, tries) for tries in (1, 2, 3, 9)] == [500, 1000, 2000, 15_000]
    work.roll = (1 << 32) - 1
    assert [backoff_ms(work, tries) for tries in (1, 2, 9)] == [999, 1999, 29_999]


@pytest.mark.parametrize(
    ("tool", "outcome", "code", "effect", "state"),
    [
        ("t.pure", Outcome.ERROR, Code.NETWORK, MAYBE, "ready"),
        ("t.pure", Outcome.ERROR, Code.TOOL_FAILED, NONE, "failed"),
        ("t.pure", Outcome.TIMEOUT, None, MAYBE, "ready"),
        ("t.pure", Outcome.ERROR, Code.NOT_IN_TIME, NONE, "failed"),
        ("t.pure", Outcome.INTERRUPTED, None, MAYBE, "leased"),
        ("t.never", Outcome.ERROR, Code.NETWORK, MAYBE, "failed"),
        ("t.never", Outcome.TIMEOUT, None, MAYBE, "failed"),
        ("t.never", Outcome.INTERRUPTED, None, MAYBE, "unknown"),
        ("t.never", Outcome.NEVER_STARTED, None, NONE, "leased"),
        ("t.pure", Outcome.REFUSED, Code.POLICY_REFUSED, NONE, "failed"),
        ("t.pure", Outcome.REFUSED, Code.BAD_ARGUMENTS, NONE, "failed"),
    ],
)
def test_each_end_has_its_rung(tool: str, outcome: Outcome, code: Code | None, effect: object, state: str) -> None:
    driver = Driver("one")
    driver.submit(plan(task("a", tool=tool)))
    (dispatch,) = driver.take()
    driver.result(dispatch, outcome=outcome, code=code, effect=effect)
    assert driver.states()["a"] == state
    driver.folded_equals_state()


def test_work_that_may_not_be_repeated_has_more_tries_only_where_nothing_can_have_happened() -> None:
    for effect, state in ((NONE, "ready"), (MAYBE, "failed")):
        driver = Driver("one")
        driver.submit(plan(task("a", tool="t.never", retry=Retry(max_attempts=2))))
        driver.result(driver.take()[0], outcome=Outcome.ERROR, code=Code.NETWORK, effect=effect)
        assert driver.states()["a"] == state


def test_a_refusal_goes_to_another_device_and_never_uses_up_a_try() -> None:
    driver = Driver("one", "two")
    driver.submit(plan(task("a", retry=Retry(max_attempts=1))))
    (first,) = driver.take()
    driver.result(first, outcome=Outcome.REFUSED, code=Code.NO_SPACE)
    (second,) = driver.take()
    assert second.device != first.device
    assert second.attempt_of_max == 1
    driver.result(second, outcome=Outcome.REFUSED, code=Code.NO_SPACE)
    assert driver.states()["a"] == "failed"


@pytest.mark.parametrize("code", [Code.NEEDS_APPROVAL, Code.MISSING_GRANT])
def test_what_its_owner_allowed_while_the_device_was_away_is_tried_again(code: Code) -> None:
    """The new offer comes with the connection, the refusal from before after it; no further offer would come."""
    driver = Driver("one")
    driver.submit(plan(task("a", tool="t.never")))
    (first,) = driver.take()
    driver.now_ms += 1_000
    driver.connect("one")
    driver.take()
    driver.result(first, outcome=Outcome.REFUSED, code=code)
    (second,) = driver.take()
    assert second.at.attempt == 2
    driver.result(second, outcome=Outcome.REFUSED, code=code)
    assert (driver.states()["a"], driver.take()) == ("ready", []), "asked once more, it waits for its owner"
    driver.folded_equals_state()


def test_what_every_device_that_could_have_it_refused_has_failed_at_once() -> None:
    driver = Driver("one")
    driver.add_device("demo", demo=True)
    driver.submit(plan(task("a")))
    (only,) = driver.take()
    assert only.device == "d-one"
    driver.result(only, outcome=Outcome.REFUSED, code=Code.NO_SPACE)
    assert driver.states()["a"] == "failed"
    assert driver.take() == []


def test_what_never_begins_is_given_up_after_ten_times() -> None:
    driver = Driver("one")
    driver.submit(plan(task("a")))
    for number in range(1, 11):
        (dispatch,) = driver.take()
        assert dispatch.at.attempt == number
        driver.result(dispatch, outcome=Outcome.NEVER_STARTED)
        if number < 10 and not driver.dispatched:
            driver.fire(driver.timers[-1])
    assert driver.states()["a"] == "failed"


def test_a_task_that_ends_two_agents_is_set_aside() -> None:
    driver = Driver("one", "two", "three")
    driver.submit(plan(task("a")))
    for _ in range(2):
        (dispatch,) = driver.take()
        drained = i.DeviceControlled(id="x", by="person:ann", device=dispatch.device, action="drain")
        driver.do(drained)
        driver.result(dispatch, outcome=Outcome.INTERRUPTED, effect=MAYBE)
    run = driver.shard.constellations["c1"]
    assert (driver.states()["a"], run.tasks["a"].code) == ("failed", Code.QUARANTINED)


@pytest.mark.parametrize(
    ("tool", "then", "state"),
    [("t.pure", "fail", "failed"), ("t.never", "fail", "unknown"), ("t.idem", "reassign", "leased")],
)
def test_absence_is_over_at_its_time_not_before(tool: str, then: str, state: str) -> None:
    driver = Driver("one", "two")
    driver.submit(plan(task("a", tool=tool, on_absence=OnAbsence(after_s=30, then=then))))
    (dispatch,) = driver.take()
    driver.expire(dispatch.at)
    driver.expire(dispatch.at)
    run = driver.shard.constellations["c1"]
    assert run.tasks["a"].reason is Reason.ABSENT
    first = next(timer for timer in driver.timers if timer.kind == "absence")
    driver.now_ms += 20_000
    driver.connect(dispatch.device[2:])
    assert not run.tasks["a"].absent_since_ms
    driver.take()
    driver.expire(dispatch.at)
    # The timer of the first absence comes at its own time, which is not that of the second.
    driver.fire(first)
    assert run.tasks["a"].reason is Reason.ABSENT
    driver.fire(driver.timers[-1])
    assert driver.states()["a"] == state
    assert run.attempts["a/1"].end in (AttemptEnd.LOST, None)


def test_repeatable_work_waits_a_tenth_of_what_it_should_take() -> None:
    driver = Driver("one", "two")
    taught(driver, 3, one=600_000, two=600_000)
    run = driver.submit(plan(task("a")), name="long")
    (dispatch,) = driver.take()
    settings = driver.shard.settings
    patience_ms = run.attempts["a/1"].expects_ms // 10_000 * 1000
    assert 55_000 <= patience_ms <= 65_000
    # Its device goes on by itself for as long as the hub waits, less the margin.
    assert dispatch.fence_after_ms == settings.ttl_ms + patience_ms - settings.absence_margin_ms
    driver.expire(dispatch.at)
    assert f"begins anew after {patience_ms // 1000} s" in explain(driver.shard, "long", "a").sentence
    driver.connect(dispatch.device[2:])
    assert (run.tasks["a"].state, run.tasks["a"].attempt) == ("leased", 1)
    driver.expire(dispatch.at)
    driver.fire(driver.timers[-1])
    assert run.attempts["a/1"].end is AttemptEnd.LOST


def test_no_work_waits_longer_than_the_most_and_short_work_not_at_all() -> None:
    driver = Driver("one")
    settings, spec = driver.shard.settings, task("a")
    driver.submit(plan(spec))
    attempt = driver.shard.constellations["c1"].attempts["a/1"]
    waits = {ms: absence_of(settings, spec, replace(attempt, expects_ms=ms), 0) for ms in (0, 9_999, 10_000, 10**9)}
    assert waits == {0: (0, "reassign"), 9_999: (0, "reassign"), 10_000: (1_000, "reassign"), 10**9: (MOST, "reassign")}
    never = replace(attempt, expects_ms=10**9, repeatability=Repeatability.NEVER)
    assert absence_of(settings, spec, never, 0) == (0, "wait")
    old = settings_of(settings)
    del old["patience_most_ms"]
    assert absence_of(with_settings(old), spec, replace(attempt, expects_ms=10**9), 0) == (0, "reassign")


def test_work_without_a_known_time_waits_a_tenth_of_what_it_has_run() -> None:
    driver = Driver("one", "two")
    run = driver.submit(plan(task("a")), name="long")
    (dispatch,) = driver.take()
    settings = driver.shard.settings
    assert dispatch.fence_after_ms == settings.ttl_ms - settings.absence_margin_ms
    assert dispatch.patience_most_ms == settings.patience_most_ms
    driver.now_ms += 300_000 + settings.ttl_ms + settings.grace_ms
    driver.expire(dispatch.at)
    assert "begins anew after 30 s" in explain(driver.shard, "long", "a").sentence
    (timer,) = [timer for timer in driver.timers if timer.kind == "absence"]
    assert timer.due_ms == run.tasks["a"].absent_since_ms + 30_000
    driver.fire(timer)
    assert run.attempts["a/1"].end is AttemptEnd.LOST


def test_patience_that_grows_ends_at_the_most_and_is_not_for_all() -> None:
    driver = Driver("one")
    settings, spec = driver.shard.settings, task("a")
    driver.submit(plan(spec))
    attempt = replace(driver.shard.constellations["c1"].attempts["a/1"], leased_ms=0)
    lease_ms = settings.ttl_ms + settings.grace_ms
    waits = [absence_of(settings, spec, attempt, lease_ms + ran_ms)[0] for ran_ms in (-9, 9_999, 10_000, 10**9)]
    assert waits == [0, 0, 1_000, MOST]
    known = replace(attempt, expects_ms=600_000)
    assert absence_of(settings, spec, known, lease_ms + 10**9)[0] == MOST
    assert patience_most_ms(settings, spec, known) == MOST - 60_000
    for other in (
        replace(spec, on_absence=OnAbsence(after_s=5, then="fail")),
        replace(spec, on_absence=OnAbsence(after_s=5, then="reassign")),
    ):
        assert absence_of(settings, other, attempt, lease_ms + 10**9)[0] == 5_000
        assert patience_most_ms(settings, other, attempt) == 0
    old = settings_of(settings)
    del old["grows_patience"]
    assert absence_of(with_settings(old), spec, attempt, lease_ms + 10**9)[0] == 0


@pytest.mark.parametrize("then", ["", "fail", "reassign", "wait"])
@pytest.mark.parametrize("repeatability", [Repeatability.PURE, Repeatability.NEVER])
@pytest.mark.parametrize("expects_ms", [0, 9_999, 10_000, 600_000, 10**9])
@pytest.mark.parametrize("grows", [True, False])
def test_a_dispatch_names_the_bounds_that_each_rule_gives_alone(
    then: str, repeatability: Repeatability, expects_ms: int, grows: bool
) -> None:
    driver = Driver("one")
    spec = task("a", on_absence=OnAbsence(after_s=5, then=then)) if then else task("a")
    driver.submit(plan(spec))
    leased = driver.shard.constellations["c1"].attempts["a/1"]
    attempt = replace(leased, expects_ms=expects_ms, repeatability=repeatability)
    if not grows:
        old = settings_of(driver.shard.settings)
        del old["grows_patience"]
        driver.shard.settings = with_settings(old)
    work = Work(driver.shard)
    assert bounds_of_lease(work, spec, attempt) == (
        fence_after_ms(work, spec, attempt, attempt.leased_ms),
        patience_most_ms(driver.shard.settings, spec, attempt),
    )


def test_an_end_by_its_fence_uses_up_no_try_up_to_a_limit() -> None:
    driver = Driver("one", "two")
    driver.shard.settings.fences_most = 3
    run = driver.submit(plan(task("a", retry=Retry(max_attempts=2))))
    driver.expire(driver.take()[0].at)
    for ends in range(3):
        (dispatch,) = driver.take()
        driver.result(dispatch, outcome=Outcome.INTERRUPTED, code=Code.FENCED, effect=MAYBE)
        assert (run.tasks["a"].started, run.tasks["a"].refusals) == (2, ends + 1)
    driver.result(driver.take()[0], outcome=Outcome.INTERRUPTED, code=Code.FENCED, effect=MAYBE)
    assert (driver.states()["a"], run.tasks["a"].code) == ("failed", Code.FENCED)
    driver.folded_equals_state()


def test_tries_lost_to_silence_count() -> None:
    driver = Driver("one", "two")
    driver.submit(plan(task("a", retry=Retry(max_attempts=2))))
    for _ in range(2):
        driver.expire(driver.take()[0].at)
    assert driver.states()["a"] == "failed"


def test_an_unknown_fate_is_settled_by_the_ledger_and_said_once() -> None:
    driver = Driver("one")
    driver.submit(plan(task("a", tool="t.never"), task("b", tool="t.never")))
    first, second = driver.take()
    for item in (first, second):
        driver.started(item)
        driver.result(item, outcome=Outcome.INTERRUPTED, effect=MAYBE)
        seen = len(driver.events)
        driver.result(item, outcome=Outcome.INTERRUPTED, effect=MAYBE)
        assert len(driver.events) == seen
    run = driver.shard.constellations["c1"]
    for item, state in ((first, "started"), (first, "unknown"), (second, "unknown")):
        assert Attention.TASK_UNKNOWN in run.head.attention
        driver.do(i.LedgerReported(id="l", by="d", device="d-one", at=item.at, state=state))
    assert Attention.TASK_UNKNOWN not in run.head.attention
    assert driver.run() == "succeeded"


def test_what_was_asked_to_stop_is_not_tried_again() -> None:
    driver = Driver("one")
    driver.submit(plan(task("a", checks=[Check(output="/ok", op=Op.EQ, value="true")], retry=Retry(on_check=True))))
    (dispatch,) = driver.take()
    driver.control("cancel", "a")
    driver.result(dispatch, {"ok": False})
    assert driver.states()["a"] == "failed"


def test_a_check_may_be_tried_again_and_says_what_it_found() -> None:
    driver = Driver("one")
    driver.submit(plan(task("a", checks=[Check(output="/ok", op=Op.EQ, value="true")], retry=Retry(on_check=True))))
    driver.result(driver.take()[0], {"no": 1})
    run = driver.shard.constellations["c1"]
    assert run.tasks["a"].reason is Reason.BACKOFF
    assert "but is nothing" in run.attempts["a/1"].detail


def test_a_fact_that_is_too_big_to_decide_on_fails_with_its_size() -> None:
    driver = Driver("one")
    driver.submit(plan(task("a", checks=[Check(output="/ok", op=Op.EQ, value="true")])))
    driver.result(driver.take()[0], {"ok": True}, facts_too_big={"/ok": 5000})
    run = driver.shard.constellations["c1"]
    assert (run.tasks["a"].code, run.attempts["a/1"].detail) == (Code.FACT_TOO_BIG, "/ok has 5000 bytes")


def test_a_list_that_is_too_long_to_decide_on_fails_with_its_entries() -> None:
    driver = Driver("one")
    driver.submit(plan(task("a", checks=[Check(output="/ok", op=Op.EQ, value="true")])))
    driver.result(driver.take()[0], {"ok": True}, facts_too_big={"/ok": 52_000}, detail="/ok has 10,500 entries")
    run = driver.shard.constellations["c1"]
    assert run.attempts["a/1"].detail == "/ok has 52000 bytes; /ok has 10,500 entries"


def test_a_cancel_without_an_answer_is_proved_by_the_fence_once_the_device_is_gone() -> None:
    driver = Driver("one")
    driver.submit(plan(task("a")))
    (dispatch,) = driver.take()
    driver.control("cancel", "a")
    fence = driver.timers[-1]
    assert fence.kind == "fence"
    driver.fire(fence)
    assert driver.states()["a"] == "cancelling"
    session = driver.shard.fleet.devices["d-one"].session
    driver.do(i.DeviceDisconnected(id="x", by="d", device="d-one", reason="cut", session=session))
    driver.fire(driver.timers[-1])
    assert driver.states()["a"] == "cancelled"
    assert driver.shard.constellations["c1"].attempts["a/1"].detail == "stopped by its own fence"
    driver.receipt(dispatch)
    driver.expire(dispatch.at)
    assert driver.states()["a"] == "cancelled"


def test_a_report_of_a_task_that_was_removed_meanwhile_changes_nothing() -> None:
    driver = Driver("one")
    driver.submit(plan(task("a"), task("b")))
    first = driver.take()[0]
    driver.result(first, outcome=Outcome.REFUSED, code=Code.MISSING_GRANT)
    edit = i.EditProposed(
        id="e",
        by="person:ann",
        constellation="c1",
        base_version=1,
        operations=[RemoveTask(id="a"), AddTask(spec=task("n"))],
    )
    assert not driver.do(edit).faults
    driver.result(first, 1)
    driver.expire(first.at)
    assert driver.ignored == {"its task was removed": 1, "its lease is closed": 1}
    # Added again, its attempts go on from where the removed one's ended.
    again = i.EditProposed(
        id="f", by="person:ann", constellation="c1", base_version=2, operations=[AddTask(spec=task("a"))]
    )
    driver.do(again)
    assert driver.take()[-1].at.attempt == 2


def test_a_result_of_work_under_refusal_is_a_late_one_only_if_it_was_given_away() -> None:
    driver = Driver("one", "two")
    driver.submit(plan(task("a"), task("b")))
    first, second = driver.take()
    driver.result(first, 1)
    driver.result(first, 2)
    driver.expire(second.at)
    driver.result(second, 2)
    driver.result(second, 3, device="d-nobody")
    assert [event.kind for event in driver.events].count("result_late") == 1


def test_a_storm_of_retries_ends_with_the_budget_of_the_constellation() -> None:
    driver = Driver("one", slots=64)
    driver.submit(plan(*(task(f"t{n}") for n in range(30))))
    run = driver.shard.constellations["c1"]
    for dispatch in driver.take():
        driver.result(dispatch, outcome=Outcome.ERROR, code=Code.NETWORK, detail="no route")
    again = [name for name, record in run.tasks.items() if record.reason is Reason.BACKOFF]
    assert len(again) == 20
    told = run.attempts["t29/1"].detail
    assert told == "no route; not tried again: the retries of the whole constellation are used up"
    # Silence is no storm: what a device lost is given to another all the same.
    other = Driver("one", "two", slots=64)
    other.submit(plan(*(task(f"t{n}") for n in range(30))))
    for dispatch in other.take():
        other.expire(dispatch.at)
    assert len(other.take()) == 30


@pytest.mark.parametrize("silent", [False, True])
def test_work_that_its_fence_ended_has_killed_no_agent(silent: bool) -> None:
    driver = Driver("one", "two", "three")
    driver.submit(plan(task("a")))
    (first,) = driver.take()
    if silent:
        driver.expire(first.at)
    driver.result(first, outcome=Outcome.INTERRUPTED, code=Code.FENCED, effect=MAYBE)
    (second,) = driver.take()
    driver.result(second, outcome=Outcome.INTERRUPTED, code=None if silent else Code.FENCED, effect=MAYBE)
    (third,) = driver.take()
    driver.result(third)
    assert driver.states()["a"] == "succeeded"


def test_an_agent_that_died_in_silence_counts_as_killed() -> None:
    driver = Driver("one", "two", "three")
    driver.submit(plan(task("a")))
    (first,) = driver.take()
    driver.expire(first.at)
    driver.result(first, outcome=Outcome.INTERRUPTED, effect=MAYBE)
    (second,) = driver.take()
    driver.result(second, outcome=Outcome.INTERRUPTED, effect=MAYBE)
    assert driver.shard.constellations["c1"].tasks["a"].code is Code.QUARANTINED


def asked_what_now(tool: str = "t.pure", *rules: RuleRecord, **fields: object) -> Driver:
    driver = Driver("one")
    parts = task("a", tool=tool, **fields), task("b", "x=a")
    driver.submit(plan(*parts, policy=Policy(on_failure="ask"), rules=list(rules)))
    end = {"outcome": Outcome.ERROR, "code": Code.TOOL_FAILED, "effect": MAYBE, "detail": "no such host"}
    driver.result(driver.take()[0], **end)  # type: ignore[arg-type]
    return driver


def answer(driver: Driver, value: str, by: str = "person:ann") -> list[Code]:
    (question,) = driver.shard.constellations["c1"].open_questions
    request = i.QuestionAnswered(id=driver.ident(), by=by, constellation="c1", question=question, value=value)
    return [item.code for item in driver.do(request).faults]


@pytest.mark.parametrize(("value", "after"), [("retry", "leased"), ("skip", "skipped"), ("fail", "failed")])
def test_a_plan_may_have_a_person_asked_before_a_task_has_failed(value: str, after: str) -> None:
    driver = asked_what_now()
    run = driver.shard.constellations["c1"]
    (question,) = run.open_questions
    assert run.questions[question].text == "a failed. The tool failed: no such host. What now?"
    assert (driver.states()["a"], run.tasks["a"].reason) == ("ready", Reason.PERSON)
    assert driver.states()["b"] == "waiting"
    assert Attention.QUESTION_OPEN in run.head.attention
    assert "waits for a person to say" in explain(driver.shard, "c1", "a").sentence
    assert answer(driver, "perhaps") == [Code.BAD_REQUEST]
    assert answer(driver, value, by="device:d-one") == [Code.FORBIDDEN]
    assert answer(driver, value) == []
    assert driver.states()["a"] == after
    assert Attention.QUESTION_OPEN not in run.head.attention
    driver.folded_equals_state()


def test_nobody_is_asked_of_optional_work_nor_where_a_rule_answers() -> None:
    assert asked_what_now(optional=True).states()["a"] == "failed"
    mends = RuleRecord(name="mend", task="a", event="failed", operations="[]", order=0, reason="mend it")
    assert asked_what_now("t.pure", mends).states()["a"] == "failed"
    driver = asked_what_now("t.never")
    run = driver.shard.constellations["c1"]
    (question,) = run.open_questions
    assert "may have had its effect" in run.questions[question].choices[0].label
    answer(driver, "retry")
    assert (driver.states()["a"], run.tasks["a"].confirmed) == ("leased", True)
    driver.control("cancel", "a")
    driver.receipt(driver.take()[-1])
    assert driver.states()["a"] == "cancelled"


@pytest.mark.parametrize(
    ("code", "tool", "said"),
    [
        (Code.TOOL_FAILED, "t.idem", "an error of this kind would come again"),
        (Code.EXIT_CODE, "t.idem", "a program that ended with an error needs retry: {on_exit: true}"),
        (Code.CHECK_FAILED, "t.idem", "a missed check needs retry: {on_check: true}"),
        (
            Code.NETWORK,
            "t.never",
            "only work with repeatability: idempotent is run twice",
        ),
    ],
)
def test_a_failure_says_why_it_was_not_tried_again(code: Code, tool: str, said: str) -> None:
    driver = Driver("one")
    driver.submit(plan(task("a", tool=tool, retry=Retry(max_attempts=3))))
    driver.result(driver.take()[0], outcome=Outcome.ERROR, code=code, detail="it ended", effect=MAYBE)
    assert "it ended; not tried again (of 3 attempts): " in explain_a(driver)
    assert said in explain_a(driver)


def test_a_failure_within_what_the_plan_allows_says_nothing_of_attempts() -> None:
    driver = Driver("one")
    driver.submit(plan(task("a")))
    driver.result(driver.take()[0], outcome=Outcome.ERROR, code=Code.EXIT_CODE, detail="it ended")
    assert "tried again" not in explain_a(driver)


def explain_a(driver: Driver) -> str:
    return explain(driver.shard, "c1", "a").sentence


@pytest.mark.parametrize(("tool", "tries"), [("t.idem", 3), ("t.never", 1)])
def test_a_program_that_ends_with_an_error_is_tried_again_where_the_plan_says_so(tool: str, tries: int) -> None:
    driver = Driver("one")
    driver.submit(plan(task("a", tool=tool, retry=Retry(max_attempts=3, on_exit=True))))
    for _ in range(tries):
        driver.result(driver.take()[0], outcome=Outcome.ERROR, code=Code.EXIT_CODE, effect=MAYBE)
        if driver.states()["a"] == "ready":
            driver.fire(driver.timers.pop())
    assert driver.states()["a"] == "failed"
    assert driver.shard.constellations["c1"].tasks["a"].attempt == tries


def test_a_task_that_took_too_long_has_the_line_that_gives_it_more_time() -> None:
    driver = Driver("one")
    driver.submit(plan(task("a", tool="t.never")))
    driver.result(driver.take()[0], outcome=Outcome.TIMEOUT, code=Code.TIMED_OUT, effect=MAYBE)
    assert explain(driver.shard, "c1", "a").actions[0] == "starloom retry a c1 --confirm a --timeout 1200s"
