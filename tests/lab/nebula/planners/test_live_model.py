"""The owner's own model as the planner: a real wire to a fake server, its costs, its budgets, and none at all."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from starloom.client.calls import Get, Post
from starloom.lab.nebula.person.person import AS_USUAL, Person
from starloom.lab.nebula.planners.key_masking import KeyMask
from starloom.lab.nebula.planners.live_model import NOT_BEGUN, LiveModel, ModelUse, live_model, use_of
from starloom.lab.nebula.planners.recording import read_recording
from starloom.lab.nebula.reports.report import Report
from starloom.lab.nebula.reports.report_page import page_of
from starloom.lab.nebula.running import GOLD, MODEL
from starloom.lab.nebula.scoring.honesty import End
from starloom.lab.nebula.suite import Wanted, run_suite, write_report
from starloom.lab.nebula.task import Answers, chosen
from starloom.planner.model.endpoints.endpoint import Endpoint
from starloom.planner.model.port import ModelFault
from starloom.process.settings import load
from starloom_protocol.records.entities import Question
from starloom_protocol.records.models import ModelCall
from starloom_protocol.records.specs import Choice
from tests.lab.nebula.scoring.test_figures import RIGHT, WRONG, ran
from tests.models.server import Json, Reading, Say
from tests.models.threaded import a_model
from tests.programs import command_line

NEAR = Endpoint("http://127.0.0.1:9/v1", "small")
FAR = Endpoint("https://api.openai.com/v1", "gpt-4o-mini")


def use(tokens: int) -> ModelUse:
    return ModelUse(calls=1, input_tokens=tokens)


@pytest.mark.quick
def test_without_a_model_the_run_is_refused_with_the_way_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STARLOOM_HOME", str(tmp_path))
    monkeypatch.delenv("STARLOOM_LLM_URL", raising=False)
    ended = CliRunner().invoke(command_line(), ["bench", "nebula", "run", "18", "--planner", "model"])
    assert ended.exit_code == 2
    assert "--planner model: no model is set" in ended.output
    assert "docs/models.md" in ended.output


@pytest.mark.quick
def test_a_model_that_is_set_wrongly_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STARLOOM_HOME", str(tmp_path))
    monkeypatch.setenv("STARLOOM_LLM_URL", "https://models.example.org/v1")
    with pytest.raises(ModelFault, match="STARLOOM_LLM_MODEL is not set"):
        live_model(load({}).settings, tokens_most=1, tokens_a_task=1)


@pytest.mark.quick
def test_the_costs_and_the_bounds_of_a_run_are_named_before_it() -> None:
    whom, cost = LiveModel({}, (NEAR,), 50_000, 20_000).announced(10)
    assert whom.startswith("This asks small at 127.0.0.1:9 about 10 tasks of a made-up world.")
    assert "no money, since it is on this machine" in cost
    assert "ends at 50,000 tokens, and each task at 20,000" in cost
    assert " dollars" in LiveModel({}, (FAR, NEAR)).announced(10)[1]
    unknown = LiveModel({}, (Endpoint("https://models.example.org/v1", "nobody-knows-it"),))
    assert "at a price that is not known here" in unknown.announced(1)[1]
    assert not unknown.price_known


@pytest.mark.quick
def test_a_hub_of_the_run_gets_what_is_left_of_the_budget() -> None:
    told = LiveModel({"STARLOOM_LLM_MODEL": "small", "STARLOOM_LLM_TOKENS_PER_DAY": "5"}, (NEAR,), 50_000, 20_000)
    assert told.variables(0)["STARLOOM_LLM_TOKENS_PER_DAY"] == "50000"
    assert told.variables(0)["STARLOOM_LLM_TOKENS_PER_CONSTELLATION"] == "20000"
    assert told.variables(45_000)["STARLOOM_LLM_TOKENS_PER_CONSTELLATION"] == "5000"
    assert told.variables(60_000)["STARLOOM_LLM_TOKENS_PER_DAY"] == "0"
    assert told.variables(0)["STARLOOM_LLM_MODEL"] == "small"


@pytest.mark.quick
def test_the_use_of_a_run_is_the_sum_of_its_calls() -> None:
    call = ModelCall(asked_ms=1, job="plan-1", stage="planning", input_tokens=90, cached_tokens=20, micros=3, took_ms=7)
    found = use_of([call, call])
    assert (found.calls, found.tokens, found.micros, found.took_ms) == (2, 180, 6, 14)
    assert "at a price that is not known here" in found.words(price_known=False)


def report(*runs: Any, price_known: bool = True) -> Report:
    return Report("id", MODEL, "P0", [1], runs, 1.0, "", price_known)


@pytest.mark.quick
def test_the_report_of_a_live_model_has_its_use_and_stands_beside_the_paper() -> None:
    made = report(ran(18, "succeeded", RIGHT, used=use(1000)), ran(1, "failed", WRONG, used=use(500)))
    assert made.misses == [], "a live model has no gate on accuracy"
    assert made.document()["model"]["input_tokens"] == 1500
    assert any("1,500 tokens read" in line for line in made.summary())
    page = page_of(made.document())
    assert "The model: 2 calls, 1,500 tokens read" in page
    assert "<th class=n>dollars</th>" in page
    whole = page_of(report(*(ran(number, "succeeded", RIGHT) for number in range(1, 56))).document())
    assert "<td class=n>yes</td>" in whole.partition("Tasks met (TSR)")[2].partition("</tr>")[0]
    assert "The model:" not in page_of(Report("id", GOLD, "P0", [1], made.runs, 1.0).document())


@pytest.mark.quick
def test_a_task_that_was_not_begun_for_want_of_tokens_is_named() -> None:
    left = ran(1, "", WRONG, fault=NOT_BEGUN)
    assert left.end is End.NOT_RUN
    assert report(ran(18, "succeeded", RIGHT), left).misses == [f"{NOT_BEGUN}: 01-todays-errors"]


@pytest.mark.quick
def test_a_replay_whose_prompts_differ_fails_the_gate_unless_they_are_accepted() -> None:
    said = 'call 1 (planning): line 3 is now "a <b>", not "b"'
    runs = [ran(18, "succeeded", RIGHT, replayed=2, differs=(said,)), ran(1, "succeeded", RIGHT, replayed=2)]
    (miss,) = report(*runs).misses
    assert miss == f"1 prompt differs from the recording, which was made of another product: 18-top-ten, {said}"
    assert "replay: 3 of 4 prompts are the recorded ones" in report(*runs).summary()
    accepted = replace(report(*runs), accepts_prompts=True)
    assert accepted.misses == []
    assert f"accepted: {miss}" in accepted.summary()
    assert accepted.document()["replay"] == {"prompts": 4, "differ": 1, "accepted": True}
    page = page_of(accepted.document())
    assert "Replay: 3 of 4 prompts are the recorded ones. The differing ones are accepted." in page
    assert "18-top-ten, call 1 (planning): line 3 is now &quot;a &lt;b&gt;&quot;" in page
    assert "it compares with nothing" in page
    assert report(runs[1]).misses == []
    assert "Replay: 2 of 2 prompts are the recorded ones.</p>" in page_of(report(runs[1]).document())


@pytest.mark.quick
def test_a_recording_that_was_refused_is_a_miss_and_no_file_of_a_report_holds_the_key(tmp_path: Path) -> None:
    key = "aB3~secretKey/with+signs_90"
    lines = [json.dumps({"detail": f"401 {key}"}).encode()]
    one = ran(
        18, "failed", WRONG, fault=f"401: {key} is not known", unrecorded="its recording is refused: x", log=lines
    )
    assert "18-top-ten: its recording is refused: x" in report(one).misses
    write_report(report(one), tmp_path, KeyMask([key]))
    files = {path.name: path.read_text() for path in tmp_path.iterdir()}
    assert set(files) == {"report.html", "report.json", "report.md", "log.jsonl"}
    assert not [name for name, text in files.items() if key in text]
    assert all("***" in text for text in files.values())


class Client:
    def __init__(self) -> None:
        self.said: list[tuple[str, Any]] = []

    def get(self, _call: Get[Any]) -> Any:
        return {"items": []}

    def post(self, call: Post[Any], body: Any = None) -> Any:
        self.said.append((call.path, body))


class Asked:
    """A view of one open question."""

    constellation = "c1"
    head = None

    def __init__(self, question: Question) -> None:
        self.open_questions = {question.id: question}


@pytest.mark.quick
@pytest.mark.parametrize(
    ("question", "usual", "value"),
    [
        (Question(id="q", kind="planner", opened_ms=1, text="Which?", usual="b", choices=[]), True, "b"),
        (Question(id="q", kind="planner", opened_ms=1, text="Which?"), True, AS_USUAL),
        (
            Question(id="q", kind="person", task="t", opened_ms=1, text="W?", choices=[Choice(label="A", value="a")]),
            True,
            "a",
        ),
        (
            Question(id="q", kind="person", task="t", opened_ms=1, text="W?", choices=[Choice(label="A", value="a")]),
            False,
            None,
        ),
    ],
)
def test_a_question_that_nobody_foresaw_gets_the_usual_answer_of_a_live_model_alone(
    question: Question, usual: bool, value: str | None
) -> None:
    client = Client()
    person = Person(client, Answers(), usual=usual, thinks_s=0.0)
    view: Any = Asked(question)
    person.look(view)
    assert person.unforeseen == [question.text]
    assert client.said == ([] if value is None else [("/approvals/c1:q/answer", {"value": value})])


def of_gold(number: str, answer: Any) -> Reading:
    """Return a model that plans what the gold plan has, and answers."""
    plan = {"kind": "plan", "plan": yaml.safe_load(chosen([number])[0].gold)}

    def says(asked: Json) -> Say:
        return Say(tool=answer if "DATA results" in json.dumps(asked["messages"]) else plan)

    return says


@pytest.mark.chaos
def test_a_recorded_run_is_said_again_without_the_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One world records and one says again, each with the same seeds: a world is nine processes to start."""
    answer = {"kind": "answer", "text": "The table has the ten [1].", "cites": [{"task": "ask", "pointer": "/rows"}]}
    monkeypatch.setenv("STARLOOM_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("STARLOOM_LLM_MODEL", "fake-1")
    tasks, kept, seeds = chosen(["18"]), tmp_path / "kept", [1, 2, 3, 4]
    said: list[str] = []
    with a_model(of_gold("18", answer)) as fake:
        monkeypatch.setenv("STARLOOM_LLM_URL", fake.url)
        model = live_model(load({}).settings, tokens_most=900, tokens_a_task=100_000)
        wanted = Wanted(tasks, MODEL, ["P0"], [*seeds, 5], tmp_path, model=model, record=kept)
        first = run_suite(wanted, said.append)
    monkeypatch.delenv("STARLOOM_LLM_URL")
    assert said[0].startswith("This asks fake-1 at 127.0.0.1")
    # A run of two calls is 240 tokens: the fourth goes over the budget, and the fifth does not begin.
    assert [(run.state, run.success, run.used.calls) for run in first.runs[:-1]] == [("succeeded", True, 2)] * 4, said
    assert sum(run.used.tokens for run in first.runs) == first.used.tokens > 900
    assert (first.runs[-1].fault, first.runs[-1].used.calls) == (NOT_BEGUN, 0)
    assert first.misses == [f"{NOT_BEGUN}: 18-top-ten"]
    files = [kept / f"18-top-ten.P0.s{seed}.jsonl" for seed in seeds]
    assert sorted(kept.iterdir()) == files
    assert {file.stat().st_mode & 0o777 for file in files} == {0o600}
    assert [call.stage for call in read_recording(files[0]).calls] == ["planning", "answering"]
    _, changed, cut, absent = files
    # A hub that asks in other words is another product, unless that is accepted.
    changed.write_bytes(changed.read_bytes().replace(b"Answer with one JSON object", b"Answer with a JSON object", 1))
    # A recording of another task's plan, and one that is not there, are named.
    cut.write_bytes(cut.read_bytes().splitlines()[1] + b"\n")
    absent.unlink()
    again = run_suite(Wanted(tasks, MODEL, ["P0"], seeds, tmp_path, replay=kept), lambda _: None)
    one, (same, differs, lost, none) = first.runs[0], again.runs
    assert (one.success, one.used.calls) == (same.success, same.used.calls) == (True, 2)
    assert (same.answer, same.differs, same.replayed) == (one.answer, (), 2)
    assert len(fake.asked) == 2 * len(seeds)
    assert replace(again, runs=[same]).misses == []
    by_other_words = replace(again, runs=[differs])
    assert "1 prompt differs from the recording" in " ".join(by_other_words.misses)
    assert replace(by_other_words, accepts_prompts=True).misses == []
    assert not lost.success
    assert "call 1 (planning) is not in the recording" in lost.lost
    assert none.fault == "the recording 18-top-ten.P0.s4.jsonl cannot be read (No such file or directory)"
