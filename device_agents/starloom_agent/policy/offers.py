"""The offer of this device: tools with their schemas, the reasons why some are unavailable, facts, grants, slots.

Probes run in a thread of the caller's choice and have no effect; a probe that fails makes its tool unavailable.
"""

from __future__ import annotations

import functools
import hashlib
import platform
import shutil
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import msgspec

import starloom_agent
from starloom_agent.platforms import processes
from starloom_agent.policy.policy import SHELL_RUN, Policy, cage_for, why_not_offered
from starloom_agent.sandbox.levels import NOT_TRIED, UNCONFINED, Sandbox
from starloom_agent.toolkit.interface import ArgsType, Tool
from starloom_agent.toolkit.result_schemas import schema_of_result
from starloom_agent.toolkit.running import display
from starloom_protocol.records.entities import Offer, ToolOffer
from starloom_protocol.tools.results import name_of
from starloom_protocol.values import canonical, list_key
from starloom_protocol.vocabulary import NO_NOTICES, NOTICES, Effect
from starloom_protocol.wire.frames import OfferFrame

TOOLS_BYTES_MOST: Final = 640 * 1024
"""An offer is one message of 1 MiB; the rest is room for the names of tools without a place, facts and grants."""
NO_ROOM: Final = "this device offers more tools than one message holds; name fewer MCP servers for it"


def open_schema(kind: ArgsType) -> dict[str, Any]:
    """Return the JSON schema of a tool's arguments without those that the hub alone gives (`HUB_ONLY`)."""
    schema: dict[str, Any] = msgspec.json.schema(kind)
    for part in schema["$defs"].values():
        fields = part.get("properties", {})
        for name in [name for name, field in fields.items() if field.get("readOnly")]:
            del fields[name]
    return schema


@functools.cache
def schema_of(kind: ArgsType) -> str:
    """Return the canonical text of the JSON schema of a tool's arguments.

    It is short because all tools go into one message: shared parts have no title, and no default that is empty.
    """
    schema = open_schema(kind)
    parts = {name: _terse(part, keeps_defaults=name == kind.__name__) for name, part in schema["$defs"].items()}
    return canonical({**schema, "$defs": parts})


def _terse(part: dict[str, Any], *, keeps_defaults: bool) -> dict[str, Any]:
    """Return a part of a schema without its title; without defaults that are empty unless it `keeps_defaults`.

    Its description is one line. Python keeps the indentation of a docstring up to 3.12 only: with it, two devices would
    offer one tool with two schemas.
    """
    short = {word: value for word, value in part.items() if word != "title" and (word, value) != ("required", [])}
    if "description" in part:
        short["description"] = " ".join(part["description"].split())
    if not keeps_defaults and "properties" in part:
        short["properties"] = {
            name: {word: value for word, value in field.items() if word != "default" or value}
            for name, field in part["properties"].items()
        }
    return short


def no_runner() -> str | None:
    """Return why this system can run no tool at all, or None: each tool needs a runner that surely ends all of it."""
    if sys.platform == "win32":
        return "on Windows this agent cannot end all of a tool's processes for sure yet, so it runs none; use WSL 2"
    return None


def probe(tool: Tool) -> str | None:
    """Return why a tool cannot work here; an exception of its probe is such a reason."""
    reason = None if tool.in_process else no_runner()
    if reason is not None:
        return reason
    try:
        return tool.probe()
    except Exception as error:
        return f"its probe failed: {type(error).__name__}: {error}"


def effects_of(tool: Tool, policy: Policy, sandbox: Sandbox) -> list[Effect]:
    """Return the effects of a tool here: a program without the cage that bounds it may have any."""
    if tool.caged and cage_for(policy, tool, sandbox) == UNCONFINED:
        return list(Effect)
    return list(tool.effects)


def effects_by(tool: Tool, policy: Policy) -> dict[str, dict[str, list[Effect]]]:
    """Return how arguments narrow the effects of a tool here.

    A command that its owner typed whole, with the most that it may do, does no more. One with patterns is left out: the
    hub chooses a part of its words. So is one with a folder of its own, whose files decide what the command does.
    """
    if tool.grant == SHELL_RUN:
        typed = [rule for rule in policy.commands if rule.effects and rule.typed and not rule.cwd]
        declared = {list_key(rule.plain()): list(rule.effects) for rule in typed}
        return {"argv": declared} if declared else {}
    return {
        argument: {value: list(effects) for value, effects in by_value.items()}
        for argument, by_value in tool.effects_by.items()
    }


@functools.cache
def build() -> str:
    """Return a stamp of the agent's own code, the same for a checkout and a wheel made of it.

    Two builds of one version differ in it. It tells nothing of which is older: an installed program has no date.
    """
    root, digest = Path(starloom_agent.__file__).parent, hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        digest.update(f"{path.relative_to(root).as_posix()} {hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return digest.hexdigest()[:8]


def facts(folder: Path, sandbox: Sandbox = NOT_TRIED) -> dict[str, str]:
    """Return the facts that the hub may show and select by."""
    return {
        "agent": starloom_agent.__version__,
        "arch": platform.machine(),
        "build": build(),
        # Rounded to GiB, so that an offer does not change with every file.
        "disk_free_bytes": str(shutil.disk_usage(folder).free >> 30 << 30),
        "hostname": platform.node(),
        "os": processes.os_name(),
        "python": platform.python_version(),
        "sandbox": sandbox.level,
    }


def _in_one_message(offered: list[ToolOffer]) -> list[ToolOffer]:
    """Return the tools; those that an offer has no room for, such as the last of many MCP servers, are unavailable."""
    fitting, room = [], TOOLS_BYTES_MOST
    for tool in offered:
        room -= len(msgspec.json.encode(tool))
        if room < 0:
            tool = ToolOffer(effects=tool.effects, name=tool.name, title=tool.title, unavailable=NO_ROOM)
        fitting.append(tool)
    return fitting


def make_offer(
    tools: Iterable[Tool],
    policy: Policy,
    *,
    slots: int,
    folder: Path,
    sandbox: Sandbox = NOT_TRIED,
    answered: str = "",
    placed: Mapping[str, str] = MappingProxyType({}),
) -> OfferFrame:
    """Return the current offer. `answered` changes with each answer of the owner: the hub then tries the waiting work
    again. `placed` says where the program lies, for lines that are typed here."""
    offered = [
        ToolOffer(
            args=tool.schema or schema_of(tool.args),
            effects=effects_of(tool, policy, sandbox),
            effects_by=effects_by(tool, policy),
            grant=tool.grant,
            name=tool.name,
            repeatability=tool.repeatability,
            returns=tool.returns if tool.settings else name_of(schema_of_result(tool)),
            self_verified=tool.self_verified,
            stands_for=tool.stands_for,
            title=tool.title,
            unavailable=probe(tool) or why_not_offered(policy, tool, sandbox),
        )
        for tool in tools
    ]
    offered = _in_one_message(offered)
    all_facts = {**facts(folder, sandbox), **placed}
    if not display.notice_program():
        all_facts[NOTICES] = NO_NOTICES
    if answered:
        all_facts["answered"] = answered
    plain = Offer(digest="", facts=all_facts, grants=sorted(policy.allowed), slots=slots, tools=offered)
    digest = hashlib.sha256(msgspec.json.encode(plain)).hexdigest()[:32]
    return OfferFrame(
        offer=msgspec.structs.replace(plain, digest=digest),
        os=processes.os_name(),
        policy_digest=policy.digest,
        profile=policy.profile,
    )
