"""A scenario of the lab: the request, the faults with their times, and the expected result.

    read_scenario   text -> `ScenarioCheck`; never raises for the content of the text, carries nothing out

`records.lab` has the faults of each target; the lab carries them out.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, TypeVar

import msgspec
from pydantic import Field, ValidationError

from starloom_protocol.plan.checks.check import check_plan
from starloom_protocol.plan.language.document import DocumentRefused, read_document
from starloom_protocol.plan.language.fault_list import FaultList, joined
from starloom_protocol.plan.language.models import Doc, Label, Name, TaskId
from starloom_protocol.records.entities import Fault
from starloom_protocol.records.lab import ANY_DEVICE, BY_S, CAN, FAULT_MAX_S, FaultKind, FaultTarget
from starloom_protocol.text.wording import quoted
from starloom_protocol.vocabulary import Code, ConstellationState, TaskState

SCENARIO_FORMAT: Final = 1
FAULTS_MAX: Final = 50
"""A story of more is read by nobody."""
DEVICES_MAX: Final = 8
"""Each is a process with a home of its own on this machine."""
WITHIN_MAX_S: Final = 600.0
"""A scenario that takes longer waits for something that does not come."""

EVENTS: Final = (
    "request_accepted",
    "job_opened",
    "plan_made",
    "group_expanded",
    "task_ready",
    "task_leased",
    "task_started",
    "task_succeeded",
    "task_failed",
    "task_retried",
    "task_moved",
    "task_absent",
    "task_unknown",
)
"""The events of the log that a fault can wait for."""

WAITING: Final = "waiting"
"""In `expect.state`: the constellation waits for a decision of a person."""

_STATES: Final = (*(str(state) for state in ConstellationState), WAITING)


_Part = TypeVar("_Part", bound=Doc)

_NEUTRAL: Final[dict[str, Any]] = {
    "at": {"after_s": 0},
    "expect": {"state": "succeeded"},
    "kind": "kill",
    "name": "scenario",
    "starloom_scenario": SCENARIO_FORMAT,
    "state": "succeeded",
    "target": "hub",
}
"""Substitutes for required fields that are wrong, so that the fields beside them can be checked."""


class AtDoc(Doc):
    """The time of a fault: exactly one of an event (with the task it is about), seconds, or a share of ended tasks."""

    event: str | None = None
    task: TaskId | None = None
    after_s: Annotated[float, Field(strict=False, ge=0, le=WITHIN_MAX_S)] | None = None
    progress: Annotated[float, Field(strict=False, ge=0, le=1)] | None = None


class FaultDoc(Doc):
    """One fault. `device` is the one whose process or link is hit: a name, `any` (chosen by the seed), or without it
    the device that has the task of `at`. `by_s` is the fault's size.
    """

    at: AtDoc
    target: Annotated[FaultTarget, Field(strict=False)]
    kind: Annotated[FaultKind, Field(strict=False)]
    device: Name | None = None
    for_s: Annotated[float, Field(strict=False, gt=0, le=FAULT_MAX_S)] = 1.0
    by_s: Annotated[float, Field(strict=False, ge=-86_400.0 * 366, le=86_400.0 * 366)] | None = None


class ExpectDoc(Doc):
    """The expected result: the state within so many seconds, states of single tasks, and tasks begun at most once.

    `at_most_once: true` means every task whose work is not repeatable; a list names tasks. A result before
    `not_before_s` was not delayed by the faults, so they hit nothing.
    """

    state: str
    within_s: Annotated[float, Field(strict=False, gt=0, le=WITHIN_MAX_S)] = 60.0
    not_before_s: Annotated[float, Field(strict=False, ge=0, le=WITHIN_MAX_S)] = 0.0
    at_most_once: bool | list[TaskId] = True
    tasks: dict[TaskId, Annotated[TaskState, Field(strict=False)]] = Field(default_factory=dict)


class Scenario(Doc):
    """One scenario: `request` (words, as a person types them) or `plan`, faults, and the expectation."""

    starloom_scenario: int
    name: Label
    about: str = ""
    seed: Annotated[int, Field(ge=0, lt=2**53)] = 0
    devices: Annotated[list[Name], Field(min_length=1, max_length=DEVICES_MAX)] = Field(
        default_factory=lambda: ["north", "south"]
    )
    request: Annotated[str, Field(min_length=1, max_length=4_000)] | None = None
    plan: dict[str, Any] | None = None
    faults: Annotated[list[FaultDoc], Field(max_length=FAULTS_MAX)] = Field(default_factory=list)
    expect: ExpectDoc


class ScenarioCheck(msgspec.Struct, frozen=True, kw_only=True):
    """Either faults or a scenario."""

    faults: list[Fault] = []
    scenario: Scenario | None = None


def read_scenario(text: str | bytes) -> ScenarioCheck:
    """Read a scenario and check all of it: the plan too, and whether each fault can hit its target."""
    try:
        document = read_document(text)
    except DocumentRefused as refused:
        return ScenarioCheck(faults=[refused.fault])
    faults = FaultList()
    scenario = faults.validate(Scenario, document, "")
    # A wrong field hides no fault of another one: all are reported at once.
    plan = document.get("plan")
    if isinstance(plan, dict):
        faults.all += check_plan(plan, place="plan").faults
    _check(document, faults)
    if scenario is None:
        return ScenarioCheck(faults=faults.all)
    return ScenarioCheck(faults=faults.all) if faults.all else ScenarioCheck(scenario=scenario)


def _with_neutral(model: type[_Part], raw: Any) -> tuple[_Part | None, set[Any]]:
    """Return a part and the names of its wrong fields, which hold a neutral value; None where it is no map."""
    if not isinstance(raw, dict):
        return None, set()
    try:
        return model.model_validate(raw), set()
    except ValidationError as error:
        wrong = {item["loc"][0] for item in error.errors(include_url=False)}
    valid = {name: value for name, value in raw.items() if name in model.model_fields and name not in wrong}
    neutral = {name: value for name, value in _NEUTRAL.items() if name in model.model_fields and name in wrong}
    return model.model_validate({**valid, **neutral}), wrong


def _check(document: dict[str, Any], faults: FaultList) -> None:
    scenario, wrong = _with_neutral(Scenario, document)
    if scenario is None:
        return
    if scenario.starloom_scenario != SCENARIO_FORMAT:
        reason = f"this is format {scenario.starloom_scenario}; known is {SCENARIO_FORMAT}"
        faults.add(Code.PLAN_INVALID, "starloom_scenario", reason, f"Write `starloom_scenario: {SCENARIO_FORMAT}`.")
    if (scenario.request is None) == (scenario.plan is None) and not wrong & {"request", "plan"}:
        what = "neither `request` nor `plan`" if scenario.request is None else "both `request` and `plan`"
        faults.add(Code.PLAN_INVALID, "", f"the scenario has {what}", "Give exactly one of the two.")
    devices = None if "devices" in wrong else scenario.devices
    for index, name in enumerate(devices or []):
        if name in scenario.devices[:index] or name == ANY_DEVICE:
            reason = f"`{name}` stands twice" if name != ANY_DEVICE else f"no device can be called `{ANY_DEVICE}`"
            faults.add(Code.PLAN_INVALID, joined("devices", index), reason, "Give each device a name of its own.")
    tasks = _tasks(scenario)
    listed = document.get("faults")
    for index, raw in enumerate(listed[:FAULTS_MAX] if isinstance(listed, list) else []):
        place = joined("faults", index)
        fault, wrong_here = _with_neutral(FaultDoc, raw)
        if fault is None:
            continue
        at, wrong_at = _with_neutral(AtDoc, raw.get("at"))
        if at is not None:
            _check_when(at, wrong_at, joined(place, "at"), tasks, faults)
        elsewhere = {"at"} if at is None or "task" in wrong_at else set()
        about = at.task if at is not None else None
        _check_fault(fault, wrong_here - {"at"} | elsewhere, about, place, devices, faults)
    expect, _ = _with_neutral(ExpectDoc, document.get("expect"))
    if expect is not None:
        _check_expectation(expect, tasks, faults)


def _tasks(scenario: Scenario) -> list[str] | None:
    """Return the ids that a plan's tasks have, or None where they are not known before it runs."""
    if scenario.plan is None or scenario.plan.get("rules"):
        return None
    listed = scenario.plan.get("tasks")
    if not isinstance(listed, list) or any(isinstance(task, dict) and task.get("for_each") for task in listed):
        return None
    return [str(task.get("id")) for task in listed if isinstance(task, dict)]


def _check_when(at: AtDoc, wrong: set[Any], place: str, tasks: list[str] | None, faults: FaultList) -> None:
    conditions = sum(one is not None for one in (at.event, at.after_s, at.progress))
    if conditions != 1 and not wrong & {"event", "after_s", "progress"}:
        reason = "exactly one of `event`, `after_s` and `progress` says when"
        faults.add(Code.PLAN_INVALID, place, reason, "Keep one of them.")
    if at.event is not None and at.event not in EVENTS:
        hint = faults.near(at.event, EVENTS)
        reason = f"no fault can wait for `{at.event[:60]}`; there are {', '.join(EVENTS)}"
        faults.add(Code.PLAN_INVALID, joined(place, "event"), reason, hint)
    if at.task is None:
        return
    if at.event is None and "event" not in wrong:
        faults.add(Code.PLAN_INVALID, joined(place, "task"), "`task` belongs to `event`", "Remove it.")
    elif tasks is not None and at.task not in tasks:
        hint = faults.near(at.task, tasks)
        faults.add(Code.PLAN_INVALID, joined(place, "task"), f"the plan has no task `{at.task}`", hint)


def _check_fault(
    fault: FaultDoc, wrong: set[Any], about: str | None, place: str, devices: list[str] | None, faults: FaultList
) -> None:
    """Check what a fault does and to whom; `about` is the task that its `at` names."""
    if fault.kind not in CAN[fault.target] and not wrong & {"kind", "target"}:
        can = ", ".join(CAN[fault.target])
        reason = f"`{fault.kind}` cannot happen to the {fault.target}; what can is {can}"
        faults.add(Code.PLAN_INVALID, joined(place, "kind"), reason, "Choose one of these, or another target.")
    if not wrong & {"target", "device"}:
        _check_device(fault, about is None and "at" not in wrong, joined(place, "device"), devices, faults)
    if fault.by_s is None or "kind" in wrong:
        return
    if fault.kind not in BY_S:
        reason = f"`by_s` belongs to {' and '.join(BY_S)}, not to {fault.kind}"
        faults.add(Code.PLAN_INVALID, joined(place, "by_s"), reason, "Remove it; `for_s` is how long the fault lasts.")
    if fault.kind is FaultKind.DELAY and not 0 < fault.by_s <= FAULT_MAX_S:
        reason = f"a delay is above 0 and at most {FAULT_MAX_S:g} s"
        faults.add(Code.PLAN_INVALID, joined(place, "by_s"), reason, "Write another number.")


def _check_device(fault: FaultDoc, alone: bool, place: str, devices: list[str] | None, faults: FaultList) -> None:
    """Check whose process or link is hit; `alone` if no task says it."""
    if fault.target not in (FaultTarget.DEVICE, FaultTarget.LINK):
        if fault.device is not None:
            faults.add(Code.PLAN_INVALID, place, f"the {fault.target} belongs to no device", "Remove it.")
    elif devices is None:
        return
    elif fault.device is not None and fault.device not in (*devices, ANY_DEVICE):
        hint = faults.near(fault.device, (*devices, ANY_DEVICE))
        faults.add(Code.PLAN_INVALID, place, f"there is no device `{fault.device}`", hint)
    elif fault.device is None and len(devices) > 1 and alone:
        hint = f"Name one, or `{ANY_DEVICE}` (by the seed), or a task in `at`: then it is the device that has it."
        faults.add(Code.PLAN_INVALID, place, f"which of {', '.join(devices)} is hit?", hint)


def _check_expectation(expect: ExpectDoc, tasks: list[str] | None, faults: FaultList) -> None:
    if expect.state not in _STATES:
        hint = faults.near(expect.state, _STATES)
        reason = f"{quoted(expect.state[:60])} is none of {', '.join(_STATES)}"
        faults.add(Code.PLAN_INVALID, "expect.state", reason, hint)
    if tasks is None:
        return
    once_only = expect.at_most_once if isinstance(expect.at_most_once, list) else []
    for index, task in enumerate(once_only):
        if task not in tasks:
            place = joined("expect.at_most_once", index)
            faults.add(Code.PLAN_INVALID, place, f"the plan has no task `{task}`", faults.near(task, tasks))
    for task in expect.tasks:
        if task not in tasks:
            place = joined("expect.tasks", task)
            faults.add(Code.PLAN_INVALID, place, f"the plan has no task `{task}`", faults.near(task, tasks))
