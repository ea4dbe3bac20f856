"""Seeded schedules with people: roles, tokens, secrets, clocks, stops of everything, histories that are put back."""

from __future__ import annotations

import logging
from collections import Counter
from itertools import islice

import pytest

from starloom_protocol.stream.feed import decode_event
from tests.sim.run import seeds_from
from tests.sim.schedule import Outcome, run_seed
from tests.sim.script import (
    PEOPLE_ACTS,
    PEOPLE_FAULTS,
    PEOPLE_FROM,
    PEOPLE_PAIR_FAULTS,
    PEOPLE_PAIRS_FROM,
    PERSONS,
    draw,
)

pytestmark = pytest.mark.sim
PEOPLE = 20
PAIRS = 4
MUST_COME = (
    *("schedule_made", "schedule_fired", "schedule_ended", "schedule_paused", "schedule_stopped", "schedule_changed"),
    *("secret_set", "secret_given", "secret_removed", "standing_allowed", "approval_answered", "draft_opened"),
    *("role_given", "token_added", "token_revoked", "stop_all", "undo_asked", "forked"),
    *("device_ask_answered", "device_reserved", "device_revoked", "recipe_saved", "recipe_ran"),
)
"""What shows that people did something; a rule about clocks that never fire proves nothing."""


@pytest.fixture(scope="module")
def played() -> list[Outcome]:
    logging.disable(logging.CRITICAL)
    try:
        return [run_seed(PEOPLE_FROM + number) for number in range(PEOPLE)]
    finally:
        logging.disable(logging.NOTSET)


@pytest.mark.test
def test_no_schedule_with_people_violates_a_promise(played: list[Outcome]) -> None:
    assert not {outcome.seed: outcome.violations for outcome in played if outcome.violations}


@pytest.mark.test
def test_people_do_what_the_rules_are_about(played: list[Outcome]) -> None:
    kinds = Counter(decode_event(raw).kind for outcome in played for raws in outcome.streams.values() for raw in raws)
    for kind in MUST_COME:
        assert kinds[kind] >= 3, f"{kind} came {kinds[kind]} times"
    words = [words for outcome in played for _at_s, words in outcome.told]
    assert kinds["history_older"] >= 3
    assert sum("the history goes back from commit" in told for told in words) >= PEOPLE // 3


def test_every_fault_and_every_act_comes() -> None:
    scripts = [draw(PEOPLE_FROM + number) for number in range(60)]
    assert {fault.kind for script in scripts for fault in script.faults} == set(PEOPLE_FAULTS)
    assert {act.kind for script in scripts for act in script.acts} == set(PEOPLE_ACTS)
    assert {act.person for script in scripts for act in script.acts} == set(PERSONS)
    assert all(script.people and not script.minds and script.hubs == 1 for script in scripts)


def test_every_third_schedule_with_people_has_two_hubs() -> None:
    people, pairs = PEOPLE_FROM + 5, PEOPLE_PAIRS_FROM + 5
    assert list(islice(seeds_from(people, 0), 4)) == [people, people + 1, pairs, people + 2]
    assert list(islice(seeds_from(people, 2), 2)) == list(islice(seeds_from(pairs, 0), 2)) == [pairs, pairs + 1]
    scripts = [draw(PEOPLE_PAIRS_FROM + number) for number in range(60)]
    assert {fault.kind for script in scripts for fault in script.faults} == set(PEOPLE_PAIR_FAULTS)
    assert all(script.people and script.hubs == 2 for script in scripts)


@pytest.mark.test
def test_no_schedule_with_people_and_two_hubs_violates_a_promise() -> None:
    played = [run_seed(PEOPLE_PAIRS_FROM + number) for number in range(PAIRS)]
    assert not {outcome.seed: outcome.violations for outcome in played if outcome.violations}
    words = [words for outcome in played for _at_s, words in outcome.told]
    assert sum("owns the shard at commit" in told for told in words) >= 2 * PAIRS
