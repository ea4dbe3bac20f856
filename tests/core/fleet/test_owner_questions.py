"""What devices ask their owners: a copy that follows the device, an answer once, by a person, where it counts."""

from __future__ import annotations

from typing import Any

import pytest

from starloom.core.state import inputs as i
from starloom.core.state.orders import DURABLE, Answer, SendAnswer
from starloom_protocol.records.approvals import DeviceAsks, OwnerAsk
from starloom_protocol.vocabulary import Code
from tests.builders import Driver

ASK = OwnerAsk(
    action="a1", args='{"name":"nginx"}', constellation="c1", id="1f2e3d4c", left_s=60, tool="service.restart"
)


def told(driver: Driver, *asks: OwnerAsk, answers: str = "hub", session: int = 0) -> Answer:
    session = session or driver.shard.fleet.devices["d-one"].session
    return driver.do(
        i.AsksReceived(
            answers=answers, by="device:d-one", device="d-one", id=driver.ident(), open=list(asks), session=session
        )
    )


def answer(driver: Driver, by: str = "person:ann", **more: Any) -> Answer:
    fields: dict[str, Any] = {"action": "a1", "allow": True, "ask": ASK.id, "device": "d-one", **more}
    return driver.do(i.OwnerAskAnswered(by=by, id=driver.ident(), **fields))


def orders(driver: Driver) -> list[SendAnswer]:
    return [effect for effect in driver.sent if isinstance(effect, SendAnswer)]


def asks(driver: Driver) -> DeviceAsks:
    return driver.shard.fleet.asks["d-one"]


@pytest.fixture
def driver() -> Driver:
    made = Driver("one")
    told(made, ASK)
    return made


def test_a_question_of_a_device_is_an_event_and_goes_with_it(driver: Driver) -> None:
    (ask,) = asks(driver).open
    assert (ask.tool, ask.asked_ms, ask.expires_ms) == ("service.restart", driver.now_ms, driver.now_ms + 60_000)
    assert driver.events[-1].kind == "device_asks"
    seen = len(driver.events)
    driver.now_ms += 5_000
    told(driver, OwnerAsk(action="a1", id=ASK.id, left_s=55, tool="service.restart"))
    assert len(driver.events) == seen, "what is known already is no news, and its time is not put off"
    told(driver)
    assert "d-one" not in driver.shard.fleet.asks
    driver.folded_equals_state()


def test_a_person_answers_once_and_the_device_is_told(driver: Driver) -> None:
    assert answer(driver, reason="seen").value == {"answer": "allow"}
    (order,) = orders(driver)
    assert (order.device, order.ask, order.action, order.allow) == ("d-one", ASK.id, "a1", True)
    assert (order.by, order.reason, order.after) == ("person:ann", "seen", DURABLE)
    seen = len(driver.events)
    assert answer(driver).value == {"answer": "allow"}
    assert len(driver.events) == seen
    assert answer(driver, by="person:bob").faults[0].code is Code.CONFLICT
    assert answer(driver, allow=False).faults[0].code is Code.CONFLICT


def test_an_answer_that_did_not_arrive_is_given_again(driver: Driver) -> None:
    answer(driver, allow=False)
    driver.connect("one")
    told(driver, ASK)
    assert [(order.ask, order.allow) for order in orders(driver)] == [(ASK.id, False)]
    told(driver, ASK, answers="here")
    assert orders(driver) == [], "its owner has taken that back"


def test_an_answer_counts_for_one_asking_only(driver: Driver) -> None:
    answer(driver)
    again = OwnerAsk(action="a2", id=ASK.id, left_s=60, tool="service.restart")
    told(driver, again)
    assert orders(driver) == []
    assert asks(driver).open[0].answer == ""
    refused = answer(driver)
    assert refused.faults[0].code is Code.CONFLICT
    assert "asked again" in refused.faults[0].reason


@pytest.mark.parametrize("by", ["device:d-one", "model", "planner", "engine", "rule:x"])
def test_only_a_person_answers(driver: Driver, by: str) -> None:
    assert answer(driver, by=by).faults[0].code is Code.FORBIDDEN
    assert orders(driver) == []


def test_a_device_that_is_answered_on_itself_names_the_line(driver: Driver) -> None:
    told(driver, ASK, answers="here")
    fault = answer(driver).faults[0]
    assert fault.code is Code.ANSWERED_THERE
    assert f"starloom-agent approve {ASK.id}" in fault.reason
    told(driver, ASK, answers="anything else")
    assert answer(driver).faults[0].code is Code.ANSWERED_THERE


def test_silence_is_a_no(driver: Driver) -> None:
    driver.now_ms += 60_000
    assert "counts as denied" in answer(driver).faults[0].reason
    assert answer(driver, ask="other").faults[0].code is Code.NOT_FOUND
    assert answer(driver, device="d-none").faults[0].code is Code.NOT_FOUND


def test_an_old_session_says_nothing_and_a_revoked_device_asks_nothing(driver: Driver) -> None:
    told(driver, session=99)
    assert asks(driver).open
    driver.do(i.DeviceControlled(id=driver.ident(), by="person:ann", device="d-one", action="revoke"))
    assert "d-one" not in driver.shard.fleet.asks
    told(driver, ASK)
    assert "d-one" not in driver.shard.fleet.asks


def test_what_a_device_says_is_bounded(driver: Driver) -> None:
    many = [OwnerAsk(action=f"a{n}", args="x" * 9_000, id=f"{n:08x}", left_s=10**9, tool="t" * 999) for n in range(300)]
    told(driver, *many, *many)
    found = asks(driver).open
    assert len(found) == 100
    assert max(len(ask.args) for ask in found) < 2_500
    assert max(ask.expires_ms for ask in found) <= driver.now_ms + 7 * 24 * 3600 * 1000
