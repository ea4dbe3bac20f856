"""Where the owner's model is: what is accepted, what is refused and why; the key is never shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from starloom.planner.model.endpoint import Endpoint, Limits, Wire, endpoint_from
from starloom.planner.model.kept import Kept, in_force, keep
from starloom.planner.model.port import ModelFault, Turn
from starloom.planner.model.spending import Budget, Spent, budget_from
from starloom.planner.model.wire import WiredModel
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


@pytest.mark.parametrize(
    ("today", "here"),
    [
        (Spent(tokens=1_000_000), Spent()),
        (Spent(micros=2_000_000), Spent()),
        (Spent(), Spent(tokens=200_000)),
        (Spent(), Spent(calls=50)),
    ],
)
def test_each_budget_refuses_when_it_is_used_up(today: Spent, here: Spent) -> None:
    budget = budget_from({"STARLOOM_LLM_BUDGET_PER_DAY": "2"})
    budget.need(Spent(tokens=999_999, micros=1_999_999), Spent(calls=49, tokens=199_999))
    with pytest.raises(ModelFault, match="used up"):
        budget.need(today, here)


def test_without_a_budget_money_is_not_limited() -> None:
    Budget().need(Spent(micros=10**12), Spent())
    Budget().need(Spent(), Spent(micros=999), 1_000)
    with pytest.raises(ModelFault, match=r"this constellation has used 0\.50 of its 0\.50 dollars"):
        Budget().need(Spent(), Spent(micros=500_000), 500_000)
    with pytest.raises(ModelFault, match="numbers"):
        budget_from({"STARLOOM_LLM_TOKENS_PER_DAY": "many"})


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
    keep(tmp_path, Kept(url="http://127.0.0.1:11434/v1", model="small"))
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
