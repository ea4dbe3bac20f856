"""Faults that somebody asks the lab for: who may be broken, what is told where, and that each comes to an end."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from starloom.core.clock.timers import due_moments
from starloom.core.fleet import lab_faults
from starloom.core.state import inputs as i
from starloom.core.state.orders import Answer, ArmTimer
from starloom_protocol.records.lab import FaultKind, FaultState, FaultTarget, LabFault
from starloom_protocol.stream.feed import FLEET
from starloom_protocol.vocabulary import Code
from tests.builders import plan, task
from tests.core.watched import WatchedDriver

KINDS = [*FaultKind]


def made(**fields: Any) -> WatchedDriver:
    driver = WatchedDriver("real", **fields)
    driver.add_device("toy", demo=True)
    return driver


def ask(driver: WatchedDriver, name: str = "f", **fields: Any) -> Answer:
    item = i.LabFaultAsked(
        id=f"ask-{name}",
        by="person:ann",
        able=True,
        device="d-toy",
        fault=name,
        for_ms=2_000,
        held=True,
        kind=FaultKind.KILL,
        size_ms=0,
        target=FaultTarget.DEVICE,
    )
    return driver.do(replace(item, **fields))


def began(driver: WatchedDriver, name: str = "f") -> Answer:
    return driver.do(i.LabFaultBegan(id=f"began-{name}", by="lab", fault=name, note="its agent is killed"))


def ended(driver: WatchedDriver, name: str = "f", *, failed: bool = False) -> Answer:
    return driver.do(i.LabFaultEnded(id=f"ended-{name}", by="lab", failed=failed, fault=name, note="it runs again"))


def heal(driver: WatchedDriver, name: str = "f") -> Answer:
    return driver.do(i.LabFaultHealAsked(id=f"heal-{name}", by="person:ann", fault=name))


def known(driver: WatchedDriver, name: str = "f") -> LabFault:
    return driver.shard.fleet.lab_faults[name]


def kinds(driver: WatchedDriver, stream: str) -> list[str]:
    return [event.kind for event in driver.events if event.stream == stream and event.kind.startswith("fault_")]


@pytest.mark.parametrize(
    ("fields", "code", "said"),
    [
        ({"device": "d-none"}, Code.UNKNOWN_DEVICE, "there is no device d-none"),
        ({"device": "d-real"}, Code.NOT_SIMULATED, "real is a real device"),
        ({"held": False}, Code.FAULT_IMPOSSIBLE, "no program of the lab runs toy now"),
        ({"able": False}, Code.FAULT_IMPOSSIBLE, "kill cannot happen to the device here"),
        ({"for_ms": 0}, Code.BAD_REQUEST, "at most 60 s"),
        ({"for_ms": 60_001}, Code.BAD_REQUEST, "at most 60 s"),
    ],
)
def test_what_may_not_be_broken_is_refused_with_its_reason(fields: dict[str, Any], code: Code, said: str) -> None:
    driver = made()
    (fault,) = ask(driver, **fields).faults
    assert (fault.code, bool(fault.hint)) == (code, True)
    assert said in fault.reason
    assert not driver.shard.fleet.lab_faults


def test_a_revoked_device_is_not_broken() -> None:
    driver = made()
    driver.do(i.DeviceControlled(id="r", by="person:ann", device="d-toy", action="revoke"))
    assert ask(driver).faults[0].code is Code.UNKNOWN_DEVICE


def test_the_log_of_work_on_the_device_tells_what_broke_it_and_when_it_was_over() -> None:
    driver = made()
    driver.submit(plan(task("a", device="toy")))
    driver.submit(plan(task("a", device="real")), name="c2")
    ask(driver)
    began(driver)
    assert (known(driver).state, known(driver).constellations) == (FaultState.ACTIVE, ["c1"])
    driver.now_ms += 2_000
    ended(driver)
    now = known(driver)
    assert (now.state, now.ended_ms - now.began_ms) == (FaultState.OVER, 2_000)
    assert kinds(driver, FLEET) == ["fault_asked", "fault_injected", "fault_ended"]
    assert kinds(driver, "c1") == ["fault_injected", "fault_ended"]
    assert kinds(driver, "c2") == []
    assert [event.about for event in driver.events if event.kind == "fault_asked"] == ["d-toy"]


def test_work_that_has_ended_meanwhile_is_told_of_no_end() -> None:
    driver = made()
    driver.submit(plan(task("a", device="toy")))
    ask(driver)
    began(driver)
    driver.run(value=1)
    ended(driver)
    assert kinds(driver, "c1") == ["fault_injected"]


def test_a_report_counts_once() -> None:
    driver = made()
    ask(driver)
    for _ in range(2):
        assert not began(driver).faults
    for _ in range(2):
        assert not ended(driver).faults
    assert kinds(driver, FLEET) == ["fault_asked", "fault_injected", "fault_ended"]
    assert driver.ignored == {
        "the beginning of this fault was reported before, or too late": 1,
        "the end of this fault is known already": 1,
    }


def test_one_that_the_lab_could_not_do_has_failed_with_its_reason() -> None:
    driver = made()
    ask(driver)
    ended(driver, failed=True)
    assert (known(driver).state, known(driver).note) == (FaultState.FAILED, "it runs again")
    assert kinds(driver, FLEET)[-1] == "fault_failed"


def test_a_wish_to_heal_is_kept_once_until_it_is_over() -> None:
    driver = made()
    ask(driver)
    began(driver)
    for _ in range(2):
        assert heal(driver).value == {"id": "f"}
    assert known(driver).healing
    ended(driver)
    assert not known(driver).healing
    heal(driver)
    assert kinds(driver, FLEET) == ["fault_asked", "fault_injected", "fault_heal_asked", "fault_ended"]


@pytest.mark.parametrize("report", [began, ended, heal])
def test_an_unknown_fault_is_refused(report: Any) -> None:
    assert report(made(), "none").faults[0].code is Code.NOT_FOUND


def test_the_same_thing_is_not_broken_twice_at_once() -> None:
    driver = made()
    ask(driver)
    assert ask(driver, "g").faults[0].code is Code.FAULT_IMPOSSIBLE
    assert not ask(driver, "h", kind=FaultKind.FREEZE).faults
    ended(driver)
    assert not ask(driver, "i").faults


def test_so_many_last_at_once_and_so_many_are_remembered() -> None:
    driver = made()
    for number, kind in enumerate(KINDS[: lab_faults.OPEN_MOST]):
        assert not ask(driver, f"open{number}", kind=kind).faults
    (fault,) = ask(driver, "more", kind=KINDS[lab_faults.OPEN_MOST]).faults
    assert (fault.code, fault.reason) == (Code.FAULT_IMPOSSIBLE, "8 faults last already, which is the most")
    ended(driver, "open0")
    for number in range(lab_faults.KEPT_MOST):
        driver.now_ms += 1
        ask(driver, f"n{number}")
        ended(driver, f"n{number}")
    names = list(driver.shard.fleet.lab_faults)
    assert len(names) == lab_faults.KEPT_MOST
    assert {"open1", "n49"} <= set(names)
    assert not {"open0", "n0"} & set(names)


def timer(driver: WatchedDriver) -> ArmTimer:
    (found,) = [one for one in driver.sent if isinstance(one, ArmTimer) and one.kind == lab_faults.TIMER]
    return found


def test_one_that_nobody_takes_up_fails_by_itself() -> None:
    driver = made()
    ask(driver)
    driver.fire(timer(driver))
    assert known(driver).state is FaultState.FAILED
    assert "no program of the lab took it up" in known(driver).note


def test_one_whose_end_nobody_reports_is_closed() -> None:
    driver = made()
    ask(driver)
    first = timer(driver)
    began(driver)
    late = timer(driver)
    driver.fire(first)
    assert known(driver).state is FaultState.ACTIVE
    assert late.due_ms == known(driver).began_ms + 2_000 + lab_faults.REPORTED_WITHIN_MS
    driver.fire(late)
    assert known(driver).state is FaultState.OVER
    driver.fire(late)
    assert kinds(driver, FLEET) == ["fault_asked", "fault_injected", "fault_ended"]


def test_a_starting_owner_waits_for_the_same_moments() -> None:
    driver = made()
    ask(driver)
    due = [one for one in due_moments(driver.shard) if one.kind == lab_faults.TIMER]
    assert due == [timer(driver)]
    ended(driver)
    assert not [one for one in due_moments(driver.shard) if one.kind == lab_faults.TIMER]


def test_only_so_many_logs_are_told() -> None:
    driver = made()
    driver.add_device("wide", demo=True, slots=lab_faults.TOLD_MOST + 5)
    for number in range(lab_faults.TOLD_MOST + 3):
        driver.submit(plan(task("a", device="wide")), name=f"w{number}")
    ask(driver, device="d-wide")
    began(driver)
    assert known(driver).constellations == [f"w{number}" for number in range(lab_faults.TOLD_MOST)]
