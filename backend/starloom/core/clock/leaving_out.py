"""Optional parts that are left out so that a constellation ends in time, where its plan declares that.

Owns which parts may be left out, and their skip. A part that has begun stays, and so does one whose result a part that
is not optional needs. The chance comes from the hub's forecast; the core only compares it with the policy.
"""

from __future__ import annotations

from starloom.core.plan.groups import end_group
from starloom.core.state.inputs import PartLeftOut
from starloom.core.state.model import Constellation
from starloom.core.state.tasks.roles import is_needed, is_optional_part, is_unbegun
from starloom.core.state.work import Refusal, Work, change_task, close_question, fault, moved
from starloom_protocol.stream.authors import ENGINE
from starloom_protocol.stream.events import EventKind
from starloom_protocol.vocabulary import Code, ConstellationState, GroupState, Reason, TaskState


def parts_to_leave_out(constellation: Constellation) -> list[str]:
    """Return the optional parts that may be left out now, those first after which the least other work comes."""
    optional = (part for part, spec in constellation.specs.items() if is_optional_part(spec))
    parts = [part for part in optional if _can_be_skipped(constellation, part)]
    return sorted(parts, key=lambda part: (constellation.rank.get(part, 0), part))


def _can_be_skipped(constellation: Constellation, part: str) -> bool:
    if part in constellation.tasks:
        has_begun = not is_unbegun(constellation.tasks[part])
    else:
        group = constellation.groups[part]
        has_begun = group.state is not GroupState.WAITING or group.round > 1 or bool(constellation.children.get(part))
    return not has_begun and not is_needed(constellation, part)


def on_left_out(work: Work, item: PartLeftOut) -> None:
    """Skip an optional part of a constellation whose chance to end in time is below that of its policy.

    Raises:
        Refusal: it has begun, is not optional, or the plan does not say so.
    """
    constellation = work.shard.constellations.get(item.constellation)
    if constellation is None or item.constellation not in work.shard.live:
        raise Refusal(fault(Code.NOT_FOUND, f"there is no running constellation {item.constellation}"))
    head = constellation.head
    if work.by != ENGINE or head.state is not ConstellationState.ACTIVE or item.chance >= head.policy.drop_below:
        raise Refusal(fault(Code.ILLEGAL_CONTROL, "nothing is left out of it now"))
    if item.task not in parts_to_leave_out(constellation):
        raise Refusal(fault(Code.ILLEGAL_CONTROL, f"{item.task} has begun, or other work needs it"))
    why = (
        f"the chance to end in time was {item.chance} %, and the plan leaves optional parts out below "
        f"{head.policy.drop_below} %"
    )
    if item.task in constellation.groups:
        reason = Reason.LEFT_OUT
        end_group(work, constellation, item.task, GroupState.SKIPPED, reason=reason, cause="not_chosen", note=why)
    else:
        record = constellation.tasks[item.task]
        close_question(work, constellation, item.task)
        skipped = moved(work, record, TaskState.SKIPPED, reason=Reason.LEFT_OUT, cause="not_chosen")
        change_task(work, constellation, item.task, EventKind.TASK_SKIPPED, skipped, note=why)
    work.answer({"left_out": item.task})
