"""Starloom on this machine: the supervisor of a hub, its agents and processes, and the archive of its data."""
