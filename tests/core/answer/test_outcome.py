"""How a constellation ends, and the answer with its sentence."""

from __future__ import annotations

import msgspec
import pytest
from msgspec.structs import replace as with_fields

from starloom.core.state import inputs as i
from starloom.core.state.orders import SendOver
from starloom_protocol.records.edits import RemoveTask
from starloom_protocol.records.entities import Answer, Choice, ForEach, Policy, ResultSpec, Retry, Selector
from starloom_protocol.values import canonical
from starloom_protocol.vocabulary import Code, Gate, Need, Outcome
from tests.builders import TOOLS, Driver, edge, plan, task
from tests.core.watched import WatchedDriver


def answer(driver: Driver) -> Answer:
    final = driver.shard.constellations["c1"].tables["answer"][""]
    assert isinstance(final, Answer)
    return final


def fail(driver: Driver, name: str) -> None:
    dispatch = next(item for item in driver.dispatched if item.at.task == name)
    driver.dispatched.remove(dispatch)
    driver.result(dispatch, outcome=Outcome.ERROR, code=Code.TOOL_FAILED, detail="boom\nmore")


@pytest.mark.parametrize(
    ("partial", "optional", "gate", "state"),
    [
        (False, False, Gate.SUCCESS, "failed"),
        (True, False, Gate.SUCCESS, "partial"),
        (False, True, Gate.SUCCESS, "succeeded"),
        (True, False, Gate.FAILURE, "partial"),
    ],
)
def test_the_outcome_is_clean_partial_or_failed(partial: bool, optional: bool, gate: Gate, state: str) -> None:
    driver = WatchedDriver("one")
    new_plan = plan(
        task("a", optional=optional), task("b"), task("c"), edge("a>b", gate), policy=Policy(partial=partial)
    )
    driver.submit(new_plan)
    fail(driver, "a")
    assert driver.run() == state
    assert answer(driver).state == "final"


def test_work_of_which_only_optional_tasks_were_tried_and_failed_has_no_result() -> None:
    driver = WatchedDriver("one")
    driver.submit(plan(task("a", optional=True), task("b", optional=True), name="Try"))
    for name in "ab":
        fail(driver, name)
    assert driver.run() == "succeeded"
    sentence = answer(driver).sentence
    assert sentence.startswith("Try ended without a result: all that was tried was optional; failed: a, b.")


@pytest.mark.parametrize(
    ("failures", "partial", "state"),
    [(1, True, "succeeded"), (2, True, "partial"), (2, False, "failed")],
)
def test_a_list_that_needs_no_success_and_had_only_failures_is_not_done(
    failures: int, partial: bool, state: str
) -> None:
    driver = WatchedDriver("one", "two")
    each = ForEach(devices=Selector(tools=["t.pure"]), need=Need.BEST_EFFORT)
    new_plan = plan(task("look", for_each=each), task("table", "rows=look"), policy=Policy(partial=partial))
    driver.submit(new_plan)
    dispatches = driver.take()
    for dispatch in dispatches[:failures]:
        driver.result(dispatch, outcome=Outcome.ERROR, code=Code.TOOL_FAILED, detail="the disk does not answer")
    for dispatch in dispatches[failures:]:
        driver.result(dispatch, {})
        driver.receipt(dispatch)
    assert driver.run() == state
    assert driver.states()["look"] == driver.states()["table"] == "succeeded"


@pytest.mark.parametrize(
    ("failures", "partial", "state"),
    [(0, True, "succeeded"), (1, True, "partial"), (1, False, "succeeded"), (2, True, "failed"), (2, False, "failed")],
)
def test_a_program_of_a_list_that_ended_with_another_code_is_not_hidden_by_the_rest(
    failures: int, partial: bool, state: str
) -> None:
    driver = WatchedDriver("one", "two")
    each = ForEach(devices=Selector(tools=["t.pure"]), need=Need.BEST_EFFORT)
    rows = (task("sorted", "rows=run"), task("table", "rows=sorted"))
    driver.submit(plan(task("run", for_each=each), *rows, policy=Policy(partial=partial)))
    dispatches = driver.take()
    for dispatch in dispatches[:failures]:
        driver.result(dispatch, outcome=Outcome.ERROR, code=Code.EXIT_CODE, detail="x ended with 3: no printer")
    for dispatch in dispatches[failures:]:
        driver.result(dispatch, {})
        driver.receipt(dispatch)
    assert driver.run() == state
    assert ("x ended with 3: no printer" in answer(driver).sentence) is bool(failures)


@pytest.mark.parametrize("code", [Code.FENCED, Code.INTERRUPTED, Code.TIMED_OUT])
def test_work_of_a_list_that_no_device_finished_is_not_hidden(code: Code) -> None:
    driver = WatchedDriver("one", "two")
    driver.shard.settings.fences_most = 0
    each = ForEach(devices=Selector(tools=["t.pure"]), need=Need.BEST_EFFORT)
    run = task("run", for_each=each, retry=Retry(max_attempts=1))
    driver.submit(plan(run, task("table", "rows=run"), policy=Policy(partial=True)))
    first, second = driver.take()
    driver.result(first, outcome=Outcome.INTERRUPTED, code=code)
    driver.result(second, {})
    driver.receipt(second)
    assert driver.run() == "partial"


def test_a_list_that_every_device_refused_makes_no_part_of_an_answer() -> None:
    driver = WatchedDriver("one", "two")
    each = ForEach(devices=Selector(tools=["t.pure"]), need=Need.BEST_EFFORT)
    table = task("table", "rows=look")
    driver.submit(plan(task("look", for_each=each), table, policy=Policy(partial=True)))
    for dispatch in driver.take():
        said = "/etc is outside the folders of files:read"
        driver.result(dispatch, outcome=Outcome.REFUSED, code=Code.POLICY_REFUSED, detail=said)
    assert driver.run() == "failed"
    assert "/etc is outside the folders of files:read" in answer(driver).sentence


def test_a_folder_that_is_on_no_device_makes_no_part_of_an_answer() -> None:
    driver = WatchedDriver("one", "two")
    each = ForEach(devices=Selector(tools=["t.pure"]), need=Need.BEST_EFFORT)
    driver.submit(plan(task("look", for_each=each), task("table", "rows=look"), policy=Policy(partial=True)))
    for dispatch in driver.take():
        driver.result(dispatch, outcome=Outcome.ERROR, code=Code.FILE_NOT_FOUND, detail="Holiday 2025 is not there")
    assert driver.run() == "failed"


def test_nothing_to_do_is_done() -> None:
    driver = WatchedDriver("one")
    driver.submit(plan(name="Nothing"))
    assert driver.shard.constellations["c1"].head.state == "succeeded"
    assert answer(driver).sentence == "Nothing is done; nothing had to be done."


def test_the_sentence_tells_what_was_done_where_what_failed_and_what_was_skipped() -> None:
    driver = WatchedDriver("one", slots=9)
    driver.submit(
        plan(*(task(name) for name in "abc"), task("d", "x=a"), task("e", "x=d"), policy=Policy(partial=True))
    )
    for name in ("a", "b"):
        fail(driver, name)
    driver.run()
    sentence = answer(driver).sentence
    assert sentence.startswith("test is done in part: 1 of 5 tasks succeeded on one.")
    assert "First cause: a - the tool failed: boom; 1 more failed." in sentence
    assert "Skipped because a failed: d, e." in sentence


def test_each_kind_of_skip_and_many_devices_are_named() -> None:
    names = ["d1", "d2", "d3", "d4", "d5"]
    driver = WatchedDriver(*names)
    driver.submit(
        plan(
            *(task(f"t{n}", device=name) for n, name in enumerate(names)),
            task("h", "x=t0"),
            task("c"),
            task("k", "x=c"),
        )
    )
    driver.control("skip", "h")
    driver.control("cancel", "c")
    driver.receipt(next(item for item in driver.dispatched if item.at.task == "c"))
    driver.run()
    sentence = answer(driver).sentence
    assert " on 5 devices" in sentence
    assert "Skipped by a person: h." in sentence
    assert "Skipped because c was cancelled: k." in sentence


def test_results_grow_while_it_runs_and_name_values_files_and_groups() -> None:
    driver = WatchedDriver("one", slots=9)
    results = [
        ResultSpec(source="a", output="/file", title="File", show="file"),
        ResultSpec(source="g", output="/n", title="Each"),
        ResultSpec(source="a", output="/nothing", title="None"),
        ResultSpec(source="big", output="", title="Big"),
        ResultSpec(source="failed", output="", title="Failed"),
    ]
    driver.submit(
        plan(
            task("a"),
            task("big"),
            task("failed"),
            task("g", for_each=ForEach(source="a", output="/l")),
            results=results,
        )
    )
    by_task = {item.at.task: item for item in driver.take()}
    file = {"artifact": "f" * 64, "bytes": 7, "media": "text/html"}
    driver.result(by_task["a"], {"file": file, "l": [1, 2]}, verified=True)
    assert answer(driver).state == "partial"
    driver.result(by_task["big"], artifact="b" * 64, bytes=99)
    driver.result(by_task["failed"], outcome=Outcome.ERROR, code=Code.TOOL_FAILED)
    assert driver.run(value={"n": 4}) == "failed"
    items = {item.title: item for item in answer(driver).items}
    assert (items["File"].artifact, items["File"].bytes, items["File"].media) == ("f" * 64, 7, "text/html")
    assert items["File"].checked
    assert [items[f"Each, g.{n}"].value for n in range(2)] == ["4", "4"]
    assert items["None"].value is None
    assert "Failed" not in items


def test_a_value_too_long_to_show_is_named_by_its_artifact() -> None:
    driver = WatchedDriver("one")
    driver.submit(plan(task("a")))
    text = "x" * 5000
    driver.result(driver.take()[0], text, artifact="a" * 64, bytes=5002)
    (item,) = answer(driver).items
    assert (item.value, item.artifact) == (None, "a" * 64)
    assert len(canonical(text)) > 4096


def test_the_answer_of_a_person_is_shown_with_a_name_and_no_token() -> None:
    driver = WatchedDriver("one")
    ask = task("ask", person="Go on?", choices=[Choice(value="yes", label="Yes")])
    run = driver.submit(plan(ask, results=[ResultSpec(source="ask", title="Said", output="")]))
    (question,) = run.questions
    by = "person:ann#rlkk2b3c4d5e6f7g8h9i"
    driver.answer_question(question, "yes", by=by)
    (item,) = answer(driver).items
    assert item.value == '{"by":"ann","value":"yes"}'


def test_a_part_too_large_to_bring_is_named_by_its_place_in_the_artifact() -> None:
    driver = WatchedDriver("one")
    driver.submit(plan(task("a"), results=[ResultSpec(source="a", title="Text", output="/text")]))
    (work,) = driver.take()
    assert work.wants == ["/text"]
    driver.result(work, None, artifact="a" * 64, bytes=108_000, facts_too_big={"/text": 107_900})
    (item,) = answer(driver).items
    assert (item.value, item.artifact, item.pointer, item.bytes) == (None, "a" * 64, "/text", 108_000)


def test_a_part_that_a_large_result_does_not_have_is_no_part_of_it() -> None:
    driver = WatchedDriver("one")
    driver.submit(plan(task("a"), results=[ResultSpec(source="a", title="Text", output="/text")]))
    driver.result(driver.take()[0], None, artifact="a" * 64, bytes=108_000)
    (item,) = answer(driver).items
    assert (item.value, item.artifact, item.pointer) == (None, None, "")


def told(driver: Driver) -> list[Answer]:
    """Return the partial answers so far, as events told them."""
    found = [event for event in driver.events if event.kind == "answer_grew"]
    return [msgspec.json.decode(event.puts["answer"] or b"null", type=Answer) for event in found]


def test_the_answer_grows_as_tasks_end_named_or_not() -> None:
    driver = WatchedDriver("one", "two", slots=1)
    driver.submit(
        plan(task("a", device="one"), task("b", device="two"), task("c", "x=a"), task("d", "x=c"), name="Work")
    )
    taken = {item.at.task: item for item in driver.take()}
    driver.result(taken["a"], 1, verified=True)
    assert answer(driver).sentence == "Work: 1 of 4 tasks done so far on one. 1 result was checked."
    assert (answer(driver).state, answer(driver).items) == ("partial", [])
    driver.result(taken["b"], outcome=Outcome.ERROR, code=Code.TOOL_FAILED, detail="boom")
    assert answer(driver).sentence.endswith("First cause: b - the tool failed: boom.")
    driver.run()
    assert [item.ended for item in told(driver)] == [1, 2, 3]
    assert answer(driver).state == "final"


def test_a_wide_group_is_told_of_a_few_times_and_at_no_more_cost_a_child() -> None:
    driver = Driver("one", slots=500, whole=False)
    each = ForEach(source="l", output="/l")
    results = [ResultSpec(source="g", title="Each")]
    driver.submit(plan(task("l"), task("g", for_each=each), results=results))
    driver.run(value={"l": list(range(400))})
    answers = told(driver)
    assert len(answers) < 40
    assert sum(len(item.items) for item in answers) < 6 * 400
    assert len(answer(driver).items) == 400


def test_what_is_counted_as_ended_follows_a_new_round() -> None:
    driver = WatchedDriver("one")
    driver.submit(plan(task("a"), task("b", "x=a"), task("w", device="nobody")))
    for dispatch in driver.take():
        driver.result(dispatch, outcome=Outcome.ERROR, code=Code.TOOL_FAILED)
    run = driver.shard.constellations["c1"]
    assert (run.progress.ended, list(run.progress.failed)) == (2, ["a"])
    driver.control("retry", "a")
    assert (run.progress.ended, list(run.progress.failed)) == (0, [])
    driver.result(driver.take()[0], 1)
    assert answer(driver).sentence == "test: 1 of 3 tasks done so far on one."


def test_tasks_cancelled_one_by_one_end_as_cancelled() -> None:
    driver = WatchedDriver("one")
    driver.submit(plan(task("a"), task("b", "x=a"), task("c", device="away")))
    for name in ("c", "a"):
        driver.control("cancel", name)
    driver.receipt(driver.take()[0])
    assert driver.states() == {"a": "cancelled", "b": "skipped", "c": "cancelled"}
    assert driver.state() == "cancelled"
    assert "cancelled" in answer(driver).sentence


@pytest.mark.parametrize(("end", "state"), [(Outcome.OK, "failed"), (Outcome.ERROR, "failed")])
def test_a_cancelled_task_beside_another_end_is_not_all(end: Outcome, state: str) -> None:
    driver = WatchedDriver("one")
    driver.submit(plan(task("a"), task("c", device="away")))
    driver.control("cancel", "c")
    driver.result(driver.take()[0], 1, outcome=end, code=Code.TOOL_FAILED if end is Outcome.ERROR else None)
    assert driver.state() == state


def test_a_task_cancelled_by_itself_can_be_retried_after_the_end() -> None:
    driver = WatchedDriver("one")
    driver.submit(plan(task("a", device="away")))
    driver.control("cancel", "a")
    assert driver.state() == "cancelled"
    answered = driver.control("retry", "a")
    assert not answered.faults
    assert driver.state() == "active"
    driver.control("cancel")
    assert driver.control("retry", "a").faults[0].code is Code.ILLEGAL_CONTROL


@pytest.mark.parametrize(("action", "state"), [("skip", "succeeded"), ("cancel", "cancelled")])
def test_nothing_left_to_approve_ends_what_waits_for_it(action: str, state: str) -> None:
    driver = WatchedDriver("one")
    driver.submit(plan(task("a")), hold=True)
    assert driver.state() == "awaiting_approval"
    driver.control(action, "a")
    run = driver.shard.constellations["c1"]
    assert (driver.state(), list(run.open_questions), run.head.attention) == (state, [], [])
    driver.folded_equals_state()


def test_devices_that_may_keep_a_session_learn_of_the_end() -> None:
    offered = [with_fields(TOOLS[0], name="mcp.notes.search"), with_fields(TOOLS[0], name="t.pure")]
    driver = WatchedDriver()
    for name in ("one", "two", "three"):
        driver.add_device(name, tools=offered)
    on = {name: Selector(name=name) for name in ("one", "two", "three")}
    tool = "mcp.notes.search"
    made = [
        task("a", tool=tool, device=on["one"]),
        task("b", tool=tool, device=on["two"]),
        task("c", device=on["three"]),
    ]
    driver.submit(plan(*made))
    assert driver.run() == "succeeded"
    told = [effect for effect in driver.sent if isinstance(effect, SendOver)]
    assert told == [SendOver(constellation="c1", device="d-one"), SendOver(constellation="c1", device="d-two")]


def test_a_constellation_ends_though_a_task_that_had_run_was_removed() -> None:
    driver = WatchedDriver("one")
    driver.submit(plan(task("a"), task("b")))
    first, other = driver.take()
    driver.do(i.DeviceControlled(id=driver.ident(), by="person:ann", device="d-one", action="drain"))
    driver.result(first, None, Outcome.NEVER_STARTED)
    assert driver.states()["a"] in ("ready", "waiting"), driver.states()
    edit = i.EditProposed(
        id=driver.ident(), by="person:ann", constellation="c1", operations=[RemoveTask(id="a")], base_version=1
    )
    assert not driver.do(edit).faults
    driver.result(other, {})
    driver.receipt(other)
    assert driver.state() == "succeeded"


@pytest.mark.parametrize("value", [{}, {"rows": None}])
def test_a_part_without_a_value_names_what_its_task_waited_for(value: dict[str, object]) -> None:
    driver = WatchedDriver("one")
    waits = edge("first>then", Gate.FINISH)
    shown = [ResultSpec(source="then", output="/rows", title="Rows")]
    driver.submit(plan(task("first"), task("then"), waits, results=shown))
    fail(driver, "first")
    (then,) = driver.take()
    driver.result(then, value)
    driver.receipt(then)
    assert driver.state() == "failed"
    assert [item.lacks for item in answer(driver).items] == ["first (failed)"]
