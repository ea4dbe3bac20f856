"""After a test that failed, whatever it shared with others ends: its second try, and the tests after it, begin anew.

A failure in the middle leaves gates closed, agents stopped, lines cut and work running. A stack that went through one
tells nothing about the next test.
"""

from __future__ import annotations

from collections.abc import Collection, Generator
from contextlib import ExitStack
from typing import Any, Final

import pytest

FAILED: Final = pytest.StashKey[bool]()


class Renewal:
    """Ends the fixtures that outlive a test, after a test that used them and failed."""

    def __init__(self) -> None:
        self._shared: dict[pytest.FixtureDef[Any], Any] = {}

    @pytest.hookimpl(tryfirst=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any], request: Any) -> None:
        if fixturedef.scope != "function":
            self._shared[fixturedef] = request

    def pytest_fixture_post_finalizer(self, fixturedef: pytest.FixtureDef[Any]) -> None:
        self._shared.pop(fixturedef, None)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        item.stash[FAILED] = report.failed or (report.when != "setup" and item.stash[FAILED])
        return report

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Generator[None, object, object]:
        try:
            return (yield)
        except BaseException:
            item.stash[FAILED] = True
            raise
        finally:
            if item.stash[FAILED]:
                self._end(getattr(item, "fixturenames", ()))

    def _end(self, used: Collection[str]) -> None:
        with ExitStack() as ends:  # the last that was made ends first, and each of them ends
            for fixturedef, request in self._shared.items():
                if fixturedef.argname in used:
                    ends.callback(fixturedef.finish, request)
