"""Lowering: a task or dependency of a document becomes an entity of the core. Judges no relation between tasks."""
