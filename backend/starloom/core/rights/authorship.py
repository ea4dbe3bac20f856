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
from starloom.core.rights.reserved import is_kept_by_model, names_any, persons_words, reserved_faults
from starloom.core.state.model import Constellation, Fleet
from starloom.core.state.tasks.graph import tasks_of_new_round, waiting_for
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
    faults = [*_policy_faults(plan.policy, plan.rules, approves=approves, author=author)]
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
            _secret_fault(author, f"tasks.{name}") for name in dict.fromkeys(spec.id for spec in specs if spec.secrets)
        ]
        # A recipe has its sentences from the person who keeps it; its text is not the model's.
        if plan.sentences and plan.recipe is None:
            faults.append(_sentence_fault(author, "sentence"))
    if faults:
        raise Refusal(*faults)


def faults_of(
    author: str, plan: LoweredPlan, principals: Mapping[str, Principal], *, approves: bool, controls: bool
) -> list[Fault]:
    """Return the faults for which a submission of this plan by this author would be refused, for its preview."""
    try:
        check_plan(author, plan, approves=approves, controls=controls)
        check_questions(principals, plan.specs)
    except Refusal as refusal:
        return refusal.faults
    return []


def check_recipe(author: str, secrets: Iterable[str], *, unapproved: bool, says: bool, approves: bool) -> None:
    """Refuse a recipe text as `check_plan` refuses its plan.

    Raises:
        Refusal: with every fault.
    """
    faults = [_secret_fault(author, "recipe")] if is_model(author) and any(True for _ in secrets) else []
    if unapproved and not (approves and not is_model(author)):
        faults.append(_sets_never(author, "recipe"))
    if says and is_model(author):
        faults.append(_sentence_fault(author, "recipe"))
    if faults:
        raise Refusal(*faults)


def _policy_faults(policy: Policy, rules: Iterable[RuleRecord], *, approves: bool, author: str) -> Iterable[Fault]:
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


def _secret_fault(author: str, place: str) -> Fault:
    reason = f"{who(author)} may not name a secret: a model chose these words, and only a person's plan may"
    return fault(Code.FORBIDDEN, reason, place, _SECRET)


def _sentence_fault(author: str, place: str) -> Fault:
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
    device_faults = [
        fault(Code.FORBIDDEN, f"{name} calls {spec.tool}, and no edit adds or changes that", name, _OWN_PLAN)
        for name, spec in _controlling(constellation, operations)
    ]
    if device_faults:
        raise Refusal(*device_faults)
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
        faults += [_items_fault(author) for one in operations if isinstance(one, AddItems)]
        faults += _faults_in_plan_of_another(constellation, before, operations, author)
        faults += [_secret_fault(author, name) for name in _secrets_touched(constellation, before, flows, changed)]
        faults += reserved_faults(fleet, constellation, before, changed)
        faults += _choice_faults(constellation, changed)
    if not approves and constellation.head.state is not ConstellationState.AWAITING_APPROVAL:
        wide = wide_trash(constellation.specs.values(), _unanswered_edges(constellation), guided=is_model(author))
        trashing = [wide[spec.id] for spec in changed if spec.id in wide]
        reasons = [*guarded_reasons(fleet, constellation, before), *_asking_reasons(fleet, changed), *trashing]
        if is_model(author):
            known_effects = KnownEffects(fleet)
            changing = [spec for spec in changed if spec.key is None and known_effects.may_change_files(spec)]
            reasons += [f"{spec.id} may {overwriting_words(spec) or 'change files'}" for spec in changing]
        if constellation.head.policy.approval is Approval.ALWAYS or constellation.head.hold:
            reasons += wider_than_approved(fleet, constellation, before, flows)
        faults += [fault(Code.FORBIDDEN, reason, "operations", _NEEDS) for reason in dict.fromkeys(reasons)]
    if faults:
        raise Refusal(*faults)


def _unanswered_edges(constellation: Constellation) -> Iterator[Dependency]:
    """Yield the dependencies but those on a question that is answered: nobody was asked about a later change."""
    for edge in constellation.deps.values():
        is_question = constellation.specs[edge.source].person is not None
        if not is_question or constellation.record(edge.source).state not in FINAL_TASK_STATES:
            yield edge


def _controlling(constellation: Constellation, operations: Iterable[EditOperation]) -> Iterator[tuple[str, TaskSpec]]:
    """Yield the tasks that an edit adds or changes and that control devices as they are now."""
    for operation in operations:
        name = operation.spec.id if isinstance(operation, AddTask) else getattr(operation, "id", None)
        spec = constellation.specs.get(name) if name is not None else None
        if spec is not None and isinstance(operation, AddTask | UpdateTask) and controls_devices(spec.tool):
            yield spec.id, spec


def check_questions(principals: Mapping[str, Principal], specs: Iterable[TaskSpec]) -> None:
    """Refuse questions to people who are not known here, or whose role does not let them answer.

    Raises:
        Refusal: with every fault.
    """
    faults = list(_answerer_faults(principals, (spec for spec in specs if spec.ask)))
    if faults:
        raise Refusal(*faults)


def _answerer_faults(principals: Mapping[str, Principal], asking: Iterable[TaskSpec]) -> Iterator[Fault]:
    for spec in asking:
        people = {one.name: one for one in principals.values() if one.kind is PrincipalKind.PERSON}
        able = sorted(name for name, one in people.items() if ROLE_RANK[one.role] >= ROLE_RANK[Role.APPROVER])
        for name in spec.ask:
            if name in able:
                continue
            why = f"has the role {people[name].role} and may not answer" if name in people else "is not known here"
            hint = f"Those who may answer: {', '.join(able)}."
            yield fault(Code.PLAN_INVALID, f"{name} {why}", f"tasks.{spec.id}.ask", hint)


def check_questions_of_model(fleet: Fleet, constellation: Constellation, plan: LoweredPlan) -> None:
    """Refuse a model's plan whose question names people whom no person named: it would choose who says yes.

    A recipe that a person keeps may name whom it likes; what the model gave as its values may not.

    Raises:
        Refusal: with every fault.
    """
    specs = [*plan.specs, *specs_by_rules(plan.rules, plan.specs)]
    faults = _choice_faults(constellation, specs)
    if plan.recipe is not None and not is_kept_by_model(fleet, plan.recipe):
        faults = _choice_faults(constellation, [spec for spec in specs if names_any(plan.params, spec.ask)])
    if faults:
        raise Refusal(*faults)


def _choice_faults(constellation: Constellation, specs: Iterable[TaskSpec]) -> list[Fault]:
    """Return a fault for each person to whom a question goes, and who neither asked for this nor was named for it."""
    words, author = persons_words(constellation), constellation.head.author
    asker = name_of(author) if is_person(author) else ""
    return [
        fault(Code.FORBIDDEN, f"a model may not choose that {name} answers, whom nobody named", spec.id, _ASK)
        for spec in specs
        for name in spec.ask
        if name != asker and not names_any(words, [name])
    ]


def may_answer(spec: TaskSpec, author: str) -> bool:
    """Tell whether the word of an author counts for a question: it names nobody, or this very person."""
    return not spec.ask or (is_person(author) and name_of(author) in spec.ask)


def check_answerer(spec: TaskSpec, author: str) -> None:
    """Refuse the word of anyone else about a question that names who answers it.

    Raises:
        Refusal: `forbidden`, with the names.
    """
    if not may_answer(spec, author):
        raise Refusal(_not_asked_fault(spec, author))


def check_ender(constellation: Constellation, task: str, *, author: str, owner: bool) -> None:
    """Refuse anyone else to end a question of named people, or, unless an owner does it, a task that waits for one.

    Raises:
        Refusal: `forbidden`, with the names.
    """
    check_answerer(constellation.specs[task], author)
    for name in constellation.asking:
        question, record = constellation.specs[name], constellation.tasks.get(name)
        is_open = record is not None and record.state not in FINAL_TASK_STATES
        if is_open and not (owner or may_answer(question, author)) and task in waiting_for(constellation, name):
            raise Refusal(_not_asked_fault(question, author, task))


def _not_asked_fault(spec: TaskSpec, author: str, waiting: str = "") -> Fault:
    if waiting:
        hint = f"They, or an owner, may change {waiting}: the answer of {listed(spec.ask)} counts for it."
        reason = f"{waiting} waits for {spec.id}, which asks {listed(spec.ask)}, not {told_name(author)}"
        return fault(Code.FORBIDDEN, reason, f"tasks.{waiting}", hint)
    hint = f"Only the answer of {listed(spec.ask)} counts; they, or an owner, change the names by an edit."
    return fault(Code.FORBIDDEN, f"{spec.id} asks {listed(spec.ask)}, not {told_name(author)}", "", hint)


def question_faults(
    constellation: Constellation,
    specs: Mapping[str, TaskSpec | None],
    gates: Mapping[str, Dependency | None],
    principals: Mapping[str, Principal],
    *,
    author: str,
    owner: bool,
) -> list[Fault]:
    """Return the faults of an edit by which anyone else changes a question of named people, or what waits for it.

    Their answer is for the work that they read: no other person puts something else behind it, before or after it. An
    owner may, and may change the names. `specs` and `gates` are the puts of the edit, None for a removal.
    """
    faults = []
    for name in constellation.asking:
        question = constellation.specs[name]
        if not (owner or may_answer(question, author)):
            touched = _touched_behind(constellation, name, specs, gates)
            faults += [_not_asked_fault(question, author, "" if one == name else one) for one in sorted(touched)]
    asking = (spec for spec in specs.values() if spec is not None and spec.ask)
    return faults or list(_answerer_faults(principals, asking))


def _touched_behind(
    constellation: Constellation,
    question: str,
    specs: Mapping[str, TaskSpec | None],
    gates: Mapping[str, Dependency | None],
) -> set[str]:
    """Return the tasks of an edit that are the question, wait for it now, or would wait for it."""
    followers = {question, *waiting_for(constellation, question)}
    touched = set()
    for name, new in specs.items():
        old = constellation.specs.get(name)
        is_other = old is None or new is None or replace(new, changed_in=old.changed_in) != old
        if is_other and (name in followers or (new is not None and new.group in followers)):
            touched.add(name)
    for key, gate in gates.items():
        edge = constellation.deps.get(key)
        if gate is not None and edge is not None and replace(gate, changed_in=edge.changed_in) == edge:
            continue
        for one in (edge, gate):
            if one is not None and (one.source == question or one.target in followers):
                touched.add(one.target)
    return touched


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
        names = [name for task in tasks if task in specs for name in (task, *constellation.contents_of(task))]
        certain, maybe = tasks_of_new_round(constellation, names)
        specs = {name: specs[name] for name in (*certain, *maybe) if specs[name].person is None}
    reasons = [*guarded_reasons(fleet, constellation, specs, over=action in ("retry", "retry_from"))]
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


def guarded_reasons(
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
    questions = [f"{spec.id} asks a person and is still to come" for spec in coming if spec.person is not None]
    secrets = [f"{spec.id} is given a secret and is still to come" for spec in coming if spec.secrets]
    return [*questions, *secrets, *(f"{reason}, and is still to come" for reason in _asking_reasons(fleet, coming))]


def _asking_reasons(fleet: Fleet, specs: Iterable[TaskSpec]) -> list[str]:
    known_effects = KnownEffects(fleet)
    reasons: list[str] = []
    for spec in specs:
        if (spec.tool is None and spec.goal is None) or spec.key is not None:
            continue
        turns = known_effects.repeats(spec) if spec.for_each is not None else 0
        if turns:
            reasons.append(f"{spec.id} may call {spec.tool} {turns} times, and it does more than read")
        if spec.any_of:
            is_offered = all(known_effects.is_offered(way.tool or "") for way in ways_of(spec))
        else:
            is_offered = spec.goal is not None or known_effects.is_offered(spec.tool or "")
        effects = known_effects.of(spec) if is_offered else EVERY
        if not effects.isdisjoint(ASKING):
            asking = [effect.value for effect in Effect if effect in effects & ASKING]
            tools = spec.tool or ", ".join(spec.goal.tools if spec.goal is not None else ())
            reasons.append(f"{spec.id} calls {tools}, which may {', '.join(asking)}")
    return reasons


def _faults_in_plan_of_another(
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


def _items_fault(author: str) -> Fault:
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
    new_edges = [edge for key, edge in constellation.deps.items() if flows.get(key) != edge and edge.gate is Gate.DATA]
    reached = dict.fromkeys([*(spec.id for spec in changed), *(edge.target for edge in new_edges)])
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
    names = [name for name in reached if name in constellation.specs]
    return [name for name in names if constellation.specs[name].secrets or (name in before and before[name].secrets)]
