"""Names of the hub for the completion of a shell: devices, constellations, recipes, schedules, tools.

A shell has no place for a problem: where no hub answers, nothing is completed. It is given only what it may type as it
stands, and words that it cannot run, because both are chosen by others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from shlex import quote
from typing import TYPE_CHECKING, Final

import typer

from starloom.client.discovery import find
from starloom.client.problems import Problem
from starloom.client.routes import get_capabilities, get_constellations, get_devices, get_recipes, get_schedules

if TYPE_CHECKING:
    from starloom.client.rest import Client

Found = list[tuple[str, str]]
"""Texts that may be typed, each with its words; a shell shows these where it can."""
_DULL: Final = {ord(sign): " " for sign in "\\$`[]"} | {ord("'"): "\u2019", ord('"'): "\u201d"}
"""zsh evaluates the words of a completion between double quotes; what Typer puts before a sign there, another sign or
markup takes away again."""


def devices(context: typer.Context) -> Found:
    return _words_of(context, lambda hub: ((row["name"], row["os"]) for row in hub.get(get_devices())["items"]))


def constellations(context: typer.Context) -> Found:
    return _words_of(
        context, lambda client: ((row["id"], row["name"]) for row in client.get(get_constellations())["items"])
    )


def recipes(context: typer.Context) -> Found:
    return _words_of(context, lambda hub: ((row["name"], row["title"]) for row in hub.get(get_recipes())["items"]))


def schedules(context: typer.Context) -> Found:
    return _words_of(context, lambda hub: ((row["name"], row["cron"]) for row in hub.get(get_schedules())["items"]))


def tools(context: typer.Context) -> Found:
    return _words_of(context, lambda hub: ((row["tool"], row["title"]) for row in hub.get(get_capabilities())["items"]))


def _words_of(context: typer.Context, read: Callable[[Client], Iterable[tuple[str, str]]]) -> Found:
    from starloom.client.rest import Client  # HTTP costs a quarter of a second to import

    try:
        client = Client(find(context.params.get("hub_")))
    except Problem:
        return []
    try:
        return [(name, _words(words)) for name, words in read(client) if quote(name) == name and name[0] not in "-="]
    except Problem:
        return []
    finally:
        client.close()


def _words(text: str) -> str:
    return "".join(sign if sign.isprintable() else " " for sign in text.translate(_DULL))
