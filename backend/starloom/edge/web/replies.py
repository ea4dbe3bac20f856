"""Answers of routes: their declared types, JSON made by msgspec, and `Idempotency-Key`s that only this process keeps.

A route declares its answer once, as `-> JsonReply[Shape]`. The type checker holds the endpoint to it, and the schema in
the OpenAPI document is made from the same type. Converts and checks nothing while a request is answered.

Constellations, edits, tokens and schedules keep their keys in the log. A key belongs to the token or session that sent
it. An answer with a secret (a token, a sign-in link, a join code) is given once: its repeat says that it was made.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import typing
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any, Generic, NamedTuple, TypeVar, Union, cast
from weakref import WeakValueDictionary

import msgspec
from fastapi import FastAPI, Request
from fastapi.routing import APIRoute
from starlette.responses import Response

from starloom.edge.access.callers import Caller
from starloom.edge.web.problems import Problem
from starloom_protocol.text.field_docs import describe, without_indentation
from starloom_protocol.vocabulary import Code

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
    shapes_declared = tuple(typing.get_args(way)[0] for way in ways if typing.get_origin(way) is JsonReply)
    return Union[shapes_declared] if shapes_declared else None  # noqa: UP007 -- the members are known when it runs only


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
    schemas, _ = msgspec.json.schema_components(shapes(kind), ref_template=_REFERENCE)
    return schemas[0] if len(schemas) == 1 else {"anyOf": list(schemas)}


def add_schemas(document: dict[str, Any], routes: Iterable[Any]) -> None:
    """Add the schemas of declared answers to an OpenAPI document.

    Raises:
        ValueError: the body of a request has the name of another type of an answer.
    """
    declared = [response_type(route.endpoint) for route in routes if isinstance(route, APIRoute)]
    kinds = [kind_of_part for kind in declared if kind is not None for kind_of_part in shapes(kind)]
    _, components = msgspec.json.schema_components(kinds, ref_template=_REFERENCE)
    components = without_indentation(components)
    present = document.setdefault("components", {}).setdefault("schemas", {})
    twice = sorted(name for name in components if name in present and not _same(present[name], components[name]))
    if twice:
        raise ValueError(f"a body and an answer have one name in the OpenAPI document: {', '.join(twice)}")
    document["components"]["schemas"] = components | present
    describe(components, kinds)


def _same(schema: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether two schemas say the same; pydantic and msgspec list the values of an enum in different orders."""
    values = set(schema.get("enum", ()))
    return schema == other or (bool(values) and values == set(other.get("enum", ())))


class Application(FastAPI):
    """The application, whose OpenAPI document has the types of its answers."""

    def openapi(self) -> dict[str, Any]:
        """Return the OpenAPI document; made once."""
        is_made = self.openapi_schema is not None
        if not is_made:  # at the first reading: a hub that is asked for work alone makes no schema
            for route in self.routes:
                if isinstance(route, APIRoute):
                    _describe(route)
        document = super().openapi()
        if not is_made:
            add_schemas(document, self.routes)
        return document


KEY_HEADER = "idempotency-key"
KEY_MAX = 128
"""Clients make their keys; a UUID has 36 characters."""
_KEPT_S = 600.0
"""A client repeats a request within seconds or minutes; after that its key counts as new."""
_KEPT_MAX = 1_000
"""Answers hold what was created; callers that make more within ten minutes lose the oldest keys."""
_KEPT_BYTES_MAX = 32 * 1024 * 1024
"""An answer may be a whole plan; the oldest go first here, too."""
_Answer = TypeVar("_Answer", bound=Response)
_encoder = msgspec.json.Encoder(order="deterministic")


def json_reply(value: Shape, status: int = 200, headers: dict[str, str] | None = None) -> JsonReply[Shape]:
    return JsonReply(_encoder.encode(value), status, headers)


def idempotency_key(request: Request) -> str | None:
    """Return the key of a creating request, or None.

    Raises:
        Problem: if it is not usable.
    """
    key = request.headers.get(KEY_HEADER)
    if key is None:
        return None
    if not key or len(key) > KEY_MAX or not key.isprintable():
        raise Problem(Code.BAD_REQUEST, f"an Idempotency-Key has 1 to {KEY_MAX} printable characters")
    return key


def body_hash(raw: bytes) -> str:
    """Return the hash that tells whether a repeated key has the same body."""
    return hashlib.sha256(raw).hexdigest()


async def asked_once(request: Request) -> tuple[str, str] | None:
    """Return the key of a creating request with the hash of its body, for the log; None without a key."""
    key = idempotency_key(request)
    return None if key is None else (key, body_hash(await request.body()))


class _Repeated(NamedTuple):
    """The answer that a key had; None for one that holds a secret."""

    until_s: float
    fingerprint: str
    response: Response | None


class Repeats:
    """Answers of creating requests by (token or session, route, key)."""

    def __init__(self, monotonic_s: Callable[[], float]) -> None:
        self._monotonic_s = monotonic_s
        # A lock lives as long as a request holds or awaits it.
        self._making: WeakValueDictionary[tuple[str, str, str], asyncio.Lock] = WeakValueDictionary()
        self._responses: OrderedDict[tuple[str, str, str], _Repeated] = OrderedDict()
        self._response_bytes = 0

    async def once(self, request: Request, make: Callable[[], Awaitable[_Answer]], *, secret: str = "") -> _Answer:
        """Return the answer of `make`, or the one that the same request of the same caller had before.

        `secret` names what the answer holds that is shown once; such an answer is not kept.

        Raises:
            Problem: `idempotency_mismatch` if the key was used with another body; `conflict` if what it made is secret.
        """
        key = idempotency_key(request)
        if key is None:
            return await make()
        caller: Caller = request.state.caller
        where = (caller.token, request.url.path, key)
        fingerprint = body_hash(await request.body())
        # Two at once are one after the other, so that the second finds what the first made.
        lock = self._making.setdefault(where, asyncio.Lock())
        async with lock:
            return await self._once(where, fingerprint, make, secret)

    async def _once(
        self, where: tuple[str, str, str], fingerprint: str, make: Callable[[], Awaitable[_Answer]], secret: str
    ) -> _Answer:
        self._drop_old()
        earlier = self._responses.get(where)
        if earlier is not None:
            if earlier.fingerprint != fingerprint:
                raise Problem(Code.IDEMPOTENCY_MISMATCH, f"the key {where[2]} was used here with another body")
            if earlier.response is None:
                reason = f"this key has made {secret} already; it was shown then and cannot be shown again"
                raise Problem(Code.CONFLICT, reason, hint="Ask again with a new key, and revoke what you do not have.")
            return cast("_Answer", earlier.response)  # one route answers by one type
        response = await make()
        repeated = None if secret else response
        self._responses[where] = _Repeated(self._monotonic_s() + _KEPT_S, fingerprint, repeated)
        self._response_bytes += _bytes_of(repeated)
        return response

    def _drop_old(self) -> None:
        now_s = self._monotonic_s()
        while self._responses:
            where, oldest = next(iter(self._responses.items()))
            if oldest.until_s > now_s and len(self._responses) < _KEPT_MAX and self._response_bytes <= _KEPT_BYTES_MAX:
                return
            del self._responses[where]
            self._response_bytes -= _bytes_of(oldest.response)


def _bytes_of(response: Response | None) -> int:
    return len(response.body) if response is not None else 0


def cursor_text(first: int, second: int | str) -> str:
    """Return the cursor of a page that begins behind this place of a list."""
    return base64.urlsafe_b64encode(f"{first}:{second}".encode()).decode().rstrip("=")


def cursor_of(text: str | None, second: Callable[[str], Shape]) -> tuple[int, Shape] | None:
    """Return the place of a cursor, the latter part of which `second` reads.

    Raises:
        Problem: it is no place that a store can be asked for.
    """
    if text is None:
        return None
    try:
        place = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode()
        # PostgreSQL takes no text with a zero byte.
        number, _, behind = place.partition(":") if place.isprintable() else ("", "", "")
        return stored_number(number), second(behind)
    except ValueError as error:
        raise Problem(Code.BAD_REQUEST, "cursor is not one that this hub gave") from error


def stored_number(text: str) -> int:
    """Return a number as stores have it.

    Raises:
        ValueError: it is not a number, or has more than 64 bits.
    """
    number = int(text)
    if not 0 <= number < 2**63:
        raise ValueError(f"{text[:40]} is no number of a store")
    return number
