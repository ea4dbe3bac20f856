"""The need for an approval: the calls of a plan that ask a person, and those that change something.

The hash of a preview binds an approval to the plan and to the devices shown. Asks nobody: `questions` does.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256

from msgspec.structs import replace

from starloom.core.placement.feasible import is_named
from starloom.core.rights.authorship import is_free
from starloom.core.rights.call_effects import (
    ASKING,
    KnownEffects,
    added_to,
    adds,
    leaving_words,
    only_leaves,
    specs_by_rules,
    ways_of,
    wide_trash,
)
from starloom.core.rights.consent import devices_for_tool, may_run_on, named_devices, selector_of
from starloom.core.rights.envelope import devices_of
from starloom.core.rights.first_folders import first_folders
from starloom.core.rights.reserved import is_kept_unapproved, words_by
from starloom.core.state.model import Constellation, Fleet
from starloom.core.state.work import Put, Refusal, Work, fault
from starloom_protocol.records.approvals import Call, Standing
from starloom_protocol.records.edits import LoweredPlan
from starloom_protocol.records.entities import Fault, Policy, RuleRecord, TaskSpec, encode_entity
from starloom_protocol.records.specs import Approved, Reach
from starloom_protocol.stream.authors import is_model
from starloom_protocol.text.wording import quoted
from starloom_protocol.tools.hub_tools import HUB_TOOLS, controls_devices
from starloom_protocol.values import canonical, parse
from starloom_protocol.vocabulary import Approval, Code, Effect

CALLS_MOST = 20
"""The answer *always* is offered for what a person can read."""
ARGS_BYTES_MOST = 4096
"""The arguments of a standing approval are compared whole."""
_READ = frozenset({Effect.READ})
_BINDS_PREVIEWS = 2


@dataclass(frozen=True, slots=True)
class ApprovalNeed:
    """The need for an approval: `calls` are those that `always` would allow, `once_because` why it is not offered.

    `repeats` are the tools that may be called several times, with the number. `reaches` says for each call that asks
    where it may run, in the order of the plan; `others` are the effects of the tasks that do not ask. `approved` has
    the devices of all calls that do more than read, for these stand beside the question, or of those allowed for good.
    """

    asks: bool
    calls: list[Call] = field(default_factory=list)
    once_because: str = ""
    repeats: tuple[str, ...] = ()
    reaches: tuple[CallReach, ...] = ()
    others: frozenset[Effect] = frozenset()
    approved: Approved = field(default_factory=Approved)


@dataclass(frozen=True, slots=True)
class CallReach:
    """A call that asks: its effects, the ids of the devices on which it may run, and the folders meant there by `.`.

    A call that the hub itself carries out runs on none: `control` is its verb and the device that it controls.
    `leaving` says which files it may put into the trash or move, and `only_leaves` whether it does no more than that.
    `later` are those of the devices that cannot do the call now, and could once their owner allows it or they have the
    program.
    """

    effects: frozenset[Effect]
    devices: tuple[str, ...]
    folders: tuple[tuple[str, str], ...] = ()
    control: tuple[str, str] | None = None
    leaving: tuple[str, ...] = ()
    only_leaves: bool = False
    later: frozenset[str] = frozenset()


def plan_effects(fleet: Fleet, plan: LoweredPlan) -> list[Effect]:
    """Return the effects that devices declare for the tools of a plan and of the tasks that its rules may add."""
    return effects_of(fleet, [*plan.specs, *specs_by_rules(plan.rules, plan.specs)])


def plan_devices(fleet: Fleet, plan: LoweredPlan) -> dict[str, str]:
    """Return the ids of the devices that a plan and the tasks of its rules name, by name."""
    return named_devices(fleet, [*plan.specs, *specs_by_rules(plan.rules, plan.specs)])


def effects_of(fleet: Fleet, specs: Iterable[TaskSpec]) -> list[Effect]:
    all_specs = list(specs)
    known_effects = _known_effects(fleet, {spec.id: spec for spec in all_specs})
    # Most calls of a plan have the same effects, so equal sets are merged once.
    return sorted(frozenset[Effect]().union(*dict.fromkeys(known_effects.of(spec) for spec in all_specs)))


def _known_effects(fleet: Fleet, specs: Mapping[str, TaskSpec]) -> KnownEffects:
    return KnownEffects(fleet, lambda spec: may_run_on(fleet, spec, specs))


def approval_need(
    fleet: Fleet,
    specs: Sequence[TaskSpec],
    rules: Iterable[RuleRecord],
    policy: Policy,
    *,
    strict: bool,
    hold: bool,
    by: str,
    wide: Container[str] = (),
) -> ApprovalNeed:
    """Decide whether a plan waits for a person before its first task, and which calls that person could always allow.

    `strict`: all that does more than read asks, as in a plan made of words, or one that runs with nobody there.
    `by` is its author: where a model chose the words, no policy waives the question, and calls with unknown arguments,
    with secrets, or that may change files need approval. Neither does a policy waive it for turns of a call that does
    more than read: their number is approved with the call. `wide` are tasks that need approval for all that they may
    put into the trash.
    """
    by_id = {spec.id: spec for spec in specs}
    is_by_model, known_effects = is_model(by), _known_effects(fleet, by_id)
    rule_specs = specs_by_rules(rules, specs)
    if policy.approval is Approval.NEVER and not hold and not is_by_model:
        specs, rule_specs = [[spec for spec in some if known_effects.repeats(spec)] for some in (specs, rule_specs)]
    standing = _by_action(fleet)
    asking = _CallsThatAsk(fleet)
    for spec in specs:
        works = spec.tool is not None or spec.goal is not None
        effects = known_effects.of(spec) if works and spec.key is None else frozenset()
        unseen = is_by_model and (
            bool(spec.secrets)
            or any(way.tool is not None and not known_effects.is_offered(way.tool) for way in ways_of(spec))
            or (spec.key is None and known_effects.may_change_files(spec))
        )
        turns = asking.turns(known_effects, spec) if spec.for_each is not None else 0
        if not turns and not unseen and spec.id not in wide and not _asks(effects, strict=strict):
            asking.others |= effects
            asking.beside += [spec] if effects - _READ or spec.goal is not None else []
            continue
        why_unknown = f"{spec.id} may make the call {turns} times" if turns else _why_unknown_call(spec, by_id)
        call = _call(fleet, spec, by_id, effects)
        if not why_unknown and standing and _covered(standing, call):
            asking.others |= effects
            asking.bound.append(spec)
            continue
        asking.add(spec, call, why_unknown or _too_wide(call))
    for spec in rule_specs:
        turns, effects = asking.turns(known_effects, spec), known_effects.of(spec)
        if is_by_model or turns or spec.id in wide or _asks(effects, strict=strict):
            asking.add(spec, _call(fleet, spec, by_id, effects), f"a rule may add {spec.id} while it runs")
        elif effects - _READ:
            asking.beside.append(spec)
    every_time = hold or policy.approval is Approval.ALWAYS
    if not asking.calls and not every_time:
        return ApprovalNeed(asks=False, approved=_approved(fleet, asking.bound, by_id))
    because = asking.once_because
    if every_time:
        because = "it was submitted to wait for a person" if hold else "its policy asks each time"
    elif len(asking.calls) > CALLS_MOST:
        because = f"it makes {len(asking.calls)} such calls, and at most {CALLS_MOST} are allowed for good at once"
    return ApprovalNeed(
        asks=True,
        approved=_approved(fleet, [*asking.bound, *asking.beside], by_id),
        calls=[] if because else asking.calls,
        once_because=because,
        repeats=asking.repeats(),
        reaches=tuple(asking.reaches),
        others=asking.others,
    )


@dataclass(slots=True)
class _CallsThatAsk:
    """The calls of a plan that ask, in its order; `bound` and `beside` are the tasks whose devices an answer allows."""

    fleet: Fleet
    calls: list[Call] = field(default_factory=list)
    reaches: list[CallReach] = field(default_factory=list)
    others: frozenset[Effect] = frozenset()
    bound: list[TaskSpec] = field(default_factory=list)
    beside: list[TaskSpec] = field(default_factory=list)
    once_because: str = ""
    often: dict[str, int] = field(default_factory=dict)

    def turns(self, known_effects: KnownEffects, spec: TaskSpec) -> int:
        """Return how many times a task may make its call that does more than read; 0 for once."""
        turns = known_effects.repeats(spec)
        if turns:
            self.often[spec.id] = turns
        return turns

    def add(self, spec: TaskSpec, call: Call, once_because: str) -> None:
        self.calls.append(call)
        self.bound.append(spec)
        self.reaches.append(_reach(self.fleet, spec, call))
        self.once_because = self.once_because or once_because

    def repeats(self) -> tuple[str, ...]:
        """Return in words the tools that are called several times."""
        words = (f"{one.tool} up to {self.often[one.task]} times" for one in self.calls if one.task in self.often)
        return tuple(dict.fromkeys(words))


def _approved(fleet: Fleet, bound: Iterable[TaskSpec], by_id: Mapping[str, TaskSpec]) -> Approved:
    """Return the devices on which calls and goals may run, by tool and selector.

    A selector of one device needs none: its id stays, and its name goes to no other device while work means it.
    """
    reaches: dict[tuple[str, bytes], Reach] = {}
    for way in (way for spec in bound for way in ways_of(spec)):
        tool, selector = way.tool or "", selector_of(way, by_id)
        key = tool, encode_entity(selector)
        if key in reaches or selector.id or selector.name or tool in HUB_TOOLS:
            continue
        named_ids = (device.id for device in fleet.devices.values() if is_named(selector, device))
        devices = {*(devices_for_tool(fleet, tool, selector) if tool else devices_of(fleet, way)), *named_ids}
        reaches[key] = Reach(devices=sorted(devices), selector=selector, tool=tool)
    return Approved(reaches=[reaches[key] for key in sorted(reaches)])


def needs_approval(fleet: Fleet, plan: LoweredPlan, *, strict: bool, by: str, approves: bool = True) -> bool:
    """Tell whether a plan of the author `by` waits for a person before its first task; `approves`: `by` may answer."""
    by = words_by(fleet, plan.recipe, by) if plan.recipe else by
    wide = wide_tasks(fleet, plan, by, approves=approves)
    return approval_need(fleet, plan.specs, plan.rules, plan.policy, strict=strict, hold=False, by=by, wide=wide).asks


def seen_hash(fleet: Fleet, plan: LoweredPlan, *, by: str) -> str:
    """Return the hash by which a preview of now is approved: that of the plan and, after a point, of the devices shown.

    It is the plan's own where each call that does more than read names its device.
    """
    shown = approval_need(fleet, plan.specs, plan.rules, plan.policy, strict=True, hold=True, by=by).approved
    if not shown.reaches:
        return plan.hash
    return f"{plan.hash}.{sha256(encode_entity(shown)).hexdigest()[:32]}"


def other_plan(plan: LoweredPlan, approved_hash: str) -> Fault | None:
    """Return the fault `plan_hash_mismatch` if this is the hash of another plan."""
    if approved_hash.partition(".")[0] == plan.hash:
        return None
    return fault(Code.PLAN_HASH_MISMATCH, f"the plan's hash is {plan.hash}, not {approved_hash}", "plan_hash")


def is_seen(work: Work, plan: LoweredPlan, approved_hash: str, *, by: str) -> bool:
    """Tell whether the devices of a plan are still those of the preview that was approved by `approved_hash`.

    Raises:
        Refusal: `plan_hash_mismatch`, if it is the hash of another plan.
    """
    if (other := other_plan(plan, approved_hash)) is not None:
        raise Refusal(other)
    if work.shard.settings.binds_approvals < _BINDS_PREVIEWS:
        return True
    return approved_hash == seen_hash(work.shard.fleet, plan, by=by)


def wide_tasks(fleet: Fleet, plan: LoweredPlan, by: str, *, approves: bool) -> Container[str]:
    """Return the tasks that need approval for all that they may trash.

    Who may answer and starts a recipe knows what it trashes, as a person keeps it. The values of another one, and a
    recipe that a model or somebody without that right kept, were read by none.
    """
    if plan.recipe is not None and is_free(by, approves=approves) and not is_kept_unapproved(fleet, plan.recipe):
        return ()
    specs = [*plan.specs, *specs_by_rules(plan.rules, plan.specs)]
    return wide_trash(specs, plan.dependencies, guided=is_model(by))


def _asks(effects: frozenset[Effect], *, strict: bool) -> bool:
    return bool(effects & ASKING) or (strict and bool(effects - _READ))


def _why_unknown_call(spec: TaskSpec, by_id: dict[str, TaskSpec]) -> str:
    """Return why a task is not a single call with arguments from the plan; empty if it is."""
    if spec.goal is not None:
        return f"{spec.id} is a goal, so nobody knows its calls yet"
    root = by_id.get(spec.family or spec.id, spec)
    each = root.for_each
    by_list = spec.for_each is not None and (
        each is None or (each.devices is None and not each.times and each.repeat is None)
    )
    if spec.inputs or by_list:
        return f"{spec.id} takes arguments from the results of other tasks, so nobody knows them yet"
    if adds(spec):
        return f"{spec.id} {added_to(spec)}, which is more than one call"
    return ""


def _too_wide(call: Call) -> str:
    if controls_devices(call.tool):
        return f"{call.task} controls a device, which a person allows each time"
    if not call.devices:
        return f"no device offers {call.tool} for {call.task} now"
    if len(call.args.encode()) > ARGS_BYTES_MOST:
        return f"the arguments of {call.task} are longer than {ARGS_BYTES_MOST} bytes"
    return ""


def _call(
    fleet: Fleet,
    spec: TaskSpec,
    by_id: dict[str, TaskSpec],
    effects: frozenset[Effect],
    device_ids: Sequence[str] | None = None,
) -> Call:
    devices = may_run_on(fleet, spec, by_id) if device_ids is None else device_ids
    return Call(args=spec.args, devices=sorted(devices), effects=sorted(effects), task=spec.id, tool=spec.tool or "")


def _reach(fleet: Fleet, spec: TaskSpec, call: Call) -> CallReach:
    folders = first_folders(fleet, spec, call.devices)
    control = _control(fleet, call) if controls_devices(call.tool) else None
    leaving, only = tuple(leaving_words(spec)), only_leaves(spec)
    ways = ways_of(spec)
    devices = tuple(dict.fromkeys([*call.devices, *(one for way in ways[1:] for one in may_run_on(fleet, way, {}))]))
    later = frozenset(one for one in devices if not any(_can_now(fleet, one, way.tool) for way in ways))
    return CallReach(frozenset(call.effects), devices, tuple(sorted(folders.items())), control, leaving, only, later)


def _can_now(fleet: Fleet, device: str, tool: str | None) -> bool:
    offer = fleet.tools.get(device, {}).get(tool or "")
    return offer is not None and offer.unavailable is None


def _control(fleet: Fleet, call: Call) -> tuple[str, str]:
    """Return the verb of a call that controls a device, and the device by its name."""
    written = str(parse(call.args).get("device", ""))
    names = (device.name for device in fleet.devices.values() if written in (device.id, device.name))
    return call.tool.rpartition(".")[2], next(names, quoted(written))


def changing_calls(
    fleet: Fleet, specs: Sequence[TaskSpec], rules: Iterable[RuleRecord], approved: Approved | None = None
) -> list[Call]:
    """Return the calls of a plan that do more than read, for the person who decides: those that ask come first.

    The order within is that of the plan; a call that a rule may add counts, and so does an undo whose arguments the
    plan writes. A group stands for its calls. Their devices are those that they were `approved` for, or else asked for,
    without those that have left since.
    """
    by_id = {spec.id: spec for spec in specs}
    known_effects = _known_effects(fleet, by_id)
    reaches = (approved or Approved()).reaches
    devices_of = {
        (one.tool, encode_entity(one.selector)): [name for name in one.devices if _is_here(fleet, name)]
        for one in reaches
    }
    all_specs = [spec for spec in specs if spec.tool is not None and spec.key is None and not spec.look]
    calls = [
        _call(fleet, way, by_id, effects, devices_of.get((way.tool or "", encode_entity(selector_of(way, by_id)))))
        for spec in [*all_specs, *specs_by_rules(rules, specs)]
        for way in (*ways_of(spec), *_written_undo(spec))
        if (effects := known_effects.of(way)) - {Effect.READ}
    ]
    return sorted(calls, key=lambda call: not ASKING.intersection(call.effects))


def _is_here(fleet: Fleet, device: str) -> bool:
    return device in fleet.devices and not fleet.devices[device].revoked


def _written_undo(spec: TaskSpec) -> list[TaskSpec]:
    """Return the undo of a task as a call, where its plan names what it does and not the result of the task alone."""
    if spec.undo is None or spec.undo.args == "{}":
        return []
    return [replace(spec, any_of=[], args=spec.undo.args, id=f"undo-{spec.id}", tool=spec.undo.tool, undo=None)]


def action_of(tool: str, args: str) -> str:
    """Return the hash to which a standing allowance is bound; `args` is canonical text."""
    return sha256(canonical({"args": parse(args), "tool": tool}).encode()).hexdigest()


def _by_action(fleet: Fleet) -> dict[str, list[Standing]]:
    by_action: dict[str, list[Standing]] = {}
    for allowed in fleet.standing.values():
        by_action.setdefault(allowed.action, []).append(allowed)
    return by_action


def _covered(standing: dict[str, list[Standing]], call: Call) -> bool:
    """Tell whether a person allowed exactly this call on every device that can run it; without a device it is not."""
    return bool(call.devices) and any(
        set(call.devices) <= set(allowed.devices) and set(call.effects) <= set(allowed.effects)
        for allowed in standing.get(action_of(call.tool, call.args), ())
    )


def approved_puts(work: Work, constellation: Constellation, verdict: ApprovalNeed) -> list[Put]:
    """Return the put of the devices that are approved with a plan, where they are others than before."""
    if not work.shard.settings.binds_approvals or (not verdict.approved.reaches and not constellation.approved):
        return []
    return [("approved", "plan", verdict.approved)]
