"""What must be true of clocks, rights, secrets and restores, judged from log, devices and what people were told.

Nothing of the core decides here: each rule is said anew.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from starloom.core.state import inputs as i
from starloom.edge.access.vault import CannotOpen, Sealer
from starloom_protocol.records.entities import Device, decode_entity
from starloom_protocol.stream.authors import who
from starloom_protocol.stream.events import EventKind
from starloom_protocol.stream.feed import ACCESS, FLEET, Event, decode_event
from starloom_protocol.vocabulary import ROLE_RANK, PrincipalKind, Repeatability, Role
from starloom_protocol.wire.frames import LeaseRef
from tests.sim.agent import World
from tests.sim.people.call_rules import CallRules
from tests.sim.people.course import Course, Rules, decoded, follow
from tests.sim.people.fleet_rules import FleetRules
from tests.sim.people.owners import DeviceOwner
from tests.sim.people.recipe_rules import RecipeRules
from tests.sim.people.rights_rules import RightsRules, SecretRules, UndoRules, restored
from tests.sim.people.schedule_rules import ScheduleRules, StopRules
from tests.sim.people.site import KEY, ROLES, Heard, Heeded, PutBack
from tests.store.memory import MemoryHistory

_LEAST: Final[dict[type, Role]] = {
    i.SecretSet: Role.OWNER,
    i.SecretRemoved: Role.OWNER,
    i.RoleGiven: Role.OWNER,
    i.QuestionAnswered: Role.APPROVER,
    i.StandingRevoked: Role.APPROVER,
    i.OwnerAskAnswered: Role.APPROVER,
    i.SignInOpened: Role.VIEWER,
}
"""The least role for what is accepted; that of an operator for all else but a reader's *seen*."""
_NOT_OF_ASSISTANTS: Final[tuple[type, ...]] = (*_LEAST, i.StopAllRequested, i.TokenAdded, i.TokenRevoked)


def judge(history: MemoryHistory, world: World, heeded: Heeded, owners: dict[str, DeviceOwner]) -> Iterator[str]:
    """Yield every violation, in words."""
    stops, fleet, secrets = StopRules(), FleetRules(), SecretRules(heeded.values, heeded.restores)
    calls = CallRules(world, heeded.restores)
    rules: list[Rules] = [
        ScheduleRules(),
        stops,
        RightsRules(),
        secrets,
        UndoRules(),
        calls,
        fleet,
        RecipeRules(heeded.heard),
    ]
    yield from follow(history, heeded.restores, rules, restored)
    yield from fleet.given(owners, heeded.restores)
    yield from _secrets_given(world, secrets)
    yield from _ciphertexts(history, heeded)
    yield from _repeated(history, world, heeded.restores)
    heard = [one for one in heeded.heard if not _is_void(one, heeded.restores)]
    events: dict[tuple[str, str], list[Event]] = {}
    for stream in (ACCESS, FLEET):
        for event in map(decode_event, history.streams.get(stream, ())):
            events.setdefault((event.kind, event.about), []).append(event)
    yield from _kept(history, heard, events)
    yield from _named(heard, stops)
    yield from _rights_of_heard(history, heeded.heard, heeded.parents)


def _is_void(heard: Heard, restores: list[PutBack]) -> bool:
    """Tell whether an answer may be of a part of the history that a restore has taken away."""
    return any(heard.answered_s > one.made_s and heard.sent_s < one.at_s for one in restores)


def _kept(history: MemoryHistory, heard: list[Heard], events: dict[tuple[str, str], list[Event]]) -> Iterator[str]:
    """What was answered is in the log, whatever has crashed since."""
    access, fleet = history.whole(ACCESS).entities, history.whole(FLEET).entities
    for one in heard:
        match one.item:
            case i.ScheduleSaved():
                name = one.value["id"]
                if (EventKind.SCHEDULE_MADE, name) not in events:
                    yield f"lost: the schedule {name} was saved"
            case i.ScheduleControlled(action="remove", schedule=name):
                if f"schedule/{name}" in fleet:
                    yield f"lost: {name} was removed"
            case i.SecretSet(name=name, cipher=cipher):
                sets = events.get((EventKind.SECRET_SET, name), [])
                if not any(cipher.encode() in bytes(raw) for event in sets for raw in event.puts.values() if raw):
                    yield f"lost: version {one.value['version']} of the secret {name} was set"
            case i.RoleGiven(principal=principal, role=role):
                given = [event.note for event in events.get((EventKind.ROLE_GIVEN, principal), [])]
                was_first = ROLES[principal.removeprefix("p-")][1] is role
                if not was_first and not any(f"to {role}" in note for note in given):
                    yield f"lost: {principal} was made {role}"
            case i.DeviceControlled(action="revoke", device=name):
                device = decode_entity(f"device/{name}", fleet[f"device/{name}"])
                if not isinstance(device, Device) or not device.revoked:
                    yield f"lost: {name} was revoked"
            case i.TokenAdded(token=token):
                if (EventKind.TOKEN_ADDED, token.id) not in events:
                    yield f"lost: the token {token.id} was made"
            case i.TokenRevoked(token=name):
                raw = access.get(f"token/{name}")
                if raw is not None and b"revoked_ms" not in raw:
                    yield f"lost: the token {name} was revoked"
            case i.StandingRevoked(standing=name):
                if (EventKind.STANDING_REVOKED, name) not in events:
                    yield f"lost: the permission {name} was taken back"


def _named(heard: list[Heard], stops: StopRules) -> Iterator[str]:
    """Who stops everything hears which clocks will fire again."""
    for one in heard:
        if isinstance(one.item, i.StopAllRequested):
            told = one.value["schedules"]
            if (one.caller.by, told) not in stops.stops:
                yield f"{one.caller.by} stopped everything and was told of the clocks {told}: {stops.stops}"


def _rights_of_heard(history: MemoryHistory, heard: list[Heard], parents: dict[str, str]) -> Iterator[str]:
    """Nothing is accepted of a token or a role that was taken before it was sent, or that is too small for it."""
    ended = {one.item.token: one.answered_s for one in reversed(heard) if isinstance(one.item, i.TokenRevoked)}
    roles: dict[str, list[Heard]] = {}
    for one in heard:
        if isinstance(one.item, i.RoleGiven):
            roles.setdefault(one.item.principal, []).append(one)
    for one in heard:
        what, caller = type(one.item).__name__, one.caller
        line, token = [], caller.token
        while token:
            line.append(token)
            token = parents.get(token, "")
        for name in line:
            if ended.get(name, one.sent_s) < one.sent_s:
                yield f"{what} of {caller.by} was accepted, and its token {name} had been revoked"
        if (most := _most(roles.get(caller.principal, []), one)) is not None and ROLE_RANK[caller.role] > most:
            yield f"{what} of {caller.by} was accepted as {caller.role}, and that role had been taken"
        least = _LEAST.get(type(one.item), Role.OPERATOR)
        is_seen = isinstance(one.item, i.ScheduleControlled) and one.item.action == "seen"
        if ROLE_RANK[caller.role] < ROLE_RANK[least] and not is_seen:
            yield f"{what} of {caller.by}, who is {caller.role}, was accepted"
        if caller.kind is PrincipalKind.ASSISTANT and isinstance(one.item, _NOT_OF_ASSISTANTS):
            yield f"{what} of the assistant {caller.by} was accepted"
        if isinstance(one.item, i.UndoRequested) and not caller.approves:
            author = _author(history, one.item.constellation)
            if author and who(author) != who(caller.by):
                yield f"{caller.by} may not approve, and took back {one.item.constellation} of {author}"


def _author(history: MemoryHistory, stream: str) -> str:
    raws = history.streams.get(stream)
    head = decoded(decode_event(raws[0])).get("head") if raws else None
    return str(head.author) if head is not None else ""


def _most(given: list[Heard], one: Heard) -> int | None:
    """Return the rank of the greatest role that somebody may have had; None where no role was given in time."""
    before = [role for role in given if role.answered_s < one.sent_s]
    if not before:
        return None
    last = max(before, key=lambda role: role.answered_s)
    maybe = [role for role in given if role.sent_s < one.answered_s and role.answered_s >= last.sent_s]
    return max(ROLE_RANK[role.item.role] for role in maybe)


def _secrets_given(world: World, rules: SecretRules) -> Iterator[str]:
    """A value that a device got is one that was set, had not been removed when the call was leased, and was for it."""
    for at, dispatch in world.dispatched.items():
        for value in dispatch.secrets.values() if at in rules.leases else ():
            if why := rules.may_have(value, at, dispatch.tool):
                yield f"{at} was given {value!r}: {why}"


def _ciphertexts(history: MemoryHistory, heeded: Heeded) -> Iterator[str]:
    """Each secret that is set can be opened, and opens to the value that was given for this version."""
    sealer, now = Sealer([KEY]), Course()
    for event in map(decode_event, history.streams.get(ACCESS, ())):
        now.take(event, decoded(event))
    for name, record in now.secrets().items():
        sealed = history.sealed.get(record.cipher)
        if sealed is None:
            yield f"version {record.version} of the secret {name} is set, and there is no ciphertext of it"
            continue
        try:
            value = sealer.open(sealed[0], name=name, version=record.version, identity=record.cipher)
        except CannotOpen as error:
            yield f"version {record.version} of the secret {name} cannot be opened: {error}"
        else:
            if value != heeded.values.get(record.cipher):
                yield f"version {record.version} of the secret {name} opens to another value"


def _repeated(history: MemoryHistory, world: World, restores: list[PutBack]) -> Iterator[str]:
    """What may not be repeated and was begun before a restore begins after it only where a person says so."""
    begun: dict[tuple[str, str], list[tuple[float, LeaseRef]]] = {}
    for at_s, _device, at, repeatability in world.begun:
        if repeatability == Repeatability.NEVER:
            begun.setdefault((at.constellation, at.task), []).append((at_s, at))
    for restore in restores:
        for (name, task), times in begun.items():
            before = [at for at_s, at in times if restore.made_s <= at_s < restore.at_s]
            after = [at for at_s, at in times if at_s >= restore.at_s]
            if before and after and not _asked(history, name, restore.pos):
                yield f"{name}/{task} was begun as {before} and, after a restore, unasked as {after}"


def _asked(history: MemoryHistory, name: str, pos: int) -> bool:
    """Tell whether a person did anything to a constellation, or to its clock, after a restore."""
    clock = ""
    for commit in history.commits:
        for event in map(decode_event, commit.events):
            if event.stream == name and event.seq == 1:
                clock = decoded(event)["head"].schedule or ""
            theirs = event.stream == name or (event.stream == FLEET and event.about == clock and clock)
            if commit.pos > pos and theirs and ":" in who(event.by) and not event.by.startswith("device:"):
                return True
    return False
