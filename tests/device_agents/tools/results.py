"""Holds a real result of a tool against the schema that the tool offers for it."""

from __future__ import annotations

from functools import cache
from typing import Any

from jsonschema_rs import Draft202012Validator

from starloom_agent.toolkit.result_schemas import schema_of_result
from starloom_agent.work.registry import all_tools
from starloom_protocol.values import parse


@cache
def _validators() -> dict[str, Draft202012Validator]:
    return {tool.name: Draft202012Validator(parse(schema_of_result(tool))) for tool in all_tools()}


def faults(tool: str, value: Any) -> list[str]:
    """Return where a result is not as its tool says, each in words."""
    return [f"{tool}: {error.instance_path}: {error.message}" for error in _validators()[tool].iter_errors(value)]
