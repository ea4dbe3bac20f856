"""The envelope of a goal: what one call of a step may do, must be asked about, or may not do at all.

Pure. The words of a step may come from an attacker by way of a model, so each call is judged by its device's own offer
against the envelope that a person approved. Devices, tools and folders are bounds. Calls beyond reading are asked about
each time, unless they write in a folder or reach a host that the envelope names. Once a goal has read what a stranger
may have written, such a call outside of these folders and hosts is refused without a question. `envelope_words` says
the envelope to the person who approves it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

from msgspec.structs import replace

from starloom.core.placement.feasible import is_kept_from, selects
from starloom.core.rights.call_effects import CHANGING, PLACES, effects_of_call, offers_in
from starloom.core.state.inputs import LookCall
from starloom.core.state.model import Fleet
from starloom.core.state.work import fault
from starloom_protocol.records.entities import Device, Fault, Goal, OnAbsence, Selector, TaskSpec, Timeouts, ToolOffer
from starloom_protocol.records.goals import Milestone
from starloom_protocol.text.wording import few, quoted
from starloom_protocol.tools.ways_back import LEFT_BY, UNDOING
from starloom_protocol.values import has_node, parse
from starloom_protocol.vocabulary import RISKY_EFFECTS, Code, Effect, Repeatability

ARGS_BYTES_MOST: Final = 16 * 1024
CALLS_MOST: Final = 4
CALL_S: Final = 120
_HOSTS: Final = ("host", "source", "target", "url")
_ADDRESS: Final = re.compile(r"[a-z][a-z0-9+.-]{0,20}://\S+", re.IGNORECASE)
"""A whole argument that is an address: a tool may send there, whatever the argument is called."""
OUTSIDE: Final = "Stay within the envelope of the goal, or give up and say what it lacks."
_PLACED: Final = PLACES | {"folders", "root"}
"""Arguments that name where a call reads or writes."""
_TICKETS: Final = "tickets"
"""Leads to wherever files of the trash were, on all of a device, unless `under` bounds it."""
_FILES: Final = frozenset({"catalogue", "files"})
"""Arguments with records of files, which may be on the device or in the hub's store."""
_BY_PATH: Final = frozenset({"fs.hash", "fs.verify"})
"""Tools that read what is on the device, also where the store has the same file."""
_STRANGERS: Final = ("agent.", "browser.", "clipboard.", "http.", "mcp.", "web.")
"""Families of tools whose results a stranger writes, beside all that reach out."""
_RUNS: Final = ("python.", "shell.")
"""A program may fetch and read whatever its device lets it."""


@dataclass(frozen=True, slots=True)
class CallJudgement:
    """One judged call: `faults` refuse it, `asks` say why a person is asked; `reads` if it only reads."""

    spec: TaskSpec
    faults: list[Fault]
    asks: list[str]
    reads: bool


def devices_of(fleet: Fleet, spec: TaskSpec) -> list[str]:
    """Return the devices to which the steps of a goal may go, connected or not."""
    where = spec.device or Selector()
    matches = [
        device
        for device in fleet.devices.values()
        if not device.revoked
        and not is_kept_from(device, where)
        and selects(where, device, fleet.tools.get(device.id, {}))
    ]
    real = [device for device in matches if not device.demo]
    return [device.id for device in (real if spec.device is None and real else matches)]


def tools_of(fleet: Fleet, spec: TaskSpec) -> list[str]:
    """Return the tools that the steps of a goal may use on some device."""
    goal = spec.goal or Goal(aim="")
    tool_sets = [fleet.tools.get(device, {}) for device in devices_of(fleet, spec)]
    if goal.tools:
        return [name for name in goal.tools if any(name in tools for tools in tool_sets)]
    return sorted({name for tools in tool_sets for name, offer in tools.items() if only_reads(offer)})


def only_reads(offer: ToolOffer) -> bool:
    """Tell whether a tool is one of those that a goal has without naming it."""
    return (
        offer.repeatability is Repeatability.PURE
        and set(offer.effects) <= {Effect.READ}
        and not offer.effects_by
        and offer.unavailable is None
    )


def judge_call(fleet: Fleet, spec: TaskSpec, call: LookCall, name: str, stranger: str) -> CallJudgement:
    """Judge one call of a step of the goal `spec`; it would be the task `name`."""
    goal = spec.goal or Goal(aim="")
    task = TaskSpec(
        args=call.args,
        changed_in=0,
        group=spec.id,
        id=name,
        on_absence=OnAbsence(then="fail"),
        optional=True,
        timeouts=Timeouts(start_to_close_s=CALL_S),
        tool=call.tool,
    )
    device, faults = _device(fleet, spec, call.device)
    if device is None:
        return CallJudgement(task, faults, [], reads=True)
    task = replace(task, device=Selector(id=device))
    offer = fleet.tools.get(device, {}).get(call.tool)
    device_name = fleet.devices[device].name
    if offer is None or offer.unavailable is not None:
        reason = f"{device_name} does not offer {call.tool[:64]}"
        return CallJudgement(task, [fault(Code.UNKNOWN_TOOL, reason, "tool")], [], reads=True)
    if (goal.tools and call.tool not in goal.tools) or (not goal.tools and not only_reads(offer)):
        reason = f"{call.tool} is outside of what was approved for {spec.id}"
        return CallJudgement(task, [fault(Code.FORBIDDEN, reason, "tool", OUTSIDE)], [], reads=True)
    args, faults = _args(call.args)
    if faults:
        return CallJudgement(task, faults, [], reads=True)
    faults = [*_against_paths(goal, offer, args, spec.id)]
    if call.tool in UNDOING and LEFT_BY in args:
        faults.append(fault(Code.FORBIDDEN, f"`{LEFT_BY}` of `{call.tool}` is given by an undo alone", "args", OUTSIDE))
    effects = effects_of_call(offer, task, offers_in(fleet))
    beyond = [*_beyond(goal, offer, effects, args)]
    if beyond and stranger:
        reason = f"{stranger} read what a stranger may have written, and this call would {', '.join(beyond)}"
        faults.append(fault(Code.FORBIDDEN, reason, "tool", OUTSIDE))
    effect_words = beyond + [effect.value for effect in Effect if effect in effects & RISKY_EFFECTS]
    words = ", ".join(dict.fromkeys(effect_words))
    asks = [f"{name} would {words} on {device_name} by {call.tool}"] if words else []
    return CallJudgement(task, faults, asks, reads=effects <= {Effect.READ})


def _device(fleet: Fleet, spec: TaskSpec, name: str) -> tuple[str | None, list[Fault]]:
    allowed = devices_of(fleet, spec)
    if not name and len(allowed) == 1:
        return allowed[0], []
    match = fleet.devices.get(name) or fleet.named(name)
    if match is not None and match.id in allowed:
        return match.id, []
    names = ", ".join(fleet.devices[one].name for one in allowed[:10]) or "none"
    reason = f"{name[:64] or 'no device'} is outside of the devices of {spec.id}: {names}"
    return None, [fault(Code.FORBIDDEN, reason, "device", OUTSIDE)]


def _args(text: str) -> tuple[dict[str, Any], list[Fault]]:
    if len(text.encode()) > ARGS_BYTES_MOST:
        reason = f"the arguments of a call have at most {ARGS_BYTES_MOST} bytes"
        return {}, [fault(Code.MODEL_ANSWER, reason, "args")]
    try:
        args = parse(text)
    except ValueError as error:
        return {}, [fault(Code.BAD_REQUEST, str(error), "args")]
    if not isinstance(args, dict):
        return {}, [fault(Code.BAD_REQUEST, "arguments are an object", "args")]
    if has_node(args, ("secret", "each", "output")):
        reason = "a call of a goal names no secret and no item: its arguments are plain values"
        return {}, [fault(Code.FORBIDDEN, reason, "args")]
    return args, []


def _places(offer: ToolOffer, args: Mapping[str, Any]) -> Iterator[str]:
    """Yield each place that a call names, whether it changes it or not."""
    for name, value in args.items():
        items = value if isinstance(value, list) else [value]
        if name == _TICKETS:
            if not isinstance(args.get("under"), str):
                yield ""
        elif name in _PLACED:
            yield from (item if isinstance(item, str) else "" for item in items)
        elif name in _FILES:
            yield from (path for item in items if (path := _path_of(offer, item)))


def _path_of(offer: ToolOffer, file: object) -> str:
    """Return the path by which a tool reads a file on its device; empty where the hub's store has it."""
    if not isinstance(file, dict):
        return file if isinstance(file, str) else ""
    path = file.get("path")
    stored = bool(file.get("artifact")) and offer.name not in _BY_PATH
    return path if isinstance(path, str) and not stored else ""


def _against_paths(goal: Goal, offer: ToolOffer, args: Mapping[str, Any], name: str) -> Iterator[Fault]:
    if not goal.paths:
        return
    for place in _places(offer, args):
        if not is_below(place, goal.paths):
            reason = f"{place[:100] or 'that place'} is outside of the folders of {name}: {', '.join(goal.paths[:10])}"
            yield fault(Code.FORBIDDEN, reason, "args", OUTSIDE)
    if _takes_places(offer) and not any(True for _ in _places(offer, args)):
        reason = f"{offer.name} would look beyond the folders of {name}: {', '.join(goal.paths[:10])}"
        yield fault(Code.FORBIDDEN, reason, "args", "Say the folder.")


def _takes_places(offer: ToolOffer) -> bool:
    schema = parse(offer.args) if offer.args else {}
    properties = schema.get("properties", {}) if isinstance(schema, dict) else {}
    return isinstance(properties, dict) and any(name in _PLACED for name in properties)


def is_below(place: str, folders: list[str]) -> bool:
    """Tell whether a place is one of the folders or below one, as it is written; no `..` leads out."""
    clean = place.replace("\\", "/")
    parts = clean.split("/")
    if not place or ".." in parts:
        return False
    clean = "/".join(part for at, part in enumerate(parts) if part not in ("", ".") or at == 0).removeprefix("./")
    bases = [folder.replace("\\", "/").rstrip("/").removeprefix("./") for folder in folders]
    return any(base == "." and not clean.startswith("/") for base in bases) or any(
        clean == base or clean.startswith(f"{base}/") for base in bases if base
    )


def _beyond(goal: Goal, offer: ToolOffer, effects: frozenset[Effect], args: Mapping[str, Any]) -> Iterator[str]:
    """Yield the sends and writes of a call that no folder and no host of the envelope covers."""
    if Effect.REACH in effects:
        hosts = [*_hosts_in(args)]
        unnamed = [host for host in hosts if host not in goal.hosts]
        if unnamed or not hosts:
            yield f"reach {', '.join(unnamed) or 'any host'}"
    if Effect.WRITE in effects or (effects & CHANGING and _takes_places(offer)):
        places = [*_places(offer, args)]
        outside = [place for place in places if not goal.paths or not is_below(place, goal.paths)]
        if outside or not places:
            yield f"write to {', '.join(place[:100] for place in outside) or 'places that it does not name'}"


def _hosts_in(args: Mapping[str, Any]) -> Iterator[str]:
    """Yield each host that a call names: by the arguments for one, and by an address in any other argument."""
    for name in _HOSTS:
        value = args.get(name)
        if isinstance(value, str) and value:
            yield _host_of(value)
    stack: list[object] = [value for name, value in args.items() if name not in _HOSTS or not isinstance(value, str)]
    while stack:
        value = stack.pop()
        if isinstance(value, str) and _ADDRESS.fullmatch(value.strip()):
            yield _host_of(value.strip())
        elif isinstance(value, dict):
            stack.extend(value.values())
        elif isinstance(value, list):
            stack.extend(value)


def _host_of(value: str) -> str:
    try:
        host = urlsplit(value if "//" in value else f"//{value}").hostname
    except ValueError:
        host = None
    return (host or value).lower()


def may_hold_foreign_text(offer: ToolOffer) -> bool:
    """Tell whether a result of a tool may hold what a stranger wrote: pages, mails, other programs, other servers."""
    foreign = (offer.grant or "").startswith("mcp") or offer.name.startswith((*_STRANGERS, *_RUNS))
    return foreign or Effect.REACH in offer.effects


NAMED_MOST: Final = 12
_GRANTED: Final = ("reads", "writes")
"""The facts of an offer that list folders, one a line."""
_PLACED_EFFECTS: Final = frozenset({Effect.WRITE, Effect.REACH})


def envelope_words(spec: TaskSpec, fleet: Fleet) -> str:
    """Return what the steps of a goal may do, and what they may use, in a few sentences."""
    goal = spec.goal or Goal(aim="")
    devices = [fleet.devices[one].name for one in devices_of(fleet, spec)]
    reading = f"the tools of {'it' if len(devices) == 1 else 'them'} that only read"
    tools = few(goal.tools, NAMED_MOST) or reading
    parts = [f"A model makes steps on {few(devices, NAMED_MOST) or 'no device'}, by {tools}"]
    if goal.paths:
        parts.append(_folder_words(goal, [fleet.devices[one] for one in devices_of(fleet, spec)], fleet))
    if goal.hosts:
        parts.append(f"with the hosts {few(goal.hosts, NAMED_MOST)}")
    effects = effects_of(spec, fleet)
    asked_about = " and ".join(
        [
            *([f"each call that would {_effect_words(effects & RISKY_EFFECTS)}"] if effects & RISKY_EFFECTS else []),
            *(
                [f"each that would {_effect_words(effects & _PLACED_EFFECTS)} outside of that"]
                if effects & _PLACED_EFFECTS
                else []
            ),
        ]
    )
    money = f", {goal.micros / 1_000_000:.2f} dollars" if goal.micros else ""
    bounds = f"At most {goal.steps} steps, {goal.tokens:,} tokens{money} and {goal.within_s} s."
    gives = f"It gives {', '.join(parse(goal.gives))}."
    each = f" You are asked about {asked_about}." if asked_about else ""
    return f"{', '.join(parts)}.{each} {bounds} {gives}{_milestones(goal)}"


def _folder_words(goal: Goal, devices: list[Device], fleet: Fleet) -> str:
    """Return the folders of a goal. Of `.` these are all that the owners of its devices granted."""
    paths = [path for path in goal.paths if not is_below(".", [path])]
    if len(paths) == len(goal.paths):
        return f"in the folders {few(goal.paths, NAMED_MOST)}"
    granted = {device.name: _granted_folders(fleet, device) for device in devices}
    grants = [f"{name}: {few(folders, NAMED_MOST)}" for name, folders in granted.items() if folders]
    words = "in all folders that the owner granted" if len(devices) == 1 else "in all folders that their owners granted"
    also = f" and {few(paths, NAMED_MOST)}" if paths else ""
    by_device = f" ({'; '.join(grants[:NAMED_MOST])})" if grants else ""
    return f"{words}{also}{by_device}"


def _granted_folders(fleet: Fleet, device: Device) -> list[str]:
    """Return the folders that a device says it grants for reading or writing."""
    offer = fleet.offers.get(device.id)
    if offer is None:
        return []
    lines_of = (offer.facts.get(fact, "").splitlines() for fact in _GRANTED)
    # A folder may have a quotation mark in its name, which would end the quotation.
    return [
        quoted(folder.replace("'", '"'))
        for folder in dict.fromkeys(folder for lines in lines_of for folder in lines if folder)
    ]


def _milestones(goal: Goal) -> str:
    words = "; ".join(milestone_words(one) for one in goal.milestones)
    return f" Milestones: {words}." if words else ""


def milestone_words(milestone: Milestone) -> str:
    """Return a milestone with its bounds as one line."""
    bounds = [f"{milestone.steps} steps"] if milestone.steps else []
    bounds += [f"{milestone.within_s} s"] if milestone.within_s else []
    return f"{milestone.says} (within {' and '.join(bounds)})"


def _effect_words(effects: frozenset[Effect]) -> str:
    return " or ".join(effect.value for effect in Effect if effect in effects)


def effects_of(spec: TaskSpec, fleet: Fleet) -> frozenset[Effect]:
    """Return the effects that the tools of an envelope may have on its devices."""
    names = set(tools_of(fleet, spec))
    tool_sets = [fleet.tools.get(device, {}) for device in devices_of(fleet, spec)]
    effects = [offer.effects for tools in tool_sets for name, offer in tools.items() if name in names]
    return frozenset({Effect.READ}).union(*effects)
