"""Settings > Model: what is set and what would leave, a test call, and words that go to the model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.edge.world import World, a_world
from tests.models.server import Say, fake_model

MODEL = "/api/v1/model"
WORDS = {"request": "sing me a song about the sea"}


async def test_without_a_model_nothing_leaves_and_words_are_refused_as_before(world: World) -> None:
    async with world.client() as http:
        shown = (await http.get(MODEL)).json()
        refused = await http.post("/api/v1/constellations", json=WORDS)
        tested = await http.post(f"{MODEL}/test", json={})
    assert shown["set"] is False
    assert [part["title"] for part in shown["parts"]][-1] == "Your request"
    assert (refused.status_code, refused.json()["code"]) == (422, "request_not_understood")
    assert (tested.status_code, tested.json()["code"]) == (422, "model_not_set")


async def test_a_model_is_shown_without_its_key_tested_once_and_gets_what_no_recipe_fits(tmp_path: Path) -> None:
    file = tmp_path / "model.key"
    file.write_text("sk-secret-key")
    file.chmod(0o600)
    async with fake_model(Say(tool={"kind": "cannot", "text": "ready"})) as fake:
        set_up: dict[str, Any] = {"llm_url": fake.url, "llm_model": "fake-1", "llm_key_file": file}
        async with a_world(tmp_path, **set_up) as world, world.client() as http:
            shown = await http.get(MODEL)
            tested = await http.post(f"{MODEL}/test", json={})
            made = await http.post("/api/v1/constellations", json=WORDS)
    assert (shown.json()["model"], shown.json()["key"], shown.json()["wire"]) == ("fake-1", True, "openai")
    assert "sk-secret-key" not in shown.text
    assert tested.json()["tokens"] == 120
    assert "ready" in tested.json()["reply"]
    assert len(fake.asked) == 1
    assert "DATA" not in str(fake.asked)
    assert (made.status_code, made.json()["state"]) == (202, "planning")


async def test_a_model_that_is_away_is_told_plainly(tmp_path: Path) -> None:
    async with fake_model(Say(status=500, body=b"sk-secret")) as fake:
        set_up: dict[str, Any] = {"llm_url": fake.url, "llm_model": "fake-1"}
        async with a_world(tmp_path, **set_up) as world, world.client() as http:
            tested = await http.post(f"{MODEL}/test", json={})
    assert tested.json()["code"] == "model_unreachable"
    assert "sk-secret" not in tested.text
