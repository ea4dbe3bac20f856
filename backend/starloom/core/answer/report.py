"""The figures of a run: critical path, width, work, waiting by cause, the model, recoveries. Pure over its spans.

Owns the definitions that `RunReport` words, so that a figure of the CLI and the page is the same one. `starloom bench
nebula` has figures of its own (`lab/nebula/scoring/figures.py`), which leave out planning. Sources: `parallelism_ratio
= total_work / critical_path_length` over actual times is that of UFO's constellation statistics. Two definitions are
stricter. The longest chain follows a dependency only if its source had ended when the target could begin, so that the
parts of a chain never overlap and it is never longer than the run. The time of a run that does one task at a time
includes the time in which no task was on a device: planning and people take it in any order.

A device that is off when a task becomes ready counts as waiting for a free device: the log of a run does not tell them
apart. Time on a device that does not answer is waiting, not work.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from typing import Final

from starloom.core.answer.spans import RUN, RunLog, Span
from starloom.core.plan.goals.monitors import ESCALATED
from starloom_protocol.records.entities import Attempt, Dependency, Job, TaskSpec
from starloom_protocol.records.run_report import (
    FOR_A_PERSON,
    ON_A_DEVICE,
    WAITS,
    ModelUse,
    PathStep,
    Phase,
    Recoveries,
    RunReport,
    Spans,
    Tick,
    Wait,
)
from starloom_protocol.vocabulary import FINAL_CONSTELLATION_STATES, AttemptEnd, Code, TaskState

PATH_MOST: Final = 1_000
"""The steps of the critical path that a report has."""
_Interval = tuple[int, int]


@dataclass(slots=True)
class _Run:
    """The last run of a task: the moment at which it could begin, its end, its time on devices, and its waits."""

    released_ms: int
    ended_ms: int = 0
    time_ms: int = 0
    device: str = ""
    waits: dict[str, int] = field(default_factory=dict)


@dataclass(slots=True)
class _PathState:
    """The state that a node passes to its targets: the task that ended last, and the longest chain with its end."""

    last_ms: int = -1
    last: str | None = None
    chain_ms: int = 0
    chain_ended_ms: int = -1


def report(log: RunLog, now_ms: int, *, created_at: str, names: Mapping[str, str], spans: bool = False) -> RunReport:
    """Return the report of a run as of its last event; a phase that has not ended has lasted until `now_ms`.

    `created_at` is the time of the request as the interface shows times, `names` those of the devices of the fleet.
    """
    head = log.head
    ended = head.state in FINAL_CONSTELLATION_STATES
    until_ms = head.ended_ms if ended and head.ended_ms else max(now_ms, log.at_ms)
    begin_ms = head.created_ms

    def interval(span: Span) -> _Interval:
        return span.from_ms, min(span.to_ms or until_ms, until_ms)

    of_tasks = [span for span in log.spans if span.task != RUN and not span.hedge]
    on_device = [span for span in of_tasks if span.phase in ON_A_DEVICE]
    intervals = [interval(span) for span in on_device]
    busy_ms, width_most = covered(intervals)
    work_ms = _total(intervals)
    makespan_ms = max(0, until_ms - begin_ms - head.idle_ms)
    one_ms = work_ms + max(0, makespan_ms - busy_ms)
    runs = _last_runs(of_tasks, interval)
    path, path_ms = critical_path(log, runs)
    attempts = {key: item for key, item in log.table("attempt").items() if item.origin is None}
    for_person = [interval(span) for span in log.spans if span.phase in FOR_A_PERSON]
    devices = {span.device for span in on_device}
    columns = _columns(log, begin_ms) if spans else None
    to_name = devices | {step.device for step in path} | set(columns.devices if columns else ())
    return RunReport(
        attempts=len(attempts),
        busy_ms=busy_ms,
        checks_passed=sum(1 for task in log.table("task").values() if task.checked),
        constellation=head.id,
        created_at=created_at,
        device_names={device: names[device] for device in sorted(to_name) if device in names},
        devices=len(devices),
        ended=ended,
        for_person_ms=covered(for_person)[0],
        gain=round(1 - makespan_ms / one_ms, 3) if one_ms else 0.0,
        hedge_ms=_total(interval(span) for span in log.spans if span.hedge),
        makespan_ms=makespan_ms,
        model=_model(log, interval),
        name=head.name,
        one_at_a_time_ms=one_ms,
        parallelism=round(work_ms / path_ms, 2) if path_ms else 0.0,
        path=[_relative(step, begin_ms) for step in path[:PATH_MOST]],
        path_ms=path_ms,
        planning_ms=max(0, _planned_ms(log, until_ms) - begin_ms),
        recoveries=_recoveries(log, attempts),
        repeated_ms=_total(interval(span) for span in on_device if _without_result(span, attempts)),
        result_bytes=sum(item.bytes for item in attempts.values() if item.end is AttemptEnd.OK),
        seq=log.seq,
        spans=columns,
        starting_ms=_total(interval(span) for span in on_device if span.phase is Phase.STARTING),
        state=head.state,
        tasks=len({span.task for span in on_device}),
        ticks=[Tick(at_ms=tick.at_ms - begin_ms, kind=tick.kind, text=tick.text) for tick in log.ticks],
        versions=len(log.table("version")),
        waits=_waits(log.spans, interval),
        width_mean=round(work_ms / busy_ms, 2) if busy_ms else 0.0,
        width_most=width_most,
        work_ms=work_ms,
    )


def covered(intervals: Iterable[_Interval]) -> tuple[int, int]:
    """Return the time in which at least one interval holds, and how many hold at once at most.

    One that ends as another begins does not overlap it; one without length counts for nothing.
    """
    edges = sorted(edge for begin, end in intervals if end > begin for edge in ((begin, 1), (end, -1)))
    total = most = depth = since = 0
    for at_ms, step in edges:
        if depth:
            total += at_ms - since
        since = at_ms
        depth += step
        most = max(most, depth)
    return total, most


def _total(intervals: Iterable[_Interval]) -> int:
    return sum(max(0, end - begin) for begin, end in intervals)


def _last_runs(spans: Iterable[Span], interval: Callable[[Span], _Interval]) -> dict[str, _Run]:
    runs: dict[str, _Run] = {}
    for span in spans:
        begin, end = interval(span)
        run = runs.get(span.task)
        if run is None or span.began:
            run = runs[span.task] = _Run(begin)
        run.ended_ms = max(run.ended_ms, end)
        if span.phase in ON_A_DEVICE:
            run.time_ms += max(0, end - begin)
            run.device = span.device
        elif end > begin:
            run.waits[span.phase] = run.waits.get(span.phase, 0) + end - begin
    return runs


def critical_path(log: RunLog, runs: Mapping[str, _Run]) -> tuple[list[PathStep], int]:
    """Return the tasks that decided when the run ended, first to last, and the time of the longest chain."""
    predecessor: dict[str, str | None] = {}
    states: dict[str, _PathState] = {}
    longest_ms = 0
    for node, sources in _in_order(log):
        state = _PathState()
        run = runs.get(node)
        for source in sources:
            earlier = states[source]
            if state.last_ms < earlier.last_ms and (run is None or earlier.last_ms <= run.released_ms):
                state.last_ms, state.last = earlier.last_ms, earlier.last
            if state.chain_ms < earlier.chain_ms and (run is None or earlier.chain_ended_ms <= run.released_ms):
                state.chain_ms, state.chain_ended_ms = earlier.chain_ms, earlier.chain_ended_ms
        if run is not None:
            predecessor[node] = state.last
            state = _PathState(run.ended_ms, node, state.chain_ms + run.time_ms, run.ended_ms)
            longest_ms = max(longest_ms, state.chain_ms)
        states[node] = state
    places = {task: place for place, task in enumerate(predecessor)}
    last = max(predecessor, key=lambda task: (runs[task].ended_ms, states[task].chain_ms, places[task]), default=None)
    steps = []
    while last is not None:
        run = runs[last]
        steps.append(
            PathStep(
                device=run.device,
                ended_ms=run.ended_ms,
                released_ms=run.released_ms,
                task=last,
                time_ms=run.time_ms,
                waits=run.waits,
            )
        )
        last = predecessor[last]
    return steps[::-1], longest_ms


def _in_order(log: RunLog) -> Iterable[tuple[str, list[str]]]:
    """Yield tasks and both ends of groups with what they depend on, sources first.

    A group has a node for its beginning, on which its children depend, and one for its end, which depends on them.
    """
    specs: dict[str, TaskSpec] = log.table("spec")
    groups = log.table("group")
    sources: dict[str, list[str]] = {}
    for name, spec in specs.items():
        inner = [_begin(spec.group)] if spec.group in groups else []
        if name in groups:
            sources[_begin(name)] = inner
            sources.setdefault(_end(name), []).append(_begin(name))
        else:
            sources[name] = inner
        if spec.group in groups:
            sources.setdefault(_end(spec.group), []).append(_end(name) if name in groups else name)
    dependencies: Iterable[Dependency] = log.table("dep").values()
    for dependency in dependencies:
        source = _end(dependency.source) if dependency.source in groups else dependency.source
        target = _begin(dependency.target) if dependency.target in groups else dependency.target
        if source in sources and target in sources:
            sources[target].append(source)
    sorter = TopologicalSorter(sources)
    # No plan has a cycle; if a log had one, the tasks on it would have no place in a path.
    with suppress(CycleError):
        sorter.prepare()
    while ready := sorter.get_ready():
        yield from ((node, sources[node]) for node in ready)
        sorter.done(*ready)


def _begin(group: str | None) -> str:
    return f"begin {group}"


def _end(group: str | None) -> str:
    return f"end {group}"


def _relative(step: PathStep, begin_ms: int) -> PathStep:
    return PathStep(
        device=step.device,
        ended_ms=step.ended_ms - begin_ms,
        released_ms=step.released_ms - begin_ms,
        task=step.task,
        time_ms=step.time_ms,
        waits=step.waits,
    )


def _waits(spans: Iterable[Span], interval: Callable[[Span], _Interval]) -> list[Wait]:
    """Return the waiting by cause, the longest first. A wait of the whole run counts for no task."""
    by_cause: dict[Phase, list[Span]] = {}
    for span in spans:
        begin, end = interval(span)
        if span.phase in WAITS and end > begin:
            by_cause.setdefault(span.phase, []).append(span)
    waits = []
    for cause, spans_of_cause in by_cause.items():
        of_tasks = [span for span in spans_of_cause if span.task != RUN]
        wall_ms = covered(interval(span) for span in spans_of_cause)[0]
        total_ms = _total(interval(span) for span in of_tasks)
        count = len({span.task for span in of_tasks})
        waits.append(Wait(cause=cause, tasks=count, total_ms=total_ms, wall_ms=wall_ms))
    return sorted(waits, key=lambda wait: (-wait.wall_ms, wait.cause))


def _model(log: RunLog, interval: Callable[[Span], _Interval]) -> ModelUse:
    jobs: list[Job] = list(log.table("job").values())
    goals = [job.goal for job in jobs if job.goal is not None]
    turns: Counter[str] = Counter()
    for goal in goals:
        turns.update(goal.turns_by)
    return ModelUse(
        calls=sum(job.calls for job in jobs),
        escalations=sum(turn.kind == ESCALATED for goal in goals for turn in goal.turns),
        micros=sum(job.micros for job in jobs),
        spared=sum(1 for name, spec in log.table("spec").items() if spec.instead_of and _succeeded(log, name)),
        time_ms=_total(interval(span) for span in log.spans if span.phase is Phase.MODEL),
        tokens=sum(job.tokens for job in jobs),
        turns=dict(turns),
    )


def _succeeded(log: RunLog, task: str) -> bool:
    task_record = log.table("task").get(task)
    return task_record is not None and task_record.state is TaskState.SUCCEEDED


def _planned_ms(log: RunLog, until_ms: int) -> int:
    versions = log.table("version").values()
    return min((version.at_ms for version in versions), default=until_ms)


def _without_result(span: Span, attempts: Mapping[str, Attempt]) -> bool:
    attempt = attempts.get(f"{span.task}/{span.attempt}")
    return attempt is not None and attempt.end is not None and attempt.end is not AttemptEnd.OK


def _recoveries(log: RunLog, attempts: Mapping[str, Attempt]) -> Recoveries:
    retried = moved = 0
    for key, attempt in attempts.items():
        previous = None if key in log.hedges else _previous(attempts, key, log.hedges)
        if previous is None or previous.round != attempt.round or previous.code is Code.NEEDS_APPROVAL:
            # A device that asked its owner did not fail: the attempt after it recovers nothing.
            continue
        retried += previous.device == attempt.device
        moved += previous.device != attempt.device
    return Recoveries(
        retried=retried,
        moved=moved,
        hedged=sum(1 for key in log.hedges if key in attempts and attempts[key].end is AttemptEnd.OK),
        rerouted=log.kinds.get("task_rerouted", 0),
        verified=log.kinds.get("task_verified", 0),
        edited=log.edits_after_failure,
        person=log.by_person + log.kinds.get("recovery_answered", 0) + log.kinds.get("task_marked", 0),
    )


def _previous(attempts: Mapping[str, Attempt], key: str, hedges: Collection[str]) -> Attempt | None:
    """Return the attempt that was made before this one, without those that ran beside another."""
    task, _, number = key.rpartition("/")
    earlier = (f"{task}/{count}" for count in range(int(number) - 1, 0, -1))
    return next((attempts[one] for one in earlier if one in attempts and one not in hedges), None)


def _columns(log: RunLog, begin_ms: int) -> Spans:
    tasks: dict[str, int] = {}
    devices: dict[str, int] = {}
    # A span without length is nothing to draw; one that has not ended may have begun just now.
    spans = [span for span in log.spans if span.to_ms != span.from_ms]
    return Spans(
        attempt=[span.attempt for span in spans],
        device=[devices.setdefault(span.device, len(devices)) if span.device else -1 for span in spans],
        devices=list(devices),
        from_ms=[span.from_ms - begin_ms for span in spans],
        hedge=[int(span.hedge) for span in spans],
        phase=[span.phase for span in spans],
        task=[-1 if span.task == RUN else tasks.setdefault(span.task, len(tasks)) for span in spans],
        tasks=list(tasks),
        to_ms=[span.to_ms - begin_ms if span.to_ms else -1 for span in spans],
    )
