"""The types of JSON answers: read from an endpoint's return annotation, written into the OpenAPI document.

A route declares its answer once, as `-> JsonReply[Shape]`. The type checker holds the endpoint to it, and the schema in
the document is made from the same type. Converts and checks nothing while a request is answered.
"""

from __future__ import annotations

import typing
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any, Generic, TypeVar, Union

import msgspec
from fastapi import FastAPI
from fastapi.routing import APIRoute
from starlette.responses import Response

from starloom_protocol.text.field_docs import describe

_REFERENCE = "#/components/schemas/{name}"
Shape = TypeVar("Shape")


class JsonReply(Response, Generic[Shape]):
    """An answer in JSON whose body is a `Shape`. Make it by `json_reply`."""

    media_type = "application/json"


def response_type(endpoint: Callable[..., Any]) -> Any:
    """Return the declared type of an endpoint's answer; None where it declares a plain `Response`.

    `JsonReply[One] | JsonReply[Other]` is the union of both: the request decides between them.
    """
    return _declared(getattr(endpoint, "__func__", endpoint))


def shapes(kind: Any) -> tuple[Any, ...]:
    """Return the types of a declared answer: one, or each of several that a route answers by."""
    return typing.get_args(kind) if typing.get_origin(kind) is Union else (kind,)


@lru_cache(maxsize=1024)
def _declared(function: Callable[..., Any]) -> Any:
    returned = typing.get_type_hints(function).get("return")
    ways = typing.get_args(returned) if typing.get_origin(returned) is Union else (returned,)
    found = tuple(typing.get_args(way)[0] for way in ways if typing.get_origin(way) is JsonReply)
    return Union[found] if found else None  # noqa: UP007 -- the members are known when it runs only


def unconverted(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a route by which FastAPI converts nothing of its answer."""
    return {**arguments, "response_model": None}


def _describe(route: APIRoute) -> None:
    """Describe the declared answer of a route, where it has one."""
    kind = response_type(route.endpoint)
    if kind is not None:
        answer = {"content": {"application/json": {"schema": _schema(kind)}}}
        route.responses = {**route.responses, route.status_code or 200: answer}


@lru_cache(maxsize=1024)
def _schema(kind: Any) -> dict[str, Any]:
    found, _ = msgspec.json.schema_components(shapes(kind), ref_template=_REFERENCE)
    return found[0] if len(found) == 1 else {"anyOf": list(found)}


def add_schemas(document: dict[str, Any], routes: Iterable[Any]) -> None:
    """Add the schemas of declared answers to an OpenAPI document.

    Raises:
        ValueError: the body of a request has the name of another type of an answer.
    """
    found = [response_type(route.endpoint) for route in routes if isinstance(route, APIRoute)]
    kinds = [one for kind in found if kind is not None for one in shapes(kind)]
    _, components = msgspec.json.schema_components(kinds, ref_template=_REFERENCE)
    known = document.setdefault("components", {}).setdefault("schemas", {})
    twice = sorted(name for name in components if name in known and not _same(known[name], components[name]))
    if twice:
        raise ValueError(f"a body and an answer have one name in the OpenAPI document: {', '.join(twice)}")
    document["components"]["schemas"] = components | known
    describe(components, kinds)


def _same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether two schemas say the same; pydantic and msgspec list the values of an enum in different orders."""
    values = set(one.get("enum", ()))
    return one == other or (bool(values) and values == set(other.get("enum", ())))


class Application(FastAPI):
    """The application, whose OpenAPI document has the types of its answers."""

    def openapi(self) -> dict[str, Any]:
        """Return the OpenAPI document; made once."""
        made = self.openapi_schema is not None
        if not made:  # at the first reading: a hub that is asked for work alone makes no schema
            for route in self.routes:
                if isinstance(route, APIRoute):
                    _describe(route)
        document = super().openapi()
        if not made:
            add_schemas(document, self.routes)
        return document
