"""Cycles and ranks against naive oracles."""

from __future__ import annotations

from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from starloom.core.state.apply import put
from starloom.core.state.model import Constellation, Shard
from starloom.core.state.tasks.graph import END_RANK, downstream, find_cycle, raise_ranks, set_ranks
from starloom_protocol.records.entities import dependency_id
from starloom_protocol.vocabulary import Gate
from tests.builders import edge, task
from tests.cost import GROWTH_MOST, calls

EDGES = st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=20, unique=True)


def graph(edges: list[tuple[int, int]], count: int = 8) -> Constellation:
    shard = Shard()
    run = shard.stream("c")
    assert isinstance(run, Constellation)
    for number in range(count):
        put(shard, run, "spec", f"t{number}", task(f"t{number}"))
    for source, target in edges:
        link = edge(f"t{source}>t{target}", Gate.FINISH)
        put(shard, run, "dep", dependency_id(link), link)
    return run


def reaches(edges: list[tuple[int, int]], start: int, goal: int) -> bool:
    """Depth first, naively: a way of at least one edge."""
    seen: set[int] = set()
    stack = [target for source, target in edges if source == start]
    while stack:
        here = stack.pop()
        if here == goal:
            return True
        if here not in seen:
            seen.add(here)
            stack.extend(target for source, target in edges if source == here)
    return False


@settings(max_examples=150, deadline=None)
@given(EDGES)
def test_a_cycle_is_found_exactly_where_there_is_one(edges: list[tuple[int, int]]) -> None:
    run = graph(edges)
    cycle = find_cycle(run, run.specs)
    assert (cycle is not None) == any(reaches(edges, node, node) for node in range(8))
    if cycle is not None:
        links = {(f"t{source}", f"t{target}") for source, target in edges}
        assert all(pair in links for pair in zip(cycle, [*cycle[1:], cycle[0]], strict=True))


@settings(max_examples=150, deadline=None)
@given(EDGES, st.tuples(st.integers(0, 7), st.integers(0, 7)))
def test_only_what_a_new_edge_reaches_need_be_looked_at(edges: list[tuple[int, int]], new: tuple[int, int]) -> None:
    forward = [(source, target) for source, target in edges if source < target]
    run = graph([*dict.fromkeys([*forward, new])])
    assert (find_cycle(run, [f"t{new[1]}"]) is not None) == (new[0] == new[1] or reaches(forward, new[1], new[0]))


def naive_cycle(found: Constellation) -> bool:
    return find_cycle(found, found.specs) is not None


@settings(max_examples=400, deadline=None)
@given(EDGES, st.lists(st.tuples(EDGES, st.lists(st.integers(0, 19), max_size=4)), max_size=4))
def test_edits_one_after_the_other_look_only_at_what_lies_between(
    edges: list[tuple[int, int]], edits: list[tuple[list[tuple[int, int]], list[int]]]
) -> None:
    """What is found is what a look at everything finds, also with removed edges, new tasks and refused edits."""
    there = {(source, target) for source, target in edges if source < target}
    found = graph(sorted(there))
    set_ranks(found)
    for number, (added, removed) in enumerate(edits):
        there -= {pair for at, pair in enumerate(sorted(there)) if at in removed}
        size = 8 + number  # this edit adds a task, whose number is the highest
        new = [(source, size) for source, target in added if source == target]
        new += [(size, target) if (source + target) % 3 == 0 else (source, target) for source, target in added]
        new = [pair for pair in dict.fromkeys(new) if pair not in there]
        rank, found = found.rank, graph([*sorted(there), *new], size + 1)
        found.rank = rank
        sources, targets = ([f"t{pair[end]}" for pair in new] for end in (0, 1))
        cycle = find_cycle(found, targets, sources)
        assert (cycle is not None) == naive_cycle(found)
        if cycle is not None:
            links = {(f"t{source}", f"t{target}") for source, target in [*there, *new]}
            assert all(pair in links for pair in zip(cycle, [*cycle[1:], cycle[0]], strict=True))
            found = graph(sorted(there), size + 1)
            found.rank = rank
            raise_ranks(found, [f"t{size}"])
            continue
        raise_ranks(found, [f"t{size}", *sources])
        there.update(new)
        assert all(found.rank[f"t{source}"] > found.rank[f"t{target}"] for source, target in there)


def longest(edges: list[tuple[int, int]], node: int) -> int:
    return max((1 + longest(edges, target) for source, target in edges if source == node), default=0)


@settings(max_examples=150, deadline=None)
@given(EDGES)
def test_ranks_are_the_longest_ways_and_grow_with_the_graph(edges: list[tuple[int, int]]) -> None:
    forward = [(source, target) for source, target in edges if source < target]
    run = graph(forward)
    set_ranks(run)
    wanted = {f"t{node}": END_RANK + longest(forward, node) for node in range(8)}
    assert run.rank == wanted
    grown = graph(forward)
    raise_ranks(grown, reversed(list(grown.specs)))
    assert grown.rank == wanted


def slow_task_behind(size: int) -> Constellation:
    """A ranked chain whose last task also waits for each of the others, and a slow task that was just put behind it."""
    last = size - 1
    ways = [(node, node + 1) for node in range(last)] + [(node, last) for node in reversed(range(last - 1))]
    run = graph(ways, size)
    quick = run.specs["t0"].tool
    assert quick is not None
    run.tool_ms.update({quick: 1, "slow": 10 * size})
    set_ranks(run)
    shard = Shard()
    put(shard, run, "spec", "slow", task("slow", tool="slow"))
    link = edge(f"t{last}>slow", Gate.FINISH)
    put(shard, run, "dep", dependency_id(link), link)
    return run


def test_a_longer_way_is_passed_on_once_for_each_task() -> None:
    made = []
    for size in (100, 200):
        found = slow_task_behind(size)
        made.append(calls(lambda: raise_ranks(found, ["slow", f"t{size - 1}"])))  # noqa: B023 - called at once
        assert [found.rank[f"t{node}"] for node in range(size)] == [
            END_RANK + 10 * size + 2 * (size - node) for node in range(size)
        ]
    assert made[1] <= GROWTH_MOST * made[0]


@pytest.mark.parametrize("turned", [False, True], ids=["first to last", "last to first"])
def test_a_chain_that_is_added_at_once_is_ranked_at_once(turned: bool) -> None:
    made = []
    for size in (100, 200):
        run = graph([(node, node + 1) for node in range(size - 1)], size)
        changed = [f"t{node}" for node in range(size)]
        made.append(calls(lambda: raise_ranks(run, reversed(changed) if turned else changed)))  # noqa: B023 - at once
        assert run.rank == {f"t{node}": END_RANK + size - 1 - node for node in range(size)}
    assert made[1] <= GROWTH_MOST * made[0]


def test_tasks_behind_an_end_are_ranked_alone_until_its_room_is_used() -> None:
    """A new task behind the last one costs the same in a long chain, and the chain is ranked again after `END_RANK`."""
    made, risen = [], []
    for size in (100, 200):
        ranks, costs = [], []
        run = graph([(node, node + 1) for node in range(size - 1)], size)
        set_ranks(run)
        shard = Shard()
        for number in range(size, size + END_RANK + 1):
            put(shard, run, "spec", f"t{number}", task(f"t{number}"))
            link = edge(f"t{number - 1}>t{number}", Gate.SUCCESS)
            put(shard, run, "dep", dependency_id(link), link)
            work = partial(raise_ranks, run, [f"t{number}", f"t{number - 1}"])
            costs.append(calls(work))
            ranks.append(run.rank["t0"])
            assert all(run.rank[f"t{node}"] > run.rank[f"t{node + 1}"] for node in range(number))
        made.append(costs)
        risen.append([rank - ranks[0] for rank in ranks])
    assert made[0][:-1] == made[1][:-1]
    assert made[0][-1] < made[1][-1]
    assert risen[0] == risen[1] == [0] * END_RANK + [END_RANK + 1]


def test_downstream_is_what_the_edges_reach() -> None:
    edges = [(0, 1), (1, 2), (3, 2), (2, 4)]
    run = graph(edges)
    assert set(downstream(run, ["t1"])) == {"t1", "t2", "t4"}
