"""Each check of the sources by the program that makes it: format, lint, types, import rules, generated files, the page.

`make check` runs this file. Real programs; none starts a service.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import page
from tests.client import page as called

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent
FOLDERS = ("protocol", "backend", "device_agents", "scripts", "tests")
PACKAGES = ("protocol/starloom_protocol", "backend/starloom", "device_agents/starloom_agent")
# The clone of a CI run checks its types once: to write a cache of them is an eighth of the work.
CACHE = ["--cache-dir", os.devnull] if "TESTS_UNTIL" in os.environ else []
OF_PYTHON = {
    "types": [str(BIN / "mypy"), *CACHE, *PACKAGES, "scripts", "tests"],
    "format": [str(BIN / "ruff"), "format", "--check", *FOLDERS],
    "lint": [str(BIN / "ruff"), "check", *FOLDERS],
    "import_rules": [str(BIN / "lint-imports"), "--no-cache"],
    "generated_types": [sys.executable, "-m", "starloom_protocol.export", "--check"],
    "generated_clients": [sys.executable, "-m", "tests.client.generated", "--check"],
    "generated_states": [sys.executable, "-m", "tests.arch.states", "--check"],
    "generated_recipes": [sys.executable, "-m", "starloom.planner.recipes.pages", "--check"],
}


def run(
    argv: list[str], folder: Path = ROOT, environment: dict[str, str] | None = None, given: str | None = None
) -> None:
    done = subprocess.run(
        argv,
        input=given,
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    print(done.stdout)
    assert done.returncode == 0, f"{' '.join(argv)}\n{done.stdout[-20_000:]}"


@pytest.mark.short
@pytest.mark.parametrize("check", OF_PYTHON)
def test_python_check_passes(check: str) -> None:
    run(OF_PYTHON[check])


@pytest.mark.short
@pytest.mark.parametrize("site", page.SITES, ids=lambda site: Path(site.folder).name)
def test_types_and_lint_of_a_site_pass(site: page.Site) -> None:
    node = page.install_all(ROOT)
    run([*node.npm, "run", "-s", "check"], site.place(ROOT), {**node.environment(ROOT), "CI": "1"})


@pytest.mark.short
def test_types_of_the_page_are_those_of_the_contract() -> None:
    node = page.install_all(ROOT)
    argv = [*node.npm, "run", "-s", "gen", "--", "--check"]
    run(argv, ROOT / "frontend", node.environment(ROOT), given=called.text())


@pytest.mark.parametrize("site", page.SITES, ids=lambda site: Path(site.folder).name)
def test_tests_of_a_site_pass(site: page.Site) -> None:
    """Vitest starts one worker: the other processor has the tests beside this one."""
    node = page.install_all(ROOT)
    run(
        [*node.npm, "run", "-s", "test", "--", "--maxWorkers=1"],
        site.place(ROOT),
        {**node.environment(ROOT), "CI": "1"},
    )
