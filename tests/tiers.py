"""Tiers of tests: which tests each runs, how long one may take, and when a run must have ended.

docs/testing.md has the rule. A tier is chosen by `--tier`; without it pytest runs all that it is given, once.
"""

from __future__ import annotations

import fcntl
import gc
import os
import tempfile
import time
from collections.abc import Generator, Iterable, Mapping
from pathlib import Path
from typing import IO, Any, Final

import pytest

from tests.waiting import SLOWER

TIERS: Final = ("quick", "test", "proof")
"""Each holds the ones before it."""
SHORT: Final = "short"
"""For a machine on which `test` does not end in time: the tests of `SHORT_FOLDERS`, and those with its mark."""

QUICK_FOLDERS: Final = frozenset(
    {
        *("bench", "core", "edge", "engine", "guard", "histories", "models", "planner", "process"),
        *("protocol", "seeded_bugs", "sim", "store"),
    }
)
"""Folders whose tests are `quick` where no mark says otherwise; those of the others are `test`."""

SHORT_FOLDERS: Final = frozenset({"core", "edge", "engine", "process", "protocol"})
"""Folders whose quick tests are in `short`, too."""

LIMITS_S: Final = {"quick": 180.0, "test": 600.0, "proof": 1800.0}
"""How long a test may take with its fixtures, by its tier; a mark `timeout` of its own comes first."""

END_S: Final = 360.0
"""After the end of a run, how long the tests that run then may go on."""

RERUNS: Final = 2
RERUN_MARKS: Final = ("chaos", "e2e")
RERUN_FOLDERS: Final = frozenset({"recipes"})
"""Tests of real processes and of a browser may be run again in a tier, and are counted."""

FIRST: Final = ("e2e", "recipes", "chaos", "checks", "sim", "lab", "guard", "host", "arch", "scripts", "device_agents")
"""Folders whose files take longest: started first, so that no worker has a long one left at the end."""

WAITING: Final = frozenset(
    {"chaos", "client", "compose", "device_agents", "e2e", "guard", "host", "lab", "recipes", "scripts"}
)
"""Folders whose tests wait for processes, browsers and networks for a large part of their time (tests/sharing.py)."""

OUT_OF_TIME: Final = 3
"""The exit code of pytest where the end of the run came first; pytest's own 3 is an internal error, as bad."""

FIRST_WORKER: Final = "gw0"
"""The name that pytest-xdist gives to the first."""

NOT_RUN: Final = pytest.StashKey[list[str]]()

WHOLE_TREE: Final = pytest.StashKey[list[pytest.Item]]()
"""Every test of the tree, also those of longer tiers; absent where a run was given a part of the tree."""

NARROWING: Final = ("deselect", "ignore", "ignore_glob", "keyword", "lf", "markexpr")
"""Options of pytest by which a run has a part of the tree."""


def folder_of(item: pytest.Item) -> str:
    """Return the folder below `tests` that a test is in."""
    parts = item.path.parts
    return parts[parts.index("tests") + 1] if "tests" in parts[:-1] else ""


def tier_of(item: pytest.Item) -> str:
    """Return the tier of a test: that of its nearest mark, else that of its folder. A case is nearer than its test."""
    for node in reversed(item.listchain()):
        for mark in reversed(node.own_markers):
            if mark.name in TIERS:
                return mark.name
    return "quick" if folder_of(item) in QUICK_FOLDERS else "test"


def is_in(item: pytest.Item, tier: str) -> bool:
    """Return whether a tier runs a test."""
    if tier == SHORT:
        quick = tier_of(item) == "quick" and folder_of(item) in SHORT_FOLDERS
        return tier_of(item) != "proof" and (quick or item.get_closest_marker(SHORT) is not None)
    return TIERS.index(tier_of(item)) <= TIERS.index(tier)


def first_in_test(cases: Iterable[Any]) -> list[Any]:
    """Return the cases of a test with all but the first in `proof`."""
    first, *others = cases
    return [first, *(pytest.param(case, marks=pytest.mark.proof) for case in others)]


def is_real(item: pytest.Item) -> bool:
    """Return whether a test is of real processes or of a browser, by its folder or its marks."""
    return folder_of(item) in RERUN_FOLDERS or any(item.get_closest_marker(name) for name in RERUN_MARKS)


def mark(item: pytest.Item) -> None:
    """Let a tier try tests of real processes again."""
    if item.config.getoption("--tier") and is_real(item):
        item.add_marker(pytest.mark.flaky(reruns=RERUNS))


def choose(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the tests of the tier: the longest files first, and what is in `proof` alone after everything else.

    Without a tier the order of folders holds as well: one that shares an installation must not be run in pieces.
    """
    narrowed = any(config.getoption(name, None) for name in NARROWING)
    if config.args_source is config.ArgsSource.TESTPATHS and not narrowed:
        config.stash[WHOLE_TREE] = list(items)
    tier = config.getoption("--tier")
    if tier:
        left_out = [item for item in items if not is_in(item, tier)]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if is_in(item, tier)]
    items.sort(key=_place if tier else _folder_place)


def _folder_place(item: pytest.Item) -> int:
    folder = folder_of(item)
    return FIRST.index(folder) if folder in FIRST else len(FIRST)


def _place(item: pytest.Item) -> tuple[bool, int]:
    return tier_of(item) == "proof", _folder_place(item)


class Limits:
    """Gives each test its limit of time: longer on a slow machine, and never far beyond the end of the run."""

    def __init__(self, until_s: float) -> None:
        self._until_s = until_s

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        own = item.get_closest_marker("timeout")
        limit_s = (float(own.args[0]) if own else LIMITS_S[tier_of(item)]) * SLOWER
        left_s = max(self._until_s + END_S - time.time(), 1.0)
        item.add_marker(pytest.mark.timeout(min(limit_s, left_s)), append=False)
        return (yield)


class End:
    """Begins no test after the end of a run, and fails it by naming those that did not run."""

    def __init__(self, config: pytest.Config, until_s: float) -> None:
        self._config = config
        self._until_s = until_s
        config.stash[NOT_RUN] = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> bool | None:
        if time.time() < self._until_s:
            return None
        self._config.stash[NOT_RUN].append(item.nodeid)
        return True

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        self._config.stash[NOT_RUN] += getattr(node, "workeroutput", {}).get("not_run", [])

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        not_run = self._config.stash[NOT_RUN]
        if hasattr(self._config, "workeroutput"):
            self._config.workeroutput["not_run"] = not_run
        elif not_run:
            session.exitstatus = OUT_OF_TIME


LINES_OF_A_FIRST_TRY: Final = 25
"""So many last lines of its failure stand in the account: a later try may fail only because of the first."""


class Account:
    """Prints what a tier came to: second tries by name, tests that did not run, and the line that CI reads."""

    def __init__(self, config: pytest.Config, tier: str) -> None:
        self._config = config
        self._tier = tier
        self._last = ""

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        stats = terminalreporter.stats
        tries: dict[str, list[pytest.TestReport]] = {}
        for report in stats.get("rerun", []):
            tries.setdefault(report.nodeid, []).append(report)
        terminalreporter.write_line(f"Second tries: {sum(map(len, tries.values()))}, of {len(tries)} tests.")
        for name, reports in sorted(tries.items()):
            terminalreporter.write_line(f"  {len(reports)} of {name} (seen in two runs: docs/quarantine.md)")
            for line in reports[0].longreprtext.splitlines()[-LINES_OF_A_FIRST_TRY:]:
                terminalreporter.write_line(f"    {line}")
        found: list[str] = self._config.stash[NOT_RUN]
        not_run = sorted(found)
        if not_run:
            terminalreporter.write_line(f"The time of this run was over before {len(not_run)} tests began:")
            for name in not_run:
                terminalreporter.write_line(f"  {name}")
        if left_out := len(stats.get("deselected", [])):
            terminalreporter.write_line(f"{left_out} tests are in longer tiers; `make proof` runs all.")
        failed = len(stats.get("failed", [])) + len(stats.get("error", []))
        words = [f"{len(stats.get('passed', []))} passed", f"{failed} failed"]
        words += [f"{len(stats['skipped'])} skipped"] if stats.get("skipped") else []
        words += [f"{len(not_run)} not run"] if not_run else []
        self._last = ", ".join(words) + (" (tier `short`: this machine is too slow)" if self._tier == SHORT else "")

    @pytest.hookimpl(trylast=True)
    def pytest_unconfigure(self) -> None:
        if self._last:
            print(self._last, flush=True)


GC_THRESHOLDS: Final = (50_000, 20, 20)
"""A hub in the test's process is many objects: with Python's 700, a third of such a test looked for garbage."""


class Heap:
    """Keeps modules and collected tests out of every search for garbage: they stay for good, and are hundreds of MB."""

    def __init__(self) -> None:
        gc.disable()

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self) -> None:
        gc.freeze()
        gc.set_threshold(*GC_THRESHOLDS)
        gc.enable()


class Sharing:
    """Shares the tests of a tier out among its workers, of which the first collects before the others.

    It leaves each module compiled: all of them at once would compile each of them at once.
    """

    def __init__(self) -> None:
        self._turn: IO[bytes] | None = None

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: Any) -> object:
        from tests.sharing import ByFolder  # without pytest-xdist a tier runs in one process

        return ByFolder(config, log)

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        if self._turn is None:
            self._turn = tempfile.NamedTemporaryFile(prefix="sl-turn-")  # noqa: SIM115 - as long as this process
            fcntl.flock(self._turn, fcntl.LOCK_EX)
        node.workerinput["turn"] = self._turn.name

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self) -> None:
        self._end_turn()

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self) -> None:
        self._end_turn()  # also of a worker that died while it collected

    def _end_turn(self) -> None:
        if self._turn is not None:
            fcntl.flock(self._turn, fcntl.LOCK_UN)


class Turn:
    """Has a worker wait until the first one has collected; the kernel ends the wait if the run's process dies."""

    def __init__(self, worker: Mapping[str, Any]) -> None:
        self._worker = worker

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection(self) -> Generator[None, object, object]:
        if self._worker["workerid"] != FIRST_WORKER:
            with Path(self._worker["turn"]).open("rb") as turn:
                fcntl.flock(turn, fcntl.LOCK_SH)
        return (yield)


def register(config: pytest.Config) -> None:
    """Register the hooks of this module, with the end that `TESTS_UNTIL` sets in seconds since the epoch."""
    # With pytest-xdist, the process that shares the tests out collects none and would never look for garbage again.
    if hasattr(config, "workerinput") or not config.getoption("numprocesses", None):
        config.pluginmanager.register(Heap())
    until_s = float(os.environ.get("TESTS_UNTIL") or "inf")
    config.pluginmanager.register(Limits(until_s))
    config.pluginmanager.register(End(config, until_s))
    tier = config.getoption("--tier")
    worker: Mapping[str, Any] = getattr(config, "workerinput", {})
    if "turn" in worker:
        config.pluginmanager.register(Turn(worker))
    if tier and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Account(config, tier))
        config.pluginmanager.register(Sharing())
