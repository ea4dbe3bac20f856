"""The agent's pure step: fences, slots, cancels, renewals and the resume plan."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from starloom_agent.work import core
from starloom_protocol.vocabulary import Code, EffectSeen, Outcome, Resume
from starloom_protocol.wire.frames import Cancel, Dispatch, LeaseRef, PlanEntry, Renew

pytestmark = pytest.mark.short
SCRIPT = Path(__file__).with_name("core_script.json")
"""Events and the actions of both agents; the tab's side of it is `device_agents/browser/src/agent/core.test.ts`."""


def lease(task: str = "t", attempt: int = 1, incarnation: int = 1) -> LeaseRef:
    return LeaseRef(constellation="c", task=task, attempt=attempt, incarnation=incarnation)


def dispatch(at: LeaseRef, fence_after_s: float = 13.0) -> Dispatch:
    return Dispatch(
        at=at, args="{}", fence_after_s=fence_after_s, repeatability="idempotent", start_to_close_s=60, tool="x"
    )


@pytest.fixture
def state() -> core.AgentState:
    return core.AgentState(slots=2)


def test_a_dispatch_starts_with_a_fence_counted_from_the_last_answered_alive(state: core.AgentState) -> None:
    core.step(state, core.Proved(100.0))
    assert core.step(state, dispatch(lease())) == [core.Start(dispatch(lease()), 113.0)]


def test_work_that_waits_has_no_fence(state: core.AgentState) -> None:
    order = dispatch(lease(), fence_after_s=0)
    assert core.step(state, order) == [core.Start(order, None)]
    assert core.step(state, Renew(granted=[lease()], sent_ms=50_000)) == []


def test_a_renewal_moves_the_fence_forward_only(state: core.AgentState) -> None:
    core.step(state, core.Proved(100.0))
    core.step(state, dispatch(lease()))
    assert core.step(state, Renew(granted=[lease()], sent_ms=105_000)) == [core.MoveFence(lease(), 118.0)]
    assert core.step(state, Renew(granted=[lease()], sent_ms=101_000)) == []


def test_a_fence_comes_later_the_longer_the_work_has_run(state: core.AgentState) -> None:
    order = msgspec.structs.replace(dispatch(lease()), patience_most_s=12)
    core.step(state, core.Proved(100.0))
    core.step(state, order)
    fences = []
    for sent_s in (105, 114, 115, 175, 10_000):
        (moved,) = core.step(state, Renew(granted=[lease()], sent_ms=sent_s * 1000))
        assert isinstance(moved, core.MoveFence)
        fences.append(moved.fence_at - sent_s)
    assert fences == [13, 13, 14, 20, 25]
    assert core.step(state, Renew(granted=[lease()], sent_ms=0)) == []


def test_work_that_waits_for_a_slot_has_not_run(state: core.AgentState) -> None:
    for name in "ab":
        core.step(state, dispatch(lease(name)))
    core.step(state, msgspec.structs.replace(dispatch(lease()), patience_most_s=12))
    core.step(state, Renew(granted=[lease()], sent_ms=100_000))
    core.step(state, core.CallEnded(lease("a"), stopped=False))
    for sent_s in (200, 209):
        assert core.step(state, Renew(granted=[lease()], sent_ms=sent_s * 1000)) == [
            core.MoveFence(lease(), sent_s + 13.0)
        ]


def test_a_repeated_dispatch_of_running_work_does_nothing(state: core.AgentState) -> None:
    core.step(state, dispatch(lease()))
    assert core.step(state, dispatch(lease())) == []


@pytest.mark.parametrize("at", [lease(attempt=1), lease(attempt=2), lease(attempt=9, incarnation=0)])
def test_a_dispatch_not_above_the_highest_is_answered_from_the_ledger(state: core.AgentState, at: LeaseRef) -> None:
    state.fences[("c", "t")] = (1, 2)
    (answer,) = core.step(state, dispatch(at))
    assert isinstance(answer, core.AnswerFromLedger)
    assert isinstance(answer.absent, core.SayResult)
    assert (answer.absent.outcome, answer.absent.code) == (Outcome.REFUSED, Code.FENCED)
    assert state.held == {}


def test_a_newer_incarnation_is_above_any_attempt(state: core.AgentState) -> None:
    state.fences[("c", "t")] = (1, 9)
    (start,) = core.step(state, dispatch(lease(attempt=1, incarnation=2)))
    assert isinstance(start, core.Start)


def test_more_than_the_slots_wait_and_start_when_one_ends(state: core.AgentState) -> None:
    for task in ("a", "b"):
        core.step(state, dispatch(lease(task)))
    assert core.step(state, dispatch(lease("c"))) == []
    assert lease("c") in core.running_refs(state)
    actions = core.step(state, core.CallEnded(lease("a"), stopped=False))
    assert actions[0] == core.SayEnd(lease("a"))
    assert isinstance(actions[1], core.Start)
    assert actions[1].dispatch.at == lease("c")


def test_a_newer_attempt_ends_the_older_one_before_it_starts(state: core.AgentState) -> None:
    core.step(state, dispatch(lease(attempt=1)))
    assert core.step(state, dispatch(lease(attempt=2))) == [core.Stop(lease(attempt=1), "replaced")]
    actions = core.step(state, core.CallEnded(lease(attempt=1), stopped=True))
    assert [type(action) for action in actions] == [core.SayEnd, core.Start]


def test_a_cancel_stops_and_gives_a_receipt_and_no_result(state: core.AgentState) -> None:
    core.step(state, dispatch(lease()))
    assert core.step(state, Cancel(at=lease(), reason="x")) == [core.Stop(lease(), "cancel")]
    assert core.step(state, Cancel(at=lease(), reason="x")) == []
    assert core.step(state, core.CallEnded(lease(), stopped=True)) == [core.SayReceipt(lease(), True, None)]


def test_a_result_made_before_the_cancel_wins(state: core.AgentState) -> None:
    core.step(state, dispatch(lease()))
    core.step(state, Cancel(at=lease(), reason="x"))
    assert core.step(state, core.CallEnded(lease(), stopped=False)) == [core.SayEnd(lease())]


def test_a_cancel_of_waiting_work_has_a_receipt_without_effect(state: core.AgentState) -> None:
    for task in ("a", "b", "c"):
        core.step(state, dispatch(lease(task)))
    assert core.step(state, Cancel(at=lease("c"), reason="x")) == [
        core.SayReceipt(lease("c"), known=True, effect=EffectSeen.NONE)
    ]
    assert lease("c") not in core.running_refs(state)


def test_a_cancel_of_the_unknown_bars_its_dispatch(state: core.AgentState) -> None:
    (answer,) = core.step(state, Cancel(at=lease(), reason="x"))
    assert isinstance(answer, core.AnswerFromLedger)
    assert isinstance(answer.absent, core.SayReceipt)
    assert answer.absent.known is False
    assert not any(isinstance(action, core.Start) for action in core.step(state, dispatch(lease())))


def test_a_lease_that_is_gone_is_stopped(state: core.AgentState) -> None:
    core.step(state, dispatch(lease()))
    assert core.step(state, Renew(granted=[], gone=[lease()], sent_ms=1)) == [core.Stop(lease(), "gone")]


def test_resume_leaves_running_work_alone(state: core.AgentState) -> None:
    core.step(state, dispatch(lease()))
    assert core.step(state, core.Resumed([PlanEntry(action=Resume.CONTINUE, at=lease())])) == []


def test_resume_of_work_without_a_trace_is_interrupted_and_never_begins_later(state: core.AgentState) -> None:
    (answer,) = core.step(state, core.Resumed([PlanEntry(action=Resume.CONTINUE, at=lease())]))
    assert isinstance(answer, core.AnswerFromLedger)
    assert isinstance(answer.absent, core.SayResult)
    assert answer.absent.effect is EffectSeen.MAYBE
    assert not any(isinstance(action, core.Start) for action in core.step(state, dispatch(lease())))


def test_resend_of_what_is_not_known_is_left_to_a_person(state: core.AgentState) -> None:
    assert core.step(state, core.Resumed([PlanEntry(action=Resume.RESEND, at=lease())])) == [
        core.AnswerFromLedger(lease(), None)
    ]


def test_resume_cancels(state: core.AgentState) -> None:
    core.step(state, dispatch(lease("a")))
    plan = [PlanEntry(action=Resume.CANCEL, at=lease("a"))]
    assert core.step(state, core.Resumed(plan)) == [core.Stop(lease("a"), "cancel")]


def test_end_all_stops_what_runs_and_gives_back_what_waits(state: core.AgentState) -> None:
    for task in ("a", "b", "c"):
        core.step(state, dispatch(lease(task)))
    actions = core.step(state, core.EndAll("agent_stopped"))
    assert [type(action) for action in actions] == [core.Stop, core.Stop, core.SayResult]


def test_nothing_begins_while_the_agent_ends(state: core.AgentState) -> None:
    core.step(state, dispatch(lease("a")))
    core.step(state, core.EndAll("it was stopped"))
    (said,) = core.step(state, once(lease("b")))
    assert isinstance(said, core.SayResult)
    assert (said.outcome, said.effect) == (Outcome.NEVER_STARTED, EffectSeen.NONE)
    assert core.step(state, core.CallEnded(lease("a"), stopped=True)) == [core.SayEnd(lease("a"))]


def once(at: LeaseRef) -> Dispatch:
    """A dispatch of work that may not be repeated."""
    return Dispatch(at=at, args="{}", fence_after_s=0, repeatability="never", start_to_close_s=60, tool="x")


@pytest.mark.parametrize("attempt", [1, 2])
@pytest.mark.parametrize("incarnation", [2, 4])
def test_work_begun_under_another_history_does_not_begin_again(
    state: core.AgentState, attempt: int, incarnation: int
) -> None:
    begun = lease(attempt=2, incarnation=3)
    core.step(state, once(begun))
    core.step(state, core.CallEnded(begun, stopped=False))
    again = lease(attempt=attempt, incarnation=incarnation)
    assert core.step(state, once(again)) == [core.SayBegun(again, begun)]


def test_a_higher_attempt_of_begun_work_may_begin(state: core.AgentState) -> None:
    core.step(state, once(lease()))
    core.step(state, core.CallEnded(lease(), stopped=False))
    (start,) = core.step(state, once(lease(attempt=2, incarnation=2)))
    assert isinstance(start, core.Start)


def test_work_that_may_be_repeated_begins_under_a_newer_history(state: core.AgentState) -> None:
    core.step(state, dispatch(lease()))
    core.step(state, core.CallEnded(lease(), stopped=False))
    (start,) = core.step(state, dispatch(lease(incarnation=2)))
    assert isinstance(start, core.Start)


def test_what_the_ledger_recalls_of_a_task_bars_it(state: core.AgentState) -> None:
    core.step(state, core.Recalled(("c", "t"), (1, 3), (1, 2)))
    assert core.step(state, once(lease(attempt=2, incarnation=2))) == [
        core.SayBegun(lease(attempt=2, incarnation=2), lease(attempt=2))
    ]
    (answer,) = core.step(state, once(lease(attempt=3)))
    assert isinstance(answer, core.AnswerFromLedger)


@pytest.mark.parametrize(
    ("repeatability", "outcome", "effect"),
    [
        ("idempotent", Outcome.NEVER_STARTED, EffectSeen.NONE),
        ("never", Outcome.INTERRUPTED, EffectSeen.MAYBE),
    ],
)
def test_a_dispatch_that_the_ledger_answers_names_its_call(
    state: core.AgentState, repeatability: str, outcome: Outcome, effect: EffectSeen
) -> None:
    """Where the ledger has another call, this one is given back, or in doubt: nothing is said of its result."""
    order = msgspec.structs.replace(once(lease()), repeatability=repeatability)
    core.step(state, order)
    core.step(state, core.CallEnded(lease(), stopped=False))
    (answer,) = core.step(state, order)
    assert isinstance(answer, core.AnswerFromLedger)
    assert answer.call == core.digest_of(order) != core.digest_of(msgspec.structs.replace(order, args='{"a":1}'))
    assert answer.other is not None
    assert (answer.other.outcome, answer.other.effect) == (outcome, effect)


def test_the_memory_of_fences_is_bounded(state: core.AgentState, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(core, "FENCES_KEPT", 3)
    for number in range(10):
        at = lease(f"t{number}")
        core.step(state, once(at))
        core.step(state, core.CallEnded(at, stopped=False))
    assert list(state.fences) == [("c", "t7"), ("c", "t8"), ("c", "t9")]
    assert list(state.begun) == list(state.fences)


def read(text: str) -> LeaseRef:
    task, incarnation, attempt = re.fullmatch(r"(\w+)/(\d+)\.(\d+)", text).groups()  # type: ignore[union-attr]
    return lease(task, int(attempt), int(incarnation))


def event_of(said: dict[str, Any]) -> core.Event:
    """Return an event of the script, which writes a lease as `task/incarnation.attempt`."""
    match said:
        case {"t": "dispatch", "at": at, **more}:
            return msgspec.structs.replace(dispatch(read(at), 0), **more)
        case {"t": "cancel", "at": at, "reason": reason}:
            return Cancel(at=read(at), reason=reason)
        case {"t": "renew", "granted": granted, "gone": gone, "sent_ms": sent_ms}:
            return Renew(granted=[read(at) for at in granted], gone=[read(at) for at in gone], sent_ms=sent_ms)
        case {"t": "proved", "at": moment}:
            return core.Proved(moment)
        case {"t": "resumed", "entries": entries}:
            return core.Resumed([PlanEntry(action=Resume(action), at=read(at)) for action, at in entries])
        case {"t": "call_ended", "at": at, "stopped": stopped}:
            return core.CallEnded(read(at), stopped=stopped)
        case {"t": "end_all", "why": why}:
            return core.EndAll(why)
    raise AssertionError(said)


def written(action: core.Action) -> list[Any]:
    def name(at: LeaseRef) -> str:
        return f"{at.task}/{at.incarnation}.{at.attempt}"

    match action:
        case core.Start(order, fence_at):
            return ["start", name(order.at), fence_at]
        case core.Stop(at, why):
            return ["stop", name(at), why]
        case core.MoveFence(at, fence_at):
            return ["move_fence", name(at), fence_at]
        case core.SayReceipt(at, known, effect):
            return ["say_receipt", name(at), known, effect]
        case core.SayResult(at, outcome, code, _, effect):
            return ["say_result", name(at), outcome, code, effect]
        case core.SayEnd(at):
            return ["say_end", name(at)]
        case core.AnswerFromLedger(at, absent):
            return ["answer_from_ledger", name(at), absent and written(absent)]
        case core.SayBegun(at, begun):
            return ["say_begun", name(at), name(begun)]


@pytest.mark.parametrize("script", json.loads(SCRIPT.read_text()), ids=lambda script: script["about"])
def test_both_agents_decide_alike(script: dict[str, Any], state: core.AgentState) -> None:
    for event, actions in script["steps"]:
        assert [written(action) for action in core.step(state, event_of(event))] == actions
