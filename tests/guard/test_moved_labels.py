"""T252: a call runs on the devices that its approval showed, whatever labels others give to devices meanwhile."""

from __future__ import annotations

import pytest

from starloom.core.answer.open_questions import open_questions
from starloom.core.people.approvals.need import changing_calls, seen_hash
from starloom.core.people.approvals.questions import OTHER_DEVICES
from starloom.core.state import inputs as i
from starloom.core.state.settings import ShardSettings
from starloom_protocol.records.edits import Reassign, RemoveDependency
from starloom_protocol.records.entities import ForEach, Policy, Selector
from starloom_protocol.records.specs import Approved
from starloom_protocol.values import canonical
from starloom_protocol.vocabulary import Code, Outcome
from tests.builders import TOOLS, Driver, edge, plan, task
from tests.core.clockwork import Clockwork
from tests.core.people.test_approvals import RESTART, STATE, answer, asked, fleet, risky
from tests.core.plan.goals.pursued import Pursued, call
from tests.core.plan.test_review import claim, propose

GPU = Selector(labels=["gpu"])


def control(driver: Driver, device: str, action: str, value: str = "") -> None:
    made = i.DeviceControlled(
        action=action, by="person:bob", device=f"d-{device}", id=driver.ident(), scope="owner", value=value
    )
    assert not driver.do(made).faults


def label(driver: Driver, device: str, *labels: str) -> None:
    control(driver, device, "label", canonical(list(labels)))


def two(settings: ShardSettings | None = None) -> Driver:
    driver = fleet("one", "two", settings=settings)
    label(driver, "one", "gpu")
    return driver


def gone_to(driver: Driver) -> list[str]:
    return [sent.device for sent in driver.take()]


@pytest.mark.parametrize("first", [True, False], ids=["before the yes", "after the yes"])
@pytest.mark.parametrize("value", ["allow", "always"])
def test_t252_an_approved_call_follows_no_moved_label(first: bool, value: str) -> None:
    driver = two()
    found = driver.submit(risky(task("look"), of={"device": GPU}))
    control(driver, "one", "drain")
    if not first:
        answer(driver, value)
    label(driver, "two", "gpu")
    label(driver, "one")
    if first:
        held = found.tables["approved"]["plan"]
        assert isinstance(held, Approved)
        (call,) = changing_calls(driver.shard.fleet, list(found.specs.values()), [], held)
        assert call.devices == ["d-one"], "what stands beside the question is what the answer allows"
        answer(driver, value)
    assert [sent.at.task for sent in driver.take()] == ["look"]
    again = asked(found)
    assert found.head.state is STATE.AWAITING_APPROVAL
    assert again.text.startswith("Run Restart? It may change on two.")
    why = "No device that was approved for restart can do it any more: one does not have the label gpu."
    assert again.text.endswith(why)
    (shown,) = open_questions(found)
    assert shown.by == "the hub, before the plan goes on"
    answer(driver, "allow", question=again.id)
    assert gone_to(driver) == ["d-two"]
    driver.folded_equals_state()


def test_a_question_names_no_device_that_has_left_since() -> None:
    driver = two()
    label(driver, "two", "gpu")
    found = driver.submit(risky(task("look"), of={"device": GPU}))
    held = found.tables["approved"]["plan"]
    assert isinstance(held, Approved)
    assert [reach.devices for reach in held.reaches] == [["d-one", "d-two"]]
    control(driver, "two", "revoke")
    (call,) = changing_calls(driver.shard.fleet, list(found.specs.values()), [], held)
    assert call.devices == ["d-one"]


def test_t252_a_no_to_the_second_question_ends_the_plan() -> None:
    driver = two()
    found = driver.submit(risky(of={"device": GPU}))
    control(driver, "one", "drain")
    answer(driver, "allow")
    control(driver, "one", "revoke")
    label(driver, "two", "gpu")
    assert asked(found).text.endswith("any more: one was revoked.")
    answer(driver, "deny", question=asked(found).id)
    assert (found.head.state, gone_to(driver)) == (STATE.CANCELLED, [])
    driver.folded_equals_state()


def test_t252_a_device_that_fits_since_is_left_out() -> None:
    driver = two()
    found = driver.submit(risky(task("more", tool="t.restart", device=GPU, args='{"n":2}'), of={"device": GPU}))
    label(driver, "two", "gpu")
    driver.add_device("three", tools=[*TOOLS, RESTART], labels=["gpu"])
    answer(driver, "allow")
    assert gone_to(driver) == ["d-one", "d-one"]
    assert found.head.state is STATE.ACTIVE


@pytest.mark.parametrize("value", ["always", "allow"])
def test_t252_a_device_that_joins_since_gets_no_approved_call(value: str) -> None:
    driver = fleet("one")
    driver.submit(risky())
    answer(driver, value)
    if value == "always":
        driver.result(driver.take()[0], {})
    control(driver, "one", "drain")
    found = driver.submit(risky(hash="h2"), "c2")
    driver.add_device("two", tools=[*TOOLS, RESTART])
    if value == "allow":
        answer(driver, value, at="c2")
    driver.take()
    control(driver, "one", "resume")
    assert gone_to(driver) == ["d-one"]
    assert found.head.state is STATE.ACTIVE


def test_t252_a_write_beside_the_question_stays_where_it_was_shown() -> None:
    driver = two()
    driver.submit(risky(task("note", tool="t.idem", device=GPU), of={"device": "two"}), hold=True)
    label(driver, "two", "gpu")
    answer(driver, "allow")
    assert [(sent.at.task, sent.device) for sent in driver.take()] == [("restart", "d-two"), ("note", "d-one")]


def test_t252_a_group_takes_the_approved_devices() -> None:
    driver = two()
    found = driver.submit(plan(task("restart", tool="t.restart", for_each=ForEach(devices=GPU))))
    label(driver, "two", "gpu")
    answer(driver, "allow")
    assert gone_to(driver) == ["d-one"]
    assert found.head.state is STATE.ACTIVE


def test_t252_a_goal_goes_to_no_device_that_got_its_label_since() -> None:
    goal = Pursued(goal={"device": {"any": [{"name": "one"}, {"labels": ["gpu"]}]}}, hold=True)
    label(goal, "two", "gpu")
    answer(goal, "allow")
    goal.step(call("fs.read", device="two", path="notes"))
    assert "two is none of the devices that were approved for why" in goal.turns[-1][1]
    goal.step(call("fs.read", device="one", path="notes"))
    assert gone_to(goal) == ["d-one"]
    goal.folded_equals_state()


def test_t252_a_history_of_before_is_decided_as_it_was() -> None:
    settings = ShardSettings()
    settings.binds_approvals = 0
    driver = two(settings)
    driver.submit(risky(of={"device": GPU}))
    label(driver, "two", "gpu")
    label(driver, "one")
    answer(driver, "allow")
    assert gone_to(driver) == ["d-two"]


@pytest.mark.parametrize(
    ("to", "why"),
    [
        (Selector(name="two"), "restart would change on two"),
        (Selector(labels=["spare"]), "restart would go wherever labels lead it later, unless it names its device"),
        (Selector(name="one"), ""),
        (GPU, ""),
    ],
    ids=["a device of today's labels", "other labels", "the device that was shown", "the approved labels"],
)
def test_t252_a_model_s_edit_leads_an_approved_call_to_no_other_device(to: Selector, why: str) -> None:
    driver = two()
    label(driver, "one", "gpu", "spare")
    look, note = task("look"), task("note", device="two")
    restart = task("restart", tool="t.restart", device=GPU)
    made = plan(look, note, restart, edge("look>restart"), policy=Policy(review="on_failure"))
    found = driver.submit(made)
    answer(driver, "allow")
    label(driver, "two", "gpu")
    for sent in driver.take():
        driver.result(sent, outcome=Outcome.ERROR if sent.at.task == "look" else Outcome.OK, code=Code.TOOL_FAILED)
    claim(driver)
    said = propose(driver, Reassign(device=to, id="restart"), RemoveDependency(id="look>restart:success"))
    assert [one.reason for one in said.faults] == ([why] if why else [])
    assert {one.code for one in said.faults} <= {Code.NEEDS_APPROVAL}
    assert gone_to(driver) == ([] if why else ["d-one"])
    assert found.specs["restart"].device == (GPU if why else to)
    driver.folded_equals_state()


@pytest.mark.parametrize("moves", [True, False], ids=["another device", "the same device"])
def test_t252_a_preview_that_was_approved_binds_its_devices(moves: bool) -> None:
    driver = two()
    made = risky(of={"device": GPU})
    shown = seen_hash(driver.shard.fleet, made, by="person:ann")
    assert shown.startswith("h.")
    if moves:
        label(driver, "two", "gpu")
        label(driver, "one")
    found = driver.submit(made, plan_hash=shown)
    assert gone_to(driver) == ([] if moves else ["d-one"])
    if moves:
        assert asked(found).text.startswith("Run Restart? It may change on two.")
        assert asked(found).text.endswith(OTHER_DEVICES)
        answer(driver, "allow", question=asked(found).id)
        assert gone_to(driver) == ["d-two"]
    driver.folded_equals_state()


def test_t252_the_hash_of_a_plan_alone_names_no_devices() -> None:
    driver = two()
    found = driver.submit(risky(of={"device": GPU}), plan_hash="h")
    assert (found.head.state, gone_to(driver)) == (STATE.AWAITING_APPROVAL, [])
    named = driver.submit(risky(of={"device": "two"}), "c2", plan_hash="h")
    assert (named.head.state, gone_to(driver)) == (STATE.ACTIVE, ["d-two"])


def test_t252_a_schedule_is_not_saved_on_devices_that_nobody_saw() -> None:
    clock = Clockwork("2026-06-01T00:30", "one", "two")
    for name in ("one", "two"):
        clock.add_device(name, tools=[*TOOLS, RESTART])
    label(clock, "one", "gpu")
    made = risky(of={"device": GPU})
    shown = seen_hash(clock.shard.fleet, made, by="person:ann")
    label(clock, "two", "gpu")
    label(clock, "one")
    (refused,) = clock.ask_save(made, plan_hash=shown).faults
    assert (refused.code, refused.reason.endswith(OTHER_DEVICES)) == (Code.NEEDS_APPROVAL, True)
    given = clock.save(made, plan_hash=made.hash).consent
    assert given is not None
    assert given.devices == ["d-two"]


def test_t252_an_approved_preview_of_before_is_decided_as_it_was() -> None:
    settings = ShardSettings()
    settings.binds_approvals = 1
    driver = two(settings)
    driver.submit(risky(of={"device": GPU}), plan_hash="h")
    assert gone_to(driver) == ["d-one"]
