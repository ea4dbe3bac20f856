"""Where the owner's model is: what is accepted, what is refused and why; the key is never shown."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from starloom.planner.model.endpoints.endpoint import (
    OTHER_ROLES,
    Endpoint,
    Limits,
    ModelRole,
    Wire,
    endpoint_from,
    endpoints_from,
    others_from,
    readers_from,
    sharing_from,
    tiers_from,
)
from starloom.planner.model.endpoints.page_settings import PageModelSettings, in_force, keep
from starloom.planner.model.endpoints.spending import budget_from
from starloom.planner.model.port import ModelFault, Turn
from starloom.planner.model.transport.wire import WiredModel
from starloom_protocol.records.models import ModelBudget
from starloom_protocol.vocabulary import Sharing
from tests.models.server import Say, fake_model


def variables(**given: str) -> dict[str, str]:
    return {"STARLOOM_LLM_URL": "https://models.test/v1", "STARLOOM_LLM_MODEL": "m", **given}


def key_file(folder: Path, text: str = "sk-1\n", mode: int = 0o600) -> str:
    file = folder / "key"
    file.write_text(text)
    file.chmod(mode)
    return str(file)


def test_no_address_is_no_model() -> None:
    assert endpoint_from({}) is None


def test_the_wire_follows_the_host_unless_it_is_said() -> None:
    by_host = endpoint_from(variables(STARLOOM_LLM_URL="https://api.anthropic.com"))
    said = endpoint_from(variables(STARLOOM_LLM_WIRE="anthropic"))
    plain = endpoint_from(variables())
    assert [found.wire if found else None for found in (by_host, said, plain)] == [
        Wire.ANTHROPIC,
        Wire.ANTHROPIC,
        Wire.OPENAI,
    ]


def test_the_key_is_not_in_what_is_printed(tmp_path: Path) -> None:
    found = endpoint_from(variables(STARLOOM_LLM_KEY_FILE=key_file(tmp_path)))
    assert found is not None
    assert found.key == "sk-1"
    assert "sk-1" not in repr(found)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"STARLOOM_LLM_URL": "ftp://models.test"}, "http"),
        ({"STARLOOM_LLM_URL": "https://me:pw@models.test"}, "without a name"),
        ({"STARLOOM_LLM_URL": "https://models.test/v1?key=1"}, "without a name"),
        ({"STARLOOM_LLM_MODEL": ""}, "STARLOOM_LLM_MODEL"),
        ({"STARLOOM_LLM_WIRE": "morse"}, "morse"),
        ({"STARLOOM_LLM_KEY_FILE": "/nowhere/key"}, "cannot be read"),
    ],
)
def test_what_is_set_wrongly_says_how(given: dict[str, str], why: str) -> None:
    with pytest.raises(ModelFault, match=why):
        endpoint_from(variables(**given))


@pytest.mark.parametrize(
    ("text", "mode", "url", "why"),
    [
        ("sk-1", 0o644, "https://models.test", "chmod 600"),
        ("", 0o600, "https://models.test", "one key"),
        ("two words", 0o600, "https://models.test", "one key"),
        ("x" * 5000, 0o600, "https://models.test", "one key"),
        ("sk-1", 0o600, "http://models.test", "unencrypted"),
    ],
)
def test_a_key_that_is_not_safe_is_refused(tmp_path: Path, text: str, mode: int, url: str, why: str) -> None:
    file = key_file(tmp_path, text, mode)
    with pytest.raises(ModelFault, match=why):
        endpoint_from(variables(STARLOOM_LLM_URL=url, STARLOOM_LLM_KEY_FILE=file))


def test_a_budget_is_a_number() -> None:
    assert budget_from({"STARLOOM_LLM_BUDGET_PER_DAY": "2"}) == ModelBudget(micros_per_day=2_000_000)
    assert budget_from({"STARLOOM_LLM_TOKENS_PER_DAY": "9" * 40}).tokens_per_day == 2**53
    with pytest.raises(ModelFault, match="numbers"):
        budget_from({"STARLOOM_LLM_TOKENS_PER_DAY": "many"})


def test_the_tokens_of_a_constellation_are_a_setting_that_holds_beside_the_model_of_the_page(tmp_path: Path) -> None:
    told = {"STARLOOM_LLM_TOKENS_PER_CONSTELLATION": "5000"}
    assert budget_from(told).tokens_per_constellation == 5000
    (tmp_path / "model.json").write_text('{"url": "http://127.0.0.1:9/v1", "model": "small"}')
    assert budget_from(in_force(told, tmp_path)).tokens_per_constellation == 5000


def test_the_limits_of_a_call_are_settings() -> None:
    told = endpoint_from(variables(STARLOOM_LLM_TIMEOUT_S="900", STARLOOM_LLM_OUTPUT_TOKENS="32000"))
    assert told is not None
    assert (told.limits.call_s, told.limits.output_tokens_most) == (900.0, 32_000)
    unset = endpoint_from(variables())
    assert unset is not None
    assert unset.limits == Limits()


@pytest.mark.parametrize(
    "given",
    [
        {"STARLOOM_LLM_TIMEOUT_S": "soon"},
        {"STARLOOM_LLM_TIMEOUT_S": "0"},
        {"STARLOOM_LLM_TIMEOUT_S": "nan"},
        {"STARLOOM_LLM_TIMEOUT_S": "86400"},
        {"STARLOOM_LLM_OUTPUT_TOKENS": "-1"},
        {"STARLOOM_LLM_OUTPUT_TOKENS": "1.5"},
    ],
)
def test_a_limit_of_a_call_that_is_none_is_refused(given: dict[str, str]) -> None:
    with pytest.raises(ModelFault, match="STARLOOM_LLM_TIMEOUT_S"):
        endpoint_from(variables(**given))


def test_the_limits_of_a_call_hold_for_the_model_of_the_page(tmp_path: Path) -> None:
    keep(tmp_path, PageModelSettings(url="http://127.0.0.1:11434/v1", model="small"))
    given = {"STARLOOM_LLM_TIMEOUT_S": "600", "STARLOOM_LLM_OUTPUT_TOKENS": "512"}
    endpoint = endpoint_from(in_force(given, tmp_path))
    assert endpoint is not None
    assert (endpoint.limits.call_s, endpoint.limits.output_tokens_most) == (600.0, 512)


@pytest.mark.parametrize(
    ("url", "local"),
    [
        ("http://127.0.0.1:11434/v1", True),
        ("http://localhost:1234/v1", True),
        ("http://[::1]:8080/v1", True),
        ("https://api.example.org/v1", False),
        ("http://10.0.0.7:8080/v1", False),
    ],
)
def test_only_a_model_on_this_machine_is_local(url: str, local: bool) -> None:
    assert Endpoint(url, "gpt-4o").local is local


async def test_a_model_on_this_machine_costs_no_money() -> None:
    async def here(_host: str, _port: int) -> str:
        return "127.0.0.1"

    async with fake_model(Say(text="hello", model="gpt-4o")) as fake:
        away = fake.url.replace("127.0.0.1", "models.test")
        near, far = [
            await WiredModel(Endpoint(url, "gpt-4o"), here).ask("Say hello.", [Turn("starloom", "Go.")])
            for url in (fake.url, away)
        ]
    assert near.micros == 0
    assert far.micros > 0


def test_a_role_is_the_planners_model_unless_it_has_its_own(tmp_path: Path) -> None:
    given = variables(
        STARLOOM_LLM_KEY_FILE=key_file(tmp_path),
        STARLOOM_LLM_TIMEOUT_S="600",
        STARLOOM_LLM_REVIEWER_URL="https://others.test/v1",
        STARLOOM_LLM_REVIEWER_MODEL="large",
        STARLOOM_LLM_WRITER_MODEL="small",
    )
    planner, reviewer, writer = [
        endpoint_from(given, role) for role in (ModelRole.PLANNER, ModelRole.REVIEWER, ModelRole.WRITER)
    ]
    assert planner is not None
    assert reviewer is not None
    assert (reviewer.host, reviewer.model, reviewer.key, reviewer.limits.call_s) == ("others.test", "large", "", 600)
    assert writer == dataclasses.replace(planner, model="small")
    assert endpoint_from(variables(), ModelRole.WRITER) == endpoint_from(variables())
    assert endpoint_from({"STARLOOM_LLM_REVIEWER_URL": "https://others.test/v1"}, ModelRole.REVIEWER) is None


def test_a_fallback_is_one_of_its_own_and_never_the_same_again() -> None:
    assert len(endpoints_from(variables(), ModelRole.WRITER)) == 1
    near = variables(STARLOOM_LLM_FALLBACK_URL="http://127.0.0.1:11434/v1", STARLOOM_LLM_FALLBACK_MODEL="tiny")
    assert [endpoint.model for endpoint in endpoints_from(near, ModelRole.REVIEWER)] == ["m", "tiny"]
    assert len(endpoints_from(variables(STARLOOM_LLM_FALLBACK_MODEL="m"), ModelRole.PLANNER)) == 1
    assert endpoints_from({}, ModelRole.PLANNER) == ()


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"STARLOOM_LLM_REVIEWER_URL": "https://others.test"}, "STARLOOM_LLM_REVIEWER_MODEL"),
        ({"STARLOOM_LLM_REVIEWER_KEY_FILE": "/some/key"}, "without STARLOOM_LLM_REVIEWER_URL"),
        ({"STARLOOM_LLM_REVIEWER_WIRE": "openai"}, "without STARLOOM_LLM_REVIEWER_URL"),
        ({"STARLOOM_LLM_FALLBACK_URL": "ftp://others.test"}, "STARLOOM_LLM_FALLBACK_URL must be"),
    ],
)
def test_a_role_that_is_set_wrongly_says_how(given: dict[str, str], why: str) -> None:
    with pytest.raises(ModelFault, match=why):
        endpoints_from(variables(**given), ModelRole.REVIEWER)


def test_roles_of_the_settings_stand_beside_the_model_of_the_page(tmp_path: Path) -> None:
    keep(tmp_path, PageModelSettings(url="http://127.0.0.1:11434/v1", model="page"))
    given = {"STARLOOM_LLM_WRITER_URL": "https://others.test/v1", "STARLOOM_LLM_WRITER_MODEL": "large"}
    told = in_force(given, tmp_path)
    found = [endpoint_from(told, role) for role in (ModelRole.PLANNER, ModelRole.REVIEWER, ModelRole.WRITER)]
    assert [endpoint.model for endpoint in found if endpoint is not None] == ["page", "page", "large"]


def test_the_key_of_the_page_goes_to_no_other_address(tmp_path: Path) -> None:
    file = key_file(tmp_path, "sk-page")
    keep(tmp_path, PageModelSettings(url="https://models.test/v1", model="page", key_file=Path(file).name))
    given = {
        f"STARLOOM_LLM_{role}_{name}": text
        for role in ("REVIEWER", "WRITER", "JUDGE", "WORKER", "SMALL", "FALLBACK")
        for name, text in (("URL", "https://others.test/v1"), ("MODEL", "large"))
    }
    told = in_force(given, tmp_path)
    assert [endpoint.key for role in OTHER_ROLES if (endpoint := endpoint_from(told, role)) is not None] == [""] * 6


def test_goals_have_two_tiers_only_where_a_small_model_is_another_one() -> None:
    assert tiers_from({}) == ()
    assert tiers_from(variables()) == (ModelRole.WORKER,)
    assert endpoint_from(variables(), ModelRole.WORKER) == endpoint_from(variables())
    assert endpoint_from(variables(), ModelRole.SMALL) is None
    assert tiers_from(variables(STARLOOM_LLM_WORKER_MODEL="large")) == (ModelRole.WORKER,)
    assert tiers_from(variables(STARLOOM_LLM_SMALL_MODEL="m")) == (ModelRole.WORKER,)
    assert tiers_from(variables(STARLOOM_LLM_SMALL_MODEL="tiny")) == (ModelRole.SMALL, ModelRole.WORKER)
    same = variables(STARLOOM_LLM_SMALL_MODEL="large", STARLOOM_LLM_WORKER_MODEL="large")
    assert tiers_from(same) == (ModelRole.WORKER,)
    assert [role.value for role in others_from(same)] == ["worker", "small"]
    with pytest.raises(ModelFault, match="without STARLOOM_LLM_SMALL_URL"):
        tiers_from(variables(STARLOOM_LLM_SMALL_KEY_FILE="/some/key"))


def test_the_texts_of_a_goal_are_read_by_every_tier_and_its_fallback() -> None:
    given = variables(
        STARLOOM_LLM_SMALL_URL="http://127.0.0.1:11434/v1",
        STARLOOM_LLM_SMALL_MODEL="tiny",
        STARLOOM_LLM_FALLBACK_URL="http://127.0.0.1:11435/v1",
        STARLOOM_LLM_FALLBACK_MODEL="spare",
    )
    for tier in (ModelRole.SMALL, ModelRole.WORKER):
        assert [endpoint.model for endpoint in readers_from(given, tier)] == ["tiny", "spare", "m"]
    assert [endpoint.model for endpoint in readers_from(given, ModelRole.WRITER)] == ["m", "spare"]
    assert readers_from(variables(), ModelRole.WORKER) == endpoints_from(variables(), ModelRole.PLANNER)


def test_content_of_files_goes_unasked_only_where_every_endpoint_is_on_this_machine() -> None:
    near, far = Endpoint("http://127.0.0.1:11434/v1", "tiny"), Endpoint("https://models.test/v1", "m")
    assert sharing_from({}, near) is Sharing.HEADS
    assert sharing_from({}, near, far) is Sharing.CARDS
    assert sharing_from({"STARLOOM_LLM_SHARE": "cards_and_file_heads"}, near, far) is Sharing.HEADS
