"""Each role asks its own endpoint, and a fallback stands in for one that is away; over real sockets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from starloom.jobs.kinds.reviewing import ReviewJobs
from starloom.jobs.modelling import ModelJobs
from starloom_protocol.vocabulary import Code, ConstellationState, Outcome
from tests.jobs.test_modelling import READING, Hub, answer, models, plan, review, says
from tests.models.modes import BROKEN, REFUSES_TOOLS
from tests.models.server import Say, fake_model, without_tools

ANSWER = Say(tool={"kind": "answer", "text": "1 is there [1].", "cites": [{"task": "look", "pointer": ""}]})


def endpoint(role: str, url: str, model: str) -> dict[str, str]:
    return {f"STARLOOM_LLM_{role}_URL": url, f"STARLOOM_LLM_{role}_MODEL": model}


def calls_of(constellation: Any) -> list[tuple[str, str, bool]]:
    """Return the stage, the model and whether it failed, of each call in its order."""
    return [(call.stage, call.model, bool(call.fault)) for call in constellation.tables["call"].values()]


async def test_each_role_asks_its_own_endpoint_and_the_record_names_it() -> None:
    hub = Hub()
    constellation: Any = hub.ask("look around")
    two = says({**READING, "id": "first"}, READING, dependencies=[{"from": "first", "to": "look"}])
    reviewed = Say(tool={**two.tool, "plan": {**two.tool["plan"], "policy": {"review_at": ["first"]}}})
    async with (
        fake_model(reviewed) as planner,
        fake_model(Say(tool={"kind": "no_change"})) as reviewer,
        fake_model(ANSWER) as writer,
    ):
        roles = {**endpoint("REVIEWER", reviewer.url, "critic"), **endpoint("WRITER", writer.url, "poet")}
        made = models(planner, hub, **roles)
        await plan(hub, made)
        (dispatch,) = hub.driver.take()
        hub.driver.result(dispatch, 1)
        await review(hub, made)
        (dispatch,) = hub.driver.take()
        hub.driver.result(dispatch, 1)
        await answer(hub, made)
        assert [len(fake.asked) for fake in (planner, reviewer, writer)] == [1, 1, 1]
    assert sorted(calls_of(constellation)) == [
        ("answering", "poet", False),
        ("planning", "fake-1", False),
        ("reviewing", "critic", False),
    ]
    assert constellation.head.state is ConstellationState.SUCCEEDED


AWAY = {
    "hangs_up": BROKEN["hangs_up"],
    "bad_gateway": Say(status=502, body=b"<html>"),
    "unavailable": Say(status=503, body=b"{}"),
    "overloaded": BROKEN["overloaded"],
    "stalls": BROKEN["stalls_for_ever"],
}


@pytest.mark.parametrize("mode", AWAY)
async def test_a_fallback_stands_in_for_an_endpoint_that_is_away(mode: str) -> None:
    hub = Hub()
    constellation: Any = hub.ask("look around")
    async with fake_model(AWAY[mode]) as fake, fake_model(says(READING)) as other:
        limits = {"STARLOOM_LLM_TIMEOUT_S": "0.5" if mode == "stalls" else "60"}
        await plan(hub, models(other, hub))  # the libraries are loaded before time counts
        hub = Hub()
        constellation = hub.ask("look around")
        await plan(hub, models(fake, hub, **endpoint("FALLBACK", other.url, "spare"), **limits))
    assert constellation.head.state is ConstellationState.ACTIVE
    assert calls_of(constellation) == [("planning", "fake-1", True), ("planning", "spare", False)]
    assert constellation.jobs["plan-1"].calls == 2


async def test_a_job_asks_an_endpoint_that_is_away_once() -> None:
    hub = Hub()
    constellation: Any = hub.ask("look around")
    async with fake_model(says({"id": "x", "tool": "no.tool"}), says(READING)) as other:
        made = models(other, hub, STARLOOM_LLM_URL="http://127.0.0.1:9/v1", **endpoint("FALLBACK", other.url, "s"))
        await plan(hub, made)
    assert calls_of(constellation) == [
        ("planning", "fake-1", True),
        ("planning", "s", False),
        ("planning", "s", False),
    ]


@pytest.mark.parametrize(
    "mode", ["unauthorised", "no_such_model", "server_error", "too_many_calls", "html", "redirect"]
)
async def test_an_endpoint_that_answers_badly_is_not_replaced(mode: str) -> None:
    hub = Hub()
    constellation: Any = hub.ask("look around")
    async with fake_model(BROKEN[mode]) as fake, fake_model(says(READING)) as other:
        await plan(hub, models(fake, hub, **endpoint("FALLBACK", other.url, "spare")))
        assert not other.asked
    assert constellation.head.state is ConstellationState.FAILED


async def test_a_fallback_that_takes_no_tools_is_asked_in_plain_text() -> None:
    hub = Hub()
    constellation: Any = hub.ask("look around")
    plain = Say(text=json.dumps(says(READING).tool))
    async with fake_model(without_tools(REFUSES_TOOLS["vllm"], plain)) as other:
        roles = {"STARLOOM_LLM_URL": "http://127.0.0.1:9/v1", **endpoint("FALLBACK", other.url, "plain-spare")}
        await plan(hub, models(other, hub, **roles))
    assert constellation.head.state is ConstellationState.ACTIVE
    assert [failed for _, _, failed in calls_of(constellation)] == [True, True, False]


async def test_the_budget_covers_the_call_of_the_fallback_too() -> None:
    hub = Hub()
    constellation: Any = hub.ask("look around")
    async with fake_model(says(READING)) as other:
        roles = {"STARLOOM_LLM_URL": "http://127.0.0.1:9/v1", **endpoint("FALLBACK", other.url, "spare")}
        await plan(hub, models(other, hub, STARLOOM_LLM_TOKENS_PER_DAY="0", **roles))
        assert not other.asked
    assert constellation.head.state is ConstellationState.FAILED


async def test_a_key_of_one_role_reaches_no_other(tmp_path: Path) -> None:
    hub = Hub()
    hub.ask("look around")
    file = tmp_path / "key"
    file.write_text("sk-planner")
    file.chmod(0o600)
    async with fake_model(Say(status=503, body=b"")) as fake, fake_model(says(READING)) as other:
        variables = {"STARLOOM_LLM_KEY_FILE": str(file), **endpoint("FALLBACK", other.url, "spare")}
        await plan(hub, models(fake, hub, **variables))
    assert "sk-planner" in str(fake.headers)
    assert "sk-planner" not in str(other.headers)


async def test_a_review_holds_as_long_as_its_endpoint_may_take() -> None:
    hub = Hub()
    constellation: Any = hub.ask("look around on one")
    after = {"id": "after", "tool": "t.pure", "inputs": {"x": {"from": "look"}}}
    slow = {"STARLOOM_LLM_TIMEOUT_S": "60", "STARLOOM_LLM_FALLBACK_MODEL": "small"}
    async with fake_model(says(READING, after), Say(tool={"kind": "no_change"})) as fake:
        made = models(fake, hub, **slow)
        await plan(hub, made)
        (dispatch,) = hub.driver.take()
        hub.driver.result(dispatch, outcome=Outcome.ERROR, code=Code.TOOL_FAILED)
        await review(hub, made)
    assert constellation.jobs["review-1"].hold_ms == (3 * 60 + 60) * 1000
    assert ReviewJobs(ModelJobs({})).takes_s() == 0
    assert ReviewJobs(ModelJobs({"STARLOOM_LLM_URL": "http://x"})).takes_s() == 0, "its settings are wrong"
