"""Answers held to the types that their routes declare: each answer that a test gets from a world is one check more."""

from __future__ import annotations

from typing import Any

import httpx
import msgspec
from fastapi.routing import APIRoute

from starloom.edge.web.replies import response_type, shapes


async def held_to_its_type(app: Any, response: httpx.Response) -> None:
    """Read a good answer in JSON and compare it with the type of its route.

    Raises:
        AssertionError: a field is missing or of another type.
    """
    said = response.headers.get("content-type", "")
    if not response.is_success or not said.startswith("application/json"):
        return
    kind = declared(app, response.request.method, response.request.url.path)
    if kind is None:
        return
    document = msgspec.json.decode(await response.aread())
    faults = [fault for fault in (_fault(document, one) for one in shapes(kind)) if fault is not None]
    if len(faults) == len(shapes(kind)):
        where = f"{response.request.method} {response.request.url.path}"
        raise AssertionError(f"{where} does not answer by its type: {'; '.join(map(str, faults))}") from faults[0]


def _fault(document: Any, kind: Any) -> msgspec.ValidationError | None:
    try:
        msgspec.convert(document, kind)
    except msgspec.ValidationError as error:
        return error
    return None


def declared(app: Any, method: str, path: str) -> Any:
    """Return the type of the first route that takes a request; None without one."""
    for route in app.routes:
        if isinstance(route, APIRoute) and method in (route.methods or ()) and route.path_regex.match(path):
            return response_type(route.endpoint)
    return None
