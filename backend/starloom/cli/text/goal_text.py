"""Goals as text for a terminal: how far each is, its steps with their notes and calls. Renders; decides nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rich.text import Text

from starloom.client.terminal.escaping import escaped
from starloom.client.view import View
from starloom_protocol.records.entities import Job
from starloom_protocol.stream.events import EventKind
from starloom_protocol.stream.feed import Event
from starloom_protocol.text.wording import counted

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
    said = _SAID.get(EventKind(event.kind)) if event.kind in set(_SAID) else None
    return f"the goal {escaped(event.about)} {said}: {escaped(event.note)}" if said is not None else ""
