"""Direct calls of endpoints for valid requests; FastAPI reads all others, and reports their errors.

FastAPI's own way to an endpoint is long, because it supports every kind of parameter. Most routes here take the
request, parts of the path, and one body of JSON.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Coroutine
from functools import lru_cache
from typing import Any

from fastapi import Request
from fastapi.routing import APIRoute
from starlette.responses import Response

from starloom.edge.web.replies import response_type

Handler = Callable[[Request], Coroutine[Any, Any, Response]]


def directly(route: APIRoute, handle: Handler) -> Handler:
    """Return `handle`, or a faster equivalent, for a route whose parameters are simple enough.

    `handle` itself refuses every request that it would refuse without this.
    """
    takes, body = route.dependant, route.body_field
    names = {param.name for param in takes.path_params if param.field_info.annotation is str}
    if takes.request_param_name is not None:
        names.add(takes.request_param_name)
    if body is not None and takes.body_params == [body]:
        names.add(body.name)
    plain = not any(param.field_info.metadata or param.alias != param.name for param in takes.path_params)
    endpoint = route.endpoint
    parameters, returns = _signature(endpoint)
    if not plain or takes.dependencies or names != parameters:
        return handle
    answers = returns in (Response, "Response") or response_type(endpoint) is not None
    if not inspect.iscoroutinefunction(endpoint) or not answers:
        return handle

    async def call(request: Request) -> Response:
        arguments: dict[str, Any] = dict(request.path_params)
        if takes.request_param_name is not None:
            arguments[takes.request_param_name] = request
        if body is not None:
            try:
                if not await request.body() or request.headers.get("content-type") != "application/json":
                    return await handle(request)
                arguments[body.name], errors = body.validate(await request.json(), {}, loc=("body",))
            except Exception:
                return await handle(request)
            if errors:
                return await handle(request)
        response: Response = await endpoint(**arguments)
        return response

    return call


def _signature(endpoint: Callable[..., Any]) -> tuple[frozenset[str], Any]:
    """Return the names of the parameters that a request fills, and the declared answer."""
    function = getattr(endpoint, "__func__", None)
    names, returns = _signature_of(function or endpoint)
    return frozenset(names[1:] if function else names), returns


@lru_cache(maxsize=1024)
def _signature_of(function: Callable[..., Any]) -> tuple[tuple[str, ...], Any]:
    found = inspect.signature(function)
    return tuple(found.parameters), found.return_annotation
