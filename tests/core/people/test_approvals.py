"""Approvals: what asks, the four answers, void by an edit, denied by time, and what `always` leaves standing."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from starloom.core.clock.timers import due_moments, is_stale
from starloom.core.state import inputs as i
from starloom.core.state.model import Constellation
from starloom.core.state.orders import Answer
from starloom.core.state.settings import ShardSettings
from starloom_protocol.records.edits import AddTask, EditOperation, LoweredPlan, UpdateTask
from starloom_protocol.records.entities import ForEach, Policy, Question, RuleRecord, Selector, TaskSpec, ToolOffer
from starloom_protocol.values import canonical, list_key
from starloom_protocol.vocabulary import Approval, Code, ConstellationState, Effect, Repeatability, TaskState
from tests.builders import TOOLS, Driver, plan, task

RESTART = ToolOffer(name="t.restart", repeatability=Repeatability.NEVER, effects=[Effect.CHANGE])
HOUR = 3_600_000
STATE = ConstellationState
NGINX = canonical({"name": "nginx"})


def fleet(*names: str, settings: ShardSettings | None = None) -> Driver:
    driver = Driver(settings=settings)
    for name in names:
        driver.add_device(name, tools=[*TOOLS, RESTART])
    return driver


def risky(*parts: TaskSpec, args: str = NGINX, hash: str = "h", **fields: Any) -> LoweredPlan:  # noqa: A002
    restart = task("restart", tool="t.restart", args=args, **fields.pop("of", {}))
    return plan(restart, *parts, name="Restart", hash=hash, **fields)


def answer(driver: Driver, value: str, *, at: str = "c1", question: str = "approve-plan", **more: Any) -> Answer:
    by = more.pop("by", "person:ann")
    return driver.do(
        i.QuestionAnswered(by=by, constellation=at, id=driver.ident(), question=question, value=value, **more)
    )


def edit(driver: Driver, *operations: EditOperation) -> Answer:
    return driver.edit(*operations, by="person:bob", reason="other")


def asked(found: Constellation) -> Question:
    (key,) = found.open_questions
    return found.questions[key]


def reason_of(reply: Answer) -> str:
    assert reply.faults
    return reply.faults[0].reason


def test_a_risky_plan_asks_bound_to_its_hash_and_starts_nothing_before() -> None:
    driver = fleet("one")
    run = driver.submit(risky())
    question = asked(run)
    assert (run.head.state, question.action, question.version) == (STATE.AWAITING_APPROVAL, "h", 1)
    assert (question.effects, question.expires_ms) == ([Effect.CHANGE], driver.now_ms + 24 * HOUR)
    assert driver.dispatched == []
    assert not answer(driver, "allow").faults
    assert [sent.at.task for sent in driver.dispatched] == ["restart"]
    told = run.questions["approve-plan"]
    assert (told.answer, told.answered_by, told.answered_ms) == ("allow", "person:ann", driver.now_ms)


def test_question_says_what_it_may_do_and_where_without_ids_of_tools() -> None:
    driver = fleet("one")
    constellation = driver.submit(risky(task("look")), request="tidy up")
    asked = constellation.questions["approve-plan"]
    assert asked.text == "Run Restart? It may change on one. Its other tasks only read."
    assert [call.tool for call in asked.calls] == ["t.restart"]


def test_question_says_each_effect_beside_its_own_device() -> None:
    driver = fleet("one")
    remove = ToolOffer(name="t.remove", repeatability=Repeatability.NEVER, effects=[Effect.DESTROY])
    driver.add_device("two", tools=[*TOOLS, remove])
    constellation = driver.submit(risky(task("remove", tool="t.remove"), task("store", tool="t.idem")))
    assert asked(constellation).text == "Run Restart? It may change on one; destroy on two. Its other tasks may write."


def test_question_names_the_device_of_a_call_that_a_rule_adds() -> None:
    driver = fleet("one", "two")
    spec = {"args": NGINX, "device": {"name": "two"}, "id": "again", "tool": "t.restart"}
    added = canonical([{"op": "add_task", "spec": spec}])
    rule = RuleRecord(event="failed", name="r", operations=added, order=0, reason="mend", task="look")
    constellation = driver.submit(plan(task("look"), name="Look", rules=[rule]))
    assert asked(constellation).text == "Run Look? It may change on two. Its other tasks only read."


UPTIME: dict[str, Any] = {"argv": ["uptime"], "device_name": "one"}


@pytest.mark.parametrize(
    ("args", "device", "asks"),
    [
        (UPTIME, "one", False),
        (UPTIME, "two", True),
        (UPTIME, None, True),
        ({**UPTIME, "argv": ["uptime", "-p"]}, "one", True),
        ({**UPTIME, "stdin": "x"}, "one", True),
        ({**UPTIME, "cwd": "/srv"}, "one", True),
        ({**UPTIME, "env": {"PATH": "/tmp"}}, "one", True),
    ],
    ids=str,
)
def test_a_command_that_its_owner_declared_to_read_asks_nobody_on_that_device(
    args: dict[str, Any], device: str | None, asks: bool
) -> None:
    run = ToolOffer(name="shell.run", repeatability=Repeatability.NEVER, effects=[Effect.READ, Effect.DESTROY])
    driver = fleet()
    declared = {"argv": {list_key(["uptime"]): [Effect.READ]}}
    driver.add_device("one", tools=[replace(run, effects_by=declared)])
    driver.add_device("two", tools=[run])
    current = driver.submit(plan(task("run", tool="shell.run", args=canonical(args), device=device)))
    assert (current.head.state is STATE.AWAITING_APPROVAL) == asks


@pytest.mark.parametrize(("under", "told"), [(".", " (in '/srv/backup box')"), ("Copies", "")])
def test_question_names_the_folder_that_a_call_means_by_a_dot(under: str, told: str) -> None:
    driver = fleet()
    write = ToolOffer(name="fs.write", repeatability=Repeatability.NEVER, effects=[Effect.CHANGE], grant="files:write")
    facts = {"reads": "/home/ann", "writes": "/srv/backup box\n/srv/more"}
    driver.add_device("one", tools=[*TOOLS, write], facts_told=facts)
    driver.add_device("two", tools=TOOLS)
    copy = task("copy", tool="fs.write", args=canonical({"under": under}))
    constellation = driver.submit(plan(copy, name="Copy"))
    assert asked(constellation).text == f"Run Copy? It may change on one{told}."


def test_question_tells_devices_that_can_from_those_that_could_later() -> None:
    driver = fleet("one")
    for name in ("two", "three"):
        driver.add_device(name, tools=[*TOOLS, replace(RESTART, unavailable="python:run is not granted")])
    run = driver.submit(risky())
    assert asked(run).text == "Run Restart? It may change on one, and on three and two once they can."
    only = driver.submit(risky(of={"device": "two"}), "c2")
    assert asked(only).text == "Run Restart? It may change on two once it can."


def test_question_about_a_plan_called_run_says_it_once() -> None:
    driver = fleet("one", "two")
    constellation = driver.submit(replace(risky(), name="Run everywhere"))
    assert constellation.questions["approve-plan"].text == "Run everywhere? It may change on one and two."


def test_a_denial_ends_it_with_the_reason_and_who_said_it() -> None:
    driver = fleet("one")
    run = driver.submit(risky())
    answer(driver, "deny", reason="not on a Friday")
    assert run.head.state is STATE.CANCELLED
    assert run.head.fault is not None
    assert run.head.fault.reason == "the plan was denied: not on a Friday"
    assert run.questions["approve-plan"].reason == "not on a Friday"
    assert driver.dispatched == []


def test_the_same_answer_again_is_the_same_answer_and_another_is_refused() -> None:
    driver = fleet("one")
    driver.submit(risky())
    answer(driver, "allow")
    events = len(driver.events)
    assert answer(driver, "allow").value == {"answer": "allow"}
    assert len(driver.events) == events
    assert "answered by ann with allow" in reason_of(answer(driver, "deny"))
    assert answer(driver, "allow", by="person:bob").faults[0].code is Code.CONFLICT
    assert len(driver.events) == events


@pytest.mark.parametrize("by", ["planner", "engine", "device:d-one", "rule:x", "schedule:s"])
def test_only_a_person_answers(by: str) -> None:
    driver = fleet("one")
    run = driver.submit(risky())
    assert answer(driver, "allow", by=by).faults[0].code is Code.FORBIDDEN
    assert run.head.state is STATE.AWAITING_APPROVAL


def test_an_unknown_answer_is_refused() -> None:
    driver = fleet("one")
    driver.submit(risky())
    assert "allow, deny or always" in reason_of(answer(driver, "yes"))


def test_nobody_s_answer_is_a_no() -> None:
    driver = fleet("one", settings=ShardSettings(approval_ms=2 * HOUR))
    run = driver.submit(risky())
    (timer,) = [timer for timer in driver.timers if timer.kind == "approval"]
    assert timer in list(due_moments(driver.shard))
    driver.now_ms += 2 * HOUR - 1
    driver.fire(replace(timer, due_ms=0))
    assert run.head.state is STATE.AWAITING_APPROVAL
    driver.now_ms += 1
    driver.fire(timer)
    told = run.questions["approve-plan"]
    assert (run.head.state, told.answer, told.answered_by) == (STATE.CANCELLED, "deny", "engine")
    assert told.reason == "nobody answered within 2 hours, which is a no"
    assert "answered by engine with deny" in reason_of(answer(driver, "allow"))
    assert is_stale(driver.shard, timer)


def test_an_edit_voids_what_was_asked_and_asks_anew() -> None:
    driver = fleet("one")
    run = driver.submit(risky())
    first = asked(run)
    driver.now_ms += HOUR
    assert not edit(driver, UpdateTask(id="restart", changes={"args": b'"{}"'})).faults  # type: ignore[dict-item]
    second = asked(run)
    assert (second.id, second.version, second.expires_ms) == ("approve-plan-2", 2, driver.now_ms + 24 * HOUR)
    assert second.action not in (None, first.action)
    assert "The plan was changed since." in second.text
    assert "asked now: c1:approve-plan-2" in reason_of(answer(driver, "allow"))
    assert run.head.state is STATE.AWAITING_APPROVAL
    assert not answer(driver, "allow", question="approve-plan-2").faults
    assert str(run.head.state) == "active"


def test_always_lets_the_same_call_here_pass_until_it_is_taken_back() -> None:
    driver = fleet("one")
    driver.submit(risky())
    answer(driver, "always")
    (kept,) = driver.shard.fleet.standing.values()
    assert (kept.tool, kept.args, kept.devices, kept.by) == ("t.restart", NGINX, ["d-one"], "person:ann")
    assert driver.submit(risky(hash="h2"), "c2").head.state is STATE.ACTIVE
    taken = driver.do(i.StandingRevoked(by="person:ann", id=driver.ident(), standing=kept.id))
    assert (taken.value, driver.shard.fleet.standing) == ({"id": kept.id}, {})
    assert driver.submit(risky(hash="h3"), "c3").head.state is STATE.AWAITING_APPROVAL
    again = driver.do(i.StandingRevoked(by="person:ann", id=driver.ident(), standing=kept.id))
    assert again.faults[0].code is Code.NOT_FOUND


def test_always_is_no_wider_than_arguments_devices_and_effects() -> None:
    driver = fleet("one")
    driver.submit(risky())
    answer(driver, "always")
    assert driver.submit(risky(args=canonical({"name": "ssh"})), "c2").head.state is STATE.AWAITING_APPROVAL
    driver.add_device("two", tools=[*TOOLS, RESTART])
    assert driver.submit(risky(), "c3").head.state is STATE.AWAITING_APPROVAL
    here = risky(of={"device": "one"})
    assert driver.submit(here, "c4").head.state is STATE.ACTIVE
    worse = ToolOffer(name="t.restart", repeatability=Repeatability.NEVER, effects=[Effect.CHANGE, Effect.DESTROY])
    driver.add_device("one", tools=[*TOOLS, worse])
    assert driver.submit(here, "c5").head.state is STATE.AWAITING_APPROVAL


def test_a_standing_call_does_not_carry_its_neighbour() -> None:
    driver = fleet("one")
    driver.submit(risky())
    answer(driver, "always")
    other = task("other", tool="t.restart", args=canonical({"name": "ssh"}))
    run = driver.submit(risky(other), "c2")
    assert [call.task for call in asked(run).calls] == ["other"]


def rule_that_adds(tool: str) -> RuleRecord:
    added = AddTask(spec=task("late", tool=tool))
    return RuleRecord(
        event="failed", name="r", operations=canonical([_plain(added)]), order=0, reason="mend", task="look"
    )


def _plain(operation: AddTask) -> Any:
    return {"op": "add_task", "spec": {"id": operation.spec.id, "tool": operation.spec.tool, "changed_in": 0}}


@pytest.mark.parametrize(
    ("made", "why"),
    [
        (risky(policy=Policy(approval=Approval.ALWAYS)), "its policy asks each time"),
        (risky(task("look"), of={"device": "gone"}), "no device offers t.restart for restart now"),
        (
            plan(task("look"), task("restart", "name=look", tool="t.restart")),
            "restart takes arguments from the results of other tasks",
        ),
        (
            plan(task("look"), task("each", tool="t.restart", for_each=ForEach(source="look", output="/l"))),
            "each takes arguments from the results of other tasks",
        ),
        (plan(task("look"), rules=[rule_that_adds("t.restart")]), "a rule may add late while it runs"),
        (plan(*(task(f"r{n}", tool="t.restart") for n in range(21))), "it makes 21 such calls"),
        (risky(args=canonical({"text": "x" * 5000})), "the arguments of restart are longer"),
    ],
)
def test_what_can_only_be_allowed_once_says_why(made: LoweredPlan, why: str) -> None:
    driver = fleet("one")
    question = asked(driver.submit(made))
    assert question.calls == []
    assert why in question.once_because
    assert why in reason_of(answer(driver, "always"))
    assert not answer(driver, "allow").faults


def test_a_plan_held_on_purpose_asks_each_time() -> None:
    driver = fleet("one")
    run = driver.submit(plan(task("a")), hold=True)
    assert asked(run).once_because == "it was submitted to wait for a person"


def test_a_family_over_devices_is_allowed_for_those_devices() -> None:
    driver = fleet("one", "two")
    each = risky(of={"for_each": ForEach(devices=Selector(os="linux"))})
    driver.submit(each)
    answer(driver, "always")
    (kept,) = driver.shard.fleet.standing.values()
    assert kept.devices == ["d-one", "d-two"]
    assert driver.submit(each, "c2").head.state is STATE.ACTIVE


def test_what_is_allowed_for_good_has_an_end() -> None:
    driver = fleet("one")
    driver.shard.settings.standing_most = 1
    driver.submit(risky())
    assert not answer(driver, "always").faults
    run = driver.submit(risky(args=canonical({"name": "ssh"})), "c2")
    assert answer(driver, "always", at="c2").faults[0].code is Code.CONFLICT
    assert run.head.state is STATE.AWAITING_APPROVAL
    assert not answer(driver, "allow", at="c2").faults


def test_a_plan_that_was_changed_to_what_is_allowed_already_is_allowed_once() -> None:
    driver = fleet("one")
    driver.submit(risky())
    assert not answer(driver, "always").faults
    waits = driver.submit(risky(args=canonical({"name": "ssh"})), "c2")
    args = {"args": canonical(NGINX).encode()}
    driver.do(
        i.EditProposed(
            base_version=waits.head.version,
            by="person:ann",
            constellation="c2",
            id=driver.ident(),
            operations=[UpdateTask(id="restart", changes=args)],  # type: ignore[arg-type]
        )
    )
    (key,) = waits.open_questions
    refused = answer(driver, "always", at="c2", question=key).faults[0]
    assert "nothing in the plan as it is now needs to be allowed for good" in refused.reason
    assert not answer(driver, "allow", at="c2", question=key).faults
    assert waits.head.state is STATE.ACTIVE


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("answer"), st.sampled_from(["allow", "deny", "always"]), st.integers(0, 3)),
        st.tuples(st.just("edit"), st.sampled_from(["nginx", "ssh"]), st.integers(0, 3)),
        st.tuples(st.just("wait"), st.sampled_from(["1", "13", "25"]), st.just(0)),
        st.tuples(st.just("submit"), st.sampled_from(["nginx", "ssh"]), st.just(0)),
        st.tuples(st.just("revoke"), st.just(""), st.just(0)),
    ),
    max_size=12,
)


@given(STEPS)
def test_nothing_risky_starts_that_nobody_allowed(steps: list[tuple[str, str, int]]) -> None:
    """Whatever happens in whatever order: each call that is sent was allowed as it is, in time, by a person."""
    driver = fleet("one")
    allowed_for_good: set[str] = set()
    may_start: dict[str, str] = {}

    def submit(args: str) -> None:
        name = f"c{len(driver.shard.constellations) + 1}"
        if args in allowed_for_good:
            may_start[name] = args
        driver.submit(risky(args=args, hash=f"h-{name}"), name)

    def change(found: Constellation, args: str) -> None:
        changed = UpdateTask(id="restart", changes={"args": canonical(args).encode()})  # type: ignore[dict-item]
        driver.edit(changed, base=found.head.version, name=found.name, by="person:bob")

    submit(NGINX)
    for verb, word, number in steps:
        constellations = list(driver.shard.constellations.values())
        found = constellations[number % len(constellations)]
        args = canonical({"name": word})
        if verb == "submit":
            submit(args)
        elif verb == "edit" and found.head.state is STATE.AWAITING_APPROVAL:
            change(found, args)
        elif verb == "revoke":
            for key in list(driver.shard.fleet.standing):
                driver.do(i.StandingRevoked(by="person:ann", id=driver.ident(), standing=key))
            allowed_for_good.clear()
        elif verb == "wait":
            driver.now_ms += int(word) * HOUR
            for timer in list(due_moments(driver.shard)):
                if timer.kind == "approval" and timer.due_ms <= driver.now_ms:
                    driver.fire(timer)
        elif verb == "answer" and found.questions:
            question = list(found.questions.values())[number % len(found.questions)]
            still_open = question.answer is None
            now_args = found.specs["restart"].args
            reply = answer(driver, word, at=found.name, question=question.id)
            nothing_to_keep = word == "always" and not question.calls
            again = (question.answer, question.answered_by) == (word, "person:ann")
            taken = again or (still_open and not nothing_to_keep)
            assert bool(reply.faults) != taken
            if still_open and taken and word != "deny":
                may_start[found.name] = now_args
                if word == "always":
                    allowed_for_good.add(now_args)
        sent = {sent.at.constellation: sent.args for sent in driver.dispatched}
        assert {name: may_start.get(name) for name in sent} == sent
        for each in driver.shard.constellations.values():
            waits = each.head.state is STATE.AWAITING_APPROVAL
            assert waits == bool(each.open_questions)
            assert all(record.attempt == 0 for record in each.tasks.values()) or each.name in may_start
            assert not waits or all(record.state is not TaskState.LEASED for record in each.tasks.values())


def test_a_plan_whose_devices_are_gone_is_approved_only_knowingly() -> None:
    driver = fleet("one", "two")
    either = Selector(any=[Selector(name="one"), Selector(name="two")])
    driver.submit(risky(task("look", device=either), of={"device": Selector(name="one")}))
    driver.do(i.DeviceControlled(action="revoke", by="person:ann", device="d-one", id=driver.ident()))
    refused = answer(driver, "allow").faults[0]
    assert refused.code is Code.CONFLICT
    assert refused.reason.startswith("one, which was revoked on ")
    assert refused.reason.endswith(", is gone: restart cannot run")
    assert "--anyway" in refused.hint
    assert driver.state() == "awaiting_approval"
    assert answer(driver, "allow", anyway=True).faults == []
    assert driver.state() == "active"


def test_a_plan_whose_devices_are_gone_is_denied_and_a_new_device_of_the_name_takes_it() -> None:
    driver = fleet("one")
    for name in ("c1", "c2"):
        driver.submit(risky(of={"device": Selector(name="one")}), name=name)
    driver.do(i.DeviceControlled(action="revoke", by="person:ann", device="d-one", id=driver.ident()))
    assert answer(driver, "always").faults[0].code is Code.CONFLICT
    assert answer(driver, "deny").faults == []
    driver.add_device("other", tools=[*TOOLS, RESTART])
    driver.do(i.DeviceControlled(action="rename", by="person:ann", device="d-other", id=driver.ident(), value="one"))
    assert answer(driver, "allow", at="c2").faults == []
