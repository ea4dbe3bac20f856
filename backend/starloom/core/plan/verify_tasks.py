"""Begins the look at an attempt that is over and may have had its effect: the `verify` call of its task.

It is an ordinary task with its own attempt, on the device that made the one in doubt, and begins only once that
device has said that this one is over: what still runs may yet have its effect. What a look decides is `verifying`'s.
"""

from __future__ import annotations

from typing import Final

from starloom.core.plan.edits import apply_edit
from starloom.core.run.verification import name_of, of
from starloom.core.state.model import Shard
from starloom.core.state.work import Work
from starloom_protocol.edits import AddTask
from starloom_protocol.entities import OnAbsence, Selector, TaskSpec
from starloom_protocol.vocabulary import ConstellationState, Repeatability, TaskState

_GOES_ON: Final = frozenset({ConstellationState.ACTIVE, ConstellationState.PAUSED})


def begin(work: Work, name: str, task: str) -> None:
    """Add the look at the attempt of a task that is in doubt, as one version of the plan."""
    constellation = work.shard.constellations[name]
    spec, record = constellation.specs[task], constellation.tasks[task]
    call = spec.verify
    if call is None or record.state is not TaskState.UNKNOWN or of(constellation, task) is not None:
        return
    look, device = name_of(task, record.attempt), constellation.attempt(task, record.attempt).device
    may = constellation.head.state in _GOES_ON and look not in constellation.specs
    if not may or not _only_looks(work.shard, device, call.tool):
        work.ignore("it cannot be looked whether it happened")
        return
    made = TaskSpec(
        args=call.args,
        changed_in=0,
        device=Selector(id=device),
        id=look,
        on_absence=OnAbsence(then="wait"),
        optional=True,
        tool=call.tool,
        verifies=f"{task}/{record.attempt}",
    )
    why = f"{task} may have happened"
    apply_edit(work, constellation, [AddTask(spec=made)], author="engine", reason=why, trigger="verify")


def _only_looks(shard: Shard, device: str, tool: str) -> bool:
    offer = shard.fleet.offers.get(device)
    return offer is not None and any(
        one.name == tool and one.repeatability is Repeatability.PURE for one in offer.tools
    )
