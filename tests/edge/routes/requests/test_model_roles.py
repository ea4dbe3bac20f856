"""Settings > Model: the models of other roles than the planner, set by an owner as the planner's is."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from starloom.jobs.modelling import ModelJobs
from starloom.planner.model.endpoints.endpoint import OTHER_ROLES, ModelRole, endpoint_from
from starloom.planner.model.endpoints.page_settings import in_force
from tests.edge.world import World, a_world
from tests.models.server import Say, fake_model

MODEL = "/api/v1/model"
ROLES = f"{MODEL}/roles"
PLANNER = {"url": "http://127.0.0.1:9/v1", "model": "near", "key": "sk-planner"}


def used(world: World, role: ModelRole) -> tuple[str, str, str]:
    """Return address, model and key of a role as a worker has them."""
    found = endpoint_from(in_force(world.hub.settings.llm_variables, world.hub.settings.model_folder), role)
    assert found is not None
    return found.url, found.model, found.key


async def test_an_owner_sets_a_role_and_it_counts_at_once(tmp_path: Path) -> None:
    async with fake_model(Say(tool={"kind": "cannot", "text": "ready"})) as fake, a_world(tmp_path) as world:
        async with world.client() as http:
            await http.put(MODEL, json=PLANNER)
            wanted = {"url": fake.url, "model": "critic", "key": "sk-critic"}
            tried = await http.post(f"{MODEL}/test", json={**wanted, "role": "reviewer"})
            before = (await http.get(MODEL)).json()
            put = await http.put(f"{ROLES}/reviewer", json=wanted)
            again = await http.put(f"{ROLES}/reviewer", json={**wanted, "key": None, "model": "critic-2"})
        assert tried.json()["tokens"] == 120
        assert before["roles"] == []
        row = {"key": True, "model": "critic-2", "role": "reviewer", "url": fake.url, "wire": ""}
        assert again.json()["roles"] == [row]
        assert again.json()["others"] == [{"host": f"127.0.0.1:{fake.port}", "model": "critic-2", "role": "reviewer"}]
        assert used(world, ModelRole.REVIEWER) == (fake.url, "critic-2", "sk-critic")
        assert used(world, ModelRole.WRITER) == (PLANNER["url"], "near", "sk-planner")
        owned = ModelJobs({}, world.hub.settings.model_folder).owned(ModelRole.REVIEWER)
        assert owned is not None
        assert owned.endpoint.model == "critic-2"
        for answer in (tried, put, again):
            assert "sk-critic" not in answer.text
        folder = world.hub.settings.model_folder
        assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}
        assert len(list(folder.glob("*.key"))) == 2


async def test_the_key_of_a_role_goes_to_no_other_address_and_goes_with_it(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world, world.client() as http:
        await http.put(MODEL, json=PLANNER)
        own = {"url": "http://127.0.0.1:7/v1", "model": "critic", "key": "sk-critic"}
        await http.put(f"{ROLES}/judge", json=own)
        moved = (await http.put(f"{ROLES}/judge", json={"url": "http://127.0.0.1:6/v1", "model": "critic"})).json()
        assert moved["roles"][0]["key"] is False
        assert used(world, ModelRole.JUDGE) == ("http://127.0.0.1:6/v1", "critic", "")
        await http.put(f"{ROLES}/judge", json=own)
        # A change of the planner's model keeps the roles; each key stays at its address.
        await http.put(MODEL, json={"url": "http://127.0.0.1:5/v1", "model": "far"})
        assert used(world, ModelRole.JUDGE) == ("http://127.0.0.1:7/v1", "critic", "sk-critic")
        assert used(world, ModelRole.PLANNER) == ("http://127.0.0.1:5/v1", "far", "")
        gone = (await http.delete(f"{ROLES}/judge")).json()
        assert gone["roles"] == []
        assert list(world.hub.settings.model_folder.glob("*.key")) == []
        assert used(world, ModelRole.JUDGE) == ("http://127.0.0.1:5/v1", "far", "")


async def test_a_role_at_the_planners_address_has_its_key_and_none_of_its_own(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world, world.client() as http:
        await http.put(MODEL, json=PLANNER)
        assert (await http.put(f"{ROLES}/worker", json={"model": "tiny"})).status_code == 200
        assert used(world, ModelRole.WORKER) == (PLANNER["url"], "tiny", "sk-planner")
        refused = await http.put(f"{ROLES}/worker", json={"model": "tiny", "key": "sk-lone"})
        assert refused.status_code == 422
        assert used(world, ModelRole.WORKER) == (PLANNER["url"], "tiny", "sk-planner")
        assert len(list(world.hub.settings.model_folder.glob("*.key"))) == 1
        await http.delete(MODEL)
        assert list(world.hub.settings.model_folder.iterdir()) == []


@pytest.mark.parametrize(
    "wrong",
    [
        {"url": "ftp://x", "model": "m"},
        {"url": "recorded:/etc/passwd", "model": "m"},
        {"url": "http://example.org/v1", "model": "m", "key": "sk-critic"},
        {"url": "http://127.0.0.1:9/v1", "model": ""},
    ],
)
async def test_a_wrong_model_of_a_role_is_not_kept(tmp_path: Path, wrong: dict[str, Any]) -> None:
    async with a_world(tmp_path) as world, world.client() as http:
        await http.put(MODEL, json=PLANNER)
        kept = (world.hub.settings.model_folder / "model.json").read_bytes()
        refused = await http.put(f"{ROLES}/writer", json=wrong)
        assert refused.status_code == 422, refused.text
        assert "sk-critic" not in json.dumps(refused.json())
        assert (world.hub.settings.model_folder / "model.json").read_bytes() == kept
        assert len(list(world.hub.settings.model_folder.glob("*.key"))) == 1


async def test_the_hubs_own_settings_of_a_role_win_and_no_key_of_the_page_follows_them(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world, world.client() as http:
        await http.put(MODEL, json=PLANNER)
        await http.put(f"{ROLES}/small", json={"url": "http://127.0.0.1:7/v1", "model": "own", "key": "sk-small"})
        folder = world.hub.settings.model_folder
        told = in_force(
            {"STARLOOM_LLM_SMALL_URL": "http://127.0.0.1:4/v1", "STARLOOM_LLM_SMALL_MODEL": "given"}, folder
        )
        found = endpoint_from(told, ModelRole.SMALL)
    assert found is not None
    assert (found.url, found.model, found.key) == ("http://127.0.0.1:4/v1", "given", "")


async def test_given_roles_are_shown_and_refused(tmp_path: Path) -> None:
    wanted = {"model": "m"}
    async with a_world(tmp_path, llm_judge_model="given") as world:
        async with world.client() as http:
            before = await http.put(f"{ROLES}/writer", json=wanted)
            assert (before.status_code, before.json()["code"]) == (422, "model_not_set")
            await http.put(MODEL, json=PLANNER)
            assert (await http.put(f"{ROLES}/judge", json=wanted)).status_code == 409
            assert (await http.get(MODEL)).json()["given_roles"] == ["judge"]
            assert (await http.put(f"{ROLES}/planner", json=wanted)).status_code == 422
            assert (await http.put(f"{ROLES}/cook", json=wanted)).status_code == 422
        _, token = await world.new_token("operator")
        async with world.client(token) as http:
            assert (await http.put(f"{ROLES}/writer", json=wanted)).status_code == 403
            assert (await http.delete(f"{ROLES}/writer")).status_code == 403


async def test_where_the_hubs_own_settings_name_the_model_no_role_is_set_here(tmp_path: Path) -> None:
    async with a_world(tmp_path, llm_url="http://127.0.0.1:7/v1", llm_model="given") as world, world.client() as http:
        assert (await http.put(f"{ROLES}/writer", json={"model": "m"})).status_code == 409
        assert (await http.delete(f"{ROLES}/writer")).status_code == 409


async def test_models_of_several_roles_that_are_set_at_once_are_all_kept(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world, world.client() as http:
        await http.put(MODEL, json=PLANNER)
        for turn in range(5):
            for answer in await asyncio.gather(*(http.delete(f"{ROLES}/{role}") for role in OTHER_ROLES)):
                assert answer.json().get("key"), answer.text
            wanted = [{"url": f"http://127.0.0.1:9/{role}", "model": "m", "key": f"{turn}"} for role in OTHER_ROLES]
            puts = (http.put(f"{ROLES}/{role}", json=body) for role, body in zip(OTHER_ROLES, wanted, strict=True))
            assert {answer.status_code for answer in await asyncio.gather(*puts)} == {200}
            assert {used(world, role) for role in OTHER_ROLES} == {(body["url"], "m", f"{turn}") for body in wanted}
            assert len(list(world.hub.settings.model_folder.glob("*.key"))) == len(OTHER_ROLES) + 1
