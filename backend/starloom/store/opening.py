"""Opens the store for a process: the hub that may own the shard, or a worker that only reads and posts inputs."""

from __future__ import annotations

import logging
from pathlib import Path

from starloom.store.file_names import OPENING_FILE
from starloom.store.port import Damaged
from starloom.store.redis.store import OWNER_TTL_MS, RedisStore
from starloom.store.sql.database import CHECK_AT_START_S, Database, open_database
from starloom.store.sql.history import read_meta

_log = logging.getLogger("starloom.store")


async def open_store(
    redis_url: str,
    database_url: str,
    *,
    owner: bool = True,
    owner_ttl_ms: int = OWNER_TTL_MS,
    home: Path | None = None,
    restored: int = 0,
) -> RedisStore:
    """Return the store. An owner migrates the history's schema first; any other process opens it read-only and must not
    call the methods of `CommitPort`.

    An older history may take minutes: `OPENING_FILE` is in an owner's `home` meanwhile, for a process that waits for
    the hub. `restored` is the incarnation of the history that a restore has left to this hub; 0: none has.

    Raises:
        ValueError: the URL is of another kind of database.
        Corrupt: the history has corrupt pages; nothing is written to it. The check is bounded in time.
        Damaged: it is not the restored one. Redis is not touched yet.
        Unavailable: the history cannot be opened or migrated. Redis is not touched yet.
    """
    database = open_database(database_url, read_only=not owner)
    mark = None if home is None else home / OPENING_FILE
    try:
        if mark is not None:
            mark.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            mark.touch()
        if owner:
            if not await database.check(CHECK_AT_START_S):
                _log.info("event=history_checked_in_part seconds=%g place=%r", CHECK_AT_START_S, database.place)
            await database.migrate()
            _check_restored(database, (await database.read(read_meta)).incarnation, restored)
    except BaseException:
        await database.close()
        raise
    finally:
        if mark is not None:
            mark.unlink(missing_ok=True)
    return RedisStore(redis_url, database, owner_ttl_ms=owner_ttl_ms)


def _check_restored(database: Database, incarnation: int, restored: int) -> None:
    """Refuse a history that is not the one which a restore has left to this hub: it may be that of a living one."""
    if incarnation < restored:
        raise Damaged(
            f"a backup was restored here, and {database.place} is not the history that came of it. Start with the "
            "database_url of that restore (unset: the file starloom.db of the data folder), or restore it once more "
            "with this one"
        )
