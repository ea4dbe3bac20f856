"""Migrations of the durable history, run by `starloom.store.database` when an owner starts."""
