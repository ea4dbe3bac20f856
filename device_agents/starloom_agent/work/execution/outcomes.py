"""The value rules of the contract: from inputs to arguments, and from a value to the fields of a result. Pure.

Used by the tool process and by the agent itself for tools that run in its own loop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from starloom_agent.toolkit.interface import ArgsType, ToolFailed
from starloom_protocol.text.scrubbing import Scrubber
from starloom_protocol.text.wording import quoted
from starloom_protocol.values import (
    FACT_LIST_BYTES_MAX,
    FACT_LIST_ITEMS_MAX,
    FACT_SCALAR_BYTES_MAX,
    MISSING,
    VALUE_DEPTH_MAX,
    canonical,
    depth_of,
    parse,
    point,
)
from starloom_protocol.vocabulary import Code
from starloom_protocol.wire.frames import DispatchInput

_NAMED_MOST = 12
_NAME_CHARS = 64
FACTS_BYTES_MAX = 700 * 1024
"""One frame has to hold them beside the result: the hub refuses a message of more than 1 MiB."""


def _no_artifact(sha256: str) -> Any:
    raise ToolFailed(Code.TOOL_FAILED, f"artifact {sha256} is needed but this tool runs in the agent", effect=False)


def _what_is_there(whole: Any, pointer: str) -> str:
    """Return what stands where a pointer leaves a result: the names of a map, or how long a list is."""
    way = ""
    for step in pointer.split("/")[1:]:
        following = f"{way}/{step}"
        if point(whole, following) is MISSING:
            break
        way = following
    value, where = point(whole, way), quoted(way) if way else "the result"
    if isinstance(value, dict):
        names = ", ".join(quoted(name[:_NAME_CHARS]) for name in sorted(value)[:_NAMED_MOST])
        return f"; {where} has {names or 'no names'}"
    return f"; {where} is a list of {len(value)}" if isinstance(value, list) else f"; {where} is no map and no list"


def resolve_inputs(inputs: Iterable[DispatchInput], load: Callable[[str], Any] = _no_artifact) -> dict[str, Any]:
    """Return the value of each input by name; `load` gives the JSON value of an artifact.

    Raises:
        ToolFailed: `no_value` for a pointer that finds nothing, `not_a_list` where lists are to be joined.
    """
    resolved: dict[str, Any] = {}
    for item in inputs:
        values = []
        for part in item.parts:
            whole = (
                load(part.artifact) if part.value is None and part.artifact is not None else parse(part.value or "null")
            )
            value = point(whole, part.output)
            if value is MISSING:
                reason = f"input {item.name}: {part.output} finds nothing{_what_is_there(whole, part.output)}"
                raise ToolFailed(Code.NO_VALUE, reason, effect=False)
            values.append(value)
        if item.flatten:
            joined: list[Any] = []
            for value in values:
                if not isinstance(value, list):
                    raise ToolFailed(
                        Code.NOT_A_LIST,
                        f"input {item.name}: {type(value).__name__} is not a list to join",
                        effect=False,
                    )
                joined += value
            resolved[item.name] = joined
        elif item.many:
            resolved[item.name] = values
        else:
            resolved[item.name] = values[0] if values else None
    return resolved


def arguments(kind: ArgsType, args: Mapping[str, Any], inputs: Mapping[str, Any]) -> Any:
    """Return the tool's arguments: `args` with the inputs laid over them by name.

    Raises:
        ToolFailed: `bad_arguments` with the field at fault.
    """
    try:
        return msgspec.convert({**args, **inputs}, kind)
    except msgspec.ValidationError as error:
        fields = msgspec.structs.fields(kind) if issubclass(kind, msgspec.Struct) else ()
        names = ", ".join(field.encode_name for field in fields) or "none"
        raise ToolFailed(Code.BAD_ARGUMENTS, f"{error}. The arguments of this tool: {names}", effect=False) from error


def canonical_value(value: Any) -> str:
    """Return the canonical text of a tool's result.

    Raises:
        ToolFailed: if it is no JSON value or nests too deeply.
    """
    try:
        plain = msgspec.to_builtins(value)
        if depth_of(plain) > VALUE_DEPTH_MAX:
            raise ToolFailed(Code.TOOL_FAILED, f"the tool's value nests deeper than {VALUE_DEPTH_MAX} levels")
        return canonical(plain)
    except (TypeError, ValueError, RecursionError) as error:
        raise ToolFailed(Code.TOOL_FAILED, f"the tool's value is not JSON: {error}") from error


def facts_of(value: Any, wants: Iterable[str]) -> tuple[dict[str, str], dict[str, int]]:
    """Return the facts that the pointers find, and for those too big to carry their size in bytes.

    A map counts as a scalar. All facts together stay below what one frame holds: the biggest go first.
    """
    facts: dict[str, str] = {}
    too_big: dict[str, int] = {}
    for pointer in wants:
        part = point(value, pointer)
        if part is MISSING:
            continue
        text = canonical(part)
        size = len(text.encode())
        if isinstance(part, list):
            fits = len(part) <= FACT_LIST_ITEMS_MAX and size <= FACT_LIST_BYTES_MAX
        else:
            fits = size <= FACT_SCALAR_BYTES_MAX
        if fits:
            facts[pointer] = text
        else:
            too_big[pointer] = size
    # Inside a frame the text is a JSON string: quotes and backslashes double.
    sizes = {pointer: len(msgspec.json.encode(text)) for pointer, text in facts.items()}
    while sum(sizes.values()) > FACTS_BYTES_MAX:
        biggest = max(sizes, key=lambda pointer: sizes[pointer])
        too_big[biggest] = len(facts.pop(biggest).encode())
        del sizes[biggest]
    return facts, too_big


def too_long(value: Any, pointers: Iterable[str]) -> str:
    """Return how many entries the lists have that are longer than a fact may be; empty where none is."""
    lists = [(pointer, entries) for pointer in pointers if isinstance(entries := point(value, pointer), list)]
    long = [
        f"{pointer or 'the result'} has {len(entries):,} entries"
        for pointer, entries in lists
        if len(entries) > FACT_LIST_ITEMS_MAX
    ]
    return ", ".join(long)


def scrub(text: str, secrets: Iterable[str]) -> str:
    """Replace every secret value in every form that `scrubbing` knows."""
    return Scrubber(secrets).text(text)
