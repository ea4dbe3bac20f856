"""Dumps: the whole history in portable files and back, for SQLite and PostgreSQL in either direction.

A dump is one stream per table: batches of rows in MessagePack, each after its length. It is made in one transaction, so
it is one moment of the history. Knows nothing of keys and artifacts, which `cli.backup` puts beside it.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, Final

import msgspec
from sqlalchemy import Connection, MetaData, Table, func, insert, inspect, select, text

from starloom.store.port import Damaged, Unavailable
from starloom.store.sql.database import migrate_to, newest_revision, schema_of
from starloom_protocol.text.wording import quoted

BATCH_ROWS: Final = 500
BATCH_BYTES_MOST: Final = 256 * 1024 * 1024
"""The largest batch; a larger one is damaged, since 500 commits of the largest size are far below."""
RESTORED_FILE: Final = Path("run") / "restored"
"""The mark of a restore in a hub's home, until its engine knows of it: the input that tells it, as JSON."""
HISTORY_ID_FILE: Final = Path("run") / "history.id"
"""The name by which open pages know the history of a shard; a restore removes it, and the next start makes another."""
_LENGTH: Final = struct.Struct(">Q")
_VERSION_TABLE: Final = "alembic_version"


class TableDump(msgspec.Struct, frozen=True, kw_only=True):
    """One table of a dump; `sha256` is that of its stream."""

    name: str
    columns: list[str]
    rows: int
    sha256: str


class Dump(msgspec.Struct, frozen=True, kw_only=True):
    """The content of a dump. `watermark` is the position of the last commit, 0 without any."""

    schema: str
    watermark: int
    tables: list[TableDump]


def write_dump(connection: Connection, folder: Path) -> Dump:
    """Write each table into a file of its name in `folder`.

    Raises:
        Unavailable: the history is empty or of another version.
    """
    schema = schema_of(connection)
    if schema is None:
        raise Unavailable("no hub has kept anything here yet (the data folder: `starloom config show`)")
    if schema != newest_revision():
        raise Unavailable(
            f"the history has schema {schema or 'none'}, and this version reads {newest_revision()}: "
            "start the hub of this version once, which brings it up to date"
        )
    tables = [_write_table(connection, table, folder / table.name) for table in _tables(connection)]
    watermark = connection.execute(text("SELECT watermark FROM meta")).scalar_one()
    return Dump(schema=schema, watermark=watermark, tables=tables)


def read_dump(connection: Connection, dump: Dump, folder: Path) -> None:
    """Fill an empty database with a dump, at the dump's schema.

    Raises:
        Unavailable: the database has a history already, or a newer Starloom wrote the dump.
        Damaged: the dump has changed since it was written.
    """
    if schema_of(connection) is not None or set(inspect(connection).get_table_names()):
        raise Unavailable("there is a history already, and a backup is put into an empty place only")
    if dump.schema > newest_revision():
        raise Unavailable(
            f"a newer Starloom wrote this backup: its schema is {dump.schema}, and this version knows schemas up to "
            f"{newest_revision()}. Install the newer version"
        )
    migrate_to(connection, dump.schema)
    tables = {table.name: table for table in _tables(connection)}
    for described in dump.tables:
        if described.name not in tables:
            raise Damaged(f"the backup names a table {quoted(described.name)} that schema {dump.schema} has not")
        # The migrations insert the first row of `meta`; the backup has its own.
        connection.execute(tables[described.name].delete())
        _read_table(connection, tables[described.name], described, folder / described.name)


def _tables(connection: Connection) -> list[Table]:
    reflected = MetaData()
    reflected.reflect(connection)
    return [table for table in reflected.sorted_tables if table.name != _VERSION_TABLE]


def _write_table(connection: Connection, table: Table, path: Path) -> TableDump:
    columns = [str(column.name) for column in table.columns]
    digest, rows = hashlib.sha256(), 0
    query = select(table).order_by(*table.primary_key.columns).execution_options(yield_per=BATCH_ROWS)
    with path.open("xb") as file:
        for batch in connection.execute(query).partitions():
            rows += len(batch)
            raw = msgspec.msgpack.encode([list(row) for row in batch])
            for part in (_LENGTH.pack(len(raw)), raw):
                digest.update(part)
                file.write(part)
    return TableDump(name=str(table.name), columns=columns, rows=rows, sha256=digest.hexdigest())


def _read_table(connection: Connection, table: Table, described: TableDump, path: Path) -> None:
    unknown = set(described.columns) - {column.name for column in table.columns}
    if unknown:
        raise Damaged(f"the backup names columns that {table.name} has not: {', '.join(sorted(unknown))}")
    for batch in _batches(path):
        connection.execute(insert(table), [dict(zip(described.columns, row, strict=True)) for row in batch])
    rows = connection.execute(select(func.count()).select_from(table)).scalar_one()
    if rows != described.rows:
        raise Damaged(f"the backup says that {table.name} has {described.rows} rows, and {rows} were found")


def _batches(path: Path) -> Iterator[list[list[Any]]]:
    with path.open("rb") as file:
        while head := file.read(_LENGTH.size):
            yield msgspec.msgpack.decode(_exactly(file, head, path), type=list[list[Any]])


def _exactly(file: IO[bytes], head: bytes, path: Path) -> bytes:
    size = _LENGTH.unpack(head)[0] if len(head) == _LENGTH.size else BATCH_BYTES_MOST + 1
    raw = file.read(size) if size <= BATCH_BYTES_MOST else b""
    if len(raw) != size:
        raise Damaged(f"the backup's {path.name} ends in the middle of a batch")
    return raw
