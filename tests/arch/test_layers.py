"""The layers of architecture hold, and what programs write is fresh."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.arch.checkout import ROOT


def ran(*argv: str) -> tuple[int, str]:
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def test_every_import_contract_holds() -> None:
    code, said = ran(str(Path(sys.executable).parent / "lint-imports"), "--no-cache")
    assert code == 0, said
    assert " 0 broken" in said


@pytest.mark.parametrize(
    "module",
    ["starloom_protocol.export", "starloom.planner.recipes.pages", "tests.arch.states"],
)
def test_generated_files_are_fresh(module: str) -> None:
    code, said = ran(sys.executable, "-m", module, "--check")
    assert code == 0, f"stale; run `make gen`\n{said}"


def test_the_table_of_tools_is_fresh() -> None:
    code, table = ran(sys.executable, "-m", "starloom_agent.owner.tool_pages", "--table")
    assert code == 0, table
    assert table.strip() == (ROOT / "docs" / "tools.md").read_text().strip(), "stale; run `make gen`"
