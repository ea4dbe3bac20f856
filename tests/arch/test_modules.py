"""House rules that a module can be held to by reading it: name, docstring, size, no sleeping tests, no addresses."""

from __future__ import annotations

import ast
import re
from itertools import pairwise
from pathlib import Path

import pytest

from tests.arch.checkout import ROOT, files, modules, named, parsed

LINES_MOST = 800
"""A module has one subject; a split that only a smaller limit asks for makes it harder to follow
(docs/decisions/house.md)."""

FORBIDDEN_NAMES = re.compile(r"(^|_)(manager|helper|helpers|utils|util|base|common|misc)(_|$)")
SLEEPS = re.compile(r"\btime\.sleep\(\s*[^)]|asyncio\.sleep\(\s*(?!0\s*\))")
CLOCKS = re.compile(r"\btime\.(?:time|monotonic|perf_counter|process_time|thread_time)\w*\(")
MAY_SLEEP = {"arch", "bench", "chaos", "e2e", "sim"}
"""Real processes, or (sim) a loop whose clock is virtual."""

WAITS_FOR_PROCESSES = {
    "tests/device_agents/sandbox/": "programs in a cage sleep, or their end is polled",
    "tests/host/test_processes.py": "polls a supervised process that dies in real time",
    "tests/device_agents/work/execution/test_runner.py": "polls the process group of a real tool",
    "tests/device_agents/toolkit/running/test_programs.py": "the program under test sleeps, the test does not",
    "tests/ssh_server.py": "polls a real SSH server that starts",
    "tests/recipes/test_secrets.py": "the script under test sleeps, the test does not",
    "tests/recipes/test_working.py": "the script under test sleeps, the test does not",
    "tests/waiting.py": "polls the state of real processes, for chaos, recipes and e2e",
}
ADDRESS = re.compile(
    r"(?<![\w.$])/(?:root|home/[a-z]\w*|work|Users/\w+)/\w|https?://[\w.:-]*(?:pypi|registry|artifact(?:ory|s\.)|nexus)"
)
NEUTRAL_PLACES = re.compile(r"/home/(?:user|me|anna|ann|owner|sam|x)\b")


def is_test(path: Path) -> bool:
    return path.name.startswith("test_") or path.name == "conftest.py"


def test_every_module_says_what_it_owns() -> None:
    silent = [
        named(path)
        for path in modules()
        if not is_test(path) and path.read_text().strip() and not ast.get_docstring(parsed(path))
    ]
    assert silent == []


LISTED = re.compile(r"(?:^|(?<=  ))([a-z_0-9]+)  +(?=\S)", re.MULTILINE)


def test_a_folder_that_lists_its_modules_lists_each() -> None:
    """The docstring of a folder is its map: each module of it is there, and none that is gone."""
    wrong = []
    for path in (path for path in modules() if path.name == "__init__.py"):
        said = (ast.get_docstring(parsed(path)) or "").partition("\n")[2]
        listed, words = set(LISTED.findall(said)), set(re.findall(r"\w+", said))
        here = {one.stem for one in path.parent.glob("*.py") if not one.stem.startswith("_")}
        here |= {one.parent.name for one in path.parent.glob("*/__init__.py")}
        if listed & here:
            wrong += [f"{named(path)} does not list {name}" for name in sorted(here - words)]
            wrong += [f"{named(path)} lists {name}, which is not there" for name in sorted(listed - here)]
    assert wrong == []


def test_no_module_is_named_after_nothing() -> None:
    vague = [named(path) for path in modules() if FORBIDDEN_NAMES.search(path.stem)]
    assert vague == []


def test_modules_stay_small() -> None:
    sizes = {named(path): len(path.read_text().splitlines()) for path in modules()}
    assert {name: size for name, size in sizes.items() if size > LINES_MOST} == {}, "split it by subject"


def test_no_test_sleeps_real_time() -> None:
    quick = [path for path in files(".py", under="tests") if path.relative_to(ROOT).parts[1] not in MAY_SLEEP]
    sleeping = [named(path) for path in quick if SLEEPS.search(path.read_text())]
    assert [name for name in sleeping if not name.startswith(tuple(WAITS_FOR_PROCESSES))] == []


def test_no_test_asserts_a_time() -> None:
    """How long something took says what else the machine did: waits are bounded, and `tests/cost.py` counts calls."""
    found = [
        f"{named(path)}:{node.lineno}"
        for path in files(".py", under="tests")
        if CLOCKS.search(path.read_text())  # without a clock there is no span, and nothing to parse
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.Assert) and any(map(bounds_a_span, ast.walk(node.test)))
    ]
    assert found == []


def bounds_a_span(node: ast.AST) -> bool:
    """Return whether this says that something took no longer than it may; that it took long enough may be said."""
    if not isinstance(node, ast.Compare):
        return False
    sides = pairwise([node.left, *node.comparators])
    return any(
        is_span(left if isinstance(op, ast.Lt | ast.LtE) else right)
        for op, (left, right) in zip(node.ops, sides, strict=True)
        if isinstance(op, ast.Lt | ast.LtE | ast.Gt | ast.GtE)
    )


def is_span(node: ast.AST) -> bool:
    """Return whether this takes something from what a clock says."""
    of_clock = isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub) and isinstance(node.left, ast.Call)
    return of_clock and CLOCKS.search(ast.unparse(node)) is not None


def _line(text: str, match: re.Match[str]) -> int:
    return text.count("\n", 0, match.start()) + 1


def test_no_file_names_a_registry_or_a_place_on_one_machine() -> None:
    found = []
    for path in files():
        if path.suffix in (".png", ".gz", ".ico", ".lock") and path.name != "requirements.lock":
            continue
        try:
            text = NEUTRAL_PLACES.sub("", path.read_text(encoding="utf-8"))
        except UnicodeDecodeError:
            continue
        if path != Path(__file__):
            found += [f"{named(path)}: {each[0]}, in line {_line(text, each)}" for each in ADDRESS.finditer(text)]
    assert found == []


LOCKS = ("requirements.lock", "requirements-dev.lock", "requirements-node.lock", "device_agents/requirements.lock")


@pytest.mark.parametrize("lock", LOCKS)
def test_locks_pin_by_hash_and_name_no_index(lock: str) -> None:
    text = (ROOT / lock).read_text()
    assert "--index" not in text
    assert "://" not in text
    pinned = [line for line in text.splitlines() if "==" in line]
    assert pinned
    assert text.count("--hash=sha256:") >= len(pinned)
