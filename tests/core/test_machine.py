"""Random plans, reports, silences, edits, controls and restarts; in the end everything answers and must have an end."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import msgspec
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from starloom.core.answer.why import explain
from starloom.core.people.inquiries import due_moments
from starloom.core.run.timeouts import passed
from starloom.core.state import inputs as i
from starloom.core.state.model import Constellation
from starloom.core.state.orders import SendDispatch
from starloom_protocol.records.edits import (
    AddDependency,
    AddTask,
    DropItems,
    EditOperation,
    Expand,
    LoweredPlan,
    Reassign,
    RemoveDependency,
    RemoveTask,
    SetPolicy,
    UpdateDependency,
    UpdateTask,
)
from starloom_protocol.records.entities import (
    Check,
    Choice,
    Condition,
    Dependency,
    ForEach,
    Input,
    OnAbsence,
    Policy,
    ResultSpec,
    Retry,
    Reuse,
    RuleRecord,
    Selector,
    TaskSpec,
    ToolOffer,
    dependency_id,
)
from starloom_protocol.values import canonical
from starloom_protocol.vocabulary import Code, EffectSeen, Gate, Need, Op, Outcome, Reason, TaskState
from starloom_protocol.wire.frames import LeaseRef, Receipt, ResultFrame
from tests.builders import PURE, edge, plan, task, when
from tests.builders import TOOLS as OFFERED
from tests.core.watched import WatchedDriver

HUNT = int(os.environ.get("STARLOOM_HUNT", "0"))
QUICK = bool(os.environ.get("STARLOOM_NO_SHRINK"))
DEVICES = ("one", "two", "three")
TOOLS = ("t.pure", "t.never", "t.idem")
FUNCTION = ToolOffer(name="t.function", repeatability=PURE, effects=[])
CHOICES = [Choice(value="go", label="Go"), Choice(value="stop", label="Stop", fails=True)]
CODES = (Code.NETWORK, Code.TOOL_FAILED, Code.NO_SPACE, Code.TIMED_OUT, None)
VALUES = (
    {"l": [1, 2], "n": 1, "ok": True},
    {"l": [], "n": 2, "ok": False},
    {"l": "no list", "n": 3, "ok": True},
    {"l": [{"k": 1}, {"k": 2}, {"k": 3}], "n": 1, "ok": True},
    None,
)


@st.composite
def specs(draw: st.DrawFn, name: str, earlier: list[TaskSpec]) -> TaskSpec:
    """A task that may read what stands before it."""
    tasks = [spec.id for spec in earlier if spec.for_each is None]
    roots = [spec.id for spec in earlier if spec.for_each is not None and spec.for_each.same is None]
    inputs = [
        Input(
            name=f"in{number}",
            source=source,
            output=draw(st.sampled_from(["", "/n"])),
            optional=draw(st.booleans()),
            all=draw(st.booleans()),
        )
        for number, source in enumerate(
            draw(st.lists(st.sampled_from([spec.id for spec in earlier]), max_size=2, unique=True)) if earlier else []
        )
    ]
    fields: dict[str, Any] = {
        "optional": draw(st.booleans()),
        "retry": Retry(max_attempts=draw(st.sampled_from([0, 0, 1, 2])), on_check=draw(st.booleans())),
        "on_absence": draw(
            st.sampled_from(
                [OnAbsence(), OnAbsence(), OnAbsence(after_s=30, then="fail"), OnAbsence(after_s=30, then="wait")]
            )
        ),
    }
    kind = draw(st.sampled_from(["tool", "tool", "tool", "person", "list", "devices", "same"]))
    if draw(st.integers(0, 3)) == 0:
        fields["device"] = draw(st.sampled_from(DEVICES))
    if kind == "person":
        return task(name, person="Well?", choices=CHOICES, optional=fields["optional"]).__class__(
            id=name, changed_in=1, person="Well?", choices=CHOICES, inputs=inputs, optional=fields["optional"]
        )
    need = draw(st.sampled_from(list(Need)))
    common: dict[str, Any] = {"need": need, "need_count": 1 if need is Need.AT_LEAST else 0}
    if kind == "list" and tasks:
        each = ForEach(
            source=draw(st.sampled_from(tasks)), output="/l", max_parallel=draw(st.sampled_from([0, 1])), **common
        )
        fields["for_each"] = each
    elif kind == "devices":
        fields["for_each"] = ForEach(devices=Selector(os=draw(st.sampled_from(["linux", "linux", "plan9"]))), **common)
    elif kind == "same" and roots:
        fields["for_each"] = ForEach(same=draw(st.sampled_from(roots)), **common)
    if draw(st.integers(0, 4)) == 0:
        fields["checks"] = [Check(output="/ok", op=Op.EQ, value="true")]
    made = task(name, tool=draw(st.sampled_from(TOOLS)), **fields)
    if draw(st.integers(0, 4)) == 0:
        made = msgspec.structs.replace(made, tool=FUNCTION.name, reuse=Reuse(fresh_s=86_400))
    return msgspec.structs.replace(made, inputs=inputs)


@st.composite
def edges(draw: st.DrawFn, source: str, target: str) -> Dependency:
    gate = draw(st.sampled_from([Gate.SUCCESS, Gate.FAILURE, Gate.FINISH, Gate.UNLESS_FAILED, Gate.OUTPUT]))
    if gate is Gate.OUTPUT:
        return when(f"{source}>{target}", draw(st.sampled_from(["/n", "/ok"])), Op.EQ, draw(st.sampled_from([1, True])))
    return edge(f"{source}>{target}", gate, all=draw(st.booleans()))


@st.composite
def rules(draw: st.DrawFn, made: list[TaskSpec], order: int) -> RuleRecord:
    on = draw(st.sampled_from(made)).id
    groups = [spec.id for spec in made if spec.for_each is not None]
    operations: list[EditOperation] = [AddTask(spec=task(f"extra{order}", f"x={on}"))]
    kind = draw(st.integers(0, 3))
    if kind == 0 and groups:
        operations = [DropItems(of=draw(st.sampled_from(groups)), keys=draw(st.sampled_from(["[0]", "[1,2]"])))]
    elif kind == 1:
        operations = [RemoveTask(id=draw(st.sampled_from(made)).id)]
    elif kind == 2:
        operations.append(AddDependency(dependency=edge(f"extra{order}>{draw(st.sampled_from(made)).id}")))
    return RuleRecord(
        name=f"rule{order}",
        task=on,
        event=draw(st.sampled_from(["succeeded", "failed", "attempt_ended"])),
        operations=canonical(msgspec.to_builtins(operations)),
        order=order,
        reason="because",
        whole=draw(st.booleans()),
        attempts=draw(st.sampled_from([None, Condition(op=Op.GT, output="", value="1")])),
    )


@st.composite
def plans(draw: st.DrawFn) -> LoweredPlan:
    made: list[TaskSpec] = []
    for number in range(draw(st.integers(1, 5))):
        made.append(draw(specs(f"t{number}", made)))
    links: dict[str, Dependency] = {}
    for number in range(1, len(made)):
        for _ in range(draw(st.integers(0, 1))):
            source = made[draw(st.integers(0, number - 1))]
            link = draw(edges(source.id, made[number].id))
            if link.gate is not Gate.OUTPUT or (source.for_each is None and source.person is None):
                links[dependency_id(link)] = link
    return plan(
        *made,
        *links.values(),
        rules=[draw(rules(made, order)) for order in range(draw(st.integers(0, 2)))],
        policy=Policy(partial=draw(st.booleans())),
        results=[ResultSpec(source="t0", output="/n", title="N")] if draw(st.booleans()) else [],
    )


class Machine(RuleBasedStateMachine):
    """One hub's core against a world that says anything in any order."""

    def __init__(self) -> None:
        super().__init__()
        self.driver = WatchedDriver()
        self.known: list[SendDispatch] = []
        self.ledgers = dict.fromkeys(DEVICES, 1)

    @initialize(slots=st.integers(1, 3))
    def fleet(self, slots: int) -> None:
        for name in DEVICES:
            self.driver.add_device(name, slots=slots, tools=[*OFFERED, FUNCTION])

    def _gather(self) -> None:
        self.known.extend(self.driver.take())

    @rule(made=plans())
    @precondition(lambda self: len(self.driver.shard.constellations) < 3)
    def submit(self, made: LoweredPlan) -> None:
        name = f"c{len(self.driver.shard.constellations)}"
        item = i.RequestReceived(id=self.driver.ident(), by="person:ann", constellation=name, plan=made)
        self.driver.do(item)
        self._gather()

    @rule(made=plans(), approve=st.booleans())
    @precondition(lambda self: len(self.driver.shard.constellations) < 3)
    def submit_held(self, made: LoweredPlan, approve: bool) -> None:
        name = f"c{len(self.driver.shard.constellations)}"
        ask = i.RequestReceived(id=self.driver.ident(), by="person:ann", constellation=name, request="words", hold=True)
        self.driver.do(ask)
        self.driver.claim_job("plan-1", ttl_ms=1000, constellation=name, by="worker", worker="w1")
        proposed = i.PlanProposed(
            id=self.driver.ident(), by="worker", constellation=name, job="plan-1", plan=made, worker="w1"
        )
        if not self.driver.do(proposed).faults:
            self._answer(name, "approve-plan", "allow" if approve else "deny")
        self._gather()

    @rule(devices=st.lists(st.sampled_from(DEVICES), min_size=1, max_size=3))
    @precondition(lambda self: len(self.driver.shard.constellations) < 3)
    def look_first(self, devices: list[str]) -> None:
        name = f"c{len(self.driver.shard.constellations)}"
        ask = i.RequestReceived(id=self.driver.ident(), by="person:ann", constellation=name, request="words")
        self.driver.do(ask)
        self._claim(name, "plan-1")
        calls = [i.LookCall(device=device, tool="t.pure") for device in devices]
        self.driver.do(
            i.LooksProposed(
                id=self.driver.ident(), by="worker", calls=calls, constellation=name, job="plan-1", worker="w1"
            )
        )
        self._gather()

    def _claim(self, name: str, job: str) -> None:
        claimed = i.JobClaimed(
            id=self.driver.ident(), by="worker", constellation=name, job=job, ttl_ms=1000, worker="w1"
        )
        self.driver.do(claimed)

    @rule(made=plans())
    @precondition(lambda self: any(self._planned_next()))
    def plan_after_a_look(self, made: LoweredPlan) -> None:
        name, job = next(self._planned_next())
        self._plan(name, job, made)
        self._gather()

    def _planned_next(self) -> Iterator[tuple[str, str]]:
        for name, found in self.driver.shard.constellations.items():
            if found.head.state == "planning" and found.head.version == 0:
                yield from ((name, job.id) for job in found.jobs.values() if job.state != "done")

    def _plan(self, name: str, job: str, made: LoweredPlan) -> None:
        self._claim(name, job)
        self.driver.do(
            i.PlanProposed(
                id=self.driver.ident(), by="worker", by_model=True, constellation=name, job=job, plan=made, worker="w1"
            )
        )

    def _pick(self, number: int) -> SendDispatch:
        """Late ones more often: most reports are about open leases."""
        open_now = [item for item in self.known if self._is_open(item.at)]
        if open_now and number % 4:
            return open_now[number % len(open_now)]
        return self.known[number % len(self.known)]

    def _is_open(self, at: LeaseRef) -> bool:
        found = self.driver.shard.constellations[at.constellation]
        attempt = found.attempts.get(f"{at.task}/{at.attempt}")
        return attempt is not None and attempt.end is None

    @rule(
        number=st.integers(0, 1000),
        outcome=st.sampled_from([Outcome.OK, Outcome.OK, Outcome.OK, *Outcome]),
        value=st.sampled_from(VALUES),
        code=st.sampled_from(CODES),
        effect=st.sampled_from(EffectSeen),
        big=st.booleans(),
    )
    @precondition(lambda self: self.known)
    def result(
        self, number: int, outcome: Outcome, value: Any, code: Code | None, effect: EffectSeen, big: bool
    ) -> None:
        dispatch = self._pick(number)
        ok = outcome is Outcome.OK
        artifact = "a" * 64 if big and ok else None
        facts = {}
        if artifact and isinstance(value, dict):
            facts = {f"/{name}": canonical(item) for name, item in value.items() if f"/{name}" in dispatch.wants}
        frame = ResultFrame(
            at=dispatch.at,
            report=1,
            outcome=outcome,
            value=canonical(value) if ok and not artifact else None,
            artifact=artifact,
            facts=facts,
            code=None if ok else code,
            effect=EffectSeen.NONE if outcome in (Outcome.REFUSED, Outcome.NEVER_STARTED) else effect,
        )
        by = f"device:{dispatch.device}"
        self.driver.do(i.ResultReported(id=self.driver.ident(), by=by, device=dispatch.device, frame=frame))
        self._gather()

    @rule(number=st.integers(0, 1000))
    @precondition(lambda self: self.known)
    def started(self, number: int) -> None:
        self.driver.started(self._pick(number))
        self._gather()

    @rule(number=st.integers(0, 1000))
    @precondition(lambda self: self.known)
    def receipt(self, number: int) -> None:
        dispatch = self._pick(number)
        frame = Receipt(at=dispatch.at, report=1)
        by = f"device:{dispatch.device}"
        self.driver.do(i.ReceiptReported(id=self.driver.ident(), by=by, device=dispatch.device, frame=frame))
        self._gather()

    @rule(number=st.integers(0, 1000), state=st.sampled_from(["unknown", "started"]))
    @precondition(lambda self: self.known)
    def ledger(self, number: int, state: str) -> None:
        dispatch = self._pick(number)
        by = f"device:{dispatch.device}"
        self.driver.do(
            i.LedgerReported(id=self.driver.ident(), by=by, device=dispatch.device, at=dispatch.at, state=state)
        )
        self._gather()

    @rule(number=st.integers(0, 1000), wrong=st.sampled_from(["device", "incarnation", "attempt", "task"]))
    @precondition(lambda self: self.known)
    def lie(self, number: int, wrong: str) -> None:
        """A result that may not count: it changes nothing."""
        dispatch = self._pick(number)
        seen = len(self.driver.events)
        at, device = dispatch.at, ""
        match wrong:
            case "device":
                device = next(f"d-{name}" for name in DEVICES if f"d-{name}" != dispatch.device)
            case "incarnation":
                at = msgspec.structs.replace(at, incarnation=at.incarnation + 7)
            case "attempt":
                at = msgspec.structs.replace(at, attempt=at.attempt + 50)
            case _:
                at = msgspec.structs.replace(at, task="nothing")
        self.driver.result(dispatch, {"n": 9}, device=device, at=at)
        late = [event.kind for event in self.driver.events[seen:]]
        assert late in ([], ["result_late"])

    @rule(number=st.integers(0, 1000))
    @precondition(lambda self: self.known)
    def silence(self, number: int) -> None:
        self.driver.expire(self._pick(number).at)
        self._gather()

    @rule(number=st.integers(0, 1000))
    @precondition(lambda self: self.driver.timers)
    def timer(self, number: int) -> None:
        self.driver.fire(self.driver.timers[number % len(self.driver.timers)])
        self._gather()

    @rule()
    def sweep(self) -> None:
        for timer in list(passed(self.driver.shard, self.driver.now_ms)):
            self.driver.fire(timer)
        self._gather()

    @rule(ms=st.sampled_from([1, 1000, 40_000, 1_000_000]))
    def time_passes(self, ms: int) -> None:
        self.driver.now_ms += ms

    @rule(name=st.sampled_from(DEVICES), fresh=st.booleans())
    def connect(self, name: str, fresh: bool) -> None:
        self.ledgers[name] += fresh
        self.driver.connect(name, ledger=f"l{self.ledgers[name]}")
        self._gather()

    @rule(name=st.sampled_from(DEVICES))
    def disconnect(self, name: str) -> None:
        device = self.driver.shard.fleet.devices[f"d-{name}"]
        self.driver.do(
            i.DeviceDisconnected(
                id=self.driver.ident(), by="engine", device=device.id, reason="gone", session=device.session
            )
        )

    @rule(name=st.sampled_from(DEVICES), action=st.sampled_from(["drain", "resume", "revoke"]))
    def device_control(self, name: str, action: str) -> None:
        if action == "revoke" and name == "one":
            return
        self.driver.do(i.DeviceControlled(id=self.driver.ident(), by="person:ann", device=f"d-{name}", action=action))
        self._gather()

    def _some(self, number: int) -> Constellation:
        found = list(self.driver.shard.constellations.values())
        return found[number % len(found)]

    @rule(
        which=st.integers(0, 5),
        number=st.integers(0, 1000),
        action=st.sampled_from(["retry", "retry_from", "skip", "mark", "cancel", "hold", "release"]),
        confirm=st.booleans(),
        state=st.sampled_from(["succeeded", "failed", "skipped"]),
    )
    @precondition(lambda self: self.driver.shard.constellations)
    def control_task(self, which: int, number: int, action: str, confirm: bool, state: str) -> None:
        found = self._some(which)
        names = [*found.tasks, *found.groups]
        if not names:
            return
        self.driver.control(
            action,
            names[number % len(names)],
            name=found.name,
            confirm=list(found.tasks) if confirm else [],
            state=state,
            value=canonical({"l": [1], "n": 1, "ok": True}),
        )
        self._gather()

    @rule(which=st.integers(0, 5), action=st.sampled_from(["pause", "resume", "pause", "resume", "cancel"]))
    @precondition(lambda self: self.driver.shard.constellations)
    def control_constellation(self, which: int, action: str) -> None:
        self.driver.control(action, name=self._some(which).name)
        self._gather()

    def _answer(self, name: str, question: str, value: str, *, anyway: bool = True) -> None:
        self.driver.answer_question(question, value, name=name, anyway=anyway)

    @rule(which=st.integers(0, 5), value=st.sampled_from(["go", "stop", "allow", "deny"]), anyway=st.booleans())
    @precondition(lambda self: any(c.open_questions for c in self.driver.shard.constellations.values()))
    def answer(self, which: int, value: str, anyway: bool) -> None:
        found = self._some(which)
        if found.open_questions:
            self._answer(found.name, next(iter(found.open_questions)), value, anyway=anyway)
            self._gather()

    @rule(data=st.data(), which=st.integers(0, 5), behind=st.integers(0, 1))
    @precondition(lambda self: self.driver.shard.constellations)
    def edit(self, data: st.DataObject, which: int, behind: int) -> None:
        found = self._some(which)
        names = list(found.specs)
        if not names:
            return
        some = st.sampled_from(names)
        operations: list[EditOperation] = []
        for number in range(data.draw(st.integers(1, 2))):
            kind = data.draw(st.integers(0, 9))
            new = f"n{len(self.driver.events)}-{number}"
            keys = list(found.deps)
            if kind == 0:
                operations.append(AddTask(spec=data.draw(specs(new, list(found.specs.values())[:3]))))
            elif kind == 1:
                operations.append(RemoveTask(id=data.draw(some)))
            elif kind == 2:
                change = data.draw(
                    st.sampled_from([{"optional": b"true"}, {"inputs": b"[]"}, {"retry": b'{"max_attempts":2}'}])
                )
                raw = {name: msgspec.Raw(text) for name, text in change.items()}
                operations.append(UpdateTask(id=data.draw(some), changes=raw))
            elif kind == 3:
                operations.append(Reassign(id=data.draw(some), device=Selector(name="one")))
            elif kind in (4, 5):
                link = data.draw(edges(data.draw(some), data.draw(some)))
                operations.append(AddDependency(dependency=link))
            elif kind == 6 and keys:
                operations.append(RemoveDependency(id=data.draw(st.sampled_from(keys))))
            elif kind == 7 and keys:
                old = found.deps[data.draw(st.sampled_from(keys))]
                link = edge(f"{old.source}>{old.target}", Gate.FINISH)
                operations.append(UpdateDependency(id=dependency_id(old), dependency=link))
            elif kind == 8:
                operations.append(DropItems(of=data.draw(some), keys="[0,1]"))
            else:
                last: list[EditOperation] = [Expand(id=names[0]), SetPolicy(policy=Policy())]
                operations.append(data.draw(st.sampled_from(last)))
        self.driver.edit(*operations, base=max(found.head.version - behind, 0), name=found.name)
        self._gather()

    @rule()
    def restart(self) -> None:
        self.driver.restart()

    def teardown(self) -> None:
        driver = self.driver
        if not driver.shard.fleet.devices:
            return
        driver.restart()
        for name in DEVICES:
            if not driver.shard.fleet.devices[f"d-{name}"].revoked:
                self.device_control(name, "resume")
                driver.connect(name, ledger=f"l{self.ledgers[name]}")
        for _ in range(400):
            self._gather()
            if not self._push():
                break
        for name, found in driver.shard.constellations.items():
            if name not in driver.shard.live:
                continue
            states = {task: (record.state, record.reason) for task, record in found.tasks.items()}
            groups = {group: record.state for group, record in found.groups.items()}
            stuck = f"{name} is {found.head.state}, {list(found.head.attention)}: {states} {groups} {found.gate}"
            # The only excuse at the end: the plan asks for a device that a person revoked.
            ready = [task for task, record in found.tasks.items() if record.state is TaskState.READY]
            reasons = {explain(driver.shard, name, task).reason for task in ready}
            assert reasons == {Reason.NO_CAPABLE_DEVICE}, stuck

    def _push(self) -> bool:
        """Answer one thing that waits; False when nothing does."""
        driver = self.driver
        for name, job in self._planned_next():
            self._plan(name, job, plan(task("last")))
            return True
        for name, found in driver.shard.constellations.items():
            if name not in driver.shard.live:
                continue
            if found.head.state == "paused":
                driver.control("resume", name=name)
                return True
            if found.open_questions:
                question = next(iter(found.open_questions))
                self._answer(name, question, "allow" if question.startswith("approve-plan") else "go")
                return True
            for task_id, record in found.tasks.items():
                if record.held:
                    driver.control("release", task_id, name=name)
                    if record.state is TaskState.READY:
                        return True
                if record.reason is Reason.BACKOFF or record.state is TaskState.UNKNOWN:
                    if record.state is TaskState.UNKNOWN:
                        driver.control("mark", task_id, name=name, value='{"l":[1],"n":1,"ok":true}')
                    else:
                        timers = [t for t in driver.timers if (t.constellation, t.entity) == (name, task_id)]
                        driver.fire(timers[-1])
                    return True
            if found.head.state == "looking" and not found.open_attempts:
                driver.fire(next(due_moments(found)))
                return True
            for key in list(found.open_attempts):
                task_id, _, number = key.rpartition("/")
                attempt = found.attempts[key]
                at = LeaseRef(constellation=name, task=task_id, attempt=int(number), incarnation=attempt.incarnation)
                frame = ResultFrame(at=at, report=1, outcome=Outcome.OK, value='{"l":[1],"n":1,"ok":true}')
                by = f"device:{attempt.device}"
                driver.do(i.ResultReported(id=driver.ident(), by=by, device=attempt.device, frame=frame))
                return True
        return False


TestMachine = Machine.TestCase
TestMachine.settings = settings(
    max_examples=HUNT or 120,
    stateful_step_count=40,
    deadline=None,
    database=None,
    derandomize=not HUNT,
    phases=[Phase.generate] if HUNT or QUICK else list(Phase),
    suppress_health_check=list(HealthCheck),
)
