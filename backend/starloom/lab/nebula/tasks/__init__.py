"""The tasks: a folder `tNN_name` for each, as docs/nebula.md tells."""
