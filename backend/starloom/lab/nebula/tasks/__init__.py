"""The tasks of the suite, by category: each is a folder of data with its check (docs/nebula.md)."""
