"""Two hubs on one shard, each killed and frozen in turn, as owner and as standby, with agents and clients on both."""

from __future__ import annotations

import json
import secrets
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from tests.chaos.conftest import Settled
from tests.chaos.pair import Pair, Viewer, paired
from tests.chaos.stack import Accepted
from tests.chaos.submitter import Submitter
from tests.chaos.work import echoes, plan
from tests.models.server import Say
from tests.models.streams import Gate
from tests.models.threaded import a_model
from tests.tiers import first_in_test
from tests.waiting import SLOWER, until

pytestmark = pytest.mark.chaos


@pytest.fixture(scope="module")
def stack(request: pytest.FixtureRequest) -> Iterator[Pair]:
    """Two hubs with the agents `north` at the one and `south` at the other."""
    home = Path(tempfile.mkdtemp(prefix="sl-pair-"))
    failed_before = request.session.testsfailed
    with paired(home, {"north": "a", "south": "b"}) as made:
        yield made
    left = made.left_over()
    assert not left, f"these outlived the service: {left}"
    if request.session.testsfailed == failed_before:
        shutil.rmtree(home, ignore_errors=True)


Note = Callable[[str, object], None]


def _drawn(name: str) -> str:
    """Return a name of this try alone: the witness counts how often work of a name began, and a test is tried again."""
    return f"{name}-{secrets.token_hex(3)}"


@contextmanager
def _under_way(stack: Pair, name: str) -> Iterator[Accepted]:
    """Start a program on each device that may run only once, and let both end with the block.

    They end when the block fails too: whatever ran on would be stuck in the history that the next try is judged by.
    """
    names = [f"{name}/{device}" for device in ("north", "south")]
    request = stack.submit(plan(name, [stack.place.task(name, device, device=device) for device in ("north", "south")]))
    try:
        until(lambda: all(stack.place.begun(one) for one in names), "both programs have begun")
        yield request
    finally:
        stack.place.open(*names)


def _finished(stack: Pair, name: str, request: Accepted, submitters: list[Submitter]) -> None:
    assert stack.until_final(request, 90 * SLOWER) == "succeeded"
    assert [len(stack.place.begun(f"{name}/{device}")) for device in ("north", "south")] == [1, 1]
    for submitter in submitters:
        assert submitter.count > 0
        for accepted in submitter.accepted:
            assert stack.until_final(accepted, 90) == "succeeded"


def _submitting(stack: Pair, name: str) -> list[Submitter]:
    return [Submitter(stack, f"{name}-{hub}", stack.client_of(hub).address) for hub in ("a", "b")]


def _saw_each_event_once(page: Viewer) -> bool:
    """Whether a page has every event in order. More may follow the last that was looked for: a late result is noted."""
    return [event.seq for event in page.events] == list(range(1, page.last + 1))


def test_agents_commands_and_views_at_both_hubs(stack: Pair, settled: Settled) -> None:
    request = stack.remember_of(stack.standby(), echoes("both", 12, side_by_side=2))
    with Viewer(stack.client_of("a"), request) as one, Viewer(stack.client_of("b"), request) as other:
        assert stack.until_final(request, 90 * SLOWER) == "succeeded"
        last = stack.look(request).seq
        until(lambda: one.last >= last and other.last >= last, "both pages saw all of it")
    assert _saw_each_event_once(one)
    assert _saw_each_event_once(other)
    assert one.other == other.other == []
    settled()


def test_a_plan_is_drawn_at_both_hubs_while_a_model_writes_it(stack: Pair, settled: Settled) -> None:
    text = json.dumps({"kind": "plan", "plan": echoes("drawn", 3, side_by_side=1)})
    half = text.index("}", text.index('"tasks"')) + 2
    gate = Gate()
    planned = Say(tool=text, pieces=(text[:half], text[half:]), gate=gate)
    with a_model(planned, Say(tool={"kind": "cannot", "text": "no words"}), streams=True) as fake:
        stack.client_of("a").put("/model", {"url": fake.url, "model": "fake-1"})
        try:
            request = stack.ask("draw the three old wagons")
            with Viewer(stack.client_of("a"), request) as one, Viewer(stack.client_of("b"), request) as other:
                gate.release(4)
                seen = [page.sketches for page in (one, other)]
                until(lambda: all(found and found[-1].kind == "plan" for found in seen), "both pages have the drawing")
                assert {found[-1].job for found in seen} == {"plan-1"}
                gate.release(100)
                assert stack.until_final(request, 90 * SLOWER) == "succeeded"
        finally:
            gate.release(100)
            stack.client_of("a").delete("/model")
    settled()


@pytest.mark.parametrize("kind", first_in_test(["killed", "frozen"]))
def test_the_standby_takes_over_and_nothing_is_lost(
    stack: Pair, settled: Settled, record_property: Note, kind: str
) -> None:
    name = _drawn(f"owner-{kind}")
    owner, standby = stack.owner(), stack.standby()
    with _under_way(stack, name) as request:
        watched = stack.submit(echoes(f"{name}-watched", 200, side_by_side=2))
        submitters = _submitting(stack, name)
        with submitters[0], submitters[1], Viewer(stack.client_of(standby), watched) as page:
            until(lambda: all(submitter.count >= 2 for submitter in submitters), "requests are accepted at both")
            if kind == "killed":
                stack.kill(owner)
                took_s = stack.until_owner(standby)
                submitters[standby == "b"].more(3)
                stack.bring_back(owner)
            else:
                with stack.frozen(owner):
                    took_s = stack.until_owner(standby)
                    submitters[standby == "b"].more(3)
                until(lambda: stack.role(owner) == "standby", "who woke stands by")
            record_property("takeover_s", round(took_s, 2))
            print(f"\n{kind} owner: the other hub owned the shard and was ready after {took_s:.1f} s")
            for submitter in submitters:
                submitter.more(2)
            assert stack.until_final(watched, 90) == "succeeded"
            last = stack.look(watched).seq
            until(lambda: page.last >= last, "the page at the hub that took over saw all of it")
        assert _saw_each_event_once(page)
        assert page.other == []
    _finished(stack, name, request, submitters)
    settled()


def test_reads_go_on_while_the_owner_is_frozen(stack: Pair, settled: Settled) -> None:
    """Before another takes over: of a read, nothing may depend on the owner."""
    request = stack.submit(echoes("read-on", 40, side_by_side=2))
    standby = stack.standby()
    client = stack.client_of(standby)
    with stack.frozen(stack.owner()):
        for path in ("/devices", "/devices/north", "/enrollments", f"/constellations/{request.id}"):
            assert client.get(path), path
        commands = {
            command: stack.cli(standby, *command.split())
            for command in ("devices", f"show {request.id}", f"watch {request.id}")
        }
        for command, (code, said) in commands.items():
            assert (code, "Idempotency-Key" in said) == (0, False), (command, said)
    assert stack.until_final(request, 90 * SLOWER) == "succeeded"
    settled()


@pytest.mark.parametrize("kind", first_in_test(["killed", "frozen"]))
def test_without_the_standby_the_owner_goes_on(stack: Pair, settled: Settled, kind: str) -> None:
    name = _drawn(f"standby-{kind}")
    owner, standby = stack.owner(), stack.standby()
    with _under_way(stack, name) as request:
        submitters = _submitting(stack, name)
        with submitters[0], submitters[1]:
            until(lambda: all(submitter.count >= 2 for submitter in submitters), "requests are accepted at both")
            if kind == "killed":
                stack.kill(standby)
                submitters[owner == "b"].more(5)
                stack.bring_back(standby)
            else:
                freezing: AbstractContextManager[None] = stack.frozen(standby)
                with freezing:
                    submitters[owner == "b"].more(5)
            for submitter in submitters:
                submitter.more(2)
            assert stack.role(owner) == "owner"
    _finished(stack, name, request, submitters)
    settled()
