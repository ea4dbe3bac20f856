"""Budgets: of a constellation its attempts on devices and its money for the model, and of the owner's model its day.

Owns when a budget is used up and the consequence: no more work begins, running work continues to its end, and a person
is asked. Continuing allows as much again. A call of the model is refused before it is made. It holds the most that it
may cost until its cost is reported, so that calls at the same time do not pass a budget together.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from starloom.core.state.inputs import ModelUsed
from starloom.core.state.model import Constellation
from starloom.core.state.work import Put, Refusal, Work, attend, check_claim, fault, named_job, unattend
from starloom_protocol.records.models import ModelBudget, ModelDay, ModelHold
from starloom_protocol.stream.authors import ENGINE
from starloom_protocol.stream.events import EventKind
from starloom_protocol.vocabulary import WORKING_CONSTELLATION_STATES, Attention, Code, ConstellationState

_MICROS: Final = 1_000_000
DAY_MS = 86_400_000
DAYS_KEPT = 31
CALLS_PER_CONSTELLATION: Final = 50


def used_up(constellation: Constellation) -> str:
    """Return the budget that is used up, in words; empty if none is."""
    budget = constellation.head.budget
    if budget is None:
        return ""
    most = budget.attempts * budget.times
    if most and attempts_made(constellation) >= most:
        return f"its budget of {most} attempts is used up"
    money = budget.micros * budget.times
    if money and sum(job.micros for job in constellation.jobs.values()) >= money:
        return f"its budget of {money / _MICROS:.2f} dollars for the model is used up"
    return ""


def attempts_made(constellation: Constellation) -> int:
    """Return the number of its attempts; those that a fork has from its origin were counted there."""
    if constellation.head.origin is None:
        return len(constellation.attempts)
    return sum(attempt.origin is None for attempt in constellation.attempts.values())


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
    new_head = replace(head, budget=replace(head.budget, times=head.budget.times + 1))
    work.emit(constellation, EventKind.BUDGET_RAISED, "", [("head", "", new_head)])
    unattend(work, constellation, Attention.BUDGET)


def on_used(work: Work, item: ModelUsed) -> None:
    """Count one call of a model, before or after it, for the job whose worker makes it; the cost of a call once.

    A call that has to wait for the cost of others is not counted, and answered by how long they may take.

    Raises:
        Refusal: there is no such job, or another worker has it; the caller must not continue. Or a budget is used up.
    """
    constellation, job = named_job(work, item.constellation, item.job)
    number = item.number or job.calls + item.calls
    days: dict[str, ModelDay] = work.shard.fleet.tables["model_day"]
    name = f"{constellation.head.id}/{job.id}/{number}"
    if item.call is None or all(one.call != name for day in days.values() for one in day.held):
        # The cost of a call that was allowed counts also where its worker has lost the claim since.
        check_claim(job, item.worker)
    if item.call is not None and f"{job.id}/{number}" in constellation.tables["call"]:
        # A message may come twice, the second time to a hub that has taken over and does not know its id.
        work.ignore("the cost of this call is counted")
        work.answer({"call": number, "counted": True})
        return
    holds = [one for day in days.values() for one in day.held if one.until_ms > work.at_ms and one.call != name]
    if item.budget is not None:
        if waits_ms := _waits_ms(work, constellation, item.budget, holds):
            work.ignore("a call of a model waits for the cost of others")
            work.answer({"wait_ms": waits_ms})
            return
        until_ms = work.at_ms + item.takes_ms
        holds.append(ModelHold(call=name, micros=item.micros_most, tokens=item.tokens_most, until_ms=until_ms))
    used = replace(job, calls=job.calls + item.calls, tokens=job.tokens + item.tokens, micros=job.micros + item.micros)
    puts: list[Put] = [("job", job.id, used)]
    if item.call is not None:
        call_record = replace(item.call, job=job.id, number=number)
        puts.append(("call", f"{job.id}/{number}", call_record))
    work.emit(constellation, EventKind.MODEL_USED, job.id, puts)
    stop(work, constellation)
    _count_today(work, item, holds)
    work.answer({"call": number, "counted": True})


def _count_today(work: Work, item: ModelUsed, holds: list[ModelHold]) -> None:
    """Count a use for its day, which takes the calls under way from the days before."""
    fleet = work.shard.fleet
    days: dict[str, ModelDay] = fleet.tables["model_day"]
    day = work.at_ms // DAY_MS
    today = days.get(str(day)) or ModelDay(day=day)
    counted = replace(
        today,
        calls=today.calls + item.calls,
        held=holds,
        micros=today.micros + item.micros,
        tokens=today.tokens + item.tokens,
    )
    old: list[Put] = [("model_day", key, None) for key, row in days.items() if row.day <= day - DAYS_KEPT]
    bare: list[Put] = [
        ("model_day", key, replace(row, held=[]))
        for key, row in days.items()
        if row.held and day - DAYS_KEPT < row.day != day
    ]
    work.emit(fleet, EventKind.MODEL_USED, str(day), [*old, *bare, ("model_day", str(day), counted)])


def _waits_ms(work: Work, constellation: Constellation, budget: ModelBudget, holds: list[ModelHold]) -> int:
    """Return how long a call waits for the cost of those under way, 0 if it may be made.

    One call may pass a budget by its own cost, which is not known before; two at once may not.

    Raises:
        Refusal: a budget is used up.
    """
    today = work.shard.fleet.tables["model_day"].get(str(work.at_ms // DAY_MS)) or ModelDay(day=0)
    why = _overspent(constellation, budget, today, [])
    if why:
        raise Refusal(fault(Code.MODEL_BUDGET, f"the model's budget is used up: {why}", "model"))
    if not holds or not _overspent(constellation, budget, today, holds):
        return 0
    return min(one.until_ms for one in holds) - work.at_ms


def _overspent(constellation: Constellation, budget: ModelBudget, today: ModelDay, holds: Sequence[ModelHold]) -> str:
    """Return the budget of the model that is used up once the calls under way are paid for; empty if none is."""
    jobs, own_budget = constellation.jobs.values(), constellation.head.budget
    here = [one for one in holds if one.call.startswith(f"{constellation.head.id}/")]
    calls = sum(job.calls for job in jobs)
    if calls >= CALLS_PER_CONSTELLATION:
        return f"this constellation has asked the model {calls} times"
    tokens = sum(job.tokens for job in jobs) + sum(one.tokens for one in here)
    if tokens >= budget.tokens_per_constellation:
        return f"this constellation has used {tokens} of {budget.tokens_per_constellation} tokens"
    most = own_budget.micros * own_budget.times if own_budget is not None else 0
    micros = sum(job.micros for job in jobs) + sum(one.micros for one in here)
    if most and micros >= most:
        return f"this constellation has used {micros / _MICROS:.2f} of its {most / _MICROS:.2f} dollars"
    tokens = today.tokens + sum(one.tokens for one in holds)
    if tokens >= budget.tokens_per_day:
        return f"{tokens} of {budget.tokens_per_day} tokens are used today"
    micros, day_most = today.micros + sum(one.micros for one in holds), budget.micros_per_day
    if day_most is not None and micros >= day_most:
        return f"{micros / _MICROS:.2f} of {day_most / _MICROS:.2f} dollars are used today"
    return ""
