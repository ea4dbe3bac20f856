"""Secrets: they are set, given and removed by name and version, with their receivers. No value ever reaches the core.

A task is given the secrets that its author named; `task_needs` decides which devices may have them.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from starloom.core.placement import waiting
from starloom.core.state.inputs import SecretRemoved, SecretSet
from starloom.core.state.work import Refusal, Work, fault
from starloom_protocol.records.access import SECRET_NAME, SECRETS_MOST
from starloom_protocol.records.entities import Secret
from starloom_protocol.stream.authors import ENGINE
from starloom_protocol.stream.events import EventKind
from starloom_protocol.vocabulary import Code


def on_set(work: Work, item: SecretSet) -> None:
    """Note a first or next value of a secret; tasks that waited for it can continue in this step."""
    access = work.shard.access
    if not SECRET_NAME.fullmatch(item.name):
        reason = "a secret's name has letters, digits, `-`, `_` and `.`, at most 64"
        raise Refusal(fault(Code.BAD_REQUEST, reason, "name"))
    old = access.secrets.get(item.name)
    version = old.version if old else 0
    if item.version != version + 1 or item.base_version not in (None, version):
        reason = f"{item.name} is at version {version}" if old else f"there is no secret {item.name}"
        raise Refusal(fault(Code.CONFLICT, f"{reason}; somebody changed it meanwhile", "name", "Look, then try again."))
    if old is None and len(access.secrets) >= SECRETS_MOST:
        raise Refusal(fault(Code.TOO_MANY_SECRETS, f"{SECRETS_MOST} secrets are kept here already"))
    for at, device in enumerate(item.devices):
        if device not in work.shard.fleet.devices:
            raise Refusal(fault(Code.UNKNOWN_DEVICE, f"there is no device {device[:64]}", f"devices[{at}]"))
    new = Secret(
        by=item.by,
        cipher=item.cipher,
        created_ms=old.created_ms if old else work.at_ms,
        devices=sorted(set(item.devices)),
        last_used_ms=old.last_used_ms if old else 0,
        name=item.name,
        recipes=sorted(set(item.recipes)),
        set_ms=work.at_ms,
        tools=sorted(set(item.tools)),
        version=item.version,
    )
    work.emit(access, EventKind.SECRET_SET, item.name, [("secret", item.name, new)])
    waiting.secrets_set(work)
    work.answer({"name": item.name, "version": new.version, "replaced": old.cipher if old else None})


def on_removed(work: Work, item: SecretRemoved) -> None:
    """Remove a secret; attempts that were given it keep it until they end, tasks that need it wait from now on."""
    secret = work.shard.access.secrets.get(item.name)
    if secret is None:
        reason = f"there is no secret {item.name[:64]}"
        raise Refusal(fault(Code.NOT_FOUND, reason, "name", "See `starloom secret ls`."))
    work.emit(work.shard.access, EventKind.SECRET_REMOVED, item.name, [("secret", item.name, None)])
    work.answer({"name": item.name, "replaced": secret.cipher})


def note_given(work: Work, names: Sequence[str], what: str) -> None:
    """Note that an attempt is given these secrets: the time and the receiver of the last use of each."""
    access = work.shard.access
    for name in names:
        secret = access.secrets.get(name)
        if secret is not None:
            used = replace(secret, last_used_ms=work.at_ms)
            work.emit(access, EventKind.SECRET_GIVEN, name, [("secret", name, used)], note=what, by=ENGINE)
