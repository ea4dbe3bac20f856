"""The running plan as a reviewer is shown it: what ended as cards, its neighbours, the rest as counts.

Pure over the committed records. Owns which task is shown how fully, and the size of the whole: the ended tasks first,
then what is near them on the graph. Each line is one JSON value under `DATA`; messages, arguments and results are of
strangers and decide nothing here. Devices are shown by name.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import msgspec

from starloom.core.run import judgement
from starloom.planner.context.cards import card_of, head_of, one_line, scrubbed, telling_in
from starloom_protocol.plan.lowering.patterns.repeats import turn_words
from starloom_protocol.records.entities import (
    Attempt,
    Dependency,
    GroupRecord,
    Head,
    Item,
    Job,
    RuleRecord,
    TaskRecord,
    TaskSpec,
)
from starloom_protocol.records.specs import Check, Input, Selector, by_result
from starloom_protocol.values import parse
from starloom_protocol.vocabulary import FINAL_TASK_STATES, Sharing, TaskState

PLAN_BYTES_MOST: Final = 9_000
"""About 2,500 tokens: with the fixed words, the devices and the tools a review stays below 6,000."""
REVIEWED_MOST: Final = 6
"""So many ended tasks are shown in full; more like failures say nothing new and are named only."""
ITEMS_NAMED_MOST: Final = 20
ARGS_REVIEWED_BYTES: Final = 3_000
"""A program of a `python.run` that fails fits; without it a reviewer could only guess at its mistake."""
ARGS_NEAR_BYTES: Final = 400
HEAD_NEAR_BYTES: Final = 400
MESSAGE_CHARS_MOST: Final = 1_200
RULES_MOST: Final = 10
LINE_CHARS_MOST: Final = 200

Json = dict[str, Any]


@dataclass(frozen=True)
class ReviewedPlan:
    """A constellation's records at one moment, and the review that looks at them."""

    head: Head
    job: Job
    specs: Mapping[str, TaskSpec]
    tasks: Mapping[str, TaskRecord]
    groups: Mapping[str, GroupRecord]
    attempts: Mapping[str, Attempt]
    items: Mapping[str, Item]
    deps: tuple[Dependency, ...]
    rules: tuple[RuleRecord, ...]
    devices: Mapping[str, str]
    now_ms: int
    sharing: Sharing = Sharing.CARDS
    refused: Job | None = None
    """The judgement that said no to the whole answer, if that is under review."""

    @staticmethod
    def of(records: Mapping[str, Any], job: Job, head: Head, devices: Mapping[str, str], **fields: Any) -> ReviewedPlan:
        """Return the view of a constellation's records by their keys; `devices` are names by id."""

        def records_of(kind: str) -> dict[str, Any]:
            start = f"{kind}/"
            return {key.removeprefix(start): record for key, record in records.items() if key.startswith(start)}

        judged = [item for item in records_of("job").values() if item.kind == judgement.KIND]
        about = [item for item in judged if judgement.is_of_the_whole(job) and item.tasks[:1] == job.tasks[:1]]
        return ReviewedPlan(
            refused=about[-1] if about else None,
            head=head,
            job=job,
            specs=records_of("spec"),
            tasks=records_of("task"),
            groups=records_of("group"),
            attempts=records_of("attempt"),
            items=records_of("item"),
            deps=tuple(records_of("dep").values()),
            rules=tuple(sorted(records_of("rule").values(), key=lambda rule: rule.order)),
            devices=devices,
            **fields,
        )

    @cached_property
    def telling(self) -> set[str]:
        """The tasks of `data.*` that are made of what telling tools found."""
        return telling_in(self.specs)

    @cached_property
    def ended(self) -> dict[str, None]:
        """The tasks and groups under review, in order."""
        names = (task.rpartition("/")[0] for task in self.job.tasks)
        return dict.fromkeys(name for name in names if name in self.specs)

    @property
    def tools(self) -> set[str]:
        """The tools that the plan calls; a look is no part of it."""
        return {spec.tool for spec in self.specs.values() if spec.tool is not None and not spec.look}

    @cached_property
    def own_looks(self) -> set[str]:
        """The looks of this review, which its turns tell of."""
        return {task for look in self.job.looks for task in look.tasks}


def plan_lines(seen: ReviewedPlan) -> list[str]:
    """Return the lines of the plan, at most `PLAN_BYTES_MOST` bytes."""
    lines = [one_line(_aim(seen)), *(one_line(line) for line in _alike(seen))]
    room = PLAN_BYTES_MOST - sum(len(line.encode()) + 1 for line in lines)
    left: list[str] = []
    for place, name in enumerate(_nearest(seen)):
        # Cards are made only while there is room: a plan may have thousands of tasks.
        full = place < REVIEWED_MOST and name in seen.ended
        line = one_line(_line_of(seen, name, full=full)) if room > 0 else ""
        if not line or len(line.encode()) + 1 > room:
            line = one_line(_short(seen, name)) if room > 200 else ""
        if not line or len(line.encode()) + 1 > room:
            left.append(name)
            continue
        room -= len(line.encode()) + 1
        lines.append(line)
    return [*lines, one_line(_counts(seen, left))] if left else lines


def _aim(seen: ReviewedPlan) -> Json:
    head = seen.head
    results = [
        {"from": result.source, "output": result.output, "title": result.title[:LINE_CHARS_MOST]}
        for result in head.results[:ITEMS_NAMED_MOST]
    ]
    rules = [
        {"when": f"{rule.task} {rule.event}", "because": rule.reason[:LINE_CHARS_MOST]}
        for rule in seen.rules[:RULES_MOST]
    ]
    plan: Json = {"name": head.name, "partial": head.policy.partial, "results": results, "rules": rules}
    aim = {"plan": {name: value for name, value in plan.items() if value}, "version": head.version}
    verdict = seen.refused.verdict if seen.refused is not None else None
    if verdict is None or head.policy.judge is None:
        return aim
    judged = {"question": head.policy.judge.question, "holds": verdict.holds, "because": verdict.because}
    return {**aim, "judge": {name: value[:MESSAGE_CHARS_MOST] for name, value in judged.items()}}


def _alike(seen: ReviewedPlan) -> Iterator[Json]:
    """Yield the like failures under review: their group, the cause, and the items that failed so far."""
    for cause_key in seen.job.causes:
        group, _, cause = cause_key.partition(" ")
        group = group.rpartition("/")[0]
        children = [name for name in seen.ended if seen.specs[name].group == group]
        first = children[:ITEMS_NAMED_MOST]
        items = {name: _item_of(seen, seen.specs[name]) for name in first}
        states = Counter(str(seen.tasks[name].state) for name, spec in _children(seen, group))
        more = {"more_items": len(children) - len(first)} if len(children) > len(first) else {}
        yield {"alike": cause, "group": group, "items": items, "states": dict(states), **more}


def _children(seen: ReviewedPlan, group: str) -> Iterator[tuple[str, TaskSpec]]:
    return ((name, spec) for name, spec in seen.specs.items() if spec.group == group and name in seen.tasks)


def _item_of(seen: ReviewedPlan, spec: TaskSpec) -> Any:
    item = seen.items.get(f"{spec.family}/{spec.key}")
    if item is None or seen.sharing is Sharing.NAMES:
        return spec.key
    value, _ = head_of(scrubbed(parse(item.value)), LINE_CHARS_MOST)
    return value


def _nearest(seen: ReviewedPlan) -> list[str]:
    """Return every task and group: those under review, then by their distance on the graph, then the others."""
    near: dict[str, list[str]] = {}
    for edge in seen.deps:
        near.setdefault(edge.source, []).append(edge.target)
        near.setdefault(edge.target, []).append(edge.source)
    for name, spec in seen.specs.items():
        if spec.group is not None and name in seen.ended:
            near.setdefault(name, []).append(spec.group)
    order = dict(seen.ended)
    ahead = list(order)
    for name in ahead:
        for other in near.get(name, ()):
            if other not in order and other in seen.specs:
                order[other] = None
                ahead.append(other)
    order.update(dict.fromkeys(seen.specs))
    return [name for name in order if name not in seen.own_looks]


def _line_of(seen: ReviewedPlan, name: str, *, full: bool) -> Json:
    spec, record = seen.specs[name], seen.tasks.get(name)
    frame = _frame(seen, spec)
    if record is None or record.state not in FINAL_TASK_STATES:
        args = {} if seen.sharing is Sharing.NAMES else _args(spec.args, ARGS_NEAR_BYTES)
        return {**_short(seen, name), **frame, **({"args": args} if args else {})}
    attempt = seen.attempts.get(f"{name}/{record.attempt}")
    device = seen.devices.get(record.device or "", "")
    card = card_of(
        spec, record, attempt, device=device, now_ms=seen.now_ms, sharing=seen.sharing, telling=name in seen.telling
    ).document()
    card.pop("age_s", None)
    if full and seen.sharing is not Sharing.NAMES:
        card["args"] = _args(spec.args, ARGS_REVIEWED_BYTES)
        card["message"] = _message(attempt) if record.state is not TaskState.SUCCEEDED else ""
    elif "head" in card:
        card["head"], lacks = head_of(card["head"], HEAD_NEAR_BYTES)
        card["left_out"] = [*card.get("left_out", ()), *lacks]
    for empty in [key for key, value in card.items() if value in (None, "", [], {})]:
        del card[empty]
    return {**card, **frame, **({"ended_now": True} if name in seen.ended else {})}


def _message(attempt: Attempt | None) -> str:
    """Return what a failed task said: the beginning and, since a traceback names its error there, the end."""
    text = str(scrubbed((attempt.detail or attempt.tail) if attempt is not None else "")).strip()
    if len(text) <= MESSAGE_CHARS_MOST:
        return text
    return f"{text[: MESSAGE_CHARS_MOST // 4]}\n...\n{text[-MESSAGE_CHARS_MOST * 3 // 4 :]}"


def _args(text: str, most: int) -> Any:
    args, lacks = head_of(scrubbed(parse(text)), most)
    return {**args, "...": list(lacks)} if lacks and isinstance(args, dict) else args


def _frame(seen: ReviewedPlan, spec: TaskSpec) -> Json:
    """Return how a task stands in the plan: where it runs, what it waits for, what is demanded of its result."""
    gates = [edge for edge in seen.deps if edge.target == spec.id]
    fields: Json = {
        "after": [f"{edge.source} ({edge.gate})" for edge in gates if edge.input is None][:ITEMS_NAMED_MOST],
        "inputs": {item.name: _input(item) for item in spec.inputs[:ITEMS_NAMED_MOST]},
        "checks": [_check(check) for check in spec.checks[:ITEMS_NAMED_MOST]],
        "group": spec.group,
        "item": _item_of(seen, spec) if spec.key is not None else None,
        "for_each": _list_of(spec),
        "may_run_on": _selected(spec.device, seen.devices),
        "optional": spec.optional,
        "superseded_by": spec.superseded_by,
    }
    return {name: value for name, value in fields.items() if value not in (None, "", [], {}, False)}


def _input(item: Input) -> str:
    return f"finding {item.topic}" if item.topic else f"{item.source}{item.output}"


def _check(check: Check) -> Json:
    return {
        "op": str(check.op),
        "output": check.output,
        **({"value": parse(check.value)} if check.value is not None else {}),
    }


def _list_of(spec: TaskSpec) -> str:
    each = spec.for_each
    if each is None:
        return ""
    if by_result(each):
        return f"the device that {each.source}{each.output} names"
    if each.repeat is not None:
        return turn_words(each.repeat)
    if each.times and each.devices is None:
        return f"{each.times} calls"
    over = f"{each.source}{each.output}" if each.source is not None else f"the items of {each.same}"
    return "devices" if each.devices is not None else over


def _selected(selector: Selector | None, devices: Mapping[str, str]) -> Any:
    if selector is None:
        return None
    if selector.id is not None:
        return {"name": devices.get(selector.id, selector.id)}
    return msgspec.json.decode(msgspec.json.encode(selector))


def _short(seen: ReviewedPlan, name: str) -> Json:
    spec, record = seen.specs[name], seen.tasks.get(name) or seen.groups.get(name)
    fields = {
        "code": str(record.code) if record is not None and record.code is not None else "",
        "state": str(record.state) if record is not None else "",
        "task": name,
        "tool": spec.tool or ("a question to a person" if spec.person is not None else ""),
    }
    return {field: value for field, value in fields.items() if value}


def _counts(seen: ReviewedPlan, names: Iterable[str]) -> Json:
    states: Counter[str] = Counter()
    for name in names:
        record = seen.tasks.get(name) or seen.groups.get(name)
        states[str(record.state) if record is not None else "new"] += 1
    return {"not_shown": {"states": dict(sorted(states.items())), "tasks": sum(states.values())}}
