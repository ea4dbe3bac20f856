"""Opens the store for a process: the hub that may own the shard, or a worker that only reads and posts inputs."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from starloom.store.database import open_database
from starloom.store.redis import OWNER_TTL_MS, RedisStore

OPENING_FILE: Final = Path("run") / "opening"


async def open_store(
    redis_url: str,
    database_url: str,
    *,
    owner: bool = True,
    owner_ttl_ms: int = OWNER_TTL_MS,
    home: Path | None = None,
) -> RedisStore:
    """Return the store. An owner brings the history's schema up to date first; everyone else opens it read-only and
    must not call what belongs to `CommitPort`.

    An older history may take minutes: `OPENING_FILE` stands in an owner's `home` for as long, to be seen by whoever
    waits for the hub.

    Raises:
        ValueError: for an URL of another kind of database.
        Unavailable: the history cannot be opened or migrated. Redis is not touched yet.
    """
    database = open_database(database_url, read_only=not owner)
    mark = None if home is None else home / OPENING_FILE
    try:
        if mark is not None:
            mark.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            mark.touch()
        if owner:
            await database.migrate()
    except BaseException:
        await database.close()
        raise
    finally:
        if mark is not None:
            mark.unlink(missing_ok=True)
    return RedisStore(redis_url, database, owner_ttl_ms=owner_ttl_ms)
