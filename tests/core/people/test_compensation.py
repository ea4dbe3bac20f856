"""Undoing finished work: declared calls, in reverse order of completion, each a task; a failure stops and asks."""

from __future__ import annotations

from typing import Any

import pytest

from starloom.core.state import inputs as i
from starloom.core.state.orders import Answer
from starloom.engine.commits import with_settings
from starloom_protocol.records.entities import Answer as AnswerRecord
from starloom_protocol.records.entities import FileOut, Policy, ResultSpec, ToolOffer, UndoCall
from starloom_protocol.text.wording import counted
from starloom_protocol.values import parse
from starloom_protocol.vocabulary import Approval, Attention, Code, Effect, EffectSeen, Outcome, Repeatability
from tests.builders import TOOLS, Driver, edge, plan, task

BACK = UndoCall(tool="t.idem", args='{"how":"back"}', outputs={"what": "/moved"})


def undo(driver: Driver, *tasks: str, name: str = "c1", by: str = "person:ann") -> Answer:
    return driver.do(
        i.UndoRequested(id=driver.ident(), by=by, constellation=name, reason="not wanted", tasks=list(tasks))
    )


def moved(*parts: Any, **fields: Any) -> Driver:
    driver = Driver("one", "two")
    driver.submit(plan(*parts, **fields))
    while dispatches := driver.take():
        for dispatch in dispatches:
            driver.now_ms += 1_000
            driver.result(dispatch, {"moved": dispatch.at.task})
    return driver


def written(name: str) -> ToolOffer:
    return ToolOffer(name=name, effects=[Effect.WRITE], grant="files:write", repeatability=Repeatability.IDEMPOTENT)


def moved_by(tools: list[ToolOffer], *parts: Any) -> Driver:
    """Return a driver whose one device with these tools has done the tasks."""
    driver = Driver()
    driver.add_device(
        "files", tools=[*TOOLS, *tools, written("fs.restore"), written("fs.trash")], grants=["files:write"]
    )
    driver.submit(plan(*parts))
    while dispatches := driver.take():
        for dispatch in dispatches:
            driver.result(dispatch, {"added": [{"path": f"in/{dispatch.at.task}"}], "moved": True})
    return driver


CHAIN = (
    task("a", undo=BACK, tool="t.never"),
    task("b", undo=BACK, tool="t.never"),
    task("look"),
    edge("a>b"),
    edge("b>look"),
)


def test_finished_work_is_taken_back_in_reverse_order_on_its_own_device() -> None:
    driver = moved(*CHAIN)
    run = driver.shard.constellations["c1"]
    answer = undo(driver)
    assert answer.value == {"version": 2, "undoing": ["b", "a"], "cannot_be_undone": []}
    first = driver.take()
    assert [dispatch.at.task for dispatch in first] == ["undo-b"]
    assert first[0].device == run.attempts["b/1"].device
    assert (first[0].tool, first[0].args) == ("t.idem", '{"how":"back"}')
    assert [(item.name, item.sources[0].task, item.sources[0].output) for item in first[0].inputs] == [
        ("what", "b", "/moved")
    ]
    driver.result(first[0])
    second = driver.take()
    assert [dispatch.at.task for dispatch in second] == ["undo-a"]
    driver.result(second[0])
    assert run.head.state == "succeeded"
    version = run.versions["2"]
    assert (version.author, version.trigger, version.reason) == ("person:ann", "undo", "not wanted")
    final = run.tables["answer"][""]
    assert isinstance(final, AnswerRecord)
    assert final.sentence.startswith("test was done and then taken back: b, a.")
    driver.folded_equals_state()


def test_work_that_is_taken_back_in_part_is_still_done() -> None:
    driver = moved(*CHAIN)
    undo(driver, "b")
    driver.run()
    answer = driver.shard.constellations["c1"].tables["answer"][""]
    assert isinstance(answer, AnswerRecord)
    assert answer.sentence.startswith("test is done: ")
    assert "Taken back afterwards: b." in answer.sentence


def test_the_answer_claims_nothing_of_work_that_was_undone() -> None:
    """A text of the plan's results, as *Your pictures are safe*, opens the answer while it is true.

    After an undo none opens it, since a text of the rest, as *Nothing.* was left out, says nothing of the undo.
    """
    results = [ResultSpec(output="/moved", show="text", source=source, title=source) for source in ("look", "other")]
    driver = moved(task("other"), task("kept", tool="t.never"), *CHAIN, results=results)
    answer = driver.shard.constellations["c1"].tables["answer"][""]
    assert isinstance(answer, AnswerRecord)
    assert [(item.title, item.show) for item in answer.items] == [("look", "text"), ("other", "text")]
    undo(driver)
    driver.run()
    answer = driver.shard.constellations["c1"].tables["answer"][""]
    assert isinstance(answer, AnswerRecord)
    assert [(item.title, item.show) for item in answer.items] == [
        ("look, before it was undone", "value"),
        ("other", "value"),
    ]
    assert answer.sentence.startswith("test was done and then taken back: b, a.")
    assert "Left as it is, without a way back: kept." in answer.sentence
    driver.folded_equals_state()


def test_work_that_changed_something_and_says_no_way_back_is_named() -> None:
    driver = moved(task("a", undo=BACK, tool="t.never"), task("b", tool="t.never"), task("look"), edge("a>b"))
    assert undo(driver).value["cannot_be_undone"] == ["b"]


def test_a_preview_says_how_many_files_go_where() -> None:
    driver = Driver()
    driver.add_device("files", tools=[written("fs.write"), written("fs.trash")], grants=["files:write"])
    store, clear = task("store", tool="fs.write"), task("clear", tool="fs.trash")
    driver.submit(plan(store, clear, edge("store>clear")))
    made = [{"path": "In", "folder": True, "on_way": True}, {"path": "In/a", "wrote": "0" * 64}]
    for result in ({"added": made}, {"tickets": ["1", "2"]}):
        (dispatch,) = driver.take()
        driver.result(dispatch, result)
    driver.run()
    request = i.UndoRequested(id=driver.ident(), by="person:ann", constellation="c1", preview=True)
    assert driver.do(request).value["says"] == [
        "2 files of clear: back from the trash of files, to where they were",
        "1 file of store: into the trash of files, from where they can be taken back",
    ]


def test_a_preview_names_no_work_that_moves_nothing() -> None:
    """A copy makes empty folders by a task of its own, which most often has none to make."""
    driver = Driver()
    driver.add_device("files", tools=[written("fs.write"), written("fs.trash")], grants=["files:write"])
    driver.submit(plan(*(task(name, tool="fs.write") for name in ("copy", "folders", "none"))))
    results = {"copy": [{"path": "a", "wrote": "0" * 64}], "folders": [{"path": "In", "folder": True}], "none": []}
    for dispatch in driver.take():
        driver.result(dispatch, {"added": results[dispatch.at.task]})
    driver.run()
    request = i.UndoRequested(id=driver.ident(), by="person:ann", constellation="c1", preview=True)
    assert sorted(driver.do(request).value["says"]) == [
        "1 empty folder of folders: into the trash of files, from where they can be taken back",
        "1 file of copy: into the trash of files, from where they can be taken back",
    ]


@pytest.mark.parametrize(("counted", "said"), [({"files": 11}, "11 files of a"), ({}, "the files of a")])
def test_a_preview_counts_the_files_of_an_unpacked_folder(counted: dict[str, int], said: str) -> None:
    driver = Driver()
    driver.add_device("files", tools=[*TOOLS, written("archive.unpack"), written("fs.trash")], grants=["files:write"])
    driver.submit(plan(task("a", tool="archive.unpack")))
    driver.result(driver.take()[0], {"added": [{"path": "out", "folder": True, "holds": "0", **counted}]})
    preview = driver.do(
        i.UndoRequested(id=driver.ident(), by="person:ann", constellation="c1", preview=True, reason="", tasks=[])
    )
    assert preview.value["says"] == [f"{said}: into the trash of files, from where they can be taken back"]


def test_a_write_without_undo_is_taken_back_by_the_way_of_its_tool() -> None:
    driver = moved_by([written("fs.write")], task("a", tool="fs.write"), task("b", tool="fs.restore"), edge("a>b"))
    run = driver.shard.constellations["c1"]
    answer = undo(driver)
    assert answer.value == {"version": 2, "undoing": ["a"], "cannot_be_undone": ["b"]}
    (dispatch,) = driver.take()
    assert (dispatch.at.task, dispatch.tool, dispatch.args) == ("undo-a", "fs.trash", "{}")
    assert dispatch.device == run.attempts["a/1"].device
    assert [(item.name, item.sources[0].output) for item in dispatch.inputs] == [("paths", "/added")]
    driver.result(dispatch, {"items": [{"path": "in/a", "ticket": "t"}], "restored": [], "count": 1})
    final = run.tables["answer"][""]
    assert isinstance(final, AnswerRecord)
    assert final.sentence.startswith(
        "test was done and then taken back: a. On files 1 file went from 'in' to the trash"
    )
    assert final.sentence.endswith("Left as it is, without a way back: b.")
    (refused,) = undo(driver, "undo-a").faults
    assert refused.reason == "undo-a does not say how it is undone"
    driver.folded_equals_state()


def saved_by(tool: ToolOffer, result: Any) -> Driver:
    """Return a driver whose device has done a task that saves a file, and one that reads."""
    driver = Driver()
    driver.add_device("files", tools=[*TOOLS, tool, written("fs.trash")], grants=["files:write"])
    out = [FileOut(output="/report", to="Reports/x")]
    driver.submit(plan(task("make", tool=tool.name, files_out=out), task("look"), edge("make>look")))
    (dispatch,) = driver.take()
    assert "/added" in dispatch.wants
    driver.result(dispatch, result)
    driver.run()
    return driver


def sentence_of(driver: Driver) -> str:
    answer = driver.shard.constellations["c1"].tables["answer"][""]
    assert isinstance(answer, AnswerRecord)
    return answer.sentence


PURE = ToolOffer(name="t.make", repeatability=Repeatability.PURE)
REPLACED = {"path": "Reports/x", "replaced": "1-a", "wrote": "0" * 64}


def test_a_saved_file_is_named_where_it_replaced_another_and_taken_back() -> None:
    driver = saved_by(PURE, {"added": [REPLACED]})
    assert "The file that was at 'Reports/x' on files lies in its trash." in sentence_of(driver)
    assert undo(driver).value == {"version": 2, "undoing": ["make"], "cannot_be_undone": []}
    (dispatch,) = driver.take()
    assert (dispatch.tool, [(item.name, item.sources[0].output) for item in dispatch.inputs]) == (
        "fs.trash",
        [("paths", "/added")],
    )
    driver.result(dispatch, {"items": [], "restored": ["Reports/x"], "count": 1})
    assert sentence_of(driver).startswith("test was done and then taken back: make. On files 1 file came back to")
    assert "trash" not in sentence_of(driver)
    driver.folded_equals_state()


def test_many_replaced_files_are_told_in_one_bounded_sentence() -> None:
    added = [{**REPLACED, "path": f"{'x' * 9_000}\x1b{number}"} for number in range(2)]
    told = sentence_of(saved_by(PURE, {"added": [*added, {"path": 7, "replaced": "t"}, {"path": "new"}, REPLACED, 9]}))
    assert told.count("The files that were at '...xxx") == 1
    assert told.endswith("'Reports/x' on files lie in its trash.")
    assert told.isprintable()
    assert len(told) < 700


def test_an_undo_of_saved_files_says_what_else_its_tool_changed() -> None:
    driver = saved_by(ToolOffer(name="t.change", effects=[Effect.WRITE]), {"added": [REPLACED]})
    undo(driver)
    driver.run()
    assert sentence_of(driver).endswith("Other changes than saved files, if there are any, stay: make.")


def test_saved_files_of_an_agent_that_did_not_tell_them_have_no_undo() -> None:
    driver = saved_by(PURE, {"report": "0" * 64})
    (refused,) = undo(driver, "make").faults
    assert refused.reason.startswith("make was done by an agent that did not tell yet which files it saved")
    assert undo(driver).faults[0].reason == refused.reason


def test_a_move_that_a_lost_attempt_had_done_says_that_no_undo_puts_it_back() -> None:
    driver = Driver()
    driver.add_device("files", tools=[*TOOLS, *map(written, ("fs.move", "fs.restore"))], grants=["files:write"])
    driver.submit(plan(task("put", tool="fs.move"), task("more", tool="fs.move"), edge("put>more")))
    (lost,) = driver.take()
    driver.started(lost)
    driver.expire(lost.at)
    driver.result(driver.take()[0], {"moved": False, "path": "b", "put_back": []})
    (refused,) = undo(driver, "put").faults
    assert refused.reason.startswith("put found its file moved already")
    assert undo(driver).faults[0].reason == refused.reason
    way = [{"path": "d", "was": "c", "state": "s"}]
    driver.result(driver.take()[0], {"moved": True, "path": "d", "put_back": way})
    told = undo(driver).value
    assert (told["undoing"], told["cannot_be_undone"]) == (["more"], ["put"])
    driver.result(driver.take()[0], {"items": [{"path": "c", "moved": True}], "count": 1})
    sentence = driver.shard.constellations["c1"].tables["answer"][""].sentence
    assert "Taken back afterwards: more. On files 1 file came back. Left as it is, without a way back: put." in sentence
    driver.folded_equals_state()


def test_the_question_before_a_plan_says_what_no_undo_takes_back() -> None:
    tools = [written(name) for name in ("fs.write", "fs.restore")]
    parts = [task("a", tool="fs.write"), task("b", tool="fs.restore"), task("c", tool="fs.restore", undo=BACK)]
    out = [FileOut(output="/x", to="x")]
    saved = [
        task("d", tool="t.pure", files_out=out),
        task("e", tool="t.pure", files_out=out, undo=BACK),
        task("f", tool="fs.restore", files_out=out),
    ]

    def asked(*tasks: Any) -> str:
        driver = Driver("one")
        driver.add_device("files", tools=[*TOOLS, *tools], grants=["files:write"])
        driver.submit(plan(*tasks, policy=Policy(approval=Approval.ALWAYS)))
        (question,) = driver.shard.constellations["c1"].questions.values()
        return question.text

    assert asked(*parts, *saved).endswith("An undo will not take back the files of b, e, f.")
    assert "undo" not in asked(parts[0], parts[2], task("e", tool="t.never"))


def test_work_that_added_nothing_is_not_said_to_be_taken_back() -> None:
    """A copy that kept what was there has nothing that its undo could take away."""
    driver = Driver("one", "two")
    driver.submit(plan(task("a", undo=BACK, tool="t.never"), task("b", undo=BACK, tool="t.never")))
    for dispatch in driver.take():
        driver.result(dispatch, {"moved": [] if dispatch.at.task == "a" else ["b.txt"]})
    undo(driver)
    while dispatches := driver.take():
        driver.result(dispatches[0])
    answer = driver.shard.constellations["c1"].tables["answer"][""]
    assert isinstance(answer, AnswerRecord)
    assert answer.sentence.startswith("test was done and then taken back: b.")
    assert "Nothing to take back, since it added nothing: a." in answer.sentence


@pytest.mark.parametrize(
    ("reported", "said"),
    [
        (
            {"items": [], "missing": ["a.txt"], "restored": [], "count": 0},
            "Nothing was there any more to take back: a.",
        ),
        ({"items": [{"path": "a.txt", "ticket": "t", "moved": False}], "count": 1}, "Nothing was there any more"),
        ({"items": [], "missing": [], "restored": ["a.txt"], "count": 0}, "Taken back afterwards: a."),
        ({"items": [{"path": "a.txt", "ticket": "t"}], "restored": [], "count": 1}, "Taken back afterwards: a."),
        ({"items": [{"path": "a.txt", "ticket": "t", "moved": True}], "count": 1}, "Taken back afterwards: a."),
    ],
)
def test_the_answer_says_what_the_undo_reported(reported: dict[str, Any], said: str) -> None:
    driver = moved(task("a", undo=BACK, tool="t.never"), task("b", undo=BACK, tool="t.never"))
    undo(driver, "a")
    for dispatch in driver.take():
        driver.result(dispatch, reported)
    answer = driver.shard.constellations["c1"].tables["answer"][""]
    assert isinstance(answer, AnswerRecord)
    assert said in answer.sentence


def test_what_is_undone_is_not_undone_again() -> None:
    driver = moved(*CHAIN)
    undo(driver)
    driver.run()
    assert [item.code for item in undo(driver).faults] == [Code.ILLEGAL_CONTROL]
    assert "a is undone" in undo(driver, "a").faults[0].reason


def test_a_second_undo_says_why_nothing_is_left() -> None:
    driver = moved(*CHAIN)
    undo(driver)
    (again,) = undo(driver, name="c1").faults
    assert again.reason == "its work is being undone"
    while dispatches := driver.take():
        for dispatch in dispatches:
            driver.result(dispatch)
    (again,) = undo(driver).faults
    assert again.reason == "all of its work that can be undone is undone already"
    assert "docs/plans.md" not in again.hint
    (never,) = undo(moved(task("look"))).faults
    assert (never.reason, never.hint) == (
        "no finished task says how it is undone",
        "A task says so with `undo` (docs/plans.md).",
    )


def test_a_failure_stops_the_rest_and_asks_for_a_person() -> None:
    driver = moved(*CHAIN)
    undo(driver)
    while dispatches := driver.take():
        for dispatch in dispatches:
            driver.result(dispatch, outcome=Outcome.ERROR)
        for timer in [timer for timer in driver.timers if timer.kind == "backoff"]:
            driver.fire(timer)
    run = driver.shard.constellations["c1"]
    assert (run.head.state, run.head.attention) == ("failed", [Attention.UNDO_FAILED])
    assert driver.states()["undo-a"] == "skipped"
    assert "retry that" in undo(driver, "b", "look").faults[0].reason


@pytest.mark.parametrize("named", [(), ("b", "a"), ("b",)])
def test_an_undo_that_failed_is_retried_by_another_one(named: tuple[str, ...]) -> None:
    """It said that all is undone already, though the failure names undoing again as the way out."""
    driver = moved(*CHAIN)
    undo(driver)
    driver.result(driver.take()[0], outcome=Outcome.ERROR, code=Code.CONFLICT, detail="b was changed")
    run = driver.shard.constellations["c1"]
    assert run.head.state == "failed"
    told = undo(driver, *named)
    assert (told.value["version"], told.value["undoing"]) == (2, ["b", "a"])
    (dispatch,) = driver.take()
    assert (run.head.state, dispatch.at.task) == ("active", "undo-b")
    driver.result(dispatch)
    assert undo(driver).faults[0].reason == "its work is being undone"
    driver.run()
    assert (run.head.state, driver.states()["undo-a"]) == ("succeeded", "succeeded")
    assert sentence_of(driver).startswith("test was done and then taken back: b, a.")
    driver.folded_equals_state()


def test_work_beside_a_failed_undo_is_undone_before_that_is_retried() -> None:
    driver = moved(*CHAIN)
    undo(driver, "b")
    driver.result(driver.take()[0], outcome=Outcome.ERROR, code=Code.CONFLICT, detail="b was changed")
    assert undo(driver).value["undoing"] == ["a"]
    driver.run()
    assert undo(driver).value["undoing"] == ["b"]
    assert driver.run() == "succeeded"


def test_a_cancelled_constellation_can_be_undone_and_stays_cancelled() -> None:
    driver = Driver("one")
    driver.submit(plan(*CHAIN))
    driver.result(driver.take()[0], {"moved": "a"})
    running = driver.take()[0]
    driver.control("cancel")
    driver.receipt(running)
    run = driver.shard.constellations["c1"]
    assert run.head.state == "cancelled"
    assert undo(driver).value["undoing"] == ["a"]
    assert driver.run() == "cancelled"
    assert driver.states()["undo-a"] == "succeeded"


def test_only_what_is_named_and_every_reason_why_not() -> None:
    driver = moved(*CHAIN)
    faults = undo(driver, "look", "nobody", "a").faults
    assert {item.code for item in faults} == {Code.ILLEGAL_CONTROL, Code.UNKNOWN_TASK}
    assert "look does not say how it is undone" in [item.reason for item in faults]
    assert undo(driver, "a").value["undoing"] == ["a"]
    assert [dispatch.at.task for dispatch in driver.take()] == ["undo-a"]


def test_while_work_is_under_way_nothing_is_undone_behind_its_back() -> None:
    driver = Driver("one")
    driver.submit(plan(*CHAIN))
    driver.result(driver.take()[0], {"moved": "a"})
    assert undo(driver).faults[0].code is Code.DOWNSTREAM_STARTED
    assert undo(driver, "a").value["undoing"] == ["a"]
    assert undo(driver, "a").faults[0].reason == "a is being undone"


def test_a_retry_and_an_undo_begin_a_round_of_their_own() -> None:
    """The time that a display tells is that of the last round, which may begin hours after the request."""
    driver = moved(*CHAIN)
    head = driver.shard.constellations["c1"].head
    assert (head.reopened_ms, head.ended_ms > head.created_ms) == (0, True)
    driver.now_ms += 3_600_000
    undo(driver)
    asked_ms = driver.now_ms
    driver.now_ms += 1_000
    driver.run()
    head = driver.shard.constellations["c1"].head
    assert (head.reopened_ms, head.ended_ms) == (asked_ms, driver.now_ms)
    assert with_settings({"ttl_ms": 1}).keeps_reopenings == 0
    driver.folded_equals_state()


def test_what_ended_without_a_plan_has_nothing_to_undo_and_is_not_waited_for() -> None:
    driver = Driver("one")
    driver.do(i.RequestReceived(id="r", by="person:ann", constellation="c1", request="tidy up"))
    (early,) = undo(driver).faults
    assert early.hint == "Wait until it has ended."
    driver.do(i.ControlRequested(id="x", by="person:ann", constellation="c1", action="cancel"))
    (late,) = undo(driver).faults
    assert (late.code, late.hint) == (Code.ILLEGAL_CONTROL, "There is nothing to undo.")


def again(driver: Driver, task_name: str = "w") -> None:
    asked = driver.control("retry_from", task_name, confirm=[task_name], by="person:ann")
    assert not asked.faults


def rounds(*added: list[str] | None, tool: str = "fs.write") -> Driver:
    """Return a driver whose one task was done once for each of these, and added these files; None: it failed."""
    driver = Driver()
    tools = [*TOOLS, *map(written, ("fs.write", "fs.move", "fs.restore", "fs.trash"))]
    driver.add_device("files", tools=tools, grants=["files:write"])
    driver.submit(plan(task("w", tool=tool)))
    for number, paths in enumerate(added):
        if number:
            again(driver)
        driver.now_ms += 1_000
        (dispatch,) = driver.take()
        if paths is None:
            driver.result(dispatch, outcome=Outcome.ERROR, code=Code.CONFLICT)
        else:
            items = [{"path": path} for path in paths]
            driver.result(dispatch, {"added": items} if tool == "fs.write" else {"put_back": items})
    return driver


def undone_attempts(driver: Driver) -> list[int]:
    """Carry out the undos, and return the attempts whose results they were given, in order."""
    attempts = []
    while taken := driver.take():
        (dispatch,) = taken
        (given,) = dispatch.inputs
        (source,) = given.sources
        attempts.append(source.attempt)
        added = driver.shard.constellations["c1"].attempts[f"w/{source.attempt}"].value or ""
        driver.result(dispatch, {"items": [{"path": "x", "moved": True}] * added.count("path"), "count": 1})
    return attempts


@pytest.mark.parametrize("tool", ["fs.write", "fs.move"])
@pytest.mark.parametrize(
    ("added", "attempts", "files"),
    [
        ([["a", "b"], []], [1], 2),
        ([["a"], ["b", "c"]], [2, 1], 3),
        ([[], ["b"], []], [2], 1),
        ([["a"], None], [1], 1),
        ([["a", "b"], None, ["c"]], [3, 1], 3),
    ],
)
def test_each_round_that_left_something_is_taken_back(
    tool: str, added: list[list[str] | None], attempts: list[int], files: int
) -> None:
    driver = rounds(*added, tool=tool)
    looked = driver.do(i.UndoRequested(id=driver.ident(), by="person:ann", constellation="c1", preview=True))
    count = "the files" if tool == "fs.move" else counted(files, "file")
    assert looked.value["says"][0].startswith(f"{count} ")
    assert undo(driver).value["undoing"] == ["w"]
    assert undone_attempts(driver) == attempts
    told = sentence_of(driver)
    assert "taken back: w" in told or "Taken back afterwards: w." in told
    assert f"On files {files} file" in told
    assert undo(driver).faults[0].reason == "all of its work that can be undone is undone already"
    driver.folded_equals_state()


def test_rounds_without_anything_say_so() -> None:
    driver = rounds([], [])
    assert undo(driver).value["undoing"] == ["w"]
    assert undone_attempts(driver) == [2]
    assert "Nothing to take back, since it added nothing: w." in sentence_of(driver)


def test_work_that_is_done_again_after_its_undo_is_taken_back_alone() -> None:
    driver = rounds(["a"])
    undo(driver)
    assert undone_attempts(driver) == [1]
    again(driver)
    driver.result(driver.take()[0], {"added": [{"path": "b"}, {"path": "c"}]})
    told = sentence_of(driver)
    assert "aken back" not in told
    assert undo(driver).value["undoing"] == ["w"]
    assert undone_attempts(driver) == [2]
    assert "On files 2 files" in sentence_of(driver)


def test_an_undo_that_failed_is_retried_for_its_own_round() -> None:
    driver = rounds(["a"], ["b", "c"])
    undo(driver)
    (newer,) = driver.take()
    driver.result(newer, outcome=Outcome.ERROR, code=Code.CONFLICT)
    assert "Not taken back: w (2 files), w (1 file)." in sentence_of(driver)
    again(driver)
    driver.result(driver.take()[0], {"added": [{"path": "d"}]})
    assert undo(driver, "w").value["undoing"] == ["w"]
    assert undone_attempts(driver) == [3]
    assert undo(driver, "w").value["undoing"] == ["w"]
    assert undone_attempts(driver) == [2, 1]
    driver.folded_equals_state()


def stopped() -> Driver:
    """Return a driver whose one device was cancelled in the middle of the second of two copies."""
    driver = Driver()
    driver.add_device(
        "files",
        tools=[*TOOLS, written("fs.copy"), written("fs.restore"), written("fs.trash")],
        grants=["files:write"],
    )
    driver.submit(plan(task("a", tool="fs.copy"), task("b", tool="fs.copy"), edge("a>b")))
    driver.result(driver.take()[0], {"added": []})
    running = driver.take()[0]
    driver.started(running)
    driver.control("cancel")
    driver.receipt(running, effect=EffectSeen.MAYBE)
    return driver


def test_work_that_was_stopped_in_the_middle_is_taken_back_as_its_device_noted_it() -> None:
    """The undo named none of the files that had been copied, and said that nothing had been added."""
    driver = stopped()
    preview = driver.do(
        i.UndoRequested(id=driver.ident(), by="person:ann", constellation="c1", preview=True, reason="", tasks=[])
    )
    assert preview.value["undoing"] == ["b", "a"]
    assert preview.value["says"][0] == (
        "b was stopped in the middle: the files that it had changed until then on files are taken back, as the device"
        " noted them"
    )
    undo(driver)
    (back,) = driver.take()
    assert (back.tool, parse(back.args)) == ("fs.trash", {"left_by": "b", "paths": []})
    driver.result(back, {"items": [{"path": "in/b", "ticket": "t"}], "missing": [], "restored": [], "count": 1})
    driver.run()
    told = driver.shard.constellations["c1"].tables["answer"][""]
    assert isinstance(told, AnswerRecord)
    assert told.sentence == (
        "test was cancelled and then taken back: b. Nothing to take back, since it added nothing: a. "
        "On files 1 file went from 'in' to the trash."
    )
    assert "undone already" in undo(driver).faults[0].reason
