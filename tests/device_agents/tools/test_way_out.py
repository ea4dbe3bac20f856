"""A failure of a tool names what is there in place of what was asked for, so that one who cannot look knows the way."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import Any

import pytest

from starloom_agent.toolkit.interface import ToolFailed
from starloom_agent.work.execution.outcomes import resolve_inputs
from starloom_protocol.values import canonical
from starloom_protocol.vocabulary import Code
from starloom_protocol.wire.frames import DispatchInput, InputPart
from tests.device_agents.tools.conftest import Device


def told(device: Device, tool: str, **args: Any) -> str:
    with pytest.raises(ToolFailed) as failed:
        device.call(tool, **args)
    return failed.value.detail


@pytest.mark.parametrize(
    ("tool", "args"),
    [
        ("fs.find", {"root": "documents"}),
        ("artifact.put", {"paths": ["Documents/shop.cfg"]}),
        ("sqlite.query", {"path": "Documents/order.db"}),
    ],
)
def test_a_name_that_is_not_there_is_answered_with_the_nearest(device: Device, tool: str, args: dict[str, str]) -> None:
    device.write("Documents/shop.conf", "x")
    device.write("Documents/orders.db", "x")
    nearest = {"fs.find": "'Documents'", "artifact.put": "'shop.conf'", "sqlite.query": "'orders.db'"}[tool]
    assert told(device, tool, **args).endswith(f"there is {nearest}")


def test_a_name_that_is_like_no_other_is_answered_without_one(device: Device) -> None:
    device.write("zebra/x.txt", "x")
    assert "there is" not in told(device, "fs.find", root="Documents")


def test_a_name_outside_of_the_granted_folders_tells_nothing_of_them(device: Device) -> None:
    (device.folder.parent / "Secrets").mkdir()
    said = told(device, "artifact.put", paths=["../Secret"])
    assert "Secrets" not in said.replace(str(device.folder), "")


def test_a_column_or_a_table_that_is_not_there_is_answered_with_those_that_are(device: Device) -> None:
    with closing(sqlite3.connect(device.folder / "shop.db")) as made, made:
        made.execute("CREATE TABLE orders (id INTEGER, placed TEXT)")
    for sql in ("SELECT date FROM orders", "SELECT 1 FROM order_lines"):
        said = told(device, "sqlite.query", path="shop.db", sql=sql)
        assert said.endswith("there is orders (id, placed)")


def test_many_tables_are_named_within_a_bound(device: Device) -> None:
    with closing(sqlite3.connect(device.folder / "shop.db")) as made, made:
        for number in range(60):
            made.execute(f"CREATE TABLE a_rather_long_name_of_a_table_{number} (id INTEGER, placed TEXT)")
    assert len(told(device, "sqlite.query", path="shop.db", sql="SELECT date FROM nothing")) < 800


def given(value: object, output: str) -> list[DispatchInput]:
    return [DispatchInput(name="x", parts=[InputPart(output=output, value=canonical(value))])]


@pytest.mark.parametrize(
    ("value", "output", "said"),
    [
        ({"files": [], "structured": {"name": "a"}}, "/structured/artifact", "'/structured' has 'name'"),
        ({"files": [{}]}, "/files/3", "'/files' is a list of 1"),
        ({"text": "a"}, "/text/0", "'/text' is no map and no list"),
        ({}, "/x", "the result has no names"),
    ],
)
def test_a_pointer_that_finds_nothing_says_what_is_there(value: object, output: str, said: str) -> None:
    with pytest.raises(ToolFailed) as failed:
        resolve_inputs(given(value, output))
    assert failed.value.code is Code.NO_VALUE
    assert failed.value.detail == f"input x: {output} finds nothing; {said}"
