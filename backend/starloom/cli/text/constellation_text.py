"""A constellation, its goals, events and answer as text for a terminal. Renders; asks and decides nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from shlex import quote
from typing import TYPE_CHECKING, Any, Final

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from starloom.cli.text.matrix import family_members, family_table, urgency
from starloom.cli.text.task_names import named_in_line, named_in_text, task_name
from starloom.client.terminal.console import shown_text, state_text
from starloom.client.terminal.escaping import escaped_text
from starloom.client.terminal.fitting import Fitted
from starloom.client.terminal.style import clock
from starloom.client.terminal.tables import cell, is_table, shown_as, value_table, without_rows
from starloom.client.terminal.typed import typed
from starloom.client.view import View
from starloom_protocol.records.entities import (
    Answer,
    AnswerItem,
    Attempt,
    Cite,
    Finding,
    Job,
    Question,
    TaskRecord,
    decode_entity,
)
from starloom_protocol.records.goals import goal_answer
from starloom_protocol.stream.authors import WORKER, is_person, name_of, shown_name, who
from starloom_protocol.stream.events import EventKind
from starloom_protocol.stream.feed import Event
from starloom_protocol.text.presentation import presentation
from starloom_protocol.text.wording import counted, escaped, few, found_by, natural_order, seconds, size_words
from starloom_protocol.values import canonical, parse
from starloom_protocol.vocabulary import ConstellationState, Reason

ROWS_MOST = 40
FINDINGS_SHOWN_MOST = 20
_EMPTY_NAMED: Final = 10
ALLOW: Final = "allow"
"""The answer of `starloom approve` without a value."""
OTHERS_ANSWER: Final = "Only somebody who may approve can answer; your sign-in or token may not."
_QUIET = frozenset({"waiting", "ready"})


def title(view: View) -> Text:
    """Return one line: name, id, state, version."""
    head = view.head
    line = Text()
    line.append(escaped(head.name) if head else view.constellation, style="bold")
    line.append(f"  {view.constellation}  ", style="bright_black")
    answer = view.answer
    alarm = view.state == ConstellationState.SUCCEEDED and answer is not None and answer.alarm
    line.append_text(state_text(view.state, alarm=alarm, undone=head is not None and head.undone_from is not None))
    if head is not None and head.version:
        line.append(f"  version {head.version}", style="bright_black")
    return line


def progress(view: View) -> str:
    """Return the numbers of finished, running and otherwise ended tasks, and of all. Looks are counted apart.

    A goal without an answer is one more task than its steps.
    """
    specs = view.specs
    look_names = [name for name in view.tasks if name in specs and specs[name].look]
    count = Counter(str(task.state) for name, task in view.tasks.items() if name not in look_names)
    head = view.head
    if head is not None and not head.version and view.final:
        return f"no plan, {len(look_names)} look{'s' if len(look_names) != 1 else ''}"
    taps = sum(1 for task in view.tasks.values() if task.reason is Reason.TAP)
    goals = sum(1 for name, spec in specs.items() if spec.goal is not None and goal_answer(name) not in view.tasks)
    parts = [
        f"{count['succeeded']} of {count.total() + goals} tasks done",
        f"{count['leased'] + count['running'] - taps} running",
    ]
    if taps:
        parts.append(f"{taps} {'waits' if taps == 1 else 'wait'} for a tap")
    parts += [f"{count[state]} {state}" for state in ("failed", "unknown", "cancelled", "skipped") if count[state]]
    reviewing = sum(len(look.tasks) for job in view.each("job", Job).values() for look in job.looks)
    for number, where in ((len(look_names) - reviewing, "before the plan"), (reviewing, "in reviews")):
        if number:
            parts.append(f"{number} look{'s' if number != 1 else ''} {where}")
    return ", ".join(parts)


def task_table(
    view: View, devices: dict[str, str], *, most: int = ROWS_MOST, leave_out: Collection[str] = ()
) -> Fitted:
    """Return the tasks. Of more than `most`, failed and stuck ones come first, and the rest is counted."""
    table = Table(box=None, padding=(0, 2, 0, 0), show_edge=False)
    for name in ("task", "state", "device", "tool", "time"):
        table.add_column(name, style="bright_black" if name in ("tool", "time") else "", no_wrap=name != "state")
    specs, tasks = view.specs, view.tasks
    names = sorted((name for name in tasks if name not in leave_out), key=natural_order)
    count = len(names)
    if len(names) > most:
        names = sorted(names, key=lambda name: urgency(view, name))[:most]
    for name in names:
        record, spec, attempt = tasks[name], specs.get(name), view.last_attempt(name)
        spent = ""
        if attempt is not None and attempt.ended_ms:
            spent = seconds(attempt.ended_ms - (attempt.started_ms or attempt.leased_ms))
            spent = taken_over(attempt) or spent
        device = devices.get(record.device or "", record.device or "")
        tool = (spec.tool or ("" if not spec.person else "person" if spec.judge is None else "judge")) if spec else ""
        tool = f"{tool} (a look)" if spec and spec.look else tool
        table.add_row(task_name(name, devices), shown_text(view.presentation_of(name)), device, tool, spent)
    hidden = count - len(names)
    if hidden:
        table.add_row(f"and {hidden} more", "", "", "", "")
    return Fitted(table, spared=("tool", "time"))


def taken_over(attempt: Attempt | None) -> str:
    """Return in words that a result is one of an earlier run; empty for any other."""
    if attempt is None or not attempt.origin_task:
        return ""
    at = clock(attempt.origin_ms)
    return escaped(f"taken over from {attempt.origin_task.rpartition('/')[0]} of {attempt.origin}, {at}")


def page(
    view: View, devices: dict[str, str], *, most: int = ROWS_MOST, with_answer: bool = True, approves: bool = True
) -> RenderableType:
    """Return the whole constellation: title, progress, tasks, open questions, fault, answer.

    `approves`: the reader may answer the questions.
    """
    head = view.head
    parts: list[RenderableType] = [title(view)]
    if head is not None and head.request:
        parts.append(Text(f"“{escaped_text(head.request)}”", style="italic"))
    parts.append(Text(progress(view), style="bright_black"))
    children = {name for members in family_members(view).values() for name in members}
    if set(view.tasks) - children:
        parts.append(task_table(view, devices, most=most, leave_out=children))
    parts.extend(family_table(view))
    parts.extend(
        Text(f"{task_name(name, devices)} calls {spec.tool} instead: {escaped(spec.instead_of)}", style="bright_black")
        for name, spec in view.specs.items()
        if spec.instead_of
    )
    parts.extend(finding_lines(view, devices))
    parts.extend(goal_lines(view))
    for name, question in view.open_questions.items():
        how = how_to_answer(f"{view.constellation}:{name}", question, approves=approves)
        line = f"☞  {escaped_text(question.text, indent=4)}  ({how})"
        parts.append(Text(typed(line), style="magenta"))
    if head is not None and head.attention:
        parts.append(Text("needs attention: " + ", ".join(word.replace("_", " ") for word in head.attention)))
    if head is not None and head.fault is not None:
        parts.append(Text(typed(fault_line(head.fault.reason, head.fault.code, head.fault.hint)), style="red"))
    answer = view.answer
    if with_answer and answer is not None and answer.state != "none":
        parts.append(answer_text(answer, devices))
    if reason := why_line(view, devices):
        parts.append(Text(typed(reason), style="bright_black"))
    return Group(*parts)


def how_to_answer(identity: str, question: Question, *, approves: bool) -> str:
    """Return the commands that answer a question, or who does; one that has choices of its own takes these alone."""
    if not approves:
        return OTHERS_ANSWER
    line = f"starloom approve {identity}"
    values = [choice.value for choice in question.choices]
    if question.kind == "planner":
        return " - or: ".join(
            [*(f"{line} --value {quote(escaped(value))}" for value in values), f"{line} --value WORDS"]
        )
    if not values or ALLOW in values:
        return f"{line}, or starloom deny {identity}"
    return " - or: ".join(f"{line} --value {quote(escaped(value))}" for value in values)


def finding_lines(view: View, devices: Mapping[str, str]) -> Iterator[Text]:
    """Yield a line for each input by topic that a task has taken, up to a bound, and one for what is left out."""
    findings = view.each("finding", Finding)
    lines = list(_findings_taken(view, findings, devices))
    for line in lines[:FINDINGS_SHOWN_MOST]:
        yield Text(line, style="bright_black")
    if len(lines) > FINDINGS_SHOWN_MOST:
        yield Text(f"and {len(lines) - FINDINGS_SHOWN_MOST} more inputs by topic", style="bright_black")


def _findings_taken(view: View, findings: Mapping[str, Finding], devices: Mapping[str, str]) -> Iterator[str]:
    for name, record in view.tasks.items():
        spec = view.specs.get(name)
        for item in spec.inputs if spec is not None and record.took else ():
            if item.name not in record.took:
                continue
            finding = findings.get(record.took[item.name])
            if finding is None:
                yield escaped(f"{name} took the value in place of a finding of {item.topic}")
                continue
            attempt = view.last_attempt(name)
            took_ms = attempt.leased_ms if attempt is not None else record.since_ms
            age = max(took_ms - finding.at_ms, 0) // 1000
            device = devices.get(finding.device or "", finding.device or "")
            source = found_by(finding.task, finding.by, device, stranger=bool(finding.stranger))
            yield escaped(f"{name} took the finding {item.topic} of {source}, {age} s old then")


def fault_line(reason: str, code: str, hint: str) -> str:
    """Return the fault of a whole constellation; its reason may hold words of a model or a device."""
    return f"{escaped(reason)} [{code}] {escaped(hint)}".rstrip()


def why_line(view: View, devices: Mapping[str, str]) -> str:
    """Return the line with the command that explains the first failure; nothing if no task failed.

    The sentence of an answer is short, and may contain a device's reason only in part.
    """
    failed = [(task.since_ms, name) for name, task in view.tasks.items() if task.state == "failed"]
    line = f"Why, and the way out: starloom why {min(failed)[1]} {view.constellation}" if failed else ""
    return named_in_line(line, devices)


def answer_text(answer: Answer, devices: dict[str, str]) -> RenderableType:
    """Return the words of a model with their sources, the sentence of the hub, and the items of an answer."""
    parts: list[RenderableType] = []
    if answer.words:
        parts.append(Text(escaped_text(answer.words), style="bold"))
        sources = [
            f"[{number}] {task_name(cite.task, devices)}{f' {cite.pointer}' if cite.pointer else ''}"
            for number, cite in enumerate(answer.cites, start=1)
        ]
        if sources:
            parts.append(Text(f"From {', '.join(sources)}.", style="bright_black"))
        parts.extend(
            Text(f"Left out, because no cited result shows it: {escaped_text(claim)}", "yellow")
            for claim in answer.struck
        )
    parts.append(Text(escaped_text(answer.sentence, indent=2), style="" if answer.words else "bold"))
    empty = [item for item in answer.items if _is_empty(item)]
    apart = empty if len(empty) > 1 else []
    parts.extend(_item_text(item, devices) for item in answer.items if item not in apart)
    if apart:
        parts.append(Text(f"Nothing in: {few([escaped(item.title) for item in apart], _EMPTY_NAMED)}"))
    return Group(*parts)


def _is_empty(item: AnswerItem) -> bool:
    """Whether an item is a list without entries or a table without rows, and says nothing beside that."""
    if item.artifact is not None or item.value is None:
        return False
    value = parse(item.value)
    if value == [] or without_rows(value):
        return True
    return is_table(value) and not (value if isinstance(value, list) else value["rows"])


def _item_text(item: AnswerItem, devices: dict[str, str]) -> RenderableType:
    where = devices.get(item.device or "", item.device or "")
    task = task_name(item.task, devices)
    on = f" on {where}" if where and task == item.task else ""
    origin = f"  ({task}{on}{', checked' if item.checked else ''})"
    heading = Text.assemble((escaped(item.title), "bold"), (origin, "bright_black"))
    if item.artifact is not None:
        file = f"{size_words(item.bytes)} {escaped(item.media or '')} {item.artifact[:12]}"
        if item.pointer:
            file = f"too large to show here: its part {escaped(item.pointer)} of {file}; --save DIR saves it"
        return Text.assemble(heading, f"\n  {file}")
    if item.value in (None, "null"):
        why = f": it waited for {escaped(item.lacks)}" if item.lacks else ""
        return Text.assemble(heading, f"\n  no value{why}")
    if _is_empty(item):
        return Text.assemble(heading, "\n  nothing")
    value = parse(item.value)
    if is_table(value):
        return Group(heading, value_table(value))
    if isinstance(value, dict) and isinstance(value.get("artifact"), str):
        size = value.get("bytes")
        size_text = size_words(size) if isinstance(size, int) else "of unknown size"
        return Text.assemble(heading, f"\n  {escaped(str(value.get('name', '')))} {size_text}")
    if isinstance(value, str):
        return Text.assemble(heading, "\n  " + escaped_text(value, indent=2))
    if isinstance(value, dict) and value:
        return Group(heading, *_parts(value))
    return Text.assemble(heading, "\n  " + escaped_text(item.value, indent=2))


def _parts(value: dict[str, Any]) -> Iterator[RenderableType]:
    """Yield the parts of a result of several values: a line each, and a table for rows."""
    for name, part in value.items():
        if is_table(part):
            yield Text(f"  {escaped(name)}:")
            yield value_table(part)
        else:
            words = "none" if part in ([], {}) else escaped_text(cell(part, shown_as(name)), indent=4)
            yield Text(f"  {escaped(name)}: {words}")


def event_line(event: Event, devices: dict[str, str]) -> str:
    """Return one event as a line of a log, with the names of devices and authors; `--json` has their ids."""
    name = devices.get(event.about) or task_name(event.about, devices)
    about = f" {escaped(name)}" if event.about else ""
    note = f"  {escaped(named_in_text(event.note, devices))}" if event.note else ""
    plain = is_person(event.by) or ":" not in event.by or event.by.startswith(WORKER)
    author = devices.get(name_of(event.by)) or (shown_name(event.by) if plain else who(event.by))
    return f"{event.seq:>5}  {clock(event.at_ms)}  {event.kind}{about}  by {escaped(author)}{note}"


class Changes:
    """The lines for a watcher without a screen: each change of a task's shown state, versions, faults.

    It reads the events alone: a whole log that arrives in one batch is printed step by step, with the time of each.
    """

    def __init__(self, devices: dict[str, str]) -> None:
        self._devices = devices
        self._last_words: dict[str, str] = {}
        self._markers: dict[str, str] = {}
        """By task, who marked it by hand: a record has no author."""

    def lines(self, event: Event) -> list[str]:
        at = clock(event.at_ms)
        lines_of_event = []
        for key, raw in event.puts.items():
            kind, _, name = key.partition("/")
            record = decode_entity(key, raw) if kind == "task" and raw is not None else None
            if isinstance(record, TaskRecord):
                if event.kind == EventKind.TASK_MARKED:
                    self._markers[name] = escaped(name_of(event.by))
                words = self._task(name, record)
                if words and self._last_words.get(name) != words:
                    self._last_words[name] = words
                    lines_of_event.append(f"{at}  {task_name(name, self._devices)}: {words}")
            elif kind == "version":
                lines_of_event.append(
                    f"{at}  version {name} by {shown_name(event.by)}: {escaped(event.note) or 'the plan'}"
                )
        if words := turn_line(event):
            lines_of_event.append(f"{at}  {words}")
        if event.kind in (EventKind.FINDING_PUBLISHED, EventKind.FINDING_REFUSED):
            word = "published the finding" if event.kind == EventKind.FINDING_PUBLISHED else "published no finding"
            lines_of_event.append(f"{at}  {task_name(event.about, self._devices)}: {word} {escaped(event.note)}")
        if event.kind == EventKind.TASK_REUSED:
            name = task_name(event.about, self._devices)
            lines_of_event.append(f"{at}  {name}: its result was taken over {escaped(event.note)}")
        if event.kind == "fault_injected":
            lines_of_event.append(f"{at}  fault injected: {escaped(event.note)}")
        return lines_of_event

    def _task(self, name: str, record: TaskRecord) -> str:
        if record.state in _QUIET and name not in self._last_words:
            return ""
        place = record.device if record.device and not name.endswith(f".{record.device}") else None
        on = f" on {self._devices.get(place, place)}" if place else ""
        by = self._markers.get(name, "")
        until = clock(record.not_before_ms)
        presented = presentation(
            record.state, record.reason, attempt=record.attempt, checked=record.checked, by=by, until=until
        )
        return presented.word + on


ARGS_CHARS_MOST: Final = 80
_SAID: Final = {
    EventKind.GOAL_ENDS: "ends without an answer",
    EventKind.GOAL_ESCALATED: "escalates",
    EventKind.GOAL_HINTED: "has a hint",
    EventKind.GOAL_REFUSED: "was refused a turn",
    EventKind.GOAL_STALLED: "gets nowhere",
}


def goal_lines(view: View) -> Iterator[Text]:
    """Yield a line for each goal that has begun, and one for each of its turns."""
    for job in view.each("job", Job).values():
        if job.goal is None:
            continue
        group = job.tasks[0].rpartition("/")[0]
        spec = view.specs.get(group)
        goal = spec.goal if spec is not None else None
        steps = sum(turn.uses for turn in job.goal.turns if turn.kind == "step")
        most = f" of {goal.steps * (1 + job.goal.more)}" if goal is not None else ""
        tier = f", tier {job.goal.tier}" if job.goal.tier else ""
        yield Text(f"goal {group}: {steps}{most} steps, {counted(job.tokens, 'token')}{tier}", style="bold")
        number = 0
        for turn in job.goal.turns:
            number += turn.kind == "step"
            kind = f"{turn.kind} to {turn.tier}" if turn.tier else turn.kind
            head = f"  {number:>2}  " if turn.kind == "step" else f"  {kind}: "
            calls = "; ".join(_call(view, task) for task in turn.tasks)
            yield Text(f"{head}{escaped(turn.note)}{f'  {calls}' if calls else ''}", style="bright_black")


def _call(view: View, task: str) -> str:
    spec = view.specs.get(task)
    if spec is None:
        return task
    args = spec.args if len(spec.args) <= ARGS_CHARS_MOST else f"{spec.args[:ARGS_CHARS_MOST]}..."
    return escaped(f"{spec.tool} {args}")


def turn_line(event: Event) -> str:
    """Return what an event tells of a goal beside its steps, which are versions of the plan; empty for any other."""
    words = _SAID.get(EventKind(event.kind)) if event.kind in set(_SAID) else None
    return f"the goal {escaped(event.about)} {words}: {escaped(event.note)}" if words is not None else ""


if TYPE_CHECKING:
    from starloom.client.answers import ResultJson
    from starloom_protocol.api.constellations import AnswerPart, AnswerShape


def answer_lines(answer: ResultJson | AnswerShape, devices: dict[str, str]) -> RenderableType:
    """Return the words, the sentence and the items of an answer as the hub sends it."""
    record = Answer(
        cites=[Cite(task=cite["task"], pointer=cite["pointer"]) for cite in answer.get("cites", ())],
        items=[_item(item) for item in answer["items"]],
        sentence=answer["sentence"],
        state=answer["state"],
        struck=list(answer.get("struck", ())),
        words=answer.get("words", ""),
    )
    return answer_text(record, devices)


def _item(item: AnswerPart) -> AnswerItem:
    origin = item["from"]
    return AnswerItem(
        artifact=item["artifact"],
        attempt=origin["attempt"],
        bytes=item["bytes"],
        checked=item["checked"],
        device=origin["device"],
        lacks=item.get("lacks", ""),
        media=item["media"],
        pointer=item["pointer"],
        show=item["show"],
        task=origin["task"],
        title=item["title"],
        value=canonical(item["value"]),
    )
