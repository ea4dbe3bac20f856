"""The rights of authors: whether their plan, edit or control may set approval aside, widen a plan or name a secret.

Pure; called by every handler that accepts work, so that all doors have the same rules. Two facts count: whether the
author may answer approvals (`approves`), and whether a model chose the words. The edge decides who has access at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from msgspec.structs import replace

from starloom.core.rights.call_effects import (
    ASKING,
    EVERY,
    KnownEffects,
    overwriting_words,
    specs_by_rules,
    ways_of,
    wide_trash,
)
from starloom.core.rights.edit_scope import same_work, wider_than_approved
from starloom.core.rights.reserved import edited, is_kept_by_model, persons_words, says
from starloom.core.state.model import Constellation, Fleet
from starloom.core.state.tasks.graph import redone
from starloom.core.state.work import Refusal, fault
from starloom_protocol.records.access import Principal
from starloom_protocol.records.edits import (
    AddDependency,
    AddItems,
    AddTask,
    EditOperation,
    LoweredPlan,
    SetPolicy,
    UpdateTask,
)
from starloom_protocol.records.entities import Dependency, Fault, Policy, RuleRecord, TaskSpec
from starloom_protocol.stream.authors import is_assistant, is_model, is_person, name_of, told_name, who
from starloom_protocol.text.wording import listed
from starloom_protocol.tools.hub_tools import controls_devices
from starloom_protocol.values import parse
from starloom_protocol.vocabulary import (
    FINAL_TASK_STATES,
    ROLE_RANK,
    Approval,
    Code,
    ConstellationState,
    Effect,
    Gate,
    PrincipalKind,
    Role,
)

_NEEDS = "It needs the scope approve. Submit it as a plan of its own, which waits for a person, or ask one to do this."
_NEVER = "Leave policy.approval out: the plan then waits for a person where it needs one."
_FLEET = "It needs the role operator and the scope fleet, in a plan of your own: no schedule and no fork has it."
_OWN_PLAN = "Submit a plan of its own for it: a person approves it whole."
_SECRET = "Ask a person to submit the plan, or to save it as a recipe; a recipe waits for a person and may name one."
_SENTENCE = "Leave `sentence` out: the answer says what was done, and words of a model have cites."
_LOOK = "Ask a person to look at the device and to mark it."
_ASK = "Leave `ask` out: whoever may answer is asked. A person who asks for this may name whom to ask."
_GUARDED_ACTIONS = frozenset({"draft", "hint", "mark", "release", "resume", "retry_from", "skip"})


def check_plan(author: str, plan: LoweredPlan, *, approves: bool, controls: bool = False) -> None:
    """Refuse a plan that sets approval aside or controls a device without the right, or whose model names a secret.

    Raises:
        Refusal: with every fault.
    """
    faults = [*_never(plan.policy, plan.rules, approves=approves, author=author)]
    if not controls:
        faults += [
            fault(Code.FORBIDDEN, f"{spec.tool} controls a device, and this author may not", f"tasks.{spec.id}", _FLEET)
            for spec in plan.specs
            if controls_devices(spec.tool)
        ]
    faults += [
        fault(Code.FORBIDDEN, f"{rule.name} would add {spec.tool}", rule.name, _OWN_PLAN)
        for rule in plan.rules
        for spec in specs_by_rules([rule], plan.specs)
        if controls_devices(spec.tool)
    ]
    if is_model(author):
        specs = [*plan.specs, *specs_by_rules(plan.rules, plan.specs)]
        faults += [
            _names_secret(author, f"tasks.{name}") for name in dict.fromkeys(spec.id for spec in specs if spec.secrets)
        ]
        # A recipe has its sentences from the person who keeps it; its text is not the model's.
        if plan.sentences and plan.recipe is None:
            faults.append(_says(author, "sentence"))
    if faults:
        raise Refusal(*faults)


def faults_of(
    author: str, plan: LoweredPlan, principals: Mapping[str, Principal], *, approves: bool, controls: bool
) -> list[Fault]:
    """Return the faults for which a submission of this plan by this author would be refused, for its preview."""
    try:
        check_plan(author, plan, approves=approves, controls=controls)
        check_asked(principals, plan.specs)
    except Refusal as refusal:
        return refusal.faults
    return []


def check_recipe(author: str, secrets: Iterable[str], *, unapproved: bool, says: bool, approves: bool) -> None:
    """Refuse a recipe text as `check_plan` refuses its plan.

    Raises:
        Refusal: with every fault.
    """
    faults = [_names_secret(author, "recipe")] if is_model(author) and any(True for _ in secrets) else []
    if unapproved and not (approves and not is_model(author)):
        faults.append(_sets_never(author, "recipe"))
    if says and is_model(author):
        faults.append(_says(author, "recipe"))
    if faults:
        raise Refusal(*faults)


def _never(policy: Policy, rules: Iterable[RuleRecord], *, approves: bool, author: str) -> Iterable[Fault]:
    if approves and not is_model(author):
        return
    if policy.approval is Approval.NEVER:
        yield _sets_never(author, "policy.approval")
    for rule in rules:
        if any(operation.get("op") == "set_policy" for operation in parse(rule.operations)):
            yield fault(Code.FORBIDDEN, "a rule that changes the policy needs the scope approve", rule.name, _NEEDS)


def _sets_never(author: str, place: str) -> Fault:
    reason = f"`approval: never` needs the scope approve, which {who(author)} does not have here"
    return fault(Code.FORBIDDEN, reason, place, _NEVER)


def _names_secret(author: str, place: str) -> Fault:
    reason = f"{who(author)} may not name a secret: a model chose these words, and only a person's plan may"
    return fault(Code.FORBIDDEN, reason, place, _SECRET)


def _says(author: str, place: str) -> Fault:
    reason = f"{who(author)} may not say how the answer begins: a model chose these words"
    return fault(Code.FORBIDDEN, reason, place, _SENTENCE)


def is_free(author: str, *, approves: bool) -> bool:
    """Say whether an author may make any edit: then there is no reason to keep the plan as it was and compare."""
    return approves and not is_model(author)


def check_edit(
    fleet: Fleet,
    constellation: Constellation,
    before: Mapping[str, TaskSpec],
    flows: Mapping[str, Dependency],
    operations: Iterable[EditOperation],
    *,
    author: str,
    approves: bool,
) -> None:
    """Refuse an edit, already applied to `constellation`, that goes beyond its author's rights.

    `before` and `flows` are the tasks and dependencies before the edit. A plan that waits for its approval needs a new
    one after every edit, so there only secrets and the policy count.

    Raises:
        Refusal: with every fault.
    """
    controlling = [
        fault(Code.FORBIDDEN, f"{name} calls {spec.tool}, and no edit adds or changes that", name, _OWN_PLAN)
        for name, spec in _controlling(constellation, operations)
    ]
    if controlling:
        raise Refusal(*controlling)
    if is_free(author, approves=approves):
        return
    faults = [_sets_never(author, "operations") for one in operations if _weakens(one, author, approves=approves)]
    changed = [
        spec
        for name, spec in constellation.specs.items()
        # Records that an edit does not touch keep their identity, so they need no comparison.
        if (old := before.get(name)) is not spec and (old is None or not same_work(old, spec))
    ]
    if is_model(author):
        faults += [_adds_items(author) for one in operations if isinstance(one, AddItems)]
        faults += _changes_of_others(constellation, before, operations, author)
        faults += [_names_secret(author, name) for name in _secrets_touched(constellation, before, flows, changed)]
        faults += edited(fleet, constellation, before, changed)
        faults += _chosen(constellation, changed)
    if not approves and constellation.head.state is not ConstellationState.AWAITING_APPROVAL:
        wide = wide_trash(constellation.specs.values(), _still_asked(constellation), guided=is_model(author))
        trashing = [wide[spec.id] for spec in changed if spec.id in wide]
        reasons = [*guarded(fleet, constellation, before), *_asking(fleet, changed), *trashing]
        if is_model(author):
            known = KnownEffects(fleet)
            changing = [spec for spec in changed if spec.key is None and known.may_change_files(spec)]
            reasons += [f"{spec.id} may {overwriting_words(spec) or 'change files'}" for spec in changing]
        if constellation.head.policy.approval is Approval.ALWAYS or constellation.head.hold:
            reasons += wider_than_approved(fleet, constellation, before, flows)
        faults += [fault(Code.FORBIDDEN, reason, "operations", _NEEDS) for reason in dict.fromkeys(reasons)]
    if faults:
        raise Refusal(*faults)


def _still_asked(constellation: Constellation) -> Iterator[Dependency]:
    """Yield the dependencies but those on a question that is answered: nobody was asked about a later change."""
    for edge in constellation.deps.values():
        asked = constellation.specs[edge.source].person is not None
        if not asked or constellation.record(edge.source).state not in FINAL_TASK_STATES:
            yield edge


def _controlling(constellation: Constellation, operations: Iterable[EditOperation]) -> Iterator[tuple[str, TaskSpec]]:
    """Yield the tasks that an edit adds or changes and that control devices as they are now."""
    for operation in operations:
        name = operation.spec.id if isinstance(operation, AddTask) else getattr(operation, "id", None)
        spec = constellation.specs.get(name) if name is not None else None
        if spec is not None and isinstance(operation, AddTask | UpdateTask) and controls_devices(spec.tool):
            yield spec.id, spec


def check_asked(principals: Mapping[str, Principal], specs: Iterable[TaskSpec]) -> None:
    """Refuse questions to people who are not known here, or whose role does not let them answer.

    Raises:
        Refusal: with every fault.
    """
    faults = list(_unknown(principals, (spec for spec in specs if spec.ask)))
    if faults:
        raise Refusal(*faults)


def _unknown(principals: Mapping[str, Principal], asking: Iterable[TaskSpec]) -> Iterator[Fault]:
    for spec in asking:
        people = {one.name: one for one in principals.values() if one.kind is PrincipalKind.PERSON}
        able = sorted(name for name, one in people.items() if ROLE_RANK[one.role] >= ROLE_RANK[Role.APPROVER])
        for name in spec.ask:
            if name in able:
                continue
            why = f"has the role {people[name].role} and may not answer" if name in people else "is not known here"
            hint = f"Those who may answer: {', '.join(able)}."
            yield fault(Code.PLAN_INVALID, f"{name} {why}", f"tasks.{spec.id}.ask", hint)


def check_addressed(fleet: Fleet, constellation: Constellation, plan: LoweredPlan) -> None:
    """Refuse a model's plan whose question names people whom no person named: it would choose who says yes.

    A recipe that a person keeps may name whom it likes; what the model gave as its values may not.

    Raises:
        Refusal: with every fault.
    """
    specs = [*plan.specs, *specs_by_rules(plan.rules, plan.specs)]
    faults = _chosen(constellation, specs)
    if plan.recipe is not None and not is_kept_by_model(fleet, plan.recipe):
        faults = [one for spec in specs for one in _chosen(constellation, [spec]) if says(plan.params, spec.ask)]
    if faults:
        raise Refusal(*faults)


def _chosen(constellation: Constellation, specs: Iterable[TaskSpec]) -> list[Fault]:
    """Return a fault for each person to whom a question goes, and who neither asked for this nor was named for it."""
    words, author = persons_words(constellation), constellation.head.author
    asker = name_of(author) if is_person(author) else ""
    return [
        fault(Code.FORBIDDEN, f"a model may not choose that {name} answers, whom nobody named", spec.id, _ASK)
        for spec in specs
        for name in spec.ask
        if name != asker and not says(words, [name])
    ]


def is_asked(spec: TaskSpec, author: str) -> bool:
    """Tell whether the word of an author counts for a question: it names nobody, or this very person."""
    return not spec.ask or (is_person(author) and name_of(author) in spec.ask)


def check_word(spec: TaskSpec, author: str) -> None:
    """Refuse the word of anyone else about a question that names who answers it.

    Raises:
        Refusal: `forbidden`, with the names.
    """
    if not is_asked(spec, author):
        raise Refusal(_not_asked(spec, author))


def _not_asked(spec: TaskSpec, author: str) -> Fault:
    hint = f"Only the answer of {listed(spec.ask)} counts; they, or an owner, change the names by an edit."
    return fault(Code.FORBIDDEN, f"{spec.id} asks {listed(spec.ask)}, not {who(author)}", "", hint)


def asked_faults(
    constellation: Constellation,
    specs: Mapping[str, TaskSpec | None],
    gates: Mapping[str, Dependency | None],
    principals: Mapping[str, Principal],
    *,
    author: str,
    owner: bool,
) -> list[Fault]:
    """Return the faults of an edit by which anyone else changes a question of named people or a gate that it opens.

    `specs` and `gates` are the puts of the edit, None for a removal. An owner may change them, and the names with them.
    """
    touched: dict[str, TaskSpec] = {}
    for name, new in specs.items():
        old = constellation.specs.get(name)
        if old is not None and old.ask and (new is None or replace(new, changed_in=old.changed_in) != old):
            touched[name] = old
    for key, gate in gates.items():
        was = constellation.deps.get(key)
        source = constellation.specs.get(was.source) if was is not None else None
        if was is None or source is None or not source.ask or (was.target in specs and specs[was.target] is None):
            continue
        if gate is None or replace(gate, changed_in=was.changed_in) != was:
            touched[was.source] = source
    faults = [_not_asked(spec, author) for spec in touched.values() if not (owner or is_asked(spec, author))]
    return faults or list(_unknown(principals, (spec for spec in specs.values() if spec is not None and spec.ask)))


def _is_for_another(asked_by: str, author: str) -> bool:
    """Tell whether an assistant acts on work that somebody else asked for: it may stop that, and a person decides."""
    return is_assistant(author) and who(author) != who(asked_by)


def check_of_others(asked_by: str, action: str, *, author: str) -> None:
    """Refuse an assistant a decision about the work, or the schedule, that somebody else asked for.

    Raises:
        Refusal: `forbidden`.
    """
    if _is_for_another(asked_by, author):
        words = action.replace("_", " ")
        reason = f"{told_name(asked_by)} asked for this, and an assistant may not {words} it"
        raise Refusal(fault(Code.FORBIDDEN, reason, "action", "Say to a person that it should be done."))


def check_control(
    fleet: Fleet, constellation: Constellation, action: str, tasks: Iterable[str] = (), *, author: str, approves: bool
) -> None:
    """Refuse a control that decides in a person's place, or repeats work that a person approved.

    `tasks` are those that a retry names; it is judged by what would run again, in which a question is asked again.

    Raises:
        Refusal: with every reason.
    """
    if action != "cancel":
        check_of_others(constellation.head.author, action, author=author)
    if action == "mark" and is_assistant(author):
        raise Refusal(fault(Code.FORBIDDEN, "only a person says whether work has happened", "action", _LOOK))
    if approves or action not in {*_GUARDED_ACTIONS, "retry"}:
        return
    specs = constellation.specs
    if action == "retry":
        named = [name for task in tasks if task in specs for name in (task, *constellation.within(task))]
        again, maybe = redone(constellation, named)
        specs = {name: specs[name] for name in (*again, *maybe) if specs[name].person is None}
    reasons = [*guarded(fleet, constellation, specs, over=action in ("retry", "retry_from"))]
    if reasons:
        raise Refusal(*(fault(Code.FORBIDDEN, reason, "action", _NEEDS) for reason in reasons))


def check_undo(constellation: Constellation, author: str, *, approves: bool) -> None:
    """Refuse to take back the finished work of somebody else for an author who may not approve.

    Its files are those of whoever asked for it. The undo of one's own work was approved with its plan, if that asked.

    Raises:
        Refusal: `forbidden`, with the name of whoever asked for the work.
    """
    asked_by = constellation.head.author
    if approves or who(asked_by) == who(author):
        return
    reason = f"{told_name(asked_by)} asked for this work, and {told_name(author)} may undo own work only"
    hint = f"Ask {told_name(asked_by)}, or somebody who may answer approvals: `starloom undo {constellation.head.id}`."
    raise Refusal(fault(Code.FORBIDDEN, reason, "", hint))


def check_undo_again(constellation: Constellation, tasks: Iterable[str], author: str, *, approves: bool) -> None:
    """Refuse to carry out an undo once more for those who might not ask for it, or in a fork for work of its origin.

    Raises:
        Refusal: `forbidden` or `illegal_control`.
    """
    undos = [spec for name in tasks if (spec := constellation.specs[name]).undoes is not None]
    for spec in undos:
        check_undo(constellation, author, approves=approves)
        if spec.undoes in constellation.tasks and (origin := done_elsewhere(constellation, spec.undoes)):
            reason = f"{spec.id} takes back work of {origin}, which is taken back there alone"
            raise Refusal(fault(Code.ILLEGAL_CONTROL, reason, "", f"The same there: `starloom undo {origin}`."))


def done_elsewhere(constellation: Constellation, task: str) -> str:
    """Return the constellation whose device did the work of a task, as a fork has its result; empty for work done here.

    Its effects belong to whoever asked for that constellation.
    """
    attempt = constellation.last_attempt(task)
    return (attempt.origin or "") if attempt is not None else ""


def guarded(
    fleet: Fleet, constellation: Constellation, specs: Mapping[str, TaskSpec], *, over: bool = False
) -> list[str]:
    """Return a reason for each task yet to run about which a person was or will be asked; with `over` past ones too.

    While there is any, a change elsewhere could bypass the question or choose the values that reach such a task.
    """
    coming = [
        spec
        for name, spec in specs.items()
        if over or name not in constellation.tasks or constellation.tasks[name].state not in FINAL_TASK_STATES
    ]
    asked = [f"{spec.id} asks a person and is still to come" for spec in coming if spec.person is not None]
    secret = [f"{spec.id} is given a secret and is still to come" for spec in coming if spec.secrets]
    return [*asked, *secret, *(f"{reason}, and is still to come" for reason in _asking(fleet, coming))]


def _asking(fleet: Fleet, specs: Iterable[TaskSpec]) -> list[str]:
    known = KnownEffects(fleet)
    found: list[str] = []
    for spec in specs:
        if (spec.tool is None and spec.goal is None) or spec.key is not None:
            continue
        turns = known.repeats(spec) if spec.for_each is not None else 0
        if turns:
            found.append(f"{spec.id} may call {spec.tool} {turns} times, and it does more than read")
        if spec.any_of:
            offered = all(known.is_offered(way.tool or "") for way in ways_of(spec))
        else:
            offered = spec.goal is not None or known.is_offered(spec.tool or "")
        effects = known.of(spec) if offered else EVERY
        if not effects.isdisjoint(ASKING):
            asking = [effect.value for effect in Effect if effect in effects & ASKING]
            tools = spec.tool or ", ".join(spec.goal.tools if spec.goal is not None else ())
            found.append(f"{spec.id} calls {tools}, which may {', '.join(asking)}")
    return found


def _changes_of_others(
    constellation: Constellation, before: Mapping[str, TaskSpec], operations: Iterable[EditOperation], author: str
) -> Iterator[Fault]:
    """Yield a fault where an assistant does more to the plan of somebody else than to add tasks at its end."""
    if not _is_for_another(constellation.head.author, author):
        return
    asked_by = told_name(constellation.head.author)
    for one in operations:
        adds = isinstance(one, AddTask) or (isinstance(one, AddDependency) and one.dependency.target not in before)
        if not adds:
            reason = f"{asked_by} asked for this plan, and an assistant may only add tasks at its end"
            yield fault(Code.FORBIDDEN, reason, "operations", "Say to a person what should be changed.")


def _adds_items(author: str) -> Fault:
    reason = f"{who(author)} adds no items to a list: a model chose these values"
    return fault(Code.FORBIDDEN, reason, "operations", "Propose a task of its own, or let a person add them.")


def _weakens(operation: EditOperation, author: str, *, approves: bool) -> bool:
    if not isinstance(operation, SetPolicy):
        return False
    return is_model(author) or (not approves and operation.policy.approval is Approval.NEVER)


def _secrets_touched(
    constellation: Constellation,
    before: Mapping[str, TaskSpec],
    flows: Mapping[str, Dependency],
    changed: Iterable[TaskSpec],
) -> list[str]:
    """Return the tasks with secrets that an edit changes or gives other values."""
    new = [edge for key, edge in constellation.deps.items() if flows.get(key) != edge and edge.gate is Gate.DATA]
    reached = dict.fromkeys([*(spec.id for spec in changed), *(edge.target for edge in new)])
    ahead = list(reached)
    targets: dict[str, list[str]] = {}
    for edge in constellation.deps.values():
        if edge.gate is Gate.DATA:
            targets.setdefault(edge.source, []).append(edge.target)
    while ahead:
        for target in targets.get(ahead.pop(), ()):
            if target not in reached:
                reached[target] = None
                ahead.append(target)
    named = [name for name in reached if name in constellation.specs]
    return [name for name in named if constellation.specs[name].secrets or (name in before and before[name].secrets)]
