"""A brief goes out, an assistant's answer comes back: faults as text to paste back, then a plan that runs."""

from __future__ import annotations

from tests.edge.world import World

BRIEF = "/api/v1/brief"
FAULTY = """Here is your plan:

```yaml
starloom: 1
name: Look
tasks:
  - {id: look, tool: fs.read, arguments: {path: a}}
  - {id: look, tool: fs.read}
```
It reads a file."""
RIGHT = """Sorry! This one is right:

```yaml
starloom: 1
name: Look
tasks:
  - {id: look, person: "Did it work?"}
```"""


async def test_a_faulty_plan_comes_back_as_text_and_the_mended_one_runs(world: World) -> None:
    async with world.client() as http:
        out = (await http.get(BRIEF, params={"request": "look at the file"})).json()
        assert "> look at the file" in out["text"]
        assert out["bytes"] == len(out["text"].encode())

        refused = await http.post(BRIEF, json={"answer": FAULTY})
        assert refused.status_code == 422
        problem = refused.json()
        assert {fault["place"] for fault in problem["errors"]} == {"tasks[0].arguments", "tasks[1].id"}
        assert problem["reply"].startswith("Your plan has 2 faults. Nothing was started.")
        for fault in problem["errors"]:
            assert fault["place"] in problem["reply"]

        found = await http.post(BRIEF, json={"answer": RIGHT})
        assert found.status_code == 200, found.text
        shown = found.json()
        assert (await http.get("/api/v1/constellations")).json()["items"] == []
        made = await http.post("/api/v1/constellations", json={"plan": shown["plan"], "plan_hash": shown["plan_hash"]})
        assert made.status_code == 202, made.text
        state = (await http.get(f"/api/v1/constellations/{made.json()['id']}")).json()
    assert state["state"] == "active"
    assert state["name"] == "Look"


async def test_an_answer_without_a_plan_is_refused_with_what_to_say(world: World) -> None:
    async with world.client() as http:
        refused = await http.post(BRIEF, json={"answer": "I am only a language model."})
    assert refused.status_code == 422
    assert "whole plan" in refused.json()["reply"]


async def test_who_may_only_look_may_ask_for_a_brief_and_start_nothing(world: World) -> None:
    _, token = await world.new_token("viewer")
    async with world.client(token) as http:
        assert (await http.get(BRIEF)).status_code == 200
        assert (await http.post(BRIEF, json={"answer": RIGHT})).status_code == 200
        assert (await http.post("/api/v1/constellations", json={"plan": RIGHT})).status_code == 403
