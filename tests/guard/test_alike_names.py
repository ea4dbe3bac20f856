"""T241: a device or a person is called as another one with signs that a reader takes for those of the other."""

from __future__ import annotations

import pytest

from tests.edge.world import World

# Of the last, two ways to write one name, the hub makes one person.
ALIKE = [("nas1", "nasl"), ("Alan", "AIan"), ("pc0", "pcO"), ("ann", "\u0251nn"), ("Zo\u00eb", "Zoe\u0308")]


@pytest.mark.parametrize(("name", "alike"), ALIKE)
async def test_t241_no_device_takes_a_name_that_looks_like_another(world: World, name: str, alike: str) -> None:
    await world.join(name)
    other = await world.join("other")
    async with world.client() as http:
        renamed = await http.patch(f"/api/v1/devices/{other.id}", json={"name": alike})
    assert renamed.status_code in (409, 422), renamed.text
    assert sorted(device.name for device in world.hub.fleet.devices.values()) == sorted([name, "other"])


@pytest.mark.parametrize(("name", "alike"), ALIKE[:-1])
async def test_t241_no_person_takes_a_name_that_looks_like_another(world: World, name: str, alike: str) -> None:
    asked = {"kind": "person", "role": "viewer"}
    async with world.client() as http:
        assert (await http.post("/api/v1/tokens", json={**asked, "for": name})).status_code == 201
        refused = await http.post("/api/v1/tokens", json={**asked, "for": alike})
    assert refused.status_code == 409, refused.text
    assert name in refused.json()["reason"]
