"""The JSON schemas of tools' results, made from the types that the tools' functions return. Pure.

Imported by offers and generated files; a tool process does not need it.
"""

from __future__ import annotations

import functools
from types import UnionType
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import msgspec

from starloom_agent.toolkit.interface import Tool
from starloom_agent.toolkit.results import OPEN_ENDED
from starloom_protocol.values import canonical


@functools.cache
def result_schema(kind: Any) -> str:
    """Return the canonical text of the JSON schema of a result type; no other fields than those of the type exist."""
    open_ended = get_origin(kind) is Annotated and OPEN_ENDED in kind.__metadata__
    plain = get_args(kind)[0] if open_ended else kind
    # msgspec makes no schema of a union of such types.
    forms = get_args(plain) if isinstance(plain, UnionType) else (plain,)
    parts, schemas = msgspec.json.schema_components(forms, ref_template="#/$defs/{name}")
    definitions = {name: _closed(part) for name, part in schemas.items()}
    if open_ended:
        definitions[plain.__name__]["additionalProperties"] = True
    whole = {"$defs": definitions, **(parts[0] if len(parts) == 1 else {"anyOf": list(parts)})}
    return canonical(whole)


def schema_of_result(tool: Tool) -> str:
    """Return the text of the schema of a tool's result: its own, else that of the type that its function returns.

    Raises:
        TypeError: the function does not say what it returns.
    """
    if tool.settings:
        return tool.returns
    hints = get_type_hints(tool.run, include_extras=True)
    if "return" not in hints:
        raise TypeError(f"{tool.name}: `run` must declare the type of its result, a TypedDict")
    return result_schema(hints["return"])


def _closed(node: Any) -> Any:
    """Return a schema without the texts for people, and without room for unnamed fields."""
    if isinstance(node, list):
        return [_closed(item) for item in node]
    if not isinstance(node, dict):
        return node
    closed = {name: _closed(item) for name, item in node.items() if name not in ("title", "description", "default")}
    if isinstance(node.get("properties"), dict):
        closed["properties"] = {name: _closed(item) for name, item in node["properties"].items()}
        closed.setdefault("additionalProperties", False)
    return closed
