"""Two people who decide about one constellation at the same time (T202): nobody answers what was not read."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest

from starloom_protocol.wire import frames as f
from tests.edge.world import World, settle
from tests.guard.test_rights import CHANGE, READ, V1, C, dispatched, given, plan, worker

NO = {"value": "no", "label": "No", "fails": True}
ASK = {"id": "ask", "person": "Restart nginx?", "choices": [{"value": "yes", "label": "Yes"}, NO]}
AFTER = [{"from": "ask", "to": "read", "when": "success"}]
EDIT = {"base_version": 1, "reason": "a better question"}


async def asked(http: httpx.AsyncClient) -> list[dict[str, Any]]:
    await settle(60)
    found: list[dict[str, Any]] = (await http.get(f"{V1}/approvals")).json()["items"]
    return found


def edit(**operation: Any) -> dict[str, Any]:
    return {**EDIT, "operations": [operation]}


@pytest.mark.parametrize(
    "change",
    [
        {"person": "Remove all files?"},
        {"choices": [{"value": "yes", "label": "Remove all files"}, NO]},
    ],
    ids=["text", "choices"],
)
async def test_t202_an_answer_to_what_was_asked_before_does_not_count(world: World, change: dict[str, Any]) -> None:
    agent = await worker(world)
    made = (await world.submit(plan(ASK, READ, dependencies=AFTER)))["id"]
    async with world.client() as one, world.client() as other:
        (before,) = await asked(one)
        changed = await other.post(f"{C}/{made}/edits", json=edit(update_task={"id": "ask", **change}))
        assert changed.status_code == 200, changed.text
        (now,) = await asked(one)
        late = await one.post(f"{V1}/approvals/{before['id']}/answer", json={"value": "yes"})
        assert (late.status_code, late.json()["code"]) == (409, "conflict"), late.text
        assert await dispatched(agent) == []
        assert (await one.post(f"{V1}/approvals/{now['id']}/answer", json={"value": "yes"})).status_code == 200
    assert [frame.at.task for frame in await dispatched(agent)] == ["read"]


async def test_t202_an_approval_covers_no_plan_that_was_edited_meanwhile(world: World) -> None:
    agent = await worker(world)
    made = (await world.submit(plan(CHANGE)))["id"]
    async with world.client() as one, world.client() as other:
        (before,) = await asked(one)
        args = {"name": "postgres"}
        changed = await other.post(f"{C}/{made}/edits", json=edit(update_task={"id": "change", "args": args}))
        assert changed.status_code == 200, changed.text
        late = await one.post(f"{V1}/approvals/{before['id']}/approve", json={})
        assert late.status_code == 409, late.text
        assert await dispatched(agent) == []


async def test_t202_of_an_edit_and_an_approval_at_once_one_comes_first(world: World) -> None:
    agent = await worker(world)
    _, operator = await world.new_token("operator", ["run", "read"])
    for turn in range(6):
        made = (await world.submit(plan({**CHANGE, "args": {"name": f"nginx-{turn}"}})))["id"]
        async with world.client() as one, world.client(operator) as other:
            (question,) = await asked(one)
            body = edit(update_task={"id": "change", "args": {"name": "unseen"}})
            both = [
                one.post(f"{V1}/approvals/{question['id']}/approve", json={}),
                other.post(f"{C}/{made}/edits", json=body),
            ]
            answers = await asyncio.gather(*(both if turn % 2 else reversed(both)))
            assert sorted(answer.status_code for answer in answers) in ([200, 403], [200, 409])
            await one.post(f"{C}/{made}/cancel", json={})
    assert [frame.args for frame in await dispatched(agent) if "unseen" in frame.args] == []


async def test_t202_what_two_people_ask_for_at_once_is_done_once(world: World) -> None:
    agent = await worker(world)
    undone = {**READ, "undo": {"tool": "t.read", "args": {"back": True}}}
    made = (await world.submit(plan(undone)))["id"]
    await agent.done(await agent.next(f.Dispatch))
    await settle(60)
    async with world.client() as one, world.client() as other:
        answers = await asyncio.gather(*(http.post(f"{C}/{made}/undo", json={}) for http in (one, other)))
        assert sorted(answer.status_code for answer in answers) == [200, 409]
        (undoing,) = await dispatched(agent)
        assert undoing.at.task == "undo-read"
        # While it is being undone the work is not done again behind its back, nor is the call that undoes it changed.
        again = await one.post(f"{C}/{made}/tasks/read/retry-from", json={})
        body = {"operations": [{"update_task": {"id": "undo-read", "args": {"back": False}}}], "base_version": 2}
        changed = await other.post(f"{C}/{made}/edits", json=body)
        assert (again.status_code, changed.status_code) == (409, 409), (again.text, changed.text)
        await agent.done(undoing)
        await settle(60)
        both = [http.post(f"{C}/{made}/tasks/read/retry-from", json={}) for http in (one, other)]
        answers = await asyncio.gather(*both)
        assert sorted(answer.status_code for answer in answers) == [200, 409]
        await dispatched(agent)
    assert [(frame.at.task, frame.at.attempt) for frame in given(agent)[1:]] == [("read", 2)]


async def test_t202_of_a_yes_and_a_no_at_once_one_counts(world: World) -> None:
    agent = await worker(world)
    for turn in range(6):
        made = (await world.submit(plan({**CHANGE, "args": {"name": f"nginx-{turn}"}})))["id"]
        async with world.client() as one, world.client() as other:
            (question,) = await asked(one)
            both = [
                http.post(f"{V1}/approvals/{question['id']}/{word}", json={})
                for http, word in ((one, "approve"), (other, "deny"))
            ]
            answers = await asyncio.gather(*(both if turn % 2 else reversed(both)))
            yes = (answers if turn % 2 else answers[::-1])[0].status_code == 200
            assert sorted(answer.status_code for answer in answers) == [200, 409]
        frames = [frame for frame in await dispatched(agent) if f"nginx-{turn}" in frame.args]
        assert [frame.at.task for frame in frames] == (["change"] if yes else []), made


async def test_s5_of_two_who_open_one_link_at_once_one_comes_in(world: World) -> None:
    async with world.client() as http:
        url = (await http.post(f"{V1}/sign-in-links")).json()["url"]
    identity, _, secret = url.partition("#/sign-in/")[2].partition(".")
    async with world.client("") as one, world.client("") as other:
        both = [page.post(f"{V1}/sign-in", json={"id": identity, "secret": secret}) for page in (one, other)]
        answers = await asyncio.gather(*both)
    assert sorted(answer.status_code for answer in answers) == [200, 401]
    assert sum("set-cookie" in answer.headers for answer in answers) == 1
