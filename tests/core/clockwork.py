"""A driver of the core whose clock can be turned: timers of schedules fire in the order in which they are due."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from starloom.core.clock.schedules import TIMERS
from starloom.core.clock.timers import due_moments
from starloom.core.people.approvals.need import seen_hash
from starloom.core.state import inputs as i
from starloom.core.state.apply import load
from starloom.core.state.orders import Answer
from starloom.core.state.settings import ShardSettings
from starloom_protocol.records.edits import LoweredPlan
from starloom_protocol.records.entities import Principal, Token
from starloom_protocol.records.schedules import Schedule
from starloom_protocol.stream.feed import ACCESS
from starloom_protocol.vocabulary import Role
from tests.builders import Driver, plan, task

LOOK = plan(task("a"), name="Look")
MINUTE, HOUR, DAY = 60_000, 3_600_000, 86_400_000


def at(text: str, zone: str = "UTC") -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone)).timestamp() * 1000)


class Clockwork(Driver):
    """Ann is an owner; `save` puts a plan on a clock, `turn_to` lets time pass."""

    def __init__(self, start: str = "2026-06-01T00:30", *devices: str, settings: ShardSettings | None = None) -> None:
        super().__init__(*(devices or ("one",)), settings=settings, whole=False)
        self.now_ms = at(start)
        ann = Principal(created_ms=0, id="p-ann", name="ann", role=Role.OWNER)
        token = Token(
            created_ms=0, expires_ms=0, id="k1", kind="bearer", principal="p-ann", role=Role.OWNER, secret_hash="x"
        )
        load(self.shard, ACCESS, 0, {"principal/p-ann": ann, "token/k1": token})

    def drawn(self, name: str = "s-one", **fields: Any) -> Schedule:
        given: dict[str, Any] = {"cron": "0 * * * *", "zone": "UTC", "token": "k1", "name": name} | fields
        return Schedule(author="person:ann", created_ms=0, id=name, owner="p-ann", **given)

    def ask_save(
        self,
        made: LoweredPlan = LOOK,
        name: str = "s-one",
        *,
        change: bool = False,
        plan_hash: str | None = None,
        keep: bool = True,
        **fields: Any,
    ) -> Answer:
        shown = seen_hash(self.shard.fleet, made, by="person:ann") if plan_hash == made.hash else plan_hash
        return self.do(
            i.ScheduleSaved(
                by="person:ann",
                change=change,
                id=self.ident(),
                keep_plan=keep,
                plan=made,
                plan_hash=shown,
                schedule=self.drawn(name, **fields),
            )
        )

    def save(self, made: LoweredPlan = LOOK, name: str = "s-one", **fields: Any) -> Schedule:
        answer = self.ask_save(made, name, **fields)
        assert not answer.faults, answer.faults
        return self.schedule(name)

    def schedule(self, name: str = "s-one") -> Schedule:
        return self.shard.fleet.schedules[name]

    def order(self, action: str, name: str = "s-one", **fields: Any) -> Answer:
        given: dict[str, Any] = {"by": "person:ann", "owner": "p-ann"} | fields
        return self.do(i.ScheduleControlled(action=action, id=self.ident(), schedule=name, **given))

    def news(self) -> str:
        """Return the news of the schedule, which its owner has then seen."""
        notice = self.schedule().notice
        told = notice.text if notice is not None and notice.news_for("p-ann") else ""
        self.order("seen")
        return told

    def alarm(self) -> bool:
        last = self.schedule().last
        return last is not None and last.alarm

    def turn_to(self, text: str, zone: str = "UTC") -> None:
        """Let time pass until then; whatever is due on the way fires at its moment."""
        self._turn(at(text, zone))

    def settle(self) -> None:
        """Fire what is due now."""
        self._turn(self.now_ms)

    def wake_at(self, text: str) -> None:
        """Let time jump, as for a hub that was off: its timers are armed anew from state, and fire late."""
        self.now_ms = at(text, "UTC")
        self.timers = list(due_moments(self.shard))
        self.settle()

    def _turn(self, until_ms: int) -> None:
        while True:
            ours = [timer for timer in self.timers if timer.kind in TIMERS and timer.due_ms <= until_ms]
            if not ours:
                break
            first = min(ours, key=lambda timer: timer.due_ms)
            self.timers.remove(first)
            self.fire(first)
        self.now_ms = max(self.now_ms, until_ms)

    def firings(self) -> list[str]:
        """Return the constellations that a clock has made, oldest first."""
        return [name for name, found in self.shard.constellations.items() if found.head.schedule]

    def notes(self, kind: str) -> list[str]:
        return [event.note for event in self.events if event.kind == kind]
