"""The door for agents of others: A2A 1.0 by JSON-RPC, off unless the owner of the hub turns it on.

Each caller is an assistant here, whatever its token: it approves nothing, names no secret, and sees only the tasks that
its own token has made. A message makes a request like any other; this module translates, and the engine decides.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import partial
from typing import Any, Final, TypeVar

import msgspec
from fastapi import APIRouter, Request
from starlette.types import Receive, Scope, Send

from starloom.core.state import inputs
from starloom.edge.access.callers import Caller
from starloom.edge.access.credentials import new_id
from starloom.edge.hub import Hub
from starloom.edge.live import entity_json
from starloom.edge.live.fanout import Fanout, WatchedStream
from starloom.edge.live.views import Headline
from starloom.edge.routes.bodies import A2aCall, Asked
from starloom.edge.routes.requests import a2a_tasks
from starloom.edge.routes.requests.a2a_tasks import SendParams, SentMessage, TaskParams
from starloom.edge.routes.requests.submission import Submit
from starloom.edge.web.admission import caller_of
from starloom.edge.web.problems import Problem, accepted
from starloom.edge.web.replies import JsonReply, body_hash, json_reply
from starloom.process.settings import VERSION
from starloom_protocol.api.a2a import A2aAnswer, A2aCard, A2aError
from starloom_protocol.records.entities import Head
from starloom_protocol.values import canonical
from starloom_protocol.vocabulary import FINAL_CONSTELLATION_STATES, Code, PrincipalKind

VERSION_HEADER: Final = "a2a-version"
WAIT_S: Final = 60.0
"""Clients and proxies give up after about a minute; an answer that names the open task comes before that."""
STREAM_MOST_S: Final = 3600.0
"""A client that forgot its stream holds it for an hour; another one subscribes to the task again."""
STREAMS_EACH: Final = 8
"""Open streams of one token: each holds a connection and a watch on the log."""
KEEPALIVE_S: Final = 4.0
"""Below the 5 s of silence after which httpx, of which the official kit is made, ends a connection unless told else."""
_CONTEXT: Final = re.compile(r"[A-Za-z0-9._:-]{1,100}")
_NO_METHOD, _BAD_PARAMS, _NO_TASK, _NOT_CANCELABLE = -32601, -32602, -32001, -32002
_NO_PUSH, _UNSUPPORTED, _CONTENT, _VERSION = -32003, -32004, -32005, -32009
"""Numbers of errors: the first two are those of JSON-RPC, the others of A2A."""
_OF_LOAD: Final = frozenset({Code.RATE_LIMITED})
_SERVER_FAULT: Final = 500
_EXACT: Final = 2**53
"""Up to here each whole number has a form of its own among those with a fraction."""
_PUSH: Final = "TaskPushNotificationConfig"
Params = TypeVar("Params")


class _A2aRefusal(Exception):
    """A call is refused with an error of the protocol."""

    def __init__(self, code: int, words: str, data: list[dict[str, Any]] | None = None) -> None:
        super().__init__(words)
        self.code = code
        self.data = data


class _TaskStream(WatchedStream):
    """A stream of a task that has a place among those of its token from before its first byte."""

    def __init__(
        self,
        place: Callable[[], AbstractContextManager[None]],
        fanout: Fanout,
        task: str,
        token: str,
        events: Callable[[asyncio.Event], AsyncIterator[bytes]],
    ) -> None:
        super().__init__(fanout, task, token, events)
        self._place = place

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._place():
            await super().__call__(scope, receive, send)


class A2aRoutes:
    """The card and the endpoint."""

    def __init__(self, hub: Hub, submit: Submit) -> None:
        self._hub = hub
        self._submit = submit
        self._streams: Counter[str] = Counter()

    def add_to(self, router: APIRouter) -> None:
        router.add_api_route(a2a_tasks.CARD, self.card, methods=["GET"])
        router.add_api_route(a2a_tasks.ENDPOINT, self.call, methods=["POST"])

    async def card(self) -> JsonReply[A2aCard]:
        """Show the card of this hub; it names no recipe and no device."""
        self._is_on()
        return json_reply(a2a_tasks.card(self._hub.settings.outside_url, VERSION))

    async def call(self, request: Request, body: A2aCall) -> JsonReply[A2aAnswer] | WatchedStream:
        """Carry out one call of the protocol."""
        self._is_on()
        caller = replace(caller_of(request), kind=PrincipalKind.ASSISTANT)
        try:
            _check_version(request)
            followed = await self._followed(request, caller, body)
            if followed is not None:
                return self._stream(caller, followed, body.id)
            return json_reply({"jsonrpc": "2.0", "id": body.id, "result": await self._result(request, caller, body)})
        except _A2aRefusal as refused:
            return json_reply({"jsonrpc": "2.0", "id": body.id, "error": _error(refused)})
        except Problem as problem:
            # Load stays an answer of HTTP, which says when to come again; other faults are those of the protocol.
            if problem.code in _OF_LOAD or problem.status >= _SERVER_FAULT:
                raise
            return json_reply({"jsonrpc": "2.0", "id": body.id, "error": _error(_of_problem(problem))})

    async def _followed(self, request: Request, caller: Caller, body: A2aCall) -> str | None:
        """Return the task that a call wants to follow; None for a call with one answer."""
        if body.method == "SendStreamingMessage":
            return (await self._send(request, caller, body)).id
        if body.method != "SubscribeToTask":
            return None
        head, _ = await self._own_task(caller, _params(body, TaskParams).id)
        if head.state in FINAL_CONSTELLATION_STATES:
            raise _A2aRefusal(_UNSUPPORTED, f"{head.id} has ended; get it with GetTask")
        return head.id

    def _is_on(self) -> None:
        if not self._hub.settings.a2a:
            hint = "The owner of the hub turns it on: `a2a = true` in starloom.toml (docs/assistants.md)."
            raise Problem(Code.NOT_FOUND, "this hub has no door for agents by A2A", hint=hint)

    async def _result(self, request: Request, caller: Caller, body: A2aCall) -> Any:
        if body.method == "SendMessage":
            head = await self._send(request, caller, body)
            if not _params(body, SendParams).configuration.return_immediately:
                await self._settled(request, head.id, caller.token)
            return {"task": await self._task(caller, head.id)}
        if body.method == "GetTask":
            return await self._task(caller, _params(body, TaskParams).id)
        if body.method == "CancelTask":
            return await self._cancel(caller, _params(body, TaskParams).id)
        if body.method == "GetExtendedAgentCard":
            rows = self._hub.planner.recipes()
            recipes = [
                (row["name"], row["title"], row["phrases"])
                for row in rows
                if not caller.recipes or row["name"] in caller.recipes
            ]
            return a2a_tasks.card(self._hub.settings.outside_url, VERSION, recipes)
        if _PUSH in body.method:
            raise _A2aRefusal(_NO_PUSH, "this hub calls nobody; subscribe to the task instead")
        if body.method == "ListTasks":
            raise _A2aRefusal(_UNSUPPORTED, "this hub lists no tasks by A2A; keep their ids")
        raise _A2aRefusal(_NO_METHOD, f"there is no method {body.method[:64]} in A2A {a2a_tasks.VERSION}")

    async def _send(self, request: Request, caller: Caller, body: A2aCall) -> Head:
        """Make a constellation of a message; the same message of the same caller makes one, however often it comes."""
        message = _params(body, SendParams).message
        if message.task_id:
            head, _ = await self._own_task(caller, message.task_id)
            words = "a task takes no further message: questions are for people, and new work is a new task"
            raise _A2aRefusal(_UNSUPPORTED, f"{head.id}: {words}")
        context = message.context_id or f"x-{new_id()}"
        if not _CONTEXT.fullmatch(context) or not _CONTEXT.fullmatch(message.message_id):
            raise _A2aRefusal(_BAD_PARAMS, "contextId and messageId have 1 to 100 of A-Z a-z 0-9 . _ : -")
        body_of_request = _request_of(message)
        plain = msgspec.to_builtins(message)
        constellation = await self._submit.take(
            request,
            body_of_request,
            caller,
            size=len(canonical(plain)),
            labels={"by": "a2a", a2a_tasks.CONTEXT_LABEL: context},
            idempotency=(f"a2a:{message.message_id}", body_hash(canonical(plain).encode())),
        )
        head, _ = await self._own_task(caller, constellation)
        return head

    async def _cancel(self, caller: Caller, identity: str) -> Any:
        head, _ = await self._own_task(caller, identity)
        if head.state in FINAL_CONSTELLATION_STATES:
            raise _A2aRefusal(_NOT_CANCELABLE, f"{head.id} has ended: {head.state}")
        item = inputs.ControlRequested(
            action="cancel",
            approves=False,
            constellation=head.id,
            reason="the agent that asked for it cancels it",
            **caller.signed(),
        )
        accepted(await self._hub.inbox.ask(item))
        return await self._task(caller, head.id)

    async def _own_task(self, caller: Caller, identity: str) -> Headline:
        """Return a task of this caller; one of another caller is as unknown as one that is not there."""
        headline = await self._hub.headlines.of(identity) if identity.startswith("c-") else None
        if headline is None or headline.head.author != caller.by or a2a_tasks.CONTEXT_LABEL not in headline.head.labels:
            raise _A2aRefusal(_NO_TASK, f"there is no task {identity[:64]} of yours")
        return headline

    async def _task(self, caller: Caller, identity: str) -> Any:
        head, answer = await self._own_task(caller, identity)
        shape = entity_json.answer_shape(answer, self._hub.fleet.devices)
        now = entity_json.iso(self._hub.now_ms()) or ""
        return a2a_tasks.task(head, shape, self._questions(identity), self._page(identity), now)

    def _questions(self, identity: str) -> list[str]:
        return [question.text for (where, _), question in self._hub.questions.open.items() if where == identity]

    def _page(self, identity: str) -> str:
        return f"{self._hub.settings.outside_url}/constellations/{identity}"

    async def _stands_still(self, identity: str) -> bool:
        headline = await self._hub.headlines.of(identity)
        return headline is None or headline.head.state in FINAL_CONSTELLATION_STATES or self._waits(headline.head)

    def _waits(self, head: Head) -> bool:
        shape = entity_json.answer_shape(None, {})
        return a2a_tasks.status(head, shape, self._questions(head.id), "", "")["state"] == a2a_tasks.INPUT_REQUIRED

    async def _settled(self, request: Request, identity: str, token: str) -> None:
        """Wait until the task has ended or waits for a person, at most `WAIT_S`."""
        fanout = self._hub.fanout
        with fanout.watch(identity, token, request.receive) as changed:
            try:
                async with asyncio.timeout(WAIT_S):
                    while not fanout.ending and not changed.left:
                        changed.clear()
                        if await self._stands_still(identity):
                            return
                        await changed.wait()
            except TimeoutError:
                return

    def _stream(self, caller: Caller, identity: str, number: str | int | None) -> WatchedStream:
        events = partial(self._events, caller, identity, lambda result: _event(number, result))
        place = partial(self._place, caller.token)
        return _TaskStream(place, self._hub.fanout, identity, caller.token, events)

    @contextmanager
    def _place(self, token: str) -> Iterator[None]:
        """Hold a place among the open streams of a token.

        Raises:
            Problem: `rate_limited`, if there is none.
        """
        if self._streams[token] >= STREAMS_EACH:
            reason = f"{STREAMS_EACH} of your streams are open"
            raise Problem(Code.RATE_LIMITED, reason, hint="End one of them, or ask with GetTask.")
        self._streams[token] += 1
        try:
            yield
        finally:
            self._streams[token] -= 1
            if not self._streams[token]:
                del self._streams[token]

    async def _events(
        self, caller: Caller, identity: str, event: Callable[[Any], bytes], changed: asyncio.Event
    ) -> AsyncIterator[bytes]:
        """Yield the task, each change of its status, and its answer; end with it, or when a person has to decide."""
        hub = self._hub
        until = hub.monotonic_s() + STREAM_MOST_S
        task = await self._task(caller, identity)
        yield event({"task": task})
        status = task["status"]
        while not hub.fanout.ending and hub.monotonic_s() < until:
            # A slow reader delays each yield. A change since the last one is sent before the stream ends.
            changed.clear()
            ends = await self._stands_still(identity)
            present = await self._task(caller, identity)
            if _shown_parts(present["status"]) != _shown_parts(status):
                status = present["status"]
                about = {"taskId": identity, "contextId": present["contextId"]}
                for artifact in present.get("artifacts", []):
                    yield event({"artifactUpdate": {**about, "artifact": artifact, "lastChunk": True}})
                yield event({"statusUpdate": {**about, "status": status}})
                continue
            if ends:
                return
            try:
                async with asyncio.timeout(KEEPALIVE_S):
                    await changed.wait()
            except TimeoutError:
                yield b": still here\n\n"


def _check_version(request: Request) -> None:
    if request.headers.get(VERSION_HEADER, "") != a2a_tasks.VERSION:
        raise _A2aRefusal(_VERSION, f"this hub speaks A2A {a2a_tasks.VERSION}; send the header A2A-Version")


def _shown_parts(status: Any) -> Any:
    """Return the parts of a status that a stream tells again when they change."""
    return status["state"], status.get("message", {}).get("parts")


def _event(number: str | int | None, result: Any) -> bytes:
    return b"data: " + msgspec.json.encode({"jsonrpc": "2.0", "id": number, "result": result}) + b"\n\n"


def _params(body: A2aCall, kind: type[Params]) -> Params:
    try:
        return msgspec.convert(body.params, kind)
    except msgspec.ValidationError as error:
        raise _A2aRefusal(_BAD_PARAMS, f"params: {error}") from error


def _request_of(message: SentMessage) -> Asked:
    """Return the request of a message: its words, or one data part with a recipe or a plan."""
    if any(part.raw is not msgspec.UNSET or part.url is not msgspec.UNSET for part in message.parts):
        raise _A2aRefusal(_CONTENT, "this hub takes text and data; files are no part of a message")
    if message.role != "ROLE_USER":
        raise _A2aRefusal(_BAD_PARAMS, "a message to the hub has the role ROLE_USER")
    words = "\n".join(part.text for part in message.parts if part.text)
    data = [part.data for part in message.parts if part.data is not msgspec.UNSET]
    if len(data) > 1 or bool(words.strip()) is bool(data):
        raise _A2aRefusal(_BAD_PARAMS, "a message has words, or one data part {recipe, params} or {plan}")
    try:
        return Asked.model_validate(_with_whole_numbers(data[0]) if data else {"request": words})
    except ValueError as error:
        raise _A2aRefusal(_BAD_PARAMS, f"the message cannot be read as a request: {str(error)[:500]}") from error


def _with_whole_numbers(value: Any) -> Any:
    """Return data with whole numbers as such: the types of this protocol know only numbers with a fraction."""
    if isinstance(value, dict):
        return {name: _with_whole_numbers(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_with_whole_numbers(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) <= _EXACT else value


def _of_problem(problem: Problem) -> _A2aRefusal:
    words = f"{problem.reason.rstrip('.')}. {problem.hint}".strip()
    faults = [{"place": fault.place, "reason": fault.reason, "code": str(fault.code)} for fault in problem.errors[:40]]
    return _A2aRefusal(_BAD_PARAMS, words, [{"reason": str(problem.code), "faults": faults}])


def _error(refusal: _A2aRefusal) -> A2aError:
    error: A2aError = {"code": refusal.code, "message": str(refusal)}
    if refusal.data:
        error["data"] = refusal.data
    return error
