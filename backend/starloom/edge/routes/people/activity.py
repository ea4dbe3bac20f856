"""Routes of activity: the record for owners, the audit chain and copies of it, and replays of decisions.

Reads the durable log only. Decides nothing: `store.chain` and `engine.redeciding` do the checks.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from hashlib import sha256
from typing import Annotated, Any, cast

import msgspec
from fastapi import APIRouter, Query
from starlette.responses import Response, StreamingResponse

from starloom.edge.access.guard import V1
from starloom.edge.hub import Hub
from starloom.edge.live import entity_json
from starloom.edge.live.views import Headline
from starloom.edge.web.problems import Problem
from starloom.edge.web.replies import JsonReply, cursor_of, cursor_text, json_reply, stored_number
from starloom.engine.redeciding import NothingThere, PrunedBeside, redecide
from starloom.store.chain import ChainedCommit, Pruning, Walk, anchor_of
from starloom.store.port import ActivityFilter
from starloom_protocol.api.history import ActivityRow, ChainCheck, Replayed
from starloom_protocol.api.service import Items
from starloom_protocol.records.entities import Attempt, Device, Head, TaskRecord, decode_entity
from starloom_protocol.stream.authors import ENGINE, name_of, told_name, who
from starloom_protocol.stream.events import HOUSEKEEPING, Category, EventKind, category_of, kinds_of
from starloom_protocol.stream.feed import ACCESS, FLEET, Event, decode_event
from starloom_protocol.tools.ways_back import ADDED
from starloom_protocol.values import parse
from starloom_protocol.vocabulary import Code, PrincipalKind

PAGE_COMMITS = 500
PAGE_PRUNINGS = 200
WALKS_MOST = 3
"""A walk is repeated if the history was pruned during it; three in a row mean that it is pruned without pause."""
FILES_TOLD_MOST = 5
PATH_CHARS_MOST = 200
RESULT_CHARS_MOST = 256 * 1024
"""A longer result is not read for its files: a page of the record reads fifty results."""
ASKED_BEFORE = frozenset({EventKind.CANCELLING, EventKind.REQUEST_ACCEPTED, EventKind.STARTED})
"""Deeds that the hub does by its own clock only where a schedule or a person had decided them before."""
NOTED_FOR_DEVICES = frozenset(
    {
        EventKind.DEVICE_OFFLINE,
        EventKind.DEVICE_WOKE,
        EventKind.TASK_ABSENT,
        EventKind.TASK_HEARD,
        EventKind.TASK_OVERDUE,
    }
)
"""Words that are about a device, of which the hub may be the author: one that is away says nothing itself."""
_A = V1 + "/audit"
Words = Annotated[str, Query(max_length=200)]


class Activity:
    """Routes over the record."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._redeciding = asyncio.Lock()

    def add_to(self, router: APIRouter) -> None:
        router.add_api_route(_A, self.page, methods=["GET"])
        router.add_api_route(_A + "/verify", self.verify, methods=["GET"])
        router.add_api_route(_A + "/export", self.export, methods=["GET"], response_class=StreamingResponse)
        router.add_api_route(V1 + "/constellations/{constellation}/replay", self.replay, methods=["GET"])

    async def page(
        self,
        person: Words = "",
        device: Words = "",
        kind: Category | None = None,
        constellation: Words = "",
        q: Words = "",
        cursor: Annotated[str | None, Query(max_length=100)] = None,
        limit: Annotated[int, Query(ge=1, le=200)] = 50,
    ) -> JsonReply[Items[ActivityRow]]:
        """List events, newest first, by person, device, subject (`kind`), constellation or words.

        `person` is a name, or an author as in events: `program:NAME`, `person:NAME#TOKEN`. A name that no person has
        is that of the program or the assistant which has it.
        """
        hub = self._hub
        record = hub.fleet.device(device) if device else None
        activity_filter = ActivityFilter(
            about=record.id if record else device,
            by=self._author(person) if person and ":" not in person else person,
            kinds=list(kinds_of(kind)) if kind is not None and kind is not Category.OTHER else [],
            stream=constellation,
            text=q,
            without=list(EventKind if kind is Category.OTHER else HOUSEKEEPING),
        )
        page = await hub.reads.activity(activity_filter, cursor_of(cursor, stored_number), limit)
        events = [(pos, decode_event(raw)) for pos, _place, raw in page.events]
        streams = {event.stream for _pos, event in events} - {ACCESS, FLEET}
        headlines = await hub.headlines.of_all(sorted(streams))
        items = [await self._item(pos, event, headlines.get(event.stream)) for pos, event in events]
        return json_reply({"items": items, "next": None if page.next is None else cursor_text(*page.next)})

    async def _item(self, pos: int, event: Event, headline: Headline | None) -> ActivityRow:
        return {
            "pos": pos,
            "stream": event.stream,
            "stream_name": headline.head.name if headline is not None else "",
            "seq": event.seq,
            "at": entity_json.iso(event.at_ms),
            "by": event.by,
            "by_name": self._author_name(event, headline.head if headline is not None else None),
            "kind": event.kind,
            "category": category_of(event.kind),
            "about": event.about,
            "about_name": await self._proposed(event.about) or self._name_of(event.stream, event.about),
            "note": event.note or _renamed(event),
            "files": (files := _changed_files(event))[:FILES_TOLD_MOST],
            "files_count": len(files),
        }

    def _author(self, name: str) -> str:
        kinds = {holder.kind for holder in self._hub.access.principals.values() if holder.name == name}
        return f"{next((kind for kind in PrincipalKind if kind in kinds), PrincipalKind.PERSON)}:{name}"

    def _author_name(self, event: Event, head: Head | None) -> str:
        """Return who did it: of what the hub begins or ends for somebody, the schedule or the person who had asked.

        Of what the hub notes of a device that is away, the device.
        """
        device = self._hub.fleet.devices.get(_device_noted(event) or name_of(event.by))
        if device is not None:
            return device.name
        if event.kind == EventKind.REFUSED and ":" not in event.by:
            return "somebody"
        if head is None or event.kind not in ASKED_BEFORE or not (event.by == ENGINE or _starts_itself(event, head)):
            return told_name(event.by)
        if head.schedule is None:
            return f"{told_name(ENGINE)}, for {told_name(head.author)}"
        schedule = self._hub.fleet.schedules.get(head.schedule)
        return f"the schedule {schedule.name if schedule is not None else head.name}"

    async def _proposed(self, about: str) -> str:
        """Return the title of a proposed recipe, which is the name of its constellation; empty for other ids."""
        proposal = self._hub.access.proposals.get(about)
        headline = await self._hub.headlines.of(proposal.constellation) if proposal is not None else None
        return headline.head.name if headline is not None else ""

    def _name_of(self, stream: str, about: str) -> str:
        """Return the present name of the device, schedule or holder of rights behind an id; empty without one."""
        if stream == FLEET and about in self._hub.fleet.devices:
            return self._hub.fleet.devices[about].name
        if stream == FLEET and about in self._hub.fleet.schedules:
            return self._hub.fleet.schedules[about].name
        if stream == FLEET and about in self._hub.fleet.enrollments:
            code = self._hub.fleet.enrollments[about]
            return code.name or code.label
        access = self._hub.access
        if stream != ACCESS:
            return ""
        link, token = access.sign_ins.get(about), access.tokens.get(about)
        holder = access.principals.get(token.principal if token else link.principal if link else about)
        if holder is None:
            return ""
        return f"{holder.name} ({token.role})" if token else holder.name

    async def verify(
        self, anchor: Annotated[list[str] | None, Query(max_length=20, description="POS:LINK kept elsewhere")] = None
    ) -> JsonReply[ChainCheck]:
        """Verify the whole chain: is every row as it was written? `anchor` is a link that was kept elsewhere."""
        anchors = [_anchor(text) for text in anchor or []]
        for _ in range(WALKS_MOST):
            prunings = await self._prunings()
            walk = Walk(anchors=anchors, prunings=prunings)
            # Asked before the walk: what is written meanwhile may be in it, and what was there before must be.
            reached = await self._hub.reads.durable_pos()
            async for page in self._pages():
                await asyncio.to_thread(walk.take, page)
            walk.ended(reached)
            if not walk.breaks or (await self._hub.reads.pruned_since(len(prunings), 1))[0] == len(prunings):
                break
        else:
            raise Problem(Code.OVERLOADED, "the history was pruned while it was walked", retry_after_s=60)
        return json_reply(walk.check())

    async def export(self) -> Response:
        """Give the whole record as lines of JSON, with its links: it can be verified without the hub.

        The prunings come first, a line each, then the commits.
        """
        return StreamingResponse(self._lines(), media_type="application/x-ndjson")

    async def _lines(self) -> AsyncIterator[bytes]:
        prunings = await self._prunings()
        for pruning in prunings:
            yield _pruning_line(pruning)
        async for page in self._pages():
            yield await asyncio.to_thread(_text, page)
            if (await self._hub.reads.pruned_since(len(prunings), 1))[0] != len(prunings):
                yield b'{"pruned_meanwhile":true}\n'
                return

    async def _prunings(self) -> list[Pruning]:
        prunings: list[Pruning] = []
        while page := await self._hub.reads.prunings(len(prunings), PAGE_PRUNINGS):
            prunings += page
        return prunings

    async def _pages(self) -> AsyncIterator[list[ChainedCommit]]:
        pos = 0
        while page := await self._hub.reads.commits_after(pos, PAGE_COMMITS):
            yield page
            pos = page[-1].pos

    async def replay(self, constellation: str) -> JsonReply[Replayed]:
        """Fold the log of a constellation and decide every step again from its inputs; show any difference."""
        if self._redeciding.locked():
            raise Problem(Code.OVERLOADED, "another replay is under way", retry_after_s=5)
        async with self._redeciding:
            try:
                redecided = await redecide(self._hub.reads, constellation)
            except PrunedBeside as pruned:
                raise Problem(Code.PRUNED, str(pruned)) from pruned
            except NothingThere as nothing:
                raise Problem(Code.NOT_FOUND, f"there is no constellation {constellation[:64]}") from nothing
        fields = msgspec.structs.asdict(redecided)
        return json_reply(cast("Replayed", {**fields, "same": not redecided.differences}))


def _starts_itself(event: Event, head: Head) -> bool:
    """Tell whether a plan began as soon as the hub's worker, which is a program, had made it; nobody approved it."""
    return event.kind == EventKind.STARTED and not event.note and who(event.by) != who(head.author)


def _device_noted(event: Event) -> str:
    """Return the device that an event of the hub itself is about; empty for every other one."""
    if event.by != ENGINE or event.kind not in NOTED_FOR_DEVICES:
        return ""
    raw = event.puts.get(f"task/{event.about}")
    record = decode_entity(f"task/{event.about}", raw) if raw is not None else None
    return (record.device or "") if isinstance(record, TaskRecord) else event.about


def _renamed(event: Event) -> str:
    """Return the former and the new name of a device that was renamed; its present name may be another one again."""
    raw = event.puts.get(f"device/{event.about}") if event.kind == EventKind.DEVICE_RENAMED else None
    device = decode_entity(f"device/{event.about}", raw) if raw is not None else None
    if not isinstance(device, Device) or not device.former_names:
        return ""
    return f"{device.former_names[0]} is called {device.name} from here on"


def _changed_files(event: Event) -> list[str]:
    """Return the paths that a finished task changed on its device, as its result lists them for an undo."""
    if event.kind != EventKind.TASK_SUCCEEDED:
        return []
    paths: list[str] = []
    for key, raw in event.puts.items():
        attempt = decode_entity(key, raw) if raw is not None and key.startswith("attempt/") else None
        if not isinstance(attempt, Attempt):
            continue
        if attempt.value and len(attempt.value) <= RESULT_CHARS_MOST:
            paths += _paths_in(parse(attempt.value))
        elif ADDED in attempt.facts:
            paths += _paths_in({"added": parse(attempt.facts[ADDED])})
    return list(dict.fromkeys(paths))


def _paths_in(result: object) -> list[str]:
    """Return the paths that a result says were added, moved or put into the trash."""
    if not isinstance(result, dict):
        return []
    items = [*_dicts(result.get("added")), *(item for item in _dicts(result.get("items")) if "ticket" in item)]
    if result.get("moved") is True:
        items.append(result)
    paths = [item["path"] for item in items if isinstance(item.get("path"), str) and not item.get("folder")]
    return [path[:PATH_CHARS_MOST] for path in paths]


def _dicts(value: object) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _pruning_line(pruning: Pruning) -> bytes:
    fields = {**msgspec.structs.asdict(pruning), "seal": pruning.seal.hex()}
    fields["anchors"] = [[item.first, item.last, item.before.hex(), item.link.hex()] for item in pruning.anchors]
    fields["leftovers"] = [[item.pos, item.digest.hex()] for item in pruning.leftovers]
    return msgspec.json.encode({"pruning": fields}) + b"\n"


class _Copied(msgspec.Struct, frozen=True, kw_only=True):
    """A line of a copy: events as the very texts that were chained, inputs by their hash."""

    at_ms: int
    chain: str | None
    events: list[str]
    incarnation: int
    inputs: list[str]
    pos: int
    term: int


def _text(commits: list[ChainedCommit]) -> bytes:
    return b"".join(map(_line, commits))


def _line(commit: ChainedCommit) -> bytes:
    copied = _Copied(
        at_ms=commit.at_ms,
        chain=None if commit.chain is None else commit.chain.hex(),
        events=[body.decode() for body in commit.events],
        incarnation=commit.incarnation,
        inputs=[sha256(raw).hexdigest() for raw in commit.inputs],
        pos=commit.pos,
        term=commit.term,
    )
    return msgspec.json.encode(copied) + b"\n"


def _anchor(text: str) -> tuple[int, bytes]:
    try:
        return anchor_of(text)
    except ValueError as error:
        raise Problem(Code.BAD_REQUEST, f"an anchor {error}", errors=()) from error
