"""The rights that a history gives, read from its database for a restore: whose tokens and devices are good.

Reads only. The core decides which rights end (`rights.restored_rights`).
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import msgspec
from sqlalchemy import Connection

from starloom.core.rights.restored_rights import ended_since, ended_unseen, same_hub
from starloom.core.state.apply import load
from starloom.core.state.inputs import EndedRights
from starloom.core.state.model import Shard
from starloom.engine.retention.retiring import decode_entities
from starloom.store.file_names import DATABASE_FILE
from starloom.store.port import Corrupt, Damaged, Unavailable
from starloom.store.redis.reads import fold_stream
from starloom.store.sql import history
from starloom.store.sql.database import Database, newest_revision, open_database, schema_of
from starloom_protocol.stream.feed import ACCESS, FLEET

_STREAMS: Final = (FLEET, ACCESS)


class Until(msgspec.Struct, frozen=True, kw_only=True):
    """The history that a restore replaces: its rights, its incarnation, and its place; or why it cannot be read."""

    incarnation: int = 0
    place: str = ""
    shard: Shard | None = None
    why: str = ""


def url_of(place: str) -> str:
    """Return the database of a place: a data folder or, as it stands, the URL of a database."""
    return place if "://" in place else f"sqlite:///{Path(place) / DATABASE_FILE}"


async def rights_of(database: Database) -> Shard:
    """Return fleet and access of a history as of its last event.

    Raises:
        Unavailable: it is of another version, empty, or does not answer.
        Corrupt, Damaged: it cannot be read.
    """
    heads = await database.read(_heads)
    shard = Shard()
    for stream in _STREAMS:
        last = heads.get(stream, 0)
        load(shard, stream, last, decode_entities(await fold_stream(database, stream, last)))
    return shard


async def read_until(place: str) -> Until:
    """Return the rights of the history at a place; never fails, since a restore goes on without them."""
    try:
        database = open_database(url_of(place), read_only=True)
    except ValueError as error:
        return Until(place=place, why=str(error))
    try:
        shard = await rights_of(database)
        meta = await database.read(history.read_meta)
    except (Unavailable, Corrupt, Damaged) as error:
        return Until(place=place, why=str(error))
    finally:
        await database.close()
    return Until(incarnation=meta.incarnation, place=place, shard=shard)


def compared(backup: Shard, until: Until) -> tuple[EndedRights, Until]:
    """Return what ends with the restore, and the history that it rests on; one of another hub says nothing."""
    if until.shard is not None and not same_hub(backup, until.shard):
        until = Until(place=until.place, why="it is the history of another hub")
    return (ended_unseen(backup) if until.shard is None else ended_since(backup, until.shard)), until


def _heads(connection: Connection) -> dict[str, int]:
    schema = schema_of(connection)
    if schema != newest_revision():
        raise Unavailable(f"its schema is {schema or 'none'}, and this version reads {newest_revision()}")
    return history.read_last_seqs(connection, _STREAMS)
