"""The tests of the repository with their tiers, as pytest collects them.

`python -m tests.arch.tier_list` counts them.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
from collections import Counter
from dataclasses import asdict, dataclass

import pytest

from tests.arch.checkout import ROOT
from tests.programs import ran
from tests.tiers import SHORT, TIERS, WHOLE_TREE, folder_of, is_in, is_real, tier_of
from tests.waiting import SLOWER

BROWSER_FIXTURE = "new_context"
"""The fixture by which a test opens pages of a shared installation."""


@dataclass(frozen=True)
class Listed:
    """One test; `shown_by` names what shows its kind in a shorter tier; `real` ones may be tried again in a tier."""

    name: str
    folder: str
    tier: str
    short: bool
    shown_by: str
    real: bool
    in_browser: bool

    @property
    def test(self) -> str:
        """Return its name without the case."""
        return self.name.partition("[")[0]

    @property
    def file(self) -> str:
        return self.name.partition("::")[0]


def listed(item: pytest.Item) -> Listed:
    """Return what the list says of a test."""
    mark = item.get_closest_marker("proof")
    shown_by = str(mark.kwargs.get("shown_by", "")) if mark and tier_of(item) == "proof" else ""
    in_browser = BROWSER_FIXTURE in getattr(item, "fixturenames", ())
    return Listed(item.nodeid, folder_of(item), tier_of(item), is_in(item, SHORT), shown_by, is_real(item), in_browser)


def all_tests(config: pytest.Config) -> list[Listed]:
    """Return every test: those that this run collected, before any was left out, if it is a run of the whole tree.

    Otherwise they are collected in a process of their own, whatever the tests around the caller are.
    """
    collected = config.stash.get(WHOLE_TREE, None)
    return _in_a_process() if collected is None else [listed(item) for item in collected]


def _in_a_process() -> list[Listed]:
    done = ran([sys.executable, "-m", "tests.arch.tier_list", "--json"], cwd=ROOT, timeout=250 * SLOWER)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return [Listed(**each) for each in json.loads(done.stdout.splitlines()[-1])]


class _Collector:
    def __init__(self) -> None:
        self.found: list[Listed] = []

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self.found = [listed(item) for item in session.items]


def main() -> int:
    """Print the list, or how many tests each tier runs."""
    collector = _Collector()
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        code = pytest.main(["--collect-only", "-qq", "-p", "no:cacheprovider", "tests"], [collector])
    if code:
        print(said.getvalue())
        return int(code)
    if "--json" in sys.argv:
        print(json.dumps([asdict(each) for each in collector.found]))
        return 0
    counts = Counter(each.tier for each in collector.found)
    runs = {tier: sum(counts[shorter] for shorter in TIERS[: place + 1]) for place, tier in enumerate(TIERS)}
    print(json.dumps({"short": sum(each.short for each in collector.found), **runs}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
