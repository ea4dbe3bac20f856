"""What a put to the fleet or to access moves in the indexes there; `apply` calls these as its hooks.

Each is told the record that was and the one that is, and is its own opposite the other way round.
"""

from __future__ import annotations

from starloom.core.model import Access, Fleet, Shard
from starloom_protocol.entities import Device, Offer, Secret
from starloom_protocol.fleet_records import Health, Stopping


def index_health(_shard: Shard, fleet: Fleet, _key: str, old: Health | None, new: Health | None) -> None:
    fleet.faults += (new.faults if new is not None else 0) - (old.faults if old is not None else 0)


def index_stopping(_shard: Shard, fleet: Fleet, key: str, old: Stopping | None, new: Stopping | None) -> None:
    for attempt in old.attempts if old is not None else ():
        fleet.stop_waits.pop(attempt, None)
    for attempt in new.attempts if new is not None else ():
        fleet.stop_waits[attempt] = key


def index_device(_shard: Shard, fleet: Fleet, key: str, old: Device | None, new: Device | None) -> None:
    if old is not None and fleet.by_name.get(old.name) == key:
        del fleet.by_name[old.name]
    if new is not None and not new.revoked:
        fleet.by_name[new.name] = key
    fleet.revision += 1


def index_offer(_shard: Shard, fleet: Fleet, key: str, old: Offer | None, new: Offer | None) -> None:
    if new is not None:
        fleet.tools[key] = fleet.tool_sets.take(new.tools)
    else:
        fleet.tools.pop(key, None)
    if old is not None:
        fleet.tool_sets.leave(old.tools)
    fleet.revision += 1


def index_secret(_shard: Shard, access: Access, _key: str, old: Secret | None, new: Secret | None) -> None:
    # That it was used once more lets nobody have it who could not before.
    if old is None or new is None or old.version != new.version:
        access.secrets_revision += 1
