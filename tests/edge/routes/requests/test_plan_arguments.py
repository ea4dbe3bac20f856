"""A plan and an edit are held against what the tools of the connected devices take, before anything runs."""

from __future__ import annotations

from starloom_protocol.records.entities import Offer, ToolOffer
from starloom_protocol.values import canonical
from starloom_protocol.vocabulary import Effect, Repeatability
from tests.edge.world import World, settle

C = "/api/v1/constellations"


async def test_an_argument_that_a_tool_does_not_take_is_told_before_anything_runs(world: World) -> None:
    schema = {"properties": {"paths": {}, "root": {}}, "required": ["paths"], "additionalProperties": False}
    tool = ToolOffer(name="t.stat", args=canonical(schema), effects=[Effect.READ], repeatability=Repeatability.PURE)
    agent = await world.join("one")
    await agent.connect(world, offer=Offer(digest="d", slots=2, tools=[tool]))
    slip = {"id": "a", "tool": "t.stat", "args": {"path": "x"}}
    told = {
        ("unknown_field", "args.path", "Did you mean `paths`?"),
        ("plan_invalid", "args.paths", "Add it, or an input."),
    }
    async with world.client() as http:
        refused = await http.post(C, json={"plan": {"starloom": 1, "name": "slip", "tasks": [slip]}})
        right = {"starloom": 1, "name": "right", "tasks": [{**slip, "args": {"paths": ["x"]}}]}
        made = (await http.post(C, json={"plan": right})).json()["id"]
        await settle()
        body = {"base_version": 1, "operations": [{"add_task": {**slip, "id": "b"}}], "reason": "more"}
        edit = await http.post(f"{C}/{made}/edits", json=body)
        kept = (await http.get(C)).json()["items"]
        version = (await http.get(f"{C}/{made}")).json()["version"]
    for answer, place in ((refused, "tasks[0]."), (edit, "operations[0].add_task.")):
        assert answer.status_code == 422
        errors = answer.json()["errors"]
        assert {(fault["code"], fault["place"].removeprefix(place), fault["hint"]) for fault in errors} == told
    assert ([item["name"] for item in kept], version) == (["right"], 1)
