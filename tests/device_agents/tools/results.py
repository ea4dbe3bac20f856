"""Holds a real result of a tool against the schema that the tool offers for it; makes the offer of a certain device."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest
from jsonschema_rs import Draft202012Validator

from starloom_agent.platforms import processes
from starloom_agent.policy import offers
from starloom_agent.policy.policy import Policy
from starloom_agent.toolkit.result_schemas import schema_of_result
from starloom_agent.work.registry import all_tools
from starloom_protocol.values import parse
from starloom_protocol.wire.frames import OfferFrame

TOOL_BYTES_MOST: Final = 1_120
"""The bytes of a tool in the offer at connect, on average. Most of them are the schema of its arguments.

The offer is one message, so words that one tool wastes are sent by every device at each connection.
"""
HOST: Final = {
    "agent": "0.1.0",
    "arch": "x86_64",
    "build": "0f6c3762",
    "disk_free_bytes": "64424509440",
    "hostname": "a-machine-with-a-rather-long-name.of-a-network.example",
    "os": "linux",
    "python": "3.11.7",
    "sandbox": "L1",
}


@cache
def _validators() -> dict[str, Draft202012Validator]:
    return {tool.name: Draft202012Validator(parse(schema_of_result(tool))) for tool in all_tools()}


def faults(tool: str, value: Any) -> list[str]:
    """Return where a result is not as its tool says, each in words."""
    return [f"{tool}: {error.instance_path}: {error.message}" for error in _validators()[tool].iter_errors(value)]


def offer_of_a_host(folder: Path) -> OfferFrame:
    """Return the offer of all tools from a host that is the same wherever the tests run: each tool works on it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(offers, "facts", lambda _folder, _sandbox: HOST)
        patch.setattr(offers, "probe", lambda _tool: None)
        patch.setattr(processes, "os_name", lambda: HOST["os"])
        return offers.make_offer(all_tools(), Policy(), slots=1, folder=folder)
