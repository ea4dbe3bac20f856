"""A history restored from a backup: work that may have run since waits for a person, and ended rights stay ended.

Devices report the work that they have begun (`unknown_attempts`) when they connect. Until then constellations that
could begin work a second time are paused, and continue when a person resumes them. Those with only repeatable work left
are not stopped. `rights.restored_rights` decides which rights end.
"""

from __future__ import annotations

from msgspec.structs import replace

from starloom.core.rights.call_effects import specs_by_rules
from starloom.core.state.inputs import ENDED, EndedRights, HistoryRestored
from starloom.core.state.model import Constellation, Fleet
from starloom.core.state.orders import CloseToken
from starloom.core.state.work import Put, Work, attend
from starloom_protocol.records.entities import TaskSpec
from starloom_protocol.stream.authors import ENGINE
from starloom_protocol.stream.events import EventKind
from starloom_protocol.vocabulary import (
    FINAL_GROUP_STATES,
    FINAL_TASK_STATES,
    REPEATABLE,
    Attention,
    ConstellationState,
    GroupState,
    PrincipalKind,
    Role,
    TaskState,
)

WHY = "this history was restored from a backup: work may have run since it was made"
_UNBEGUN = frozenset({TaskState.WAITING, TaskState.READY})


def on_restored(work: Work, item: HistoryRestored) -> None:
    """Pause constellations that could run unrepeatable work a second time, then end rights of people; idempotent."""
    _pause(work)
    if item.ended is not None:
        _end_tokens(work, item.ended)
        _lower_roles(work, item.ended)
        _narrow_secrets(work, item.ended)
    work.answer()


def _pause(work: Work) -> None:
    for name in list(work.shard.live):
        constellation = work.shard.constellations[name]
        head = constellation.head
        if head.state in (ConstellationState.PLANNING, ConstellationState.LOOKING):
            if not head.hold:
                head_after = replace(head, hold=True)
                work.emit(constellation, EventKind.HELD, "", [("head", "", head_after)], note=WHY, by=ENGINE)
        elif head.state is ConstellationState.CANCELLING or not _could_repeat(work.shard.fleet, constellation):
            continue
        elif head.state is ConstellationState.ACTIVE:
            paused = replace(head, state=ConstellationState.PAUSED, paused_since_ms=work.at_ms)
            work.emit(constellation, EventKind.PAUSED, "", [("head", "", paused)], note=WHY, by=ENGINE)
        attend(work, constellation, Attention.HISTORY_RESTORED, note=WHY)


def _could_repeat(fleet: Fleet, constellation: Constellation) -> bool:
    """Tell whether work that has not begun in this history may not be repeated: a task, what a rule of the plan may
    add, or a step or turn to come; a tool that no device offers counts.
    """
    specs = constellation.specs
    unbegun = [specs[name] for name, record in constellation.tasks.items() if record.state in _UNBEGUN]
    waiting_rules = [rule for rule in constellation.rules.values() if not _has_ended(constellation, rule.task)]
    unbegun += specs_by_rules(waiting_rules, specs.values())
    for name, record in constellation.groups.items():
        spec = specs[name]
        if record.state in FINAL_GROUP_STATES:
            continue
        if spec.goal is not None:
            unbegun += [replace(spec, tool=tool) for tool in spec.goal.tools]
        elif record.state is GroupState.WAITING or (spec.for_each is not None and spec.for_each.repeat is not None):
            unbegun.append(spec)
    return any(may_not_repeat(fleet, spec) for spec in unbegun)


def _has_ended(constellation: Constellation, name: str) -> bool:
    record = constellation.tasks.get(name) or constellation.groups.get(name)
    return record is not None and record.state in FINAL_TASK_STATES


def may_not_repeat(fleet: Fleet, spec: TaskSpec) -> bool:
    """Tell whether a task, or an offer of its tool, says that it may not be repeated; a tool without offers may not."""
    if spec.tool is None:
        return False
    if spec.repeatability is not None:
        return spec.repeatability not in REPEATABLE
    offers = [offered[spec.tool] for offered in fleet.tool_sets.different() if spec.tool in offered]
    return not offers or any(offer.repeatability not in REPEATABLE for offer in offers)


def _end_tokens(work: Work, ended: EndedRights) -> None:
    access = work.shard.access
    for name, revoked_ms in ended.tokens.items():
        token = access.tokens.get(name)
        if token is None or token.revoked_ms:
            continue
        revoked = replace(token, revoked_ms=revoked_ms or work.at_ms)
        work.emit(access, EventKind.TOKEN_REVOKED, name, [("token", name, revoked)], note=ENDED, by=ENGINE)
        work.order(CloseToken(token=name))
    links: list[Put] = [("signin", name, None) for name in ended.signins if name in access.signins]
    if links:
        work.emit(access, EventKind.FORGOTTEN, "", links, by=ENGINE)


def _lower_roles(work: Work, ended: EndedRights) -> None:
    """Give principals the lower roles that they had. The last owner keeps the role, since nobody could give it back;
    the tokens of that owner have ended nevertheless.
    """
    access = work.shard.access
    for name, role in ended.roles.items():
        principal = access.principals.get(name)
        people = [one for one in access.principals.values() if one.kind is PrincipalKind.PERSON]
        owners = [one for one in people if one.role is Role.OWNER]
        if principal is None or principal.role is role or owners == [principal]:
            continue
        note = f"{principal.name}: {principal.role} to {role}; {ENDED}"
        lower = replace(principal, role=role)
        work.emit(access, EventKind.ROLE_GIVEN, name, [("principal", name, lower)], note=note, by=ENGINE)


def _narrow_secrets(work: Work, ended: EndedRights) -> None:
    """Remove secrets that were removed since, and keep the others from whom they are kept since."""
    access = work.shard.access
    for name, left in ended.secrets.items():
        secret = access.secrets.get(name)
        if secret is None:
            continue
        if left is None:
            work.emit(access, EventKind.SECRET_REMOVED, name, [("secret", name, None)], note=ENDED, by=ENGINE)
            continue
        narrow = replace(secret, devices=left.devices, recipes=left.recipes, tools=left.tools)
        if narrow != secret:
            work.emit(access, EventKind.SECRET_SET, name, [("secret", name, narrow)], note=ENDED, by=ENGINE)
