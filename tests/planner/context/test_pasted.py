"""The plan is found in whatever an assistant writes around it; faults become text that can be pasted back."""

from __future__ import annotations

import json

import pytest

from starloom.planner.context.brief import FAULTS_MOST, PASTED_CHARS_MAX, REPLY_CHARS_MAX, find_plan, reply_to
from starloom_protocol.plan import check_plan, read_document
from starloom_protocol.records.entities import Fault
from starloom_protocol.vocabulary import Code

PLAN = "starloom: 1\nname: A plan\ntasks:\n  - {id: a, tool: disk.usage}\n"
AS_JSON = json.dumps({"starloom": 1, "name": "A } plan", "tasks": [{"id": "a", "tool": "disk.usage"}]}, indent=1)


@pytest.mark.parametrize(
    "answer",
    [
        PLAN,
        f"```yaml\n{PLAN}```",
        f"Sure! Here it is:\n\n```yaml\n{PLAN}```\nIt uses `disk.usage`. {{Enjoy}}",
        f"~~~\n{PLAN}~~~\n",
        f"````yaml\n{PLAN}````",
        f"1. Save this:\n\n   ```yaml\n{''.join('   ' + line for line in PLAN.splitlines(True))}   ```\n",
        f"First look:\n```sh\nls -l\n```\nthen\n```yaml\n{PLAN}```",
        f"```json\n{AS_JSON}\n```",
        f"Of course. {AS_JSON} Tell me if it fails.",
        f"Of course.\n\n{PLAN}\nTell me if it fails.",
        f"\ufeff```yaml\r\n{PLAN.replace(chr(10), chr(13) + chr(10))}```\r\n",
        f"```yaml\n{PLAN}",
    ],
)
def test_the_plan_is_found(answer: str) -> None:
    found = find_plan(answer)
    assert found.fault is None
    checked = check_plan(read_document(found.text))
    assert checked.plan is not None, (found.text, checked.faults)


def test_a_block_without_an_end_says_so() -> None:
    assert find_plan(f"```yaml\n{PLAN}").cut
    assert not find_plan(f"```yaml\n{PLAN}```").cut


@pytest.mark.parametrize("answer", ["", "I cannot do that.", "Use disk.usage on every machine."])
def test_an_answer_without_a_plan_is_told(answer: str) -> None:
    found = find_plan(answer)
    assert found.fault is not None
    assert "no plan" in found.fault.reason


def test_the_block_that_is_meant_as_a_plan_is_the_one_whose_faults_are_told() -> None:
    found = find_plan("```sh\nls\n```\n```yaml\nstarloom: 1\ntasks: [\n```")
    assert found.text.startswith("starloom: 1")


@pytest.mark.parametrize(
    "answer",
    [
        "```\n" * 20_000,
        "`" * 900_000,
        '{"' + '\\"' * 450_000,
        "{" * 200_000,
        "starloom: 1\n" * 80_000,
        "x" * (PASTED_CHARS_MAX + 1),
    ],
)
def test_hostile_text_is_read_in_bounded_time(answer: str) -> None:
    assert find_plan(answer).fault or find_plan(answer).text is not None


def test_faults_are_told_with_place_and_way_out() -> None:
    checked = check_plan({"starloom": 1, "tasks": [{"id": "a", "tool": "x.y"}]}, known_tools={})
    assert checked.faults
    told = reply_to(checked.faults)
    assert "tasks[0].tool" in told
    assert told.startswith("Your plan has ")
    assert told.endswith("in one fenced block.")


def test_many_and_long_faults_stay_bounded_and_are_counted() -> None:
    faults = [Fault(code=Code.PLAN_INVALID, place=f"tasks[{at}]", reason="x\n" * 5000) for at in range(500)]
    told = reply_to(faults)
    assert len(told) < REPLY_CHARS_MAX + 1000
    shown = told.count("tasks[")
    assert 0 < shown <= FAULTS_MOST
    assert f"and {500 - shown} more" in told
