"""What the judge of a long storm reads beside the history: programs that never ended, goals, and tracebacks."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from starloom.client.view import View
from starloom_protocol.records.entities import (
    Choice,
    Fault,
    Goal,
    GroupRecord,
    Head,
    Job,
    Question,
    Record,
    Selector,
    TaskRecord,
    TaskSpec,
    encode_entity,
)
from starloom_protocol.stream.feed import Event
from starloom_protocol.vocabulary import Code, ConstellationState, GroupState, TaskState
from tests.chaos.crowd import effects_missing
from tests.chaos.stack import Accepted, Stack
from tests.chaos.storm import last_lines
from tests.chaos.storm_goals import GOAL, answer_to, faults_of_goals
from tests.chaos.witness import Witness


def storm(home: Path, *lines: str) -> Stack:
    """Return a stack whose request `one` was told that its task has succeeded; nothing runs."""
    stack = Stack(home)
    stack.place = Witness(home / "witness")
    (home / "witness/seen/one+t0").write_text("".join(f"{line} one/t0 1.1 7\n" for line in lines))
    puts = {
        "spec/t0": TaskSpec(changed_in=1, id="t0", tool="shell.run"),
        "task/t0": TaskRecord(since_ms=1, state=TaskState.SUCCEEDED),
    }
    raw: dict[str, msgspec.Raw | None] = {key: msgspec.Raw(encode_entity(record)) for key, record in puts.items()}
    event = Event(at_ms=1, by="engine", kind="task_succeeded", puts=raw, seq=1, stream="c-one")
    stack.remember("c-one", "one").view.apply([event])
    return stack


def test_a_success_without_an_ended_program_is_found(tmp_path: Path) -> None:
    for number, lines in enumerate(([], ["begin"])):
        stack = storm(tmp_path / str(number), *lines)
        assert effects_missing(stack) == ["one/t0 succeeded and its program never ended"]
    assert effects_missing(storm(tmp_path / "ended", "begin", "end")) == []


def test_each_traceback_of_a_log_is_found() -> None:
    log = "INFO up\nTraceback (most recent call last):\n  File\nKeyError: 1\nINFO\nTraceback (most\n x\nValueError\n"
    assert last_lines(log) == ["KeyError: 1", "ValueError"]


def seen(steps: list[TaskSpec], state: GroupState, reason: str = "", ran: str = "d-1") -> Accepted:
    """Return a goal on the device `north` that is over, with these steps."""
    fault = Fault(code=Code.GOAL_UNMET, reason=reason) if reason else None
    job = Job(fault=fault, id="j", kind="goal", opened_ms=1, state="done")
    goal = TaskSpec(changed_in=1, id=GOAL, goal=Goal(aim="x"), device=Selector(name="north"))
    puts: dict[str, Record] = {
        "head": Head(author="person:ann", created_ms=1, id="c-one", name="one", state=ConstellationState.FAILED),
        f"spec/{GOAL}": goal,
        f"group/{GOAL}": GroupRecord(since_ms=1, state=state),
        "job/j": job,
        **{f"spec/{spec.id}": spec for spec in steps},
        **{f"task/{spec.id}": TaskRecord(device=ran, since_ms=1, state=TaskState.SUCCEEDED) for spec in steps},
    }
    raw: dict[str, msgspec.Raw | None] = {key: msgspec.Raw(encode_entity(record)) for key, record in puts.items()}
    one = Accepted("c-one", "one", View("c-one"))
    one.view.apply([Event(at_ms=1, by="engine", kind="goal_ended", puts=raw, seq=1, stream="c-one")])
    return one


def step(number: int, tool: str = "fs.read", args: str = "{}") -> TaskSpec:
    return TaskSpec(args=args, changed_in=1, group=GOAL, id=f"{GOAL}.{number}", tool=tool)


@pytest.mark.parametrize(
    ("goal", "fault"),
    [
        (seen([step(1)], GroupState.SUCCEEDED), ""),
        (seen([step(1)], GroupState.FAILED, "the model gave up"), ""),
        (seen([step(1)], GroupState.FAILED), "it failed without a reason"),
        (seen([step(1)], GroupState.EXPANDED), "its constellation is over and it is not"),
        (seen([step(1), step(2)], GroupState.SUCCEEDED), "the step fs.read was made 2 times"),
        (seen([step(1, "fs.trash")], GroupState.SUCCEEDED), "calls fs.trash"),
        (seen([step(1)], GroupState.SUCCEEDED, ran="d-2"), "ran on south"),
    ],
)
def test_what_a_goal_may_not_do_is_found(goal: Accepted, fault: str) -> None:
    found = faults_of_goals({"c-one": goal}, {"d-1": "north", "d-2": "south"})
    assert len(found) == bool(fault)
    assert fault in " ".join(found)


def test_a_person_lets_a_goal_go_on_once() -> None:
    def asked(*values: str) -> Question:
        choices = [Choice(label=value, value=value) for value in values]
        return Question(choices=choices, id="q", kind="goal", opened_ms=1, text="Well?")

    stalled, call = asked("go_on", "stop"), asked("allow", "deny")
    assert [answer_to(stalled, 0), answer_to(stalled, 1), answer_to(call, 1)] == ["go_on", "stop", "allow"]
    assert answer_to(asked(), 0) == "allow", "the approval of a plan"
