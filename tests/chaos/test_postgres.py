"""PostgreSQL as the history, killed, stopped and cut off under load.

While it is away new work is refused with the time to ask again, never accepted and forgotten; what was accepted is
there when it is back, and all of it finishes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path

import httpx
import pytest

from starloom.lab.proxy.fault_proxy import FaultProxy
from tests.chaos.conftest import Settled
from tests.chaos.postgres import Postgres
from tests.chaos.stack import Stack, running
from tests.chaos.submitter import Submitter
from tests.chaos.work import echoes
from tests.installation import home_for
from tests.tiers import first_in_test
from tests.waiting import SLOWER, until

pytestmark = pytest.mark.chaos

CROWD, LANES = 200, 2
AWAY_S = 4.0
"""Twice what the history may be behind before requests are refused."""
READY_AGAIN_S = 30.0 * SLOWER


class OnPostgres(Stack):
    """A stack whose history lies behind a line that can be broken."""

    def __init__(self, home: Path, postgres: Postgres) -> None:
        super().__init__(home, {"STARLOOM_DATABASE_URL": postgres.url})
        self.postgres = postgres

    @property
    def history(self) -> str:
        return self.postgres.direct_url


@pytest.fixture(scope="module")
def stack(request: pytest.FixtureRequest) -> Iterator[OnPostgres]:
    postgres = Postgres()
    with home_for(request) as home, closing(postgres):
        postgres.start()
        with running(OnPostgres(home, postgres), ("north", "south"), ("east",)) as made:
            yield made


def ask(stack: Stack, name: str, within_s: float) -> httpx.Response:
    """Ask for something new once, as a client that repeats nothing does."""
    address = stack.client.address
    return httpx.post(
        f"{address.url}/api/v1/constellations",
        headers={"Authorization": f"Bearer {address.token}"},
        json={"plan": echoes(name, 1)},
        timeout=within_s,
        trust_env=False,
    )


def refused(stack: Stack, name: str) -> bool:
    """Say whether new work is refused now, in the words that tell a client when to ask again."""
    try:
        found = ask(stack, name, SLOWER)
    except httpx.TimeoutException:
        return False  # accepted by Redis alone, and not yet answered: nobody was told that it is safe
    if found.status_code == 202:
        stack.remember(str(found.json()["id"]), name)
        return False
    assert found.status_code == 503, found.text
    assert found.json()["code"] == "overloaded"
    assert int(found.headers["Retry-After"]) >= 1
    return True


@contextmanager
def killed(stack: OnPostgres) -> Iterator[None]:
    stack.kills.postgres += 1
    stack.postgres.kill()
    try:
        yield
    finally:
        stack.postgres.start()


@contextmanager
def frozen(stack: OnPostgres) -> Iterator[None]:
    with stack.postgres.frozen():
        yield


def broken_by(*faults: Callable[[FaultProxy], None]) -> Callable[[OnPostgres], AbstractContextManager[None]]:
    @contextmanager
    def broken(stack: OnPostgres) -> Iterator[None]:
        for fault in faults:
            stack.postgres.line.do(fault)
        try:
            yield
        finally:
            stack.postgres.line.do(FaultProxy.heal)

    return broken


FAULTS = {
    "killed": killed,
    "frozen": frozen,
    "reset": broken_by(FaultProxy.reset),
    "black-holed": broken_by(FaultProxy.black_hole),
    "deaf": broken_by(lambda proxy: proxy.black_hole(up=False)),
    "mute-then-reset": broken_by(lambda proxy: proxy.black_hole(down=False), FaultProxy.reset),
}


@pytest.mark.parametrize("kind", first_in_test(FAULTS))
def test_a_history_that_is_away_refuses_new_work_and_loses_none(stack: OnPostgres, settled: Settled, kind: str) -> None:
    name = f"postgres-{kind}"
    stack.fault(lambda proxy: proxy.delay(0.03))
    crowd = stack.submit(echoes(f"{name}-crowd", CROWD, side_by_side=LANES, device="east"))
    until(lambda: stack.succeeded(crowd) > 10, "the crowd is under way")
    with Submitter(stack, f"{name}-more") as submitter:
        submitter.more(3)
        with FAULTS[kind](stack):
            began = time.monotonic()
            until(lambda: refused(stack, f"{name}-once"), "new work is refused")
            assert stack.client.outside("/readyz")[0] == 503
            assert stack.client.outside("/healthz")[0] == 200
            accepted = submitter.count
            time.sleep(max(0.0, AWAY_S - (time.monotonic() - began)))  # the silence itself is the fault
            assert refused(stack, f"{name}-still")
            assert submitter.count == accepted, "something was acknowledged that no history has"
            assert stack.succeeded(crowd) < LANES * CROWD, "the fault would be none if all were done before it"
        until(lambda: stack.client.outside("/readyz")[0] == 200, "the hub can do work again", READY_AGAIN_S)
        submitter.more(3)
    stack.fault(FaultProxy.heal)
    for request in list(stack.accepted.values()):
        assert stack.until_final(request) == "succeeded"
    settled()
