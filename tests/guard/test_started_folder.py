"""Files in the folder in which a program of Starloom is started: none of them is run as a part of it.

Python puts that folder before everything else for `-m`, and that of the file for a script. Tasks write into folders
that their owner grants, such as the home in which a service starts, and downloads lie where a person types.
"""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from starloom.host.agents import LocalAgent
from starloom.process import program
from starloom_agent.home.directory import AgentHome
from starloom_agent.install import service
from tests.waiting import SLOWER

pytestmark = pytest.mark.short

ROOT = Path(__file__).resolve().parents[2]
PLANTED = ("argparse", "asyncio", "base64", "msgspec", "pip", "psutil", "tempfile", "typer", "urllib", "venv")
"""Modules of Python and of packages that one of the programs imports when it starts."""
SAFE = {"-P", "-I"}
WITHIN_S = 120 * SLOWER


@pytest.fixture
def planted(tmp_path: Path) -> Path:
    """Return a folder with modules of which each leaves a mark where it is imported."""
    folder = tmp_path / "granted"
    folder.mkdir()
    for name in PLANTED:
        (folder / f"{name}.py").write_text(f"open({str(tmp_path / 'mark')!r}, 'a').write({name + ' '!r})\n")
    return folder


def ran(folder: Path, argv: Sequence[str]) -> tuple[int, str]:
    """Run a program in the folder; return its exit code, and what it imported from there."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(
        argv, cwd=folder, env=environment, check=False, capture_output=True, stdin=subprocess.DEVNULL, timeout=WITHIN_S
    )
    mark = folder.parent / "mark"
    return done.returncode, mark.read_text() if mark.exists() else ""


def test_the_planted_modules_are_those_that_python_would_take(planted: Path) -> None:
    assert "argparse" in ran(planted, [sys.executable, "-m", "starloom_agent", "--version"])[1]


def test_t135_a_service_imports_nothing_from_the_folder_it_starts_in(planted: Path, tmp_path: Path) -> None:
    argv = service.command(AgentHome(tmp_path / "agent"), 4, sys.executable)
    assert ran(planted, [*argv[: argv.index("run")], "--version"]) == (0, "")


def test_t135_the_agent_of_the_hubs_computer_imports_nothing_from_its_folder(planted: Path, tmp_path: Path) -> None:
    argv = LocalAgent(tmp_path / "agent", "here", "http://127.0.0.1:1").program(tmp_path / "log").argv
    assert ran(planted, [*argv[: argv.index("run")], "--version"]) == (0, "")


def test_t135_a_pasted_command_imports_nothing_from_its_folder(planted: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program, "script", lambda: Path("/nowhere"))
    assert ran(planted, ["sh", "-c", f"exec {program.anywhere()} --version"]) == (0, "")


def test_t135_the_script_that_joins_imports_nothing_beside_it(planted: Path) -> None:
    shutil.copy(ROOT / "device_agents" / "join.py", planted / "join.py")
    assert ran(planted, [sys.executable, "join.py", "--help"]) == (0, "")


def _started(tree: ast.AST) -> Iterator[ast.List | ast.Tuple]:
    for node in ast.walk(tree):
        if isinstance(node, ast.List | ast.Tuple) and any(
            isinstance(one, ast.Constant) and one.value == "-m" for one in node.elts
        ):
            yield node


def _is_safe(words: ast.List | ast.Tuple) -> bool:
    """Whether the words start no Python, or one that leaves out its folder."""
    said = [one.value if isinstance(one, ast.Constant) else ast.unparse(one) for one in words.elts]
    at = said.index("-m")
    before, module = said[:at], words.elts[at + 1 : at + 2]
    starts = "python" in str(before[0]) or "executable" in str(before[0]) if before else _is_text(module)
    return not starts or bool(SAFE & set(before))


def _is_text(words: list[ast.expr]) -> bool:
    return bool(words) and isinstance(words[0], ast.Constant)


@pytest.mark.parametrize("folder", ["backend/starloom", "device_agents/starloom_agent", "device_agents/join.py"])
def test_t135_every_module_that_is_started_leaves_out_its_folder(folder: str) -> None:
    top = ROOT / folder
    files = [top] if top.is_file() else [path for path in top.rglob("*.py") if "nebula" not in path.parts]
    found = [
        f"{path.relative_to(ROOT)}:{words.lineno}"
        for path in files
        for words in _started(ast.parse(path.read_text()))
        if not _is_safe(words)
    ]
    assert not found, f"add -P: {', '.join(found)}"
