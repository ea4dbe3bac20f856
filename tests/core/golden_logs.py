"""Writes the golden logs that Python and TypeScript fold alike: `python -m tests.core.golden_logs`.

A log that stands is never written again: what was decided once must fold to the same bytes for ever. To add one,
add a scenario here and run this.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.resources import files
from pathlib import Path

import msgspec

from starloom.core.placement.device_groups.off_devices import TIMER as OFF
from starloom.core.run.timeouts import passed
from starloom.core.state import inputs as i
from starloom.core.state.apply import load
from starloom_protocol.records.edits import AddDependency, AddTask, DropItems, RemoveTask, SetPolicy, Supersede
from starloom_protocol.records.entities import (
    Check,
    Choice,
    Condition,
    Enrollment,
    ForEach,
    Input,
    Offer,
    Policy,
    ResultSpec,
    RuleRecord,
    Selector,
    TaskSpec,
    Timeouts,
    VerifyCall,
)
from starloom_protocol.records.lab import FaultKind, FaultTarget
from starloom_protocol.stream.feed import FLEET, encode_event, state_hash
from starloom_protocol.values import canonical
from starloom_protocol.vocabulary import Code, DeviceLink, Gate, Need, Op, Outcome, Profile
from starloom_protocol.wire.frames import BEGUN
from tests.builders import MAYBE, TOOLS, Driver, edge, plan, task, when

FOLDER = Path(str(files("starloom_protocol"))) / "golden" / "v1" / "logs"


def rule(name: str, on: str, operations: list[object], order: int = 0, **fields: object) -> RuleRecord:
    """A rule on the success of a task."""
    text = canonical(msgspec.to_builtins(operations))
    return RuleRecord(name=name, task=on, event="succeeded", operations=text, order=order, **fields)  # type: ignore[arg-type]


def chain() -> Driver:
    driver = Driver("one")
    driver.submit(
        plan(task("a"), task("b", "x=a/v"), task("c", "x=b"), edge("a>c"), name="A chain", params='{"n":1}'),
        request="do a, then b, then c",
        labels={"kind": "golden"},
    )
    while dispatches := driver.take():
        driver.now_ms += 1_500
        driver.started(dispatches[0])
        driver.now_ms += 2_500
        driver.result(dispatches[0], {"v": 1, "text": "Grüße, 世界 🌱"})
    return driver


def failure_and_skip() -> Driver:
    driver = Driver("one", "two")
    driver.submit(
        plan(
            task("a"),
            task("b"),
            task("mend"),
            task("d"),
            task("e"),
            edge("a>b"),
            edge("a>mend", Gate.FAILURE),
            edge("b>d"),
            edge("d>e", Gate.FINISH),
            policy=Policy(partial=True),
            name="A failure",
        )
    )
    (first,) = driver.take()
    driver.started(first)
    driver.now_ms += 3_000
    driver.result(first, outcome=Outcome.ERROR, code=Code.NETWORK, detail="no route to host")
    driver.fire(driver.timers.pop())
    (second,) = driver.take()
    driver.result(second, outcome=Outcome.ERROR, code=Code.TOOL_FAILED, detail="boom\nsecond line", tail="…last words")
    driver.run(value={"ok": True})
    return driver


def photo_backup() -> Driver:
    driver = Driver("phone", "server", slots=3)
    drop = rule(
        "duplicates",
        "digest",
        [DropItems(of="send", keys='{"output":"/duplicates"}')],
        condition=Condition(op=Op.NOT_EMPTY, output="/duplicates"),
        reason="the same pictures are in another folder",
    )
    recheck = rule(
        "recheck",
        "send",
        [
            AddTask(spec=task("recheck", "files=copy/files", device="server")),
            AddDependency(dependency=edge("recheck>proof")),
        ],
        1,
        attempts=Condition(op=Op.GT, output="", value="1"),
        reason="this copy was interrupted and made again",
    )
    choices = [Choice(value="go", label="Copy"), Choice(value="stop", label="Stop", fails=True)]
    driver.submit(
        plan(
            task("list", device="phone"),
            task("digest", "folders=list/folders", device="phone"),
            task("space", "need=list/total_bytes", device="server"),
            task("ask-room", person="There is little room. Copy all the same?", choices=choices),
            task(
                "send",
                tool="t.idem",
                device="phone",
                for_each=ForEach(source="list", output="/folders", max_parallel=2),
                args='{"paths":{"each":"/files"}}',
            ),
            task("copy", "files=send/files", tool="t.idem", device="server", for_each=ForEach(same="send")),
            task("proof", "catalogue=copy/files", device="server"),
            task("tell", "count=proof/files", device="phone", optional=True),
            when("space>ask-room", "/enough", Op.EQ, False),
            edge("ask-room>send", Gate.UNLESS_FAILED),
            rules=[drop, recheck],
            results=[ResultSpec(source="proof", title="Proof", output="/files", show="table")],
            policy=Policy(partial=True),
            name="Photo backup",
        ),
        request="back up the pictures of phone to server",
    )
    (listed,) = driver.take()
    folders = [{"path": f"p{n}", "files": [f"p{n}/{m}.png" for m in range(2)]} for n in range(4)]
    driver.result(
        listed,
        {"folders": folders, "total_bytes": 12},
        facts={"/folders": canonical(folders)},
    )
    by_task = {item.at.task: item for item in driver.take()}
    driver.result(by_task["space"], {"enough": True}, facts={"/enough": "true"})
    by_task |= {item.at.task: item for item in driver.take()}
    driver.started(by_task["send.0"])
    driver.started(by_task["send.1"])
    driver.now_ms += 4_000
    driver.result(by_task["digest"], {"duplicates": [3]}, facts={"/duplicates": "[3]"})
    driver.result(by_task["send.1"], outcome=Outcome.INTERRUPTED, effect=MAYBE)
    driver.run(value={"files": ["a", "b"]})
    return driver


def cancel() -> Driver:
    driver = Driver("one", slots=2)
    driver.submit(plan(task("a"), task("n", tool="t.never"), task("b", "x=a"), task("ask", person="Well?")))
    first, second = driver.take()
    driver.started(first)
    driver.started(second)
    driver.control("cancel", reason="changed my mind")
    driver.now_ms += 1_000
    driver.receipt(first)
    driver.result(second, {"done": 1})
    return driver


def retry_round() -> Driver:
    driver = Driver("one")
    driver.submit(
        plan(task("a"), task("b", "x=a"), task("c", "x=b"), task("g", "x=b", for_each=ForEach(source="b", output="/l")))
    )
    (dispatch,) = driver.take()
    driver.result(dispatch, outcome=Outcome.ERROR, code=Code.TOOL_FAILED)
    driver.now_ms += 60_000
    driver.control("retry", "a", reason="it is mended")
    (dispatch,) = driver.take()
    driver.control("hold", "c")
    driver.result(dispatch, {"v": 1})
    driver.edit(
        AddTask(spec=task("d", "x=a")),
        AddTask(spec=task("gone")),
        AddDependency(dependency=edge("d>c")),
        SetPolicy(policy=Policy(partial=True)),
        base=1,
        reason="one more look",
    )
    driver.control("pause")
    driver.control("release", "c")
    driver.control("resume")
    driver.run(value={"l": [{"k": 1}, {"k": 2}]})
    driver.control("retry_from", "b")
    driver.run(value={"l": [{"k": 1}, {"k": 2}]})
    return driver


def superseded() -> Driver:
    driver = Driver("one")
    driver.submit(plan(task("copy"), task("last", device="away")))
    (dispatch,) = driver.take()
    driver.result(dispatch, outcome=Outcome.ERROR, code=Code.TOOL_FAILED)
    driver.edit(AddTask(spec=task("copy-2")), Supersede(by="copy-2", task="copy"), base=1, reason="another way")
    driver.run(value=1)
    driver.control("skip", "last")
    return driver


def list_over_a_group() -> Driver:
    driver = Driver("one", slots=4)
    each = ForEach(source="made", output="/files", flatten=True)
    driver.submit(plan(task("l"), task("made", for_each=ForEach(source="l", output="")), task("file", for_each=each)))
    (dispatch,) = driver.take()
    driver.result(dispatch, ["a", "b"])
    for number, dispatch in enumerate(driver.take()):
        driver.result(dispatch, {"files": [number, number + 10]})
    driver.run(value=1)
    driver.control("retry_from", "made.1")
    (dispatch,) = driver.take()
    driver.result(dispatch, {"files": [1]})
    driver.run(value=1)
    return driver


def remembered() -> Driver:
    driver = Driver("one")
    driver.shard.incarnation = 2
    driver.submit(plan(task("a", tool="t.never"), task("b", "x=a")))
    (dispatch,) = driver.take()
    begun = msgspec.structs.replace(dispatch.at, incarnation=1)
    driver.do(i.LedgerReported(id="l1", by="device:d-one", device="d-one", at=begun, state=BEGUN))
    (dispatch,) = driver.take()
    driver.result(dispatch, 1)
    driver.run(value=1)
    return driver


def unknown() -> Driver:
    driver = Driver("one")
    driver.submit(plan(task("a", tool="t.never"), task("b", "x=a"), name="May have happened"))
    (dispatch,) = driver.take()
    driver.started(dispatch)
    driver.expire(dispatch.at)
    driver.connect("one")
    driver.result(dispatch, outcome=Outcome.INTERRUPTED, effect=MAYBE, detail="the agent was killed")
    driver.control("mark", "a", value='{"n":7}', reason="looked there: it was done")
    driver.run(value=1)
    return driver


def verified() -> Driver:
    driver = Driver("one")
    call = VerifyCall(expect=[Check(op=Op.EQ, output="/there", value="true")], tool="t.pure")
    driver.submit(plan(task("a", tool="t.never", verify=call), task("b", "x=a/there"), name="Looked at"))
    for there in (False, True):
        (dispatch,) = driver.take()
        driver.started(dispatch)
        driver.result(dispatch, outcome=Outcome.INTERRUPTED, effect=MAYBE, detail="the agent was killed")
        (look,) = driver.take()
        driver.result(look, {"there": there})
    driver.run(value=1)
    return driver


def rejected_rule_and_removal() -> Driver:
    driver = Driver("one", slots=1)
    driver.submit(
        plan(
            task("a"),
            task("b", "x=a"),
            task("c"),
            rules=[rule("bad", "a", [RemoveTask(id="nothing")], reason="cannot work")],
        )
    )
    driver.edit(RemoveTask(id="c"), base=1, reason="not wanted")
    driver.run(value=1)
    return driver


def fleet() -> Driver:
    driver = Driver()
    enrollment = Enrollment(id="e1", code_hash="x", created_ms=0, expires_ms=9_000_000, owner="ann", label="laptop")
    driver.do(i.EnrollmentOpened(id=driver.ident(), by="person:ann", enrollment=enrollment))
    request = i.EnrollmentAsked(
        id=driver.ident(),
        by="device",
        device="d-laptop",
        enrollment="e1",
        key="k",
        name="box",
        os="linux",
        profile=Profile.WORK,
        words="one two",
    )
    driver.do(request)
    driver.do(i.EnrollmentDecided(id=driver.ident(), by="person:ann", enrollment="e1", allow=True))
    driver.connect("laptop")
    driver.do(
        i.OfferReceived(
            id=driver.ident(),
            by="device:d-laptop",
            device="d-laptop",
            offer=Offer(digest="x", slots=2, tools=TOOLS, facts={"arch": "x86_64"}),
            os="linux",
            profile=Profile.WORK,
            session=1,
        )
    )
    condition = i.ConditionReceived(
        id=driver.ident(), by="device:d-laptop", device="d-laptop", facts={"battery": "80"}, session=1
    )
    driver.do(condition)
    for action, value in (("rename", "läptop"), ("label", '["b","a"]'), ("drain", ""), ("resume", ""), ("revoke", "")):
        driver.do(i.DeviceControlled(id=driver.ident(), by="person:ann", device="d-laptop", action=action, value=value))
    return driver


def list_made_anew() -> Driver:
    """A list made anew, a plan within the plan, an attempt over its time, a pause, a draft."""
    driver = Driver("one", slots=4)
    each = ForEach(source="list", output="/l")
    driver.submit(
        plan(
            task("list"),
            task("g", for_each=each),
            task("outer", nested=True, tool=None),
            task("outer.rows", "rows=g", group="outer", timeouts=Timeouts(start_to_close_s=60)),
            results=[ResultSpec(source="g", title="Each")],
            name="A list made anew",
        )
    )
    driver.run(
        value=lambda dispatch: {"l": ["a", "b", "c"]} if dispatch.at.task == "list" else {"of": dispatch.at.task}
    )
    driver.control("retry_from", "list", reason="there are new ones")
    drafted = i.DraftOpened(id=driver.ident(), by="person:ann", constellation="c1", tasks=["outer.rows"], ttl_s=60)
    driver.do(drafted)
    (listing,) = driver.take()
    driver.control("pause")
    driver.now_ms += 9_000
    driver.control("resume")
    driver.result(listing, {"l": ["a", "B"]})
    (changed,) = driver.take()
    driver.result(changed, {"of": "B"})
    (rows,) = driver.take()
    driver.started(rows)
    driver.now_ms += 80_000
    for timer in list(passed(driver.shard, driver.now_ms)):
        driver.fire(timer)
    driver.receipt(rows)
    driver.fire(driver.timers[-1])
    driver.run(value={"ok": True})
    return driver


def device_off() -> Driver:
    driver = Driver("one", "nas")
    driver.now_ms = 86_400_000 * 30
    nas = driver.shard.fleet.devices["d-nas"]
    off = msgspec.structs.replace(nas, link=DeviceLink.OFFLINE, link_since_ms=driver.now_ms - 259_200_000)
    load(driver.shard, FLEET, 0, {f"device/{nas.id}": off})
    each = ForEach(devices=Selector(), need=Need.BEST_EFFORT, when_off="report", after_s=10)
    gathered = [Input(name="rows", source="look", all=True), Input(name="off", source="look", all=True, off=True)]
    driver.submit(
        plan(
            task("look", for_each=each),
            task("more", "of=look", for_each=ForEach(same="look")),
            TaskSpec(id="joined", changed_in=1, tool="t.pure", inputs=gathered, device=Selector(name="one")),
        )
    )
    for timer in [timer for timer in driver.timers if timer.kind == OFF and timer.due_ms <= driver.now_ms]:
        driver.fire(timer)
    driver.run(value={"fine": True})
    return driver


def hedged() -> Driver:
    """A task that takes long beside its like: the second attempt has its result first."""
    driver = Driver("one", "two", slots=8)
    driver.submit(plan(*(task(f"t{n}") for n in range(7)), name="A hedge"))
    dispatches = driver.take()
    for dispatch in dispatches:
        driver.started(dispatch)
    driver.now_ms += 2_000
    for dispatch in dispatches[1:]:
        driver.result(dispatch, {"n": 1})
    driver.now_ms += 60_000
    for timer in list(passed(driver.shard, driver.now_ms)):
        driver.fire(timer)
    (second,) = driver.take()
    driver.started(second)
    driver.result(second, {"n": 2})
    driver.receipt(dispatches[0])
    return driver


def drained_and_asked() -> Driver:
    """A drain that moves a task, one that fails for good, and a person who says what becomes of it."""
    driver = Driver("one", "two")
    driver.submit(plan(task("a"), task("b", "x=a"), policy=Policy(on_failure="ask"), name="A drain"))
    (first,) = driver.take()
    driver.started(first)
    driver.do(
        i.DeviceControlled(id="d", by="person:ann", device=first.device, action="drain", deadline_s=0, reason="disk")
    )
    driver.receipt(first)
    (second,) = driver.take()
    driver.result(second, outcome=Outcome.ERROR, code=Code.TOOL_FAILED, detail="no")
    (question,) = driver.shard.constellations["c1"].open_questions
    driver.do(i.QuestionAnswered(id="q", by="person:ann", constellation="c1", question=question, value="retry"))
    driver.run(value=1)
    return driver


def fleet_at_work() -> Driver:
    """A device that stands out by its faults is set aside, probed and restored; sleep; everything is stopped."""
    driver = Driver("one", "two")
    for number in range(6):
        driver.submit(plan(task("a", tool="t.never", device="one")), name=f"f{number}")
        driver.result(driver.take()[0], outcome=Outcome.INTERRUPTED, effect=MAYBE)
    driver.fire(next(timer for timer in driver.timers if timer.kind == "probe"))
    driver.submit(plan(task("p", device="one"), task("q", device="one")), name="probes")
    driver.run("probes", value=1)
    facts = {"battery": "10", "charging": "false", "suspending": "true"}
    driver.do(i.ConditionReceived(id="c", by="d", device="d-two", facts=facts, session=1))
    driver.submit(plan(task("a", device="one")), name="last")
    (dispatch,) = driver.take()
    driver.do(i.StopAllRequested(id="s", by="person:ann", reason="fire"))
    driver.receipt(dispatch)
    return driver


def broken_on_purpose() -> Driver:
    """Faults of a simulated device: begun in the middle of work, healed early, over, refused by the lab, forgotten."""
    driver = Driver("one")
    driver.add_device("toy", demo=True)
    driver.submit(plan(task("a", device="toy")))
    kinds = [FaultKind.KILL, FaultKind.FREEZE, FaultKind.CLOCK_SKEW, FaultKind.DISK_FULL]
    for number, kind in enumerate(kinds):
        driver.do(
            i.LabFaultAsked(
                id=f"a{number}",
                by="person:ann",
                able=True,
                device="d-toy",
                fault=f"f{number}",
                for_ms=2_000,
                held=True,
                kind=kind,
                size_ms=3_600_000 if kind is FaultKind.CLOCK_SKEW else 0,
                target=FaultTarget.DEVICE,
            )
        )
    driver.do(i.LabFaultBegan(id="b0", by="lab", fault="f0", note="its agent is killed (SIGKILL)"))
    driver.now_ms += 2_000
    driver.do(i.LabFaultEnded(id="e0", by="lab", failed=False, fault="f0", note="its agent runs again"))
    driver.do(i.LabFaultBegan(id="b1", by="lab", fault="f1", note="its agent is stopped (SIGSTOP)"))
    driver.do(i.LabFaultHealAsked(id="h1", by="person:ann", fault="f1"))
    driver.do(i.LabFaultEnded(id="e1", by="lab", failed=False, fault="f1", note="its agent goes on"))
    driver.do(i.LabFaultEnded(id="e2", by="lab", failed=True, fault="f2", note="its agent is dead already"))
    driver.run(value=1)
    return driver


SCENARIOS: dict[str, tuple[Callable[[], Driver], str]] = {
    "chain": (chain, "c1"),
    "failure-and-skip": (failure_and_skip, "c1"),
    "photo-backup": (photo_backup, "c1"),
    "cancel": (cancel, "c1"),
    "retry-round": (retry_round, "c1"),
    "superseded": (superseded, "c1"),
    "list-over-a-group": (list_over_a_group, "c1"),
    "remembered": (remembered, "c1"),
    "unknown": (unknown, "c1"),
    "verified": (verified, "c1"),
    "rejected-rule-and-removal": (rejected_rule_and_removal, "c1"),
    "list-made-anew": (list_made_anew, "c1"),
    "device-off": (device_off, "c1"),
    "fleet": (fleet, FLEET),
    "hedge": (hedged, "c1"),
    "drained-and-asked": (drained_and_asked, "c1"),
    "fleet-at-work": (fleet_at_work, FLEET),
    "broken-on-purpose": (broken_on_purpose, FLEET),
    "worked-while-broken": (broken_on_purpose, "c1"),
}


def render(name: str, driver: Driver, stream: str) -> str:
    """Return the text of a log: one event and one entity a line, their bytes as they stand everywhere."""
    events = [encode_event(event).decode() for event in driver.events if event.stream == stream]
    entities = driver.folded[stream]
    lines = [f"{canonical(key)}:{entities[key].decode()}" for key in sorted(entities)]
    head = f'{{"name":{canonical(name)},\n"stream":{canonical(stream)},\n"hash":"{state_hash(entities)}",\n'
    return head + '"events":[\n' + ",\n".join(events) + '\n],\n"entities":{\n' + ",\n".join(lines) + "\n}}\n"


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, (scenario, stream) in SCENARIOS.items():
        path = FOLDER / f"{name}.json"
        if path.exists():
            continue
        path.write_text(render(name, scenario(), stream), encoding="utf-8")
        print(f"wrote {path.name}")


if __name__ == "__main__":
    main()
