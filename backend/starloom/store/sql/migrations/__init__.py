"""Migrations of the durable history, run by `starloom.store.sql.database` when an owner starts."""
