"""A list that is too long for a fact is told with its number of entries."""

from __future__ import annotations

from starloom_agent.work.execution.outcomes import facts_of, too_long


def test_a_list_that_is_too_long_tells_its_entries() -> None:
    value = {"rows": [0] * 10_500, "few": [1]}
    facts, big = facts_of(value, ["/rows", "/few"])
    assert (list(facts), list(big)) == (["/few"], ["/rows"])
    assert too_long(value, big) == "/rows has 10,500 entries"
    assert too_long(value, ["/few"]) == ""
