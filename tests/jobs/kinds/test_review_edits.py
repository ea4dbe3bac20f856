"""An edit of a reviewer that cannot be made at once: it waits for the items that still run, or for a person."""

from __future__ import annotations

from typing import Any

import pytest

from starloom.jobs.kinds import reviewing
from starloom_protocol.stream.events import EventKind
from starloom_protocol.vocabulary import Code, Outcome
from tests.jobs.test_modelling import READING, TWO, Hub, failed, models, plan, review, says
from tests.models.server import Say, fake_model

EACH = {"id": "read", "tool": "t.pure", "for_each": {"devices": {"any": [{"name": "one"}, {"name": "two"}]}}}
AFTER = {"id": "then", "tool": "t.pure", "inputs": {"x": {"from": "read", "output": "", "all": True}}}


def edit(*operations: Any) -> Say:
    return Say(tool={"kind": "edit", "text": "anew", "operations": list(operations)})


def anew(old: dict[str, Any], new: str, **changed: Any) -> Say:
    return edit({"add_task": {**old, "id": new, **changed}}, {"supersede": {"task": old["id"], "by": new}})


async def test_a_group_is_replaced_when_its_other_items_have_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    hub = Hub("one", "two")
    constellation: Any = hub.ask("read on one and two")
    seen: list[str] = []

    async def second_ends(_s: float) -> None:
        seen.append(str(constellation.groups["read"].state))
        hub.driver.result(dispatches[1], {})

    monkeypatch.setattr("asyncio.sleep", second_ends)
    async with fake_model(says(EACH, AFTER), anew(EACH, "again")) as fake:
        made = models(fake, hub)
        await plan(hub, made)
        dispatches = hub.driver.take()
        hub.driver.result(dispatches[0], outcome=Outcome.ERROR, code=Code.EXIT_CODE, detail="wrong columns")
        await review(hub, made)
        assert len(fake.asked) == 2
    assert seen == ["expanded"]
    assert constellation.specs["read"].superseded_by == "again"


async def test_a_group_that_runs_on_and_on_is_a_fault_that_the_model_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    hub = Hub("one", "two")
    constellation: Any = hub.ask("read on one and two")
    looks: list[float] = []

    async def nothing_ends(seconds: float) -> None:
        looks.append(seconds)

    monkeypatch.setattr("asyncio.sleep", nothing_ends)
    async with fake_model(says(EACH, AFTER), anew(EACH, "again"), Say(tool={"kind": "no_change"})) as fake:
        made = models(fake, hub)
        await plan(hub, made)
        hub.driver.result(hub.driver.take()[0], outcome=Outcome.ERROR, code=Code.EXIT_CODE, detail="wrong columns")
        await review(hub, made)
        assert "read is expanded" in str(fake.asked[2]["messages"][-1])
    assert len(looks) == reviewing.LOOKS_MOST
    assert constellation.specs["read"].superseded_by is None


async def test_an_edit_that_is_wider_than_approved_is_put_to_a_person_when_it_is_said_again() -> None:
    hub = Hub("one", "two")
    wider = edit({"add_task": {**READING, "id": "elsewhere", "device": {"name": "two"}}})
    async with fake_model(TWO, wider, wider) as fake:
        constellation: Any = await failed(hub, fake)
        await review(hub, models(fake, hub))
        assert len(fake.asked) == 3
        told = str(fake.asked[2]["messages"][-1])
    assert "answer the same edit again: a person is asked then" in told
    assert "elsewhere" not in constellation.tasks
    assert not hub.driver.take()
    assert sum(event.kind == EventKind.REVIEW_WISH_ASKED for event in hub.driver.events) == 1
