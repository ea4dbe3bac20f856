"""What the owner's model was used for: kept with the job and with the day, so that budgets outlive every process."""

from __future__ import annotations

from msgspec.structs import replace

from starloom.core import budgets
from starloom.core.inputs import ModelUsed
from starloom.core.work import Put, Refusal, Work, fault
from starloom_protocol.model_records import ModelDay
from starloom_protocol.vocabulary import Code

DAY_MS = 86_400_000
DAYS_KEPT = 31


def on_used(work: Work, item: ModelUsed) -> None:
    """Count one call of a model, before it or after it, for the job whose worker made it.

    Raises:
        Refusal: there is no such job, or another worker has it; the caller must not go on.
    """
    constellation = work.shard.constellations.get(item.constellation)
    job = constellation.jobs.get(item.job) if constellation else None
    if constellation is None or job is None:
        raise Refusal(fault(Code.NOT_FOUND, f"there is no job {item.job}"))
    if job.claimed_by != item.worker:
        raise Refusal(fault(Code.CONFLICT, f"the job is claimed by {job.claimed_by}"))
    used = replace(job, calls=job.calls + item.calls, tokens=job.tokens + item.tokens, micros=job.micros + item.micros)
    work.emit(constellation, "model_used", job.id, [("job", job.id, used)])
    budgets.stop(work, constellation)
    fleet = work.shard.fleet
    days: dict[str, ModelDay] = fleet.tables["model_day"]
    number = work.at_ms // DAY_MS
    today = days.get(str(number)) or ModelDay(day=number)
    counted = replace(
        today, calls=today.calls + item.calls, tokens=today.tokens + item.tokens, micros=today.micros + item.micros
    )
    old: list[Put] = [("model_day", key, None) for key, kept in days.items() if kept.day <= number - DAYS_KEPT]
    work.emit(fleet, "model_used", str(number), [*old, ("model_day", str(number), counted)])
    work.answer({"counted": True})
