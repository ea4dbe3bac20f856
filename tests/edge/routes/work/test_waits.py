"""One sentence says for whom, for which device and until when a constellation waits."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from starloom.core.state import inputs as i
from starloom.edge.access.callers import Caller, Means
from starloom.edge.routes.work.why import explain_all, mark_yours
from starloom_protocol.records.access import Principal
from starloom_protocol.records.entities import OnAbsence
from starloom_protocol.text.wording import utc_words
from starloom_protocol.vocabulary import Outcome, PrincipalKind, Role
from tests.builders import Driver, plan, task
from tests.core.clock.test_moments import made, text_of

AHEAD_MS = 60_000


def waits(driver: Driver) -> str:
    return explain_all(driver.shard, "c1", {})["waits"]


def test_device_person_and_time_are_named_with_their_tasks() -> None:
    driver = Driver("one", "nas")
    driver.now_ms = 1_790_000_000_000
    driver.do(i.DeviceDisconnected(id="x", by="d", device="d-nas", reason="cut", session=1))
    later = {"at": text_of(driver.now_ms + AHEAD_MS)}
    call = {"tool": "t.pure", "device": {"name": "nas"}}
    ask = {"id": "which", "person": "Which one?"}
    driver.submit(
        made({"id": "night", "tool": "t.pure", "not_before": later}, {"id": "a", **call}, {"id": "b", **call}, ask)
    )
    assert waits(driver) == (
        f"It waits for nas, which is away (a, b); until {utc_words(driver.now_ms + AHEAD_MS)} (night); "
        "for the answer of a person (which)."
    )


def test_what_runs_or_has_ended_waits_for_nobody() -> None:
    driver = Driver("one")
    driver.submit(plan(task("a"), task("b", "x=a")))
    (sent,) = driver.take()
    assert waits(driver) == ""
    driver.result(sent, outcome=Outcome.OK)
    driver.result(driver.take()[0], outcome=Outcome.OK)
    assert waits(driver) == ""


def test_of_many_causes_the_first_are_named_and_the_rest_is_counted() -> None:
    driver = Driver("one")
    for number in range(5):
        driver.add_device(f"n{number}")
        driver.do(i.DeviceDisconnected(id="x", by="d", device=f"d-n{number}", reason="cut", session=1))
    driver.submit(plan(*(task(f"t{number}", device=f"n{number}") for number in range(5))))
    assert waits(driver).endswith("for n2, which is away (t2); for 2 other things.")


def test_a_device_that_does_not_answer_is_named() -> None:
    driver = Driver("one")
    driver.submit(plan(task("a", on_absence=OnAbsence(after_s=0, then="wait"))))
    (sent,) = driver.take()
    driver.started(sent)
    driver.expire(sent.at)
    assert waits(driver) == "It waits for one, which does not answer (a)."


def test_the_hub_says_a_time_in_a_form_that_clients_find() -> None:
    assert utc_words(0) == f"{datetime.fromtimestamp(0, UTC):%Y-%m-%d %H:%M:%S} UTC" == "1970-01-01 00:00:00 UTC"


@pytest.mark.parametrize(
    ("name", "role", "only", "yours"),
    [
        ("ann", Role.OWNER, ["jonas"], False),
        ("jonas", Role.APPROVER, ["jonas"], True),
        ("jonas", Role.VIEWER, ["jonas"], False),
        ("ann", Role.APPROVER, [], True),
    ],
)
def test_a_question_is_theirs_who_may_answer_it(name: str, role: Role, only: list[str], yours: bool) -> None:
    driver = Driver("one")
    known = Principal(created_ms=1, id="p-jonas", kind=PrincipalKind.PERSON, name="jonas", role=Role.APPROVER)
    driver.do(i.PrincipalAdded(id=driver.ident(), by="engine", principal=known))
    run = driver.submit(plan(task("ok", tool=None, person="Go on?", ask=only)))
    caller = Caller(f"p-{name}", name, role, frozenset(), "t", Means.BEARER)
    (question,) = explain_all(driver.shard, "c1", {})["questions"]
    mark_yours([question], run, caller)
    assert (question["yours"], question["only"]) == (yours, only)
