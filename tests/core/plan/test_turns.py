"""Families that go in turn: one item after the other, stopped where one does not end well, going on after a retry."""

from __future__ import annotations

from starloom.core.people.approvals.need import plan_effects
from starloom.core.rights.call_effects import effects_of_call
from starloom.core.state import inputs as i
from starloom_protocol.plan import check_plan
from starloom_protocol.records.entities import ForEach, Input, Offer, TaskSpec, ToolOffer
from starloom_protocol.values import canonical
from starloom_protocol.vocabulary import Attention, Code, Effect, Gate, Outcome, Profile, Reason, TaskState
from tests.builders import PURE, TOOLS, Driver, edge, plan, task
from tests.core.watched import WatchedDriver

EACH = ForEach(source="l", output="/l", in_turn=True)
SAME = ForEach(same="roll")
WAITS = ToolOffer(
    name="wait",
    repeatability=PURE,
    effects=[Effect.READ, Effect.REACH],
    effects_by={"what": {"file": [Effect.READ]}},
)


def rolling(*more: object, items: int = 3) -> WatchedDriver:
    driver = WatchedDriver("one")
    specs = (task("l"), task("roll", for_each=EACH), task("proof", "of=roll", for_each=SAME))
    driver.submit(plan(*specs, *more))  # type: ignore[arg-type]
    driver.result(driver.take()[0], {"l": list(range(items))})
    return driver


def fail(driver: Driver) -> None:
    (dispatch,) = driver.take()
    driver.result(dispatch, outcome=Outcome.ERROR, code=Code.TOOL_FAILED, detail="it broke")


def test_an_item_begins_when_all_of_the_one_before_has_ended() -> None:
    driver = rolling()
    order = []
    while dispatches := driver.take():
        (dispatch,) = dispatches
        order.append(dispatch.at.task)
        driver.result(dispatch, 1)
    assert order == ["roll.0", "proof.0", "roll.1", "proof.1", "roll.2", "proof.2"]
    assert driver.run() == "succeeded"
    driver.folded_equals_state()


def test_the_first_failure_stops_what_is_left_and_names_itself() -> None:
    driver = rolling()
    driver.result(driver.take()[0], 1)
    fail(driver)
    assert driver.take() == []
    found = driver.shard.constellations["c1"].tasks
    assert {name: found[name].cause for name in ("roll.1", "proof.1", "roll.2", "proof.2")} == dict.fromkeys(
        ("roll.1", "proof.1", "roll.2", "proof.2"), "proof.0"
    )
    assert found["roll.2"].reason is Reason.UPSTREAM_FAILED
    driver.folded_equals_state()


def test_what_was_left_goes_on_when_the_failure_is_mended() -> None:
    driver = rolling(items=2)
    fail(driver)
    assert driver.states()["roll.1"] == "skipped"
    assert not driver.control("retry", "roll.0").faults
    for expected in ("roll.0", "proof.0", "roll.1", "proof.1"):
        (dispatch,) = driver.take()
        assert dispatch.at.task == expected
        driver.result(dispatch, 1)
    assert driver.run() == "succeeded"


def test_a_branch_that_was_not_chosen_does_not_stop_the_next() -> None:
    driver = rolling(task("mend", for_each=SAME), edge("roll>mend", Gate.FAILURE), items=2)
    for _ in range(4):
        (dispatch,) = driver.take()
        driver.result(dispatch, 1)
    states = driver.states()
    assert (states["mend.0"], states["mend.1"], states["proof.1"]) == ("skipped", "skipped", "succeeded")


def test_a_family_says_it_at_its_root() -> None:
    each = {"from": "l", "output": "/l", "in_turn": True}
    tasks = [{"id": "l", "tool": "x"}, {"id": "g", "tool": "x", "for_each": each}]
    made = check_plan({"starloom": 1, "tasks": tasks})
    assert made.plan is not None
    assert [spec.for_each.in_turn for spec in made.plan.specs if spec.for_each] == [True]
    wrong = check_plan(
        {"starloom": 1, "tasks": [*tasks, {"id": "h", "tool": "x", "for_each": {"same": "g", "in_turn": True}}]}
    )
    assert [(item.place, item.hint) for item in wrong.faults] == [("tasks[2].for_each.in_turn", "Say it at `g`.")]


def offer(driver: Driver, device: str, answered: str) -> None:
    found = driver.shard.fleet.devices[device]
    told = Offer(digest=answered, facts={"answered": answered}, slots=4, tools=TOOLS)
    by = f"device:{device}"
    item = i.OfferReceived(
        id=answered, by=by, device=device, offer=told, os="linux", profile=Profile.OPERATE, session=found.session
    )
    driver.do(item)


def test_work_that_a_device_asks_its_owner_about_waits_for_that_device() -> None:
    driver = Driver("one", "two")
    driver.submit(plan(task("a", device="one"), task("b", device="two"), task("c", device="one")))
    by_task = {dispatch.at.task: dispatch for dispatch in driver.take()}
    for name in ("a", "b"):
        asked = f"asked about {name}. To allow it, type on the device: starloom-agent approve 1234"
        driver.result(by_task[name], outcome=Outcome.REFUSED, code=Code.NEEDS_APPROVAL, detail=asked)
    run = driver.shard.constellations["c1"]
    assert (run.tasks["a"].state, run.tasks["a"].reason) == (TaskState.READY, Reason.OWNER_ASKED)
    assert Attention.OWNER_ASKED in run.head.attention
    driver.result(by_task["c"], 1)
    offer(driver, "d-two", "x")
    assert [dispatch.at.task for dispatch in driver.take()] == ["b"]
    assert Attention.OWNER_ASKED in run.head.attention, "the other one still asks"
    offer(driver, "d-one", "y")
    assert [dispatch.at.task for dispatch in driver.take()] == ["a"]
    assert Attention.OWNER_ASKED not in run.head.attention
    driver.folded_equals_state()


def test_an_owner_may_take_longer_than_any_number_of_looks() -> None:
    driver = Driver("one")
    driver.submit(plan(task("a", tool="t.never")))
    for look in range(15):
        (dispatch,) = driver.take()
        driver.result(dispatch, outcome=Outcome.REFUSED, code=Code.NEEDS_APPROVAL, detail="asked")
        offer(driver, "d-one", str(look))
    assert driver.states()["a"] == "leased"
    driver.result(driver.take()[0], 1)
    assert driver.run() == "succeeded"


def test_other_work_that_starts_does_not_hide_that_an_owner_must_act() -> None:
    driver = Driver("one")
    driver.submit(plan(task("a"), task("b"), task("next", "of=b")))
    by_task = {dispatch.at.task: dispatch for dispatch in driver.take()}
    driver.result(by_task["a"], outcome=Outcome.REFUSED, code=Code.MISSING_GRANT, detail="needs files:read")
    driver.result(by_task["b"], 1)
    run = driver.shard.constellations["c1"]
    assert run.tasks["next"].state is TaskState.LEASED
    assert Attention.MISSING_GRANT in run.head.attention
    offer(driver, "d-one", "x")
    assert driver.states()["a"] == "leased"


def spec_of(what: object, *inputs: str) -> TaskSpec:
    args = canonical({} if what is None else {"what": what})
    return TaskSpec(
        id="w", changed_in=1, tool="wait", args=args, inputs=[Input(name=name, source="l") for name in inputs]
    )


def test_the_arguments_narrow_what_a_call_may_do() -> None:
    def effects(offer: ToolOffer, spec: TaskSpec) -> set[Effect]:
        return set(effects_of_call(offer, spec, lambda _tool: ()))

    whole = {Effect.READ, Effect.REACH}
    assert effects(WAITS, spec_of("file")) == {Effect.READ}
    assert effects(WAITS, spec_of("page")) == whole
    assert effects(WAITS, spec_of({"each": "/what"})) == whole
    assert effects(WAITS, spec_of(None)) == whole
    assert effects(WAITS, spec_of("file", "what")) == whole, "what comes later may be anything"
    assert effects(TOOLS[0], spec_of("file")) == {Effect.READ}


def test_a_plan_that_waits_for_a_file_asks_nobody() -> None:
    driver = Driver()
    driver.add_device("one", tools=[WAITS])
    assert plan_effects(driver.shard.fleet, plan(spec_of("file"))) == [Effect.READ]
    assert plan_effects(driver.shard.fleet, plan(spec_of("port"))) == [Effect.REACH, Effect.READ]
    driver.submit(plan(spec_of("file")))
    assert driver.states() == {"w": "leased"}
