"""The stub of a hub that each test of the command line gets fresh; a file that needs more answers adds them to it."""

from __future__ import annotations

from tests.cli.test_commands import hub

__all__ = ["hub"]
