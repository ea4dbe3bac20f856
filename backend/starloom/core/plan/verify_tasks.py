"""Verify tasks: each checks whether an attempt in doubt had its effect, by the `verify` call of its task.

A verify task is an ordinary task with its own attempt, on the device of the attempt in doubt. It begins only after the
device has reported that attempt's end, since a running one may still have its effect. `run.verification` decides.
"""

from __future__ import annotations

from typing import Final

from starloom.core.plan.edits import apply_edit
from starloom.core.run.verification import name_of, of
from starloom.core.state.model import Shard
from starloom.core.state.work import Work
from starloom_protocol.records.edits import AddTask
from starloom_protocol.records.entities import OnAbsence, Selector, TaskSpec
from starloom_protocol.stream.authors import ENGINE
from starloom_protocol.vocabulary import ConstellationState, Repeatability, TaskState

_GOES_ON: Final = frozenset({ConstellationState.ACTIVE, ConstellationState.PAUSED})


def begin(work: Work, name: str, task: str) -> None:
    """Add the verify task for the attempt of a task in doubt, as one version of the plan."""
    constellation = work.shard.constellations[name]
    spec, record = constellation.specs[task], constellation.tasks[task]
    call = spec.verify
    if call is None or record.state is not TaskState.UNKNOWN or of(constellation, task) is not None:
        return
    name_of_look, device = name_of(task, record.attempt), constellation.attempt(task, record.attempt).device
    may = constellation.head.state in _GOES_ON and name_of_look not in constellation.specs
    if not may or not _only_looks(work.shard, device, call.tool):
        work.ignore("it cannot be looked whether it happened")
        return
    verify_spec = TaskSpec(
        args=call.args,
        changed_in=0,
        device=Selector(id=device),
        id=name_of_look,
        on_absence=OnAbsence(then="wait"),
        optional=True,
        tool=call.tool,
        verifies=f"{task}/{record.attempt}",
    )
    why = f"{task} may have happened"
    apply_edit(work, constellation, [AddTask(spec=verify_spec)], author=ENGINE, reason=why, trigger="verify")


def _only_looks(shard: Shard, device: str, tool: str) -> bool:
    offer = shard.fleet.offers.get(device)
    return offer is not None and any(
        one.name == tool and one.repeatability is Repeatability.PURE for one in offer.tools
    )
