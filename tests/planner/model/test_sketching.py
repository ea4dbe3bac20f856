"""The picture of an unfinished answer: what can be read already, within bounds, and never a fault."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from starloom.planner.model.port import Piece
from starloom.planner.model.sketching import READ_CHARS_MOST, SketchPad, sketch_of
from starloom_protocol.stream.sketches import (
    ANSWER_CHARS_MOST,
    SKETCH_BYTES_MOST,
    TASKS_MOST,
    Sketch,
    SketchCall,
    SketchTask,
)

PLAN: dict[str, Any] = {
    "starloom": 1,
    "name": "Count errors",
    "tasks": [
        {"id": "find", "tool": "fs.find", "device": {"name": "attic"}, "args": {"path": "/"}},
        {"id": "count", "tool": "text.count", "for_each": {"from": "find", "output": "/files"}},
        {"id": "ask", "person": "Is it right?", "inputs": {"n": {"from": "count", "output": ""}}},
    ],
    "dependencies": [{"from": "find", "to": "ask"}],
}
TEXT = json.dumps({"kind": "plan", "plan": PLAN})
BARE = Sketch(call=1, job="plan-1", since_ms=5, worker="w")


def drawn(text: str) -> Sketch:
    return sketch_of(text, BARE)


def ids(text: str) -> list[str]:
    return [task.id for task in drawn(text).tasks]


def test_a_whole_plan_is_drawn_with_its_devices_and_dependencies() -> None:
    made = drawn(TEXT)
    assert (made.kind, made.words, made.left_out) == ("plan", "Count errors", 0)
    assert made.tasks == [
        SketchTask(id="find", tool="fs.find", device="attic"),
        SketchTask(id="count", tool="text.count", each=True, after=["find"]),
        SketchTask(id="ask", person=True, after=["find", "count"]),
    ]


def test_tasks_come_one_by_one_and_none_goes_or_changes_its_name() -> None:
    before: list[str] = []
    seen = []
    for end in range(len(TEXT) + 1):
        now = ids(TEXT[:end])
        assert now[: len(before)] == before
        if now != before:
            seen.append(len(now))
        before = now
    assert seen == [1, 2, 3]


@pytest.mark.parametrize(
    "before",
    ["Here you are {really}:\n", "```json\n", '<think>Perhaps {"kind": "cannot"}</think>', "{} {broken "],
)
@pytest.mark.parametrize("behind", ["", "\n```", " Enjoy {it}!"])
def test_prose_and_fences_around_it_do_no_harm(before: str, behind: str) -> None:
    assert ids(before + TEXT + behind) == ["find", "count", "ask"]


@pytest.mark.parametrize(
    ("answer", "kind", "words"),
    [
        ({"kind": "question", "text": "Which  folder\u202e?\n"}, "question", "Which folder ?"),
        ({"kind": "cannot", "text": "no printer"}, "cannot", "no printer"),
        ({"kind": "recipe", "recipe": "echo", "params": {}}, "recipe", "echo"),
        ({"kind": "more_tools", "words": "print a page"}, "more_tools", "print a page"),
        ({"kind": "run_now", "text": "x"}, "", ""),
        ({"kind": 7}, "", ""),
        (["kind"], "", ""),
    ],
)
def test_other_answers_say_what_they_are(answer: Any, kind: str, words: str) -> None:
    made = drawn(json.dumps(answer))
    assert (made.kind, made.words, made.tasks) == (kind, words if kind else made.words, [])


def test_a_look_shows_its_calls() -> None:
    calls = [{"device": "attic", "tool": "fs.list", "args": {}}, {"tool": 3}, {"read": {"task": "look-1-1"}}]
    made = drawn(json.dumps({"kind": "look", "calls": calls * 30, "why": "to see"}))
    assert made.looks[0] == SketchCall(device="attic", tool="fs.list")
    assert len(made.looks) == 4
    assert made.words == "to see"


@pytest.mark.parametrize(
    "identity", ["__proto__", "../../etc", "<img src=x onerror=alert(1)>", "A", "", "x" * 65, 7, None, ["a"]]
)
def test_a_task_without_a_right_id_is_not_drawn(identity: object) -> None:
    plan = {**PLAN, "tasks": [{"id": identity, "tool": "t"}, {"id": "constructor", "tool": "t"}]}
    assert ids(json.dumps({"kind": "plan", "plan": plan})) == ["constructor"]


def test_control_signs_are_left_out_and_long_words_are_cut() -> None:
    task = {"id": "a", "tool": "t\x00\x1b[31m\u202e" + "y" * 500, "device": {"name": "d\n" * 900}}
    made = drawn(json.dumps({"kind": "plan", "plan": {"name": "n\u2028" * 900, "tasks": [task, task]}}))
    assert [task.id for task in made.tasks] == ["a"]
    assert all(word.isprintable() and len(word) <= 80 for word in (made.tasks[0].tool, made.tasks[0].device))
    assert made.words.isprintable()
    assert len(made.words) <= 300


def test_a_hundred_thousand_tasks_are_a_few_and_a_number() -> None:
    pad = SketchPad("plan-1", "w")
    pad.hear(Piece("begun"), 5)
    wide = {"tool": "\u00e4" * 80, "device": {"name": "\U0001f980" * 80}}
    rows = ",".join(json.dumps({"id": f"t{at}", **wide}) for at in range(100_000))
    pad.hear(Piece("call", '{"kind": "plan", "plan": {"tasks": [' + rows), 5)
    made = pad.drawn()
    assert 0 < len(made.tasks) <= TASKS_MOST
    assert made.left_out > 0
    assert made.chars == len(rows) + 36
    assert len(msgspec.json.encode(made)) <= SKETCH_BYTES_MOST


def test_ten_megabytes_are_counted_and_not_kept() -> None:
    pad = SketchPad("plan-1", "w")
    pad.hear(Piece("begun"), 5)
    for _ in range(100):
        pad.hear(Piece("text", "{" * 100_000), 5)
    made = pad.drawn()
    assert (made.chars, made.tasks, made.kind) == (10_000_000, [], "")
    assert READ_CHARS_MOST < 10_000_000


def test_another_reply_voids_the_one_before_it() -> None:
    pad = SketchPad("plan-1", "w")
    for piece in (Piece("begun"), Piece("thought", "hm"), Piece("call", TEXT), Piece("told", tokens=7)):
        pad.hear(piece, 5)
    first = pad.drawn()
    assert (first.call, first.thought_chars, first.tokens, len(first.tasks)) == (1, 2, 7, 3)
    pad.hear(Piece("begun"), 9)
    assert pad.drawn() == Sketch(call=2, job="plan-1", since_ms=9, worker="w")


def test_a_call_is_read_before_the_text_beside_it() -> None:
    pad = SketchPad("plan-1", "w")
    for piece in (Piece("begun"), Piece("text", '{"kind": "cannot", "text": "no"}'), Piece("call", TEXT)):
        pad.hear(piece, 5)
    assert pad.drawn().kind == "plan"


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["kind", "plan", "tasks", "id", "tool", "device", "dependencies", "from", "to", "calls", "name"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)


@given(_JSON, st.integers(0, 400))
def test_any_beginning_of_any_answer_is_a_sketch(answer: Any, end: int) -> None:
    made = drawn(json.dumps(answer)[:end])
    assert msgspec.json.decode(msgspec.json.encode(made), type=Sketch) == made


def test_what_is_nested_too_deeply_is_not_read() -> None:
    assert drawn('{"kind": "plan", "plan": ' + "[" * 100_000).tasks == []
    assert drawn('{"a":' * 100_000).tasks == []


def test_the_words_of_an_answer_come_as_they_are_written_and_are_bounded() -> None:
    begun = '{"kind": "answer", "text": "Nord sold 12 [1].\\nSued'
    made = sketch_of(begun, BARE)
    assert (made.kind, made.answer) == ("answer", "Nord sold 12 [1].\nSued")
    long = sketch_of('{"kind": "answer", "text": "' + "\\u001b" + "x" * 5_000, BARE)
    assert len(long.answer) == ANSWER_CHARS_MOST
    assert long.answer[:2] == " x"
    assert sketch_of('{"kind": "answer", "text": {"a": 1}, "cites": [', BARE).answer == ""


@pytest.mark.parametrize("kind", ["edit", "no_change", "give_up"])
def test_the_answer_of_a_review_says_what_it_is(kind: str) -> None:
    assert sketch_of(f'{{"kind": "{kind}", "operations": [', BARE).kind == kind
