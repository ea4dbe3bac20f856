"""The secrets in a call's arguments: their places are checked before it begins; the tool's process fills them in.

Everything between - policy, questions to the owner, decision records, ledger - sees `secret:NAME` in their place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from starloom_agent.toolkit.interface import Tool, takes_secrets
from starloom_protocol.values import parse

_HANDLE_MARK = "#"


def name_of(handle: str) -> str:
    """Return a secret's name; the hub puts a random mark behind it, so that no output can spell one."""
    return handle.partition(_HANDLE_MARK)[0]


def shown_args(args: str, secrets: Mapping[str, str]) -> Any:
    """Return arguments as policy and people see them."""
    plain = parse(args)
    return _replaced(plain, secrets, lambda handle: f"secret:{name_of(handle)}") if secrets else plain


def filled_args(args: str, secrets: Mapping[str, str]) -> Any:
    """Return arguments with the values of secrets. Only for the process of the tool."""
    plain = parse(args)
    return _replaced(plain, secrets, secrets.__getitem__) if secrets else plain


def misplaced(tool: Tool, args: str, secrets: Mapping[str, str]) -> str | None:
    """Return in words which secret stands where the tool takes none; None if all is well."""
    plain = parse(args) if secrets else {}
    takes = takes_secrets(tool.args)
    for argument, value in plain.items() if isinstance(plain, dict) else ():
        handle = None if argument in takes else _first(value, secrets)
        if handle is not None:
            where = " or ".join(f"`{name}`" for name in sorted(takes)) or "none of its arguments"
            return f"{tool.name} takes no secret in `{argument}` ({name_of(handle)}); it takes one in {where}"
    return None


def _is_node(value: Any, secrets: Mapping[str, str]) -> bool:
    return isinstance(value, dict) and value.keys() == {"secret"} and value["secret"] in secrets


def _replaced(value: Any, secrets: Mapping[str, str], by: Callable[[str], str]) -> Any:
    if _is_node(value, secrets):
        return by(value["secret"])
    if isinstance(value, dict):
        return {key: _replaced(item, secrets, by) for key, item in value.items()}
    if isinstance(value, list):
        return [_replaced(item, secrets, by) for item in value]
    return value


def _first(value: Any, secrets: Mapping[str, str]) -> str | None:
    if _is_node(value, secrets):
        handle: str = value["secret"]
        return handle
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return next((first for item in items if (first := _first(item, secrets)) is not None), None)
