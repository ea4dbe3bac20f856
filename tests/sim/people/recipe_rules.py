"""What must be true of recipes: who replaces one, and that a schedule begins only what was approved for it unasked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from starloom.core.state import inputs as i
from starloom_protocol.records.entities import RecipeVersion, TaskSpec
from starloom_protocol.stream.authors import token_of, who
from starloom_protocol.stream.events import EventKind
from starloom_protocol.stream.feed import FLEET, Event
from starloom_protocol.vocabulary import ROLE_RANK, Approval, PrincipalKind, Role
from tests.sim.people.course import Course, Puts
from tests.sim.people.site import Heard

_READS = ("t.pure",)


class RecipeRules:
    """`heard` has the schedules that people saved, whose plans somebody with the right to approve has then approved."""

    def __init__(self, heard: list[Heard]) -> None:
        self._approved: dict[str, set[str]] = {}
        self._asked: dict[str, bool] = {}
        for one in heard:
            if isinstance(one.item, i.ScheduleSaved):
                self._approved.setdefault(one.value["id"], set()).add(_calls(one.item.plan.specs))

    def at(self, now: Course, event: Event, puts: Puts) -> Iterator[str]:
        if event.stream == FLEET and event.kind in (EventKind.RECIPE_SAVED, EventKind.RECIPE_REMOVED):
            yield from _of_others(now, event)
        head = (now.streams.get(event.stream, {}) | puts).get("head")
        if head is None or not head.schedule or not head.recipe or event.stream == FLEET:
            return
        if event.kind == EventKind.APPROVAL_ANSWERED and ":" in who(event.by):
            self._asked[event.stream] = True
            self._approved.setdefault(head.schedule, set()).add(_calls(_specs(now, event, puts)))
        if event.kind == EventKind.STARTED and not self._asked.get(event.stream):
            specs = _specs(now, event, puts)
            calls = _calls(specs)
            # What somebody allowed for good asks nobody any more.
            free = {*_READS, *[one.tool for one in now.of_kind(FLEET, "standing").values()]}
            is_waived = head.policy.approval is Approval.NEVER or all(spec.tool in free for spec in specs)
            if not is_waived and calls not in self._approved.get(head.schedule, set()):
                yield f"{event.stream} of {head.schedule} began {calls} unasked, which nobody has approved for it"

    def after(self, now: Course, events: list[Event]) -> Iterator[str]:
        yield from ()


def _of_others(now: Course, event: Event) -> Iterator[str]:
    versions: Any = [one for one in now.of_kind(FLEET, "recipe").values() if isinstance(one, RecipeVersion)]
    of_name = [one for one in versions if one.name == event.about]
    keeper = max(of_name, key=lambda one: one.number).author if of_name else event.by
    token = now.tokens().get(token_of(event.by))
    if token is None or who(keeper) == who(event.by):
        return
    holder = now.principals()[token.principal]
    is_person = holder.kind is PrincipalKind.PERSON and ROLE_RANK[token.role] >= ROLE_RANK[Role.APPROVER]
    if not is_person or (token.scopes and "approve" not in token.scopes):
        yield f"{event.kind} {event.about} of {keeper} by {event.by}, who may not approve"


def _specs(now: Course, event: Event, puts: Puts) -> list[TaskSpec]:
    records = now.streams.get(event.stream, {}) | puts
    return [one for key, one in records.items() if key.startswith("spec/") and one is not None]


def _calls(specs: list[TaskSpec]) -> str:
    return "; ".join(sorted(f"{spec.id} {spec.tool} {spec.args} {spec.device}" for spec in specs))
