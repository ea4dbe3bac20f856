"""No tier is hollowed out: `test` has every kind named here, and each test of `proof` names what shows its kind."""

from __future__ import annotations

import re
from collections import defaultdict

import pytest

from tests.arch.checkout import ROOT
from tests.arch.tier_list import Listed, all_tests
from tests.guard.drivers.running import DRIVERS
from tests.guard.threats import THREATS
from tests.sharing import SHARED_FOLDERS
from tests.tiers import TIERS

AGENTS = "tests/chaos/test_agents.py::test_"
HUB = WORKER = "tests/chaos/test_hub_and_worker.py::test_"
LINE = "tests/chaos/test_bad_line.py::test_"
DISK = "tests/chaos/test_full_disk.py::test_"
IN_BROWSER_LEAST = 150
PROOF_MOST = 0.12
"""The part of all tests that may be in `proof` alone."""

KILLS = {
    "an agent killed": AGENTS + "a_killed_agent_retries_what_may_be_repeated_and_finishes_it_once",
    "an agent frozen": AGENTS + "work_of_a_silent_agent_is_moved_and_its_runner_ends_it_by_the_fence",
    "the hub killed": HUB + "a_hub_killed_mid_run_finishes_and_redoes_nothing",
    "the hub frozen": HUB + "a_hub_that_was_stopped_for_longer_than_its_leases_goes_on",
    "Redis killed": "tests/chaos/test_redis.py::test_redis_killed_under_a_live_hub",
    "Redis killed and its log cut": "tests/chaos/test_redis.py::test_redis_killed_and_its_log_cut_under_a_live_hub",
    "hub and Redis killed": "tests/chaos/test_redis.py::test_hub_and_redis_killed_and_the_log_cut",
    "the worker killed": WORKER + "a_worker_killed_with_a_job_is_replaced_and_the_job_is_done_once",
    "the supervisor killed": "tests/chaos/test_supervisor.py::test_nothing_outlives_the_supervisor",
    "PostgreSQL killed": "tests/chaos/test_postgres.py::test_a_history_that_is_away_refuses_new_work_and_loses_none",
    "the owner of two hubs killed": "tests/chaos/test_two_hubs.py::test_the_standby_takes_over_and_nothing_is_lost",
    "a disk full": DISK + "a_hub_whose_disk_is_full_stays_up_says_so_and_goes_on",
    "a clock set": "tests/chaos/test_clocks.py::test_a_date_that_is_set_ends_no_lease_and_times_nothing_out",
    "a line that mangles": LINE + "a_line_that_mangles_messages_costs_time_and_nothing_else",
    "a storm": "tests/chaos/test_storm.py::test_whatever_is_killed_nothing_is_lost_or_done_twice",
    "a backup restored": "tests/chaos/test_restored.py::test_a_restored_backup_repeats_nothing_and_says_so",
}
"""Each kind of kill with a test of it in `test`."""

IN_SHORT = ("an agent killed", "the hub killed", "Redis killed", "hub and Redis killed", "the worker killed")
"""Kills that the tier `short` has, too."""


@pytest.fixture(scope="module")
def tests(pytestconfig: pytest.Config) -> list[Listed]:
    return all_tests(pytestconfig)


@pytest.fixture(scope="module")
def in_test(tests: list[Listed]) -> list[Listed]:
    return [each for each in tests if each.tier != "proof"]


def test_each_folder_and_journey_is_in_the_tier_test(tests: list[Listed], in_test: list[Listed]) -> None:
    assert {each.folder for each in in_test} == {each.folder for each in tests}
    for folder in ("e2e", "recipes", "guard"):
        files = {each.file for each in tests if each.folder == folder}
        assert {each.file for each in in_test if each.folder == folder} == files


def test_each_test_in_a_browser_may_be_tried_again(tests: list[Listed]) -> None:
    in_browser = [each for each in tests if each.in_browser]
    assert len(in_browser) >= IN_BROWSER_LEAST
    assert [each.name for each in in_browser if not each.real] == []


def test_journeys_on_a_phone_are_in_the_tier_test(in_test: list[Listed]) -> None:
    on_phones = {each.file for each in in_test if each.folder == "e2e" and re.search(r"\bphone\b.*]", each.name)}
    assert {f"tests/e2e/test_{name}.py" for name in ("answers", "pointing", "sample", "signing_in")} <= on_phones


def test_most_tests_are_in_the_tier_test(tests: list[Listed], in_test: list[Listed]) -> None:
    assert len(in_test) >= (1 - PROOF_MOST) * len(tests)


def test_each_kind_of_kill_is_in_the_tier_test(in_test: list[Listed]) -> None:
    names = {each.test for each in in_test}
    assert {kind for kind, name in KILLS.items() if name not in names} == set()


def test_each_row_of_the_threat_table_is_in_the_tier_test(in_test: list[Listed]) -> None:
    names = {each.test for each in in_test} | {each.file for each in in_test}
    for row in THREATS:
        absent = [name for name in row.tests if not any(found.startswith(name) for found in names)]
        assert absent == [], row.id
    for path in (ROOT / "tests" / "guard").glob("test_*.py"):
        assert path.relative_to(ROOT).as_posix() in names


def test_each_driver_of_attacks_is_in_the_tier_test(in_test: list[Listed]) -> None:
    """A driver runs in `test` by itself or by the tests that its row names."""
    rows = {row.id: row for row in THREATS}
    driven = {match[1] for each in in_test if (match := re.search(r"test_drivers.py::.*\[(T\d+)]", each.name))}
    assert [name for name in DRIVERS if name not in driven and not rows[name].tests] == []


def test_each_test_of_proof_names_what_shows_its_kind(tests: list[Listed], in_test: list[Listed]) -> None:
    """A case needs no name where another case of its test is in `test`."""
    shown: dict[str, set[str]] = defaultdict(set)
    for each in in_test:
        shown[each.file].add(each.name)
        shown[each.test].add(each.name)
    for each in tests:
        if each.tier == "proof" and each.test not in shown:
            assert each.shown_by, f"{each.name}: proof(shown_by=...) names no test"
            assert shown.get(each.shown_by), f"{each.name}: {each.shown_by} is not in the tier `test`"


def test_the_tier_short_has_the_first_kills_and_every_quick_layer(tests: list[Listed]) -> None:
    short = [each for each in tests if each.short]
    assert {KILLS[kind] for kind in IN_SHORT} <= {each.test for each in short}
    assert {"core", "protocol", "store", "engine", "edge", "process", "guard", "checks", "e2e", "sim"} <= {
        each.folder for each in short
    }
    assert {each.tier for each in short} <= set(TIERS[:2])


def test_a_shared_installation_ends_with_its_folder() -> None:
    """Other tests of the worker come after it, and a loop of Playwright would stop those that are asynchronous."""
    for folder in SHARED_FOLDERS:
        assert (ROOT / folder / "__init__.py").exists()
        assert 'scope="session"' not in (ROOT / folder / "conftest.py").read_text()


def test_quarantined_tests_exist(tests: list[Listed]) -> None:
    named = set(re.findall(r"^\| `(tests/[^`]+)`", (ROOT / "docs" / "quarantine.md").read_text(), re.MULTILINE))
    assert named <= {each.test for each in tests}
