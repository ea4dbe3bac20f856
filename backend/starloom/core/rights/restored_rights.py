"""The rights of a backup that a restore does not bring back. Compares two states; changes nothing.

Nobody has more rights after a restore than in the backup and than in the history until then. Where that history cannot
be read, nobody knows who was revoked: what only a browser or a message holds ends, and a person looks at the rest.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from starloom.core.state.inputs import EndedRights, Receivers
from starloom.core.state.model import Shard
from starloom_protocol.records.entities import Device, Enrollment, Secret, Token
from starloom_protocol.records.schedules import Schedule
from starloom_protocol.vocabulary import ROLE_RANK, ScheduleState

_KEPT_BY_PROGRAMS: Final = "bearer"
"""Sessions of pages and invitations are the other kinds of tokens."""


class Holders(NamedTuple):
    """Who has rights: tokens that are good, each with the number of those that come from it, and devices."""

    tokens: list[tuple[Token, int]]
    devices: list[Device]


def same_hub(backup: Shard, until: Shard) -> bool:
    """Tell whether two histories are of one hub: its first owner is in both."""
    return not backup.access.principals.keys().isdisjoint(until.access.principals)


def ended_since(backup: Shard, until: Shard) -> EndedRights:
    """Return what ended between a backup and the last moment of the history that it replaces."""
    then, now = backup.access, until.access
    used = {one.parent for one in now.signins.values() if one.used_ms} - {
        one.parent for one in then.signins.values() if one.used_ms
    }
    ended = {}
    for token in _open(backup):
        known = now.tokens.get(token.id)
        if known is None or known.revoked_ms:
            # Of a token that ended more than some days before, the history keeps no more.
            ended[token.id] = known.revoked_ms if known is not None else 0
        elif token.id in used and token.kind not in (_KEPT_BY_PROGRAMS, "session"):
            # Its session is not in the backup, so nobody can use it.
            ended[token.id] = 0
    roles = {
        one.id: now.principals[one.id].role
        for one in then.principals.values()
        if one.id in now.principals and ROLE_RANK[now.principals[one.id].role] < ROLE_RANK[one.role]
    }
    found = until.fleet.devices
    devices = {one.id: _gone(found.get(one.id)) for one in backup.fleet.devices.values() if not one.revoked}
    return EndedRights(
        devices={name: how for name, how in devices.items() if how},
        enrollments=[one.id for one in _codes(backup) if _differs(one, until.fleet.enrollments.get(one.id))],
        reserved=[
            one.id
            for one in backup.fleet.devices.values()
            if not one.reserved and not devices.get(one.id, "gone") and found[one.id].reserved
        ],
        roles=roles,
        schedules=[
            one.id
            for one in backup.fleet.schedules.values()
            if one.state is ScheduleState.ACTIVE and not _goes_on(backup, until, one)
        ],
        secrets={
            name: left
            for name, secret in then.secrets.items()
            if (left := _left(_receivers(secret), _receivers(now.secrets.get(name)))) != _receivers(secret)
        },
        signins=[one.id for one in then.signins.values() if not one.used_ms and _used(until, one.id)],
        standing=[name for name in backup.fleet.standing if name not in until.fleet.standing],
        tokens=_with_descendants(backup, ended),
    )


def ended_unseen(backup: Shard) -> EndedRights:
    """Return what ends where the history until now cannot be read: sessions, invitations, links and join codes."""
    ended = {token.id: 0 for token in _open(backup) if token.kind != _KEPT_BY_PROGRAMS}
    return EndedRights(
        enrollments=[one.id for one in _codes(backup)],
        signins=[one.id for one in backup.access.signins.values() if not one.used_ms],
        tokens=_with_descendants(backup, ended),
    )


def with_those_of(before: EndedRights, ended: EndedRights) -> EndedRights:
    """Return both: what ends with a restore, and what an earlier one has ended that no hub has heard of yet."""
    lower = {
        name: role
        for name, role in before.roles.items()
        if name not in ended.roles or ROLE_RANK[role] < ROLE_RANK[ended.roles[name]]
    }
    return EndedRights(
        devices=before.devices | ended.devices,
        enrollments=_once(before.enrollments, ended.enrollments),
        reserved=_once(before.reserved, ended.reserved),
        roles=ended.roles | lower,
        schedules=_once(before.schedules, ended.schedules),
        secrets={
            name: _left(before.secrets.get(name, Receivers()), ended.secrets.get(name, Receivers()))
            for name in (*before.secrets, *ended.secrets)
        },
        signins=_once(before.signins, ended.signins),
        standing=_once(before.standing, ended.standing),
        tokens=before.tokens | ended.tokens,
    )


def among(ended: EndedRights, backup: Shard) -> EndedRights:
    """Return those of the rights that a backup has."""
    access, fleet = backup.access, backup.fleet
    return EndedRights(
        devices={name: how for name, how in ended.devices.items() if name in fleet.devices},
        enrollments=[name for name in ended.enrollments if name in fleet.enrollments],
        reserved=[name for name in ended.reserved if name in fleet.devices],
        roles={name: role for name, role in ended.roles.items() if name in access.principals},
        schedules=[name for name in ended.schedules if name in fleet.schedules],
        secrets={name: left for name, left in ended.secrets.items() if name in access.secrets},
        signins=[name for name in ended.signins if name in access.signins],
        standing=[name for name in ended.standing if name in fleet.standing],
        tokens={name: at_ms for name, at_ms in ended.tokens.items() if name in access.tokens},
    )


def holders(backup: Shard, ended: EndedRights, now_ms: int) -> Holders:
    """Return who has rights once `ended` has ended, the newest token first."""
    access = backup.access
    good = {
        one.id: one
        for one in _open(backup)
        if one.id not in ended.tokens and not 0 < one.expires_ms <= now_ms and one.principal in access.principals
    }
    tokens = [(one, sum(below.id in good for below in access.descendants(one.id))) for one in good.values()]
    devices = [one for one in backup.fleet.devices.values() if not one.revoked and one.id not in ended.devices]
    return Holders(
        tokens=sorted(tokens, key=lambda row: (-row[0].created_ms, row[0].id)),
        devices=sorted(devices, key=lambda one: (one.name, one.id)),
    )


def _open(shard: Shard) -> Iterator[Token]:
    return (token for token in shard.access.tokens.values() if not token.revoked_ms)


def _codes(shard: Shard) -> Iterator[Enrollment]:
    return (one for one in shard.fleet.enrollments.values() if one.state in ("open", "asking"))


def _once(before: list[str], after: list[str]) -> list[str]:
    return list(dict.fromkeys([*before, *after]))


def _gone(now: Device | None) -> str:
    """Return how a device of a backup has gone since; empty if it has not."""
    if now is None:
        # Records of devices stay, so this history never had it.
        return "unknown"
    return ("left" if now.left else "revoked") if now.revoked else ""


def _goes_on(backup: Shard, until: Shard, then: Schedule) -> bool:
    """Tell whether a schedule of a backup is active in the history until now, and begins the same work there."""
    now = until.fleet.schedules.get(then.id)
    return now is not None and now.state is ScheduleState.ACTIVE and _work(backup, then) == _work(until, now)


def _work(shard: Shard, schedule: Schedule) -> tuple[object, ...]:
    """Return all that tells what the firings of a schedule do, and on which devices."""
    plan = shard.fleet.scheduled_plans.get(schedule.id)
    # A schedule without a plan reads its recipe at each firing; words may mean any recipe.
    read = [one for one in shard.fleet.recipes.values() if plan is None and schedule.recipe in (None, one.name)]
    texts = {(one.name, one.number): one.text for one in read}
    return schedule.request, schedule.recipe, schedule.params, schedule.devices, schedule.unseen_trash, plan, texts


def _receivers(secret: Secret | None) -> Receivers | None:
    if secret is None:
        return None
    return Receivers(devices=secret.devices, recipes=secret.recipes, tools=secret.tools)


def _left(then: Receivers | None, now: Receivers | None) -> Receivers | None:
    """Return who may receive a secret by both; None if nobody may."""
    if then is None or now is None:
        return None
    left: dict[str, list[str]] = {}
    for kind in Receivers.__struct_fields__:
        some, others = getattr(then, kind), getattr(now, kind)
        left[kind] = [one for one in some if one in others] if some and others else some or others
        if (some or others) and not left[kind]:
            return None
    return Receivers(**left)


def _differs(then: Enrollment, now: Enrollment | None) -> bool:
    return now is None or (now.state, now.used) != (then.state, then.used)


def _used(until: Shard, signin: str) -> bool:
    known = until.access.signins.get(signin)
    return known is None or known.used_ms > 0


def _with_descendants(shard: Shard, ended: dict[str, int]) -> dict[str, int]:
    """Return the tokens with those that end with them."""
    below = {one.id: 0 for token in ended for one in shard.access.descendants(token) if not one.revoked_ms}
    return {**below, **ended}
