"""Tasks of a preview that no device of now can ever begin, with the reason of the device and the way out.

Pure; it decides from the offers of devices and must not place anything. A missing grant, a device that is away and one
that has never told its tools are no such faults: they end without a change of the plan.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final, NamedTuple

import msgspec

from starloom.core.placement.feasible import Candidate, able
from starloom.core.placement.waiting import unable_words
from starloom.core.state.model import Fleet
from starloom.planner.fleet import FleetSnapshot
from starloom_protocol.api.previews import PreviewFault
from starloom_protocol.codes import Code
from starloom_protocol.plan import taken_by
from starloom_protocol.records.edits import AddTask, EditOperation, LoweredPlan, Reassign, UpdateTask
from starloom_protocol.records.entities import Selector, TaskSpec, ToolOffer
from starloom_protocol.text.wording import few, is_agent_line
from starloom_protocol.tools.hub_tools import HUB_TOOLS
from starloom_protocol.values import parse
from starloom_protocol.vocabulary import Gate, Reason

_NAMED_MOST: Final = 3
_ANY: Final = Selector()
_PICK: Final = "file.pick"
_SAVE: Final = "file.save"
_WRITE: Final = "fs.write"
_HANDING_OVER: Final = frozenset({"artifact.put", "fs.find"})
"""The tools by which other devices look through their files and give them away."""
_ORDINARY: Final = frozenset({Gate.SUCCESS, Gate.FINISH, Gate.UNLESS_FAILED, Gate.DATA})
"""The gates that open where all goes as planned."""


@dataclass(frozen=True)
class TaskFault:
    """A task that cannot work as it is written: the sentence, and the way out."""

    task: str
    reason: str
    way_out: str
    code: Code = Code.TOOL_UNAVAILABLE

    def plain(self) -> PreviewFault:
        """Return it as the JSON value that page and command line show."""
        return {"task": self.task, "reason": self.reason, "way_out": self.way_out}


@dataclass(frozen=True)
class MissingGrant:
    """A grant that a device's owner would have to give, with the exact line to type there."""

    device: str
    grant: str
    line: str
    task: str


def never_able(
    fleet: Fleet, tool: str, candidates: Iterable[Candidate], devices: Sequence[str]
) -> tuple[Candidate, ...]:
    """Return the candidates that cannot do this call: those of the chosen devices, or without a choice all of them.

    Without a choice the tuple is empty if only one device has the tool, whatever else that device lacks. A secret that
    a device may not receive is another fault.
    """
    considered = [item for item in candidates if not devices or item.device in devices]
    unable = tuple(
        item for item in considered if item.reason is Reason.NO_CAPABLE_DEVICE and _cannot(fleet, item.device, tool)
    )
    return unable if devices or len(unable) == len(considered) else ()


def can_begin(plan: LoweredPlan, fleet: FleetSnapshot) -> bool:
    """Tell whether each task of a plan surely has a device that can do its call; False where that takes a preview.

    Most plans are that plain, and a preview of each submission would cost more than its acceptance. Of tasks that make
    the same call on any device, one is looked at.
    """
    calls: set[tuple[str | None, str]] = set()
    for spec in plan.specs:
        call = spec.tool, spec.args
        anywhere = spec.device is None and not (spec.inputs or spec.for_each or spec.family or spec.any_of)
        if anywhere and call in calls:
            continue
        if not _can_begin(spec, fleet):
            return False
        if anywhere:
            calls.add(call)
    return True


def _can_begin(spec: TaskSpec, fleet: FleetSnapshot) -> bool:
    if spec.tool is None or spec.tool in HUB_TOOLS:
        return True
    if spec.for_each is not None or spec.family is not None or spec.any_of:
        return False
    if spec.device is None:
        return any(not misfit(spec, offer) for offer in fleet.able_now(spec.tool))
    name = spec.device.name or ""
    device = fleet.by_name.get(name.casefold()) if spec.device == Selector(name=name) else None
    return device is not None and device.can_now((spec.tool,)) and not misfit(spec, device.tools[spec.tool])


def _cannot(fleet: Fleet, device: str, tool: str) -> bool:
    """Tell whether a device that has told its tools cannot do this one."""
    if device not in fleet.offers:
        return False
    offer = fleet.tools.get(device, {}).get(tool)
    return offer is None or offer.unavailable is not None


def misfit(spec: TaskSpec, offer: ToolOffer) -> str:
    """Return why a device with this offer would refuse a call by the names of its arguments; empty: it takes them.

    A plan is read with all that any version of a tool takes; the device has one version.
    """
    takes = taken_by((offer.args,))
    arguments = [*parse(spec.args), *(item.name for item in spec.inputs)]
    faults = [("takes no", takes.unknown(arguments)), ("needs", takes.missing(arguments))]
    return " and ".join(
        f"{verb} {few([f'`{name}`' for name in arguments], _NAMED_MOST)}" for verb, arguments in faults if arguments
    )


def calls_after(operations: Iterable[EditOperation], tasks: Mapping[str, TaskSpec]) -> list[TaskSpec]:
    """Return the tasks that an edit adds, and those of `tasks` that it changes, as it leaves them."""
    specs: dict[str, TaskSpec] = {}
    for one in operations:
        if isinstance(one, AddTask):
            specs[one.spec.id] = one.spec
        elif isinstance(one, (UpdateTask, Reassign)) and (spec := specs.get(one.id) or tasks.get(one.id)):
            changes = one.changes if isinstance(one, UpdateTask) else {"device": one.device}
            whole = msgspec.json.encode({**msgspec.to_builtins(spec), **changes})
            # The core names the field that is of another kind.
            with suppress(msgspec.ValidationError):
                specs[one.id] = msgspec.json.decode(whole, type=TaskSpec)
    return list(specs.values())


class ToolVersion(NamedTuple):
    """A version of a tool, told by its arguments, with the devices that have it."""

    offer: ToolOffer
    devices: list[str]


def versions(fleet: Fleet, tool: str, devices: Iterable[str]) -> list[ToolVersion]:
    """Return the versions of a tool: few, however many devices there are."""
    by_args: dict[str, ToolVersion] = {}
    for device in devices:
        offer = fleet.tools.get(device, {}).get(tool)
        if offer is not None:
            by_args.setdefault(offer.args, ToolVersion(offer, [])).devices.append(device)
    return [*by_args.values()]


def misfits(spec: TaskSpec, offered: Iterable[ToolVersion]) -> dict[str, str]:
    """Return the devices that would refuse the arguments of a call by their versions of its tool, with the reason."""
    return {device: reason for offer, devices in offered if (reason := misfit(spec, offer)) for device in devices}


def misfit_words(fleet: Fleet, spec: TaskSpec, refusing: Mapping[str, str]) -> str:
    """Return the sentence for devices that would refuse a call."""
    refusals = few(
        [f"{fleet.devices[name].name} ({spec.tool} there {why})" for name, why in refusing.items()], _NAMED_MOST
    )
    return f"{spec.id} would be refused by {refusals}."


def misfit_fault(fleet: Fleet, spec: TaskSpec, refusing: Mapping[str, str]) -> TaskFault:
    """Return the fault of a task whose call its devices would refuse: the plan changes, or the device."""
    tool = spec.tool or ""
    fitting = [name for name in able(fleet, tool, _ANY) if not misfit(spec, fleet.tools[name][tool])]
    names = few([fleet.devices[name].name for name in fitting], _NAMED_MOST)
    others = f"Name another device: {names}; or change" if fitting else "Change"
    way = f"{others} the arguments of {spec.id}, or update the agent there."
    return TaskFault(spec.id, misfit_words(fleet, spec, refusing), way, Code.UNKNOWN_FIELD)


def capability_fault(
    fleet: Fleet,
    task: str,
    tool: str,
    unable: Sequence[Candidate],
    *,
    is_chosen: bool,
    missing: Sequence[MissingGrant] = (),
) -> TaskFault:
    """Return the fault of a task whose devices cannot do its call; `missing` are the grants that would mend it."""
    if not is_chosen:
        return _ungranted(task, tool, missing) or _nowhere(fleet, task, tool, unable)
    reasons = "; ".join(f"{fleet.devices[item.device].name} {item.words}" for item in unable[:_NAMED_MOST])
    left = len(unable) - _NAMED_MOST
    more = f"; and {left} more devices" if left > 0 else ""
    others = [fleet.devices[name].name for name in able(fleet, tool, _ANY)]
    names = ", ".join(others[:_NAMED_MOST])
    here = "There" if len(unable) == 1 else "On these devices"
    elsewhere = f"{names} can do it." if names else f"No other device can do {tool} now."
    out = ", ".join(fleet.devices[item.device].name for item in unable[:_NAMED_MOST])
    way = f"Name another device: {names}." if names else f"Leave {out} out, or make {tool} possible there first."
    reason = f"{task} can never begin: {reasons}{more}. {here} it would wait without end. {elsewhere}"
    return TaskFault(task, reason, _picked(fleet, tool, unable) or way)


def _picked(fleet: Fleet, tool: str, unable: Sequence[Candidate]) -> str:
    """Return the way out where the files are on a browser tab, which hands over only what its owner picks."""
    if tool == _WRITE:
        return _saved(fleet, unable)
    tabs = [item.device for item in unable if _PICK in fleet.tools.get(item.device, {})]
    if not tabs or tool not in _HANDING_OVER:
        return ""
    name = fleet.devices[tabs[0]].name
    others = [fleet.devices[one].name for one in able(fleet, _WRITE, _ANY) if one not in tabs]
    to = others[0] if others else "SERVER"
    return (
        f"{name} is a browser tab: it hands over only files that are picked on it. "
        f"Say: back up the pictures that I pick on {name} to {to}. A plan uses the tool {_PICK}."
    )


def _saved(fleet: Fleet, unable: Sequence[Candidate]) -> str:
    """Return the way out where files should go to a browser tab, whose owner saves them there."""
    tabs = [item.device for item in unable if _SAVE in fleet.tools.get(item.device, {})]
    if not tabs:
        return ""
    name = fleet.devices[tabs[0]].name
    givers = [fleet.devices[one].name for one in able(fleet, "artifact.put", _ANY) if one not in tabs]
    return (
        f"{name} is a browser tab: it has no folders to write to, and its owner saves what is sent there. "
        f"Say: send the file FILE from {givers[0] if givers else 'DEVICE'} to {name}. A plan uses the tool {_SAVE}."
    )


def _ungranted(task: str, tool: str, missing: Sequence[MissingGrant]) -> TaskFault | None:
    """Return the fault of a task that waits for a grant, with the lines for each device; None if no grant mends it."""
    if not missing:
        return None
    grants = missing[:_NAMED_MOST]
    reasons = "; ".join(f"{item.device} has not granted {item.grant}" for item in grants)
    reason = f"{task} waits: no device can do {tool} now: {reasons}."
    ways = ", or ".join(dict.fromkeys(map(_typed_there, grants)))
    return TaskFault(task, reason, f"{ways}. Then send the request again.")


def _typed_there(item: MissingGrant) -> str:
    """Return where a grant is given: a line to type there, or the words of a browser tab about its switch."""
    typed = is_agent_line(item.line)
    return f"Type `{item.line}` on {item.device}" if typed else f"On {item.device}: {item.line.rstrip('.')}"


def _nowhere(fleet: Fleet, task: str, tool: str, unable: Sequence[Candidate]) -> TaskFault:
    offering = [item for item in unable if tool in fleet.tools.get(item.device, {})]
    if offering:
        reasons = "; ".join(f"{fleet.devices[item.device].name} {item.words}" for item in offering[:_NAMED_MOST])
        return TaskFault(
            task, f"{task} waits: no device can do {tool} now: {reasons}.", "Mend that on one of them first."
        )
    offered_tools = {name for tools in fleet.tool_sets.different() for name in tools}
    near = get_close_matches(tool, sorted(offered_tools), n=1, cutoff=0.8)
    reason = f"{task} waits: no device offers {tool} now."
    if near:
        return TaskFault(task, f"{reason} Did you mean {near[0]}?", f"Write {near[0]} in the plan.")
    return TaskFault(task, reason, "Add a device that offers it (starloom enroll), or take the task out.")


def uncertain(plan: LoweredPlan) -> frozenset[str]:
    """Return the tasks that a condition or a failure calls for, with all that follows from them."""
    following: dict[str, list[str]] = {}
    for dependency in plan.dependencies:
        following.setdefault(dependency.source, []).append(dependency.target)
    waiting = [one.target for one in plan.dependencies if one.gate not in _ORDINARY or one.condition is not None]
    tasks: set[str] = set()
    while waiting:
        task = waiting.pop()
        if task not in tasks:
            tasks.add(task)
            waiting.extend(following.get(task, ()))
    return frozenset(tasks)


def dispensable(plan: LoweredPlan) -> frozenset[str]:
    """Return the optional tasks, no groups, that all other work can do without."""
    optional = {spec.id for spec in plan.specs if spec.optional}
    needed = {one.source for one in plan.dependencies if not one.optional and one.target not in optional}
    return frozenset(spec.id for spec in plan.specs if spec.optional and spec.for_each is None) - needed


def skipped_words(fleet: Fleet, spec: TaskSpec, unable: Iterable[Candidate]) -> str:
    """Return the sentence for an optional task that no device of now can begin."""
    reasons = few([f"{fleet.devices[item.device].name} {item.words}" for item in unable], _NAMED_MOST)
    when = "" if unable_words(fleet, spec) else f" after {spec.timeouts.schedule_to_start_s} s"
    return f"{spec.id} is optional and will be skipped{when}: {reasons}."
