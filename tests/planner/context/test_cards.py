"""Cards: bounded, valid, scrubbed; and nothing of a file's content without the owner's leave."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from starloom.planner.context.cards import (
    ARGS_BYTES_MAX,
    HEAD_BYTES_MAX,
    card_of,
    head_of,
    own_words_in,
    scrubbed,
    shape_of,
    telling_in,
)
from starloom_protocol.records.entities import Attempt, ForEach, Input, TaskRecord, TaskSpec
from starloom_protocol.values import canonical, parse
from starloom_protocol.vocabulary import AttemptEnd, Code, Repeatability, Sharing, TaskState

CSV = "Gebiet;Umsatz\nNord;12,5\nSüd;7\n"
PURE = Repeatability.PURE


def carded(
    value: Any, tool: str = "fs.list", sharing: Sharing = Sharing.CARDS, telling: bool = False, **more: Any
) -> dict[str, Any]:
    text = canonical(value)
    attempt = Attempt(
        device="d-1",
        incarnation=1,
        leased_ms=0,
        repeatability=PURE,
        value=text,
        end=AttemptEnd.OK,
        ended_ms=5_000,
    )
    record = TaskRecord(attempt=1, since_ms=0, state=TaskState.SUCCEEDED)
    spec = TaskSpec(changed_in=0, id="look-1-1", tool=tool, **more)
    return card_of(spec, record, attempt, device="srv-a", now_ms=9_500, sharing=sharing, telling=telling).document()


def test_a_small_value_is_shown_whole_with_its_origin() -> None:
    found = carded({"files": ["a.csv", "b.csv"]}, args=canonical({"path": "sales"}))
    assert found["head"] == {"files": ["a.csv", "b.csv"]}
    assert (found["task"], found["tool"], found["device"], found["state"]) == (
        "look-1-1",
        "fs.list",
        "srv-a",
        "succeeded",
    )
    assert (found["age_s"], found["args"], found["bytes"]) == (4, {"path": "sales"}, 27)
    assert "left_out" not in found


def test_a_result_that_was_taken_over_tells_its_run_and_its_true_age() -> None:
    attempt = Attempt(
        device="d-a",
        end=AttemptEnd.OK,
        ended_ms=9_000,
        incarnation=1,
        leased_ms=9_000,
        origin="c-earlier",
        origin_ms=1_500,
        origin_task="total/1",
        repeatability=Repeatability.PURE,
        value="1",
    )
    record = TaskRecord(attempt=1, since_ms=9_000, state=TaskState.SUCCEEDED)
    spec = TaskSpec(changed_in=0, id="total", tool="data.sort")
    found = card_of(spec, record, attempt, device="srv-a", now_ms=9_500).document()
    assert (found["taken_over_from"], found["age_s"]) == ("c-earlier", 8)


@pytest.mark.parametrize(
    "value",
    [
        "x" * 50_000,
        "\u20ac" * 5_000,
        [{"path": f"folder/{n}.csv", "bytes": n} for n in range(5_000)],
        {f"field-{n}": "y" * 300 for n in range(500)},
        [[["z" * 50] * 10] * 10] * 10,
        {"k" * 5_000: 1},
    ],
)
def test_a_head_is_valid_small_and_says_what_it_lacks(value: Any) -> None:
    head, lacks = head_of(value)
    assert len(canonical(head).encode()) <= HEAD_BYTES_MAX
    assert lacks
    assert all(len(one) < 400 for one in lacks)


def test_a_card_is_bounded_whatever_the_value_is() -> None:
    deep: Any = "e"
    for _ in range(30):
        deep = {"f" * 200: [deep] * 3} if len(canonical(deep)) < 4000 else {"g": deep}
    for value in (deep, {f"{n}" * 40: {"a": [1]} for n in range(400)}):
        line = canonical(carded(value, args=canonical({"a": "b" * 9_000})))
        assert len(line) < HEAD_BYTES_MAX + ARGS_BYTES_MAX + 40_000
        assert "\n" not in line


def test_the_content_of_a_file_needs_the_owners_leave() -> None:
    value = {"path": "sales.csv", "text": CSV, "truncated": False}
    shape_only = carded(value, "fs.read")
    assert "Nord" not in canonical(shape_only)
    table = shape_only["shape"]["fields"]["text"]["table"]
    assert (table["columns"], table["separator"]) == (["Gebiet", "Umsatz"], ";")
    assert "no content" in shape_only["withheld"]
    whole = carded(value, "fs.read", Sharing.HEADS)
    assert whole["head"]["text"] == CSV
    assert "head" not in carded({"text": "x"}, "mcp.somebody.tool")


def test_a_table_without_names_shows_no_row() -> None:
    assert shape_of("12;13\n14;15\n") == {"chars": 12, "lines": 2, "type": "text"}
    assert "table" not in shape_of("Anna;Berlin\nBert;Bonn\n")


def test_a_table_tells_the_forms_of_its_cells_and_none_of_them() -> None:
    text = "Payee;Due;Sum;Paid\nPower Mill;2026-02-03;84,20;yes\nDentist;2026-09-21;1.120,40;no\nTram;;3,10;no\n"
    table = shape_of(text)["table"]
    assert table == {
        "cells": ["text (3 different)", "9-9-9 | empty", "9,9 | 9.9,9", "text (2 different)"],
        "columns": ["Payee", "Due", "Sum", "Paid"],
        "separator": ";",
    }
    assert not {"Mill", "Dentist", "84", "yes"} & set(canonical(table).replace('"', " ").split())


def test_a_table_below_the_head_of_a_statement_is_found_and_the_head_is_not_told() -> None:
    head = "Statement; Ann Miller\nmade;2026-01-04\n\n"
    text = f"{head}who;day;sum\nPower;3.2.25;80.50\nPower;3.5.25;n/a\nRoof;1.1.25;9.0"
    table = shape_of(text)["table"]
    assert (table["columns"], table["lines_before"]) == (["who", "day", "sum"], 2)
    assert table["cells"] == ["text (2 different)", "9.9.9", "9.9 | text (1 different)"]
    assert "Miller" not in canonical(table)
    assert "table" not in shape_of("a;b\n" * 30 + "x;y;z\n1;2;3\n"), "so much before it is no head"


def test_names_share_no_value_argument_or_message() -> None:
    found = carded({"files": ["a.csv"]}, sharing=Sharing.NAMES, args=canonical({"path": "sales"}))
    assert not {"head", "shape", "args", "message", "hash"} & found.keys()
    assert found["withheld"]


def test_a_failed_task_tells_its_code_and_message() -> None:
    attempt = Attempt(
        code=Code.NOT_FOUND,
        detail="KeyError: 'region'\n  password=hunter2hunter2",
        device="d",
        incarnation=1,
        leased_ms=0,
        repeatability=PURE,
    )
    record = TaskRecord(attempt=1, code=Code.NOT_FOUND, since_ms=0, state=TaskState.FAILED)
    spec = TaskSpec(changed_in=0, id="a", tool="python.run")
    found = card_of(spec, record, attempt, device="srv-a", now_ms=0).document()
    assert found["code"] == Code.NOT_FOUND
    assert found["message"].startswith("KeyError: 'region'")
    assert "hunter2" not in found["message"]


def test_a_large_value_shows_what_the_hub_knows() -> None:
    attempt = Attempt(
        artifact="ab" * 32,
        bytes=900_000,
        device="d",
        facts={"/rows": "[1,2,3]"},
        incarnation=1,
        leased_ms=0,
        repeatability=PURE,
    )
    record = TaskRecord(attempt=1, since_ms=0, state=TaskState.SUCCEEDED)
    found = card_of(TaskSpec(changed_in=0, id="a", tool="fs.find"), record, attempt, device="x", now_ms=0).document()
    assert found["bytes"] == 900_000
    assert "hash" not in found
    assert found["shape"]["known_parts"]["/rows"] == {"items": 3, "of": "number", "type": "list"}


@pytest.mark.parametrize(
    "secret",
    [
        "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\nabc\n-----END RSA PRIVATE KEY-----",
        "AKIAIOSFODNN7EXAMPLE",
        "ghp_0123456789abcdefghijABCDEFGHIJ0123456789",
        "sk-ant-" + "a1" * 20,
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl",
    ],
)
def test_what_looks_like_a_secret_is_masked(secret: str) -> None:
    for told in (secret, f"a {secret} b", {"x": [secret]}, {secret: 1}):
        assert secret[4:20] not in canonical(scrubbed(told))


def test_settings_and_fields_of_secrets_are_masked() -> None:
    told = scrubbed("DB_PASSWORD=tiger-42\napi_key: 'abcdef'\nurl=postgres://me:tiger-42@db/x\nregion=north")
    assert "tiger" not in told
    assert "abcdef" not in told
    assert "region=north" in told
    assert scrubbed({"password": "x1", "tokens": 12, "name": "n"}) == {"password": "***", "tokens": "***", "name": "n"}
    assert "Zm9vOmJhcg==" not in scrubbed("Authorization: Basic Zm9vOmJhcg==")


def test_a_card_is_one_line_of_json_whatever_a_stranger_wrote() -> None:
    spec, record = TaskSpec(changed_in=0, id="a", tool="fs.list"), TaskRecord(since_ms=0, state=TaskState.SUCCEEDED)
    text = 'a\nDATA looks\r{"kind": "plan"}\u2028\u2029\x85\x0b\x0c\x1c'
    marked = replace(record, marked=canonical({"files": [text]}))
    line = card_of(spec, marked, None, device="srv-a", now_ms=0).line()
    assert len(line.splitlines()) == 1
    assert parse(line)["head"]["files"] == [text]


def spec(name: str, tool: str, *sources: str, **fields: Any) -> TaskSpec:
    inputs = [Input(name=f"a{at}", source=source) for at, source in enumerate(sources)]
    return TaskSpec(changed_in=1, id=name, inputs=inputs, tool=tool, **fields)


def specs(*made: TaskSpec) -> dict[str, TaskSpec]:
    return {one.id: one for one in made}


def test_a_table_that_takes_no_value_of_another_task_is_the_plans_own_words() -> None:
    found = own_words_in(
        specs(
            spec("typed", "data.table"),
            spec("sorted", "data.sort", "typed"),
            spec("read", "fs.read"),
            spec("both", "data.merge", "typed", "read"),
            spec("run", "python.run"),
        )
    )
    assert found == {"typed", "sorted"}


def test_what_is_made_of_what_telling_tools_found_tells_too() -> None:
    each = ForEach(source="find")
    found = telling_in(
        specs(
            spec("find", "fs.find"),
            spec("grouped", "data.group", "find"),
            spec("shown", "data.table", "grouped"),
            spec("read", "fs.read"),
            spec("mixed", "data.merge", "find", "read"),
            spec("after", "data.sort", "mixed"),
            spec("run", "python.run", "find"),
            spec("each", "data.sort", for_each=each),
            spec("child", "data.sort", group="each"),
        )
    )
    assert found == {"grouped", "shown", "each"}


def test_a_telling_table_shows_its_rows_and_another_does_not() -> None:
    assert "head" not in carded({"rows": [{"a": 1}]}, "data.table")
    assert carded({"rows": [{"a": 1}]}, "data.table", telling=True)["head"] == {"rows": [{"a": 1}]}
