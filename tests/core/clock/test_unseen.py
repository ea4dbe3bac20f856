"""Notices of schedules whose firings failed only because nobody could see a notice: one cause, and since when."""

from __future__ import annotations

from starloom_protocol.records.entities import ToolOffer
from starloom_protocol.records.schedules import Unseen
from starloom_protocol.vocabulary import Code, Effect, Outcome, Repeatability
from tests.builders import TOOLS, plan, task
from tests.core.clockwork import Clockwork, at

NOTIFY = ToolOffer(name="notify", repeatability=Repeatability.NEVER, effects=[Effect.WRITE])


def unseen_after(tool: str, *codes: Code) -> Unseen | None:
    clock = Clockwork()
    clock.add_device("two", tools=[NOTIFY, *TOOLS])
    clock.save(plan(task("a", device="two", tool=tool)), plan_hash="h")
    for hour, code in enumerate(codes, 1):
        clock.turn_to(f"2026-06-01T0{hour}:00")
        (dispatch,) = clock.take()
        clock.result(dispatch, outcome=Outcome.ERROR, code=code, detail=f"nobody saw {hour}")
    notice = clock.schedule().notice
    assert notice is not None
    assert notice.count == len(codes)
    return notice.unseen


def test_a_notice_that_nobody_saw_has_its_device_and_first_time() -> None:
    found = unseen_after("notify", Code.TOOL_UNAVAILABLE, Code.TOOL_UNAVAILABLE)
    assert found == Unseen(code=Code.TOOL_UNAVAILABLE, device="d-two", since_ms=at("2026-06-01T01:00"))


def test_another_fault_begins_its_own_time() -> None:
    found = unseen_after("notify", Code.TOOL_UNAVAILABLE, Code.DECLINED)
    assert found == Unseen(code=Code.DECLINED, device="d-two", since_ms=at("2026-06-01T02:00"))


def test_a_failure_of_other_work_is_no_unseen_notice() -> None:
    assert unseen_after("t.never", Code.TOOL_UNAVAILABLE) is None
