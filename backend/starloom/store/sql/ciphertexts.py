"""Ciphertexts of secrets beside the log: stored by id before their event, read at dispatch. Knows no key or name."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from sqlalchemy import Connection, Table, delete, insert, select

from starloom.store.sql.database import Database
from starloom.store.sql.tables import SecretValueRow

_VALUES: Final[Table] = SecretValueRow.__table__  # type: ignore[attr-defined]


class SqlCiphertexts:
    """`CiphertextPort` over the history's database, so that every hub of a shard reads the same."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def put(self, identity: str, sealed: bytes, at_ms: int) -> None:
        await self._database.write(_put, identity, sealed, at_ms)

    async def get(self, identity: str) -> bytes | None:
        return await self._database.read(_get, identity)

    async def remove(self, identity: str) -> None:
        await self._database.write(_remove, identity)

    async def sweep(self, named: Collection[str], before_ms: int) -> int:
        return await self._database.write(_sweep, list(named), before_ms)


def _put(connection: Connection, identity: str, sealed: bytes, at_ms: int) -> None:
    connection.execute(insert(_VALUES).values(id=identity, sealed=sealed, at_ms=at_ms))


def _get(connection: Connection, identity: str) -> bytes | None:
    sealed = connection.execute(select(_VALUES.c.sealed).where(_VALUES.c.id == identity)).scalar_one_or_none()
    return None if sealed is None else bytes(sealed)


def _remove(connection: Connection, identity: str) -> None:
    connection.execute(delete(_VALUES).where(_VALUES.c.id == identity))


def _sweep(connection: Connection, named: list[str], before_ms: int) -> int:
    result = connection.execute(delete(_VALUES).where(_VALUES.c.at_ms < before_ms, _VALUES.c.id.not_in(named)))
    return int(result.rowcount)
