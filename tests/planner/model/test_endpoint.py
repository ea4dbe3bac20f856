"""Where the owner's model is: what is accepted, what is refused and why; the key is never shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from starloom.planner.model.endpoint import Wire, endpoint_from
from starloom.planner.model.port import ModelFault
from starloom.planner.model.spending import Budget, Spent, budget_from


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
