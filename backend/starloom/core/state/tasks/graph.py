"""Order in the graph: cycles, ranks on the critical path, downstream tasks. Iterative throughout.

A cycle can only pass through a target of an added edge, so only the tasks that those targets reach are ordered: one
topological pass over the affected part (Kahn 1962), never a walk per edge. Ranks fall along every earlier edge, so only
tasks with a rank between the ends of the new edges are affected (Pearce and Kelly 2006). The ends of a graph rank above
zero, so that tasks put behind them find room below and change the rank of no other task.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from graphlib import CycleError, TopologicalSorter
from heapq import heappop, heappush
from typing import Final

from starloom.core.state.model import Constellation
from starloom.core.state.tasks.gates import ITEMS

END_RANK: Final = 8
"""The rank of a task without followers, not counting its own time.

The room below it lets as many tasks be put one behind the other at one end before the ranks above must be raised; until
then those may be too low by as many edges.
"""
_STEPS_A_PART: Final = 4
"""The steps that raising the ranks may take for each task and dependency of a plan; all in one pass take two."""


def downstream(constellation: Constellation, starts: Iterable[str]) -> dict[str, None]:
    """Return `starts` and all tasks and groups reached from them, in order of discovery.

    A group precedes its children and a child its group: a task that waits for one waits for the other.
    """
    reached: dict[str, None] = dict.fromkeys(starts)
    stack = list(reached)
    while stack:
        task = stack.pop()
        for following in _following(constellation, task):
            if following not in reached:
                reached[following] = None
                stack.append(following)
    return reached


def waiting_for(constellation: Constellation, question: str) -> set[str]:
    """Return the tasks and groups that do not begin before a question is answered, and those that feed them.

    A task feeds another one by its output. One that comes before the question does not count: the question is asked
    after it, and its answer is for what it did.
    """
    waiting = set(downstream(constellation, [question])) - {question}
    around = set(_groups_around(constellation, question))
    while fresh := {
        child for group in waiting - around for child in constellation.children.get(group, ()) if child not in waiting
    }:
        waiting |= downstream(constellation, fresh).keys()
    waiting.discard(question)
    earlier = _upstream(constellation, [question], data=False)
    return waiting | (_upstream(constellation, waiting, data=True) - earlier)


def _groups_around(constellation: Constellation, task: str) -> Iterator[str]:
    spec = constellation.specs.get(task)
    while spec is not None and spec.group is not None:
        yield spec.group
        spec = constellation.specs.get(spec.group)


def _upstream(constellation: Constellation, starts: Iterable[str], *, data: bool) -> set[str]:
    """Return `starts` and all from which they are reached; with `data`, by outputs that are inputs of others."""
    reached = set(starts)
    stack = list(reached)
    while stack:
        task = stack.pop()
        edges = constellation.incoming.get(task, {}).values()
        before = [edge.source for edge in edges if edge.input is not None or not data]
        for one in (*before, *(child for source in before for child in constellation.children.get(source, ()))):
            if one not in reached:
                reached.add(one)
                stack.append(one)
    return reached


def tasks_of_new_round(constellation: Constellation, starts: Iterable[str]) -> tuple[dict[str, None], dict[str, None]]:
    """Return the tasks that a new round of `starts` opens, and the reached children that may keep their round.

    The latter are children of a family whose list is made again. The new list decides whether they keep their round, so
    the tasks after them are among the former.
    """
    opened: dict[str, None] = {}
    undecided: dict[str, None] = {}
    stack: list[str] = []

    def open_now(task: str) -> None:
        if task not in opened:
            opened[task] = None
            undecided.pop(task, None)
            stack.append(task)

    for start in starts:
        open_now(start)
    while stack:
        task = stack.pop()
        spec = constellation.specs[task]
        family = spec.family if task in undecided else None
        for dependency in constellation.outgoing.get(task, {}).values():
            target = constellation.specs[dependency.target]
            if target.undoes is not None and spec.undoes is None:
                # What took a round back does not take back the next one unasked.
                continue
            if family is None or target.key is None or target.family != family:
                open_now(dependency.target)
            if dependency.input != ITEMS:
                continue
            for member in constellation.families.get(dependency.target, {}):
                open_now(member)
                for child in constellation.children.get(member, {}):
                    if child not in opened and child not in undecided:
                        undecided[child] = None
                        stack.append(child)
        if spec.group:
            open_now(spec.group)
    return opened, undecided


def _following(constellation: Constellation, task: str) -> list[str]:
    followers = []
    for dependency in constellation.outgoing.get(task, {}).values():
        followers.append(dependency.target)
        if dependency.input == ITEMS:
            # A list precedes all tasks that are made from it.
            for member in constellation.families.get(dependency.target, ()):
                followers.extend(constellation.children.get(member, ()))
    spec = constellation.specs.get(task)
    if spec is not None and spec.group:
        followers.append(spec.group)
    return followers


def find_cycle(
    constellation: Constellation, targets: Iterable[str], sources: Iterable[str] | None = None
) -> list[str] | None:
    """Return the tasks of one cycle among those that `targets` reach, in order, or None.

    `sources` are the sources of the edges to the targets, if no other edge is new since ranks were correct: then only
    the tasks between them are examined.
    """
    # A list precedes the tasks made from it, which ranks do not show.
    has_ranks = sources is not None and not constellation.families
    candidates = (
        _between(constellation, list(targets), list(sources or ())) if has_ranks else downstream(constellation, targets)
    )
    followers_of = {
        task: [item for item in _following(constellation, task) if item in candidates] for task in candidates
    }
    waiting = dict.fromkeys(candidates, 0)
    for followers in followers_of.values():
        for following in followers:
            waiting[following] += 1
    free = [task for task, count in waiting.items() if count == 0]
    while free:
        task = free.pop()
        del waiting[task]
        for following in followers_of[task]:
            waiting[following] -= 1
            if waiting[following] == 0:
                free.append(following)
    if not waiting:
        return None
    path: dict[str, None] = {}
    task = next(iter(waiting))
    # Every task left has a predecessor that is left, so walking back must find the cycle.
    predecessor = {follower: task for task in waiting for follower in followers_of[task] if follower in waiting}
    while task not in path:
        path[task] = None
        task = predecessor[task]
    names = list(path)
    return list(reversed(names[names.index(task) :]))


def _between(constellation: Constellation, targets: list[str], sources: list[str]) -> dict[str, None]:
    """Return the tasks that the targets reach, or those that reach the sources, whichever is complete first.

    A cycle is in both. It leads from the target of a new edge to the source of a new edge by old edges, along which
    ranks fall, so none of its tasks ranks above every target or below every source. New tasks have no rank and are
    always included.
    """
    rank = constellation.rank
    low = min((rank[task] for task in sources if task in rank), default=1)
    high = max((rank[task] for task in targets if task in rank), default=0)

    def is_between(task: str) -> bool:
        rank_of_task = rank.get(task)
        return rank_of_task is None or low <= rank_of_task <= high

    reached = dict.fromkeys(task for task in targets if is_between(task))
    reaching = dict.fromkeys(task for task in sources if is_between(task))
    ahead, behind = list(reached), list(reaching)
    while ahead and behind:
        for tasks, stack, step in ((reached, ahead, _following), (reaching, behind, _preceding)):
            for item in step(constellation, stack.pop()):
                if item not in tasks and is_between(item):
                    tasks[item] = None
                    stack.append(item)
    return reaching if ahead else reached


def set_ranks(constellation: Constellation) -> bool:
    """Set the rank of every task, in one pass; False if a cycle leaves some without.

    It is `END_RANK`, the number of edges to the farthest end, and the expected milliseconds of the tasks on that way
    and its own.
    """
    outgoing, rank = constellation.outgoing, constellation.rank
    remaining = {
        task: len(outgoing.get(task, ())) + (1 if spec.group else 0) for task, spec in constellation.specs.items()
    }
    own_ms = {task: _own_ms(constellation, task) for task in remaining} if constellation.tool_ms else {}
    farthest = {task: END_RANK + time_ms for task, time_ms in own_ms.items()} or dict.fromkeys(remaining, END_RANK)
    free = [task for task, count in remaining.items() if count == 0]
    count_ranked = 0
    while free:
        task = free.pop()
        count_ranked += 1
        rank[task] = below = farthest[task]
        for earlier in _preceding(constellation, task):
            above = below + 1 + (own_ms[earlier] if own_ms else 0)
            if farthest[earlier] < above:
                farthest[earlier] = above
            remaining[earlier] = waits = remaining[earlier] - 1
            if not waits:
                free.append(earlier)
    return count_ranked == len(remaining)


def raise_ranks(constellation: Constellation, changed: Iterable[str]) -> None:
    """Raise the rank of changed tasks and of their ancestors, as far as an edit made their path longer.

    A path that became shorter keeps its old rank: ranks order a queue and decide nothing else. Raised tasks pass their
    rank on in the order of the ranks that they had, which is that of the graph, so each does so once: what its own rank
    comes from has passed on before it. New edges between tasks that had one rank are in no such order: a chain of them
    would pass on each step again, so after so many steps all are ranked in one pass.
    """
    rank, tool_ms = constellation.rank, constellation.tool_ms
    raised = _Raised()
    tasks = [task for task in changed if task in constellation.specs]
    for task, new_rank in _ranks_of_new(constellation, tasks).items():
        raised.put(rank, task, new_rank)
    for task in tasks:
        raised.put(rank, task, _rank_of(constellation, task))
    # A list also precedes the tasks made from it: there one raised task does not determine the rank of its list.
    lists = bool(constellation.families)
    own_most_ms = max(tool_ms.values(), default=0)
    steps_left = _STEPS_A_PART * (len(constellation.specs) + len(constellation.deps))
    for task in raised:
        above = rank[task] + 1
        for earlier in _preceding(constellation, task):
            steps_left -= 1 + (len(constellation.outgoing.get(earlier, ())) if lists else 0)
            if steps_left < 0:
                set_ranks(constellation)
                return
            if lists:
                raised.put(rank, earlier, _rank_of(constellation, earlier))
            elif rank.get(earlier, -1) < above + own_most_ms:
                raised.put(rank, earlier, above + _own_ms(constellation, earlier) if tool_ms else above)


def _ranks_of_new(constellation: Constellation, changed: list[str]) -> dict[str, int]:
    """Return the ranks of those tasks that have none yet, each after those that it precedes.

    Where they fit below the tasks before them, they are put there: then no other task is ranked again.
    """
    rank = constellation.rank
    fresh = _last_first(constellation, [task for task in changed if task not in rank])
    ranks = _new_ranks(constellation, fresh, END_RANK)
    excess = max(
        (
            ranks[task] + 1 + _own_ms(constellation, earlier) - rank[earlier]
            for task in fresh
            for earlier in _preceding(constellation, task)
            if earlier in rank
        ),
        default=0,
    )
    return _new_ranks(constellation, fresh, END_RANK - excess) if 0 < excess <= END_RANK else ranks


def _new_ranks(constellation: Constellation, fresh: list[str], end: int) -> dict[str, int]:
    """Return the ranks of new tasks; `end` is that of one without followers."""
    rank, ranks = constellation.rank, dict[str, int]()
    for task in fresh:
        below = [ranks.get(item, rank.get(item, 0)) for item in _following(constellation, task)]
        ranks[task] = (1 + max(below) if below else end) + _own_ms(constellation, task)
    return ranks


def _last_first(constellation: Constellation, fresh: list[str]) -> list[str]:
    """Return new tasks so that each comes after those that it precedes.

    New tasks that precede each other in a circle are returned in no order that means anything.
    """
    precedes: dict[str, list[str]] = {task: [] for task in fresh}
    for task in fresh:
        for earlier in _preceding(constellation, task):
            if earlier in precedes:
                precedes[earlier].append(task)
    sorter = TopologicalSorter(precedes)
    ordered: list[str] = []
    with suppress(CycleError):
        sorter.prepare()
    while ready := sorter.get_ready():
        ordered += ready
        sorter.done(*ready)
    return list(dict.fromkeys([*ordered, *fresh]))


class _Raised:
    """Raised tasks by the rank that they had; the lowest first, each once however often it is raised until then."""

    def __init__(self) -> None:
        self._lines: dict[int, list[str]] = {}
        self._order: list[int] = []
        self._waiting: set[str] = set()

    def put(self, rank: dict[str, int], task: str, now: int) -> None:
        """Give a task its rank, if it is higher than the one it has."""
        before = rank.get(task, -1)
        if now <= before:
            return
        rank[task] = now
        if task in self._waiting:
            return
        self._waiting.add(task)
        line = self._lines.get(before)
        if line is None:
            self._lines[before] = [task]
            heappush(self._order, before)
        else:
            line.append(task)

    def __iter__(self) -> Iterator[str]:
        while self._order:
            for task in self._lines.pop(heappop(self._order)):
                self._waiting.discard(task)
                yield task


def _rank_of(constellation: Constellation, task: str) -> int:
    """Return the least rank that a task needs by the tasks after it and its own time."""
    rank = constellation.rank
    rank_below = 1 + max((rank.get(item, 0) for item in _following(constellation, task)), default=-1)
    return rank_below + _own_ms(constellation, task)


def _own_ms(constellation: Constellation, task: str) -> int:
    """Return the expected milliseconds of a task; for a tool without a pace the mean of the others.

    A list counts for its children, which run side by side.
    """
    tool_ms = constellation.tool_ms
    spec = constellation.specs[task]
    if not tool_ms or spec.tool is None or spec.key is not None:
        return 0
    expected_ms = tool_ms.get(spec.tool)
    return expected_ms if expected_ms is not None else sum(tool_ms.values()) // len(tool_ms)


def _preceding(constellation: Constellation, task: str) -> list[str]:
    predecessors = [dependency.source for dependency in constellation.incoming.get(task, {}).values()]
    if constellation.children:
        predecessors.extend(constellation.children.get(task, ()))
    return predecessors
