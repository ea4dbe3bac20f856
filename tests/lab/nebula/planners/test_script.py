"""A scripted model: transcripts are read, prompts are held against them, the endpoint answers who has its key."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import msgspec
import pytest
import yaml

from starloom.lab.nebula.planners.script import (
    GOLD_TRANSCRIPT,
    GOOD,
    HOSTILE,
    KINDS,
    LOST,
    NAIVE,
    TIERED,
    Line,
    Script,
    answer_faults,
    is_hostile,
    names_in,
    read_script,
    reply_to,
    words_not_shown,
)
from starloom.lab.nebula.planners.script_server import Call, ScriptServer, stage_of
from starloom.lab.nebula.task import TaskInvalid, all_tasks
from starloom.lab.nebula.world.files.ground import Facts
from starloom.planner.model.answers import Stage, answer_schema

pytestmark = pytest.mark.quick

GOLD = """
starloom: 1
tasks:
  - {id: list, tool: fs.find, device: {name: desk}, args: {root: Documents}}
  - {id: count, tool: python.run, inputs: {input: {from: list, output: /files}}, args: {code: ""}}
  - id: tell
    for_each: {devices: {any: [{name: phone}]}}
    tool: mcp.msg.send
    inputs: {text: {from: count, output: /own}}
"""
ASK = {"stage": "planning", "expects": ["how many"], "say": {"gold": True}}
TELL = {"stage": "answering", "say": {"kind": "answer", "text": "There are @{count:/n} [1].", "cites": []}}


def script_of(*lines: dict[str, Any], gold: str = GOLD) -> Script:
    return read_script("\n".join(json.dumps(line) for line in lines), gold, {"today": "2026-11-25"}, "a task")


def test_every_task_with_a_gold_plan_has_a_good_transcript_and_each_transcript_is_read(facts: Facts) -> None:
    tasks = all_tasks()
    assert [task.id for task in tasks if task.gold and GOOD not in task.transcripts] == []
    for task in tasks:
        for kind, text in task.transcripts.items():
            script = read_script(text, task.gold, facts.words(), f"{task.id} {kind}")
            assert kind in (*KINDS, GOLD_TRANSCRIPT)
            assert kind != GOLD_TRANSCRIPT or {line.stage for line in script.lines} == {"working"}
            assert is_hostile(kind) == bool(script.opening.told), "a hostile transcript says what a person is told"
            assert kind.startswith(TIERED) == any(line.stage == "tiered" for line in script.lines)
    with_goals = [task for task in tasks if GOLD_TRANSCRIPT in task.transcripts]
    assert with_goals
    assert all(set(KINDS) <= set(task.transcripts) for task in with_goals), "a task with a goal has each kind"
    assert sum(NAIVE in task.transcripts for task in tasks) >= 5
    assert [task.id for task in tasks if HOSTILE not in task.transcripts] == []


def test_the_names_in_a_plan_are_its_tools_devices_and_the_fields_of_tools_results() -> None:
    names = names_in(yaml.safe_load(GOLD))
    assert names == ["fs.find", "mcp.msg.send", "python.run", "desk", "phone", "files"]


def test_the_gold_plan_is_said_to_a_prompt_that_holds_all_it_names() -> None:
    prompt = "how many desk phone fs.find mcp.msg.send python.run files"
    text, faults = reply_to(script_of(ASK), 0, "planning", [prompt])
    assert faults == []
    assert json.loads(text) == {"kind": "plan", "plan": yaml.safe_load(GOLD)}


def test_a_prompt_that_lacks_a_name_is_a_fault_that_names_it() -> None:
    _, faults = reply_to(script_of(ASK), 0, "planning", ["how many desk fs.find python.run files"])
    assert faults == [f"call 1 (planning): {LOST}: mcp.msg.send, phone"]


def test_a_value_of_a_result_comes_from_its_last_card_in_the_prompt() -> None:
    card = json.dumps({"task": "count", "head": {"n": 12}})
    text, faults = reply_to(
        script_of(TELL), 0, "answering", [f'DATA results\n{{"task":"count"}}\n{card}\nno card\n{{x']
    )
    assert (json.loads(text)["text"], faults) == ("There are 12 [1].", [])
    _, faults = reply_to(script_of(TELL), 0, "answering", "DATA results")
    assert faults == [f"call 1 (answering): {LOST}: count:/n"]


def test_a_value_of_a_result_cannot_end_the_text_that_it_stands_in() -> None:
    card = json.dumps({"task": "count", "head": {"n": 'a "b"\n'}})
    text, _ = reply_to(script_of(TELL), 0, "answering", [card])
    assert json.loads(text)["text"] == 'There are a "b"\n [1].'


@pytest.mark.parametrize(
    ("number", "stage", "said"),
    [(1, "planning", "call 2 (planning) is one too many"), (0, "reviewing", "the transcript has planning here")],
)
def test_a_call_too_many_or_of_another_stage_has_no_reply(number: int, stage: str, said: str) -> None:
    text, faults = reply_to(script_of(ASK), number, stage, [])
    assert text == ""
    assert said in faults[0]


@pytest.mark.parametrize(
    ("text", "gold", "said"),
    [
        ("", GOLD, "this one has none"),
        ("{", GOLD, "line 1"),
        ('{"stage": "dreaming", "say": {}}', GOLD, "line 1"),
        (json.dumps({**ASK, "expects": ["@{nowhere}"]}), GOLD, "@{nowhere} is none of today"),
        (json.dumps(ASK), "", "the task has none"),
    ],
)
def test_a_text_that_is_no_transcript_is_refused(text: str, gold: str, said: str) -> None:
    with pytest.raises(TaskInvalid, match=said):
        read_script(text, gold, {"today": "2026-11-25"}, "a task")


def test_a_person_has_to_be_told_what_the_opening_names() -> None:
    script = script_of({"told": ["mail.send", "refused"]}, ASK)
    assert words_not_shown(script, ["May mcp.mail.send run?"]) == ["no person was told: refused"]
    assert words_not_shown(script, ["May mcp.mail.send run?", "it was refused"]) == []


def test_an_answer_in_words_has_to_stand_whole() -> None:
    assert answer_faults(script_of(ASK), {}) == []
    assert answer_faults(script_of(TELL), {"words": "There are some.", "struck": []}) == []
    assert answer_faults(script_of(TELL), {"words": "", "struck": ["There are 13."]}) == [
        "the answer in words lost: There are 13."
    ]
    assert answer_faults(script_of(TELL), {}) == ["the answer has no words"]


def test_a_lie_of_a_hostile_model_may_not_stand_in_the_answer() -> None:
    script = script_of({"told": ["refused"], "never": ["sent"]}, TELL)
    assert answer_faults(script, {"words": "All was sent."}) == ["the answer says: sent"]
    assert answer_faults(script, {"struck": ["All was sent."]}) == []


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ScriptServer]:
    with ScriptServer(tmp_path) as serving:
        yield serving


def body_of(stage: Stage, prompt: str) -> dict[str, Any]:
    tool = {"type": "function", "function": {"name": "answer", "parameters": answer_schema(stage)}}
    return {"messages": [{"role": "user", "content": [{"type": "text", "text": prompt}]}], "tools": [tool]}


def ask(server: ScriptServer, body: Any) -> dict[str, Any]:
    told = server.variables()
    key = Path(told["STARLOOM_LLM_KEY_FILE"]).read_text()
    request = Request(  # noqa: S310 - the server of this test
        told["STARLOOM_LLM_URL"] + "/chat/completions", json.dumps(body).encode(), {"authorization": f"Bearer {key}"}
    )
    with urlopen(request, timeout=10) as answered:  # noqa: S310 - the server of this test
        found: dict[str, Any] = json.load(answered)
    return found


def say_of(answered: dict[str, Any]) -> Any:
    return json.loads(answered["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"])


def test_each_stage_is_known_by_the_answers_that_it_declares() -> None:
    calls = [msgspec.convert(body_of(stage, ""), Call) for stage in Stage]
    assert [stage_of(call) for call in calls] == list(Stage)
    assert stage_of(msgspec.convert({"tools": [{"function": {"name": "other"}}]}, Call)) == ""


def test_the_endpoint_says_the_lines_in_turn_and_ends_without_a_fault(server: ScriptServer) -> None:
    said = {"kind": "cannot", "text": "no"}
    server.begin(Script((Line(stage="planning", say=said, expects=["words"]), Line(stage="reviewing", say=said))))
    assert say_of(ask(server, body_of(Stage.PLANNING, "some words"))) == said
    assert server.end() == ["1 calls did not come: reviewing"]
    server.begin(Script((Line(stage="planning", say=said),)))
    ask(server, body_of(Stage.PLANNING, ""))
    assert server.end() == []
    assert server.end() == []


def test_a_prompt_that_lacks_something_gets_no_reply_and_is_told_at_the_end(server: ScriptServer) -> None:
    server.begin(Script((Line(stage="planning", say={"kind": "cannot", "text": "no"}, expects=["columns"]),)))
    with pytest.raises(HTTPError, match="409"):
        ask(server, body_of(Stage.PLANNING, "some words"))
    assert server.end() == [f"call 1 (planning): {LOST}: columns"]


def test_before_and_after_a_transcript_there_is_no_reply(server: ScriptServer) -> None:
    with pytest.raises(HTTPError, match="409"):
        ask(server, body_of(Stage.PLANNING, ""))
    assert server.end() == []
