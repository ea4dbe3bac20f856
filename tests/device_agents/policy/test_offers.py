"""A device's offer says the same of a tool whatever the device runs on."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

from starloom_agent.policy.offers import schema_of
from starloom_agent.work.registry import all_tools
from starloom_protocol.values import parse


def test_the_schemas_of_tools_do_not_depend_on_the_version_of_python() -> None:
    """From 3.13 on Python removes the indentation of docstrings, and a fleet has devices of several versions."""
    texts = [text for tool in all_tools() for text in _descriptions(parse(schema_of(tool.args)))]
    assert len(texts) > 60
    assert [text for text in texts if text != inspect.cleandoc(text)] == []


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
