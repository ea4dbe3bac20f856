"""Run by Alembic: migrates over the connection that the caller hands in, in the caller's transaction."""

from __future__ import annotations

from alembic import context
from sqlmodel import SQLModel

from starloom.store.sql import tables

connection = context.config.attributes["connection"]
assert tables.CommitRow.metadata is SQLModel.metadata  # noqa: S101 - the tables are registered by the import
context.configure(connection=connection, target_metadata=SQLModel.metadata, render_as_batch=True)
with context.begin_transaction():
    context.run_migrations()
