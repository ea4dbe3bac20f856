"""The preview of a lowered plan: for each task the device with its reason, the effects, and the missing grants.

Pure; starts nothing. Placement decides here as it does in the engine, on the current fleet. The expected time of a plan
is added by `service`, because a forecast steps the core, which jobs may not import.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field

from starloom.core.people.approvals.need import needs_approval, plan_effects, seen_hash
from starloom.core.placement.feasible import Candidate, is_beyond_grants
from starloom.core.rights.call_effects import (
    FILES_WRITE,
    effects_of_call,
    effects_of_task,
    file_words,
    offers_in,
    specs_by_rules,
    stays_words,
)
from starloom.core.rights.envelope import devices_of, effects_of, envelope_words
from starloom.core.rights.first_folders import first_folders
from starloom.core.state.model import Access, Fleet
from starloom.core.state.task_needs import Needs
from starloom.planner.fleet import FleetSnapshot
from starloom.planner.preview.capability import (
    MissingGrant,
    TaskFault,
    capability_fault,
    dispensable,
    misfit_fault,
    misfit_words,
    misfits,
    never_able,
    skipped_words,
    uncertain,
)
from starloom.planner.preview.device_allowances import (
    NET_REACH,
    agent_warnings,
    asked_host,
    contents_warning,
    folder_warnings,
    lacks_host,
    one_file_warnings,
    program_warnings,
)
from starloom.planner.preview.places import (
    Placed,
    Places,
    chosen_way,
    device_group,
    home_words,
    is_capable,
    path_warnings,
)
from starloom.planner.preview.secret_flow import (
    SecretFlow,
    access_of,
    receiving,
    secret_faults,
    secret_flows,
    set_needs,
    template_warnings,
)
from starloom.planner.trash_lists import trash_words
from starloom.process.program import on_device
from starloom_protocol.api.previews import GrantLine, PlanPreview, RuleRow, TaskPreviewRow
from starloom_protocol.plan.checks.findings import topics
from starloom_protocol.plan.lowering.patterns.repeats import turn_words
from starloom_protocol.records.edits import LoweredPlan
from starloom_protocol.records.entities import Dependency, Device, ForEach, RuleRecord, TaskSpec, ToolOffer
from starloom_protocol.records.specs import by_result
from starloom_protocol.text.folder_grants import ACCEPT_LINE, POLICY_FACT, POLICY_NOT_IN_FORCE, plain_grant_line
from starloom_protocol.text.wording import few
from starloom_protocol.tools.hub_tools import HUB_TOOLS
from starloom_protocol.tools.profiles import TAB_OS, held_back_words, is_within
from starloom_protocol.values import parse
from starloom_protocol.vocabulary import (
    REPEATABLE,
    RISKY_EFFECTS,
    Effect,
    Need,
    Repeatability,
)

_ANSWERED = "the answer is typed there, or given in the Inbox where the device takes it"
_FOLDERS_MOST = 4
_TASKS_NAMED_MOST = 3
_DEVICES_NAMED_MOST = 5
_CANDIDATES_MOST = 20
_CANDIDATES_OF_PLAN_MOST = 20_000
"""The most candidates listed for a task and for a whole plan; the longer the plan, the fewer for each task."""


@dataclass(frozen=True)
class TaskPreview:
    """One task. `device` is a name, or None where none fits; `devices` are all of a group over devices.

    `off` are sentences on devices of such a group that are off, `demos` the demonstration devices that it leaves out.
    """

    id: str
    tool: str | None
    person: str | None
    each: str | None
    device: str | None
    why: str
    devices: tuple[str, ...] = ()
    alternatives: tuple[tuple[str, bool, str], ...] = ()
    effects: tuple[Effect, ...] = ()
    repeatability: Repeatability | None = None
    grant: str | None = None
    optional: bool = False
    after: tuple[str, ...] = ()
    takes: tuple[tuple[str, str], ...] = ()
    missing: tuple[MissingGrant, ...] = ()
    left_out: tuple[MissingGrant, ...] = ()
    off: tuple[str, ...] = ()
    demos: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()
    goal: str | None = None
    judged: bool = False
    """Whether a judge answers the question to a person first."""
    unable: tuple[Candidate, ...] = ()
    """Its devices that cannot do its call; without a device, all that were looked at, if none of them can."""
    unfit: TaskFault | None = None
    """The fault where the devices that would get its call refuse its arguments."""
    perhaps_unfit: str = ""
    """The sentence for those that would refuse them, where others take them."""


@dataclass(frozen=True)
class Preview:
    """A whole plan. `warnings` are sentences, those of its faults among them."""

    plan: LoweredPlan
    tasks: tuple[TaskPreview, ...]
    effects: tuple[Effect, ...]
    asks_approval: bool
    hash: str
    """The hash that approves it: that of the plan and, where it asks, of the devices that are shown here."""
    warnings: tuple[str, ...] = field(default=())
    secrets: tuple[SecretFlow, ...] = field(default=())
    faults: tuple[TaskFault, ...] = field(default=())
    unable: tuple[TaskFault, ...] = field(default=())
    """Those of its faults that are tasks which no device of now can ever begin."""
    waiting: tuple[str, ...] = field(default=())
    """Its tasks that are held, or refused by a device, until somebody has given a grant or a secret."""

    @property
    def missing(self) -> tuple[MissingGrant, ...]:
        """The missing grants, each once, however many tasks need it."""
        grants = {(item.device, item.line): item for task in self.tasks for item in task.missing}
        return tuple(grants.values())

    @property
    def ungranted(self) -> Set[str]:
        """The tasks without a device that a grant would give one."""
        return {task.id for task in self.tasks if task.missing and not task.devices}

    def plain(self) -> PlanPreview:
        """Return it as the JSON value that page and command line show."""
        return {
            "name": self.plan.name,
            "recipe": self.plan.recipe,
            "params": parse(self.plan.params),
            "plan_hash": self.hash,
            "tasks": [_plain_task(task) for task in self.tasks],
            "missing_grants": [_plain_grant(item) for item in self.missing],
            "held": list(self.waiting),
            "secrets": [item.plain() for item in self.secrets],
            "effects": list(self.effects),
            "asks_approval": self.asks_approval,
            "results": [{"title": item.title, "from": item.source, "show": item.show} for item in self.plan.results],
            "rules": [_plain_rule(rule, self.plan) for rule in self.plan.rules],
            "cost": None,
            "estimate": None,
            "warnings": list(self.warnings),
            "faults": [item.plain() for item in self.faults],
        }


def _plain_grant(item: MissingGrant) -> GrantLine:
    return {"device": item.device, "grant": item.grant, "line": item.line, "task": item.task}


def _plain_rule(rule: RuleRecord, plan: LoweredPlan) -> RuleRow:
    calls = [f"{spec.id}: {spec.tool}" for spec in specs_by_rules([rule], plan.specs)]
    return {"name": rule.name, "task": rule.task, "reason": rule.reason, "calls": calls}


def _plain_task(task: TaskPreview) -> TaskPreviewRow:
    return {
        "id": task.id,
        "tool": task.tool,
        "person": task.person,
        "judged": task.judged,
        "each": task.each,
        "device": task.device,
        "devices": list(task.devices),
        "why": task.why,
        "alternatives": [{"device": name, "fits": fits, "why": why} for name, fits, why in task.alternatives],
        "effects": list(task.effects),
        "repeatability": task.repeatability,
        "grant": task.grant,
        "optional": task.optional,
        "after": list(task.after),
        "takes": [{"from": source, "output": output} for source, output in task.takes],
        "missing": [_plain_grant(item) for item in task.missing],
        "secrets": list(task.secrets),
        "goal": task.goal,
    }


def preview(
    plan: LoweredPlan, fleet: FleetSnapshot, *, words: bool = False, by: str = "", approves: bool = True
) -> Preview:
    """Return the preview of this plan on this fleet, if `by` asked for it; `words`: it was asked for in words.

    It asks for an approval exactly if its submission would wait for one.
    """
    placed = core_fleet(fleet)
    after: dict[str, dict[str, None]] = {spec.id: {} for spec in plan.specs}
    for dependency in plan.dependencies:
        if dependency.source in after and dependency.target in after:
            after[dependency.target][dependency.source] = None
    specs = {spec.id: spec for spec in plan.specs}
    access = access_of(fleet.secrets)
    needs = {spec.id: set_needs(access, spec, plan.recipe) for spec in plan.specs if spec.secrets}
    places = Places(placed, max(1, min(_CANDIDATES_MOST, _CANDIDATES_OF_PLAN_MOST // max(1, len(plan.specs)))))
    tasks = tuple(_task(spec, specs, after[spec.id], places, needs.get(spec.id)) for spec in plan.specs)
    # The effects that the approval names: a tool may do more on another device than on the one that is chosen now.
    may = frozenset(plan_effects(placed, plan))
    effects = tuple(effect for effect in Effect if effect in may)
    unable = {
        task.id: capability_fault(
            placed, task.id, task.tool or "", task.unable, is_chosen=bool(task.devices), missing=task.missing
        )
        for task in tasks
        if task.unable
    }
    unable |= {task.id: task.unfit for task in tasks if task.unfit is not None and task.id not in unable}
    perhaps = uncertain(plan)
    # The core skips these after their time to wait, and the rest of the plan goes on.
    spared = dispensable(plan).intersection(task.id for task in tasks if task.unable)
    never = tuple(fault for task, fault in unable.items() if task not in perhaps | spared)
    faults = (*never, *_faults_of_secrets(plan, tasks, placed, access))
    asks = needs_approval(placed, plan, strict=words, by=by, approves=approves)
    flows = secret_flows(_receivers(plan, tasks, placed, access), access)
    return Preview(
        plan=plan,
        tasks=tasks,
        effects=effects,
        asks_approval=asks,
        hash=seen_hash(placed, plan, by=by) if asks else plan.hash,
        warnings=(
            *_warnings(tasks, fleet, plan.specs),
            *_about_devices(plan, tasks, placed),
            *_computed_elsewhere(tasks, plan.specs),
            *path_warnings(specs),
            *(unable[task].reason for task in unable if task in perhaps - spared),
            *(skipped_words(placed, specs[task.id], task.unable) for task in tasks if task.id in spared),
            *(task.perhaps_unfit for task in tasks if task.perhaps_unfit),
            *(item.reason for item in faults),
            *(f"{spec.id} may {words}." for spec in plan.specs for words in file_words(spec)),
            *(warning for spec in plan.specs if (warning := contents_warning(spec))),
            *([trash_warning] if (trash_warning := trash_words(plan)) else []),
            *([stays] if (stays := stays_words(plan.specs, offers_in(placed))) else []),
            *(sentence for spec in plan.specs if "{{" in spec.args for sentence in template_warnings(spec)),
        ),
        secrets=flows,
        faults=faults,
        unable=never,
        waiting=tuple(_waiting_for_grants(tasks, {flow.name for flow in flows if flow.secret is None}, perhaps)),
    )


def ungranted(specs: Iterable[TaskSpec], dependencies: Iterable[Dependency], fleet: FleetSnapshot) -> list[str]:
    """Return a sentence for each grant that a device lacks, so that tasks wait there after an approval."""
    plan = LoweredPlan(dependencies=[*dependencies], hash="", name="", specs=[*specs])
    plan_preview = preview(plan, fleet)
    return [
        f"{one.device} does not allow {one.grant} for {one.task} yet, so it waits there after the answer; type there: "
        f"{one.line}"
        for one in plan_preview.missing
        if one.task in plan_preview.waiting
    ]


def _waiting_for_grants(tasks: Iterable[TaskPreview], unset: Set[str], perhaps: Set[str]) -> Iterable[str]:
    """Yield the tasks that lack a grant or a secret, but for those that the plan leaves out or may never begin."""
    for task in tasks:
        if (task.missing or unset & set(task.secrets)) and not task.optional and task.id not in perhaps:
            yield task.id


def _about_devices(plan: LoweredPlan, tasks: Iterable[TaskPreview], fleet: Fleet) -> Iterable[str]:
    for spec, task in zip(plan.specs, tasks, strict=True):
        yield from program_warnings(spec, task.devices)
        yield from one_file_warnings(spec)
        task_devices = [device for device in fleet.devices.values() if device.name in task.devices]
        offers = [offer for device in task_devices if (offer := fleet.tools.get(device.id, {}).get(spec.tool or ""))]
        if offers:
            facts = ((device, fleet.offers[device.id].facts) for device in task_devices)
            yield from folder_warnings(spec, offers[0], facts)
            yield from agent_warnings(spec, offers[0], (device.name for device in task_devices))


def _computed_elsewhere(tasks: Sequence[TaskPreview], specs: Iterable[TaskSpec]) -> Iterable[str]:
    """Yield a sentence for each device that only computes with what others have read: the names of files go there."""
    by_id = {task.id: task for task in tasks}
    families = {spec.id: spec.family or spec.id for spec in specs if spec.for_each is not None}
    came: dict[str, set[str]] = {}
    works: dict[str, dict[str, set[str]]] = {}
    for task in tasks:
        sources = [by_id[source] for source, _ in task.takes if source in by_id]
        came[task.id] = {*task.devices} if task.effects else set().union(*(came.get(one.id, set()) for one in sources))
        # A child of a group over devices takes of the groups made with it only what its own device has.
        beside = [one for one in sources if task.id in families and families.get(one.id) == families[task.id]]
        foreign = set().union(*(came.get(one.id, set()) - set(one.devices if one in beside else ()) for one in sources))
        for device in task.devices if task.tool is not None and not task.effects else ():
            if others := foreign - {device}:
                works.setdefault(device, {}).setdefault(task.id, others)
    for device, by_task in works.items():
        read_on = few(sorted(set().union(*by_task.values())), _DEVICES_NAMED_MOST)
        task_names = few(list(by_task), _TASKS_NAMED_MOST)
        yield f"Results of {read_on}, names of files among them, go to {device} for the work on them: {task_names}."


def _faults_of_secrets(
    plan: LoweredPlan, tasks: Iterable[TaskPreview], fleet: Fleet, access: Access
) -> Iterable[TaskFault]:
    for spec, task in zip(plan.specs, tasks, strict=True):
        if spec.tool is not None:
            devices = _devices_of(task, fleet)
            offered = [tools[spec.tool] for tools in fleet.tool_sets.different() if spec.tool in tools]
            yield from secret_faults(spec, plan.recipe, devices, offered, fleet, access)


def _receivers(
    plan: LoweredPlan, tasks: Iterable[TaskPreview], fleet: Fleet, access: Access
) -> Iterable[tuple[TaskSpec, tuple[str, ...]]]:
    for spec, task in zip(plan.specs, tasks, strict=True):
        if spec.secrets:
            yield spec, receiving(spec, plan.recipe, _devices_of(task, fleet), access)


def _devices_of(task: TaskPreview, fleet: Fleet) -> list[Device]:
    return [device for device in fleet.devices.values() if device.name in task.devices]


def core_fleet(fleet: FleetSnapshot) -> Fleet:
    """Return the fleet in the form that placement reads; all slots are free, because nothing runs yet."""
    core = Fleet("fleet")
    core.devices.update(fleet.records)
    here = {name: device for name, device in fleet.records.items() if not device.revoked}
    core.by_name.update({device.name: name for name, device in here.items()})
    core.by_former_name.update({old: name for name, device in here.items() for old in device.former_names})
    core.standing.update(fleet.standing)
    core.recipes.update(fleet.recipes)
    core.offers.update(fleet.offers)
    core.tools.update({name: core.tool_sets.take(name, offer.tools) for name, offer in fleet.offers.items()})
    return core


def _goal(spec: TaskSpec, fleet: Fleet, after: Iterable[str], takes: tuple[tuple[str, str], ...]) -> TaskPreview:
    devices = tuple(fleet.devices[device].name for device in devices_of(fleet, spec))
    goal_effects = effects_of(spec, fleet)
    return TaskPreview(
        id=spec.id,
        tool=None,
        person=None,
        each=None,
        device=devices[0] if len(devices) == 1 else None,
        why=envelope_words(spec, fleet),
        devices=devices,
        effects=tuple(effect for effect in Effect if effect in goal_effects),
        optional=spec.optional,
        after=tuple(after),
        takes=takes,
        goal=spec.goal.aim if spec.goal is not None else None,
    )


def _takes(spec: TaskSpec, specs: Mapping[str, TaskSpec]) -> Iterator[tuple[str, str]]:
    """Yield (task, pointer) of all that the inputs of a task read, of a topic each task that publishes it."""
    for item in spec.inputs:
        if not item.topic:
            yield item.source, item.output
        for source in specs.values() if item.topic else ():
            if item.topic in topics(source) and source.id != spec.id:
                yield source.id, source.finds.output if source.finds is not None else ""


def _task(
    spec: TaskSpec, specs: Mapping[str, TaskSpec], after: Iterable[str], places: Places, needs: Needs | None = None
) -> TaskPreview:
    fleet = places.fleet
    takes = tuple(_takes(spec, specs))
    each = _each(spec, specs)
    if spec.goal is not None:
        return _goal(spec, fleet, after, takes)
    if spec.tool is None:
        return TaskPreview(
            id=spec.id,
            tool=None,
            person=spec.person,
            each=each,
            device=None,
            why="a person answers" if spec.judge is None else "a judge chooses, or else a person",
            judged=spec.judge is not None,
            optional=spec.optional,
            after=tuple(after),
            takes=takes,
        )
    if spec.tool in HUB_TOOLS:
        return _of_hub(spec, HUB_TOOLS[spec.tool], each, after, takes)
    over = device_group(spec, specs)
    group = over.devices if over is not None else None
    spec, placed = chosen_way(spec, over, places, needs)
    tool = spec.tool or ""
    devices = placed.devices
    # Every device of a group needs its owner's grant; where no device was chosen, a few examples are enough.
    lacking = placed.candidates if group else placed.candidates[: places.most] if not devices else []
    left_out = tuple(_missing(spec, tool, [], list(placed.passed_over), fleet)) if placed.passed_over else ()
    offers = [offer for name in devices if (offer := fleet.tools.get(name, {}).get(tool)) is not None]
    offers = offers or [tools[tool] for tools in fleet.tool_sets.different() if tool in tools][:1]
    unfit, perhaps_unfit = _unfit(spec, over, placed, fleet)
    return TaskPreview(
        id=spec.id,
        tool=tool,
        person=None,
        each=each,
        device=placed.device,
        why=f"{placed.why}{home_words(spec, placed, fleet)}{_folder_words(spec, devices, fleet)}{_time_words(spec)}"
        f"{_other_words(spec)}",
        devices=tuple(fleet.devices[name].name for name in devices),
        alternatives=tuple(
            (fleet.devices[item.device].name, is_capable(item), item.words)
            for item in placed.candidates[: places.most]
            if item.device not in devices
        ),
        effects=_effects(offers, spec, fleet),
        repeatability=spec.repeatability or (offers[0].repeatability if offers else None),
        grant=offers[0].grant if offers else None,
        optional=spec.optional,
        after=tuple(after),
        takes=takes,
        missing=tuple(_missing(spec, tool, lacking, devices, fleet)),
        left_out=left_out,
        off=placed.off,
        demos=placed.demos,
        secrets=tuple(spec.secrets),
        unable=never_able(fleet, tool, placed.candidates, devices),
        unfit=unfit,
        perhaps_unfit=perhaps_unfit,
    )


def _unfit(spec: TaskSpec, over: ForEach | None, placed: Placed, fleet: Fleet) -> tuple[TaskFault | None, str]:
    """Return the fault of arguments that no device takes, or the warning about those that only some take."""
    refusing = misfits(spec, placed.versions)
    if not refusing:
        return None, ""
    every = len(refusing) == sum(len(version.devices) for version in placed.versions)
    if every or (over is not None and over.need is Need.ALL):
        return misfit_fault(fleet, spec, refusing), ""
    return None, misfit_words(fleet, spec, refusing)


def _folder_words(spec: TaskSpec, devices: Iterable[str], fleet: Fleet) -> str:
    """Return the folders that a task means by `.`, so that nobody has to know which one comes first."""
    devices = list(devices)
    folders = first_folders(fleet, spec, devices, ", the first folder that it allows" if len(devices) == 1 else "")
    if len(devices) == 1 and folders:
        return f"; in {folders[devices[0]]}"
    folder_places = [f"{folder} on {fleet.devices[device].name}" for device, folder in folders.items()]
    return f"; in {few(folder_places, _FOLDERS_MOST)}" if folder_places else ""


def _other_words(spec: TaskSpec) -> str:
    """Return the calls that may be taken in place of a task's own, in words."""
    calls = (
        f"{call.tool} on {call.device.name}" if call.device is not None and call.device.name else call.tool
        for call in spec.any_of
    )
    return f"; where that cannot be done: {', or '.join(calls)}" if spec.any_of else ""


def _of_hub(
    spec: TaskSpec, offer: ToolOffer, each: str | None, after: Iterable[str], takes: tuple[tuple[str, str], ...]
) -> TaskPreview:
    """Return a call of the hub's own tool, which waits for no device."""
    return TaskPreview(
        id=spec.id,
        tool=spec.tool,
        person=None,
        each=each,
        device=None,
        why=f"the hub itself does it{_time_words(spec)}",
        effects=tuple(offer.effects),
        repeatability=offer.repeatability,
        optional=spec.optional,
        after=tuple(after),
        takes=takes,
    )


def _time_words(spec: TaskSpec) -> str:
    moment = spec.not_before
    if moment is None:
        return ""
    if moment.at:
        return f"; it begins at {moment.at} {moment.zone}".rstrip()
    return f"; it begins at the time that {moment.source}{moment.output} names"


def _each(spec: TaskSpec, specs: Mapping[str, TaskSpec]) -> str | None:
    """Return the items or devices of a group, in words."""
    root = specs.get(spec.family or spec.id, spec)
    if spec.for_each is None or root.for_each is None:
        return None
    if root.for_each.devices is not None:
        times = root.for_each.times
        if by_result(root.for_each):
            return None
        return f"device of {times}" if times else "device"
    if root.for_each.repeat is not None:
        return turn_words(root.for_each.repeat)
    if root.for_each.times:
        return f"call of {root.for_each.times}"
    return f"item of {root.for_each.source}{root.for_each.output}"


def _effects(offers: Iterable[ToolOffer], spec: TaskSpec, fleet: Fleet) -> tuple[Effect, ...]:
    all_effects = {effect for offer in offers for effect in effects_of_call(offer, spec, offers_in(fleet))}
    all_effects |= effects_of_task(spec, offers_in(fleet)) if spec.any_of else set()
    return tuple(effect for effect in Effect if effect in all_effects)


def _missing(
    spec: TaskSpec, tool: str, candidates: list[Candidate], devices: list[str], fleet: Fleet
) -> Iterable[MissingGrant]:
    """Yield the grants that the chosen devices lack; where none could be chosen, those of all that were looked at."""
    host = asked_host(spec)
    for name in dict.fromkeys([*devices, *(item.device for item in candidates if not devices)]):
        device, offer = fleet.devices[name], fleet.tools.get(name, {}).get(tool)
        if offer is None or is_beyond_grants(device, offer):
            continue
        grants = fleet.offers[name].grants
        needed = dict.fromkeys([offer.grant] if offer.grant is not None else [])
        needed |= dict.fromkeys([FILES_WRITE] if spec.files_out else [])
        needed |= dict.fromkeys([NET_REACH] if host is not None else [])
        for grant in needed:
            if grant not in grants or (grant == NET_REACH and lacks_host(host or "", fleet.offers[name].facts)):
                # A browser tab says itself which switch it is; where a join code forbids it, no line there helps.
                tab_line = offer.unavailable if device.os == TAB_OS else None
                if not is_within(grant, device.profile_most):
                    tab_line = held_back_words(device.profile_most, device.name)
                facts = fleet.offers[name].facts
                edited = facts.get(POLICY_FACT) == POLICY_NOT_IN_FORCE
                # A device whose policy was edited by hand takes no grant until its owner has accepted the file.
                typed = ACCEPT_LINE if edited else grant_line(grant, spec, device)
                line = tab_line or on_device(typed, facts)
                yield MissingGrant(device.name, grant, line, spec.id)


def grant_line(grant: str, spec: TaskSpec, device: Device) -> str:
    """Return the line that the owner types on the device; a folder or a host is left for the owner to name."""
    if grant == "shell:run":
        args = parse(spec.args)
        argv, cwd = args.get("argv"), args.get("cwd")
        words = argv if isinstance(argv, list) and all(isinstance(word, str) for word in argv) else ["COMMAND"]
        folder = f"--cwd {shlex.quote(cwd)} " if isinstance(cwd, str) and cwd else ""
        return f"starloom-agent grant shell:run {folder}-- {shlex.join(words)}"
    if grant == NET_REACH and (host := asked_host(spec)):
        return f"starloom-agent grant {NET_REACH} {shlex.quote(host)}"
    return plain_grant_line(grant, device.os)


def _unknown_label(spec: TaskSpec, fleet: FleetSnapshot) -> str:
    """Return what a label that a task asks for and no device has means for it; empty if it asks for none."""
    over = spec.for_each.devices if spec.for_each is not None else None
    labels = sorted({label for device in fleet.devices for label in device.labels})
    wanted_labels = [label for selector in (spec.device, over) if selector is not None for label in selector.labels]
    unknown = next((label for label in wanted_labels if label not in labels), None)
    if unknown is None:
        return ""
    labels_here = f"labels that there are: {few(labels, 5)}" if labels else "no device has any label"
    return f"no device has the label {unknown}; {labels_here}. To give it: starloom device label DEVICE {unknown}"


def _warnings(tasks: Iterable[TaskPreview], fleet: FleetSnapshot, specs: Iterable[TaskSpec]) -> Iterable[str]:
    if not fleet.devices:
        yield "There is no device yet; the tasks wait until one has joined."
        return
    left_out = {item.device: item for task in tasks for item in task.left_out}
    for item in left_out.values():
        yield f"{item.device} is left out: it has not granted {item.grant}. On the device: {item.line}"
    demos = list(dict.fromkeys(name for task in tasks for name in task.demos))
    if demos:
        left = "is for demonstration and is" if len(demos) == 1 else "are for demonstration and are"
        yield f"{', '.join(demos)} {left} left out of groups that real devices fit."
    unlabelled = {spec.id: words_of_label for spec in specs if (words_of_label := _unknown_label(spec, fleet))}
    for task in tasks:
        if task.device is None and not task.devices and task.id in unlabelled:
            yield f"{task.id} waits: {unlabelled[task.id]}"
            continue
        if task.unable and not task.devices:
            continue
        if task.tool is not None and task.tool not in HUB_TOOLS and task.device is None and not task.missing:
            offered = any(task.tool in device.tools for device in fleet.devices)
            fits = f"that offers {task.tool} is one that the plan asks for" if offered else f"offers {task.tool} now"
            yield f"{task.id} waits: no device {fits}."
        if task.repeatability is not None and task.repeatability not in REPEATABLE and Effect.READ not in task.effects:
            yield f"{task.id} is not repeated without your word if it is interrupted."
        if RISKY_EFFECTS & set(task.effects) and task.device is not None:
            yield f"{task.id} may be asked about on {task.device} too; {_ANSWERED}."
    yield from dict.fromkeys(words for task in tasks for words in task.off)
    used = {name for task in tasks for name in task.devices}
    for device in fleet.devices:
        if device.name in used and not device.online:
            yield f"{device.name} is offline; its tasks wait for it."
