"""Constellations over REST: accepted once, every fault with its place, read at any version, stepped into, explained."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from starloom.core.state import inputs as i
from starloom.engine.ports import Overloaded
from starloom.planner.requests.fitting import Candidate
from starloom.planner.requests.matching import Match, Matched
from starloom.store.port import Unavailable
from starloom_protocol.records.entities import Offer, ToolOffer
from starloom_protocol.stream.authors import name_of
from starloom_protocol.stream.feed import decode_event
from starloom_protocol.values import canonical
from starloom_protocol.vocabulary import Code, Outcome
from starloom_protocol.wire import frames as f
from tests.edge.world import Agent, NoRecipes, World, an_offer, chain, settle
from tests.waiting import PATIENCE_S

C = "/api/v1/constellations"


async def ready_agent(world: World, *tools: str) -> Agent:
    return await world.online("one", offer=an_offer(*tools))


async def get(world: World, path: str, **params: Any) -> Any:
    async with world.client() as http:
        response = await http.get(path, params=params)
    assert response.status_code == 200, response.text
    return response.json()


async def test_a_list_over_a_group_runs_for_each_of_its_children(world: World) -> None:
    agent = await ready_agent(world, "t.echo")
    plan = {
        "starloom": 1,
        "name": "lists",
        "tasks": [
            {"id": "l", "tool": "t.echo", "args": {"value": [1, 2]}},
            {
                "id": "m",
                "tool": "t.echo",
                "for_each": {"from": "l", "output": "/value"},
                "args": {"value": {"each": ""}},
            },
            {
                "id": "n",
                "tool": "t.echo",
                "for_each": {"from": "m", "output": "/value"},
                "args": {"value": {"each": ""}},
            },
        ],
    }
    made = await world.submit(plan)
    echoed: dict[str, str] = {}
    for _ in range(5):
        dispatch = await agent.next(f.Dispatch)
        echoed[dispatch.at.task] = json.dumps(json.loads(dispatch.args))
        await agent.done(dispatch, dispatch.args)
    await settle()
    assert {name: args for name, args in echoed.items() if name.startswith("n.")} == {
        "n.0": '{"value": 1}',
        "n.1": '{"value": 2}',
    }
    assert (await get(world, f"{C}/{made['id']}"))["state"] == "succeeded"


async def test_a_failed_task_that_another_did_ends_well(world: World) -> None:
    agent = await ready_agent(world, "t.one", "t.two")
    made = await world.submit(chain("t.one"))
    task = (await get(world, f"{C}/{made['id']}"))["tasks"][0]["id"]
    added = {"base_version": 1, "operations": [{"add_task": {"id": "wait", "tool": "t.two"}}]}
    async with world.client() as http:
        assert (await http.post(f"{C}/{made['id']}/edits", json=added)).status_code == 200
        await agent.done(await agent.next(f.Dispatch), outcome="error", code="tool_failed")
        await settle()
        again = {
            "base_version": 2,
            "operations": [
                {"add_task": {"id": "again", "tool": "t.one"}},
                {"supersede": {"task": task, "by": "again"}},
            ],
        }
        answer = await http.post(f"{C}/{made['id']}/edits", json=again)
    assert answer.status_code == 200, answer.text
    for _ in range(2):
        await agent.done(await agent.next(f.Dispatch))
    await settle()
    found = await get(world, f"{C}/{made['id']}")
    assert found["state"] == "succeeded"
    assert f"{task} failed; again did its work." in found["answer"]["sentence"]


async def test_a_key_that_stands_twice_in_a_body_is_refused(world: World) -> None:
    bodies = {
        b'{"plan": {"starloom": 1, "name": "x", "tasks": [], "name": "y"}}': "the key `name` stands twice",
        b'{"request": "a", "request": "b"}': "the key `request` stands twice",
        b'{"params": NaN}': "NaN is not a JSON number",
        b'{"params": {"a": [1e999]}}': "1e999 is out of range",
        b'{"params": {"a": ["\\ud83d"]}}': "half of a character",
        b"[" * 20_000: "is not JSON",
    }
    async with world.client() as http:
        for body, words in bodies.items():
            answer = await http.post(C, content=body, headers={"content-type": "application/json"})
            assert (answer.status_code, answer.json()["code"]) == (422, "bad_request"), answer.text
            assert words in answer.text


async def test_a_value_that_is_no_json_marks_nothing(world: World) -> None:
    await ready_agent(world, "t.one")
    made = await world.submit(chain("t.one"))
    async with world.client() as http:
        for value in (b"1e999", b"-1e400", b'"\\ud800"', b'{"\\udc00": 1}'):
            answer = await http.post(
                f"{C}/{made['id']}/tasks/t0/mark",
                content=b'{"state": "succeeded", "value": ' + value + b"}",
                headers={"content-type": "application/json"},
            )
            assert (answer.status_code, answer.json()["code"]) == (422, "bad_request"), answer.text
        whole = await http.post(C, json={"request": "x", "labels": {"a": "\U0001f4a5"}})
        assert "half of a character" not in whole.text


async def test_cancelling_what_is_over_is_refused_for_a_task_and_for_the_whole(world: World) -> None:
    agent = await ready_agent(world, "t.one")
    made = await world.submit(chain("t.one"))
    task = (await get(world, f"{C}/{made['id']}"))["tasks"][0]["id"]
    await agent.done(await agent.next(f.Dispatch))
    await settle()
    async with world.client() as http:
        for where in ("cancel", f"tasks/{task}/cancel", f"tasks/{task}/hold", f"tasks/{task}/release"):
            answer = await http.post(f"{C}/{made['id']}/{where}", json={})
            assert (answer.status_code, answer.json()["code"]) == (409, "illegal_control"), where


async def test_a_plan_is_accepted_as_a_document_and_as_its_text(world: World) -> None:
    made = await world.submit(chain("t.one"))
    assert (made["state"], made["version"]) == ("active", 1)
    text = "starloom: 1\nname: words\ntasks:\n  - {id: a, tool: t.one}\n"
    other = await world.submit(text)
    found = await get(world, f"{C}/{other['id']}")
    assert (found["name"], found["version"], [task["id"] for task in found["tasks"]]) == ("words", 1, ["a"])
    assert found["tasks"][0]["word"]
    assert found["created_at"].endswith("Z")


async def test_waiting_gives_the_answer(world: World) -> None:
    agent = await ready_agent(world)
    async with world.client() as http:
        waiting = asyncio.create_task(http.post(C, params={"wait_s": 5}, json={"plan": chain("t.one")}))
        await agent.done(await agent.next(f.Dispatch), '{"ok":true}')
        response = await waiting
    assert response.status_code == 200
    body = response.json()
    assert (body["state"], body["answer"]["items"][0]["value"]) == ("succeeded", {"ok": True})


async def test_waiting_in_vain_tells_whether_a_person_is_needed(world: World) -> None:
    async with world.client() as http:
        held = await http.post(C, params={"wait_s": 0.01}, json={"plan": chain("t.one"), "hold": True})
        goes_on = await http.post(C, json={"plan": chain("t.one")})
    assert held.status_code == 202
    assert (held.json()["state"], held.json()["running"]) == ("awaiting_approval", 0)
    assert held.json()["attention"] == ["question_open"]
    assert "attention" not in goes_on.json()


async def test_a_budget_of_attempts_pauses_it_and_says_why(world: World) -> None:
    agent = await ready_agent(world)
    async with world.client() as http:
        made = (await http.post(C, json={"plan": chain("t.one", "t.one"), "attempts": 1, "budget": 0.5})).json()
        await agent.done(await agent.next(f.Dispatch), '{"ok":true}')
        await settle()
        found = await get(world, f"{C}/{made['id']}")
        assert (found["state"], found["attention"]) == ("paused", ["budget"])
        assert "budget is used up" in json.dumps(await get(world, f"{C}/{made['id']}/why"))
        resumed = await http.post(f"{C}/{made['id']}/resume", json={})
    assert resumed.status_code == 200
    await agent.done(await agent.next(f.Dispatch), '{"ok":true}')
    await settle()
    assert (await get(world, f"{C}/{made['id']}"))["state"] == "succeeded"


async def test_a_repeated_key_makes_one_constellation(world: World) -> None:
    headers = {"Idempotency-Key": "once"}
    async with world.client() as http:
        first = await http.post(C, json={"plan": chain("t.one")}, headers=headers)
        second = await http.post(C, json={"plan": chain("t.one")}, headers=headers)
        assert first.json()["id"] == second.json()["id"]
        other = await http.post(C, json={"plan": chain("t.two")}, headers=headers)
        assert (other.status_code, other.json()["code"]) == (409, "idempotency_mismatch")
        assert len((await http.get(C)).json()["items"]) == 1


async def test_all_faults_of_a_plan_are_told_at_once(world: World) -> None:
    await ready_agent(world)
    plan = {
        "starloom": 1,
        "name": "bad",
        "tasks": [
            {"id": "a", "tool": "t.one"},
            {"id": "a", "tool": "t.one"},
            {"id": "b", "tool": "t.none"},
            {"id": "c", "tool": "t.one", "device": {"name": "nobody"}},
            {"id": "d", "tool": "t.one", "colour": "red"},
        ],
    }
    async with world.client() as http:
        refused = await http.post(C, json={"plan": plan})
    assert refused.status_code == 422
    problem = refused.json()
    assert problem["code"] == "plan_invalid"
    codes = {fault["code"] for fault in problem["errors"]}
    assert {"duplicate_id", "unknown_tool", "unknown_device", "unknown_field"} <= codes
    assert all(fault["place"] and fault["reason"] and fault["hint"] for fault in problem["errors"])
    assert (await get(world, C))["items"] == []


async def test_a_cycle_and_an_oversized_plan(world: World) -> None:
    cycle = chain("t.one", "t.one")
    cycle["dependencies"].append({"from": "t1", "to": "t0", "when": "success"})
    async with world.client() as http:
        refused = await http.post(C, json={"plan": cycle})
        assert (refused.status_code, refused.json()["code"]) == (422, "plan_cycle")
        big = chain("t.one")
        big["tasks"][0]["args"] = {"text": "x" * (1024 * 1024)}
        assert (await http.post(C, json={"plan": big})).json()["code"] == "plan_too_big"
        huge = await http.post(C, content=b'{"plan": "' + b"x" * (3 * 1024 * 1024) + b'"}')
        assert (huge.status_code, huge.json()["code"]) == (413, "too_large")


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ({}, ""),
        ({"request": "x", "recipe": "y"}, ""),
        ({"request": "   "}, ""),
        ({"plan": 5}, "plan"),
        ({"request": "x", "wish": 1}, "wish"),
        ({"request": "x", "deadline_s": -1}, "deadline_s"),
        ({"request": "x" * 5000}, "request"),
    ],
)
async def test_bad_bodies_name_the_place(world: World, body: dict[str, Any], place: str) -> None:
    async with world.client() as http:
        refused = await http.post(C, json=body)
    assert refused.status_code == 422
    assert any(fault["place"].startswith(place) for fault in refused.json()["errors"]) or not place


class TwoRecipes(NoRecipes):
    def understand(self, words: str, params: Any, by: str, *, shown: bool = False) -> Matched:
        one, two = Candidate("a", "A", 900), Candidate("b", "B", 800)
        return Matched(Match.EXACT, (one,)) if words == "exact" else Matched(Match.NEAR, (one, two))


async def test_words_that_fit_nothing_start_nothing(world: World) -> None:
    async with world.client() as http:
        refused = await http.post(C, json={"request": "make me a sandwich"})
    assert (refused.status_code, refused.json()["code"]) == (422, "request_not_understood")
    assert refused.json()["candidates"] == []
    assert world.jobs.woken == []


async def test_a_near_match_starts_nothing_and_an_exact_one_is_planned_by_a_job(world: World) -> None:
    hub = world.hub
    object.__setattr__(hub, "planner", TwoRecipes())
    async with world.client() as http:
        near = await http.post(C, json={"request": "perhaps"})
        assert (near.status_code, near.json()["code"]) == (422, "request_ambiguous")
        assert [item["recipe"] for item in near.json()["candidates"]] == ["a", "b"]
        exact = await http.post(C, json={"request": "exact"})
        assert (exact.status_code, exact.json()["state"]) == (202, "planning")
    await settle()
    assert world.jobs.woken == [("plan", exact.json()["id"], "plan-1")]


async def test_the_list_is_paged_and_filtered(world: World) -> None:
    for number in range(5):
        await world.clock.advance(1)
        await world.submit(chain("t.one", name=f"plan {number}"))
    page = await get(world, C, limit=2)
    names = [item["name"] for item in page["items"]]
    while page["next"]:
        page = await get(world, C, limit=2, cursor=page["next"])
        names += [item["name"] for item in page["items"]]
    assert names == [f"plan {number}" for number in (4, 3, 2, 1, 0)]
    assert [item["name"] for item in (await get(world, C, q="plan 3"))["items"]] == ["plan 3"]
    assert (await get(world, C, state="failed"))["items"] == []
    assert len((await get(world, C, state=["failed", "active"]))["items"]) == 5
    author = (await get(world, C, limit=1))["items"][0]["author"]
    assert len((await get(world, C, of=name_of(author).upper()))["items"]) == 5
    assert (await get(world, C, of="nobody"))["items"] == []
    await world.submit(chain("t.one", name="test of one"), labels={"test": "device"})
    await world.submit(chain("t.one", name="told"), labels={"notice": "schedule"})
    theirs = i.RequestReceived(id="theirs", by="person:mira", constellation="c-theirs", recipe="look")
    assert not (await world.hub.inbox.ask(theirs)).faults
    own = (await get(world, C, by_caller=True, limit=2))["items"]
    assert [item["name"] for item in own] == ["plan 4", "plan 3"]
    async with world.client() as http:
        assert (await http.get(C, params={"cursor": "!!"})).status_code == 422


async def test_versions_and_what_changed_between_them(world: World) -> None:
    made = await world.submit(chain("t.one", "t.one"))
    path = f"{C}/{made['id']}"
    edit = {
        "base_version": 1,
        "operations": [
            {"add_task": {"id": "extra", "tool": "t.one"}},
            {"update_task": {"id": "t1", "args": {"x": 1}}},
        ],
        "reason": "more",
    }
    async with world.client() as http:
        edited = await http.post(path + "/edits", json=edit)
        assert (edited.status_code, edited.json()["version"]) == (200, 2)
    versions = (await get(world, path + "/versions"))["items"]
    assert [(item["number"], item["reason"]) for item in versions] == [(1, "chain: 2 tasks"), (2, "more")]
    assert versions[1]["author"].startswith("person:")
    diff = await get(world, path + "/diff", **{"from": 1, "to": 2})
    assert [(item["kind"], item["id"]) for item in diff["added"]] == [("task", "extra")]
    assert [(item["id"], item["after"]) for item in diff["changed"]] == [("t1", {"args": '{"x":1}'})]
    first = await get(world, path, version=1)
    assert [task["id"] for task in first["tasks"]] == ["t0", "t1"]
    assert first["version"] == 1
    async with world.client() as http:
        assert (await http.get(path, params={"version": 9})).status_code == 404


async def test_an_old_edit_is_refused_with_the_current_version(world: World) -> None:
    made = await world.submit(chain("t.one", "t.one"))
    path = f"{C}/{made['id']}/edits"
    change = {"base_version": 1, "operations": [{"update_task": {"id": "t1", "args": {"x": 1}}}]}
    async with world.client() as http:
        assert (await http.post(path, json=change)).status_code == 200
        late = await http.post(path, json=change)
        assert (late.status_code, late.json()["code"], late.json()["current_version"]) == (409, "edit_conflict", 2)
        # Without a version it is made on the present one, as an edit in a file is.
        now = await http.post(path, json={"operations": change["operations"]})
        assert (now.status_code, now.json()["version"]) == (200, 3), now.text
        wrong = await http.post(path, json={"base_version": 3, "operations": [{"explode": {}}, {"add_task": {}}]})
        assert wrong.status_code == 422
        assert len(wrong.json()["errors"]) >= 2


async def test_an_edit_with_arguments_that_no_tool_takes_changes_nothing(world: World) -> None:
    """An edit is held to the tools as a plan is, and nothing runs into a fault that was to be seen before."""
    args = canonical({"additionalProperties": False, "properties": {"x": {}}, "required": ["x"]})
    offer = Offer(digest="d", slots=2, tools=[ToolOffer(name="t.one", args=args, title="One")])
    await (await world.join("one")).connect(world, offer=offer)
    task = {"id": "a", "tool": "t.one", "args": {"x": 1}}
    made = await world.submit({"starloom": 1, "name": "plan", "tasks": [task, {**task, "id": "b"}]}, hold=True)
    for given, wrong in (({"xx": 1}, "takes no `xx`"), ({}, "needs `x`")):
        body = {"base_version": 1, "operations": [{"update_task": {"id": "b", "args": given}}]}
        async with world.client() as http:
            refused = await http.post(f"{C}/{made['id']}/edits", json=body)
        assert refused.status_code == 422
        assert wrong in refused.text
    assert (await get(world, f"{C}/{made['id']}"))["version"] == 1
    body = {"base_version": 1, "operations": [{"update_task": {"id": ["b"], "args": {}}}]}
    async with world.client() as http:
        assert (await http.post(f"{C}/{made['id']}/edits", json=body)).status_code == 422


async def test_controls_of_a_constellation_and_its_tasks(world: World) -> None:
    agent = await ready_agent(world)
    made = await world.submit(chain("t.one", "t.one"))
    path = f"{C}/{made['id']}"
    dispatch = await agent.next(f.Dispatch)
    async with world.client() as http:
        assert (await http.post(path + "/pause")).json()["state"] == "paused"
        again = await http.post(path + "/pause")
        assert (again.status_code, again.json()["code"]) == (409, "illegal_control")
        assert (await http.post(path + "/resume", json={"reason": "go on"})).json()["state"] == "active"
        refused = await http.post(path + "/tasks/t0/retry")
        assert (refused.status_code, refused.json()["code"]) == (409, "illegal_control")
        assert (await http.post(path + "/tasks/none/retry")).status_code == 422
        assert (await http.post(path + "/tasks/t0/explode")).status_code == 422
        await agent.done(dispatch, outcome="error", code="tool_failed")
        await settle()
        marked = await http.post(path + "/tasks/t0/mark", json={"value": {"by": "hand"}, "reason": "I looked"})
        assert marked.status_code == 200, marked.text
        assert (await agent.next(f.Dispatch)).at.task == "t1"
        cancelled = await http.post(path + "/cancel")
        assert (cancelled.status_code, cancelled.json()["state"]) == (202, "cancelling")
    cancel = await agent.next(f.Cancel)
    agent.report += 1
    await agent.send(f.Receipt(at=cancel.at, report=agent.report))
    await settle()
    assert (await get(world, path))["state"] == "cancelled"


async def test_events_by_long_poll_and_as_a_stream(world: World) -> None:
    made = await world.submit(chain("t.one"))
    path = f"{C}/{made['id']}/events"
    page = await get(world, path)
    last = page["next"]
    assert [event["seq"] for event in page["items"]] == list(range(1, last + 1))
    async with world.client() as http:
        waiting = asyncio.create_task(http.get(path, params={"after": last, "wait_s": 5}))
        await settle()
        assert not waiting.done()
        await http.post(f"{C}/{made['id']}/pause")
        (event,) = (await waiting).json()["items"]
        assert event["kind"] == "paused"
        timed_out = await http.get(path, params={"after": event["seq"], "wait_s": 0.01})
        assert timed_out.json() == {"items": [], "next": event["seq"]}


async def test_a_stream_of_events_resumes_after_the_last_id(world: World) -> None:
    made = await world.submit(chain("t.one"))
    path = f"{C}/{made['id']}/events"
    known = await world.hub.reads.events(made["id"], 0, 100)
    seen: list[bytes] = []
    identity, text = await world.new_token("viewer")
    scope_headers = {"accept": "text/event-stream", "last-event-id": "1", "authorization": f"Bearer {text}"}
    stream = asyncio.create_task(_read_stream(world, path, scope_headers, seen))
    await settle(200)
    async with world.client() as http:
        await http.delete(f"/api/v1/tokens/{identity}")
        await http.post(f"{C}/{made['id']}/pause")
    await asyncio.wait_for(stream, PATIENCE_S)
    body = b"".join(seen)
    ids = [int(line[4:]) for line in body.split(b"\n") if line.startswith(b"id: ")]
    assert ids[: len(known) - 1] == [decode_event(raw).seq for raw in known[1:]]
    data = [line[6:] for line in body.split(b"\n") if line.startswith(b"data: ")]
    assert data[0] == known[1]


async def _read_stream(world: World, path: str, headers: dict[str, str], seen: list[bytes]) -> None:
    """Read a stream by ASGI, because the test client gives an answer only when it is whole."""
    given = {"host": "127.0.0.1:8470", **headers}
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "GET",
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "root_path": "",
        "headers": [(name.encode(), value.encode()) for name, value in given.items()],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 8470),
        "state": {},
    }
    sent = False

    async def receive() -> dict[str, Any]:
        nonlocal sent
        if sent:
            await asyncio.Event().wait()
        sent = True
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        seen.append(message.get("body", b""))

    await world.app(scope, receive, send)


async def test_why_names_every_device_with_its_reason(world: World) -> None:
    agent = await ready_agent(world)
    assert agent.ws is not None
    await agent.ws.leave()
    await world.online("two", offer=an_offer("t.other"))
    made = await world.submit(chain("t.one", "t.one"))
    found = await get(world, f"{C}/{made['id']}/why", task_id="t0")
    assert found["reason"] == "device_away"
    assert {item["name"]: item["fits"] for item in found["candidates"]}.keys() == {"one", "two"}
    assert all(item["reason"] for item in found["candidates"])
    whole = await get(world, f"{C}/{made['id']}/why")
    assert [item["task"] for item in whole["items"]] == ["t0", "t1"]
    assert whole["items"][1]["waits_for"] == ["t0"]
    async with world.client() as http:
        assert (await http.get(f"{C}/{made['id']}/why", params={"task_id": "none"})).status_code == 404


async def test_why_says_what_goes_before_a_task(world: World) -> None:
    await world.online("one", offer=an_offer(slots=1))
    await world.submit({**chain("t.one"), "name": "Scale"})
    made = await world.submit({**chain("t.one", "t.one"), "name": "Check"})
    found = await get(world, f"{C}/{made['id']}/why", task_id="t0")
    assert (found["reason"], found["word"]) == ("busy", "Ready")
    assert found["sentence"].endswith("one is busy (1 of 1 slots). It is next, after work of Scale.")
    whole = await get(world, f"{C}/{made['id']}/why")
    assert whole["items"][0]["sentence"] == found["sentence"]
    assert whole["sentence"] == "Check is active: 0 of 2 tasks have ended and 2 wait."


async def test_priority_is_set_while_a_plan_runs(world: World) -> None:
    agent = await world.online("one", offer=an_offer(slots=1))
    await world.submit({**chain("t.one"), "name": "first"})
    await world.submit({**chain("t.one"), "name": "second"})
    last = await world.submit({**chain("t.one"), "name": "last", "policy": {"priority": "low"}})
    async with world.client() as http:
        body = {"base_version": 1, "operations": [{"set_policy": {"priority": "high"}}]}
        changed = await http.post(f"{C}/{last['id']}/edits", json=body)
        assert changed.status_code == 200, changed.text
    assert (await get(world, f"{C}/{last['id']}"))["policy"]["priority"] == "high"
    await agent.done(await agent.next(f.Dispatch), '{"ok":true}')
    assert (await agent.next(f.Dispatch)).at.constellation == last["id"]


async def test_a_question_is_listed_and_answered(world: World) -> None:
    plan = {
        "starloom": 1,
        "name": "ask",
        "tasks": [
            {
                "id": "room",
                "person": "Copy all the same?",
                "choices": [{"value": "go", "label": "Copy"}, {"value": "stop", "label": "Stop", "fails": True}],
            }
        ],
    }
    first = await world.submit(plan)
    await world.clock.advance(1)
    second = await world.submit(plan)
    items = (await get(world, "/api/v1/approvals"))["items"]
    assert [item["constellation"] for item in items] == [first["id"], second["id"]]
    assert items[0]["text"] == "Copy all the same?"
    name = items[0]["question"]
    async with world.client() as http:
        ambiguous = await http.post(f"/api/v1/approvals/{name}/approve")
        assert ambiguous.status_code == 409
        bad = await http.post(f"/api/v1/approvals/{items[0]['id']}/answer", json={"value": "maybe"})
        assert bad.status_code == 422
        denied = await http.post(f"/api/v1/approvals/{items[0]['id']}/deny", json={"reason": "no"})
        assert denied.json()["answer"] == "stop"
        approved = await http.post(f"/api/v1/approvals/{items[1]['id']}/approve")
        assert approved.json()["answer"] == "go"
        again = await http.post(f"/api/v1/approvals/{items[1]['id']}/approve")
        assert (again.status_code, again.json()["answer"]) == (200, "go")
        other = await http.post(f"/api/v1/approvals/{items[1]['id']}/deny")
        name = (await http.get("/api/v1/session")).json()["principal"]["name"]
        assert (other.status_code, f"answered by {name} with go" in other.text) == (409, True)
        assert (await http.post(f"/api/v1/approvals/{first['id']}:none/approve")).status_code == 404
    assert (await get(world, "/api/v1/approvals"))["items"] == []
    assert (await get(world, f"{C}/{first['id']}"))["state"] == "failed"
    assert (await get(world, f"{C}/{second['id']}"))["state"] == "succeeded"


async def test_a_held_plan_waits_for_its_approval(world: World) -> None:
    made = await world.submit(chain("t.one"), hold=True)
    assert made["state"] == "awaiting_approval"
    (question,) = (await get(world, "/api/v1/approvals"))["items"]
    assert question["kind"] == "approval"
    async with world.client() as http:
        assert (await http.post(f"/api/v1/approvals/{question['id']}/approve")).status_code == 200
    assert (await get(world, f"{C}/{made['id']}"))["state"] == "active"


async def test_a_preview_binds_the_plan_by_its_hash(world: World) -> None:
    async with world.client() as http:
        shown = (await http.post(C + "/preview", json={"plan": chain("t.one")})).json()
        assert shown["plan_hash"]
        ok = await http.post(C, json={"plan": chain("t.one"), "plan_hash": shown["plan_hash"]})
        assert ok.status_code == 202
        changed = await http.post(C, json={"plan": chain("t.two"), "plan_hash": shown["plan_hash"]})
        assert (changed.status_code, changed.json()["code"]) == (409, "plan_hash_mismatch")
    assert len((await get(world, C))["items"]) == 1


async def test_stop_all_cancels_everything(world: World) -> None:
    first, second = await world.submit(chain("t.one")), await world.submit(chain("t.one"))
    async with world.client() as http:
        stopped = (await http.post("/api/v1/stop-all", json={"reason": "fire"})).json()
    assert stopped["constellations"] == sorted([first["id"], second["id"]])
    assert (stopped["devices"], stopped["reason"]) == ([], "fire")
    assert (await get(world, f"{C}/{first['id']}"))["state"] == "cancelled"


async def test_an_unknown_constellation_is_404_on_every_route(world: World) -> None:
    async with world.client() as http:
        for path in ("", "/result", "/versions", "/events", "/why", "/report", "/diff?from=1&to=2"):
            for name in ("c-none", "fleet", "access"):
                response = await http.get(f"{C}/{name}{path}")
                assert (response.status_code, response.json()["code"]) == (404, "not_found"), path
        for path, body in (
            ("/pause", {}),
            ("/edits", {"base_version": 1, "operations": [{"remove_task": {"id": "x"}}]}),
        ):
            assert (await http.post(f"{C}/c-none{path}", json=body)).status_code == 404


async def test_an_overloaded_hub_and_a_silent_store_answer_503(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    async def overloaded(_item: object) -> object:
        raise Overloaded("the history is 9000 ms behind", 2)

    async def silent(*_args: object, **_more: object) -> object:
        raise Unavailable("Redis does not answer")

    async with world.client() as http:
        monkeypatch.setattr(world.engine.inbox, "ask", overloaded)
        refused = await http.post(C, json={"plan": chain("t.one")})
        assert (refused.status_code, refused.json()["code"]) == (503, "overloaded")
        assert refused.headers["retry-after"] == "2"
        monkeypatch.setattr(world.hub.reads, "constellations", silent)
        down = await http.get(C)
        assert (down.status_code, down.json()["code"]) == (503, "store_unavailable")
        assert int(down.headers["retry-after"]) >= 1


async def test_an_unexpected_error_shows_its_id_only(
    world: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken(*_args: object, **_more: object) -> object:
        raise RuntimeError("secret slt_abc_defghi inside")

    monkeypatch.setattr(world.hub.reads, "constellations", broken)
    async with world.client() as http:
        response = await http.get(C)
    assert response.status_code == 500
    assert response.json()["code"] == "internal"
    assert "secret" not in response.text
    assert response.json()["request_id"] == response.headers["x-request-id"]
    assert any("GET /api/v1/constellations" in record.message for record in caplog.records)


async def test_the_lab_notes_its_faults_in_the_log(world: World) -> None:
    made = await world.submit(chain("t.one"))
    async with world.client() as http:
        noted = await http.post("/api/v1/lab/notes", json={"constellation": made["id"], "note": "cut"})
    assert noted.status_code == 201
    events = [json.loads(raw) for raw in await world.hub.reads.events(made["id"], 0, 100)]
    assert [(event["kind"], event.get("note")) for event in events][-1] == ("fault_injected", "cut")


async def test_a_draft_is_opened_renewed_and_closed(world: World) -> None:
    made = await world.submit(chain("t.one", "t.one"))
    path = f"{C}/{made['id']}/draft"
    async with world.client() as http:
        opened = await http.put(path, json={"tasks": ["t1"], "ttl_s": 30})
        assert (opened.status_code, opened.json()["tasks"]) == (200, ["t1"])
        assert opened.json()["expires_at"].endswith("Z")
        wrong = await http.put(path, json={"tasks": ["t1"], "ttl_s": 300})
        assert (wrong.status_code, wrong.json()["errors"][0]["place"]) == (422, "ttl_s")
        missing = await http.put(path, json={"tasks": ["nothing"]})
        assert (missing.status_code, missing.json()["code"]) == (422, "unknown_task")
        assert (await http.delete(path)).json() == {"closed": True}


async def test_why_of_one_that_failed_names_its_first_cause_and_the_way_out(world: World) -> None:
    agent = await ready_agent(world, "t.one")
    made = await world.submit(chain("t.one", "t.one"))
    await agent.done(await agent.next(f.Dispatch), outcome=Outcome.ERROR, code=Code.TOOL_FAILED, detail="boom")
    await settle()
    whole, failed = (await get(world, f"{C}/{made['id']}/why"))["items"]
    assert "First cause: t0" in whole["sentence"]
    assert "boom" in whole["sentence"]
    assert (failed["task"], failed["fix"]) == ("t0", "retry")


async def test_why_of_one_that_succeeded_is_its_answer(world: World) -> None:
    agent = await ready_agent(world, "t.one")
    made = await world.submit(chain("t.one"))
    await agent.done(await agent.next(f.Dispatch))
    await settle()
    (whole,) = (await get(world, f"{C}/{made['id']}/why"))["items"]
    assert whole["sentence"].endswith("is done: 1 task on one.")


async def test_a_row_counts_the_tasks_that_are_on_a_device_now(world: World) -> None:
    agent = await ready_agent(world)
    tasks = [{"id": f"t{number}", "tool": "t.one"} for number in range(3)]
    made = await world.submit({"starloom": 1, "name": "sweep", "tasks": tasks})
    first = await agent.next(f.Dispatch)
    assert [row["running"] for row in (await get(world, C))["items"]] == [2]
    assert (await get(world, f"{C}/{made['id']}"))["running"] == 2
    await agent.done(first)
    for _ in range(2):
        await agent.done(await agent.next(f.Dispatch))
    await settle()
    assert [row["running"] for row in (await get(world, C))["items"]] == [0]
