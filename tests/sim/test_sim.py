"""Many seeded schedules of the real engine and agent core in virtual time, and the seeds that failed once."""

from __future__ import annotations

import os
from collections import Counter
from itertools import islice

import pytest

from starloom_protocol.stream.feed import decode_event
from tests.sim.run import known_seeds, seeds_from
from tests.sim.schedule import Outcome, play, run_seed
from tests.sim.script import (
    MIND_PAIR_FAULTS,
    MIND_PAIRS_FROM,
    MINDS_FROM,
    PAIR_FAULTS,
    PAIR_FROM,
    PEOPLE_FROM,
    draw,
)

pytestmark = pytest.mark.sim
SCHEDULES = int(os.environ.get("STARLOOM_SIM_SCHEDULES", "500"))
SEEDS = range(10_000)
MINDS = 50
MIND_PAIRS = 25
MUST_COME = (
    *("goal_answered", "goal_ends", "goal_escalated", "goal_hinted", "goal_refused", "goal_stalled", "goal_stepped"),
    "judged",
)
"""What shows that minds did something; a rule about goals that never go on proves nothing."""


@pytest.mark.test
@pytest.mark.parametrize("hubs", [1, 2])
def test_no_schedule_violates_a_promise(hubs: int) -> None:
    pairs = SCHEDULES // 3
    seeds = SEEDS[: SCHEDULES - pairs] if hubs == 1 else range(PAIR_FROM, PAIR_FROM + pairs)
    done: list[Outcome] = [run_seed(seed) for seed in seeds]
    failed = {outcome.seed: outcome.violations for outcome in done if outcome.violations}
    assert not failed
    assert sum(outcome.faults for outcome in done) >= 30 * len(done)
    assert len({outcome.events for outcome in done}) > len(done) // 10


@pytest.mark.test
@pytest.mark.parametrize("hubs", [1, 2])
def test_no_schedule_with_minds_violates_a_promise(hubs: int) -> None:
    first, count = (MINDS_FROM, MINDS) if hubs == 1 else (MIND_PAIRS_FROM, MIND_PAIRS)
    done = [run_seed(first + number) for number in range(count)]
    assert not {outcome.seed: outcome.violations for outcome in done if outcome.violations}
    kinds = Counter(decode_event(raw).kind for outcome in done for raws in outcome.streams.values() for raw in raws)
    for kind in MUST_COME:
        assert kinds[kind] >= count // 10, f"{kind} came {kinds[kind]} times"
    assert sum(outcome.changed_hubs for outcome in done) >= count // 10


@pytest.mark.short
@pytest.mark.parametrize("seed", known_seeds())
def test_a_seed_that_failed_once_stays_mended(seed: int) -> None:
    assert run_seed(seed).violations == []


@pytest.mark.parametrize("seed", [7, PAIR_FROM + 7, MINDS_FROM + 7, MIND_PAIRS_FROM + 7, PEOPLE_FROM + 7])
def test_a_seed_gives_the_same_run_again(seed: int) -> None:
    assert run_seed(seed) == run_seed(seed)


def test_every_third_schedule_has_two_hubs() -> None:
    assert list(islice(seeds_from(5, 0), 6)) == [5, 6, PAIR_FROM + 5, 7, 8, PAIR_FROM + 6]
    assert list(islice(seeds_from(5, 1), 3)) == [5, 6, 7]
    assert list(islice(seeds_from(5, 2), 2)) == list(islice(seeds_from(PAIR_FROM + 5, 0), 2)) == [1_000_005, 1_000_006]
    minds, pairs = MINDS_FROM + 5, MIND_PAIRS_FROM + 5
    assert list(islice(seeds_from(minds, 0), 4)) == [minds, minds + 1, pairs, minds + 2]
    assert list(islice(seeds_from(minds, 2), 2)) == list(islice(seeds_from(pairs, 0), 2)) == [pairs, pairs + 1]
    assert draw(pairs).hubs == 2
    assert draw(pairs).minds


def test_every_fault_of_two_hubs_comes_and_does_something() -> None:
    """A fault that never strikes proves nothing: hubs are killed, stopped in time, woken and replaced."""
    done = [play(draw(PAIR_FROM + number)) for number in range(12)]
    words = [words for outcome in done for _at_s, words in outcome.told]
    for what in ("is killed", "is asked to stop", "is stopped in time", "goes on", "has lost the shard", "stands by"):
        assert any(what in told for told in words), what
    assert sum("owns the shard at commit" in told for told in words) >= 3 * len(done)
    assert {fault.kind for number in range(60) for fault in draw(PAIR_FROM + number).faults} == set(PAIR_FAULTS)
    with_minds = {fault.kind for number in range(60) for fault in draw(MIND_PAIRS_FROM + number).faults}
    assert with_minds == set(MIND_PAIR_FAULTS)
