"""Answers of routes: JSON made by msgspec, and `Idempotency-Key`s of objects that only this process creates.

Constellations, edits and tokens keep their keys in the log. A key belongs to the token or session that sent it. An
answer with a secret (a token, a sign-in link, a join code) is given once: its repeat says that it was made.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import TypeVar, cast

import msgspec
from fastapi import Request
from starlette.responses import Response

from starloom.edge.web.admission import caller_of
from starloom.edge.web.problems import Problem
from starloom.edge.web.response_types import JsonReply, Shape
from starloom_protocol.vocabulary import Code

KEY_HEADER = "idempotency-key"
KEY_MAX = 128
"""Clients make their keys; a UUID has 36 characters."""
_KEPT_S = 600.0
"""A client repeats a request within seconds or minutes; after that its key counts as new."""
_KEPT_MAX = 1_000
"""Answers hold what was created; callers that make more within ten minutes lose the oldest keys."""
_Answer = TypeVar("_Answer", bound=Response)
_encoder = msgspec.json.Encoder(order="deterministic")


def json_reply(value: Shape, status: int = 200, headers: dict[str, str] | None = None) -> JsonReply[Shape]:
    """Return a JSON answer."""
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


class Repeats:
    """Answers of creating requests by (token or session, route, key)."""

    def __init__(self, monotonic_s: Callable[[], float]) -> None:
        self._monotonic_s = monotonic_s
        self._making: dict[tuple[str, str, str], asyncio.Lock] = {}
        self._kept: OrderedDict[tuple[str, str, str], tuple[float, str, Response | None]] = OrderedDict()

    async def once(self, request: Request, make: Callable[[], Awaitable[_Answer]], *, secret: str = "") -> _Answer:
        """Return the answer of `make`, or the one that the same request of the same caller had before.

        `secret` names what the answer holds that is shown once; such an answer is not kept.

        Raises:
            Problem: `idempotency_mismatch` if the key was used with another body; `conflict` if what it made is secret.
        """
        key = idempotency_key(request)
        if key is None:
            return await make()
        where = (caller_of(request).token, request.url.path, key)
        fingerprint = body_hash(await request.body())
        # Two at once are one after the other, so that the second finds what the first made.
        lock = self._making.setdefault(where, asyncio.Lock())
        try:
            async with lock:
                return await self._once(where, fingerprint, make, secret)
        finally:
            if not lock.locked():
                self._making.pop(where, None)

    async def _once(
        self, where: tuple[str, str, str], fingerprint: str, make: Callable[[], Awaitable[_Answer]], secret: str
    ) -> _Answer:
        self._drop_old()
        known = self._kept.get(where)
        if known is not None:
            if known[1] != fingerprint:
                raise Problem(Code.IDEMPOTENCY_MISMATCH, f"the key {where[2]} was used here with another body")
            if known[2] is None:
                reason = f"this key has made {secret} already; it was shown then and cannot be shown again"
                raise Problem(Code.CONFLICT, reason, hint="Ask again with a new key, and revoke what you do not have.")
            return cast("_Answer", known[2])  # one route answers by one type
        response = await make()
        self._kept[where] = (self._monotonic_s() + _KEPT_S, fingerprint, None if secret else response)
        return response

    def _drop_old(self) -> None:
        now = self._monotonic_s()
        while self._kept:
            where, (until, _, _) = next(iter(self._kept.items()))
            if until > now and len(self._kept) < _KEPT_MAX:
                return
            del self._kept[where]
