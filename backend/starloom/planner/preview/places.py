"""The places of a task before its plan runs: the device that placement would choose now, with the reason.

Asks the core of placement, which decides alike while the plan runs. Changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import replace as dataclass_replace

import msgspec
from msgspec.structs import replace

from starloom.core.placement.device_groups.left_out import demonstration
from starloom.core.placement.device_groups.off_devices import REPORT, is_off
from starloom.core.placement.feasible import Candidate, asked_for, judge_device, selects
from starloom.core.state.model import Fleet
from starloom.core.state.task_needs import Needs
from starloom.planner.preview.capability import ToolVersion, versions
from starloom_protocol.records.entities import Device, ForEach, Selector, TaskSpec
from starloom_protocol.records.specs import by_result
from starloom_protocol.stream.authors import who
from starloom_protocol.values import parse
from starloom_protocol.vocabulary import DeviceLink, Reason

_ANY = Selector()
_PATHS = ("path", "paths", "file", "folder", "folders", "root")
"""The arguments of tools that name what lies on the device of the call."""


@dataclass(frozen=True)
class Placed:
    """The placement of the tasks of one demand: `device` in words, the ids of the chosen, and all candidates.

    For a group over devices, `passed_over` are the ids that it leaves out though they offer its tools, `off` are
    sentences on devices that are off, and `demos` are the names of demonstration devices that real ones replace.
    """

    device: str | None
    why: str
    devices: list[str]
    candidates: list[Candidate]
    passed_over: tuple[str, ...] = ()
    off: tuple[str, ...] = ()
    demos: tuple[str, ...] = ()
    versions: Sequence[ToolVersion] = ()
    """The versions of its tool on the devices that can get the call: all of a group, else any that can do it."""


class Places:
    """Places each demand of a plan once, however many tasks have it; `most` candidates are listed for a task."""

    def __init__(self, fleet: Fleet, most: int) -> None:
        self.fleet = fleet
        self.most = most
        self._placed: dict[tuple[object, ...], Placed] = {}

    def of(self, spec: TaskSpec, over: ForEach | None, needs: Needs | None) -> Placed:
        """Return the place of a task, or of the group over devices that runs it."""
        target = over if over is not None else spec.device
        secrets = (needs.names, needs.recipe) if needs is not None else None
        key = (spec.tool, over is None, None if target is None else msgspec.json.encode(target), secrets)
        placed, tool = self._placed.get(key), spec.tool or ""
        if placed is None:
            group = over.devices if over is not None else None
            placed = _over_devices(tool, over, group, self.fleet) if over and group else _one(spec, self.fleet, needs)
            able = [] if group else [item.device for item in placed.candidates if is_capable(item)]
            placed = dataclass_replace(placed, versions=versions(self.fleet, tool, able or placed.devices))
            self._placed[key] = placed
        return placed


def chosen_way(spec: TaskSpec, over: ForEach | None, places: Places, needs: Needs | None) -> tuple[TaskSpec, Placed]:
    """Return a task with the call that it would take now, and the place of that call."""
    placed = places.of(spec, over, needs)
    if placed.devices or not spec.any_of:
        return spec, placed
    for at, call in enumerate(spec.any_of):
        rest = [*spec.any_of[:at], *spec.any_of[at + 1 :]]
        other = replace(spec, any_of=rest, args=call.args, device=call.device, secrets=[], tool=call.tool)
        other_place = places.of(other, None, None)
        if other_place.devices:
            return other, dataclass_replace(other_place, why=f"{other_place.why}, and {placed.why}")
    return spec, placed


def device_group(spec: TaskSpec, specs: Mapping[str, TaskSpec]) -> ForEach | None:
    root = specs.get(spec.family or spec.id, spec)
    over_devices = spec.for_each is not None and root.for_each is not None and root.for_each.devices is not None
    # A device of its own is where each of its children goes.
    if not over_devices or spec.device is not None or root.for_each is None or root.for_each.devices is None:
        return None
    return replace(root.for_each, devices=asked_for(root, root.for_each.devices))


def path_warnings(specs: Mapping[str, TaskSpec]) -> Iterable[str]:
    """Yield a sentence for each task that may run on any device, and takes paths of a task that has one device."""
    for spec in specs.values():
        if spec.tool is None or _is_tied(spec, specs):
            continue
        device_of = {source: name for source in _path_sources(spec, specs) if (name := _one_name(specs.get(source)))}
        for source, device in device_of.items():
            yield (
                f"{spec.id} takes paths that {source} gives, which are those of {device}, and may run on another "
                f"device, where they mean other files or none. Set the device of {spec.id} to {device}."
            )


def _is_tied(spec: TaskSpec, specs: Mapping[str, TaskSpec]) -> bool:
    """Whether the plan names the devices of a task, or makes it for each of a group, so that its place is meant."""
    return (spec.device is not None and spec.device.names_devices) or device_group(spec, specs) is not None


def _one_name(spec: TaskSpec | None) -> str | None:
    return spec.device.name if spec is not None and spec.tool is not None and spec.device is not None else None


def _path_sources(spec: TaskSpec, specs: Mapping[str, TaskSpec]) -> Iterable[str]:
    """Yield the tasks from whose results a task takes paths, whole or item by item."""
    for item in spec.inputs:
        source = specs.get(item.source)
        # What a search gives as files are paths there; other files lie in the hub's store.
        if item.name in _PATHS or (item.name == "files" and source is not None and source.tool == "fs.find"):
            yield item.source
    root = specs.get(spec.family or spec.id, spec).for_each
    if root is None or not root.source or spec.for_each is None:
        return
    args = parse(spec.args)
    if isinstance(args, dict) and any(b'"each"' in msgspec.json.encode(args.get(name)) for name in _PATHS):
        yield root.source


def is_capable(candidate: Candidate) -> bool:
    return candidate.reason in (None, Reason.BUSY)


def _look(fleet: Fleet, tool: str, selector: Selector, needs: Needs | None = None) -> list[Candidate]:
    """Judge every device that the plan allows; if there is none, all, so that the reason is seen."""
    ordered = sorted(fleet.devices.values(), key=lambda device: (device.demo, device.name))
    judged = [(device, judge_device(fleet, device, tool, selector, needs)) for device in ordered]
    allowed = [
        candidate for device, candidate in judged if selects(selector, device, dict(fleet.tools.get(device.id, {})))
    ]
    return allowed or [candidate for _, candidate in judged]


def home_words(spec: TaskSpec, placed: Placed, fleet: Fleet) -> str:
    """Return the words on a task that takes values, where devices of several people could have it."""
    able = {who(fleet.devices[item.device].let_in_by) for item in placed.candidates if is_capable(item)}
    if not spec.inputs or len(able - {""}) < 2:
        return ""
    return ", on a device of the person on whose device its values are made, while one can"


def _one(spec: TaskSpec, fleet: Fleet, needs: Needs | None) -> Placed:
    selector = spec.device or _ANY
    candidates = _look(fleet, spec.tool or "", selector, needs)
    able = [item for item in candidates if is_capable(item)]
    if able:
        best = able[0]
        if selector.name or selector.id:
            why = "the plan names it"
        else:
            why = "it is the only one that can" if len(able) == 1 else f"one of {len(able)} that can"
        return Placed(fleet.devices[best.device].name, why, [best.device], candidates)
    selected = [fleet.devices[item.device] for item in candidates if selects(selector, fleet.devices[item.device], {})]
    is_named = selector.name or selector.id
    if is_named and len(selected) == 1:
        return Placed(selected[0].name, candidates[0].words, [selected[0].id], candidates)
    return Placed(None, f"no device can do {spec.tool} now", [], candidates)


def _fitting(over: ForEach, fleet: Fleet) -> list[Device]:
    """Return the devices that a group would be made for, those that are off too; ordered by name."""
    fitting = [
        device
        for device in sorted(fleet.devices.values(), key=lambda device: device.name)
        if not device.revoked
        and over.devices is not None
        and selects(over.devices, device, dict(fleet.tools.get(device.id, {})))
    ]
    counted = fitting if over.when_off == REPORT else [device for device in fitting if not is_off(device)]
    # Demonstration devices stand in only where there is no other, or where they are named.
    stand_in = over.devices is None or over.devices.names_devices or all(item.demo for item in counted)
    return fitting if stand_in else [device for device in fitting if not device.demo]


def _off(over: ForEach, fleet: Fleet) -> Iterable[str]:
    """Yield sentences about the devices that a group would include if they were not off."""
    becomes = "the answer says since when" if over.when_off == REPORT else "it is left out"
    for device in _fitting(over, fleet):
        if is_off(device):
            yield f"{device.name} is off; {becomes}."


def _over_devices(tool: str, over: ForEach, selector: Selector, fleet: Fleet) -> Placed:
    candidates = _look(fleet, tool, selector)
    online = [device for device in _fitting(over, fleet) if not is_off(device)]
    if over.times:
        fitting = len(online)
        online = online[: over.times]
        if fitting < over.times:
            why = f"{fitting} of the {over.times} different devices that it needs are online and fit"
            return Placed(None, why, [], candidates)
    off = tuple(_off(over, fleet))
    if not online:
        return Placed(None, "no device that is online fits", [], candidates, off=off)
    if by_result(over):
        return Placed(_names(online), f"the one that {over.source} names", [device.id for device in online], candidates)
    unable = [item for item in candidates if item.device in {device.id for device in online} and not is_capable(item)]
    why = f"on {len(online)} devices" if len(online) > 1 else "on one device"
    if unable:
        why += f"; {fleet.devices[unable[0].device].name} {unable[0].words}"
    names, devices = _names(online), [device.id for device in online]
    demos = tuple(device.name for device in demonstration(fleet, selector, devices))
    return Placed(names, why, devices, candidates, tuple(_passed_over(selector, devices, fleet)), off, demos)


def _names(devices: Iterable[Device]) -> str:
    return ", ".join(device.name for device in devices)


def _passed_over(group: Selector, devices: list[str], fleet: Fleet) -> Iterable[str]:
    """Yield the devices that a group over all that can do it passes over, because their owners have not allowed it."""
    if not group.tools or group.name or group.id or group.any:
        return
    labelled = Selector(labels=group.labels, os=group.os)
    for device in sorted(fleet.devices.values(), key=lambda device: device.name):
        offered = fleet.tools.get(device.id, {})
        if device.id in devices or device.demo or device.link is not DeviceLink.ONLINE:
            continue
        if selects(labelled, device, offered) and all(tool in offered for tool in group.tools):
            yield device.id
