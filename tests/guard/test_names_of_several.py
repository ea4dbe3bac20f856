"""Words that mean several devices are the name of none (T197)."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from starloom.planner.recipes.catalogue import load_catalogue
from starloom.planner.requests.matching import match
from starloom_protocol.text.look_alikes import means_several
from tests.edge.world import Agent, World
from tests.planner.fleets import device, fleet

SEVERAL = [
    *(
        "all servers",
        "All Servers",
        "all-servers",
        "everywhere",
        "all",
        "every server",
        "both",
        "the others",
        "servers",
    ),
    *("my phones", "each machine", "any device", "two servers", "everything", "all of them", "the rest", "web-servers"),
]
SINGLE = ["all-in-one", "server", "kitchen-pi", "nas", "hall", "bothwell", "anya", "tess", "demo-phone", "office 2"]


@pytest.mark.parametrize("name", SEVERAL)
async def test_t197_no_device_joins_is_paired_or_renamed_so(world: World, name: str) -> None:
    agent = await world.join("laptop")
    async with world.client() as http:
        code = (await http.post("/api/v1/enrollments", json={})).json()["code"]
        made = await http.post("/api/v1/enrollments", json={"label": name})
        renamed = await http.patch(f"/api/v1/devices/{agent.id}", json={"name": name})
    asked: dict[str, Any] = Agent(name).ask(code)
    async with world.client("") as http:
        joined = await http.post("/agent/join", json=asked)
    for answer in (made, renamed, joined):
        assert (answer.status_code, "mean several devices" in answer.text) == (422, True), answer.text
    assert [one.name for one in world.hub.fleet.devices.values()] == ["laptop"]


@pytest.mark.parametrize("name", SINGLE)
def test_names_of_one_device_stay_possible(name: str) -> None:
    assert not means_several(name)


@pytest.mark.parametrize("name", ["all servers", "everywhere", "all-servers", "servers"])
@pytest.mark.parametrize("former", [False, True])
def test_t197_words_for_several_never_mean_one_that_exists(name: str, former: bool) -> None:
    bad = device(name, labels=["server"])
    bad = replace(bad, name="x1", former_names=[name]) if former else bad
    view = fleet(bad, device("nas", labels=["server"]), device("web", labels=["server"]))
    words = "everywhere" if name == "everywhere" else f"on {name.replace('-', ' ')}"
    found = match(f"largest files {words}", load_catalogue().all(), view).candidates[0]
    where = found.params.get("where", {"any": [{"name": one.name} for one in view.devices]})
    named = {one["name"] for one in where.get("any", [where])}
    assert (found.recipe, named) == ("largest-files", {bad.name, "nas", "web"})
