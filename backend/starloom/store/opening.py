"""Opens the store for a process: the hub that may own the shard, or a worker that only reads and posts inputs."""

from __future__ import annotations

from starloom.store.database import open_database
from starloom.store.redis import OWNER_TTL_MS, RedisStore


async def open_store(
    redis_url: str, database_url: str, *, owner: bool = True, owner_ttl_ms: int = OWNER_TTL_MS
) -> RedisStore:
    """Return the store. An owner brings the history's schema up to date first; everyone else opens it read-only and
    must not call what belongs to `CommitPort`.

    Raises:
        ValueError: for an URL of another kind of database.
        Unavailable: the history cannot be opened or migrated. Redis is not touched yet.
    """
    database = open_database(database_url, read_only=not owner)
    try:
        if owner:
            await database.migrate()
    except BaseException:
        await database.close()
        raise
    return RedisStore(redis_url, database, owner_ttl_ms=owner_ttl_ms)
