"""The report of the chaos tests says whether a part or the whole was run, and what went to real processes."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from tests.chaos.report import FAULTS, FOUND, Figures, form


def told(when: str, **recorded: Any) -> Any:
    return SimpleNamespace(when=when, user_properties=list(recorded.items()))


def kills(**counts: int) -> dict[str, int]:
    return dict.fromkeys(FAULTS, 0) | counts


def test_requests_are_added_and_a_stack_counts_once() -> None:
    figures = Figures()
    verdict: dict[str, Any] = {what: [] for what in (*FOUND, "broken")} | {"acknowledged": 4}
    figures.pytest_runtest_logreport(told("call", requests=3))
    figures.pytest_runtest_logreport(told("teardown", requests=3))
    figures.pytest_runtest_logreport(told("teardown", requests=5, stack="a", kills=kills(hub=1), verdict=verdict))
    figures.pytest_runtest_logreport(told("teardown", requests=7, stack="a", kills=kills(hub=2), verdict=verdict))
    found = figures.document()
    assert (found["requests"], found["hub_kills"], found["acknowledged"]) == (15, 2, 4)


def test_a_part_is_called_a_part() -> None:
    document = {f"{what}_kills": 7 for what in FAULTS}
    said, short = form(document, full=False)
    assert said == (
        "The short form: killed were 7 hub, 7 redis, 7 agent, 7 worker. "
        "`make chaos FULL=1` kills at least 100 hub, 100 redis, 100 agent, 50 worker (15 minutes)."
    )
    assert not short


def test_the_whole_form_fails_if_it_is_not_the_whole() -> None:
    document = {"hub_kills": 118, "redis_kills": 209, "agent_kills": 99, "worker_kills": 102}
    said, short = form(document, full=True)
    assert said == (
        "The whole form is SHORT OF agent: killed were 118 hub, 209 redis, 99 agent, 102 worker, "
        "of at least 100 hub, 100 redis, 100 agent, 50 worker."
    )
    assert short
    said, short = form(document | {"agent_kills": 104}, full=True)
    assert said.startswith("The whole form: killed were 118 hub")
    assert not short
