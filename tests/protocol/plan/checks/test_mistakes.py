"""Mistakes of people who write their first plans: each names its task and field, and what is right there."""

from __future__ import annotations

import pytest

from starloom_protocol.plan.checks.check import check_plan
from starloom_protocol.plan.language.document import DocumentRefused, read_document

HEAD = "starloom: 1\nname: m\ntasks:\n  - {id: a, tool: system.info}\n"


@pytest.mark.parametrize(
    ("row", "place", "right"),
    [
        ("{id: b, person: ok?, ask: jonas}", "tasks[1].ask", "Write `[jonas]`."),
        ("{id: b, person: ok?, choices: [go]}", "tasks[1].choices[0]", 'Write `{value: "go", label: go}`'),
        ("{id: b, person: ok?, choices: [yes]}", "tasks[1].choices[0]", 'Write `{value: "'),
        ("{id: 7, tool: t}", "tasks[1].id", 'Write it in quotes: `"7"`.'),
        ("{id: b, tool: t, any_of: {tool: t}}", "tasks[1].any_of", "Write a list"),
        ("{id: b, tool: t, timeouts: {start_to_close_s: 20m}}", "tasks[1].timeouts.start_to_close_s", "1200"),
        ("{id: b, tool: t, ask: [jonas]}", "tasks[1].ask", "Add `person`"),
        ('{id: b, tool: t, args: {text: "{{ a.system }}"}}', "tasks[1].args.text", "text: {from: a, output: /system}"),
        ('{id: b, tool: t, args: {to: ["${{ tasks.a.x.y }}"]}}', "tasks[1].args.to[0]", "to: {from: a, output: /x/y}"),
    ],
)
def test_a_mistake_names_its_place_and_what_is_right(row: str, place: str, right: str) -> None:
    found = check_plan(read_document(f"{HEAD}  - {row}\n")).faults
    assert [fault.place for fault in found] == [place]
    assert right in found[0].hint


@pytest.mark.parametrize(
    ("name", "kept"),
    [("Zo\N{LATIN SMALL LETTER E WITH DIAERESIS}", None), ("Ju\u0308rgen.G", "J\xfcrgen.G"), ("Анна", None)],
)
def test_a_question_goes_to_people_whatever_letters_their_names_have(name: str, kept: str | None) -> None:
    found = check_plan(read_document(f"{HEAD}  - {{id: b, person: ok?, ask: [{name}]}}\n"))
    assert found.faults == []
    assert found.plan is not None
    assert found.plan.specs[-1].ask == [kept or name]


@pytest.mark.parametrize("name", ['"Ann Lee"', '"a\u200bb"', '""', '"Аnn"'])
def test_a_name_that_nobody_can_have_is_refused(name: str) -> None:
    found = check_plan(read_document(f"{HEAD}  - {{id: b, person: ok?, ask: [{name}]}}\n")).faults
    assert [fault.place for fault in found] == ["tasks[1].ask[0]"]


@pytest.mark.parametrize(
    "args",
    [
        '{argv: [docker, ps, --format, "{{.Names}}"]}',
        '{argv: [sh, -c, "echo ${HOME} ${x.c}"]}',
        "{code: \"print(f'{{a.x}}')\"}",
        '{text: "one\\n{{ a.system }}"}',
        '{text: "{{ other.system }}"}',
    ],
)
def test_signs_of_other_languages_are_no_mistake(args: str) -> None:
    assert check_plan(read_document(f"{HEAD}  - {{id: b, tool: t, args: {args}}}\n")).faults == []


def test_a_tab_is_named_as_one() -> None:
    with pytest.raises(DocumentRefused) as refused:
        read_document(f"{HEAD}\t- {{id: b}}\n")
    assert (refused.value.fault.place, "by spaces" in refused.value.fault.hint) == ("line 5, column 1", True)
