"""Settings > Model: what is set and what would leave, a test call, and words that go to the model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from starloom.jobs.modelling import ModelJobs
from starloom.planner.model.endpoints.page_settings import PageModelSettings, in_force, keep
from starloom.planner.model.transport import connecting
from starloom.planner.recipes.catalogue import load_catalogue
from starloom.planner.requests.fitting import Candidate
from starloom.planner.requests.matching import Match, Matched
from starloom.planner.service import Planning
from tests.edge.world import World, a_world
from tests.models.server import Say, fake_model
from tests.planner.fleets import device, fleet

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


async def test_a_goal_without_a_model_is_refused_in_preview_and_run(world: World) -> None:
    goal = {"starloom": 1, "tasks": [{"id": "why", "goal": "Find out why.", "may": {"tools": ["fs.read"]}}]}
    async with world.client() as http:
        shown = await http.post("/api/v1/constellations/preview", json={"plan": goal})
        made = await http.post("/api/v1/constellations", json={"plan": goal})
    for answer in (shown, made):
        told = answer.json()
        assert (answer.status_code, told["code"]) == (422, "model_not_set")
        assert told["errors"][0]["place"] == "tasks.why.goal"
        assert "no model is set" in told["reason"]
        assert "Without one: write the steps as tasks with tools" in told["hint"]


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


async def test_every_host_that_a_role_sends_to_is_shown_without_its_key(tmp_path: Path) -> None:
    file = tmp_path / "critic.key"
    file.write_text("sk-critic")
    file.chmod(0o600)
    set_up: dict[str, Any] = {
        "llm_url": "http://127.0.0.1:9/v1",
        "llm_model": "near",
        "llm_reviewer_url": "https://critics.test/v1",
        "llm_reviewer_model": "large",
        "llm_reviewer_key_file": file,
        "llm_worker_model": "working",
        "llm_small_url": "http://127.0.0.1:8/v1",
        "llm_small_model": "tiny",
        "llm_fallback_model": "small",
    }
    async with a_world(tmp_path, **set_up) as world, world.client() as http:
        shown = await http.get(MODEL)
    assert shown.json()["others"] == [
        {"host": "critics.test", "model": "large", "role": "reviewer"},
        {"host": "127.0.0.1:9", "model": "working", "role": "worker"},
        {"host": "127.0.0.1:8", "model": "tiny", "role": "small"},
        {"host": "127.0.0.1:9", "model": "small", "role": "fallback"},
    ]
    assert shown.json()["share"] == "cards_and_file_heads"
    assert "sk-critic" not in shown.text


async def test_a_role_that_is_set_wrongly_is_told(tmp_path: Path) -> None:
    set_up: dict[str, Any] = {"llm_url": "http://127.0.0.1:9/v1", "llm_model": "m", "llm_writer_url": "ftp://x"}
    async with a_world(tmp_path, **set_up) as world, world.client() as http:
        shown = (await http.get(MODEL)).json()
    assert "STARLOOM_LLM_WRITER_URL must be" in shown["fault"]["reason"]


async def test_near_words_go_to_the_model_and_never_on_the_clock(tmp_path: Path) -> None:
    near = Matched(Match.NEAR, (Candidate("photo-backup", "Back up pictures", 900),))
    async with fake_model(Say(tool={"kind": "cannot", "text": "no"})) as fake:
        set_up: dict[str, Any] = {"llm_url": fake.url, "llm_model": "fake-1"}
        async with a_world(tmp_path, **set_up) as world, world.client() as http:
            world.hub.planner.understand = lambda *_, **__: near  # type: ignore[method-assign]
            seen = await http.post("/api/v1/constellations/preview", json=WORDS)
            made = await http.post("/api/v1/constellations", json=WORDS)
            clock = await http.post("/api/v1/schedule-preview", json={**WORDS, "cron": "0 2 * * *", "zone": "UTC"})
    assert seen.json()["understood"]["by_model"] is True
    assert (made.status_code, made.json()["state"]) == (202, "planning")
    assert (clock.status_code, clock.json()["code"]) == (422, "request_ambiguous")


async def test_a_model_that_is_away_is_told_plainly(tmp_path: Path) -> None:
    async with fake_model(Say(status=500, body=b"sk-secret")) as fake:
        set_up: dict[str, Any] = {"llm_url": fake.url, "llm_model": "fake-1"}
        async with a_world(tmp_path, **set_up) as world, world.client() as http:
            tested = await http.post(f"{MODEL}/test", json={})
    assert tested.json()["code"] == "model_unreachable"
    assert "sk-secret" not in tested.text


async def test_the_owner_sets_it_in_the_page_and_it_counts_at_once(tmp_path: Path) -> None:
    async with fake_model(Say(tool={"kind": "cannot", "text": "ready"})) as fake, a_world(tmp_path) as world:
        wanted = {"url": fake.url, "model": "fake-1", "key": "sk-of-the-page", "tokens_per_day": 5000}
        async with world.client() as http:
            tried = await http.post(f"{MODEL}/test", json=wanted)
            before = (await http.get(MODEL)).json()
            put = await http.put(MODEL, json=wanted)
            shown = await http.get(MODEL)
            again = await http.put(MODEL, json={**wanted, "key": None, "model": "fake-2"})
            made = await http.post("/api/v1/constellations", json=WORDS)
        folder = world.hub.settings.model_folder
        (key,) = folder.glob("*.key")
        owned = ModelJobs({}, folder).owned()
        assert owned is not None
        assert owned.budget.tokens_per_day == 5000
        assert (tried.status_code, before["set"], put.status_code) == (200, False, 200)
        assert (shown.json()["model"], shown.json()["key"], shown.json()["given"]) == ("fake-1", True, False)
        assert (again.json()["model"], again.json()["key"]) == ("fake-2", True)
        assert (made.status_code, made.json()["state"]) == (202, "planning")
        for answer in (tried, put, shown, again):
            assert "sk-of-the-page" not in answer.text
        assert [path.stat().st_mode & 0o777 for path in (key, folder / "model.json")] == [0o600, 0o600]
        assert folder.stat().st_mode & 0o777 == 0o700
        async with world.client() as http:
            gone = (await http.delete(MODEL)).json()
        assert gone["set"] is False
        assert list(folder.iterdir()) == []


async def test_what_a_model_is_shown_is_set_with_it_and_told_in_the_prompt(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world, world.client() as http:
        wanted = {"url": "http://127.0.0.1:9/v1", "model": "m"}
        usual = (await http.put(MODEL, json=wanted)).json()
        wider = (await http.put(MODEL, json={**wanted, "share": "cards_and_file_heads"})).json()
        none = (await http.put(MODEL, json={**wanted, "share": "names"})).json()
        owned = ModelJobs({}, world.hub.settings.model_folder).owned()
        assert owned is not None
        assert owned.sharing == "names"
        made = (await http.post("/api/v1/constellations", json={**WORDS, "sharing": "names"})).json()
        found = await world.hub.headlines.of(made["id"])
        wrong = await http.post("/api/v1/constellations", json={**WORDS, "sharing": "all"})
    assert found is not None
    assert found[0].sharing == "names"
    assert [one["share"] for one in (usual, wider, none)] == ["cards", "cards_and_file_heads", "names"]
    assert [one["parts"][-1]["title"] for one in (usual, wider, none)] == ["Whether it may look first"] * 3
    assert "no content of files" in usual["parts"][-1]["text"]
    assert "You cannot look" in none["parts"][-1]["text"]
    assert wrong.status_code == 422


async def test_a_key_never_goes_to_another_address(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world, world.client() as http:
        first = {"url": "http://127.0.0.1:9/v1", "model": "m", "key": "sk-of-the-page"}
        assert (await http.put(MODEL, json=first)).json()["key"] is True
        moved = await http.put(MODEL, json={"url": "http://127.0.0.1:8/v1", "model": "m"})
        assert moved.json()["key"] is False
        assert list(world.hub.settings.model_folder.glob("*.key")) == []


async def test_what_is_wrong_is_not_kept(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world, world.client() as http:
        for wrong in (
            {"url": "ftp://x", "model": "m"},
            {"url": "recorded:/etc/passwd", "model": "m"},
            {"url": "http://example.org/v1", "model": "m", "key": "sk-of-the-page"},
            {"url": "http://127.0.0.1:9/v1", "model": "m", "key": "sk-of-the-page two"},
            {"url": "http://127.0.0.1:9/v1", "model": "m", "key": "sk-of-the-page", "wire": "smoke"},
        ):
            refused = await http.put(MODEL, json=wrong)
            assert refused.status_code == 422, refused.text
            assert "sk-of-the-page" not in refused.text
            tried = await http.post(f"{MODEL}/test", json=wrong)
            assert tried.status_code == 422, tried.text
        assert (await http.get(MODEL)).json()["set"] is False
        folder = world.hub.settings.model_folder
        assert not folder.exists() or list(folder.iterdir()) == []


async def test_a_model_that_this_installation_cannot_ask_is_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lacks(name: str) -> None:
        raise ModuleNotFoundError(f"No module named {name}", name="httpx2")

    async with a_world(tmp_path) as world, world.client() as http:
        monkeypatch.setattr("starloom.planner.model.transport.connecting.import_module", lacks)
        body = {"url": "http://127.0.0.1:9", "model": "m"}
        for answer in (await http.put(MODEL, json=body), await http.post(MODEL + "/test", json=body)):
            assert answer.json()["code"] == "model_not_set"
            assert "httpx2 is missing" in answer.json()["reason"]
            assert "-m pip install" in answer.json()["hint"]
            assert "pydantic-ai-slim" in answer.json()["hint"]
        assert (await http.get(MODEL)).json()["set"] is False


async def test_the_hubs_own_settings_win_and_only_an_owner_sets_it(tmp_path: Path) -> None:
    wanted = {"url": "http://127.0.0.1:9/v1", "model": "m"}
    async with a_world(tmp_path, llm_url="http://127.0.0.1:7/v1", llm_model="given") as world:
        async with world.client() as http:
            assert (await http.put(MODEL, json=wanted)).status_code == 409
            assert (await http.delete(MODEL)).status_code == 409
            assert (await http.post(f"{MODEL}/test", json=wanted)).status_code == 409
            shown = (await http.get(MODEL)).json()
        assert (shown["given"], shown["model"]) == (True, "given")
        _, token = await world.new_token("operator")
        async with world.client(token) as http:
            assert (await http.put(MODEL, json=wanted)).status_code == 403


def test_a_given_endpoint_takes_nothing_from_what_is_kept(tmp_path: Path) -> None:
    keep(tmp_path, PageModelSettings(url="http://127.0.0.1:9/v1", model="kept", key_file="a.key", dollars_per_day=2))
    given = {"STARLOOM_LLM_URL": "http://127.0.0.1:7/v1", "STARLOOM_LLM_MODEL": "given"}
    assert in_force(given, tmp_path) == given
    page = in_force({"STARLOOM_LLM_BUDGET_PER_DAY": "1"}, tmp_path)
    assert (page["STARLOOM_LLM_MODEL"], page["STARLOOM_LLM_BUDGET_PER_DAY"]) == ("kept", "1")
    assert in_force({}, None) == {}


async def test_points_of_review_without_a_model_are_told_in_the_preview(tmp_path: Path) -> None:
    plan = {
        "starloom": 1,
        "tasks": [{"id": "a", "person": "Go on?"}],
        "policy": {"review_at": ["a"]},
    }
    async with a_world(tmp_path) as world, world.client() as http:
        without = (await http.post("/api/v1/constellations/preview", json={"plan": plan})).json()
    async with a_world(tmp_path, llm_url="http://127.0.0.1:9/v1", llm_model="m") as world, world.client() as http:
        with_one = (await http.post("/api/v1/constellations/preview", json={"plan": plan})).json()
    assert without["warnings"][-1] == "No model is set, so nothing is reviewed when these have ended: a."
    assert not [line for line in with_one["warnings"] if "nothing is reviewed" in line]


async def test_a_hub_without_the_libraries_says_so_before_anything_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connecting, "LIBRARIES", ("no_library_has_this_name",))
    goal = {"starloom": 1, "tasks": [{"id": "why", "goal": "Find out why.", "may": {"tools": ["fs.read"]}}]}
    set_up: dict[str, Any] = {"llm_url": "http://127.0.0.1:9/v1", "llm_model": "m"}
    async with a_world(tmp_path, **set_up) as world, world.client() as http:
        shown = (await http.get(MODEL)).json()
        made = await http.post("/api/v1/constellations", json=WORDS)
        seen = (await http.post("/api/v1/constellations/preview", json=WORDS)).json()["understood"]
        plan = (await http.post("/api/v1/constellations/preview", json={"plan": goal})).json()
    assert (shown["set"], shown["model"]) == (True, "m")
    for told in (shown["fault"]["reason"], made.json()["reason"], seen["said"]):
        assert "no_library_has_this_name is missing" in told
    assert "pip install" in shown["fault"]["hint"]
    assert (made.status_code, made.json()["code"], "pip install" in made.json()["hint"]) == (422, "model_not_set", True)
    assert seen["by_model"] is False
    assert seen["model_fault"] == {"reason": shown["fault"]["reason"], "hint": shown["fault"]["hint"]}
    assert any("This plan asks a model" in text and "pip install" in text for text in plan["warnings"]), plan


async def test_an_optional_goal_without_a_model_is_told_in_its_preview(tmp_path: Path) -> None:
    task = {"id": "why", "goal": "Find out why.", "may": {"tools": ["fs.read"]}, "optional": True}
    goal = {"starloom": 1, "tasks": [task]}
    async with a_world(tmp_path) as world, world.client() as http:
        plan = (await http.post("/api/v1/constellations/preview", json={"plan": goal})).json()
    assert any(text.endswith("they fail: why.") for text in plan["warnings"]), plan


async def test_questions_about_starloom_never_go_to_the_model(tmp_path: Path) -> None:
    asked = {"request": "how do I add a phone?"}
    async with fake_model(Say(tool={"kind": "cannot", "text": "no"})) as fake:
        set_up: dict[str, Any] = {"llm_url": fake.url, "llm_model": "fake-1"}
        async with a_world(tmp_path, **set_up) as world, world.client() as http:
            object.__setattr__(world.hub, "planner", Planning(load_catalogue(), lambda: fleet(device("nas")), list))
            shown = (await http.post("/api/v1/constellations/preview", json=asked)).json()["understood"]
            made = await http.post("/api/v1/constellations", json=asked)
    assert (shown["by_model"], shown["candidates"]) == (False, [])
    assert shown["places"] == [{"title": "Fleet, Add device", "path": "/devices?add=1"}]
    assert "`starloom enroll`" in shown["gap"]
    assert (made.status_code, made.json()["code"]) == (422, "request_not_understood")
    assert made.json()["places"] == shown["places"]
    assert fake.asked == []
