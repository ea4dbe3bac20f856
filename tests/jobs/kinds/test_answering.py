"""The answer in words and the record of calls: the jobs, the real core behind its inbox, a fake model on a socket."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from starloom.core.people import answer_words
from starloom.core.state import inputs as i
from starloom.jobs.artifacts import HubArtifacts
from starloom.jobs.modelling import ModelJobs
from starloom.planner.model.port import ModelFault
from starloom.planner.model.transport.recorded import RecordedModel, replies_in
from starloom_protocol.vocabulary import Code, ConstellationState, Outcome, Sharing
from tests import builders
from tests.jobs.test_modelling import READING, Hub, answer, models, plan, review, says
from tests.models.server import FakeModel, Say, fake_model

ONE = says(READING, result=[{"title": "Errors", "from": "look"}])
VALUE = {"rows": [{"service": "db", "errors": 1412}, {"service": "web", "errors": 7}]}


def words(text: str, *cites: tuple[str, str]) -> Say:
    told = [{"task": task, "pointer": pointer} for task, pointer in cites]
    return Say(tool={"kind": "answer", "text": text, "cites": told})


async def ended(hub: Hub, fake: FakeModel, value: Any = VALUE, **fields: Any) -> Any:
    """Return a constellation of the model whose only task has ended."""
    constellation: Any = hub.ask("which service has most errors?")
    await plan(hub, models(fake, hub))
    (dispatch,) = hub.driver.take()
    hub.driver.result(dispatch, value, **fields)
    return constellation


def fire(hub: Hub, kind: str) -> None:
    """Let the timer of this kind of the answer job fire."""
    constellation: Any = hub.driver.shard.constellations["c1"]
    (timer,) = [timer for timer in answer_words.due_moments(constellation) if timer.kind == kind]
    hub.driver.fire(timer)


async def test_answer_in_words_comes_before_the_end() -> None:
    hub = Hub()
    async with fake_model(ONE, words("The service db has most errors: 1,412 [1].", ("look", "/rows/0"))) as fake:
        constellation = await ended(hub, fake)
        assert str(constellation.head.state) == "active"
        assert constellation.jobs["answer-1"].state == "open"
        await answer(hub, models(fake, hub))
        assert "1412" in str(fake.asked[-1])
    found = constellation.tables["answer"][""]
    assert constellation.head.state is ConstellationState.SUCCEEDED
    assert found.state == "final"
    assert found.words == "The service db has most errors: 1,412 [1]."
    assert [(cite.task, cite.pointer) for cite in found.cites] == [("look", "/rows/0")]
    assert found.sentence


async def test_figure_without_evidence_is_mended_once_then_struck_out() -> None:
    hub = Hub()
    wrong = words("The service db has most errors. It has 1500 of them.", ("look", "/rows/0"))
    async with fake_model(ONE, wrong, wrong) as fake:
        constellation = await ended(hub, fake)
        await answer(hub, models(fake, hub))
        assert "no cited value has 1500" in str(fake.asked[-1])
        assert len(fake.asked) == 3
    found = constellation.tables["answer"][""]
    assert found.words == "The service db has most errors."
    assert found.struck == ["It has 1500 of them."]


async def test_cite_of_another_task_is_told_and_nothing_unproved_is_shown() -> None:
    hub = Hub()
    wrong = words("It has 1412 errors [1].", ("elsewhere", ""))
    async with fake_model(ONE, wrong, wrong) as fake:
        constellation = await ended(hub, fake)
        await answer(hub, models(fake, hub))
        assert "there is no such task; there are look" in str(fake.asked[-1])
    assert constellation.head.state is ConstellationState.SUCCEEDED
    assert not constellation.tables["answer"][""].words


async def test_failed_work_is_told_and_stays_failed() -> None:
    hub = Hub()
    text = "The request could not be answered: the tool said `no such file` [1]."
    async with fake_model(ONE, Say(tool={"kind": "no_change"}), words(text, ("look", ""))) as fake:
        constellation = await ended(hub, fake, outcome=Outcome.ERROR, code=Code.TOOL_FAILED, detail="no such file")
        await review(hub, models(fake, hub))
        await answer(hub, models(fake, hub))
    assert constellation.head.state is ConstellationState.FAILED
    assert constellation.tables["answer"][""].words == text


async def test_t162_a_claim_of_success_over_failed_work_is_left_away() -> None:
    hub = Hub()
    lie = words("All services were looked at and each of them is fine.")
    async with fake_model(ONE, Say(tool={"kind": "no_change"}), lie, lie) as fake:
        constellation = await ended(hub, fake, outcome=Outcome.ERROR, code=Code.TOOL_FAILED, detail="no such file")
        await review(hub, models(fake, hub))
        await answer(hub, models(fake, hub))
        assert "it does not say that look failed" in str(fake.asked[-1])
    told = constellation.tables["answer"][""]
    assert constellation.head.state is ConstellationState.FAILED
    assert (told.words, "failed" in told.sentence) == ("", True)


async def test_a_failed_list_whose_work_another_did_may_go_untold() -> None:
    hub = Hub("one", "two")
    both = {"devices": {"any": [{"name": "one"}, {"name": "two"}]}}
    listed = {"id": "each", "tool": "t.pure", "for_each": both}
    operations = [{"add_task": {**listed, "id": "again"}}, {"supersede": {"task": "each", "by": "again"}}]
    mended = Say(tool={"kind": "edit", "text": "The standard library does.", "operations": operations})
    text = "The service db has most errors: 1,412 [1]."
    async with fake_model(says(listed), mended, words(text, ("again.d-one", "/rows/0"))) as fake:
        constellation: Any = hub.ask("which service has most errors?")
        await plan(hub, models(fake, hub))
        for dispatch in hub.driver.take():
            hub.driver.result(dispatch, outcome=Outcome.ERROR, code=Code.EXIT_CODE, detail="no pandas")
        await review(hub, models(fake, hub))
        for dispatch in hub.driver.take():
            hub.driver.result(dispatch, VALUE)
        await answer(hub, models(fake, hub))
    assert constellation.head.state is ConstellationState.SUCCEEDED
    assert constellation.tables["answer"][""].words == text


async def test_silent_worker_and_silent_model_end_in_the_engines_sentence() -> None:
    for kind, claimed in ((answer_words.UNCLAIMED, False), (answer_words.OVER, True)):
        hub = Hub()
        async with fake_model(ONE) as fake:
            constellation = await ended(hub, fake)
        if claimed:
            item = i.JobClaimed(
                id="x", by="worker:w", scope="worker", constellation="c1", job="answer-1", ttl_ms=15_000, worker="w"
            )
            assert not hub.driver.do(item).faults
        fire(hub, kind)
        assert constellation.head.state is ConstellationState.SUCCEEDED
        assert not constellation.tables["answer"][""].words


async def test_late_words_of_a_closed_job_change_nothing() -> None:
    hub = Hub()
    async with fake_model(ONE) as fake:
        constellation = await ended(hub, fake)
    fire(hub, answer_words.UNCLAIMED)
    late = i.AnswerWorded(
        id="late", by="worker:w", scope="worker", constellation="c1", job="answer-1", words="Too late.", worker="w"
    )
    assert not hub.driver.do(late).faults
    assert not constellation.tables["answer"][""].words


async def test_too_long_words_are_refused_whole() -> None:
    hub = Hub()
    async with fake_model(ONE) as fake:
        constellation = await ended(hub, fake)
    claimed = i.JobClaimed(by="worker:w", constellation="c1", id="j", job="answer-1", ttl_ms=15_000, worker="w")
    assert not hub.driver.do(claimed).faults
    long = i.AnswerWorded(
        id="l", by="worker:w", scope="worker", constellation="c1", job="answer-1", words="x" * 2001, worker="w"
    )
    assert hub.driver.do(long).faults[0].code is Code.TOO_LARGE
    assert constellation.jobs["answer-1"].state == "claimed"


async def test_recipe_without_a_model_waits_for_no_words() -> None:
    hub = Hub()
    constellation = hub.driver.submit(builders.plan(builders.task("look")), request="look")
    hub.driver.run(value=VALUE)
    assert constellation.head.state is ConstellationState.SUCCEEDED
    assert not constellation.jobs


async def test_request_that_shares_names_alone_is_answered_by_the_engine() -> None:
    hub = Hub()
    request = i.RequestReceived(
        id="r", by="person:ann", constellation="c1", request="which service fails?", sharing=Sharing.NAMES
    )
    assert not hub.driver.do(request).faults
    constellation: Any = hub.driver.shard.constellations["c1"]
    async with fake_model(ONE, words("db has 1412 errors [1].", ("look", ""))) as fake:
        await plan(hub, models(fake, hub))
        (dispatch,) = hub.driver.take()
        hub.driver.result(dispatch, VALUE)
        await answer(hub, models(fake, hub))
        assert len(fake.asked) == 1
    assert constellation.head.state is ConstellationState.SUCCEEDED
    assert not constellation.tables["answer"][""].words


async def test_request_that_shares_cards_keeps_the_content_of_a_local_model_out() -> None:
    hub = Hub()
    request = i.RequestReceived(
        id="r", by="person:ann", constellation="c1", request="which service fails?", sharing=Sharing.CARDS
    )
    assert not hub.driver.do(request).faults
    async with fake_model(ONE, Say(tool={"kind": "cannot", "text": "no content"})) as fake:
        await plan(hub, models(fake, hub))
        (dispatch,) = hub.driver.take()
        hub.driver.result(dispatch, VALUE)
        await answer(hub, models(fake, hub))
        assert "1412" not in str(fake.asked[-1])


async def test_a_model_that_may_not_see_a_value_says_where_it_belongs() -> None:
    hub = Hub()
    told = words(
        "Most errors: {1}, and {2} of them. It is {3}. So it is.",
        ("look", "/rows/0/service"),
        ("look", "/rows/0/errors"),
    )

    async with fake_model(ONE, told, told) as fake:
        constellation: Any = hub.ask("which service has most errors?")
        await plan(hub, models(fake, hub, STARLOOM_LLM_SHARE="cards"))
        (dispatch,) = hub.driver.take()
        hub.driver.result(dispatch, VALUE)
        await answer(hub, models(fake, hub, STARLOOM_LLM_SHARE="cards"))
        assert "1412" not in str(fake.asked)
    found = constellation.tables["answer"][""]
    assert found.words == "Most errors: db, and 1412 of them. So it is."
    assert found.struck == ["It is {3}."]


async def test_a_failed_task_is_cited_for_what_it_said() -> None:
    hub = Hub()
    told = words("The disk of 12 GB was full [1].", ("look", ""))
    async with fake_model(ONE, Say(tool={"kind": "no_change"}), told) as fake:
        full = "the disk of 12 GB is full"
        constellation = await ended(hub, fake, outcome=Outcome.ERROR, code=Code.TOOL_FAILED, detail=full)
        await review(hub, models(fake, hub))
        await answer(hub, models(fake, hub))
        assert len(fake.asked) == 3
    assert constellation.tables["answer"][""].words == "The disk of 12 GB was full [1]."


async def test_a_repair_that_loses_more_is_not_taken() -> None:
    hub = Hub()
    first = words("The service db has most errors. It has 1500 of them.", ("look", "/rows/0"))
    worse = words("The service db has 8 errors. It has 9 of them.", ("look", "/rows/0"))
    async with fake_model(ONE, first, worse) as fake:
        constellation = await ended(hub, fake)
        await answer(hub, models(fake, hub))
    assert constellation.tables["answer"][""].words == "The service db has most errors."


async def test_the_model_is_told_how_it_ended_and_not_how_far_it_was() -> None:
    hub = Hub()
    async with fake_model(ONE, words("All is told.")) as fake:
        await ended(hub, fake)
        await answer(hub, models(fake, hub))
        told = str(fake.asked[-1])
    assert "is done: 1 task" in told
    assert "so far" not in told


async def test_words_hold_no_signs_that_steer_a_terminal() -> None:
    hub = Hub()
    async with fake_model(ONE, words("The service \x1b[2Jdb fails.", ("look", "/rows/0"))) as fake:
        constellation = await ended(hub, fake)
        await answer(hub, models(fake, hub))
    assert "\x1b" not in constellation.tables["answer"][""].words


async def test_each_call_is_recorded_with_both_texts(tmp_path: Path) -> None:
    hub = Hub()
    artifacts = HubArtifacts(tmp_path)
    async with fake_model(ONE, words("db has 1412 errors [1].", ("look", ""))) as fake:
        constellation = await ended(hub, fake)
        made = ModelJobs(
            {"STARLOOM_LLM_URL": fake.url, "STARLOOM_LLM_MODEL": "fake-1"},
            now_s=lambda: hub.driver.now_ms / 1000,
            artifacts=artifacts,
        )
        await answer(hub, made)
        sent = _texts(fake.asked[-1])
    calls = constellation.tables["call"]
    first, second = calls["plan-1/1"], calls["answer-1/1"]
    assert (first.stage, first.number, first.input_tokens, first.output_tokens) == ("planning", 1, 100, 20)
    assert first.prompt is None  # this worker had no folder
    assert second.stage == "answering"
    prompt = json.loads((await artifacts.read(second.prompt, 1 << 20) or b"").decode())
    assert prompt["turns"][0]["text"] in sent
    assert prompt["instructions"] in sent
    reply = json.loads((await artifacts.read(second.reply, 1 << 20) or b"").decode())
    assert json.loads(reply["text"])["text"] == "db has 1412 errors [1]."


def _texts(sent: Any) -> str:
    """Return all texts of a request, one after the other."""
    if isinstance(sent, str):
        return sent
    if isinstance(sent, dict):
        return "\n".join(_texts(item) for item in sent.values())
    return "\n".join(_texts(item) for item in sent) if isinstance(sent, list) else ""


async def test_recording_repeats_the_answer_without_a_model(tmp_path: Path) -> None:
    hub = Hub()
    artifacts = HubArtifacts(tmp_path)
    async with fake_model(ONE, words("db has 1412 errors [1].", ("look", ""))) as fake:
        variables = {"STARLOOM_LLM_URL": fake.url, "STARLOOM_LLM_MODEL": "fake-1"}
        made = ModelJobs(variables, now_s=lambda: hub.driver.now_ms / 1000, artifacts=artifacts)
        constellation = await _whole(hub, made)
    file = tmp_path / "recording.jsonl"
    lines = []
    for call in constellation.tables["call"].values():
        texts = {name: await artifacts.read(getattr(call, name), 1 << 20) for name in ("prompt", "reply")}
        line = {"stage": call.stage, **{name: raw.decode() for name, raw in texts.items() if raw}}
        lines.append(msgspec.json.encode(line))
    file.write_bytes(b"\n".join(lines))
    again = Hub()
    repeated = ModelJobs({"STARLOOM_LLM_URL": f"recorded:{file}"}, now_s=lambda: again.driver.now_ms / 1000)
    second = await _whole(again, repeated)
    assert second.head.state is ConstellationState.SUCCEEDED
    assert second.tables["answer"][""].words == "db has 1412 errors [1]."


async def _whole(hub: Hub, made: ModelJobs) -> Any:
    constellation: Any = hub.ask("which service has most errors?")
    await plan(hub, made)
    (dispatch,) = hub.driver.take()
    hub.driver.result(dispatch, VALUE)
    await answer(hub, made)
    return constellation


async def test_recording_has_no_reply_to_another_prompt() -> None:
    with pytest.raises(ModelFault, match="has no reply to this prompt"):
        await RecordedModel(replies_in([]), "the recording").ask("other", [])
