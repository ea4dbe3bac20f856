"""Names of the hub for the completion of a shell: devices, constellations, recipes, schedules.

A shell has no place for a problem: where no hub answers, nothing is completed. It is given only what it may type as it
stands, because names are chosen by others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from shlex import quote
from typing import TYPE_CHECKING

import typer

from starloom.client.discovery import find
from starloom.client.problems import Problem
from starloom.client.routes import get_constellations, get_devices, get_recipes, get_schedules
from starloom_protocol.text.wording import escaped

if TYPE_CHECKING:
    from starloom.client.rest import Client

Found = list[tuple[str, str]]
"""What may be typed, each with its words; a shell shows these where it can."""


def devices(context: typer.Context) -> Found:
    return _named(context, lambda hub: ((one["name"], one["os"]) for one in hub.get(get_devices())["items"]))


def constellations(context: typer.Context) -> Found:
    return _named(
        context, lambda client: ((one["id"], one["name"]) for one in client.get(get_constellations())["items"])
    )


def recipes(context: typer.Context) -> Found:
    return _named(context, lambda hub: ((one["name"], one["title"]) for one in hub.get(get_recipes())["items"]))


def schedules(context: typer.Context) -> Found:
    return _named(context, lambda hub: ((one["name"], one["cron"]) for one in hub.get(get_schedules())["items"]))


def _named(context: typer.Context, read: Callable[[Client], Iterable[tuple[str, str]]]) -> Found:
    from starloom.client.rest import Client  # HTTP costs a quarter of a second to import

    try:
        client = Client(find(context.params.get("hub_")))
    except Problem:
        return []
    try:
        return [(name, escaped(words)) for name, words in read(client) if quote(name) == name]
    except Problem:
        return []
    finally:
        client.close()
