"""A judge that did not make the result: real hub, worker and agents, a planner and a judge on two fake servers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from starloom.client.problems import Problem
from starloom_protocol.records.entities import Job
from tests.models.server import FakeModel, Json, Reading, Say
from tests.models.threaded import a_model
from tests.recipes.fleet import Fleet, Running
from tests.waiting import until

WORDS = "Find out on the laptop why the shop is slow"
QUESTION = "Does the evidence show the cause?"
FINDINGS = {"cause": "the disk is full", "evidence": ["used_percent 99"]}
READ = {
    "id": "findings",
    "tool": "fs.read",
    "device": {"name": "laptop"},
    "args": {"path": "findings.txt"},
    "judge": QUESTION,
}
PLAN = {"starloom": 1, "name": "Surely right", "tasks": [READ], "result": [{"title": "Cause", "from": "findings"}]}
WORDS_SAID = {"kind": "cannot", "text": "The file says it."}
NO = {"holds": "no", "because": "The file is empty.", "cites": []}


def by_the_card(asked: Json) -> Say:
    """Judge as a model would: by what the card shows."""
    told = "\n".join(str(turn["content"]) for turn in asked["messages"])
    if "You judge a result" not in told:
        return Say(tool=WORDS_SAID) if "You write the answer" in told else Say(tool={"kind": "plan", "plan": PLAN})
    assert QUESTION in told
    assert "Surely right" not in told, "the judge was told the planner's words"
    card = next(json.loads(line) for line in told.splitlines() if line.startswith("{") and '"tool":"fs.read"' in line)
    text = card["head"]["text"]
    if "used_percent 99" in text:
        cites = [{"task": "findings", "pointer": "/text"}]
        return Say(tool={"holds": "yes", "because": "The disk is nearly full.", "cites": cites})
    return Say(tool=NO if not text.strip() else {**NO, "holds": "unclear", "because": "It names no figure."})


@contextmanager
def asked(fleet: Fleet, text: str, *says: Say | Reading) -> Iterator[tuple[Running, FakeModel]]:
    fleet.device("laptop").write("findings.txt", text)
    with a_model(*(says or (by_the_card,))) as fake:
        fleet.client.put("/model", {"url": fake.url, "model": "fake-1", "share": "cards_and_file_heads"})
        try:
            yield fleet.begin(WORDS, approve=False), fake
        finally:
            fleet.client.delete("/model")


def test_a_result_that_its_judge_lets_pass_is_done(fleet: Fleet) -> None:
    with asked(fleet, json.dumps(FINDINGS)) as (running, fake):
        answer = running.wait()
        assert answer.state == "succeeded", answer.told()
        assert len(fake.asked) == 3
    (job,) = [job for job in answer.view.each("job", Job).values() if job.kind == "judge"]
    assert job.verdict is not None
    assert (job.verdict.holds, job.verdict.by, job.calls) == ("yes", "model", 1)
    assert "Judgement: fake-1" in fleet.cli("transcript", answer.id)


def test_a_result_that_its_judge_refuses_has_failed_its_check(fleet: Fleet) -> None:
    with asked(fleet, " ") as (running, fake):
        answer = running.wait()
        assert fake.asked
    assert answer.state == "failed", answer.told()
    assert answer.task("findings").code == "check_failed"
    why = fleet.cli("why", answer.id, "findings")
    assert "The judge says no" in why
    assert "The file is empty" in why


def test_a_person_decides_where_the_judge_does_not_say(fleet: Fleet) -> None:
    with asked(fleet, "perhaps the disk") as (running, _):
        until(lambda: running.look() and running.view.open_questions, "a person is asked")
        (question,) = running.view.open_questions.values()
        assert "It names no figure" in question.text
        fleet.client.post(f"/approvals/{running.id}:{question.id}/answer", {"value": "no", "reason": "I know better"})
        answer = running.wait()
    assert answer.state == "failed", answer.told()


def test_without_a_model_a_plan_with_a_judge_is_refused_with_the_way_out(fleet: Fleet) -> None:
    plan: dict[str, Any] = {**PLAN, "judge": QUESTION}
    for path in ("/constellations/preview", "/constellations"):
        with pytest.raises(Problem) as refused:
            fleet.client.post(path, {"plan": plan})
        told = str(refused.value)
        assert "no model is set" in told


WHOLE = {
    "starloom": 1,
    "name": "Surely right",
    "judge": "Are both files told?",
    "tasks": [{"id": "first", "tool": "fs.read", "device": {"name": "laptop"}, "args": {"path": "findings.txt"}}],
}
SECOND = {"id": "second", "tool": "fs.read", "device": {"name": "laptop"}, "args": {"path": "more.txt"}}
ADDS = {"kind": "edit", "text": "the second file was missing", "operations": [{"add_task": SECOND}]}


def by_what_is_there(asked: Json) -> Say:
    """Plan one file, judge by the number of cards, and add the other file where the judge says no."""
    told = "\n".join(str(turn["content"]) for turn in asked["messages"])
    if "You review a running plan" in told:
        assert "The second file is missing." in told, "the reviewer sees why the judge said no"
        return Say(tool=ADDS)
    if "You judge a result" in told:
        cites = [{"task": "second", "pointer": "/text"}]
        whole = {"holds": "yes", "because": "Both are there.", "cites": cites}
        return Say(tool=whole if '"task":"second"' in told else {**NO, "because": "The second file is missing."})
    return Say(tool=WORDS_SAID) if "You write the answer" in told else Say(tool={"kind": "plan", "plan": WHOLE})


def test_a_no_to_the_whole_answer_is_reviewed_and_judged_again(fleet: Fleet) -> None:
    fleet.device("laptop").write("more.txt", "the rest")
    with asked(fleet, "the first", by_what_is_there) as (running, _):
        answer = running.wait()
    assert answer.state == "succeeded", answer.told()
    assert answer.task("second").state == "succeeded"
    jobs = [job.kind for job in answer.view.each("job", Job).values()]
    assert sorted(jobs) == ["answer", "judge", "judge", "plan", "review"]
    assert "The judge says yes" in answer.sentence
