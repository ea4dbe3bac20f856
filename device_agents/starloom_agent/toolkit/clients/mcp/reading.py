"""The texts that an MCP server offers to read beside its tools: resources and prompts, their lists, and their bounds.

Pure: shapes what a server answered. All of it is data of the server: names and titles are one line each, an item that
is too long is left out, and the number of items has a bound.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NotRequired, TypedDict

from starloom_protocol.values import name_fault

ITEMS_MOST: Final = 500
"""A list is the result of a task; `complete` says whether the server has more."""
PAGES_MOST: Final = 20
"""A server that gives pages without end is asked for no more of them."""
URI_CHARS_MOST: Final = 2048
_LINE_CHARS: Final = 200
_ARGUMENTS_MOST: Final = 50

Ask = Callable[[str, dict[str, Any]], Mapping[str, Any]]
"""Sends one request of the protocol and returns its result."""


class ResourceLine(TypedDict):
    """A resource, or the form of the addresses of several (`templates`)."""

    bytes: NotRequired[int]
    media: str
    name: str
    title: str
    uri: str


class McpResources(TypedDict):
    """The resources that a server lists now. `complete`: it lists no others."""

    complete: bool
    resources: list[ResourceLine]
    templates: list[ResourceLine]


class PromptArgument(TypedDict):
    name: str
    needed: bool


class PromptLine(TypedDict):
    arguments: list[PromptArgument]
    name: str
    title: str


class McpPrompts(TypedDict):
    """The prompts that a server lists now. `complete`: it lists no others."""

    complete: bool
    prompts: list[PromptLine]


def resources_of(ask: Ask) -> McpResources:
    """Return the lists of resources and of their templates."""
    pages, all_pages = _pages(ask, "resources/list", "resources")
    forms, all_forms = _pages(ask, "resources/templates/list", "resourceTemplates")
    resources = [line for one in pages if (line := _resource(one, "uri")) is not None]
    templates = [line for one in forms if (line := _resource(one, "uriTemplate")) is not None]
    complete = all_pages and all_forms and len(resources) == len(pages) and len(templates) == len(forms)
    return {"complete": complete, "resources": resources, "templates": templates}


def prompts_of(ask: Ask) -> McpPrompts:
    """Return the list of prompts."""
    pages, all_pages = _pages(ask, "prompts/list", "prompts")
    prompts = [line for one in pages if (line := _prompt(one)) is not None]
    return {"complete": all_pages and len(prompts) == len(pages), "prompts": prompts}


def contents_of(result: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the parts of a resource that was read."""
    return list(_items(result.get("contents")))


def messages_of(result: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the parts of a prompt; each text begins with its role."""
    parts: list[dict[str, Any]] = []
    for message in _items(result.get("messages")):
        role = "assistant" if message.get("role") == "assistant" else "user"
        content = message.get("content")
        for part in content if isinstance(content, list) else [content]:
            if isinstance(part, dict):
                text = part.get("text")
                parts.append({**part, "text": f"{role}: {text}"} if isinstance(text, str) else part)
    return parts


def _pages(ask: Ask, method: str, key: str) -> tuple[list[dict[str, Any]], bool]:
    items: list[dict[str, Any]] = []
    cursor: Any = None
    for _ in range(PAGES_MOST):
        page = ask(method, {} if cursor is None else {"cursor": cursor})
        items += _items(page.get(key))
        cursor = page.get("nextCursor")
        if cursor is None or len(items) > ITEMS_MOST:
            break
    return items[:ITEMS_MOST], cursor is None and len(items) <= ITEMS_MOST


def _items(value: Any) -> Iterable[dict[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _resource(one: Mapping[str, Any], field: str) -> ResourceLine | None:
    uri = one.get(field)
    if not isinstance(uri, str) or not uri.isprintable() or not 0 < len(uri) <= URI_CHARS_MOST:
        return None
    line: ResourceLine = {
        "media": _line(one.get("mimeType")),
        "name": _line(one.get("name")),
        "title": _line(one.get("title") or one.get("description")),
        "uri": uri,
    }
    size = one.get("size")
    if isinstance(size, int) and not isinstance(size, bool) and size >= 0:
        line["bytes"] = size
    return line


def _prompt(one: Mapping[str, Any]) -> PromptLine | None:
    name = one.get("name")
    if not isinstance(name, str) or name_fault(name, most=_LINE_CHARS):
        return None
    arguments: list[PromptArgument] = [
        {"name": _line(part.get("name")), "needed": part.get("required") is True}
        for part in list(_items(one.get("arguments")))[:_ARGUMENTS_MOST]
    ]
    return {"arguments": arguments, "name": name, "title": _line(one.get("title") or one.get("description"))}


def _line(value: Any) -> str:
    """Return the first line of words of a server, as far as it can stand in a line."""
    lines = str(value or "").strip().splitlines()
    line = lines[0].strip()[:_LINE_CHARS] if lines else ""
    return "" if name_fault(line, most=_LINE_CHARS) else line
