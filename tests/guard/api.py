"""Requests that schemathesis makes from the OpenAPI document, sound and unsound, to a whole hub in this process.

With the store up no answer is an error of the server and none leaves the shape of a refusal; with the store away only
503 may come, never 500. Left out is what opens a listener or dials somebody else's address.
"""

from __future__ import annotations

import asyncio
import json
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn
from urllib.parse import quote

import httpx
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from schemathesis.core.result import Ok
from schemathesis.generation import GenerationMode

from starloom.store.port import Unavailable
from tests.edge.world import World, an_offer, chain

LEFT_OUT = frozenset(
    {
        ("POST", "/api/v1/lan/open"),
        ("POST", "/api/v1/lan/close"),
        ("PUT", "/api/v1/model"),
        ("POST", "/api/v1/model/test"),
        ("POST", "/api/v1/sign-out"),
    }
)
ANSWER_S_MOST = 10.0
Request = dict[str, Any]
_NAME = {"type": "string", "title": ""}
"""The schema of a place in a path that takes every word, without its title."""


def requests(document: dict[str, Any], each: int, real: dict[str, str], seed_: int) -> list[Request]:
    """Return about `2 * each` requests for every operation; half the places in paths are those of real things."""
    made: list[Request] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        schema = schemathesis.openapi.from_dict(document)
        for found in schema.get_all_operations():
            assert isinstance(found, Ok), found
            operation = found.ok()
            if (operation.method.upper(), operation.path) in LEFT_OUT:
                continue
            made += _drawn(operation, GenerationMode.POSITIVE, each, real, seed_)
            if _can_be_unsound(operation):
                made += _drawn(operation, GenerationMode.NEGATIVE, each, real, seed_)
    return made


def _can_be_unsound(operation: Any) -> bool:
    """Tell whether a request may have the wrong shape: a path takes every word for a name."""
    rest = (operation.query, operation.headers, operation.cookies, operation.body)
    names = [{**part.definition["schema"], "title": ""} for part in operation.path_parameters]
    return any(map(len, rest)) or any(name != _NAME for name in names)


def _drawn(operation: Any, mode: GenerationMode, each: int, real: dict[str, str], seed_: int) -> list[Request]:
    made: list[Request] = []

    @seed(seed_)
    @settings(
        max_examples=each,
        database=None,
        deadline=None,
        phases=(Phase.generate,),
        suppress_health_check=list(HealthCheck),
    )
    @given(operation.as_strategy(generation_mode=mode))
    def draw(case: Any) -> None:
        made.append(_request(case, real if len(made) % 2 else {}))

    draw()
    return made


def _request(case: Any, real: dict[str, str]) -> Request:
    path = case.path
    for name, value in (case.path_parameters or {}).items():
        path = path.replace("{" + name + "}", quote(str(real.get(name, value)), safe=""))
    query = {str(name): value for name, value in dict(case.query or {}).items()}
    if "wait_s" in query:
        # A sound wait is kept short; an unsound one must be refused as it is.
        query["wait_s"] = 0 if isinstance(query["wait_s"], (int, float)) else query["wait_s"]
    body = case.body
    content = b""
    if type(body).__name__ != "NotSet":
        content = body if isinstance(body, bytes) else json.dumps(body, default=str).encode("utf-8", "surrogatepass")
    return {"method": case.method, "path": path, "template": case.path, "query": query, "content": content}


async def real_things(world: World) -> dict[str, str]:
    """Make one of each thing that paths name and return their names."""
    agent = await world.online("guarded", offer=an_offer("t.one"))
    made = await world.submit(chain("t.one", "t.one"))
    return {"constellation": made["id"], "device": agent.id, "task": "t0", "attempt": "1"}


class Answers:
    """What came back: how many of each status, and every answer that must not be."""

    def __init__(self) -> None:
        self.statuses: Counter[int] = Counter()
        self.errors: list[str] = []

    @property
    def cases(self) -> int:
        return self.statuses.total()

    def take(self, request: Request, answer: httpx.Response, *, down: bool) -> None:
        """Count an answer and judge it."""
        self.statuses[answer.status_code] += 1
        if wrong := _wrong(answer, down=down):
            sent = answer.request
            self.errors.append(f"{sent.method} {sent.url} {request['content'][:300]!r}: {wrong}")


async def ask_all(world: World, made: list[Request], *, down: bool) -> Answers:
    """Send every request as the owner and judge the answers."""
    answers = Answers()
    transport = httpx.ASGITransport(app=world.app, client=("127.0.0.1", 40000), raise_app_exceptions=False)
    headers = {"Authorization": f"Bearer {world.token}", "Content-Type": "application/json"}
    async with httpx.AsyncClient(transport=transport, base_url=world.hub.settings.url, headers=headers) as http:
        for request in made:
            sent = _built(http, request)
            if sent is None:
                continue
            try:
                async with asyncio.timeout(ANSWER_S_MOST):
                    answer = await http.send(sent)
            except TimeoutError:
                answers.errors.append(f"{sent.method} {sent.url}: no answer within {ANSWER_S_MOST:g} s")
                continue
            answers.take(request, answer, down=down)
    return answers


def ask(http: httpx.Client, request: Request, answers: Answers) -> None:
    """Send one request over a connection and judge its answer."""
    sent = _built(http, request)
    if sent is None:
        return
    try:
        answer = http.send(sent)
    except httpx.HTTPError as error:
        answers.errors.append(f"{sent.method} {sent.url}: {type(error).__name__}: {error}")
        return
    answers.take(request, answer, down=False)


def _built(http: httpx.Client | httpx.AsyncClient, request: Request) -> httpx.Request | None:
    """Return a request as it is sent; None for one that HTTP cannot carry."""
    try:
        url = http.base_url.copy_with(raw_path=request["path"].encode())
        return http.build_request(
            request["method"], url, params=_plain(request["query"]) or None, content=request["content"]
        )
    except (httpx.InvalidURL, UnicodeError, ValueError, TypeError):
        return None


def _wrong(answer: httpx.Response, *, down: bool) -> str:
    status = answer.status_code
    if status >= 500 and not (down and status == 503):
        return f"{status} {answer.text[:200]}"
    if status >= 400 and answer.request.method != "HEAD":
        if answer.headers.get("content-type", "").partition(";")[0] != "application/problem+json":
            return f"{status} in another shape"
        if not answer.json().get("reason"):
            return f"{status} without a reason"
    return ""


def _plain(query: dict[str, Any]) -> dict[str, str]:
    return {
        name.encode("utf-8", "replace").decode(): str(value).encode("utf-8", "replace").decode()
        for name, value in query.items()
    }


@contextmanager
def store_away(world: World) -> Iterator[None]:
    """Let every read and every command meet a store that does not answer; what is in memory stays."""

    async def away(*_args: object, **_more: object) -> NoReturn:
        raise Unavailable("the store does not answer")

    reads, inbox = world.hub.reads, world.engine.inbox
    names = [name for name in dir(type(reads)) if not name.startswith("_") and _is_async(reads, name)]
    kept = {name: reads.__dict__.get(name) for name in names}
    ask = inbox.ask
    for name in names:
        if name != "close":
            setattr(reads, name, away)
    setattr(inbox, "ask", away)  # noqa: B010 - mypy lets nobody assign a method
    try:
        yield
    finally:
        setattr(inbox, "ask", ask)  # noqa: B010
        for name, value in kept.items():
            if value is None:
                reads.__dict__.pop(name, None)
            else:
                setattr(reads, name, value)


def _is_async(of: object, name: str) -> bool:
    return asyncio.iscoroutinefunction(getattr(of, name, None))
