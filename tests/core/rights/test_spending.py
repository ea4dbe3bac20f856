"""The cost of the model for the same work: what teaches it, under which name, and what never does."""

from __future__ import annotations

from msgspec.structs import replace

from starloom.core.placement.pace import COUNT_MOST, OCTAVE, log_of
from starloom.core.rights.spending import goal_name, run_name, with_sample
from starloom.core.state import inputs as i
from starloom.core.state.settings import ShardSettings
from starloom.engine.commits import settings_of, with_settings
from starloom_protocol.records.goals import Goal
from starloom_protocol.records.models import Spending
from tests.core.people.test_forks import fork
from tests.core.plan.goals.pursued import GOAL, Pursued, call

OWN = goal_name(None, "why", Goal(aim=GOAL["goal"]))


def use(one: Pursued, tokens: int, micros: int) -> None:
    one.claim()
    used = i.ModelUsed(
        by="worker:w",
        calls=1,
        constellation="c1",
        id=one.ident(),
        job=one.job.id,
        micros=micros,
        tokens=tokens,
        worker="w",
    )
    assert not one.do(used).faults


def reached(tokens: int = 1024, micros: int = 4096) -> Pursued:
    one = Pursued()
    use(one, tokens, micros)
    one.propose("step", calls=[call(number=1)], note="to see")
    one.end_calls()
    one.answer()
    one.end_calls()
    assert one.state() == "succeeded"
    return one


def test_a_goal_and_its_constellation_teach_what_they_used() -> None:
    one = reached()
    rows = one.shard.fleet.spendings
    run = run_name(None, one.made.head.plan_hash)
    assert set(rows) == {OWN, run}
    for row in rows.values():
        assert (row.count, row.token_logs, row.micro_logs) == (1, 10 * OCTAVE, 12 * OCTAVE)
        assert row.token_squares == (10 * OCTAVE) ** 2
    one.folded_equals_state()


def test_a_constellation_that_is_opened_again_is_one_run() -> None:
    one = reached()
    run = run_name(None, one.made.head.plan_hash)
    before = one.shard.fleet.spendings[run]
    for _ in range(2):
        assert not one.control("retry", "why").faults
        assert one.state() == "active"
        use(one, 1024, 4096)
        one.propose("step", calls=[call(number=1)])
        one.end_calls()
        one.answer()
        one.end_calls()
        assert one.state() == "succeeded"
    assert one.shard.fleet.spendings[run] == before
    one.folded_equals_state()


def test_a_run_whose_first_end_taught_nothing_is_learned_at_the_next() -> None:
    one = Pursued()
    use(one, 512, 512)
    assert not one.control("cancel", "why").faults
    run = run_name(None, one.made.head.plan_hash)
    assert (one.state(), run in one.shard.fleet.spendings) == ("cancelled", False)
    assert not one.control("retry", "why").faults
    use(one, 512, 512)
    one.propose("step", calls=[call(number=1)])
    one.end_calls()
    one.answer()
    one.end_calls()
    row = one.shard.fleet.spendings[run]
    assert (one.state(), row.count, row.token_logs) == ("succeeded", 1, 10 * OCTAVE)


def test_nothing_is_learned_where_the_setting_is_off() -> None:
    one = Pursued()
    one.shard.settings.spending_rows_most = 0
    use(one, 10, 10)
    one.propose("give_up", note="no way")
    assert one.shard.fleet.spendings == {}


def test_work_that_a_person_ends_teaches_nothing() -> None:
    for end in (("skip", "why"), ("cancel", "why"), ("cancel",)):
        one = Pursued()
        use(one, 500, 500)
        assert not one.control(*end).faults
        assert OWN not in one.shard.fleet.spendings, end


def test_a_fork_teaches_nothing() -> None:
    one = reached()
    before = dict(one.shard.fleet.spendings)
    assert not fork(one, task="why").faults
    one.made = one.shard.constellations["c2"]
    assert not one.control("cancel", "why", "c2").faults
    assert one.shard.fleet.spendings == before


def test_a_goal_of_a_recipe_is_known_by_its_place_whatever_its_aim() -> None:
    assert goal_name("triage", "why", Goal(aim="of a")) == goal_name("triage", "why", Goal(aim="of b"))
    assert goal_name(None, "why", Goal(aim="of a")) != goal_name(None, "why", Goal(aim="of b"))
    assert goal_name(None, "why", Goal(aim="of a")) == goal_name(None, "how", Goal(aim="of a"))


def test_old_runs_fade_and_the_oldest_row_gives_way() -> None:
    row = Spending(last_ms=1, of="run/x")
    for _ in range(COUNT_MOST + 1):
        row = with_sample(row, 100, 0, 2)
    assert (row.count, row.token_logs) == (COUNT_MOST // 2 + 1, log_of(100) * (COUNT_MOST // 2 + 1))
    one = Pursued()
    one.shard.settings.spending_rows_most = 2
    for at, name in enumerate(("run/a", "run/b")):
        one.shard.fleet.spendings[name] = replace(row, last_ms=at, of=name)
    use(one, 10, 10)
    one.propose("step", calls=[call(number=1)])
    one.end_calls()
    one.answer()
    one.end_calls()
    assert set(one.shard.fleet.spendings) == {OWN, run_name(None, one.made.head.plan_hash)}


def test_a_log_of_a_hub_that_kept_no_costs_is_decided_without_them() -> None:
    old = settings_of(ShardSettings())
    del old["spending_rows_most"]
    assert (with_settings(old).spending_rows_most, ShardSettings().spending_rows_most) == (0, 500)
