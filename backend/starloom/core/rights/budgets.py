"""Budgets of a constellation: attempts on devices, and money for the model.

Owns when a budget is used up and the consequence: no more work begins, running work continues to its end, and a person
is asked. Continuing allows as much again. A call of the model is refused by its worker, before it is made.
"""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from starloom.core.state.inputs import ModelUsed
from starloom.core.state.model import Constellation
from starloom.core.state.work import Put, Work, attend, check_claim, named_job, unattend
from starloom_protocol.records.models import ModelDay
from starloom_protocol.stream.authors import ENGINE
from starloom_protocol.stream.events import EventKind
from starloom_protocol.vocabulary import WORKING_CONSTELLATION_STATES, Attention, ConstellationState

_MICROS: Final = 1_000_000
DAY_MS = 86_400_000
DAYS_KEPT = 31


def used_up(constellation: Constellation) -> str:
    """Return the budget that is used up, in words; empty if none is."""
    budget = constellation.head.budget
    if budget is None:
        return ""
    most = budget.attempts * budget.times
    if most and len(constellation.attempts) >= most:
        return f"its budget of {most} attempts is used up"
    money = budget.micros * budget.times
    if money and sum(job.micros for job in constellation.jobs.values()) >= money:
        return f"its budget of {money / _MICROS:.2f} dollars for the model is used up"
    return ""


def stop(work: Work, constellation: Constellation) -> bool:
    """Pause a working constellation whose budget is used up; True if it was."""
    head = constellation.head
    why = used_up(constellation) if head.budget is not None and head.state in WORKING_CONSTELLATION_STATES else ""
    if not why:
        return False
    paused = replace(head, state=ConstellationState.PAUSED, paused_since_ms=work.at_ms)
    work.emit(constellation, EventKind.PAUSED, "", [("head", "", paused)], note=why, by=ENGINE)
    attend(work, constellation, Attention.BUDGET, note=f"{why}; resume it to allow as much again, or cancel it")
    return True


def allow_again(work: Work, constellation: Constellation) -> None:
    """Allow a constellation that its budget stopped to use as much again, when a person lets it continue."""
    head = constellation.head
    if head.budget is None or Attention.BUDGET not in head.attention:
        return
    more = replace(head, budget=replace(head.budget, times=head.budget.times + 1))
    work.emit(constellation, EventKind.BUDGET_RAISED, "", [("head", "", more)])
    unattend(work, constellation, Attention.BUDGET)


def on_used(work: Work, item: ModelUsed) -> None:
    """Count one call of a model, before or after it, for the job whose worker makes it; the cost of a call once.

    Raises:
        Refusal: there is no such job, or another worker has it; the caller must not continue.
    """
    constellation, job = named_job(work, item.constellation, item.job)
    check_claim(job, item.worker)
    number = item.number or job.calls + item.calls
    if item.call is not None and f"{job.id}/{number}" in constellation.tables["call"]:
        # A message may come twice, the second time to a hub that has taken over and does not know its id.
        work.ignore("the cost of this call is counted")
        work.answer({"call": number, "counted": True})
        return
    used = replace(job, calls=job.calls + item.calls, tokens=job.tokens + item.tokens, micros=job.micros + item.micros)
    puts: list[Put] = [("job", job.id, used)]
    if item.call is not None:
        called = replace(item.call, job=job.id, number=number)
        puts.append(("call", f"{job.id}/{number}", called))
    work.emit(constellation, EventKind.MODEL_USED, job.id, puts)
    stop(work, constellation)
    fleet = work.shard.fleet
    days: dict[str, ModelDay] = fleet.tables["model_day"]
    day = work.at_ms // DAY_MS
    today = days.get(str(day)) or ModelDay(day=day)
    counted = replace(
        today, calls=today.calls + item.calls, tokens=today.tokens + item.tokens, micros=today.micros + item.micros
    )
    old: list[Put] = [("model_day", key, None) for key, kept in days.items() if kept.day <= day - DAYS_KEPT]
    work.emit(fleet, EventKind.MODEL_USED, str(day), [*old, ("model_day", str(day), counted)])
    work.answer({"call": number, "counted": True})
