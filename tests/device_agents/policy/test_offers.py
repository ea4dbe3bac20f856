"""A device's offer says the same of a tool whatever the device runs on."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

import starloom_agent
from starloom_agent.policy.offers import NO_ROOM, build, facts, make_offer, schema_of
from starloom_agent.policy.policy import Policy
from starloom_agent.work.registry import all_tools
from starloom_protocol.values import parse
from starloom_protocol.wire.codec import MESSAGE_BYTES_MAX, frame_bytes


def test_the_schemas_of_tools_do_not_depend_on_the_version_of_python() -> None:
    """From 3.13 on Python removes the indentation of docstrings, and a fleet has devices of several versions."""
    texts = [text for tool in all_tools() for text in _descriptions(parse(schema_of(tool.args)))]
    assert len(texts) > 60
    assert [text for text in texts if text != inspect.cleandoc(text)] == []


def test_the_build_changes_with_the_code_and_with_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert facts(tmp_path)["build"] == build()
    (tmp_path / "__init__.py").write_text("a = 1")
    monkeypatch.setattr(starloom_agent, "__file__", str(tmp_path / "__init__.py"))
    stamp = build.__wrapped__
    first = stamp()
    (tmp_path / "__init__.pyc").write_text("compiled")
    assert stamp() == first
    (tmp_path / "__init__.py").write_text("a = 2")
    assert stamp() != first
    assert len(first) == 8


def test_tools_that_one_message_does_not_hold_are_unavailable(tmp_path: Path) -> None:
    own = all_tools()[0]
    many = [replace(own, name=f"mcp.s.t{number}", schema=f'{{"d":"{"x" * 30_000}"}}') for number in range(200)]
    frame = make_offer([own, *many], Policy(), slots=1, folder=tmp_path)
    assert len(frame.offer.tools) == 201
    assert frame_bytes(frame) < MESSAGE_BYTES_MAX
    assert [NO_ROOM in (tool.unavailable or "") for tool in frame.offer.tools] == [False] * 22 + [True] * 179


def _descriptions(schema: Any) -> Iterator[str]:
    if isinstance(schema, list):
        for item in schema:
            yield from _descriptions(item)
    elif isinstance(schema, dict):
        for name, value in schema.items():
            if name == "description" and isinstance(value, str):
                yield value
            else:
                yield from _descriptions(value)


def test_an_argument_that_the_hub_alone_gives_is_in_no_offer() -> None:
    for tool in all_tools():
        if tool.name in ("fs.trash", "fs.restore"):
            assert issubclass(tool.args, msgspec.Struct)
            assert "left_by" in tool.args.__struct_fields__
            assert "left_by" not in schema_of(tool.args)
