"""Admission of callers by the guard table, before a body is read: identity, means, role and scope.

What a caller may get ends with the right to it, also in the middle of an answer. `guarded_route` makes the route class
of the application, so that no route can bypass it. A body is strict JSON, with the rules of a plan's text: no key twice
in one map, no infinite number. `Readings` bounds the requests of a caller that read a whole constellation.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import math
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, Final, Protocol
from weakref import WeakValueDictionary

from fastapi import Request
from fastapi.routing import APIRoute
from starlette.responses import Response, StreamingResponse
from starlette.routing import Match
from starlette.types import Message, Receive, Send
from starlette.types import Scope as Asked

from starloom.edge.access import credentials
from starloom.edge.access.callers import BEARER, SESSION, AccessView, Caller, Scope
from starloom.edge.access.guard import ROUTES, V1, Door, Row
from starloom.edge.access.rate_limits import Denied, Limits, others_words
from starloom.edge.web.direct_calls import Handler, directly
from starloom.edge.web.own_command import TypedHere
from starloom.edge.web.problems import Problem, answer_to, problem_of_parameters
from starloom.edge.web.replies import response_type, unconverted
from starloom.edge.web.sockets import BREAK
from starloom_protocol.values import VALUE_DEPTH_MAX, depth_of, name_twice
from starloom_protocol.vocabulary import Code, PrincipalKind
from starloom_protocol.wire.channel import ANSWER_PROOF, ChannelKeys, answer_proof, request_proof

_DEPTH_MAX: Final = 2 * VALUE_DEPTH_MAX
"""A value, and what stands around it: a plan in a message of A2A is seven levels down. Who reads it may recurse."""
_TOO_DEEP: Final = f"it nests deeper than {_DEPTH_MAX} levels"
_SURROGATE: Final = re.compile(rb"\\u[dD][89a-fA-F]")
"""A text in which a half stands alone is no text that anything here can write."""


class StrictRequest(Request):
    """A request whose body is read once and strictly."""

    async def json(self) -> Any:
        """Return the body.

        Raises:
            Problem: `bad_request` for a repeated key, and for constants or nesting that JSON does not allow.
            json.JSONDecodeError: it is not JSON; the caller reports the place.
        """
        if not hasattr(self, "_strict_body"):
            try:
                raw = await self.body()
                parsed = json.loads(raw, object_pairs_hook=_pairs, parse_constant=_constant, parse_float=_finite)
                if _SURROGATE.search(raw) is not None:
                    json.dumps(parsed, ensure_ascii=False).encode()
            except json.JSONDecodeError:
                raise
            except UnicodeEncodeError as error:
                raise _refusal("a text has half of a character (a surrogate)") from error
            except (RecursionError, ValueError) as error:
                raise _refusal(str(error) if isinstance(error, ValueError) else _TOO_DEEP) from error
            if depth_of(parsed, _DEPTH_MAX) > _DEPTH_MAX:
                raise _refusal(_TOO_DEEP)
            self._strict_body = parsed
        return self._strict_body


def _refusal(why: str) -> Problem:
    return Problem(Code.BAD_REQUEST, f"the body is not JSON that can be taken: {why}", status=422)


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise _refusal(f"the key `{name_twice(pairs)[:100]}` stands twice in one map")
    return fields


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError(f"{text[:40]} is out of range")
    return number


def _constant(word: str) -> Any:
    raise ValueError(f"{word} is not a JSON number")


CSRF_HEADER = "x-starloom-csrf"
ACTING_HEADER = "x-starloom-acting"
"""The header of a caller that acts for an assistant, which narrows its rights; nothing in a message widens them."""
_SAFE = frozenset({"GET", "HEAD"})


class Connected(Protocol):
    """The connection of a device that has proved its key."""

    @property
    def device(self) -> str: ...

    @property
    def channel(self) -> ChannelKeys: ...


class Admission:
    """Judges requests. `link_of` maps a session's HTTP token to the device's connection.

    `belongs` tells whether a device is one of the hub still.
    """

    def __init__(
        self,
        access: AccessView,
        limits: Limits,
        link_of: Callable[[str], Connected | None],
        belongs: Callable[[str], bool],
        cookie_name: Callable[[Request], str],
        here: TypedHere,
        rows: Mapping[tuple[str, str], Row] | None = None,
    ) -> None:
        self._access = access
        self._limits = limits
        self._link_of = link_of
        self._belongs = belongs
        self._cookie_name = cookie_name
        self._here = here
        self._rows = ROUTES if rows is None else rows

    def row(self, method: str, path: str) -> Row:
        """Return the row of a route; a route without one is open to nobody.

        Raises:
            Problem: `forbidden`, if there is none.
        """
        row = self._rows.get((method, path))
        if row is None:
            raise Problem(Code.FORBIDDEN, f"{method} {path} has no row in the guard table, so nobody may use it")
        return row

    def admit(self, request: Request, path: str) -> Row:
        """Let a request in and note its caller in its state.

        Raises:
            Problem: saying why not.
        """
        row = self.row(request.method, path)
        match row.door:
            case Door.ANYONE:
                return row
            case Door.DEVICE:
                request.state.device = self._device(request)
                return row
            case Door.CALLER:
                caller = _acting(request, self._caller(request))
                request.state.refused_to = caller.by
                refusal = row.refusal(caller)
                if refusal is not None:
                    raise Problem(Code.FORBIDDEN, refusal)
                request.state.caller = caller
                return row
            case _:
                raise Problem(Code.FORBIDDEN, f"{path} is a socket")

    def answered(self, request: Request, row: Row, response: Response) -> Response:
        """Return the answer; one that comes in pieces ends where the right to it does.

        Raises:
            Problem: the right ended before the answer was there.
        """
        if row.door is Door.ANYONE or (request.method not in _SAFE and row.scope in (None, Scope.ACCESS)):
            return response  # by such a request a caller may end its own sign-in, and hears that it did
        if not self._admits(request, row):
            # A client sends again what a 401 kept from being done; this may have been done.
            remark, status = ("", 0) if request.method in _SAFE else ("; what was asked may have been done", 403)
            raise Problem(Code.BAD_TOKEN, f"the right to this answer ended before it was there{remark}", status=status)
        in_pieces = isinstance(response, StreamingResponse)
        return _Ending(response, lambda: self._admits(request, row)) if in_pieces else response

    def _admits(self, request: Request, row: Row) -> bool:
        if row.door is Door.DEVICE:
            return self._belongs(request.state.device)
        return self._access.is_valid(caller_of(request).token)

    def _device(self, request: Request) -> str:
        """Return the device whose connection this request belongs to, as its proof shows; note how to answer it."""
        scheme, _, credentials = request.headers.get("authorization", "").partition(" ")
        token, _, proof = credentials.strip().partition(" ")
        link = self._link_of(token)
        if link is None:
            reason = "this is for connected agents; the session's token is missing or has ended"
            raise Problem(Code.BAD_TOKEN, reason, hint="Use the token of the agent's present connection.")
        if scheme.lower() == "starloom":
            expected = _request_proof(link.channel.http, request)
            if hmac.compare_digest(proof.encode(), expected.encode()):
                request.state.answers_by = (link.channel.http, expected)
                return link.device
        reason = "the request does not carry the proof that its device made it"
        raise Problem(Code.BAD_TOKEN, reason, hint="Prove each request by the key of the agent's connection.")

    def _caller(self, request: Request) -> Caller:
        token = _bearer(request)
        if token is not None:
            caller = self._access.caller(token, BEARER)
            if caller is None:
                raise self._bad_token(request)
            return caller
        cookie = cookie_of(request, self._cookie_name(request))
        if cookie is None:
            raise Problem(
                Code.NOT_SIGNED_IN, "no token and no session came with this request", more=self._here.more(request)
            )
        caller = self._access.caller(cookie, SESSION)
        if caller is None:
            more = self._here.more(request)
            if not self._access.was_ended(cookie):
                raise Problem(Code.NOT_SIGNED_IN, "no session of this hub came with this request", more=more)
            # The page tells a person whose session somebody ended from one who was never signed in here.
            raise Problem(Code.NOT_SIGNED_IN, "the session was ended", more={**more, "session": "ended"})
        if request.method not in _SAFE:
            self._check_csrf(request, caller)
        return caller

    def _bad_token(self, request: Request) -> Problem:
        address, reason = request.client.host if request.client else "", "this token is unknown, expired or revoked"
        wait_s = self._limits.failed("bad_token", address)
        if not wait_s:
            return Problem(Code.BAD_TOKEN, reason)
        reason += f"; so were {others_words(wait_s)}"
        return Problem(Code.RATE_LIMITED, reason, retry_after_s=wait_s)

    def _check_csrf(self, request: Request, caller: Caller) -> None:
        csrf_hash = self._access.tokens[caller.token].csrf_hash
        if csrf_hash is None or not credentials.matches(request.headers.get(CSRF_HEADER, ""), csrf_hash):
            raise Problem(Code.CSRF, f"the header {CSRF_HEADER} is missing or does not belong to this session")


def _acting(request: Request, caller: Caller) -> Caller:
    """Return the caller as an assistant, where the request says that a model chose its words."""
    header = request.headers.get(ACTING_HEADER)
    if header is None:
        return caller
    if header != PrincipalKind.ASSISTANT:
        raise Problem(Code.BAD_REQUEST, f"{ACTING_HEADER} is {PrincipalKind.ASSISTANT} or absent")
    return replace(caller, kind=PrincipalKind.ASSISTANT)


def cookie_of(request: Request, name: str) -> str | None:
    """Return the value of a cookie as it was sent; None without it.

    `request.cookies` takes quotes away by a function of Python 3.11 whose time grows with the square of the length.
    """
    cookie: str | None = None
    for header in request.headers.getlist("cookie"):
        for part in header.split(";"):
            key, separator, value = part.partition("=")
            if separator and key.strip() == name:
                cookie = value.strip()
    return cookie


def _bearer(request: Request) -> str | None:
    value = request.headers.get("authorization")
    if value is None:
        return None
    scheme, _, token = value.partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def _request_proof(key: bytes, request: Request) -> str:
    headers = request.headers
    return request_proof(
        key,
        request.method,
        request.path_params.get("sha256", ""),
        offset=headers.get("upload-offset", ""),
        length=headers.get("upload-length", ""),
        span=headers.get("range", ""),
    )


def _proved(request: Request, response: Response) -> Response:
    """Add the proof by which a device knows the answer as its hub's; others get the answer unchanged."""
    answers_by = getattr(request.state, "answers_by", None)
    if answers_by is not None:
        key, expected = answers_by
        offset = response.headers.get("upload-offset", "")
        response.headers[ANSWER_PROOF] = answer_proof(key, expected, response.status_code, offset)
    return response


class _Ended(Exception):
    """The right to the rest of an answer has ended."""


class _Ending(Response):
    """An answer in pieces of which none is sent once `admits` says no: its connection ends, and it is not whole."""

    def __init__(self, response: Response, admits: Callable[[], bool]) -> None:
        super().__init__()
        self._response = response
        self._admits = admits

    async def __call__(self, scope: Asked, receive: Receive, send: Send) -> None:
        async def judged(message: Message) -> None:
            if not self._admits():
                raise _Ended
            await send(message)

        try:
            await self._response(scope, receive, judged)
        except _Ended:
            end = scope.get("extensions", {}).get(BREAK)
            if end is not None:
                end()
                while (await receive())["type"] != "http.disconnect":
                    pass


def caller_of(request: Request) -> Caller:
    """Return who asks, as admission found."""
    caller: Caller = request.state.caller
    return caller


def _bounded(request: Request, body_max: int) -> Request:
    """Return the request with a body that raises once it is longer than allowed.

    Raises:
        Problem: at once, if the declared length is too large.
    """
    declared = request.headers.get("content-length", "0")
    if not declared.isdecimal() or int(declared) > body_max:
        raise Problem(Code.TOO_LARGE, f"the body has {declared} bytes; {body_max} are allowed here")
    received = 0

    async def receive() -> Message:
        nonlocal received
        if received <= body_max:  # a body that was too long is refused again each time it is read
            message = await request.receive()
            received += len(message.get("body", b""))
            if received <= body_max:
                return message
        raise Problem(Code.TOO_LARGE, f"the body is longer than {body_max} bytes")

    return StrictRequest(request.scope, receive)


_NOTED = frozenset({Code.BAD_TOKEN, Code.CSRF, Code.FORBIDDEN})


def _note_refusal(request: Request, path: str, error: Exception, denied: Callable[[Denied], None]) -> None:
    """Report a refusal of a caller with credentials, or a failed sign-in; a caller without any is not reported."""
    signing_in = path in (V1 + "/sign-in", V1 + "/sign-in/terms")
    if not isinstance(error, Problem) or not (error.code in _NOTED or (signing_in and error.status == 401)):
        return
    address = request.client.host if request.client else ""
    reason = error.reason if signing_in else f"{request.method} {path}: {error.reason}"
    by = str(getattr(request.state, "refused_to", ""))
    denied(Denied("sign_in" if signing_in else "api", address, str(error.code), reason, by))


PARAMETERS_MOST: Final = 20
"""The unknown parameters that a refusal names: an address may have thousands."""


def _refuse_unknown(request: Request, known: Sequence[str]) -> None:
    """Refuse parameters that the route does not take: with a misspelt filter it would answer with everything.

    Raises:
        Problem: `unknown_field`.
    """
    unknown = [name for name in request.query_params if name not in known]
    if unknown:
        raise problem_of_parameters(unknown[:PARAMETERS_MOST], known)


async def _as_it_is(_request: Request, error: Exception) -> Exception:
    return error


READS_AT_ONCE: Final = 2
"""A page reads the constellation that it shows, and why its tasks stand still."""


class Readings:
    """The turns of each caller for requests that read a whole constellation; the others wait in order."""

    def __init__(self) -> None:
        self._turns: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()

    @asynccontextmanager
    async def turn(self, request: Request, row: Row) -> AsyncIterator[None]:
        """Wait until it is the turn of a request; at once for a row that reads no whole constellation."""
        if not row.whole:
            yield
            return
        # A request that holds or awaits a turn keeps the semaphore, so no second one for the same caller is made.
        turns = self._turns.setdefault(caller_of(request).token, asyncio.Semaphore(READS_AT_ONCE))
        async with turns:
            yield


def guarded_route(
    admission: Admission,
    denied: Callable[[Denied], None] = lambda _denied: None,
    explained: Callable[[Request, Exception], Awaitable[Exception]] = _as_it_is,
) -> type[APIRoute]:
    """Return a route class that admits first, then bounds the body, then handles.

    `denied` hears of refusals, `explained` returns the error to answer with.
    """
    readings = Readings()

    class GuardedRoute(APIRoute):
        def __init__(self, path: str, endpoint: Callable[..., Any], **more: Any) -> None:
            super().__init__(path, endpoint, **(more if response_type(endpoint) is None else unconverted(more)))

        def matches(self, scope: Asked) -> tuple[Match, Asked]:
            # Routes are asked one after the other: almost all say no, and that has to be cheap.
            if self.path_regex.match(scope["path"]) is None:
                return Match.NONE, {}
            return super().matches(scope)

        def get_route_handler(self) -> Handler:
            handle = directly(self, super().get_route_handler())
            path = self.path
            parameters = [param.alias for param in self.dependant.query_params]

            async def guarded(request: Request) -> Response:
                try:
                    row = admission.admit(request, path)
                    if row.door is Door.CALLER:
                        _refuse_unknown(request, parameters)
                    async with readings.turn(request, row):
                        response = await handle(_bounded(request, row.body_max))
                    return admission.answered(request, row, _proved(request, response))
                except Exception as error:
                    _note_refusal(request, path, error, denied)
                    # Answered here, inside the shield, so that a refusal carries its headers and request id too.
                    return _proved(request, answer_to(request, await explained(request, error)))

            return guarded

    return GuardedRoute
