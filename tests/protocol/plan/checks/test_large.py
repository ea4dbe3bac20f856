"""Plans of thousands of tasks: taken in any order, and at a cost that grows with their size only."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from starloom_protocol.plan import read_document
from tests.cost import GROWTH_MOST, calls
from tests.protocol.plan.checks.test_check import faults, made, plan


def shuffled_chain(count: int) -> Any:
    names = [f"t{(n * 7919) % count}" for n in range(count)]
    edges = [{"from": f"t{n}", "to": f"t{n + 1}"} for n in reversed(range(count - 1))]
    return read_document(json.dumps(plan(*({"id": name, "tool": "x"} for name in names), dependencies=edges)))


def slips(count: int) -> Any:
    return plan(*({"id": f"t{(n * 7919) % count}", "tol": "x"} for n in range(count)))


def test_ten_thousand_tasks_in_any_order() -> None:
    count = 10_000
    assert len(made(shuffled_chain(count)).specs) == count
    assert len(faults(slips(count))) >= count


@pytest.mark.parametrize(("check", "drawn"), [(made, shuffled_chain), (faults, slips)])
def test_a_plan_costs_in_proportion_to_its_tasks(check: Callable[[Any], Any], drawn: Callable[[int], Any]) -> None:
    small, large = drawn(1_000), drawn(2_000)
    assert calls(lambda: check(large)) < GROWTH_MOST * calls(lambda: check(small))
