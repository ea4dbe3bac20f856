"""The changes that the programs at `starloom mcp` hear of: recipes, the list of resources, constellations they follow.

Owns the subscriptions and their bounds. It looks at the hub in one task at its own pace, and only while somebody
listens; however many programs listen, the hub is asked once. A program follows its own constellations alone. A
notice names what has changed without its content, and the program reads it again.

Programs of the protocol until 2025-11-25 hear of changes on their connection, later ones on a stream that they open.
"""

from __future__ import annotations

import functools
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable
from typing import Any, Final, TypeVar

import anyio
import anyio.to_thread
from mcp.server.context import ServerRequestContext
from mcp.server.session import ServerSession
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler
from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import (
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    ServerEvent,
    ToolsListChanged,
    event_to_notification,
)
from mcp.types import INVALID_PARAMS, SubscriptionsListenRequestParams, SubscriptionsListenResult
from mcp.types.version import MODERN_PROTOCOL_VERSIONS

from starloom.cli.mcp.resources import Resources
from starloom.cli.mcp.tools import Tools, refusal_text
from starloom.client.problems import Problem, may_pass
from starloom_protocol.vocabulary import Code

LOOK_S: Final = 3.0
FOLLOWED_MOST: Final = 32
"""Constellations that are followed at a time: each is one request to the hub at each look."""
STREAMS_MOST: Final = 16
EVENTS_KEPT: Final = 64
CONNECTIONS_MOST: Final = 64
TELL_S: Final = 5.0
"""A program that does not read a notice for this long hears nothing more."""
_PAGE: Final = 500
_EVENTS: Final[dict[str, tuple[ServerEvent, ...]]] = {
    "offered": (ToolsListChanged(), PromptsListChanged()),
    "listed": (ResourcesListChanged(),),
}
T = TypeVar("T")


class Following:
    """The listeners, what they follow, and the task that looks for changes."""

    def __init__(self, tools: Tools, resources: Resources, offered: Callable[[], object]) -> None:
        self._tools = tools
        self._resources = resources
        self._offered = offered
        self._shown_last: dict[str, object] = {}
        self._bus = InMemorySubscriptionBus()
        self._listen = ListenHandler(self._bus, max_subscriptions=STREAMS_MOST, max_buffered_events=EVENTS_KEPT)
        self._streams = 0
        # By the greeting of a connection, which is one object as long as the connection lives.
        self._connections: OrderedDict[int, tuple[object, ServerSession, set[str]]] = OrderedDict()
        self._uris: Counter[str] = Counter()
        self._at: dict[str, int] = {}

    def heard(self, ctx: ServerRequestContext[Any, Any]) -> set[str]:
        """Note a connection of the earlier protocol, which hears of changes unasked; return what it follows."""
        greeting = ctx.session.client_params
        if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS or greeting is None:
            return set()
        connection = self._connections.pop(id(greeting), None) or (greeting, ctx.session, set())
        self._connections[id(greeting)] = connection
        if len(self._connections) > CONNECTIONS_MOST:
            _, (_, _, followed) = self._connections.popitem(last=False)
            self._let_go(followed)
        return connection[2]

    async def subscribe(self, ctx: ServerRequestContext[Any, Any], uri: str) -> None:
        """Follow a resource for a connection.

        Raises:
            MCPError: it is not the caller's, or too many are followed.
        """
        followed = self.heard(ctx)
        if uri in followed:
            return
        followed.add(uri)  # before the hub is asked: the same subscription may come again meanwhile, and counts once
        try:
            await self._follow([uri])
        except MCPError:
            followed.discard(uri)
            raise

    async def unsubscribe(self, ctx: ServerRequestContext[Any, Any], uri: str) -> None:
        followed = self.heard(ctx)
        if uri in followed:
            followed.discard(uri)
            self._let_go([uri])

    async def listen(
        self, ctx: ServerRequestContext[Any, Any], params: SubscriptionsListenRequestParams
    ) -> SubscriptionsListenResult:
        """Serve one stream of changes; a resource in it is judged as by `subscribe`."""
        uris = list(dict.fromkeys(params.notifications.resource_subscriptions or ()))
        await self._follow(uris)
        self._streams += 1
        try:
            return await self._listen(ctx, params)
        finally:
            self._streams -= 1
            self._let_go(uris)

    async def _follow(self, uris: list[str]) -> None:
        new = [uri for uri in uris if uri not in self._uris]
        if len(self._uris) + len(new) > FOLLOWED_MOST:
            raise MCPError(INVALID_PARAMS, f"at most {FOLLOWED_MOST} resources are followed at a time; let one go")
        self._uris.update(uris)
        try:
            for uri in new:
                constellation, seq = await in_thread(functools.partial(self._resources.followed, uri))
                self._at.setdefault(constellation, seq)
        except Problem as problem:
            self._let_go(uris)
            raise MCPError(INVALID_PARAMS, refusal_text(problem)) from problem
        except BaseException:
            self._let_go(uris)
            raise

    def _let_go(self, uris: Iterable[str]) -> None:
        self._uris.subtract(uris)
        self._uris = +self._uris
        for constellation in [name for name in self._at if not self._uris_of(name)]:
            del self._at[constellation]

    def _uris_of(self, constellation: str) -> list[str]:
        return [uri for uri in self._uris if f"/{constellation}/" in f"{uri}/"]

    async def saw(self, kind: str, shown: object) -> None:
        """Take what a program was just shown; the others hear that it is other than before."""
        former = self._shown_last.get(kind, shown)
        self._shown_last[kind] = shown
        if former != shown:
            for event in _EVENTS[kind]:
                await self._tell(event)

    async def run(self) -> None:
        """Look for changes until cancelled."""
        while True:
            await anyio.sleep(LOOK_S)
            if self._streams or self._connections:
                await self.look()

    async def look(self) -> None:
        """Look once; a hub that is away has changed nothing, and is asked again at the next look."""
        try:
            await self.saw("offered", await in_thread(self._offered))
            await self.saw("listed", await in_thread(self._resources.listed))
            for constellation in list(self._at):
                await self._look_at(constellation)
        except Problem:
            return

    async def _look_at(self, constellation: str) -> None:
        """Tell of a constellation that has changed. Where the hub refuses the events, say so once and drop it.

        Raises:
            Problem: the hub cannot be asked now.
        """
        after = self._at[constellation]
        try:
            last = await in_thread(functools.partial(self._last_event, constellation, after))
        except Problem as problem:
            if may_pass(problem) or problem.code == Code.RATE_LIMITED:
                raise
            self._at.pop(constellation, None)
        else:
            if last == after or constellation not in self._at:
                return
            self._at[constellation] = last
        for uri in self._uris_of(constellation):
            await self._tell(ResourceUpdated(uri=uri))

    def _last_event(self, constellation: str, after: int) -> int:
        with self._tools.hub() as hub:
            events = hub.events(constellation, after, limit=_PAGE)
        return events[-1].seq if events else after

    async def _tell(self, event: ServerEvent) -> None:
        await self._bus.publish(event)
        for key, (_, session, followed) in list(self._connections.items()):
            if isinstance(event, ResourceUpdated) and event.uri not in followed:
                continue
            with anyio.move_on_after(TELL_S) as telling:
                await session.send_notification(event_to_notification(event, {}))
            if telling.cancelled_caught and self._connections.pop(key, None) is not None:
                self._let_go(followed)


async def in_thread(work: Callable[[], T], limiter: anyio.CapacityLimiter | None = None) -> T:
    """Do work that waits for the hub beside the loop; work whose caller has gone ends on its own."""
    return await anyio.to_thread.run_sync(work, abandon_on_cancel=True, limiter=limiter)
