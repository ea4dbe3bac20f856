"""A command starts without what only some commands need: it is typed often, and each test of it starts one."""

from __future__ import annotations

import subprocess
import sys

HEAVY = {"asyncio", "importlib.metadata", "psutil", "pydantic", "sqlalchemy", "starloom_protocol.plan", "yaml"}


def test_no_command_waits_for_the_language_of_plans() -> None:
    code = f"import sys; from starloom.cli import commands; commands.build(); print({HEAVY!r} & sys.modules.keys())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
