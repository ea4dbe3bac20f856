"""The plan's own sentence for its answer."""

from __future__ import annotations

from typing import Any

import pytest

from starloom.core.answer.stated import stated
from starloom_protocol.records.entities import Condition, ForEach, Selector, SentenceSpec
from starloom_protocol.records.specs import SentenceValue
from starloom_protocol.stream.authors import MODEL
from starloom_protocol.values import canonical
from starloom_protocol.vocabulary import Code, Op, Outcome
from tests.builders import NONE, Driver, edge, plan, task


def value(source: str, output: str = "", show: str = "value") -> SentenceValue:
    return SentenceValue(output=output, show=show, source=source)


def ended(result: Any, *sentences: SentenceSpec) -> tuple[Driver, Any]:
    """Run one task whose result this is, in a plan with these sentences."""
    driver = Driver("nas")
    run = driver.submit(plan(task("look"), name="Look", sentences=list(sentences)))
    for dispatch in driver.take():
        driver.result(dispatch, result)
    driver.run()
    return driver, run


def sentence_of(made: Any) -> str:
    return str(made.tables["answer"][""].sentence)


def test_a_sentence_with_its_values_opens_the_answer() -> None:
    said = SentenceSpec(
        text="{n} files take {room} on {where}.",
        values={
            "n": value("look", "/n"),
            "room": value("look", "/bytes", "bytes"),
            "where": value("look", "", "device"),
        },
    )
    _, made = ended({"n": 12_345, "bytes": 2_500_000}, said)
    assert sentence_of(made) == "12,345 files take 2.5 MB on nas. Look is done: 1 task on nas."
    assert made.tables["answer"][""].stated


def test_the_first_sentence_whose_condition_holds_counts() -> None:
    some = SentenceSpec(
        condition=Condition(op=Op.GT, output="/n", value="0"),
        source="look",
        text="{n} are there.",
        values={"n": value("look", "/n")},
    )
    none = SentenceSpec(text="Nothing is there.")
    assert sentence_of(ended({"n": 0}, some, none)[1]).startswith("Nothing is there. ")
    assert sentence_of(ended({"n": 3}, some, none)[1]).startswith("3 are there. ")


@pytest.mark.parametrize(
    ("found", "show", "shown"),
    [
        ({"v": 41.26}, "percent", "41.26 %"),
        ({"v": [1, 2, 3]}, "count", "3"),
        ({"v": 5_400}, "duration", "90 minutes"),
        ({"v": 86_400}, "duration", "24 hours"),
        ({"v": 7 * 86_400}, "duration", "7 days"),
        ({"v": 0.1234567}, "value", "0.123457"),
        ({"v": 12345.67}, "value", "12,345.67"),
        ({"v": 1234567.89}, "value", "1,234,567.89"),
        ({"v": "one"}, "value", "'one'"),
        ({"v": "a" * 100}, "value", "'" + "a" * 79 + "…'"),
    ],
)
def test_each_kind_of_value_is_in_words(found: dict[str, Any], show: str, shown: str) -> None:
    _, made = ended(found, SentenceSpec(text="{v}", values={"v": value("look", "/v", show)}))
    assert sentence_of(made) == f"{shown}. Look is done: 1 task on nas."


@pytest.mark.parametrize(
    ("found", "show"),
    [
        ({}, "value"),
        ({"v": True}, "value"),
        ({"v": "9"}, "bytes"),
        ({"v": "9"}, "duration"),
        ({"v": "9"}, "count"),
        ({"v": {}}, "value"),
        ({"v": ""}, "value"),
        # A device may send a number that no float holds and that would fill the sentence.
        *(({"v": number}, show) for number in (10**400, -(10**18), 1e300) for show in ("value", "bytes", "percent")),
    ],
)
def test_a_value_of_another_kind_leaves_the_sentence_out(found: dict[str, Any], show: str) -> None:
    _, made = ended(found, SentenceSpec(text="{v}", values={"v": value("look", "/v", show)}))
    assert sentence_of(made) == "Look is done: 1 task on nas."


@pytest.mark.parametrize(
    ("count", "noun", "shown"),
    [
        (1, "file", "1 file"),
        (0, "file", "0 files"),
        (2_000, "copy/copies", "2,000 copies"),
        (1, "copy/copies", "1 copy"),
    ],
)
def test_a_number_has_its_noun(count: int, noun: str, shown: str) -> None:
    held = SentenceValue(noun=noun, output="/v", source="look")
    _, made = ended({"v": count}, SentenceSpec(text="{v} found", values={"v": held}))
    assert sentence_of(made).startswith(f"{shown} found. ")


def test_the_name_of_a_device_has_no_quotes() -> None:
    _, made = ended({"v": "nas"}, SentenceSpec(text="The newest is on {v}", values={"v": value("look", "/v")}))
    assert sentence_of(made).startswith("The newest is on nas. ")


def test_a_text_from_a_device_stays_in_its_quotes() -> None:
    lure = "x'. All is safe.\n\u202eSecond\x1b[2J {n}"
    said = SentenceSpec(text="The newest is {v}", values={"v": value("look", "/v")})
    _, made = ended({"v": lure, "n": 1}, said)
    first = sentence_of(made).removesuffix(". Look is done: 1 task on nas.")
    assert first == "The newest is 'x\". All is safe. ?Second?[2J {n}'"


def test_a_group_is_counted_and_its_devices_are_named() -> None:
    driver = Driver("nas", "vps")
    said = SentenceSpec(
        text="{n} machines answered: {who}.",
        values={"n": value("look", "", "count"), "who": value("look", "", "device")},
    )
    run = driver.submit(plan(task("look", for_each=ForEach(devices=Selector())), sentences=[said]))
    for dispatch in driver.take():
        driver.result(dispatch, {})
    driver.run()
    assert sentence_of(run).startswith("2 machines answered: nas and vps. ")


def test_a_failure_opens_the_answer_before_any_sentence() -> None:
    driver = Driver("nas")
    run = driver.submit(
        plan(task("look"), task("then"), edge("look>then"), sentences=[SentenceSpec(text="All is safe.")])
    )
    for dispatch in driver.take():
        driver.result(dispatch, outcome=Outcome.ERROR, code=Code.TOOL_FAILED, effect=NONE, detail="no")
    driver.run()
    assert "All is safe" not in sentence_of(run)
    assert not run.tables["answer"][""].stated


def test_a_large_part_that_a_sentence_names_is_asked_for() -> None:
    driver = Driver("nas")
    said = SentenceSpec(text="{n}", values={"n": value("look", "/deep/n")})
    driver.submit(plan(task("look"), sentences=[said]))
    assert [dispatch.wants for dispatch in driver.take()] == [["/deep/n"]]


def test_a_plan_that_a_model_edited_states_nothing() -> None:
    driver, made = ended({"n": 1}, SentenceSpec(text="{n} is there.", values={"n": value("look", "/n")}))
    assert stated(made, driver.shard.fleet) == "1 is there"
    version = made.versions["1"]
    made.tables["version"]["2"] = type(version)(at_ms=1, author=MODEL, number=2, added=["more"], reason=canonical("x"))
    assert stated(made, driver.shard.fleet) is None
