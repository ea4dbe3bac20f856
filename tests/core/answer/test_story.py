"""The answer's sentence quotes a failure so that it still reads as a sentence."""

from __future__ import annotations

import pytest

from starloom.core.answer import story
from starloom.core.state.inputs import QuestionAnswered
from starloom.edge.routes.work.why import explain_all
from starloom_protocol.records.entities import Choice, ForEach, ResultSpec, Selector, ToolOffer
from starloom_protocol.values import canonical
from starloom_protocol.vocabulary import Code, Effect, Outcome
from tests.builders import MAYBE, NEVER, NONE, PURE, TOOLS, Driver, edge, plan, task

LONG = "it is outside the folders " + "of this device " * 12


@pytest.mark.parametrize(
    ("detail", "quoted"),
    [
        ("no such file.", "no such file."),
        ("no such file\nwhat is there", "no such file."),
        (f"It may not be read. {LONG}", "It may not be read."),
        (LONG, "of this ..."),
    ],
)
def test_the_first_cause_is_quoted_whole_or_shortened_at_a_word(detail: str, quoted: str) -> None:
    driver = Driver("one")
    run = driver.submit(plan(task("a")))
    (dispatch,) = driver.take()
    driver.result(dispatch, outcome=Outcome.ERROR, code=Code.TOOL_FAILED, effect=NONE, detail=detail)
    sentence = story.sentence(run, driver.shard.fleet, run.head.state, driver.now_ms)
    assert sentence.endswith(quoted)
    assert len(sentence) < 300


def test_the_work_of_a_device_is_called_by_the_device_s_name() -> None:
    driver = Driver("nas", "vps")
    each = ForEach(devices=Selector())
    run = driver.submit(
        plan(
            task("look", for_each=each),
            task("then", for_each=ForEach(same="look")),
            edge("look>then"),
            results=[ResultSpec(source="look", title="Seen")],
        )
    )
    for dispatch in driver.take():
        if dispatch.at.task == "look.d-nas":
            driver.result(dispatch, outcome=Outcome.ERROR, code=Code.TOOL_FAILED, effect=NONE, detail="no disk")
        else:
            driver.result(dispatch, {"n": 1})
    driver.run()
    sentence = story.sentence(run, driver.shard.fleet, run.head.state, driver.now_ms)
    assert "First cause: look on nas - " in sentence
    assert "Skipped because look on nas failed: then on nas." in sentence
    answer = run.tables["answer"][""]
    assert [item.title for item in answer.items] == ["Seen, look on vps"]


TOLD = {"nas-1": "/srv/x/1", "nas-2": "/srv/x/2", "vps-1": "/one", "vps-2": "/two", "vps-3": "relative"}


def test_the_folder_that_nobody_named_is_named_in_the_answer() -> None:
    driver = Driver()
    write = ToolOffer(name="fs.write", repeatability=PURE, effects=[Effect.WRITE], grant="files:write")
    told = {"writes": "/srv/backup\n/srv/more"}
    driver.add_device("nas", tools=[*TOOLS, write], facts_told=told, grants=["files:write"])
    named = task("named", tool="fs.write", args=canonical({"under": "Copies"}))
    run = driver.submit(plan(task("copy", tool="fs.write", args=canonical({"under": "."})), named, name="Copy"))
    for dispatch in driver.take():
        driver.result(dispatch, {})
    driver.run()
    sentence = story.sentence(run, driver.shard.fleet, run.head.state, driver.now_ms)
    assert sentence == "Copy is done: 2 tasks on nas. Its files are in '/srv/backup' on nas."


def test_the_folder_that_calls_told_is_named_once_for_each_device() -> None:
    driver = Driver()
    write = ToolOffer(name="fs.write", repeatability=PURE, effects=[Effect.WRITE], grant="files:write")
    for name in ("nas", "vps"):
        driver.add_device(name, tools=[write], facts_told={"writes": "/srv\n/other"}, grants=["files:write"])
    copies = [task(name, tool="fs.write", device=Selector(name=name[:3]), args='{"under":"."}') for name in TOLD]
    run = driver.submit(plan(*copies, name="Copy"))
    for dispatch in driver.take():
        driver.result(dispatch, {"folder": TOLD[dispatch.at.task]})
    driver.run()
    sentence = story.sentence(run, driver.shard.fleet, run.head.state, driver.now_ms)
    assert sentence.endswith("Its files are in '/srv/x' on nas and '/one', '/two' on vps."), sentence


def test_a_notice_that_nobody_could_see_is_no_failure_of_the_work() -> None:
    driver = Driver()
    notify = ToolOffer(name="notify", repeatability=NEVER, effects=[Effect.WRITE])
    driver.add_device("nas", tools=[*TOOLS, notify])
    tell = task("tell", tool="notify", optional=True)
    run = driver.submit(plan(task("copy"), tell, edge("copy>tell"), name="Copy"))
    (copied,) = driver.take()
    driver.result(copied, {})
    (told,) = driver.take()
    detail = "this device has no desktop"
    driver.result(told, outcome=Outcome.ERROR, code=Code.TOOL_UNAVAILABLE, effect=NONE, detail=detail)
    driver.run()
    sentence = story.sentence(run, driver.shard.fleet, run.head.state, driver.now_ms)
    assert sentence == "Copy is done: 1 task on nas. No notice was shown on nas: this device has no desktop."


def test_the_first_cause_is_what_failed_first_not_what_stands_first() -> None:
    driver = Driver("one", "two")
    driver.submit(plan(task("a", tool="t.never"), task("b", tool="t.never")))
    first, second = driver.take()
    driver.result(second, outcome=Outcome.ERROR, code=Code.NO_SPACE, detail="the disk is full")
    driver.now_ms += 1_000
    driver.result(first, outcome=Outcome.ERROR, code=Code.TOOL_FAILED, detail="what followed")
    said = driver.folded["c1"]["answer"].decode()
    assert f"First cause: {second.at.task} - " in said
    assert "the disk is full; 1 more failed" in said


def test_many_failures_are_told_by_cause_most_frequent_first() -> None:
    driver = Driver("one", slots=20)
    driver.submit(plan(*(task(f"run-{number}", tool="t.never") for number in range(17))))
    said = {0: "no GPU"} | dict.fromkeys(range(1, 7), "loss is nan at step 7") | {7: "a", 8: "b", 9: "c"}
    for number, sent in enumerate(driver.take()):
        driver.now_ms += 10
        detail = said.get(number, f"{sent.at.task}: out of memory after {number} s\nmore")
        driver.result(sent, outcome=Outcome.ERROR, code=Code.TOOL_FAILED, detail=detail)
    assert (
        "Causes of 17 failures: the tool failed: run-10: out of memory after 10 s (7, run-10 first); "
        "the tool failed: loss is nan at step 7 (6, run-1 first); the tool failed: no GPU (run-0); "
        "the tool failed: a (run-7); 2 more of 2 other causes."
    ) in driver.folded["c1"]["answer"].decode()
    items = explain_all(driver.shard, "c1", {})["items"]
    assert [item["task"] for item in items] == [None, "run-10", "run-1", "run-0"]
    assert "6 more failed alike: run-11, run-12, run-13, run-14 and 2 more." in items[1]["sentence"]
    assert items[-1]["sentence"].endswith("3 more failed of 3 other causes.")


def test_a_group_that_fails_by_itself_is_the_first_cause() -> None:
    driver = Driver("one")
    driver.submit(plan(task("list"), task("g", for_each=ForEach(source="list", output="/rows"))))
    driver.result(driver.take()[0], {"rows": "no list"})
    assert driver.states()["g"] == "failed"
    assert "First cause: g - " in driver.folded["c1"]["answer"].decode()


def test_a_task_that_a_person_cancelled_is_named_with_the_device_that_it_needed() -> None:
    driver = Driver("nas")
    driver.submit(plan(task("read"), task("copy", device=Selector(name="vps"))))
    driver.result(driver.take()[0], {"n": 1})
    driver.control("cancel", "copy")
    said = driver.folded["c1"]["answer"].decode()
    assert "Cancelled: copy on vps." in said


def test_many_cancelled_tasks_are_told_by_their_number_and_a_cancelled_whole_names_none() -> None:
    driver = Driver("nas")
    waits = [task(name, device=Selector(name="vps")) for name in "abcde"]
    driver.submit(plan(task("read"), *waits))
    driver.result(driver.take()[0], {"n": 1})
    for name in "abcde":
        driver.control("cancel", name)
    assert "Cancelled: a on vps, b on vps, c on vps and 2 more." in driver.folded["c1"]["answer"].decode()
    driver.submit(plan(*waits), "c2")
    driver.control("cancel", name="c2")
    assert "Cancelled: " not in driver.folded["c2"]["answer"].decode()


def test_the_reason_for_which_a_person_marked_work_as_failed_is_quoted() -> None:
    driver = Driver("one")
    driver.submit(plan(task("a", tool="t.never")))
    driver.result(driver.take()[0], outcome=Outcome.INTERRUPTED, effect=MAYBE)
    driver.control("mark", "a", state="failed", reason="the phone is lost")
    answer = driver.folded["c1"]["answer"].decode()
    assert "First cause: a - ann says that it did not happen: the phone is lost." in answer


def test_the_answer_counts_the_time_in_which_a_person_was_asked() -> None:
    driver = Driver("one")
    driver.submit(
        plan(task("ask", person="Go on?", choices=[Choice(label="Go", value="go")]), task("a"), edge("ask>a"))
    )
    driver.now_ms += 180_000
    question = next(iter(driver.shard.constellations["c1"].tables["question"]))
    said = QuestionAnswered(id=driver.ident(), by="person:ann", constellation="c1", question=question, value="go")
    assert not driver.do(said).faults
    driver.run()
    answer = driver.shard.constellations["c1"].tables["answer"][""]
    assert 180_000 <= answer.waited_ms < 200_000


@pytest.mark.parametrize(
    ("code", "how"),
    [
        (Code.INTERRUPTED, "its device stopped in the middle"),
        (Code.FENCED, "its device had lost its line to the hub"),
    ],
)
@pytest.mark.parametrize("late", [False, True])
def test_a_recovery_says_whether_the_device_or_its_line_was_gone(code: Code, how: str, *, late: bool) -> None:
    driver = Driver("one", "two")
    run = driver.submit(plan(task("a")))
    (first,) = driver.take()
    driver.started(first)
    if late:
        driver.expire(first.at)
        driver.result(first, outcome=Outcome.INTERRUPTED, code=code, effect=NONE)
    else:
        driver.result(first, outcome=Outcome.INTERRUPTED, code=code, effect=NONE)
    assert driver.run() == "succeeded"
    sentence = run.tables["answer"][""].sentence
    assert f"Recovered without help: a ({how})." in sentence


def test_a_device_that_said_nothing_was_out_of_reach() -> None:
    driver = Driver("one", "two")
    run = driver.submit(plan(task("a")))
    (first,) = driver.take()
    driver.started(first)
    driver.expire(first.at)
    assert driver.run() == "succeeded"
    assert "Recovered without help: a (its device was out of reach)." in run.tables["answer"][""].sentence
