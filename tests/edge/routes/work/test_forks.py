"""Going back over REST: forks, finished work undone, an edit taken back, and who put a task where it stands."""

from __future__ import annotations

from typing import Any

from starloom_protocol.wire import frames as f
from tests.edge.world import Agent, World, an_offer, chain, settle

C = "/api/v1/constellations"


async def post(world: World, path: str, body: dict[str, Any], **headers: str) -> tuple[int, dict[str, Any]]:
    async with world.client() as http:
        response = await http.post(path, json=body, headers=headers)
    return response.status_code, response.json()


async def get(world: World, path: str, **params: Any) -> dict[str, Any]:
    async with world.client() as http:
        response = await http.get(path, params=params)
    assert response.status_code == 200, response.text
    found: dict[str, Any] = response.json()
    return found


async def done(world: World, *tools: str, plan: dict[str, Any] | None = None) -> tuple[str, Agent]:
    """A finished constellation of a chain, and the agent that did it."""
    agent = await world.online("one", offer=an_offer(*tools, "t.back"))
    made = await world.submit(plan or chain(*tools))
    for number in range(len(tools)):
        await agent.done(await agent.next(f.Dispatch), f'{{"n":{number}}}')
    await settle()
    return made["id"], agent


async def test_a_fork_from_a_task_uses_the_results_before_it(world: World) -> None:
    origin, agent = await done(world, "t.one", "t.two")
    status, made = await post(world, f"{C}/{origin}/fork", {"from_task": "t1", "inputs": {"t1": {"n": 5}}})
    assert (status, made["state"], made["version"]) == (202, "active", 2)
    dispatch = await agent.next(f.Dispatch)
    assert (dispatch.at.task, dispatch.args) == ("t1", '{"n":5}')
    await agent.done(dispatch)
    await settle()
    found = await get(world, f"{C}/{made['id']}")
    assert found["state"] == "succeeded"
    assert found["origin"] == {"constellation": origin, "seq": found["origin"]["seq"], "task": "t1", "version": 1}
    attempts = {task["id"]: task.get("reused_from") for task in found["tasks"]}
    assert attempts == {"t0": origin, "t1": None}


async def test_a_preview_of_a_fork_tells_what_would_run_and_makes_nothing(world: World) -> None:
    origin, agent = await done(world, "t.one", "t.two", "t.three")
    body = {"from_task": "t1", "inputs": {"t1": {"n": 5}}}
    before = await get(world, C)
    status, made = await post(world, f"{C}/{origin}/fork", {**body, "preview": True}, **{"Idempotency-Key": "k"})
    assert (status, made["id"], made["preview"]["plan_hash"]) == (200, "", "")
    told = [(task["id"], task["tool"], task["after"]) for task in made["preview"]["tasks"]]
    assert told == [("t1", "t.two", []), ("t2", "t.three", ["t1"])]
    assert await get(world, C) == before
    status, problem = await post(world, f"{C}/{origin}/fork", {"from_task": "nobody", "preview": True})
    assert (status, problem["code"]) == (422, "unknown_task")
    assert (await post(world, f"{C}/{origin}/fork", body))[0] == 202
    assert (await agent.next(f.Dispatch)).at.task == "t1"


async def test_a_fork_from_a_version_and_what_is_wrong_with_one(world: World) -> None:
    origin, agent = await done(world, "t.one", "t.two")
    status, made = await post(world, f"{C}/{origin}/fork", {"from_version": 1})
    assert status == 202
    assert (await agent.next(f.Dispatch)).at.constellation == made["id"]
    for body, code in (
        ({}, "bad_request"),
        ({"from_version": 1, "from_task": "t1"}, "bad_request"),
        ({"from_version": 7}, "not_found"),
        ({"from_task": "nobody"}, "unknown_task"),
        ({"from_task": "t1", "inputs": {"nobody": {}}}, "unknown_task"),
    ):
        status, problem = await post(world, f"{C}/{origin}/fork", body)
        assert (status >= 400, problem["code"]) == (True, code)
    assert (await post(world, f"{C}/c-nobody/fork", {"from_version": 1}))[0] == 404


async def test_one_key_makes_one_fork(world: World) -> None:
    origin, _ = await done(world, "t.one")
    body = {"from_version": 1}
    first = await post(world, f"{C}/{origin}/fork", body, **{"Idempotency-Key": "k"})
    second = await post(world, f"{C}/{origin}/fork", body, **{"Idempotency-Key": "k"})
    assert first[1]["id"] == second[1]["id"]


async def test_finished_work_is_undone_by_the_call_that_it_declares(world: World) -> None:
    plan = chain("t.one", "t.two")
    plan["tasks"][0]["undo"] = {"tool": "t.back", "args": {"how": "all"}, "outputs": {"what": "/n"}}
    origin, agent = await done(world, "t.one", "t.two", plan=plan)
    status, answer = await post(world, f"{C}/{origin}/undo", {"reason": "not wanted"})
    assert (status, answer) == (200, {"version": 2, "undoing": ["t0"], "cannot_be_undone": []})
    dispatch = await agent.next(f.Dispatch)
    assert (dispatch.at.task, dispatch.tool, dispatch.args) == ("undo-t0", "t.back", '{"how":"all"}')
    assert [(item.name, item.parts[0].value, item.parts[0].output) for item in dispatch.inputs] == [
        ("what", '{"n":0}', "/n")
    ]
    await agent.done(dispatch)
    await settle()
    assert (await get(world, f"{C}/{origin}"))["state"] == "succeeded"
    status, problem = await post(world, f"{C}/{origin}/undo", {})
    assert (status, problem["code"]) == (409, "illegal_control")


async def test_an_edit_is_taken_back_and_its_undoing_too(world: World) -> None:
    made = await world.submit(chain("t.one", "t.two"))
    path = f"{C}/{made['id']}"
    first = await get(world, path)
    add = {"base_version": 1, "operations": [{"add_task": {"id": "more", "tool": "t.one"}}]}
    assert (await post(world, f"{path}/edits", add))[1] == {"version": 2}
    back = {"base_version": 2, "operations": [{"undo": {"version": 2}}]}
    assert (await post(world, f"{path}/edits", back))[1] == {"version": 3}
    assert [task["id"] for task in (await get(world, path))["tasks"]] == [task["id"] for task in first["tasks"]]
    again = {"base_version": 3, "operations": [{"undo": {"version": 3}}]}
    assert (await post(world, f"{path}/edits", again))[1] == {"version": 4}
    versions = (await get(world, f"{path}/versions"))["items"]
    assert [version["trigger"] for version in versions] == ["request", "edit", "undo:2", "undo:3"]
    assert (await get(world, f"{path}/diff", **{"from": 2, "to": 4}))["added"] == []


async def test_what_cannot_be_taken_back_says_why(world: World) -> None:
    made = await world.submit(chain("t.one"))
    path = f"{C}/{made['id']}/edits"
    for operations, status, code in (
        ([{"undo": {"version": 1}}], 409, "edit_conflict"),
        ([{"undo": {"version": 9}}], 404, "not_found"),
        ([{"undo": {"version": 1}}, {"remove_task": {"id": "t0"}}], 422, "plan_invalid"),
        ([{"undo": {"version": True}}], 422, "plan_invalid"),
    ):
        found, problem = await post(world, path, {"base_version": 1, "operations": operations})
        assert (found, problem["code"]) == (status, code)


async def test_blame_names_the_versions_that_put_a_task_where_it_is(world: World) -> None:
    made = await world.submit(chain("t.one", "t.two"))
    path = f"{C}/{made['id']}"
    edit = {
        "base_version": 1,
        "reason": "a second look",
        "operations": [
            {"add_task": {"id": "more", "tool": "t.one"}},
            {"add_dependency": {"from": "more", "to": "t1", "when": "success"}},
        ],
    }
    await post(world, f"{path}/edits", edit)
    items = {item["id"]: item for item in (await get(world, f"{path}/blame"))["items"]}
    assert items["more"]["added"]["reason"] == "a second look"
    assert (items["t1"]["added"]["version"], [line["version"] for line in items["t1"]["changed"]]) == (1, [2])
    assert items["more>t1:success"]["added"]["author"].startswith("person:")
    only = (await get(world, f"{path}/blame", task="t0"))["items"]
    assert {item["id"] for item in only} == {"t0", "t0>t1:success"}
