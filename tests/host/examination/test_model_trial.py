"""`starloom doctor model`: what it says before, what it reports, and what it costs; a fake model on a socket."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from starloom.host.examination.model_trial import STAGES, Report, Used, announced
from starloom.planner.model.endpoints.endpoint import Endpoint
from starloom.planner.model.trials import CALLS_MOST
from tests.cli.test_commands import StubHub, hub
from tests.models.modes import BROKEN, DECLINED, MENDED, REFUSES_TOOLS
from tests.models.server import FakeModel, Json, Say, without_tools
from tests.models.threaded import a_model
from tests.models.tried import CONDITION_WORDS, RIGHT, TOOL_WORDS, answered, passing
from tests.programs import command_line

__all__ = ["hub"]

WRONG: Json = {"kind": "cannot", "text": "no idea"}


@pytest.fixture(autouse=True)
def _no_other_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STARLOOM_HOME", str(tmp_path))
    for name in ("URL", "MODEL", "WIRE", "KEY_FILE"):
        monkeypatch.delenv(f"STARLOOM_LLM_{name}", raising=False)


def use(monkeypatch: pytest.MonkeyPatch, fake: FakeModel, role: str = "", model: str = "tried") -> None:
    monkeypatch.setenv(f"STARLOOM_LLM_{role}URL", fake.url)
    monkeypatch.setenv(f"STARLOOM_LLM_{role}MODEL", model)


def doctor(*words: str) -> Result:
    return CliRunner().invoke(command_line(), ["doctor", "model", *words])


def report() -> tuple[int, dict[str, Any]]:
    ended = doctor("--json")
    return ended.exit_code, json.loads(ended.stdout)


def test_a_good_model_is_told_to_be_good_for_all_and_its_costs_are_said_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with a_model(passing) as fake:
        use(monkeypatch, fake)
        ended = doctor()
    assert ended.exit_code == 0, ended.output
    assert f"tried at 127.0.0.1:{fake.port} (planner, reviewer, writer, judge, worker): about " in ended.stderr
    assert "no money, since it is on this machine" in ended.stderr
    assert "Nothing about yours leaves this machine" in ended.stderr
    assert ended.stdout.count("ok  ") == 11
    for told in (
        "plans: yes (5 of 5)",
        "reviews: yes",
        "answers in words: yes",
        "verdicts: yes",
        "turns of goals: yes (2 of 2)",
        "11 calls, 1,100 tokens read",
    ):
        assert told in ended.stdout


def test_nothing_of_the_owner_is_in_what_leaves(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with a_model(passing) as fake:
        use(monkeypatch, fake)
        assert doctor().exit_code == 0
    sent = str(fake.asked)
    assert str(tmp_path) not in sent
    assert str(Path.home()) not in sent
    assert "garden" in sent


def test_what_fails_is_named_and_ends_with_one(monkeypatch: pytest.MonkeyPatch) -> None:
    with a_model(lambda asked: Say(text=answered(str(asked), {**RIGHT, CONDITION_WORDS: WRONG}))) as fake:
        use(monkeypatch, fake)
        code, told = report()
    assert code == 1
    (failed,) = [item for item in told["items"] if not item["good"]]
    assert failed["subject"] == "a condition"
    assert "no idea" in failed["told"]
    assert told["uses"][0] == "plans: simple ones, read each before you allow it (4 of 5)"
    assert told["used"]["calls"] == 11
    assert (told["used"]["input_tokens"], told["used"]["output_tokens"], told["used"]["dollars"]) == (1100, 220, 0)
    assert all(item["calls"] == 1 for item in told["items"])


def test_each_role_is_tried_at_its_own_endpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    with a_model(passing) as fake, a_model(passing) as critic:
        use(monkeypatch, fake)
        use(monkeypatch, critic, "REVIEWER_", "critic")
        ended = doctor()
    assert ended.exit_code == 0
    assert (len(fake.asked), len(critic.asked)) == (10, 1)
    assert "critic at" in ended.stderr


def test_each_tier_of_goals_is_tried_and_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    weak = Say(tool={"kind": "give_up", "because": "I cannot"})
    with a_model(passing) as fake, a_model(passing) as large, a_model(weak) as tiny:
        use(monkeypatch, fake)
        use(monkeypatch, large, "WORKER_", "large")
        use(monkeypatch, tiny, "SMALL_", "tiny")
        ended = doctor()
    assert ended.exit_code == 1
    assert (len(fake.asked), len(large.asked), len(tiny.asked)) == (9, 2, 2)
    assert "This asks 13 questions" in ended.stderr
    for told in (f"large at 127.0.0.1:{large.port} (worker)", f"tiny at 127.0.0.1:{tiny.port} (small)"):
        assert told in ended.stderr
    assert "  turns of goals: yes (2 of 2)" in ended.stdout
    assert "first turns of goals: no (0 of 2)" in ended.stdout


def test_a_model_that_never_answers_well_costs_a_bounded_number_of_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    with a_model(Say(tool={"kind": "more_tools", "words": "more"})) as fake:
        use(monkeypatch, fake)
        code, told = report()
    assert code == 1
    assert len(fake.asked) == told["used"]["calls"] <= CALLS_MOST
    assert [use.partition(" (")[0] for use in told["uses"]] == [
        "plans: no",
        "reviews: no",
        "answers in words: no",
        "verdicts: no",
        "choices between results: no",
        "turns of goals: no",
    ]


def test_a_server_without_tools_is_tried_in_plain_text(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = Say(text=answered(TOOL_WORDS, RIGHT))

    def answering(asked: Json) -> Say:
        refused = without_tools(REFUSES_TOOLS["llama_server"], plain)(asked)
        return passing(asked) if refused is plain else refused

    with a_model(answering) as fake:
        use(monkeypatch, fake, model="no-jinja")
        code, told = report()
    assert code == 0
    assert [item["calls"] for item in told["items"]] == [2, *[1] * 10]


def test_a_model_that_is_away_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STARLOOM_LLM_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("STARLOOM_LLM_MODEL", "gone")
    code, told = report()
    assert code == 1
    assert told["used"]["calls"] == 1
    assert "cannot be reached" in told["items"][0]["told"]
    assert told["uses"] == []


FIXES: dict[str, str] = {
    "unauthorised": "STARLOOM_LLM_KEY_FILE",
    "no_such_model": "STARLOOM_LLM_MODEL",
    "too_many_calls": "Try again later",
    "server_error": "the log of the model's server",
    "overloaded": "the log of the model's server",
    "ten_megabytes": "STARLOOM_LLM_OUTPUT_TOKENS",
    "event_stream": "the log of the model's server",
    "hangs_up": "the log of the model's server",
    "stalls_for_ever": "STARLOOM_LLM_TIMEOUT_S",
    "drips_slowly": "STARLOOM_LLM_TIMEOUT_S",
}
"""By the fault of an endpoint; of all others the address and the wire format are to be checked."""


@pytest.mark.parametrize("mode", BROKEN)
def test_a_broken_endpoint_is_asked_once_and_told_apart_from_a_weak_model(
    monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    monkeypatch.setenv("STARLOOM_LLM_TIMEOUT_S", "1")
    with a_model(BROKEN[mode]) as fake:
        use(monkeypatch, fake)
        code, told = report()
    assert (code, told["used"]["calls"], told["uses"]) == (1, 1, [])
    (item,) = told["items"]
    assert "This says nothing about the model; no other question was asked" in item["told"]
    assert FIXES.get(mode, "STARLOOM_LLM_URL") in item["fix"]
    assert "larger model" not in item["fix"]
    assert "sk-secret-key" not in str(told)


@pytest.mark.parametrize("mode", REFUSES_TOOLS)
def test_a_server_that_refuses_plain_text_as_well_is_asked_twice(monkeypatch: pytest.MonkeyPatch, mode: str) -> None:
    with a_model(REFUSES_TOOLS[mode]) as fake:
        use(monkeypatch, fake, model=f"never-{mode}")
        code, told = report()
    assert (code, told["used"]["calls"], told["uses"]) == (1, 2, [])
    assert "larger model" not in told["items"][0]["fix"]


@pytest.mark.parametrize("mode", [*DECLINED, "empty_text", "prose_only", "truncated_json", "hostile_prose"])
def test_a_model_that_answers_badly_is_told_to_be_of_no_use(monkeypatch: pytest.MonkeyPatch, mode: str) -> None:
    with a_model({**DECLINED, **MENDED}[mode]) as fake:
        use(monkeypatch, fake)
        code, told = report()
    assert code == 1
    assert len(told["items"]) == 11
    assert not any(item["good"] for item in told["items"])
    assert {use.partition(": ")[2].partition(" (")[0] for use in told["uses"]} == {"no"}
    assert "another or a larger model" in told["items"][0]["fix"]


def test_an_endpoint_that_fails_once_between_answers_is_asked_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def sometimes(asked: Json) -> Say:
        return BROKEN["server_error"] if CONDITION_WORDS in str(asked) else passing(asked)

    with a_model(sometimes) as fake:
        use(monkeypatch, fake)
        code, told = report()
    assert (code, len(told["items"])) == (1, 11)
    assert [item["subject"] for item in told["items"] if not item["good"]] == ["a condition"]


def test_without_a_model_it_says_how_to_set_one() -> None:
    ended = doctor()
    assert ended.exit_code == 1
    assert "STARLOOM_LLM_URL" in ended.stdout


def test_other_subjects_and_options_are_refused() -> None:
    assert CliRunner().invoke(command_line(), ["doctor", "fleet"]).exit_code == 2
    assert doctor("--whole").exit_code == 2


def test_a_price_that_is_not_known_is_never_told_as_nothing() -> None:
    used = Used(calls=7, input_tokens=700, output_tokens=140, seconds=7.0)
    told = Report(used=used, price_known=False)
    assert "140 written, at a price that is not known here, 1.0 s a call" in told.lines()[-1]
    assert told.document()["used"]["price_known"] is False
    far = {stage: Endpoint("https://models.test/v1", "strange") for stage in STAGES.values()}
    assert "at a price that is not known here" in announced(far)[1]
    known = {stage: Endpoint("https://api.openai.com/v1", "gpt-4o") for stage in STAGES.values()}
    assert "dollars" in announced(known)[1]


def model_state(**fields: Any) -> dict[str, Any]:
    spent = {"calls": 0, "dollars": 0.0, "tokens": 0}
    return {"parts": [], "set": True, "given": True, "spent_today": spent, "host": "far:1", "model": "big", **fields}


def test_another_model_of_the_hub_is_named_before_the_trial(hub: StubHub, monkeypatch: pytest.MonkeyPatch) -> None:
    hub.answers["GET", "/model"] = (200, model_state())
    with a_model(passing) as fake:
        use(monkeypatch, fake)
        said = doctor("--hub", hub.url).stderr.splitlines()[0]
        assert f"The hub uses big at far:1; this terminal's settings name tried at 127.0.0.1:{fake.port}" in said
        hub.answers["GET", "/model"] = (200, model_state(host=f"127.0.0.1:{fake.port}", model="tried"))
        assert "The hub uses" not in doctor("--hub", hub.url).stderr
        hub.answers["GET", "/model"] = (403, {"title": "No", "code": "forbidden", "reason": "not yours"})
        assert doctor("--hub", hub.url).exit_code == 0, (
            "a caller who may not see the hub's model tries that of the terminal"
        )


def test_a_model_that_only_the_hub_has_is_named_with_the_way_out(hub: StubHub) -> None:
    hub.answers["GET", "/model"] = (200, model_state())
    ended = doctor("--hub", hub.url)
    assert ended.exit_code == 1
    assert "none is set in this terminal; the hub uses big at far:1" in ended.stdout
    assert "type this where the hub was started" in ended.stdout
