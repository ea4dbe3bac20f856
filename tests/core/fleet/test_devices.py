"""Devices: pairing, sessions, offers, and what becomes of their work when they come, go or are revoked."""

from __future__ import annotations

from typing import Any

import pytest

from starloom.core.placement import waiting
from starloom.core.state import inputs as i
from starloom.core.state.apply import load
from starloom.core.state.orders import Answer, CloseDevice, SendName
from starloom.core.state.work import Work
from starloom_protocol.records.entities import Enrollment, Offer, Principal, Selector, ToolOffer
from starloom_protocol.stream.events import EventKind
from starloom_protocol.stream.feed import ACCESS
from starloom_protocol.vocabulary import Attention, Code, DeviceLink, Outcome, Profile, Reason, Role, TaskState
from tests.builders import MAYBE, PURE, TOOLS, Driver, plan, task


def do(driver: Driver, kind: Any, by: str = "person:ann", **fields: Any) -> Answer:
    return driver.do(kind(id=driver.ident(), by=by, **fields))


def open_code(driver: Driver, name: str = "e1", **fields: Any) -> None:
    enrollment = Enrollment(id=name, code_hash="x", created_ms=0, expires_ms=9_000_000, owner="ann", **fields)
    do(driver, i.EnrollmentOpened, enrollment=enrollment)


def ask(driver: Driver, code: str = "e1", device: str = "d-new", name: str = "box") -> Answer:
    return do(
        driver,
        i.EnrollmentAsked,
        by="device",
        device=device,
        enrollment=code,
        key="k",
        name=name,
        os="linux",
        profile=Profile.WORK,
        words="one two",
    )


def test_a_new_device_takes_the_place_of_an_old_one() -> None:
    driver = Driver("one")
    control(driver, "label", value='["den"]')
    open_code(driver, replaces="d-one")
    assert ask(driver, name="box").value["name"] == "one"
    assert not driver.shard.fleet.devices["d-one"].revoked
    do(driver, i.EnrollmentDecided, allow=True, enrollment="e1")
    fleet = driver.shard.fleet
    assert (fleet.devices["d-new"].name, fleet.devices["d-new"].labels) == ("one", ["den"])
    assert fleet.devices["d-one"].revoked
    assert fleet.by_name["one"] == "d-new"
    assert [effect.code for effect in driver.sent if isinstance(effect, CloseDevice)] == [Code.DEVICE_REVOKED]


def test_work_that_waits_for_a_device_that_is_gone_goes_to_no_other_of_its_name() -> None:
    driver = Driver("one", "two")
    busy = task("long", device="one")
    driver.submit(plan(busy))
    control(driver, "revoke")
    open_code(driver)
    assert ask(driver, name="one").value["name"] == "one-2"
    do(driver, i.EnrollmentDecided, allow=True, enrollment="e1")
    assert driver.shard.fleet.devices["d-new"].name == "one-2"
    assert not [dispatch for dispatch in driver.take() if dispatch.device == "d-new"]
    # A person who gives the name says that it is that machine.
    control(driver, "rename", device="d-new", value="one")
    assert driver.shard.fleet.by_name["one"] == "d-new"


def test_work_that_says_a_former_name_of_a_gone_device_goes_to_no_other() -> None:
    driver = Driver("bramble", "two")
    control(driver, "rename", device="d-bramble", value="thicket")
    driver.submit(plan(task("long", device=Selector(name="bramble"))))
    control(driver, "revoke", device="d-bramble")
    open_code(driver)
    assert ask(driver, name="bramble").value["name"] == "bramble-2"


def test_a_join_looks_at_live_work_only_for_a_name_that_a_gone_device_had(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[str] = []

    def is_awaited(_work: Work, name: str) -> bool:
        looked.append(name)
        return False

    monkeypatch.setattr(waiting, "is_awaited", is_awaited)
    driver = Driver("one", "two", "three")
    for name in ("one", "three"):
        control(driver, "revoke", device=f"d-{name}")
    open_code(driver)
    ask(driver, name="four")
    assert looked == []
    open_code(driver, "e2")
    ask(driver, code="e2", device="d-five", name="one")
    assert looked == ["one"]


def test_a_name_that_no_work_waits_for_is_free_again() -> None:
    driver = Driver("one", "two")
    control(driver, "revoke")
    open_code(driver)
    assert ask(driver, name="one").value["name"] == "one"


def test_only_a_device_of_the_fleet_can_be_replaced() -> None:
    driver = Driver()
    gone = Enrollment(id="e1", code_hash="x", created_ms=0, expires_ms=9_000_000, owner="ann", replaces="d-gone")
    assert do(driver, i.EnrollmentOpened, enrollment=gone).faults[0].code is Code.UNKNOWN_DEVICE


def control(driver: Driver, action: str, device: str = "d-one", **fields: Any) -> Answer:
    return do(driver, i.DeviceControlled, action=action, device=device, **fields)


def offer(driver: Driver, name: str = "one", session: int = 1, **fields: Any) -> Answer:
    made = Offer(digest="y", slots=fields.pop("slots", 4), **fields)
    return do(
        driver,
        i.OfferReceived,
        by=f"device:d-{name}",
        device=f"d-{name}",
        offer=made,
        os="linux",
        profile=Profile.WORK,
        session=session,
    )


def link(driver: Driver) -> str:
    return str(driver.shard.fleet.devices["d-one"].link)


def test_a_device_joins_after_a_person_compared_the_words() -> None:
    driver = Driver("box")
    open_code(driver)
    assert ask(driver).value == {"device": "d-new", "name": "box-2", "state": "asking"}
    assert "d-new" not in driver.shard.fleet.devices
    assert ask(driver).faults[0].code is Code.BAD_CODE
    assert do(driver, i.EnrollmentDecided, allow=True, enrollment="e1").value == {"state": "approved"}
    device = driver.shard.fleet.devices["d-new"]
    assert (device.name, device.profile, device.link) == ("box-2", Profile.OBSERVE, DeviceLink.OFFLINE)
    assert do(driver, i.EnrollmentDecided, allow=True, enrollment="e1").faults[0].code is Code.CONFLICT


def test_a_preapproved_code_joins_at_once_and_a_denied_one_never() -> None:
    driver = Driver()
    open_code(driver, preapproved=True, label="phone", demo=True)
    assert ask(driver).value == {"device": "d-new", "name": "phone", "state": "approved"}
    assert driver.shard.fleet.devices["d-new"].demo
    open_code(driver, "e2")
    assert ask(driver, "e2").faults[0].code is Code.CONFLICT
    assert ask(driver, "e2", "d-third", "a\nb").faults[0].code is Code.BAD_REQUEST
    do(driver, i.EnrollmentDecided, allow=False, enrollment="e2")
    assert driver.shard.fleet.enrollments["e2"].state == "denied"
    assert do(driver, i.EnrollmentDecided, allow=True, enrollment="no").faults[0].code is Code.NOT_FOUND
    driver.now_ms = 9_000_001
    open_code(driver, "e3")
    assert "expired" in ask(driver, "e3", "d-fourth").faults[0].reason


def test_the_newest_session_wins_and_the_older_one_is_cut() -> None:
    driver = Driver("one")
    assert driver.connect("one").value["session"] == 2
    assert driver.sent == [
        CloseDevice(device="d-one", code=Code.TAKEN_OVER, reason="a newer connection took over", session=1)
    ]
    gone = {"by": "device:d-one", "device": "d-one", "reason": "cut"}
    do(driver, i.DeviceDisconnected, session=1, **gone)
    assert link(driver) == DeviceLink.ONLINE
    do(driver, i.DeviceDisconnected, session=2, **gone)
    assert link(driver) == DeviceLink.OFFLINE
    do(driver, i.ConditionReceived, by="device:d-one", device="d-one", facts={"battery": "3"}, session=1)
    offer(driver, session=1, tools=[])
    assert driver.shard.fleet.devices["d-one"].condition == {}
    assert driver.ignored["a newer session has taken over"] == 3
    assert driver.connect("nobody").faults[0].code is Code.UNKNOWN_DEVICE


def test_conditions_are_kept_and_a_sleeping_device_takes_no_work() -> None:
    driver = Driver("one")
    for facts in ({"suspending": "true"}, {"suspending": "true"}):
        do(driver, i.ConditionReceived, by="device:d-one", device="d-one", facts=facts, session=1)
    assert [event.kind for event in driver.events] == ["device_condition"]
    assert link(driver) == DeviceLink.SUSPENDED
    driver.submit(plan(task("a")))
    assert driver.states() == {"a": "ready"}
    do(driver, i.ConditionReceived, by="device:d-one", device="d-one", facts={"suspending": "false"}, session=1)
    assert driver.states() == {"a": "leased"}


def test_a_grant_lets_the_work_go_on_by_itself() -> None:
    driver = Driver("one")
    driver.submit(plan(task("a"), task("b"), task("held")))
    by_task = {item.at.task: item for item in driver.take()}
    for name in ("a", "held"):
        driver.result(by_task[name], outcome=Outcome.REFUSED, code=Code.MISSING_GRANT, detail="needs files:read")
    driver.control("hold", "held")
    run = driver.shard.constellations["c1"]
    assert run.tasks["a"].reason is Reason.MISSING_GRANT
    assert Attention.MISSING_GRANT in run.head.attention
    offer(driver, tools=TOOLS, grants=["files:read"])
    assert [item.at.task for item in driver.take()] == ["a"]
    assert run.tasks["held"].reason is Reason.HELD
    assert Attention.MISSING_GRANT not in run.head.attention
    seen = len(driver.events)
    offer(driver, tools=TOOLS, grants=["files:read"])
    assert len(driver.events) == seen


def test_rename_drain_label_and_what_is_refused() -> None:
    driver = Driver("one", "two")
    assert control(driver, "rename", value="büro").value == {"id": "d-one"}
    assert driver.shard.fleet.by_name == {"büro": "d-one", "two": "d-two"}
    assert driver.sent == [SendName(device="d-one", name="büro")]
    assert not control(driver, "rename", value="büro").faults
    assert driver.sent == []
    taken = control(driver, "rename", value="two").faults[0]
    assert (taken.code, taken.reason) == (Code.CONFLICT, "the name is taken: the device d-two is called two")
    assert "`starloom device rename d-two NAME`" in taken.hint
    assert control(driver, "rename", value=" ").faults[0].code is Code.BAD_REQUEST
    assert control(driver, "explode").faults[0].code is Code.BAD_REQUEST
    assert control(driver, "drain", device="d-no").faults[0].code is Code.UNKNOWN_DEVICE
    control(driver, "label", value='["b","a","b"]')
    for wrong in ("b, a", "{}", "[1]", '[" "]'):
        assert control(driver, "label", value=wrong).faults[0].code is Code.BAD_REQUEST
    assert driver.shard.fleet.devices["d-one"].labels == ["a", "b"]
    control(driver, "drain")
    control(driver, "drain", device="d-two")
    driver.submit(plan(task("a")))
    assert driver.states() == {"a": "ready"}
    control(driver, "resume")
    assert driver.take()[0].device == "d-one"


def test_a_name_and_labels_are_given_together_or_not_at_all() -> None:
    driver = Driver("one", "two")
    wrong = control(driver, "rename", value="desk", labels=["x" * 100]).faults[0]
    assert (wrong.code, wrong.place) == (Code.BAD_REQUEST, "labels[0]")
    assert control(driver, "rename", value="two", labels=["home"]).faults[0].place == "name"
    assert (driver.shard.fleet.devices["d-one"].name, driver.shard.fleet.devices["d-one"].labels) == ("one", [])
    assert not control(driver, "rename", value="desk", labels=["home", "big"]).faults
    assert (driver.shard.fleet.devices["d-one"].name, driver.shard.fleet.devices["d-one"].labels) == (
        "desk",
        ["big", "home"],
    )
    driver.folded_equals_state()


def test_no_device_is_called_by_the_id_of_another() -> None:
    driver = Driver("one", "two")
    taken = control(driver, "rename", device="d-two", value="d-one").faults[0]
    assert (taken.code, taken.reason) == (Code.CONFLICT, "the name is taken: d-one is the id of one")
    open_code(driver)
    assert ask(driver, name="d-one").value["name"] == "d-one-2"


def test_plans_with_the_old_name_of_a_device_go_on_until_a_person_gives_it_away() -> None:
    driver = Driver("bramble", "two")
    for name in ("thicket", "hedge"):
        assert not control(driver, "rename", device="d-bramble", value=name).faults
    for name in ("hedge", "thicket", "bramble"):
        driver.submit(plan(task("a", device=Selector(name=name))), name=f"c-{name}")
        (sent,) = driver.take()
        assert sent.device == "d-bramble"
        driver.result(sent)
    open_code(driver)
    assert ask(driver, name="bramble").value["name"] == "bramble-2", "nobody who joins gets its work"
    control(driver, "rename", device="d-two", value="bramble")
    assert driver.shard.fleet.devices["d-bramble"].former_names == ["thicket"]
    driver.submit(plan(task("a", device=Selector(name="bramble"))), name="c-given")
    assert [item.device for item in driver.take()] == ["d-two"]
    control(driver, "rename", device="d-bramble", value="thicket")
    assert driver.shard.fleet.devices["d-bramble"].former_names == ["hedge"]


def test_no_device_gets_a_name_that_looks_like_another() -> None:
    driver = Driver("ace", "two")
    mixed, alike = "\u0430ce", "\u0430\u0441\u0435"
    for value in (mixed, alike):
        assert control(driver, "rename", device="d-two", value=value).faults
    open_code(driver)
    assert "letters" in ask(driver, name=mixed).faults[0].reason
    assert ask(driver, name=alike).value["name"] == f"{alike}-2"


def test_a_revoked_device_gives_its_work_back_as_far_as_that_is_safe() -> None:
    driver = Driver("one", slots=8)
    parts = [task("p"), task("n", tool="t.never"), task("i", tool="t.idem"), task("c"), task("cn", tool="t.never")]
    driver.submit(plan(*parts))
    for item in driver.take():
        driver.started(item)
    driver.control("cancel", "c")
    driver.control("cancel", "cn")
    assert control(driver, "revoke", reason="stolen").value == {"id": "d-one"}
    assert driver.states() == {"p": "ready", "n": "unknown", "i": "ready", "c": "cancelled", "cn": "unknown"}
    assert driver.sent[0] == CloseDevice(device="d-one", code=Code.DEVICE_REVOKED, reason="stolen")
    assert driver.connect("one").faults[0].code is Code.DEVICE_REVOKED
    assert driver.shard.fleet.used["d-one"] == 0
    driver.add_device("two")
    driver.control("pause")
    driver.control("resume")
    assert {item.at.task for item in driver.take()} == {"p", "i"}


def test_a_device_that_leaves_gives_its_work_back_by_its_own_word() -> None:
    driver = Driver("one", slots=8)
    driver.submit(plan(task("p"), task("n", tool="t.never")))
    for item in driver.take():
        driver.started(item)
    for other in ("device:d-two", "person:ann", "edge"):
        assert control(driver, "leave", by=other).faults[0].code is Code.FORBIDDEN
    assert not driver.shard.fleet.devices["d-one"].revoked
    assert control(driver, "leave", by="device:d-one").value == {"id": "d-one"}
    device = driver.shard.fleet.devices["d-one"]
    assert (device.left, device.revoked, device.link) == (True, True, DeviceLink.OFFLINE)
    assert driver.states() == {"p": "ready", "n": "unknown"}
    assert "has left" in driver.connect("one").faults[0].reason
    assert control(driver, "leave", by="device:d-one").value == {"id": "d-one"}


def test_a_reconnect_restates_every_open_attempt() -> None:
    driver = Driver("one", slots=8)
    names = {"leased": "t.pure", "running": "t.pure", "cancelling": "t.pure", "unknown": "t.never", "new": "t.never"}
    driver.submit(plan(*(task(name, tool=tool) for name, tool in names.items())))
    by_task = {item.at.task: item for item in driver.take()}
    driver.connect("one", ledger="l1")
    driver.take()
    driver.started(by_task["running"])
    driver.control("cancel", "cancelling")
    driver.result(by_task["unknown"], outcome=Outcome.INTERRUPTED, effect=MAYBE)
    answer = driver.connect("one", ledger="l1")
    entries = {item["at"]["task"]: item["action"] for item in answer.value["entries"]}
    assert entries == {"running": "continue", "cancelling": "cancel", "unknown": "resend"}
    assert {item.at.task for item in driver.take()} == {"leased", "new"}
    # With another ledger nobody can say whether work that may not be repeated was begun.
    driver.connect("one", ledger="l2")
    assert driver.states()["new"] == "unknown"
    assert [item.at.task for item in driver.take()] == ["leased"]


@pytest.mark.parametrize("fields", [{"grant": "x"}, {"unavailable": "no display"}])
def test_work_does_not_go_where_its_tool_cannot_run(fields: dict[str, str]) -> None:
    driver = Driver()
    driver.add_device("one", tools=[ToolOffer(name="t.pure", repeatability=PURE, **fields)])  # type: ignore[arg-type]
    run = driver.submit(plan(task("a")))
    assert run.tasks["a"].state is TaskState.READY
    assert run.head.attention


def test_a_device_that_is_gone_is_forgotten_and_its_key_stays_refused() -> None:
    driver = Driver("one", "two")
    early = control(driver, "forget").faults[0]
    assert early.code is Code.CONFLICT
    assert "starloom device revoke one" in early.hint
    control(driver, "revoke")
    assert control(driver, "forget").value == {"id": "d-one"}
    fleet = driver.shard.fleet
    assert (fleet.devices["d-one"].forgotten, fleet.devices["d-one"].name) == (True, "one")
    assert "d-one" not in fleet.offers
    assert "d-one" not in fleet.tools
    told = [(event.kind, event.about) for event in driver.events if event.about == "d-one"]
    assert told[-1] == (EventKind.DEVICE_FORGOTTEN, "d-one")
    seen = len(driver.events)
    assert control(driver, "forget").value == {"id": "d-one"}
    assert len(driver.events) == seen
    assert driver.connect("one").faults[0].code is Code.DEVICE_REVOKED
    driver.folded_equals_state()


def test_an_operator_revokes_no_device_of_an_earlier_release_and_an_owner_any() -> None:
    driver = Driver("one")
    assert control(driver, "revoke", by="person:cleo#k2", scope=Role.OPERATOR).faults[0].code is Code.FORBIDDEN
    assert not control(driver, "revoke", by="person:ann#k1", scope=Role.OWNER).faults


@pytest.mark.parametrize(("role", "kept"), [(Role.OPERATOR, "ann"), (Role.OWNER, "")])
def test_a_device_keeps_the_operator_who_let_it_in(role: Role, kept: str) -> None:
    driver = Driver()
    load(driver.shard, ACCESS, 0, {"principal/ann": Principal(created_ms=0, id="ann", name="ann", role=role)})
    open_code(driver)
    ask(driver)
    do(driver, i.EnrollmentDecided, allow=True, enrollment="e1")
    joined = driver.shard.fleet.devices["d-new"]
    assert (joined.joined_by, joined.let_in_by) == (kept, "person:ann")
