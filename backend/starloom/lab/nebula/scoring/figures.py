"""The figures of one constellation, taken from the fold of its log alone: time, work, depth, recovery.

Pure. `work_ms` is the time of all attempts on devices, `critical_ms` the longest path of it through the dependencies,
both as they really were. `gain` compares the whole with the same attempts one after the other; a time in which no
device works, as while a person thinks or a repetition pauses, is as long in both.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from starloom.client.view import View
from starloom_protocol.records.entities import Attempt, Dependency
from starloom_protocol.stream.events import EventKind
from starloom_protocol.stream.feed import Event
from starloom_protocol.vocabulary import Code

TRANSFERS: Final = frozenset({"artifact.get", "artifact.put"})
"""The tools whose whole work is the way of a file between a device and the hub."""


@dataclass(frozen=True)
class Figures:
    """Times are milliseconds of hub time. `depth` counts tasks on the longest path of those that began.

    An attempt at which a device asks its owner first is no retry.
    """

    wall_ms: int = 0
    makespan_ms: int = 0
    work_ms: int = 0
    critical_ms: int = 0
    idle_ms: int = 0
    queued_ms: int = 0
    tasks: int = 0
    depth: int = 0
    attempts: int = 0
    retries: int = 0
    moves: int = 0
    hedges: int = 0
    versions: int = 0
    transfer_ms: int = 0
    """The time in which at least one call gave a file to the hub or took one from it."""

    @property
    def width(self) -> float:
        """N / depth: how many tasks there are to a step of the longest path."""
        return self.tasks / self.depth if self.depth else 0.0

    @property
    def parallelism(self) -> float:
        return self.work_ms / self.critical_ms if self.critical_ms else 0.0

    @property
    def sequential_ms(self) -> int:
        """The time that the same attempts and the same waits take one after the other."""
        return self.work_ms + self.idle_ms

    @property
    def gain(self) -> float:
        """1 - makespan / sequential: the part of the time that running beside each other saves."""
        return 1 - self.makespan_ms / self.sequential_ms if self.work_ms else 0.0

    def document(self) -> dict[str, Any]:
        """Return it as JSON has it, ratios too."""
        ratios = {"width": self.width, "parallelism": self.parallelism, "gain": self.gain}
        return {**asdict(self), **{name: round(value, 3) for name, value in ratios.items()}}


def figures_of(view: View, events: Sequence[Event]) -> Figures:
    """Take the figures of a constellation, which need not be final."""
    head = view.head
    last_ms = max((event.at_ms for event in events), default=0)
    if head is None:
        return Figures()
    attempts = view.each("attempt", Attempt)
    by_task: dict[str, list[Attempt]] = defaultdict(list)
    for name, attempt in attempts.items():
        by_task[name.rpartition("/")[0]].append(attempt)
    took = {task: sum(_took_ms(one) for one in tries) for task, tries in by_task.items()}
    edges = _edges(view, set(took))
    # An attempt that took over from the first is no hedge any more, so the log says which were opened as one.
    hedges = {f"attempt/{name}" for name, attempt in attempts.items() if attempt.hedge}
    hedges |= {
        key for event in events if event.kind == EventKind.HEDGE_OPENED for key in event.puts if "attempt/" in key
    }
    leased_ms = [one.leased_ms for one in attempts.values()]
    ended = [one.ended_ms for one in attempts.values() if one.ended_ms]
    return Figures(
        wall_ms=(head.ended_ms or last_ms) - head.created_ms,
        makespan_ms=max(ended, default=0) - min(leased_ms, default=0) if ended else 0,
        work_ms=sum(took.values()),
        critical_ms=_longest(took, edges),
        idle_ms=_idle_ms(attempts.values()),
        queued_ms=sum(one.started_ms - one.leased_ms for one in attempts.values() if one.started_ms),
        tasks=len(took),
        depth=_longest(dict.fromkeys(took, 1), edges),
        attempts=len(attempts),
        retries=sum(sum(one.code is not Code.NEEDS_APPROVAL for one in tries) - 1 for tries in by_task.values()),
        moves=sum(len({one.device for one in tries}) - 1 for tries in by_task.values()),
        hedges=len(hedges),
        versions=head.version,
        transfer_ms=_transfer_ms(view, attempts),
    )


def _transfer_ms(view: View, attempts: Mapping[str, Attempt]) -> int:
    """Return how long files were on their way by calls of their own; inputs that a call fetches are a part of it."""
    specs = view.specs
    spans = sorted(
        (one.started_ms, one.ended_ms)
        for name, one in attempts.items()
        if one.started_ms and one.ended_ms and (spec := specs.get(name.rpartition("/")[0])) and spec.tool in TRANSFERS
    )
    moved, until = 0, 0
    for begin, end in spans:
        moved += max(0, end - max(begin, until))
        until = max(until, end)
    return moved


def _took_ms(attempt: Attempt) -> int:
    """Return the time from lease to end: handing a task over is a part of its work, alone or beside others."""
    return max(0, attempt.ended_ms - attempt.leased_ms) if attempt.ended_ms else 0


def _idle_ms(attempts: Iterable[Attempt]) -> int:
    """Return how long no device was at work between the first lease and the last end."""
    spans = sorted((one.leased_ms, one.ended_ms) for one in attempts if one.ended_ms)
    idle, busy_until = 0, spans[0][0] if spans else 0
    for begin, end in spans:
        idle += max(0, begin - busy_until)
        busy_until = max(busy_until, end)
    return idle


def _edges(view: View, ran: set[str]) -> dict[str, set[str]]:
    """Return, for each task that ran, those it waited for; groups stand for their children, families go in pairs.

    A task that did not run (a question, a skipped one) hands on what it waited for itself.
    """
    specs = view.specs
    children: dict[str, list[str]] = defaultdict(list)
    for name, spec in specs.items():
        if spec.group is not None:
            children[spec.group].append(name)
    before: dict[str, set[str]] = defaultdict(set)
    for gate in view.each("dep", Dependency).values():
        for target in children.get(gate.target) or [gate.target]:
            mine = specs.get(target)
            for source in children.get(gate.source) or [gate.source]:
                other = specs.get(source)
                family = mine is not None and other is not None and mine.family and mine.family == other.family
                if not family or (mine is not None and other is not None and mine.key == other.key):
                    before[target].add(source)
    for name, spec in specs.items():
        group = specs.get(spec.group or "")
        listed = group.for_each if group is not None else None
        if listed is not None and listed.source is not None:
            before[name] |= set(children.get(listed.source) or [listed.source])
    return {task: _that_ran(task, before, ran) for task in ran}


def _that_ran(task: str, before: dict[str, set[str]], ran: set[str]) -> set[str]:
    sources: set[str] = set()
    seen: set[str] = set()
    left = list(before[task])
    while left:
        name = left.pop()
        if name in seen:
            continue
        seen.add(name)
        if name in ran:
            sources.add(name)
        else:
            left += before[name]
    return sources - {task}


def _longest(weights: dict[str, int], edges: dict[str, set[str]]) -> int:
    """Return the weight of the heaviest path; the graph has no circle, since every task waited for what came before."""
    heaviest: dict[str, int] = {}
    left = [(task, False) for task in weights]
    while left:
        task, ready = left.pop()
        if task in heaviest:
            continue
        if ready:
            heaviest[task] = weights[task] + max((heaviest.get(one, 0) for one in edges[task]), default=0)
        else:
            left.append((task, True))
            left += [(one, False) for one in edges[task] if one not in heaviest]
    return max(heaviest.values(), default=0)
