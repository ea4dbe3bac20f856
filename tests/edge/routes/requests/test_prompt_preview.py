"""The preview of a prompt shows the bytes that the planning job sends for these words, to whom, and their price."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from starloom.jobs.kinds.planning import fleet_of
from starloom.jobs.modelling import ModelJobs
from starloom.planner.recipes.catalogue import load_catalogue
from starloom.planner.service import Planning
from starloom_protocol.stream.feed import FLEET
from tests.edge.planning_job import planned_by
from tests.edge.world import World, a_world, an_offer
from tests.models.server import FakeModel, Say, fake_model

PREVIEW = "/api/v1/prompt-preview"
C = "/api/v1/constellations"
WORDS = "sing me a song about the sea and about back up"
NO = Say(tool={"kind": "cannot", "text": "no"})


def sent_to(fake: FakeModel) -> tuple[str, str]:
    """Return the instructions and the message of the first call."""
    system, message = fake.asked[0]["messages"]
    return system["content"], message["content"]


@pytest.mark.parametrize("sharing", [None, "names", "cards"])
async def test_the_preview_is_what_the_job_sends_to_the_byte(tmp_path: Path, sharing: str | None) -> None:
    async with fake_model(NO) as fake:
        set_up: dict[str, Any] = {"llm_url": fake.url, "llm_model": "fake-1"}
        async with a_world(tmp_path, **set_up) as world, world.client() as http:
            await world.online("attic", offer=an_offer("fs.list", "lab.echo"))
            fleet = await world.hub.reads.entities(FLEET)
            assert fleet is not None
            view = fleet_of(fleet[1])
            object.__setattr__(world.hub, "planner", Planning(load_catalogue(), lambda: view))
            await http.post(C, json={"request": "how loud is the attic at night?"})
            await world.clock.advance(1_000)
            asked = {"request": WORDS, **({"sharing": sharing} if sharing else {})}
            shown = (await http.post(PREVIEW, json=asked)).json()
            assert fake.asked == []
            made = (await http.post(C, json=asked)).json()
            models = ModelJobs(world.hub.settings.llm_variables, now_s=lambda: world.clock.now_ms() / 1000)
            await planned_by(world, made["id"], models)
    first, *others = [part["text"] for part in shown["parts"]]
    instructions, message = sent_to(fake)
    assert instructions == first
    assert message.splitlines() == "\n\n".join(others).splitlines()
    assert message == "\n\n".join(others)
    assert shown["bytes"] == len(first.encode()) + len("\n\n".join(others).encode())
    assert "how loud is the attic at night?" in sent_to(fake)[1]
    assert "attic" in sent_to(fake)[1]
    assert (shown["hub_share"], shown["share"]) == ("cards_and_file_heads", sharing or "cards_and_file_heads")


async def test_the_preview_names_host_price_and_fallback(tmp_path: Path) -> None:
    set_up: dict[str, Any] = {
        "llm_url": "https://api.anthropic.com/v1",
        "llm_model": "claude-3-5-haiku-latest",
        "llm_fallback_url": "http://127.0.0.1:8/v1",
        "llm_fallback_model": "tiny",
    }
    async with a_world(tmp_path, **set_up) as world, world.client() as http:
        shown = (await http.post(PREVIEW, json={"request": WORDS, "sharing": "cards_and_file_heads"})).json()
    assert (shown["host"], shown["model"], shown["local"]) == ("api.anthropic.com", "claude-3-5-haiku-latest", False)
    assert shown["fallback"] == {"host": "127.0.0.1:8", "model": "tiny"}
    assert 0 < shown["dollars"] < 1
    assert shown["tokens"] > shown["bytes"] / 5
    # No request widens what the hub lets its model be shown.
    assert (shown["hub_share"], shown["share"]) == ("cards", "cards")


async def test_a_model_on_this_machine_costs_nothing_and_an_unlisted_price_is_unknown(tmp_path: Path) -> None:
    for url, dollars in (("http://127.0.0.1:9/v1", 0), ("https://models.test/v1", None)):
        async with a_world(tmp_path, llm_url=url, llm_model="m") as world, world.client() as http:
            shown = (await http.post(PREVIEW, json={"request": WORDS})).json()
            seen = (await http.post(f"{C}/preview", json={"request": WORDS})).json()["understood"]
        assert shown["dollars"] == dollars
        assert seen["share"] == shown["hub_share"]


async def test_without_a_model_there_is_nothing_to_show(world: World) -> None:
    async with world.client() as http:
        refused = await http.post(PREVIEW, json={"request": WORDS})
        seen = (await http.post(f"{C}/preview", json={"request": WORDS})).json()["understood"]
    assert (refused.status_code, refused.json()["code"]) == (422, "model_not_set")
    assert "share" not in seen


async def test_words_that_a_recipe_takes_reach_no_model(tmp_path: Path) -> None:
    async with a_world(tmp_path, llm_url="http://127.0.0.1:9/v1", llm_model="m") as world, world.client() as http:
        await world.online("attic", offer=an_offer("system.info"))
        fleet = await world.hub.reads.entities(FLEET)
        assert fleet is not None
        view = fleet_of(fleet[1])
        object.__setattr__(world.hub, "planner", Planning(load_catalogue(), lambda: view))
        refused = await http.post(PREVIEW, json={"request": "how are my machines"})
    assert (refused.status_code, refused.json()["code"]) == (409, "conflict")


async def test_t139_the_preview_shows_no_request_of_another_and_no_key(tmp_path: Path) -> None:
    file = tmp_path / "model.key"
    file.write_text("sk-secret-key")
    file.chmod(0o600)
    set_up: dict[str, Any] = {"llm_url": "http://127.0.0.1:9/v1", "llm_model": "m", "llm_key_file": file}
    async with a_world(tmp_path, **set_up) as world:
        async with world.client() as http:
            await http.post(C, json={"request": "what does ann hide in the attic?"})
        _, token = await world.new_token("operator")
        async with world.client(token) as http:
            await http.post(C, json={"request": "what did ben ask?"})
            shown = await http.post(PREVIEW, json={"request": WORDS})
    assert shown.status_code == 200
    told = json.dumps(shown.json())
    assert "what did ben ask?" in told
    assert "what does ann hide" not in told
    assert "sk-secret-key" not in told


async def test_t139_who_may_not_submit_reads_no_prompt(tmp_path: Path) -> None:
    async with a_world(tmp_path, llm_url="http://127.0.0.1:9/v1", llm_model="m") as world:
        for role, scopes in (("viewer", []), ("approver", []), ("operator", ["read"])):
            _, token = await world.new_token(role, scopes)
            async with world.client(token) as http:
                refused = await http.post(PREVIEW, json={"request": WORDS})
            assert refused.status_code == 403, role
