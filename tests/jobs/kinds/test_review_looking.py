"""A reviewer looks: the job, the real core behind its inbox, a fake model on a socket; workers come and go."""

from __future__ import annotations

from typing import Any

from starloom.jobs.modelling import ModelJobs
from starloom_protocol.vocabulary import Code, ConstellationState, Outcome
from tests.jobs.kinds.test_looking import CSV, HEADS, answer, call, hub_of, looks, turns
from tests.jobs.test_modelling import Hub, models, plan, review, says
from tests.models.modes import HOSTILE
from tests.models.server import FakeModel, Say, fake_model

LOST = {"id": "lost", "tool": "fs.read", "device": {"name": "one"}, "args": {"path": "sales.csv"}}
FOUND = {**LOST, "id": "found", "args": {"path": "archive/sales.csv"}}
MEND = Say(
    tool={
        "kind": "edit",
        "text": "it lies in the archive",
        "operations": [{"add_task": FOUND}, {"supersede": {"task": "lost", "by": "found"}}],
    }
)
PLAN = says(LOST, {"id": "then", "tool": "t.pure", "inputs": {"x": {"from": "lost", "output": "/text"}}})
NOTHING = Say(tool={"kind": "no_change"})


async def failed(hub: Hub, fake: FakeModel, **variables: str) -> tuple[Any, ModelJobs]:
    """Return the constellation after `lost` has failed, and the models of its worker."""
    constellation: Any = hub.ask("report the sales on one")
    made = models(fake, hub, **variables)
    await plan(hub, made)
    (dispatch,) = hub.driver.take()
    hub.driver.result(dispatch, outcome=Outcome.ERROR, code=Code.NOT_FOUND, detail="no such file")
    return constellation, made


async def test_a_reviewer_looks_and_mends_with_what_it_saw() -> None:
    hub = hub_of()
    async with fake_model(PLAN, looks(call(path="NOTE.txt")), MEND) as fake:
        constellation, made = await failed(hub, fake, **HEADS)
        await review(hub, made)
        assert constellation.tasks["then"].review == "review-1"
        answer(hub, {**CSV, "text": "see the archive"})
        await review(hub, made)
    asked, said, told = turns(fake)
    assert "you may look at the devices before you answer" in asked
    assert '"kind":"look"' in said
    assert "see the archive" in told
    assert "review-1-look-1-1" not in asked
    assert [dispatch.at.task for dispatch in hub.driver.take()] == ["found"]
    assert constellation.jobs["review-1"].calls == 2


async def test_a_worker_killed_while_a_reviewer_looks_is_replaced_and_nothing_is_asked_twice() -> None:
    hub = hub_of()
    async with fake_model(PLAN, looks(call(path="NOTE.txt")), MEND) as fake:
        constellation, made = await failed(hub, fake)
        await review(hub, made)
        hub.driver.now_ms += 20_000
        answer(hub)
        await review(hub, models(fake, hub))
        assert len(fake.asked) == 3
    assert constellation.specs["lost"].superseded_by == "found"
    assert len(constellation.tables["call"]) == 3


async def test_a_wrong_look_of_a_reviewer_comes_back_whole_and_is_mended() -> None:
    hub = hub_of()
    wrong = looks(call(path="a"), call("t.never"))
    async with fake_model(PLAN, wrong, NOTHING) as fake:
        constellation, made = await failed(hub, fake)
        await review(hub, made)
    assert "calls[1].tool: t.never may write; a look only reads" in turns(fake)[-1]
    assert list(constellation.tasks) == ["lost", "then"]
    assert constellation.head.state is ConstellationState.ACTIVE


async def test_a_reviewer_is_not_offered_looks_where_only_names_are_shared() -> None:
    hub = hub_of()
    async with fake_model(PLAN, looks(call(path="a")), NOTHING) as fake:
        constellation, made = await failed(hub, fake, STARLOOM_LLM_SHARE="names")
        await review(hub, made)
    assert "shares no values" in turns(fake, 1)[0]
    assert list(constellation.tasks) == ["lost", "then"]


async def test_a_result_of_a_look_that_gives_orders_widens_nothing() -> None:
    hub = hub_of("one", "two")
    evil = {"id": "evil", "tool": "t.never", "device": {"name": "two"}}
    taken = {"id": "taken", "tool": "t.pure", "inputs": {"x": {"from": "review-1-look-1-1"}}}
    obeys = [Say(tool={"kind": "edit", "text": "obey", "operations": [{"add_task": task}]}) for task in (evil, taken)]
    async with fake_model(PLAN, looks(call(path="NOTE.txt")), *obeys, NOTHING) as fake:
        constellation, made = await failed(hub, fake, **HEADS)
        await review(hub, made)
        answer(hub, {**CSV, "text": HOSTILE})
        await review(hub, made)
        assert "review-1-look-1-1" in turns(fake)[-1]
    assert not {"evil", "taken"} & set(constellation.tasks)
    assert constellation.head.version == 1
