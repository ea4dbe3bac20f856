"""What must be true of roles, tokens, permissions, secrets and undos, and of what ends with a restore."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from starloom.core.state.model import Shard
from starloom.edge.access.callers import SESSION
from starloom_protocol.records.approvals import Standing
from starloom_protocol.records.entities import Secret
from starloom_protocol.stream.authors import token_of
from starloom_protocol.stream.events import EventKind
from starloom_protocol.stream.feed import ACCESS, FLEET, Event
from starloom_protocol.vocabulary import ROLE_RANK, Role, ScheduleState
from starloom_protocol.wire.frames import LeaseRef
from tests.sim.people.course import Course, Puts, begins
from tests.sim.people.site import PutBack

_TAKING: Final = (EventKind.ROLE_GIVEN, EventKind.TOKEN_REVOKED)


class RightsRules:
    """A right that was taken is in force nowhere: in tokens below it, in permissions for good, in drafts."""

    def __init__(self) -> None:
        self._ends_itself: tuple[int, str] | None = None

    def at(self, now: Course, event: Event, puts: Puts) -> Iterator[str]:
        if event.kind in _TAKING:
            # Whoever ends its own token goes on with what follows from that.
            self._ends_itself = now.pos, event.by
        token = now.tokens().get(token_of(event.by)) if "#" in event.by else None
        head = now.streams.get(event.stream, {}).get("head")
        if token is not None and token.kind == SESSION and head is not None and head.schedule:
            # A schedule that was made in a session goes on after it.
            token = None
        if token is not None and token.revoked_ms and self._ends_itself != (now.pos, event.by):
            yield f"{event.kind} {event.about} of {event.stream} is by {event.by}, whose token was revoked before"
        for key, record in puts.items():
            if (
                isinstance(record, Standing)
                and key not in now.streams[FLEET]
                and not now.has_right(record.by, Role.APPROVER)
            ):
                yield f"{record.by} allowed {record.id} for good, and may not"

    def after(self, now: Course, events: list[Event]) -> Iterator[str]:
        if not any(event.kind in _TAKING for event in events):
            return
        tokens, principals = now.tokens(), now.principals()
        for token in tokens.values():
            parent, holder = tokens.get(token.parent), principals[token.principal]
            if token.revoked_ms:
                continue
            if parent is not None and parent.revoked_ms:
                yield f"the token {token.id} goes on, and {parent.id}, which it comes from, was revoked"
            if ROLE_RANK[token.role] > ROLE_RANK[holder.role]:
                yield f"the token {token.id} has the role {token.role}, and {holder.name} is {holder.role}"
        for standing in now.of_kind(FLEET, "standing").values():
            if not now.has_right(standing.by, Role.APPROVER):
                yield f"{standing.id} is allowed for good by {standing.by}, who may not any more"
        for code in now.of_kind(FLEET, "enrollment").values():
            maker = principals.get(code.owner)
            weak = maker is not None and ROLE_RANK[maker.role] < ROLE_RANK[Role.OPERATOR]
            if code.state in ("open", "asking") and (weak or now.is_over(code.token)):
                yield f"the code {code.id} of {code.owner} lets devices in, and its right has ended"
        for name, head in now.live().items():
            if not head.version and head.state != "cancelling" and not now.has_right(head.author, Role.OPERATOR):
                yield f"{name} waits for a plan, and {head.author} may not run work any more"
            for draft in now.of_kind(name, "draft").values():
                if draft.expires_ms > events[-1].at_ms and not now.has_right(draft.by, Role.OPERATOR):
                    yield f"the draft of {draft.by} in {name} keeps others away, and its author may not edit any more"


class SecretRules:
    """Which values were a secret's, from which commit on, and who was allowed each."""

    def __init__(self, values: dict[str, str], restores: list[PutBack]) -> None:
        self._values = values
        self._lost = [(one.incarnation, one.until.access.secrets) for one in restores]
        self._now: dict[str, Secret] = {}
        self._until: dict[str, list[tuple[Secret, int]]] = {}
        self.leases: dict[LeaseRef, tuple[int, str, str]] = {}

    def at(self, now: Course, event: Event, puts: Puts) -> Iterator[str]:
        for task, number, attempt in begins(now, event, puts):
            at = LeaseRef(attempt=int(number), constellation=event.stream, incarnation=attempt.incarnation, task=task)
            head = (now.streams.get(event.stream, {}) | puts)["head"]
            self.leases[at] = now.pos + 1, attempt.device, head.recipe or ""
        if event.stream != ACCESS:
            return
        for key, record in puts.items():
            kind, _, name = key.partition("/")
            if kind != "secret":
                continue
            before = self._now.pop(name, None)
            if before is not None:
                self._until.setdefault(name, []).append((before, now.pos + 1))
            if record is not None:
                self._now[name] = record
                if record.cipher not in self._values:
                    yield f"{name} has a version {record.version} whose value was given to no vault"

    def after(self, now: Course, events: list[Event]) -> Iterator[str]:
        yield from ()

    def may_have(self, value: str, at: LeaseRef, tool: str) -> str:
        """Return why a device may not have been given a value for an attempt that it was leased; or nothing.

        A device remembers attempts of a history that a restore took away, with the secrets that it had.
        """
        pos, device, recipe = self.leases[at]
        held = [(record, 1 << 60) for record in self._now.values()]
        for incarnation, secrets in self._lost:
            if at.incarnation < incarnation:
                held += [(record, 1 << 60) for record in secrets.values()]
        for past in self._until.values():
            held += past
        of_value = [(record, until) for record, until in held if self._values.get(record.cipher) == value]
        if not of_value:
            return "it is no value of any secret"
        current = [record for record, until in of_value if until >= pos]
        if not current:
            return "it was replaced or removed before"
        if not any(device in (one.devices or [device]) and tool in (one.tools or [tool]) for one in current):
            return f"it was not for {tool} on {device}"
        if not any(recipe in (one.recipes or [recipe]) for one in current):
            return f"it was not for {recipe or 'work without a recipe'}"
        return ""


class UndoRules:
    """A call takes back a call of its own constellation: a fork has results of work that it has not done."""

    def at(self, now: Course, event: Event, puts: Puts) -> Iterator[str]:
        for task, number, _attempt in begins(now, event, puts):
            records = now.streams[event.stream] | puts
            spec = records.get(f"spec/{task}")
            if spec is None or spec.undoes is None:
                continue
            start = f"attempt/{spec.undoes}/"
            own = [one for key, one in records.items() if key.startswith(start) and one is not None]
            if not any(one.origin is None for one in own):
                yield f"{event.stream}/{task}, attempt {number}, takes back {spec.undoes}, which was not done here"

    def after(self, now: Course, events: list[Event]) -> Iterator[str]:
        yield from ()


def restored(now: Course, backup: Course, restore: PutBack) -> Iterator[str]:
    """Yield each right of a backup that had ended before the restore and is in force after it.

    It is asked once the hub has begun to act; what people have made anew by then differs from the backup.
    """
    until, given_back = restore.until, f"the restore at commit {restore.pos} gives back"
    for token in now.tokens().values():
        known = until.access.tokens.get(token.id)
        if not token.revoked_ms and known is not None and known.revoked_ms:
            yield f"{given_back} the token {token.id}"
    for holder in now.principals().values():
        was = until.access.principals.get(holder.id)
        is_new = holder.role is not backup.principals()[holder.id].role
        if was is not None and not is_new and ROLE_RANK[holder.role] > ROLE_RANK[was.role]:
            yield f"{given_back} the role {holder.role} to {holder.name}, who was {was.role}"
    for name, device in now.of_kind(FLEET, "device").items():
        left = until.fleet.devices.get(name)
        if name in backup.of_kind(FLEET, "device") and not device.revoked and (left is None or left.revoked):
            yield f"{given_back} {name} to the fleet"
        elif left is not None and left.reserved and not device.reserved:
            yield f"{given_back} all work to {name}, which is reserved"
    for name in backup.of_kind(FLEET, "standing").keys() & now.of_kind(FLEET, "standing").keys():
        if name not in until.fleet.standing:
            yield f"{given_back} the permission {name}"
    for name, secret in now.secrets().items():
        then, last = backup.secrets().get(name), until.access.secrets.get(name)
        if then is None or then.cipher != secret.cipher:
            continue
        if last is None:
            yield f"{given_back} the secret {name}"
        elif _wider(secret.devices, last.devices) or _wider(secret.tools, last.tools):
            yield f"{given_back} the secret {name} to receivers that it was kept from"
    for name, schedule in now.schedules().items():
        later = until.fleet.schedules.get(name)
        was_active = name in backup.schedules() and schedule.state is ScheduleState.ACTIVE
        if was_active and (later is None or later.state is not ScheduleState.ACTIVE):
            yield f"{given_back} its moments to {name}, which was {later.state if later else 'removed'}"
        work = now.of_kind(FLEET, "scheduled_plan").get(name)
        is_old = work is not None and work == backup.of_kind(FLEET, "scheduled_plan").get(name)
        then_read, read, last_read = (_texts(one, schedule.recipe) for one in (backup, now, until))
        if was_active and schedule.recipe and read == then_read != last_read:
            yield f"{given_back} to {name} its recipe {schedule.recipe} of then"
        if was_active and is_old and work != until.fleet.scheduled_plans.get(name):
            yield f"{given_back} its former work to {name}"


def _texts(course: Course | Shard, recipe: str | None) -> list[str]:
    kept = course.of_kind(FLEET, "recipe") if isinstance(course, Course) else course.fleet.recipes
    return sorted(one.text for one in kept.values() if one.name == recipe)


def _wider(now: list[str], then: list[str]) -> bool:
    return bool(then) and (not now or not {*now} <= {*then})
