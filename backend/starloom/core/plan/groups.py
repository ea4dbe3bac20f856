"""Groups: a family expands when its list is known, whole, in one commit and one version; its children end its groups.

Owns the expansion of families, the turns of a repeated call, and the end of nested plans and of groups that need only
some of their children. `relisting` expands again over a new list, `goals` grows by the steps of a model.
A child's id is `GROUP.KEY`; keys are positions, or device ids. A dependency between two groups of a family becomes
one from child to child with the same key; from anything else it stands for the whole group or task.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from msgspec.structs import replace

from starloom.core.placement.device_groups import returning
from starloom.core.placement.device_groups.off_devices import REPORT
from starloom.core.placement.feasible import asked_for, is_kept_from, selects
from starloom.core.run.attempts import ask_to_stop
from starloom.core.state.model import Constellation, Tally
from starloom.core.state.task_needs import approved_for
from starloom.core.state.tasks.gates import ITEMS, MOMENT, SHOWN, fact, is_excused, shut_cause, successes
from starloom.core.state.tasks.graph import raise_ranks
from starloom.core.state.tasks.turns import Next, decide
from starloom.core.state.work import Put, Work, change_task, close_question, moved
from starloom_protocol.records.entities import (
    Dependency,
    Device,
    ForEach,
    Input,
    Item,
    Selector,
    TaskRecord,
    TaskSpec,
    Version,
    dependency_id,
)
from starloom_protocol.records.specs import Repeat
from starloom_protocol.stream.authors import ENGINE
from starloom_protocol.stream.events import EventKind
from starloom_protocol.text.wording import counted, quoted
from starloom_protocol.values import MISSING, canonical, parse
from starloom_protocol.vocabulary import (
    Code,
    DeviceLink,
    Gate,
    GateState,
    GroupState,
    Need,
    Reason,
    TaskState,
)


def reconsider_group(work: Work, constellation: Constellation, group: str) -> None:
    """Derive the present state of a group: skipped, expanded, or final by its children."""
    if constellation.specs[group].nested:
        _judge_nested(work, constellation, group)
        return
    if constellation.groups[group].state is GroupState.WAITING and constellation.shut.get(group):
        _skip(work, constellation, group, group)
    root = constellation.specs[group].family or group
    gate_of_list = list_gate(constellation, root)
    if gate_of_list is GateState.SHUT:
        # Only the root has the gate of the list; without a list no member of the family can expand.
        for member in _waiting_members(constellation, root):
            _skip(work, constellation, member, root)
    elif gate_of_list is not GateState.UNDECIDED and _waiting_members(constellation, root):
        _try_expand(work, constellation, root)
    if gate_of_list is GateState.UNDECIDED:
        # The list is being made again: it will decide whether the present children are all.
        return
    for member in list(constellation.families[root]) if group == root else [group]:
        if constellation.groups[member].state is GroupState.EXPANDED:
            _judge(work, constellation, member)


def list_of(constellation: Constellation, group: str) -> ForEach:
    """Return the list specification of a group; never called for a nested plan, which has none."""
    for_each = constellation.specs[group].for_each
    assert for_each is not None  # noqa: S101 - a member of a family has it, and nested plans are judged apart
    return for_each


def list_gate(constellation: Constellation, root: str) -> GateState | None:
    """Return the gate of a family's list; None if the list is the fleet."""
    for key, dependency in constellation.incoming.get(root, {}).items():
        if dependency.input == ITEMS:
            return constellation.gate[key]
    return None


def _skip(work: Work, constellation: Constellation, group: str, because_of: str) -> None:
    reason, cause = shut_cause(constellation, because_of)
    end_group(work, constellation, group, GroupState.SKIPPED, reason=reason, cause=cause)


def end_group(
    work: Work,
    constellation: Constellation,
    group: str,
    state: GroupState,
    *,
    reason: Reason | None = None,
    cause: str | None = None,
    code: Code | None = None,
    note: str = "",
    list_round: int | None = None,
) -> None:
    """Emit the end of a group; `list_round` if it ends over another list than the one of its expansion."""
    record = constellation.groups[group]
    ended = replace(record, state=state, reason=reason, cause=cause, code=code, since_ms=work.at_ms, until_ms=0)
    if list_round is not None:
        ended = replace(ended, list_round=list_round)
    work.emit(constellation, EventKind(f"group_{state}"), group, [("group", group, ended)], by=ENGINE, note=note)


def _try_expand(work: Work, constellation: Constellation, root: str) -> None:
    stored = _stored_items(constellation, root)
    if stored is not None and any(constellation.children.get(member) for member in constellation.families[root]):
        _expand(work, constellation, root, _waiting_members(constellation, root), stored, keep=True)
        return
    source = list_of(constellation, root)
    if (source.times or source.repeat) and constellation.undecided.get(root):
        # No call can begin yet, so the edit that added the group can still be undone, and devices may come on.
        return
    if source.devices is not None and source.source is None:
        if constellation.head.version:
            selector = asked_for(constellation.specs[root], source.devices)
            _expand_over_devices(work, constellation, root, selector)
        return
    if source.repeat is not None:
        _expand(work, constellation, root, [root], [_numbered(1)], keep=False)
        return
    if source.times:
        items = [_numbered(at) for at in range(1, source.times + 1)]
        _expand(work, constellation, root, _waiting_members(constellation, root), items, keep=False)
        return
    try:
        items = items_of(work, constellation, source)
    except NoList as error:
        _fail_family(work, constellation, root, error.code, str(error))
        return
    _expand(work, constellation, root, _waiting_members(constellation, root), items, keep=False)


def _numbered(at: int) -> Item:
    return Item(key=str(at), value=canonical({"number": at}))


class NoList(Exception):
    """The output from which a family is made is no list; `code` says why."""

    def __init__(self, code: Code, words: str) -> None:
        super().__init__(words)
        self.code = code


def items_of(work: Work, constellation: Constellation, for_each: ForEach) -> list[Item]:
    """Return the items that the output of a succeeded task or group gives, keyed by position.

    A task's output must be a list. In a group, each successful child gives one item, in order, as it does to an input;
    with `flatten` each gives a list, and the lists are joined.

    Raises:
        NoList: the pointer finds nothing, or not the list that is required.
    """
    if for_each.devices is not None:
        return [_named_device(work, constellation, for_each, for_each.devices)]
    source, values = for_each.source or "", []
    for task in successes(constellation, source):
        value = fact(constellation, task, for_each.output)
        if value is MISSING:
            code = Code.NO_VALUE if source in constellation.groups else Code.NOT_A_LIST
            raise NoList(code, f"{for_each.output} of {task} finds nothing")
        if source in constellation.groups and not for_each.flatten:
            values.append(value)
        elif isinstance(value, list):
            values.extend(value)
        else:
            raise NoList(Code.NOT_A_LIST, f"{for_each.output} of {task} is not a list")
    return [Item(key=str(position), value=canonical(value)) for position, value in enumerate(values)]


def _named_device(work: Work, constellation: Constellation, for_each: ForEach, within: Selector) -> Item:
    """Return the one device that the result of a task names, by its name or id, if it is `within` the selector."""
    source, fleet = for_each.source or "", work.shard.fleet
    names = [fact(constellation, task, for_each.output) for task in successes(constellation, source)]
    if len(names) != 1 or not isinstance(names[0], str):
        raise NoList(Code.NO_VALUE, f"{for_each.output} of {source} is not the name of one device")
    # An id is compared first: no device takes the place of another one by its name.
    device = fleet.devices.get(names[0]) or fleet.named(names[0])
    devices = [] if device is None else [device]
    fitting = [
        item
        for item in devices
        if not item.revoked and not is_kept_from(item, within) and selects(within, item, fleet.tools.get(item.id, {}))
    ]
    if len(fitting) != 1:
        raise NoList(
            Code.DEVICE_OUTSIDE, f"{source} names {quoted(names[0][:80])}, which is no device of the set allowed"
        )
    return _item_of(fitting[0])


def _item_of(device: Device) -> Item:
    return Item(key=device.id, value=canonical({"id": device.id, "name": device.name, "os": device.os}))


def _stored_items(constellation: Constellation, root: str) -> list[Item] | None:
    prefix = f"{root}/"
    return [item for key, item in constellation.items.items() if key.startswith(prefix) and not item.dropped] or None


def _waiting_members(constellation: Constellation, root: str) -> list[str]:
    members = constellation.families.get(root, {})
    return [member for member in members if constellation.groups[member].state is GroupState.WAITING]


def _expand_over_devices(work: Work, constellation: Constellation, root: str, selector: Selector) -> None:
    fleet = work.shard.fleet
    for_each = list_of(constellation, root)
    reports_off = for_each.when_off == REPORT
    fitting = [
        device
        for device in fleet.devices.values()
        if not device.revoked
        and (reports_off or device.link is DeviceLink.ONLINE)
        and selects(selector, device, fleet.tools.get(device.id, {}))
    ]
    needs_all = for_each.need is Need.ALL and not reports_off
    if returning.defer(work, constellation, root, selector, needs_all=needs_all):
        return
    family = constellation.families[root] if constellation.approved else ()
    specs = [constellation.specs[member] for member in family]
    bounds = [bound for spec in specs if (bound := approved_for(constellation, spec)) is not None]
    fitting = [one for one in fitting if all(one.id in bound for bound in bounds)] or fitting
    real_devices = [device for device in fitting if not device.demo or selector.names_devices]
    devices = real_devices or fitting
    if not devices:
        note = f"no device{'' if reports_off else ' that is online'} fits the group's selector"
        _fail_family(work, constellation, root, Code.NO_DEVICE, note)
        return
    times = list_of(constellation, root).times
    if times and len(devices) < times:
        note = f"{len(devices)} of the {times} different devices that the group needs are online and fit its selector"
        _fail_family(work, constellation, root, Code.NO_DEVICE, note)
        return
    items = [_item_of(device) for device in sorted(devices, key=lambda device: device.name)[: times or None]]
    _expand(work, constellation, root, _waiting_members(constellation, root), items, keep=False)


def _fail_family(work: Work, constellation: Constellation, root: str, code: Code, note: str) -> None:
    for member in _waiting_members(constellation, root):
        end_group(work, constellation, member, GroupState.FAILED, code=code, note=note)


def _expand(
    work: Work, constellation: Constellation, root: str, members: list[str], items: list[Item], *, keep: bool
) -> None:
    """Expand `members` over `items` in one event that is also a version; `keep` when the items are stored."""
    if len(constellation.tasks) + len(members) * len(items) > work.shard.settings.tasks_most:
        most = work.shard.settings.tasks_most
        note = f"{len(items)} items in {len(members)} groups make more than {most} tasks"
        for member in members:
            end_group(
                work,
                constellation,
                member,
                GroupState.FAILED,
                code=Code.PLAN_TOO_BIG,
                note=note,
            )
        return
    head = constellation.head
    number = head.version + 1
    for_each = constellation.specs[root].for_each
    over_devices = for_each is not None and for_each.devices is not None
    source = for_each.source if for_each is not None else None
    list_round = constellation.record(source).round if source else 1
    expanded = [name for name in constellation.families[root] if name in members or constellation.children.get(name)]
    puts: list[Put] = [] if keep else [("item", f"{root}/{item.key}", item) for item in items]
    edges: list[Put] = []
    added: list[str] = []
    for member in members:
        for item in items:
            if not _siblings_exist(constellation, member, item.key, members, expanded):
                continue
            child = child_of(constellation, member, item.key, number, expanded, over_devices=over_devices)
            puts.append(("spec", child.id, child))
            puts.append(("task", child.id, fresh_record(work, constellation, child.id)))
            added.append(child.id)
            edges.extend(child_edges(constellation, member, child, item.key, number, expanded))
        state = GroupState.EXPANDED if items else GroupState.SUCCEEDED
        record = replace(
            constellation.groups[member],
            state=state,
            count=len(items),
            list_round=list_round,
            since_ms=work.at_ms,
            until_ms=0,
        )
        puts.append(("group", member, record))
    if for_each is not None and for_each.in_turn and not keep:
        edges.extend(turns(constellation, members, items, number))
    version = Version(
        added=added,
        at_ms=work.at_ms,
        author="expand",
        changed=list(members),
        number=number,
        reason=f"{counted(len(items), 'item')} for {', '.join(members)}",
        trigger=root,
    )
    # Children first, then the gates between them, then the groups: a gate reads the record of its source.
    groups = [item for item in puts if item[0] == "group"]
    rest = [item for item in puts if item[0] != "group"]
    tail: list[Put] = [("version", str(number), version), ("head", "", replace(head, version=number))]
    note = version.reason
    work.emit(constellation, EventKind.GROUP_EXPANDED, root, [*rest, *edges, *groups, *tail], by="expand", note=note)
    raise_ranks(constellation, added)


def _siblings_exist(constellation: Constellation, group: str, key: str, members: list[str], family: list[str]) -> bool:
    """Tell whether each child that a child of `group` would follow exists: a single one may have been removed."""
    siblings = [
        dependency.source
        for dependency in constellation.incoming.get(group, {}).values()
        if dependency.source in family and dependency.source not in members and not dependency.all
    ]
    return all(f"{source}.{key}" in constellation.specs for source in siblings)


def fresh_record(work: Work, constellation: Constellation, task: str) -> TaskRecord:
    """Return a task's first record; attempts and rounds continue those of an earlier task of that id."""
    last, round_number = 0, 1
    while f"{task}/{last + 1}" in constellation.attempts:
        last += 1
        round_number = constellation.attempts[f"{task}/{last}"].round + 1
    return TaskRecord(state=TaskState.WAITING, since_ms=work.at_ms, attempt=last, round=round_number)


def child_of(
    constellation: Constellation, group: str, key: str, number: int, family: list[str], *, over_devices: bool
) -> TaskSpec:
    """Return the spec of one child."""
    spec = constellation.specs[group]
    inputs = [
        replace(item, source=f"{item.source}.{key}") if item.source in family and not item.all else item
        for item in spec.inputs
    ]
    moment, shows = spec.not_before, spec.shows
    if moment is not None and moment.source in family:
        moment = replace(moment, source=f"{moment.source}.{key}")
    if shows is not None and shows.source in family:
        shows = replace(shows, source=f"{shows.source}.{key}")
    device = spec.device
    if over_devices and device is None:
        device = Selector(id=key)
    return replace(
        spec,
        id=f"{group}.{key}",
        group=group,
        key=key,
        for_each=None,
        inputs=inputs,
        not_before=moment,
        shows=shows,
        device=device,
        changed_in=number,
        family=spec.family or group,
    )


def child_edges(
    constellation: Constellation, group: str, child: TaskSpec, key: str, number: int, family: list[str]
) -> list[Put]:
    """Return the gates of one child: those of its group, with its sibling as source where that is in the family."""
    edges: list[Put] = []
    for dependency in constellation.incoming.get(group, {}).values():
        if dependency.input == ITEMS:
            continue
        sibling = dependency.source in family and not dependency.all
        source = f"{dependency.source}.{key}" if sibling else dependency.source
        edge = replace(dependency, source=source, target=child.id, changed_in=number)
        edges.append(("dep", dependency_id(edge), edge))
    return edges


def turns(constellation: Constellation, members: list[str], items: list[Item], number: int) -> list[Put]:
    """Return the gates that let an item begin when the whole item before it has succeeded."""
    first = [
        member
        for member in members
        if not any(gate.source in members and not gate.all for gate in constellation.incoming.get(member, {}).values())
    ]
    edges: list[Put] = []
    for before, item in pairwise(items):
        for source in members:
            for target in first:
                edge = Dependency(
                    changed_in=number,
                    gate=Gate.UNLESS_FAILED,
                    source=f"{source}.{before.key}",
                    target=f"{target}.{item.key}",
                )
                edges.append(("dep", dependency_id(edge), edge))
    return edges


def _judge(work: Work, constellation: Constellation, group: str) -> None:
    for_each = list_of(constellation, group)
    if for_each.repeat is not None:
        _judge_turns(work, constellation, group, for_each.repeat)
        return
    tally = constellation.tally.get(group) or Tally()
    enough = {Need.ANY: 1, Need.AT_LEAST: for_each.need_count}.get(for_each.need, 0)
    if enough and tally.succeeded >= enough and tally.unfinished:
        _end_others(work, constellation, group)
        return
    if tally.unfinished:
        return
    needed = tally.children - tally.excused
    is_met = {
        Need.ALL: tally.succeeded == needed,
        Need.ANY: tally.succeeded >= 1 or needed == 0,
        Need.AT_LEAST: tally.succeeded >= for_each.need_count,
        Need.BEST_EFFORT: True,
    }[for_each.need]
    if tally.hopeless and not tally.succeeded and for_each.need is not Need.BEST_EFFORT:
        note = f"none of its {tally.children} tasks has a result; {tally.hopeless} were stopped as hopeless"
        end_group(work, constellation, group, GroupState.FAILED, code=Code.GROUP_NEED, note=note)
        return
    if is_met:
        end_group(work, constellation, group, GroupState.SUCCEEDED)
        return
    state, reason, cause = _cause(constellation, group, constellation.children.get(group, {}))
    code = Code.GROUP_NEED if state is GroupState.FAILED else None
    note = f"{tally.succeeded} of {needed} succeeded; first cause: {cause}"
    end_group(work, constellation, group, state, reason=reason, cause=cause, code=code, note=note)


def _judge_turns(work: Work, constellation: Constellation, group: str, repeat: Repeat) -> None:
    """Add the next turn of a repeated call, or end its group."""
    decision, number = decide(constellation, group, repeat)
    tally = constellation.tally.get(group) or Tally()
    if decision is Next.TURN:
        _add_turn(work, constellation, group, number + 1)
    elif decision is Next.MET and tally.unfinished:
        # A turn that was made again met the condition, so those after it are not needed.
        _end_others(work, constellation, group)
    elif decision is Next.WAITS or tally.unfinished:
        return
    elif decision is Next.BROKEN:
        _end_broken(work, constellation, group, f"{group}.{number}")
    elif decision is Next.MET:
        note = f"its condition is met after {number}" if repeat.until is not None else f"all {number} turns were made"
        end_group(work, constellation, group, GroupState.SUCCEEDED, note=note)
    elif decision is Next.UNMET:
        note = f"the condition is not met after {number} turns"
        end_group(work, constellation, group, GroupState.FAILED, code=Code.CONDITION_UNMET, note=note)


def _end_broken(work: Work, constellation: Constellation, group: str, turn: str) -> None:
    """End a group whose turn did not succeed, as that turn ended."""
    record = constellation.tasks[turn]
    if is_excused(constellation, turn, record):
        end_group(work, constellation, group, GroupState.SKIPPED, reason=record.reason, cause="not_chosen")
        return
    state, reason, cause = _cause(constellation, group, [turn])
    code = Code.GROUP_NEED if state is GroupState.FAILED else None
    note = f"its turns end with {turn}, which did not succeed"
    end_group(work, constellation, group, state, reason=reason, cause=cause, code=code, note=note)


def _add_turn(work: Work, constellation: Constellation, group: str, at: int) -> None:
    """Add one turn: the same call, with what is carried over from the turn before it; one event and one version."""
    if len(constellation.tasks) >= work.shard.settings.tasks_most:
        note = f"turn {at} would be one more than {work.shard.settings.tasks_most} tasks"
        end_group(work, constellation, group, GroupState.FAILED, code=Code.PLAN_TOO_BIG, note=note)
        return
    head, number, before = constellation.head, constellation.head.version + 1, f"{group}.{at - 1}"
    turn = child_of(constellation, group, str(at), number, [group], over_devices=False)
    repeat = list_of(constellation, group).repeat
    carry = repeat.carry if repeat is not None else {}
    args = {name: value for name, value in parse(turn.args).items() if name not in carry}
    carried_inputs = [Input(name=name, source=before, output=output) for name, output in carry.items()]
    turn = replace(turn, args=canonical(args), inputs=[*turn.inputs, *carried_inputs])
    edges = child_edges(constellation, group, turn, str(at), number, [group])
    gates = [Dependency(changed_in=number, gate=Gate.SUCCESS, source=before, target=turn.id)]
    gates += [_data_edge(item, turn.id, number) for item in carried_inputs]
    record = replace(constellation.groups[group], count=at)
    version = Version(
        added=[turn.id],
        at_ms=work.at_ms,
        author="expand",
        changed=[group],
        number=number,
        reason=f"turn {at} of {group}",
        trigger=before,
    )
    puts: list[Put] = [
        ("item", f"{group}/{at}", _numbered(at)),
        ("spec", turn.id, turn),
        ("task", turn.id, fresh_record(work, constellation, turn.id)),
        *edges,
        *(("dep", dependency_id(one), one) for one in gates),
        ("group", group, record),
        ("version", str(number), version),
        ("head", "", replace(head, version=number)),
    ]
    work.emit(constellation, EventKind.GROUP_EXPANDED, group, puts, by="expand", note=version.reason)
    raise_ranks(constellation, [turn.id])


def _judge_nested(work: Work, constellation: Constellation, group: str) -> None:
    """End a nested plan once all its tasks have ended: it needs all but optional ones and those not chosen."""
    tally = constellation.tally.get(group) or Tally()
    if constellation.groups[group].state is not GroupState.EXPANDED or tally.unfinished:
        return
    children = constellation.children.get(group, {})
    unmet = [
        child
        for child in children
        if (record := constellation.record(child)).state != "succeeded" and not is_excused(constellation, child, record)
    ]
    if unmet:
        state, reason, cause = _cause(constellation, group, unmet)
        code = Code.GROUP_NEED if state is GroupState.FAILED else None
        note = f"{tally.succeeded} of {tally.children} succeeded; first cause: {cause}"
        end_group(work, constellation, group, state, reason=reason, cause=cause, code=code, note=note)
    elif tally.excused == tally.children:
        end_group(
            work,
            constellation,
            group,
            GroupState.SKIPPED,
            reason=Reason.NOT_CHOSEN,
            cause="not_chosen",
        )
    else:
        end_group(work, constellation, group, GroupState.SUCCEEDED)


def _cause(constellation: Constellation, group: str, children: Iterable[str]) -> tuple[GroupState, Reason | None, str]:
    """Return how an unmet group ends: failed by a child's failure, else cancelled, else skipped with its cause."""
    cancelled = skipped = None
    for child in children:
        record = constellation.record(child)
        if record.state == "failed":
            return GroupState.FAILED, None, child
        if record.state == "cancelled" and record.reason is not Reason.HOPELESS:
            cancelled = cancelled or child
        elif record.state == "skipped" and record.cause != "not_chosen":
            skipped = skipped or (record.reason, record.cause or child)
    if cancelled:
        return GroupState.CANCELLED, None, cancelled
    if skipped:
        return GroupState.SKIPPED, skipped[0], skipped[1]
    return GroupState.FAILED, None, group


def _end_others(work: Work, constellation: Constellation, group: str) -> None:
    """Skip unstarted children and ask running ones to stop, once enough have succeeded."""
    for child in list(constellation.children.get(group, {})):
        record = constellation.tasks[child]
        if record.state in (TaskState.WAITING, TaskState.READY):
            close_question(work, constellation, child)
            skipped = moved(work, record, TaskState.SKIPPED, reason=Reason.ENOUGH, cause="not_chosen")
            change_task(work, constellation, child, EventKind.TASK_SKIPPED, skipped, by=ENGINE)
        elif record.state in (TaskState.LEASED, TaskState.RUNNING):
            ask_to_stop(work, constellation, child, "enough of its group succeeded")


def data_edges(spec: TaskSpec, number: int) -> list[Dependency]:
    """Return the data dependencies that a spec implies: its inputs, and the list of its family."""
    edges = [_data_edge(item, spec.id, number) for item in spec.inputs if not item.topic]
    for name, ref in ((MOMENT, spec.not_before), (SHOWN, spec.shows)):
        if ref is not None and ref.source:
            edges.append(Dependency(changed_in=number, gate=Gate.DATA, input=name, source=ref.source, target=spec.id))
    if spec.for_each is not None and spec.for_each.source is not None:
        edges.append(
            Dependency(changed_in=number, gate=Gate.DATA, input=ITEMS, source=spec.for_each.source, target=spec.id)
        )
    return edges


def _data_edge(item: Input, target: str, number: int) -> Dependency:
    return Dependency(
        all=item.all,
        changed_in=number,
        gate=Gate.DATA,
        input=item.name,
        optional=item.optional,
        source=item.source,
        target=target,
    )
