"""The fleet over REST: found by name or id, renamed, drained, revoked; what it offers and cannot do now."""

from __future__ import annotations

from starloom.process.computers import MARKER, computer_name
from starloom_protocol.records.entities import Offer, ToolOffer
from starloom_protocol.vocabulary import DeviceLink, Effect, Repeatability
from starloom_protocol.wire import frames as f
from tests.edge.world import World, an_offer, chain, settle

D = "/api/v1/devices"


async def test_a_device_is_found_by_name_and_by_id(world: World) -> None:
    agent = await world.online("laptop")
    async with world.client() as http:
        by_name, by_id = (await http.get(f"{D}/laptop")).json(), (await http.get(f"{D}/{agent.id}")).json()
        assert by_name == by_id
        assert [tool["name"] for tool in by_name["tools"]] == ["t.one"]
        unknown = await http.get(f"{D}/nobody")
    assert (unknown.status_code, unknown.json()["code"]) == (404, "not_found")
    assert "laptop" in unknown.json()["reason"]


async def test_rename_and_labels(world: World) -> None:
    await world.join("one")
    await world.join("two")
    async with world.client() as http:
        renamed = await http.patch(f"{D}/one", json={"name": "desk", "labels": ["home", "big"]})
        assert (renamed.json()["name"], renamed.json()["labels"]) == ("desk", ["big", "home"])
        taken = await http.patch(f"{D}/two", json={"name": "desk"})
        assert (taken.status_code, taken.json()["code"]) == (409, "conflict")
        for name in ("", "a\u202eb", "x" * 200):
            assert (await http.patch(f"{D}/two", json={"name": name})).status_code == 422
        assert (await http.patch(f"{D}/two", json={"labels": ["a,b"]})).status_code == 422
        assert (await http.patch(f"{D}/two", json={"name": "hall", "labels": ["x" * 100]})).status_code == 422
        assert (await http.get(f"{D}/two")).json()["name"] == "two"


async def test_a_rename_leaves_the_device_connected_and_tells_it(world: World) -> None:
    """Its connection was cut, so that the next preview said that it was out of reach."""
    agent = await world.online("one")
    async with world.client() as http:
        renamed = await http.patch(f"{D}/one", json={"name": "desk"})
    assert (renamed.json()["name"], renamed.json()["link"]) == ("desk", "online")
    assert (await agent.next(f.NameFrame)).name == "desk"
    await settle()
    assert world.hub.fleet.devices[agent.id].link is DeviceLink.ONLINE


async def test_a_former_name_means_its_device_in_a_plan_and_in_requests(world: World) -> None:
    await world.online("one")
    plan = {"starloom": 1, "name": "Look", "tasks": [{"id": "a", "tool": "t.one", "device": {"name": "one"}}]}
    async with world.client() as http:
        await http.patch(f"{D}/one", json={"name": "desk"})
        found = (await http.get(f"{D}/one")).json()
        assert (found["name"], found["former_names"]) == ("desk", ["one"])
        shown = (await http.post("/api/v1/constellations/preview", json={"plan": plan})).json()
        assert shown.get("plan_hash"), shown
        # The name of another device is no former one any more.
        await world.join("two")
        await http.patch(f"{D}/two", json={"name": "one"})
        assert (await http.get(f"{D}/one")).json()["name"] == "one"
        assert (await http.get(f"{D}/desk")).json()["former_names"] == []


async def test_a_device_whose_slots_are_used_is_busy(world: World) -> None:
    agent = await world.online("one", offer=an_offer(slots=1))
    await world.submit(chain("t.one"))
    dispatch = await agent.next(f.Dispatch)
    await agent.send(f.Alive(running=[dispatch.at], sent_ms=1))
    await agent.next(f.Renew)
    async with world.client() as http:
        found = (await http.get(f"{D}/one")).json()
    assert (found["load"], found["running"], found["slots"]) == ("busy", 1, 1)


async def test_drain_resume_and_revoke(world: World) -> None:
    await world.join("one")
    async with world.client() as http:
        assert (await http.post(f"{D}/one/drain")).json()["load"] == "draining"
        body = {"deadline_s": 60, "reason": "new disk"}
        drained = (await http.post(f"{D}/one/drain", json=body)).json()
        assert (drained["drain_reason"], bool(drained["drain_until"])) == ("new disk", True)
        assert (await http.post(f"{D}/one/revoke", json={"deadline_s": 5})).status_code == 422
        assert (await http.post(f"{D}/one/resume")).json()["load"] == "free"
        assert (await http.post(f"{D}/one/explode")).status_code == 422
        assert (await http.post(f"{D}/one/revoke", json={"reason": "sold"})).json()["revoked"] is True


async def test_capabilities_show_tools_by_device_and_why_one_cannot(world: World) -> None:
    one, two = await world.join("one"), await world.join("two")
    await one.connect(world, offer=an_offer("t.one"))
    effects = [Effect.CONTROL, Effect.READ]
    tool = ToolOffer(name="t.one", title="One", unavailable="no display", effects=effects)
    await two.connect(world, offer=Offer(digest="x", tools=[tool]))
    async with world.client() as http:
        (item,) = (await http.get("/api/v1/capabilities")).json()["items"]
        await http.post(f"{D}/two/revoke", json={"reason": "gone"})
        (later,) = (await http.get("/api/v1/capabilities")).json()["items"]
    assert item["tool"] == "t.one"
    assert [(found["name"], found["unavailable"]) for found in item["devices"]] == [
        ("one", None),
        ("two", "no display"),
    ]
    assert item["effects"] == ["read", "control"]
    assert [found["effects"] for found in item["devices"]] == [["read"], ["control", "read"]]
    assert [found["name"] for found in later["devices"]] == ["one"]
    assert later["effects"] == ["read"]


async def test_metrics_count_what_is_there(world: World) -> None:
    agent = await world.online("one", offer=an_offer("t.one"))
    await world.submit(chain("t.one"))
    await agent.done(await agent.next(f.Dispatch), outcome="error", code="bad_arguments")
    await settle()
    async with world.client() as http:
        text = (await http.get("/metrics")).text
    lines = text.splitlines()
    assert 'starloom_devices{link="online"} 1' in lines
    assert "starloom_links 1" in lines
    assert 'starloom_constellations_ended_total{state="failed"} 1' in lines
    assert 'starloom_constellations_ended_total{state="succeeded"} 0' in lines
    for line in lines:
        assert line.startswith(("# HELP starloom_", "# TYPE starloom_", "starloom_")), line
        if line.startswith("# TYPE"):
            name, kind = line.split()[2:]
            assert kind == ("counter" if name.endswith("_total") else "gauge"), line


async def test_health_and_readiness(world: World) -> None:
    async with world.client("") as http:
        assert (await http.get("/healthz")).json() == {"role": "owner", "status": "ok"}
        assert (await http.get("/readyz")).status_code == 200
        world.engine.ready = False
        waiting = await http.get("/readyz")
    assert (waiting.status_code, waiting.json()["waits_for"]) == (503, ["engine"])


async def test_the_openapi_document_knows_every_route_of_the_api(world: World) -> None:
    async with world.client() as http:
        document = (await http.get("/api/v1/openapi.json")).json()
    assert document["openapi"].startswith("3.1")
    paths = document["paths"]
    assert "post" in paths["/api/v1/constellations"]
    assert "/api/v1/devices/{device}" in paths
    assert all("summary" in operation for item in paths.values() for operation in item.values())


async def test_a_tool_is_as_repeatable_as_its_most_careful_device_says(world: World) -> None:
    """Or `reassign` would be taken because of the one device and run twice on the other."""
    plan = {
        "starloom": 1,
        "name": "p",
        "tasks": [{"id": "a", "tool": "t.one", "on_absence": {"then": "reassign", "after_s": 60}}],
    }
    one, two = await world.join("one"), await world.join("two")
    await one.connect(world)
    async with world.client() as http:
        before = await http.post("/api/v1/constellations/preview", json={"plan": plan})
        never = ToolOffer(name="t.one", effects=[Effect.CHANGE], repeatability=Repeatability.NEVER, title="t")
        await two.connect(world, offer=Offer(digest="e", slots=2, tools=[never]))
        after = await http.post("/api/v1/constellations/preview", json={"plan": plan})
        await http.post(f"{D}/two/revoke", json={"reason": "gone"})
        alone = await http.post("/api/v1/constellations/preview", json={"plan": plan})
    assert [answer.status_code for answer in (before, after, alone)] == [200, 422, 200], after.text
    assert [item["code"] for item in after.json()["errors"]] == ["not_repeatable"]


async def test_a_forgotten_device_is_in_no_list_unless_all_are_asked_for(world: World) -> None:
    gone = await world.join("gone")
    await world.join("here")
    async with world.client() as http:
        early = await http.post(f"{D}/gone/forget")
        assert (early.status_code, early.json()["code"]) == (409, "conflict")
        await http.post(f"{D}/gone/revoke")
        assert [item["name"] for item in (await http.get(D)).json()["items"]] == ["here", "gone"]
        assert (await http.post(f"{D}/gone/forget")).json()["forgotten"] is True
        assert [item["name"] for item in (await http.get(D)).json()["items"]] == ["here"]
        whole = (await http.get(D, params={"all": True})).json()["items"]
        assert [item["name"] for item in whole] == ["here", "gone"]
        assert (await http.get(f"{D}/{gone.id}")).json()["name"] == "gone"
        unknown = (await http.get(f"{D}/nobody")).json()["reason"]
    assert unknown.endswith("there are: here")


async def test_the_computer_that_keeps_the_hub_is_told(world: World) -> None:
    agents = [await world.join(name) for name in ("one", "two", "three")]
    home = world.hub.settings.home / "agents"
    for folder, agent in zip((computer_name(), "former"), agents, strict=False):
        (home / folder).mkdir(parents=True)
        (home / folder / MARKER).write_text(agent.id)
    async with world.client() as http:
        items = (await http.get("/api/v1/devices")).json()["items"]
        alone = (await http.get("/api/v1/devices/one")).json()
        session = (await http.get("/api/v1/session")).json()
    assert {item["name"]: item["hub_computer"] for item in items} == {"one": "own", "two": "former", "three": ""}
    assert (alone["hub_computer"], session["hub_device"]) == ("own", alone["id"])
