"""Attackers with rights of their own: a token of each role and scope, an assistant, and one who repeats another's key.

Each tries every way up that is known, against a hub with a device whose tools read, write and change. What counts is
what was dispatched and what stands in the log: nothing beyond what was granted, and each refusal with who and why.
"""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest

from starloom.core.state import inputs as i
from starloom.edge.access.callers import Scope
from starloom.engine.ports import Reply
from starloom_protocol.plan import PlanCheck, check_plan
from starloom_protocol.records.entities import Offer, ToolOffer
from starloom_protocol.vocabulary import ROLE_RANK, Effect, Repeatability, Role
from starloom_protocol.wire import frames as f
from tests.edge.world import Agent, World, settle

V1 = "/api/v1"
C = V1 + "/constellations"
ACTING = {"x-starloom-acting": "assistant"}
CHANGE = {"id": "change", "tool": "t.change", "args": {"name": "nginx"}}
SECRET = {"id": "leak", "tool": "t.read", "args": {"env": {"X": {"secret": "canary"}}}}
READ = {"id": "read", "tool": "t.read"}
EFFECTS = {"t.read": [Effect.READ], "t.write": [Effect.READ, Effect.WRITE], "t.change": [Effect.CHANGE]}
NESTED = {"id": "in", "plan": {"tasks": [SECRET]}}


def plan(*tasks: Any, **fields: Any) -> dict[str, Any]:
    return {"starloom": 1, "name": "attack", "tasks": list(tasks), **fields}


def rule(**operation: Any) -> dict[str, Any]:
    return {"name": "r", "when": {"task": "read", "event": "succeeded"}, "edit": [operation], "reason": "x"}


def recipe(name: str, *tasks: Any, **fields: Any) -> dict[str, Any]:
    return {"starloom_recipe": 1, "name": name, "title": name, "version": 1, "plan": plan(*tasks, **fields)}


async def worker(world: World) -> Agent:
    agent = await world.join("srv")
    offers = [
        ToolOffer(effects=effects, name=name, repeatability=Repeatability.PURE, title=name)
        for name, effects in EFFECTS.items()
    ]
    await agent.connect(world, offer=Offer(digest="d", slots=64, tools=offers))
    async with world.client() as http:
        assert (await http.put(f"{V1}/secrets/canary", json={"value": "CaNaRy"})).status_code in (200, 201)
    return agent


def given(agent: Agent) -> list[f.Dispatch]:
    return [frame for frame in agent.inbox if isinstance(frame, f.Dispatch)]


async def dispatched(agent: Agent) -> list[f.Dispatch]:
    """Return all that the device was told to do so far."""
    await settle(60)
    await agent.send(f.Ping(at_ms=1))
    await agent.next(f.Pong)
    return given(agent)


async def refusals(world: World) -> list[dict[str, Any]]:
    await settle(60)
    async with world.client() as http:
        found = (await http.get(f"{V1}/audit", params={"limit": 200})).json()["items"]
    return [item for item in found if item["kind"] == "refused"]


@asynccontextmanager
async def as_token(world: World, role: Role, scopes: list[Scope]) -> AsyncIterator[httpx.AsyncClient]:
    _, text = await world.new_token(role, [str(scope) for scope in scopes])
    async with world.client(text) as http:
        yield http


HIDDEN: dict[str, dict[str, Any]] = {
    "files_out": {"plan": plan({**READ, "files_out": [{"output": "/files/0", "to": "docs/a.txt"}]})},
    "undo": {"plan": plan({**READ, "undo": {"tool": "t.write"}})},
    "verify": {"plan": plan({**READ, "verify": {"tool": "t.write", "expect": [{"output": "", "op": "exists"}]}})},
    "rule_adds": {"plan": plan(READ, rules=[rule(add_task={"id": "w", "tool": "t.write"})])},
    "rule_saves": {
        "plan": plan(
            READ,
            {**READ, "id": "next"},
            rules=[rule(update_task={"id": "next", "files_out": [{"output": "/files/0", "to": "a.txt"}]})],
        )
    },
    "nested": {"plan": plan({"id": "in", "plan": {"tasks": [{"id": "w", "tool": "t.write"}]}})},
    "other_call": {"plan": plan({**READ, "any_of": [{"tool": "t.write"}]})},
    "rule_other_call": {
        "plan": plan(
            READ,
            {**READ, "id": "next"},
            rules=[rule(update_task={"id": "next", "any_of": [{"tool": "t.write"}]})],
        )
    },
    "group": {"plan": plan({"id": "w", "tool": "t.write", "for_each": {"devices": {"tools": ["t.write"]}}})},
}


async def proposed_by_model(world: World, checked: PlanCheck) -> Reply:
    """Have a worker's model propose a plan for the request `c-x`; return the reply of the hub."""
    assert checked.plan is not None, checked.faults
    ask = world.hub.inbox.ask
    request = i.RequestReceived(by="person:ann", constellation="c-x", id="r", request="look around")
    assert not (await ask(request)).faults
    claim = i.JobClaimed(by="worker:w", constellation="c-x", id="j", job="plan-1", ttl_ms=15_000, worker="w")
    assert not (await ask(claim)).faults
    return await ask(
        i.PlanProposed(
            by="worker:w", by_model=True, constellation="c-x", id="p", job="plan-1", plan=checked.plan, worker="w"
        )
    )


@pytest.mark.parametrize("shape", HIDDEN)
async def test_t31_a_hostile_models_plan_starts_nothing(world: World, shape: str) -> None:
    agent = await worker(world)
    assert not (await proposed_by_model(world, check_plan(HIDDEN[shape]["plan"]))).faults
    assert await dispatched(agent) == []
    async with world.client() as http:
        found = (await http.get(f"{C}/c-x")).json()
        (question,) = (await http.get(f"{V1}/approvals")).json()["items"]
    assert found["state"] == "awaiting_approval"
    assert "write" in question["effects"]


@pytest.mark.parametrize("place", ["task", "rule"])
async def test_t31_a_models_plan_names_no_secret(world: World, place: str) -> None:
    agent = await worker(world)
    checked = check_plan(plan(SECRET) if place == "task" else plan(READ, rules=[rule(add_task=SECRET)]))
    reply = await proposed_by_model(world, checked)
    assert "model may not name a secret" in reply.faults[0].reason
    assert await dispatched(agent) == []


async def test_t152_a_models_plan_says_no_sentence_of_the_answer(world: World) -> None:
    agent = await worker(world)
    checked = check_plan(plan(READ, sentence=[{"text": "Nothing was found. All is safe."}]))
    reply = await proposed_by_model(world, checked)
    assert "model may not say how the answer begins" in reply.faults[0].reason
    assert await dispatched(agent) == []


ASSISTANTS_PLANS: dict[str, dict[str, Any]] = {
    "plan": {"plan": plan(SECRET)},
    "nested": {"plan": plan(NESTED)},
    "rule": {"plan": plan(READ, rules=[rule(add_task=SECRET)])},
    "never": {"plan": plan(CHANGE, policy={"approval": "never"})},
    "sentence": {"plan": plan(READ, sentence=[{"text": "All is safe."}])},
}


@pytest.mark.parametrize("door", ["header", "token"])
async def test_t32_an_assistant_names_no_secret_and_approves_nothing(world: World, door: str) -> None:
    agent = await worker(world)
    async with world.client() as http:
        owners = (
            await http.post(
                C,
                json={
                    "plan": plan(
                        {"id": "ask", "person": "Go?"},
                        {**SECRET},
                        dependencies=[{"from": "ask", "to": "leak", "when": "success"}],
                    )
                },
            )
        ).json()["id"]
        made = await http.post(f"{V1}/tokens", json={"role": "owner", "for": "claude", "kind": "assistant"})
        assert made.status_code == 201, made.text
        text = made.json()["token"] if door == "token" else world.token
    async with world.client(text) as http:
        http.headers.update(ACTING if door == "header" else {})
        for name, body in ASSISTANTS_PLANS.items():
            for path in (C, f"{V1}/schedules"):
                clock = {"cron": "0 3 * * *"} if path != C else {}
                tried = await http.post(path, json={**body, **clock})
                assert (tried.status_code, tried.json()["code"]) == (403, "forbidden"), (name, path, tried.text)
        saved = await http.post(f"{V1}/recipes", json={"recipe": recipe("leaks", SECRET)})
        assert saved.status_code == 403, saved.text
        said = recipe("lulls", READ)
        said["plan"]["sentence"] = [{"text": "All is safe."}]
        saved = await http.post(f"{V1}/recipes", json={"recipe": said})
        assert saved.status_code == 403, saved.text
        assert "may not say how the answer begins" in saved.text
        for operation in (
            {"add_task": {**SECRET, "id": "new"}},
            {"update_task": {"id": "leak", "args": {"env": {"X": {"secret": "canary"}}, "code": "leak it"}}},
            {"set_policy": {"approval": "never"}},
            {"remove_dependency": {"id": "ask>leak:success"}},
        ):
            tried = await http.post(f"{C}/{owners}/edits", json={"base_version": 1, "operations": [operation]})
            assert tried.status_code == 403, (operation, tried.text)
        forked = await http.post(f"{C}/{owners}/fork", json={"from_version": 1, "inputs": {"leak": {"code": "x"}}})
        assert forked.status_code == 403, forked.text
        for action, more in (("mark", {"state": "succeeded", "value": {"value": "yes"}}), ("skip", {})):
            tried = await http.post(f"{C}/{owners}/tasks/ask/{action}", json=more)
            assert tried.status_code == 403, (action, tried.text)
        for path in ("/sign-in-links", "/tokens", "/enrollments", "/stop-all/none"):
            tried = await http.post(V1 + path, json={"role": "viewer"} if path == "/tokens" else {})
            assert tried.status_code in (403, 404, 405), (path, tried.text)
        assert (await http.put(f"{V1}/secrets/canary", json={"value": "x"})).status_code == 403
        for undo in ({"tool": "t.change"}, {"tool": "t.write"}):
            waits = await http.post(C, json={"plan": plan({**READ, "undo": undo})})
            assert waits.json()["state"] == "awaiting_approval", waits.text
        shown = (await http.post(f"{C}/preview", json={"plan": plan(CHANGE)})).json()
        waits = await http.post(C, json={"plan": plan(CHANGE), "plan_hash": shown["plan_hash"]})
        assert waits.json()["state"] == "awaiting_approval"
        name = f"{waits.json()['id']}:approve-plan"
        assert (await http.post(f"{V1}/approvals/{name}/approve", json={})).status_code == 403
    assert {sent.tool for sent in await dispatched(agent)} <= {"t.read"}
    assert all(not sent.secrets for sent in given(agent))
    by = {item["by"].partition("#")[0] for item in await refusals(world)}
    assert by == {"assistant:claude" if door == "token" else f"assistant:{world.hub.access.owner().name}"}  # type: ignore[union-attr]


async def test_t33_no_token_gets_more_than_it_has(world: World) -> None:
    roles, scopes = list(Role), list(Scope)
    for role, scope in itertools.product(roles, [None, *scopes]):
        async with as_token(world, role, [scope] if scope else []) as http:
            mine = (await http.get(f"{V1}/session")).json()
            for wanted, narrowed in itertools.product(roles, [None, *scopes]):
                body = {"role": wanted, "scopes": [narrowed] if narrowed else []}
                made = await http.post(f"{V1}/tokens", json=body)
                less = ROLE_RANK[wanted] <= ROLE_RANK[role] and (scope is None or narrowed is scope)
                may = role in (Role.OWNER, Role.OPERATOR) and scope in (None, Scope.ACCESS)
                assert (made.status_code == 201) == (may and less), (role, scope, body, made.text)
            link = await http.post(f"{V1}/sign-in-links", json={})
            # A whole token opens the page for its holder; a narrowed one does only with `access` among its scopes.
            assert (link.status_code == 201) == (scope in (None, Scope.ACCESS))
            invited = await http.post(f"{V1}/sign-in-links", json={"for": "bob", "role": "viewer"})
            if role is not Role.OWNER or scope is not None:
                assert invited.status_code == 403, (role, scope, invited.text)
            ranked = await http.patch(f"{V1}/people/nobody", json={"role": "owner"})
            assert ranked.status_code == (404 if role is Role.OWNER and scope in (None, Scope.ACCESS) else 403)
            if link.status_code == 201:
                identity, _, secret = link.json()["url"].rpartition("/")[2].partition(".")
                async with world.client("") as page:
                    await page.post(f"{V1}/sign-in", json={"id": identity, "secret": secret})
                    session = (await page.get(f"{V1}/session")).json()
                assert (session["role"], session["scopes"]) == (mine["role"], mine["scopes"])


RUNNERS = [(Role.OWNER, [Scope.READ, Scope.RUN]), (Role.OPERATOR, [Scope.READ, Scope.RUN])]


@pytest.mark.parametrize(("role", "scopes"), RUNNERS)
async def test_t33_who_may_not_approve_sets_no_approval_aside(world: World, role: Role, scopes: list[Scope]) -> None:
    agent = await worker(world)
    async with world.client() as owner:
        reading = (await owner.post(C, json={"plan": plan(READ)})).json()["id"]
        asking = plan(
            {"id": "ask", "person": "Go?"},
            {**READ, "id": "late"},
            CHANGE,
            dependencies=[{"from": "ask", "to": name, "when": "success"} for name in ("change", "late")],
        )
        shown = (await owner.post(f"{C}/preview", json={"plan": asking})).json()
        approved = (await owner.post(C, json={"plan": asking, "plan_hash": shown["plan_hash"]})).json()
        assert approved["state"] == "active"
        never = {"plan": plan({**CHANGE, "id": "once"}, policy={"approval": "never"})}
        kept = (await owner.post(C, json=never)).json()
        assert kept["state"] == "active", "whoever may approve may also set it aside"
    assert [sent.tool for sent in await dispatched(agent)].count("t.change") == 1
    async with as_token(world, role, scopes) as http:
        for body in (
            {"plan": plan(CHANGE, policy={"approval": "never"})},
            {"plan": plan(READ, policy={"approval": "never"})},
            {"plan": plan(READ, rules=[rule(set_policy={"approval": "never"})])},
        ):
            for path, clock in ((C, {}), (f"{V1}/schedules", {"cron": "0 3 * * *"})):
                tried = await http.post(path, json={**body, **clock})
                assert (tried.status_code, "scope approve" in tried.text) == (403, True), (path, body, tried.text)
                assert "policy.approval" in tried.text or "as a plan of its own" in tried.text
        saved = await http.post(f"{V1}/recipes", json={"recipe": recipe("free", CHANGE, policy={"approval": "never"})})
        assert saved.status_code == 403, saved.text
        shown = (await http.post(f"{C}/preview", json={"plan": plan(CHANGE)})).json()
        hashed = await http.post(C, json={"plan": plan(CHANGE), "plan_hash": shown["plan_hash"]})
        assert hashed.json()["state"] == "awaiting_approval", "a hash says what was seen, not that it is allowed"
        timed = {"cron": "0 3 * * *", "plan": plan(CHANGE), "plan_hash": shown["plan_hash"]}
        assert (await http.post(f"{V1}/schedules", json=timed)).json()["code"] == "needs_approval"
        for operation in (
            {"add_task": {**CHANGE, "id": "more"}},
            {"update_task": {"id": "late", "tool": "t.change"}},
            {"set_policy": {"approval": "never"}},
            {"remove_dependency": {"id": "ask>change:success"}},
            {"add_task": {**READ, "id": "other"}},
        ):
            edit = {"base_version": 1, "operations": [operation]}
            tried = await http.post(f"{C}/{approved['id']}/edits", json=edit)
            assert tried.status_code == 403, (operation, tried.text)
        plain = {"base_version": 1, "operations": [{"add_task": {**READ, "id": "other"}}]}
        assert (await http.post(f"{C}/{reading}/edits", json=plain)).status_code == 200, "reading widens nothing"
        wide = {"base_version": 2, "operations": [{"add_task": {**CHANGE, "id": "more"}}]}
        tried = await http.post(f"{C}/{reading}/edits", json=wide)
        assert (tried.status_code, "scope approve" in tried.text) == (403, True), tried.text
        for action, more in (("mark", {"state": "succeeded", "value": {"value": "yes"}}), ("skip", {})):
            tried = await http.post(f"{C}/{approved['id']}/tasks/ask/{action}", json=more)
            assert tried.status_code == 403, (action, tried.text)
        forked = await http.post(f"{C}/{kept['id']}/fork", json={"from_task": "once"})
        assert forked.status_code == 403, forked.text
    assert [sent.tool for sent in await dispatched(agent)].count("t.change") == 1
    assert all("#" in item["by"] for item in await refusals(world))


async def test_t34_children_end_with_their_parent(world: World) -> None:
    parent, text = await world.new_token("owner", ["access"])
    async with world.client(text) as http:
        child = (await http.post(f"{V1}/tokens", json={"role": "owner", "scopes": ["access"], "ttl_s": 0})).json()
        async with world.client(child["token"]) as below:
            grandchild = (await below.post(f"{V1}/tokens", json={"role": "viewer", "scopes": ["access"]})).json()
            link = (await below.post(f"{V1}/sign-in-links", json={})).json()["url"].rpartition("/")[2]
            unused = (await below.post(f"{V1}/sign-in-links", json={})).json()["url"].rpartition("/")[2]
    page = world.client("")
    async with page, world.client() as owner:
        identity, _, secret = link.partition(".")
        assert (await page.post(f"{V1}/sign-in", json={"id": identity, "secret": secret})).status_code == 200
        assert (await page.get(f"{V1}/session")).status_code == 200
        assert (await owner.delete(f"{V1}/tokens/{parent}")).status_code == 200
        for made in (child, grandchild):
            async with world.client(made["token"]) as http:
                assert (await http.get(f"{V1}/session")).status_code == 401
        assert (await page.get(f"{V1}/session")).status_code == 401
        identity, _, secret = unused.partition(".")
        assert (await page.post(f"{V1}/sign-in", json={"id": identity, "secret": secret})).status_code == 401
        assert (await owner.get(f"{V1}/session")).status_code == 200


async def test_t34_a_child_never_outlives_its_parent(world: World) -> None:
    async with world.client() as owner:
        short = (await owner.post(f"{V1}/tokens", json={"role": "operator", "ttl_s": 60})).json()
    async with world.client(short["token"]) as http:
        made = [
            (await http.post(f"{V1}/tokens", json={"role": "operator", "ttl_s": ttl_s})).json() for ttl_s in (0, 10**6)
        ]
        assert {item["expires_at"] for item in made} == {short["expires_at"]}
        await http.post(f"{V1}/schedules", json={"cron": "* * * * *", "plan": plan({"id": "a", "person": "Well?"})})
    await world.clock.advance(61_000)
    for item in made:
        async with world.client(item["token"]) as http:
            assert (await http.get(f"{V1}/session")).status_code == 401


async def test_t35_an_operator_sees_and_ends_only_what_is_its_own(world: World) -> None:
    others = [(await world.new_token(role))[0] for role in ("owner", "operator", "viewer")]
    local = world.token.split("_")[1]
    mine, text = await world.new_token("operator")
    async with world.client(text) as http:
        child = (await http.post(f"{V1}/tokens", json={"role": "viewer"})).json()["id"]
        listed = {item["id"] for item in (await http.get(f"{V1}/tokens")).json()["items"]}
        assert listed == {mine, child}
        for other in [*others, local]:
            assert (await http.delete(f"{V1}/tokens/{other}")).status_code == 404
        assert (await http.delete(f"{V1}/tokens/{child}")).status_code == 200
    async with world.client() as owner:
        listed = {item["id"] for item in (await owner.get(f"{V1}/tokens")).json()["items"]}
        assert {*others, mine, child} <= listed


@pytest.mark.parametrize("path", ["/tokens", "/sign-in-links", "/enrollments", "/constellations"])
async def test_t35_a_key_of_another_caller_gives_nothing_away(world: World, path: str) -> None:
    bodies: dict[str, dict[str, Any]] = {"/tokens": {"role": "viewer"}, "/constellations": {"plan": plan(READ)}}
    body = bodies.get(path, {})
    _, other = await world.new_token("owner")
    headers = {"Idempotency-Key": "k"}
    async with world.client() as owner, world.client(other) as thief:
        first = await owner.post(V1 + path, json=body, headers=headers)
        taken = await thief.post(V1 + path, json=body, headers=headers)
        again = await owner.post(V1 + path, json=body, headers=headers)
    assert (first.status_code, taken.status_code) in {(201, 201), (202, 202)}
    secret = {"/tokens": "token", "/sign-in-links": "url", "/enrollments": "code"}.get(path)
    if secret is None:
        assert first.json()["id"] == again.json()["id"] != taken.json()["id"]
        return
    assert first.json()[secret] != taken.json()[secret]
    assert (again.status_code, again.json()["code"]) == (409, "conflict")
    assert "this key has made" in again.text
    assert first.json()[secret] not in again.text


async def test_t35_each_deed_says_which_person_and_which_token(world: World) -> None:
    async with world.client() as owner:
        ann = (await owner.post(f"{V1}/tokens", json={"role": "operator", "for": "ann@example.org"})).json()
        ci = (await owner.post(f"{V1}/tokens", json={"role": "operator", "for": "ci", "kind": "program"})).json()
        more = await owner.post(f"{V1}/tokens", json={"role": "owner", "for": "ci", "kind": "program"})
        assert more.status_code == 403, "a name keeps the most that it was given"
        other = await owner.post(f"{V1}/tokens", json={"role": "viewer", "for": "ci", "kind": "person"})
        assert other.status_code == 409
    for made, name in ((ann, "person:ann@example.org"), (ci, "program:ci")):
        by = f"{name}#{made['id']}"
        async with world.client(made["token"]) as http:
            work = (await http.post(C, json={"plan": plan({"id": "a", "person": "Well?"})})).json()["id"]
            added = {"base_version": 1, "operations": [{"add_task": {"id": "b", "person": "And?"}}], "reason": "x"}
            edited = await http.post(f"{C}/{work}/edits", json=added)
            assert edited.status_code == 200, edited.text
            versions = (await http.get(f"{C}/{work}/versions")).json()["items"]
            blame = (await http.get(f"{C}/{work}/blame", params={"task": "b"})).json()["items"]
            events = (await http.get(f"{C}/{work}/events")).json()["items"]
            assert versions[-1]["author"] == blame[0]["added"]["author"] == by
            assert by in {event["by"] for event in events}
            refused = await http.post(f"{V1}/tokens", json={"role": "viewer", "for": "eve"})
            assert refused.status_code == 403
        async with world.client() as owner:
            person = name.removeprefix("person:")
            deeds = (await owner.get(f"{V1}/audit", params={"person": person})).json()["items"]
        assert {deed["by"] for deed in deeds} == {by}
