"""Approvals: the calls of a plan that need one, the effect of an answer, and the allowances of the answer `always`.

An approval is bound to the hash of what it allows: it is denied after its time, void once its plan changes, and
answered once. A standing allowance is one tool with one set of arguments on the devices of that day; a wider call asks
again. The edge decides who may answer; only a person's own action answers.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import count

from msgspec.structs import replace

from starloom.core.people.controls import stop_all
from starloom.core.placement.absent_devices import lost_words
from starloom.core.placement.earlier_names import hash_as_approved
from starloom.core.placement.selection import capable, is_named, judge_device, nearest, offering
from starloom.core.plan.starting import activate
from starloom.core.rights.authorship import is_free
from starloom.core.rights.call_effects import (
    ASKING,
    UNSEEN_TRASH,
    KnownEffects,
    added_to,
    adds,
    leaving_words,
    offers_in,
    only_leaves,
    overwriting_words,
    specs_by_rules,
    stays_words,
    ways_of,
    wide_trash,
)
from starloom.core.rights.consent import (
    ALLOW,
    ALWAYS,
    APPROVAL,
    DENY,
    FIRST,
    beyond,
    consent_to,
    may_run_on,
    moved_names,
    named_devices,
    selector_of,
    within,
)
from starloom.core.rights.envelope import devices_of, envelope_words
from starloom.core.rights.first_folders import first_folders
from starloom.core.rights.reserved import KEPT_BY_ASSISTANT, is_kept_unapproved, words_by
from starloom.core.state.inputs import QuestionAnswered, StandingRevoked, TimerFired
from starloom.core.state.model import Constellation, Demand, Fleet
from starloom.core.state.orders import ArmTimer
from starloom.core.state.work import Put, Refusal, Work, answered, attend, fault, unattend
from starloom_protocol.records.approvals import Call, Standing
from starloom_protocol.records.edits import LoweredPlan
from starloom_protocol.records.entities import (
    Policy,
    Question,
    RuleRecord,
    TaskSpec,
    encode_entity,
)
from starloom_protocol.records.specs import Approved, Reach
from starloom_protocol.stream.authors import ENGINE, is_model
from starloom_protocol.stream.events import EventKind
from starloom_protocol.text.wording import few, listed, quoted
from starloom_protocol.tools.hub_tools import HUB_TOOLS, controls_devices
from starloom_protocol.values import canonical, parse
from starloom_protocol.vocabulary import Approval, Attention, Code, ConstellationState, Effect, Reason

KIND = APPROVAL
TIMER = "approval"
CALLS_MOST = 20
"""The answer *always* is offered for what a person can read."""
ARGS_BYTES_MOST = 4096
"""The arguments of a standing approval are compared whole."""
TOOLS_NAMED_MOST = DEVICES_NAMED_MOST = 5
"""The question is one sentence; the calls stand below it."""
_VERBS = {Effect.REACH: "reach the network", Effect.CONTROL: "control what is there"}
PLACES_NAMED_MOST = GOALS_NAMED_MOST = 3
"""The question is one sentence; the plan has the others."""
_READ = frozenset({Effect.READ})
_STATE = ConstellationState
_BINDS_PREVIEWS = 2
OTHER_DEVICES = " Its devices are no longer those of the preview that was approved."


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
    reaches: tuple[_Reach, ...] = ()
    others: frozenset[Effect] = frozenset()
    approved: Approved = field(default_factory=Approved)


@dataclass(frozen=True, slots=True)
class _Reach:
    """A call that asks: its effects, the ids of the devices on which it may run, and the folders meant there by `.`.

    A call that the hub itself carries out runs on none: `control` is its verb and the device that it controls.
    `leaving` says which files it may put into the trash or move, and `only_leaves` whether it does no more than that.
    """

    effects: frozenset[Effect]
    devices: tuple[str, ...]
    folders: tuple[tuple[str, str], ...] = ()
    control: tuple[str, str] | None = None
    leaving: tuple[str, ...] = ()
    only_leaves: bool = False


def action_of(tool: str, args: str) -> str:
    """Return the hash to which a standing allowance is bound; `args` is canonical text."""
    return sha256(canonical({"args": parse(args), "tool": tool}).encode()).hexdigest()


def plan_effects(fleet: Fleet, plan: LoweredPlan) -> list[Effect]:
    """Return the effects that devices declare for the tools of a plan and of the tasks that its rules may add."""
    return _effects(fleet, [*plan.specs, *specs_by_rules(plan.rules, plan.specs)])


def plan_devices(fleet: Fleet, plan: LoweredPlan) -> dict[str, str]:
    """Return the ids of the devices that a plan and the tasks of its rules name, by name."""
    return named_devices(fleet, [*plan.specs, *specs_by_rules(plan.rules, plan.specs)])


def _effects(fleet: Fleet, specs: Iterable[TaskSpec]) -> list[Effect]:
    given = list(specs)
    known = _known_effects(fleet, {spec.id: spec for spec in given})
    # Most calls of a plan have the same effects, so equal sets are merged once.
    return sorted(frozenset[Effect]().union(*dict.fromkeys(known.of(spec) for spec in given)))


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
    guided, known = is_model(by), _known_effects(fleet, by_id)
    added = specs_by_rules(rules, specs)
    if policy.approval is Approval.NEVER and not hold and not guided:
        specs, added = [[spec for spec in some if known.repeats(spec)] for some in (specs, added)]
    standing = _by_action(fleet)
    found = _Found(fleet)
    for spec in specs:
        works = spec.tool is not None or spec.goal is not None
        effects = known.of(spec) if works and spec.key is None else frozenset()
        unseen = guided and (
            bool(spec.secrets)
            or any(way.tool is not None and not known.is_offered(way.tool) for way in ways_of(spec))
            or (spec.key is None and known.may_change_files(spec))
        )
        turns = found.turns(known, spec)
        if not turns and not unseen and spec.id not in wide and not _asks(effects, strict=strict):
            found.others |= effects
            found.beside += [spec] if effects - _READ or spec.goal is not None else []
            continue
        late = f"{spec.id} may make the call {turns} times" if turns else _late(spec, by_id)
        call = _call(fleet, spec, by_id, effects)
        if not late and standing and _covered(standing, call):
            found.others |= effects
            found.bound.append(spec)
            continue
        found.add(spec, call, late or _too_wide(call))
    for spec in added:
        turns, effects = found.turns(known, spec), known.of(spec)
        if guided or turns or spec.id in wide or _asks(effects, strict=strict):
            found.add(spec, _call(fleet, spec, by_id, effects), f"a rule may add {spec.id} while it runs")
        elif effects - _READ:
            found.beside.append(spec)
    every_time = hold or policy.approval is Approval.ALWAYS
    if not found.calls and not every_time:
        return ApprovalNeed(asks=False, approved=_approved(fleet, found.bound, by_id))
    because = found.once_because
    if every_time:
        because = "it was submitted to wait for a person" if hold else "its policy asks each time"
    elif len(found.calls) > CALLS_MOST:
        because = f"it makes {len(found.calls)} such calls, and at most {CALLS_MOST} are allowed for good at once"
    return ApprovalNeed(
        asks=True,
        approved=_approved(fleet, [*found.bound, *found.beside], by_id),
        calls=[] if because else found.calls,
        once_because=because,
        repeats=found.repeats(),
        reaches=tuple(found.reaches),
        others=found.others,
    )


@dataclass(slots=True)
class _Found:
    """The calls of a plan that ask, in its order; `bound` and `beside` are the tasks whose devices an answer allows."""

    fleet: Fleet
    calls: list[Call] = field(default_factory=list)
    reaches: list[_Reach] = field(default_factory=list)
    others: frozenset[Effect] = frozenset()
    bound: list[TaskSpec] = field(default_factory=list)
    beside: list[TaskSpec] = field(default_factory=list)
    once_because: str = ""
    often: dict[str, int] = field(default_factory=dict)

    def turns(self, known: KnownEffects, spec: TaskSpec) -> int:
        """Return how many times a task may make its call that does more than read; 0 for once."""
        turns = known.repeats(spec)
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
        known = (f"{one.tool} up to {self.often[one.task]} times" for one in self.calls if one.task in self.often)
        return tuple(dict.fromkeys(known))


def _approved(fleet: Fleet, bound: Iterable[TaskSpec], by_id: Mapping[str, TaskSpec]) -> Approved:
    """Return the devices on which calls and goals may run, by tool and selector.

    A selector of one device needs none: its id stays, and its name goes to no other device while work means it.
    """
    found: dict[tuple[str, bytes], Reach] = {}
    for way in (way for spec in bound for way in ways_of(spec)):
        tool, selector = way.tool or "", selector_of(way, by_id)
        key = tool, encode_entity(selector)
        if key in found or selector.id or selector.name or tool in HUB_TOOLS:
            continue
        named = (device.id for device in fleet.devices.values() if is_named(selector, device))
        devices = {*(within(fleet, tool, selector) if tool else devices_of(fleet, way)), *named}
        found[key] = Reach(devices=sorted(devices), selector=selector, tool=tool)
    return Approved(reaches=[found[key] for key in sorted(found)])


def _where(work: Work, constellation: Constellation, verdict: ApprovalNeed) -> list[Put]:
    """Return the put of the devices that are approved with a plan, where they are others than before."""
    if not work.shard.settings.binds_approvals or (not verdict.approved.reaches and not constellation.approved):
        return []
    return [("approved", "plan", verdict.approved)]


def needs_approval(fleet: Fleet, plan: LoweredPlan, *, strict: bool, by: str, approves: bool = True) -> bool:
    """Tell whether a plan of the author `by` waits for a person before its first task; `approves`: `by` may answer."""
    by = words_by(fleet, plan.recipe, by) if plan.recipe else by
    wide = _wide(fleet, plan, by, approves=approves)
    return approval_need(fleet, plan.specs, plan.rules, plan.policy, strict=strict, hold=False, by=by, wide=wide).asks


def seen_hash(fleet: Fleet, plan: LoweredPlan, *, by: str) -> str:
    """Return the hash by which a preview of now is approved: that of the plan and, after a point, of the devices shown.

    It is the plan's own where each call that does more than read names its device.
    """
    shown = approval_need(fleet, plan.specs, plan.rules, plan.policy, strict=True, hold=True, by=by).approved
    if not shown.reaches:
        return plan.hash
    return f"{plan.hash}.{sha256(encode_entity(shown)).hexdigest()[:32]}"


def is_seen(work: Work, plan: LoweredPlan, given: str, *, by: str) -> bool:
    """Tell whether the devices of a plan are still those of the preview that was approved by the hash `given`.

    Raises:
        Refusal: `plan_hash_mismatch`, if it is the hash of another plan.
    """
    if given.partition(".")[0] != plan.hash:
        raise Refusal(fault(Code.PLAN_HASH_MISMATCH, f"the plan's hash is {plan.hash}, not {given}", "plan_hash"))
    return work.shard.settings.binds_approvals < _BINDS_PREVIEWS or given == seen_hash(work.shard.fleet, plan, by=by)


def _wide(fleet: Fleet, plan: LoweredPlan, by: str, *, approves: bool) -> Container[str]:
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


def _late(spec: TaskSpec, by_id: dict[str, TaskSpec]) -> str:
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
    held: Sequence[str] | None = None,
) -> Call:
    devices = may_run_on(fleet, spec, by_id) if held is None else held
    return Call(args=spec.args, devices=sorted(devices), effects=sorted(effects), task=spec.id, tool=spec.tool or "")


def _reach(fleet: Fleet, spec: TaskSpec, call: Call) -> _Reach:
    folders = first_folders(fleet, spec, call.devices)
    control = _control(fleet, call) if controls_devices(call.tool) else None
    leaving, only = tuple(leaving_words(spec)), only_leaves(spec)
    others = (device for way in ways_of(spec)[1:] for device in may_run_on(fleet, way, {}))
    devices = tuple(dict.fromkeys([*call.devices, *others]))
    return _Reach(frozenset(call.effects), devices, tuple(sorted(folders.items())), control, leaving, only)


def _control(fleet: Fleet, call: Call) -> tuple[str, str]:
    """Return the verb of a call that controls a device, and the device by its name."""
    written = str(parse(call.args).get("device", ""))
    names = (device.name for device in fleet.devices.values() if written in (device.id, device.name))
    return call.tool.rpartition(".")[2], next(names, quoted(written))


def _by_action(fleet: Fleet) -> dict[str, list[Standing]]:
    found: dict[str, list[Standing]] = {}
    for allowed in fleet.standing.values():
        found.setdefault(allowed.action, []).append(allowed)
    return found


def _covered(standing: dict[str, list[Standing]], call: Call) -> bool:
    """Tell whether a person allowed exactly this call on every device that can run it; without a device it is not."""
    return bool(call.devices) and any(
        set(call.devices) <= set(allowed.devices) and set(call.effects) <= set(allowed.effects)
        for allowed in standing.get(action_of(call.tool, call.args), ())
    )


def changing_calls(
    fleet: Fleet, specs: Sequence[TaskSpec], rules: Iterable[RuleRecord], approved: Approved | None = None
) -> list[Call]:
    """Return the calls of a plan that do more than read, for the person who decides: those that ask come first.

    The order within is that of the plan; a call that a rule may add counts, and so does an undo whose arguments the
    plan writes. A group stands for its calls. Their devices are those that they were `approved` for, or else asked for.
    """
    by_id = {spec.id: spec for spec in specs}
    known = _known_effects(fleet, by_id)
    held = {(one.tool, encode_entity(one.selector)): one.devices for one in (approved or Approved()).reaches}
    all_specs = [spec for spec in specs if spec.tool is not None and spec.key is None and not spec.look]
    calls = [
        _call(fleet, way, by_id, effects, held.get((way.tool or "", encode_entity(selector_of(way, by_id)))))
        for spec in [*all_specs, *specs_by_rules(rules, specs)]
        for way in (*ways_of(spec), *_written_undo(spec))
        if (effects := known.of(way)) - {Effect.READ}
    ]
    return sorted(calls, key=lambda call: not ASKING.intersection(call.effects))


def _written_undo(spec: TaskSpec) -> list[TaskSpec]:
    """Return the undo of a task as a call, where its plan names what it does and not the result of the task alone."""
    if spec.undo is None or spec.undo.args == "{}":
        return []
    return [replace(spec, any_of=[], args=spec.undo.args, id=f"undo-{spec.id}", tool=spec.undo.tool, undo=None)]


def ask_or_start(
    work: Work, constellation: Constellation, plan: LoweredPlan, *, seen: bool | None, words: bool
) -> None:
    """Ask a person about an installed plan, or start it. `seen`: a preview was approved, and shows the same devices."""
    fleet, head = work.shard.fleet, constellation.head
    schedule = fleet.schedules.get(head.schedule or "")
    # A firing is judged as strictly as its schedule was: its recipe, or the effects of a tool, may have changed since.
    strict = words or (schedule is not None and (schedule.strict or schedule.consent is not None))
    by = words_by(fleet, plan.recipe, head.author) if plan.recipe else head.author
    wide = _wide(fleet, plan, by, approves=head.approves)
    verdict = approval_need(fleet, plan.specs, plan.rules, plan.policy, strict=strict, hold=head.hold, by=by, wide=wide)
    effects = plan_effects(fleet, plan)
    wider = _beyond_consent(work, constellation, plan, effects) if verdict.asks and head.schedule else None
    moved = moved_names(schedule.devices, plan_devices(fleet, plan)) if schedule is not None else []
    if (seen and head.approves) or (not moved and (not verdict.asks or wider == [])):
        activate(work, constellation, EventKind.STARTED, "", *_where(work, constellation, verdict))
        return
    wider = list(dict.fromkeys([*(wider or []), *moved]))
    if wider:
        # It is allowed for more than this once, whatever keeps single calls from being allowed for good.
        verdict = dataclasses.replace(verdict, once_because="")
    again = f" Its schedule asks because {'; '.join(wider)}. Allowing it allows its later firings too." if wider else ""
    again += OTHER_DEVICES if seen is False else ""
    again += KEPT_BY_ASSISTANT if by != head.author else ""
    _ask(work, constellation, verdict, effects, action=plan.hash, note=again)


def plan_changed(work: Work, constellation: Constellation) -> None:
    """Replace the open approval of a plan that was edited by one of the present plan."""
    head = constellation.head
    if head.state is not _STATE.AWAITING_APPROVAL:
        return
    for key in list(constellation.open_questions):
        asked = constellation.questions[key]
        if asked.kind == KIND:
            why = "the plan was changed since"
            work.emit(constellation, EventKind.APPROVAL_VOID, key, [answered(work, asked, "", reason=why)], note=why)
    _ask_as_it_is(work, constellation, hash_of(constellation), " The plan was changed since.")


def ask_again(work: Work) -> None:
    """Ask again about each plan with a call for which no approved device fits any more, where another one does."""
    shard = work.shard
    for demand in list(shard.demands.values()):
        if demand.needs is None or demand.needs.approved is None or capable(shard.fleet, demand):
            continue
        # The fleet is looked over once for each of its revisions, however many steps a task waits.
        why = _none_fits(shard.fleet, demand) if demand.held_seen != demand.revision else ""
        demand.held_seen = -1 if why else demand.revision
        for name in list(demand.lines) if why else ():
            task = next((task for _, _, task in demand.lines[name] if shard.queued.get((name, task)) == demand.key), "")
            constellation = shard.constellations.get(name)
            if task and constellation is not None and constellation.head.state is _STATE.ACTIVE:
                note = f" No device that was approved for {task} can do it any more{why}."
                action = constellation.head.plan_hash or hash_of(constellation)
                _ask_as_it_is(work, constellation, action, note)


def _none_fits(fleet: Fleet, demand: Demand) -> str:
    """Return in words why no approved device fits a demand; empty if one may again, or no other device does either."""
    free = dataclasses.replace(demand.needs, approved=None)
    others = [
        judge_device(fleet, device, demand.tool, demand.selector, free) for device in offering(fleet, demand.tool)
    ]
    if nearest({one.reason for one in others if one.device in demand.needs.approved}) is not Reason.NO_CAPABLE_DEVICE:
        return ""
    if nearest({one.reason for one in others}) is Reason.NO_CAPABLE_DEVICE:
        return ""
    known = [fleet.devices[one] for one in sorted(demand.needs.approved) if one in fleet.devices]
    judged = (judge_device(fleet, device, demand.tool, demand.selector, free) for device in known)
    told = [f"{device.name} {one.words}" for device, one in zip(known, judged, strict=True)]
    return f": {few(told, DEVICES_NAMED_MOST)}" if told else ", for there was none"


def _ask_as_it_is(work: Work, constellation: Constellation, action: str, note: str) -> None:
    """Ask about the present plan on the present fleet."""
    head = constellation.head
    specs = [spec for spec in constellation.specs.values() if not spec.look]
    rules = list(constellation.rules.values())
    words = bool(head.request) and head.recipe is None
    # What was changed is no recipe as its keeper has read it.
    by = words_by(work.shard.fleet, head.recipe, head.author) if head.recipe else head.author
    wide = wide_trash([*specs, *specs_by_rules(rules, specs)], constellation.deps.values(), guided=is_model(by))
    verdict = approval_need(work.shard.fleet, specs, rules, head.policy, strict=words, hold=head.hold, by=by, wide=wide)
    if not verdict.asks:
        # The plan needed approval once, so its change does too, even if the new plan alone would not.
        verdict = ApprovalNeed(asks=True, once_because="nothing in the plan as it is now needs to be allowed for good")
    effects = _effects(work.shard.fleet, [*specs, *specs_by_rules(rules, specs)])
    _ask(work, constellation, verdict, effects, action=action, note=note)


def hash_of(constellation: Constellation) -> str:
    """Return the hash of the present plan, with all that decides its work."""
    parts = (constellation.specs, constellation.deps, constellation.rules)
    told = [encode_entity(constellation.head.policy)]
    for records in parts:
        found = [records[key] for key in sorted(records)]
        told += [encode_entity(one) for one in found if not isinstance(one, TaskSpec) or not one.look]
    return sha256(b"".join(told)).hexdigest()


def _ask(
    work: Work, constellation: Constellation, verdict: ApprovalNeed, effects: list[Effect], *, action: str, note: str
) -> None:
    head = constellation.head
    goals = [spec for spec in constellation.specs.values() if spec.goal is not None]
    aims = "".join(
        f" The goal {spec.id}: {envelope_words(spec, work.shard.fleet)}" for spec in goals[:GOALS_NAMED_MOST]
    )
    stays = stays_words(constellation.specs.values(), offers_in(work.shard.fleet))
    may = _may(work.shard.fleet, verdict, effects) + _about_list(constellation, verdict) + _over(constellation)
    may += f" {stays}" if stays else ""
    question = Question(
        action=action,
        calls=verdict.calls,
        effects=effects,
        expires_ms=work.at_ms + work.shard.settings.approval_ms,
        id=next(name for name in _names(head.version) if name not in constellation.questions),
        kind=KIND,
        once_because=verdict.once_because,
        opened_ms=work.at_ms,
        text=f"{_named(head.name)}? It may {may}{aims}{note}",
        version=head.version,
    )
    waiting = replace(head, state=_STATE.AWAITING_APPROVAL)
    puts: list[Put] = [
        *_where(work, constellation, verdict),
        ("question", question.id, question),
        ("head", "", waiting),
    ]
    work.emit(constellation, EventKind.APPROVAL_ASKED, question.id, puts, by=ENGINE)
    attend(work, constellation, Attention.QUESTION_OPEN)
    work.order(due_moment(constellation, question))


def _names(version: int) -> Iterator[str]:
    """Yield the names that the question about a plan may have: a plan is asked about more than once."""
    yield FIRST
    yield f"{FIRST}-{version}"
    yield from (f"{FIRST}-{version}-{number}" for number in count(2))


def _over(constellation: Constellation) -> str:
    """Return the sentence on the files that calls may overwrite; the effect *write* does not tell that."""
    found = {spec.id: words for spec in constellation.specs.values() if (words := overwriting_words(spec))}
    told = [f"{task} may {words}" for task, words in list(found.items())[:PLACES_NAMED_MOST]]
    more = len(found) - PLACES_NAMED_MOST
    return f" {'; '.join(told)}{f'; so may {more} more tasks' if more > 0 else ''}." if told else ""


def _named(name: str) -> str:
    """Return the beginning of the question about a plan; many names are what it does, such as *Run everywhere*."""
    return name if name.casefold().startswith("run ") else f"Run {name}"


def _may(fleet: Fleet, verdict: ApprovalNeed, effects: list[Effect]) -> str:
    """Return the effects of the calls that ask with their devices and folders, then those of the other tasks.

    The name of a plan may say anything, so the sentence is made of what its calls do.
    """
    repeats = f", with {listed(list(verdict.repeats[:TOOLS_NAMED_MOST]))}" if verdict.repeats else ""
    asked = frozenset[Effect]().union(*(one.effects for one in verdict.reaches))
    if not asked:
        return f"{_verbs(effects) or 'do nothing to the world'}{repeats}."
    places: dict[tuple[str, ...], list[_Reach]] = {}
    for one in verdict.reaches:
        if one.effects and one.control is None:
            places.setdefault(one.devices, []).append(one)
    groups = list(places.values())
    if len(groups) > PLACES_NAMED_MOST:
        groups = [[one for group in groups for one in group]]
    told = "; ".join([*(_at_a_place(fleet, group) for group in groups), *_controlled(verdict.reaches)])
    rest = verdict.others | (frozenset(effects) - asked)
    more = (
        ""
        if not rest
        else " Its other tasks only read."
        if rest == {Effect.READ}
        else f" Its other tasks may {_verbs(rest)}."
    )
    return f"{told}{repeats}.{more}"


def _about_list(constellation: Constellation, verdict: ApprovalNeed) -> str:
    """Return the sentence on files that a plan looks for and puts into the trash: a later question may list them."""
    if not any(UNSEEN_TRASH in one.leaving for one in verdict.reaches):
        return ""
    wide = wide_trash(constellation.specs.values(), constellation.deps.values())
    return UNSEEN_LIST if wide else SHOWN_LIST


SHOWN_LIST = " Before they go, a question shows the list of them."
UNSEEN_LIST = (
    " Allowing it now allows every file that the plan finds. To be asked when the list is there, deny this, and put a"
    " question that shows it before the trash (docs/plans.md, A question that shows a result)."
)


def _at_a_place(fleet: Fleet, reaches: Sequence[_Reach]) -> str:
    """Return the effects of calls on the same devices, each device with the folder that the calls mean by `.`."""
    folders = {device: folder for one in reaches for device, folder in one.folders}
    keys = dict.fromkeys(device for one in reaches for device in one.devices if device in fleet.devices)
    names = [
        f"{fleet.devices[key].name} (in {folders[key]})" if key in folders else fleet.devices[key].name for key in keys
    ]
    return f"{_acts(reaches)}{f' on {_some(names)}' if names else ''}"


def _acts(reaches: Sequence[_Reach]) -> str:
    """Return the effects of calls; of one that takes files from their place that, in place of a write."""
    effects = frozenset[Effect]().union(
        *(one.effects - {Effect.WRITE} if one.only_leaves else one.effects for one in reaches)
    )
    taken = list(dict.fromkeys(words for one in reaches for words in one.leaving))
    more = [f"{len(taken) - PLACES_NAMED_MOST} times more"] if len(taken) > PLACES_NAMED_MOST else []
    return listed([*_verb_list(effects), *taken[:PLACES_NAMED_MOST], *more])


def _controlled(reaches: Sequence[_Reach]) -> list[str]:
    """Return the devices that the calls of the hub itself control, after the verb of those calls."""
    found: dict[str, dict[str, None]] = {}
    for verb, name in (one.control for one in reaches if one.control is not None):
        found.setdefault(verb, {})[name] = None
    return [f"{verb} {_some(list(names))}" for verb, names in found.items()]


def _some(names: Sequence[str]) -> str:
    more = len(names) - DEVICES_NAMED_MOST
    return listed([*names[:DEVICES_NAMED_MOST], *([f"{more} more devices"] if more > 0 else [])])


def _verbs(effects: Collection[Effect]) -> str:
    return listed(_verb_list(effects))


def _verb_list(effects: Collection[Effect]) -> list[str]:
    return [_VERBS.get(effect, str(effect)) for effect in Effect if effect in effects]


def _beyond_consent(work: Work, constellation: Constellation, plan: LoweredPlan, effects: list[Effect]) -> list[str]:
    """Return the parts of a schedule's plan that go beyond the consent given with the schedule."""
    fleet = work.shard.fleet
    schedule = fleet.schedules.get(constellation.head.schedule or "")
    if schedule is None or schedule.consent is None:
        return ["nobody has approved it for this schedule"]
    same = hash_as_approved(fleet, plan, schedule.consent.hash, schedule.devices)
    now = consent_to(fleet, plan.specs, effects, plan_hash=same, by=work.by, at_ms=work.at_ms)
    return beyond(schedule.consent, now, fleet)


def decide(work: Work, constellation: Constellation, question: Question, item: QuestionAnswered) -> None:
    """Carry out a person's answer to an approval: allow, deny, or always allow its calls.

    Raises:
        Refusal: the answer is unknown, there is no call that could always be allowed, or devices of the plan are gone
            and the answer does not say `anyway`.
    """
    if item.value not in (ALLOW, DENY, ALWAYS):
        reason = f"an approval is answered {ALLOW}, {DENY} or {ALWAYS}, not {item.value}"
        raise Refusal(fault(Code.BAD_REQUEST, reason, "value"))
    if item.value == ALWAYS and not question.calls:
        reason = (
            f"this can only be allowed once: {question.once_because or 'none of its calls can be allowed for good'}"
        )
        raise Refusal(fault(Code.BAD_REQUEST, reason, "value", "Answer allow, which is for this time."))
    if item.value != DENY and not item.anyway:
        _check_devices_are_here(work, constellation)
    _answered(work, constellation, question, item.value, item.reason, by=work.by)
    if item.value == DENY:
        _deny(work, constellation, item.reason, by=work.by)
        return
    if item.value == ALWAYS:
        _allow_for_good(work, constellation, question)
    _consent_again(work, constellation, question)
    activate(work, constellation, EventKind.STARTED, "approved")


def _check_devices_are_here(work: Work, constellation: Constellation) -> None:
    """Refuse an approval of tasks whose devices are gone, which would only wait."""
    lost = lost_words(work.shard.fleet.devices, constellation.specs.values())
    if lost:
        hint = "Deny it, or edit the plan. To approve it anyway: starloom approve ID --anyway."
        raise Refusal(fault(Code.CONFLICT, "; ".join(lost), "", hint))


def _answered(
    work: Work, constellation: Constellation, question: Question, value: str, reason: str, *, by: str
) -> None:
    put = answered(work, question, value, reason=reason, by=by)
    work.emit(constellation, EventKind.APPROVAL_ANSWERED, question.id, [put], note=reason, by=by)


def _deny(work: Work, constellation: Constellation, why: str, *, by: str) -> None:
    reason = f"the plan was denied{': ' + why if why else ''}"
    denied = replace(constellation.head, state=_STATE.CANCELLING, cancelled_by=by, fault=fault(Code.DECLINED, reason))
    work.emit(constellation, EventKind.DENIED, "", [("head", "", denied)], note=reason, by=by)
    stop_all(work, constellation, reason)


def _allow_for_good(work: Work, constellation: Constellation, question: Question) -> None:
    """Make a standing allowance of each call of the question.

    Raises:
        Refusal: there would be too many of them.
    """
    fleet = work.shard.fleet
    puts: list[Put] = []
    for call in question.calls:
        action = action_of(call.tool, call.args)
        made = Standing(
            action=action,
            args=call.args,
            at_ms=work.at_ms,
            by=work.by,
            constellation=constellation.name,
            devices=call.devices,
            effects=call.effects,
            id="s-" + sha256(f"{action} {' '.join(call.devices)}".encode()).hexdigest()[:12],
            tool=call.tool,
        )
        puts.append(("standing", made.id, made))
    most = work.shard.settings.standing_most
    if len({*fleet.standing, *(key for _, key, _ in puts)}) > most:
        reason = f"{most} calls are allowed for good already, which is the most"
        hint = "Answer allow, which is for this time, or take some back in Settings."
        raise Refusal(fault(Code.CONFLICT, reason, "value", hint))
    work.emit(fleet, EventKind.STANDING_ALLOWED, constellation.name, puts)


def _consent_again(work: Work, constellation: Constellation, question: Question) -> None:
    """Extend the consent of a schedule to the plan that a person has just allowed for one of its firings."""
    fleet = work.shard.fleet
    schedule = fleet.schedules.get(constellation.head.schedule or "")
    if schedule is None or question.action is None:
        return
    now = consent_to(
        fleet,
        constellation.specs.values(),
        question.effects,
        plan_hash=question.action,
        by=work.by,
        at_ms=work.at_ms,
    )
    specs = constellation.specs.values()
    named = named_devices(fleet, [*specs, *specs_by_rules(constellation.rules.values(), specs)])
    agreed = replace(schedule, consent=now, devices=schedule.devices | named)
    work.emit(fleet, EventKind.SCHEDULE_APPROVED, schedule.id, [("schedule", schedule.id, agreed)])


def on_standing_revoked(work: Work, item: StandingRevoked) -> None:
    """Revoke a standing allowance: from the next plan on, its call needs approval again."""
    found = work.shard.fleet.standing.get(item.standing)
    if found is None:
        raise Refusal(fault(Code.NOT_FOUND, f"nothing that is called {item.standing} is allowed for good"))
    work.emit(work.shard.fleet, EventKind.STANDING_REVOKED, found.id, [("standing", found.id, None)], note=item.reason)
    work.answer({"id": found.id})


def due_moment(constellation: Constellation, question: Question) -> ArmTimer:
    """Return the timer of an open approval."""
    return ArmTimer(constellation=constellation.name, due_ms=question.expires_ms, entity=question.id, kind=TIMER)


def on_timer(work: Work, item: TimerFired) -> None:
    """Deny an approval that was not answered in its time."""
    constellation = work.shard.constellations.get(item.constellation)
    question = constellation.questions.get(item.entity) if constellation else None
    if constellation is None or question is None or question.answer is not None or work.at_ms < question.expires_ms:
        work.ignore("the timer is stale")
        return
    hours = work.shard.settings.approval_ms / 3_600_000
    reason = f"nobody answered within {hours:g} hours, which is a no"
    _answered(work, constellation, question, DENY, reason, by=ENGINE)
    _deny(work, constellation, reason, by=ENGINE)
    if not constellation.open_questions:
        unattend(work, constellation, Attention.QUESTION_OPEN)
