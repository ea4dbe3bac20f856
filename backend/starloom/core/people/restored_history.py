"""A history restored from a backup: work that may have run since the backup waits for a person.

Devices report the work that they have begun (`unknown_attempts`) when they connect. Until then constellations that
could begin work a second time are paused, and continue when a person resumes them. Those with only repeatable work left
are not stopped.
"""

from __future__ import annotations

from msgspec.structs import replace

from starloom.core.state.inputs import HistoryRestored
from starloom.core.state.model import Constellation, Fleet
from starloom.core.state.work import Work, attend
from starloom_protocol.records.entities import TaskSpec
from starloom_protocol.stream.authors import ENGINE
from starloom_protocol.stream.events import EventKind
from starloom_protocol.vocabulary import REPEATABLE, Attention, ConstellationState, GroupState, TaskState

WHY = "this history was restored from a backup: work may have run since it was made"
_UNBEGUN = frozenset({TaskState.WAITING, TaskState.READY})


def on_restored(work: Work, _item: HistoryRestored) -> None:
    """Pause constellations that could run unrepeatable work a second time; idempotent."""
    for name in list(work.shard.live):
        constellation = work.shard.constellations[name]
        head = constellation.head
        if head.state in (ConstellationState.PLANNING, ConstellationState.LOOKING):
            if not head.hold:
                held = replace(head, hold=True)
                work.emit(constellation, EventKind.HELD, "", [("head", "", held)], note=WHY, by=ENGINE)
        elif head.state is ConstellationState.CANCELLING or not _could_repeat(work.shard.fleet, constellation):
            continue
        elif head.state is ConstellationState.ACTIVE:
            paused = replace(head, state=ConstellationState.PAUSED, paused_since_ms=work.at_ms)
            work.emit(constellation, EventKind.PAUSED, "", [("head", "", paused)], note=WHY, by=ENGINE)
        attend(work, constellation, Attention.HISTORY_RESTORED, note=WHY)


def _could_repeat(fleet: Fleet, constellation: Constellation) -> bool:
    """Tell whether any task not begun in this history may not be repeated; a tool that no device offers counts."""
    unbegun = [name for name, record in constellation.tasks.items() if record.state in _UNBEGUN]
    unbegun += [name for name, record in constellation.groups.items() if record.state is GroupState.WAITING]
    return any(_unrepeatable(fleet, constellation.specs[name]) for name in unbegun)


def _unrepeatable(fleet: Fleet, spec: TaskSpec) -> bool:
    if spec.tool is None:
        return False
    if spec.repeatability is not None:
        return spec.repeatability not in REPEATABLE
    offers = [offered[spec.tool] for offered in fleet.tool_sets.different() if spec.tool in offered]
    return not offers or any(offer.repeatability not in REPEATABLE for offer in offers)
