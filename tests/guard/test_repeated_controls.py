"""T228, T229: who may run work, and not approve, has approved work done again, goes on with it or steers it."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from starloom.core.state import inputs as i
from starloom_protocol.records.entities import ToolOffer
from starloom_protocol.stream.authors import is_assistant
from starloom_protocol.vocabulary import Code, Effect, Outcome, Role
from tests.builders import IDEMPOTENT, TOOLS, Driver, edge, plan, task
from tests.edge.world import World, settle
from tests.guard.test_rights import CHANGE, V1, as_token, dispatched, worker
from tests.guard.test_rights import plan as plan_of
from tests.guard.test_schedule_notices import other_person

REBOOTS = ToolOffer(name="t.reboot", repeatability=IDEMPOTENT, effects=[Effect.CHANGE])
RUNS: dict[str, Any] = {"approves": False, "by": "program:ci"}


def approved(driver: Driver, tool: str = "t.reboot", *, by: str = "") -> None:
    """Submit a plan with a call about which a person is asked, and allow it; an assistant `by` submits its own."""
    author = by if is_assistant(by) else "person:ann"
    driver.submit(plan(task("look"), task("act", tool=tool), edge("look>act")), by=author)
    asked = i.QuestionAnswered(
        by="person:ann", constellation="c1", id=driver.ident(), question="approve-plan", value="allow"
    )
    assert not driver.do(asked).faults


def a_driver() -> Driver:
    driver = Driver()
    driver.add_device("nas", tools=[*TOOLS, REBOOTS, replace(REBOOTS, name="agent.coder")])
    return driver


def is_refused(driver: Driver, action: str, name: str | None, **fields: Any) -> None:
    driver.take()
    (refused,) = driver.control(action, name, **{**RUNS, **fields}).faults
    assert refused.code is Code.FORBIDDEN
    assert "t.reboot" in refused.reason
    assert driver.take() == []


@pytest.mark.parametrize("by", ["program:ci", "person:eva#t1", "assistant:ann"])
@pytest.mark.parametrize("failed", ["act", "look"])
def test_t228_approved_work_is_not_done_again(by: str, failed: str) -> None:
    driver = a_driver()
    approved(driver, by=by)
    if failed == "act":
        driver.result(driver.take()[0], {})
    driver.result(driver.take()[0], outcome=Outcome.ERROR, code=Code.TOOL_FAILED)
    assert driver.state() == "failed"
    is_refused(driver, "retry", failed, by=by)
    edit = i.EditProposed(
        approves=False, base_version=1, by=by, constellation="c1", id=driver.ident(), operations=[], retry=[failed]
    )
    assert [one.code for one in driver.do(edit).faults] == [Code.FORBIDDEN]
    assert not driver.control("retry", failed).faults, "whoever may approve retries it"
    driver.folded_equals_state()


def test_t228_what_a_person_cancelled_or_paused_stays_so() -> None:
    driver = a_driver()
    approved(driver)
    assert not driver.control("pause").faults
    is_refused(driver, "resume", None)
    assert not driver.control("resume").faults
    assert not driver.control("cancel", "act").faults
    is_refused(driver, "retry", "act")


@pytest.mark.parametrize("by", ["program:ci", "person:eva#t1"])
def test_t228_words_of_somebody_else_steer_no_approved_work(by: str) -> None:
    driver = a_driver()
    approved(driver, "agent.coder")
    driver.result(driver.take()[0], {})
    driver.started(driver.take()[0])
    for words in ("delete all of it", "be brief"):
        (refused,) = driver.control("hint", "act", approves=False, by=by, reason=words).faults
        assert (refused.code, "agent.coder" in refused.reason) == (Code.FORBIDDEN, True)
    assert not driver.control("hint", "act", reason="be brief").faults


@pytest.mark.parametrize("by", ["program:ci", "person:eva#t1", "assistant:ann"])
def test_t228_nobody_reserves_what_they_may_not_edit(by: str) -> None:
    """A draft that is renewed keeps everybody else from these tasks, the owner among them."""
    driver = a_driver()
    approved(driver, by=by)
    draft = i.DraftOpened(approves=False, by=by, constellation="c1", id=driver.ident(), tasks=["act"], ttl_s=120)
    assert [one.code for one in driver.do(draft).faults] == [Code.FORBIDDEN]
    assert not driver.do(replace(draft, approves=True, id=driver.ident())).faults


def test_t228_work_that_nobody_is_asked_about_is_retried_and_goes_on() -> None:
    driver = a_driver()
    driver.submit(plan(task("look"), task("write", tool="t.idem"), edge("look>write")))
    assert not driver.control("pause", **RUNS).faults
    assert not driver.control("resume", **RUNS).faults
    driver.result(driver.take()[0], outcome=Outcome.ERROR, code=Code.TOOL_FAILED)
    assert not driver.control("retry", "look", **RUNS).faults
    assert len(driver.take()) == 1


async def test_t229_a_schedule_that_never_asks_is_its_owners(world: World) -> None:
    agent = await worker(world)
    never = plan_of(CHANGE, policy={"approval": "never"})
    async with world.client() as owner:
        made = await owner.post(f"{V1}/schedules", json={"cron": "0 3 * * *", "name": "Nightly", "plan": never})
        path = f"{V1}/schedules/{made.json()['id']}"
        assert made.json()["approved"]["effects"] == ["change"]
        token = await other_person(owner, Role.OPERATOR, "read", "run")
    async with as_token(world, Role.OPERATOR, []) as other, world.client(token) as eva:
        assert (await eva.post(f"{path}/pause", json={})).status_code == 200, "whoever may run work may stop it"
        for action in ("run", "resume"):
            assert (await eva.post(f"{path}/{action}", json={})).json()["code"] == "forbidden"
        assert (await eva.delete(path)).json()["code"] == "forbidden"
        await settle()
        assert await dispatched(agent) == []
        assert (await other.post(f"{path}/run", json={})).status_code == 200
        await settle()
        assert [sent.tool for sent in await dispatched(agent)] == ["t.change"]
