"""Questions that show a result: a person answers for what stands there, and is not asked without it."""

from __future__ import annotations

from typing import Any

import pytest

from starloom.core.state import inputs as i
from starloom.core.state.orders import Answer, SendDispatch
from starloom.core.state.tasks.shown import SHOWN_CHARS_MOST
from starloom_protocol.plan import check_edit, check_plan
from starloom_protocol.records.edits import LoweredPlan
from starloom_protocol.records.entities import Question
from starloom_protocol.values import parse
from starloom_protocol.vocabulary import Code, Outcome
from starloom_protocol.wire.frames import ResultFrame
from tests.core.watched import WatchedDriver

MADE = {"id": "made", "tool": "t.pure"}
ASK: dict[str, Any] = {"id": "ask", "person": "Commit this?", "shows": {"from": "made", "output": "/diff"}}


def plan(*tasks: dict[str, Any], **fields: Any) -> LoweredPlan:
    check = check_plan({"starloom": 1, "name": "Shown", "tasks": list(tasks), **fields})
    assert check.plan is not None, check.faults
    return check.plan


def asked(value: Any) -> tuple[WatchedDriver, list[Question]]:
    one = WatchedDriver("one")
    one.submit(plan(MADE, ASK))
    (sent,) = one.take()
    one.result(sent, value)
    return one, opened(one)


def opened(one: WatchedDriver) -> list[Question]:
    run = one.shard.constellations["c1"]
    return [run.questions[key] for key in run.open_questions]


def answer(one: WatchedDriver, question: str, value: str = "done") -> Answer:
    return one.answer_question(question, value)


def test_a_question_shows_the_part_of_the_result() -> None:
    one, (question,) = asked({"diff": "-a\n+b", "other": 1})
    assert question.shown is not None
    assert (question.shown.source, question.shown.output, question.shown.left_out) == ("made", "/diff", 0)
    assert parse(question.shown.value) == "-a\n+b"
    assert not answer(one, question.id).faults
    assert one.state() == "succeeded"
    one.folded_equals_state()


def test_a_long_part_is_cut_and_says_so() -> None:
    _, (question,) = asked({"diff": "x" * (SHOWN_CHARS_MOST + 7)})
    assert question.shown is not None
    assert (len(parse(question.shown.value)), question.shown.left_out) == (SHOWN_CHARS_MOST, 7)


def test_a_long_table_is_cut_after_a_whole_row() -> None:
    _, (question,) = asked({"diff": [{"row": number} for number in range(2_000)]})
    assert question.shown is not None
    rows = parse(question.shown.value)
    assert rows == [{"row": number} for number in range(len(rows))]
    assert SHOWN_CHARS_MOST - 20 < len(question.shown.value) <= SHOWN_CHARS_MOST
    assert question.shown.left_out > 0


def test_a_list_of_files_is_counted_in_the_question() -> None:
    _, (question,) = asked({"diff": [{"path": f"{number}.jpg", "bytes": 5_000} for number in range(60)]})
    assert question.text == "Commit this? (60 files, 300.0 kB)"


def test_a_question_is_not_asked_without_what_it_shows() -> None:
    one, questions = asked({"else": 1})
    assert questions == []
    assert one.shard.constellations["c1"].tasks["ask"].code is Code.NO_VALUE
    assert one.state() == "failed"


def test_a_part_that_its_device_does_not_tell_is_not_asked_about() -> None:
    one = WatchedDriver("one")
    one.submit(plan(MADE, ASK))
    (sent,) = one.take()
    assert "/diff" in sent.wants
    frame = ResultFrame(
        artifact="a" * 64, at=sent.at, bytes=99_999, facts_too_big={"/diff": 50_000}, outcome=Outcome.OK, report=1
    )
    one.do(i.ResultReported(id=one.ident(), by="device:d-one", device="d-one", frame=frame))
    assert opened(one) == []
    assert one.shard.constellations["c1"].tasks["ask"].code is Code.FACT_TOO_BIG


def test_a_question_about_a_group_shows_the_part_of_each_child() -> None:
    one = WatchedDriver("a", "b")
    one.submit(plan({**MADE, "for_each": {"devices": {"os": "linux"}}}, ASK))
    for sent in one.take():
        one.result(sent, {"diff": sent.device})
    (question,) = opened(one)
    assert question.shown is not None
    assert parse(question.shown.value) == ["d-a", "d-b"]


def test_a_question_about_a_repeat_shows_its_last_turn() -> None:
    one = WatchedDriver("one")
    repeat = {"max": 3, "until": {"output": "/end", "op": "eq", "value": True}}
    one.submit(plan({**MADE, "repeat": repeat}, ASK))
    for number, end in ((1, False), (2, True)):
        (sent,) = one.take()
        one.result(sent, {"diff": number, "end": end})
    (question,) = opened(one)
    assert question.shown is not None
    assert parse(question.shown.value) == 2


def test_an_answer_to_an_earlier_value_does_not_count_for_a_new_one() -> None:
    one, (first,) = asked({"diff": "harmless"})
    assert not one.control("retry_from", "made").faults
    assert opened(one) == []
    (sent,) = one.take()
    one.result(sent, {"diff": "rm -rf"})
    (second,) = opened(one)
    assert second.id != first.id
    assert answer(one, first.id).faults[0].code is Code.CONFLICT
    assert one.state() == "active"
    assert not answer(one, second.id).faults
    one.folded_equals_state()


def test_no_result_means_no_question() -> None:
    one = WatchedDriver("one")
    one.submit(plan(MADE, ASK))
    (sent,) = one.take()
    one.result(sent, None, Outcome.ERROR, code=Code.BAD_ARGUMENTS)
    assert (opened(one), one.states()["ask"]) == ([], "skipped")


def test_a_question_that_is_added_shows_a_result_that_is_there() -> None:
    one = WatchedDriver("one")
    one.submit(plan(MADE, {"id": "last", "tool": "t.never", "device": {"name": "nobody"}}))
    (sent,) = one.take()
    one.result(sent, {"diff": "x"})
    faults, operations = check_edit([{"add_task": ASK}])
    assert not faults
    assert not one.edit(*operations).faults
    assert [question.task for question in opened(one)] == ["ask"]


@pytest.mark.parametrize(
    ("task", "place", "words"),
    [
        ({"id": "x", "tool": "t.pure", "shows": {"from": "made"}}, "tasks[1].shows", "only a question"),
        ({**ASK, "shows": {"from": "nobody"}}, "tasks[1].shows.from", "no task has the id"),
        ({**ASK, "shows": {"from": "ask"}}, "tasks[1].shows.from", "the question itself"),
        ({**ASK, "shows": {"output": "/x"}}, "tasks[1].shows.from", "missing"),
        ({**ASK, "shows": {"from": "made", "output": "x"}}, "tasks[1].shows.output", "pointer"),
    ],
)
def test_a_result_that_cannot_be_shown_is_refused(task: dict[str, Any], place: str, words: str) -> None:
    found = check_plan({"starloom": 1, "name": "Shown", "tasks": [MADE, task]}).faults
    assert any(one.place == place and words in one.reason for one in found), found


def test_a_question_says_nothing_of_what_a_dispatch_reads() -> None:
    one, _ = asked({"diff": "x"})
    assert [effect for effect in one.sent if isinstance(effect, SendDispatch)] == []
