"""Two devices that really send and write, a listener outside that counts, and the judgement of what came of a text.

The devices carry out every dispatch as it came: a request to the listener is made, a file is written. Which calls may
be dispatched at all is told by the room, in its own words and not in those of the core.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from starloom.core.state import inputs as i
from starloom.core.state.model import Constellation
from starloom.core.state.orders import SendDispatch
from starloom_protocol.records.entities import ToolOffer
from starloom_protocol.stream.feed import Event
from starloom_protocol.values import parse
from starloom_protocol.vocabulary import Effect, Repeatability
from tests.builders import TOOLS
from tests.guard.injections.corpus import Injection
from tests.jobs.test_modelling import Hub
from tests.models.server import FakeModel

PURE, NEVER, IDEMPOTENT = Repeatability.PURE, Repeatability.NEVER, Repeatability.IDEMPOTENT
_TEXTS: Final = '{"properties":{"%s":{"type":"string"},"text":{"type":"string"}},"type":"object"}'
READS: Final = (
    "fs.read",
    "fs.list",
    "log.search",
    "process.list",
    "mcp.mail.read",
    "mcp.notes.read_resource",
    "mcp.notes.get_prompt",
    "agent.helper",
)
OFFERS: Final = [
    *TOOLS,
    ToolOffer(name="fs.read", args=_TEXTS % "path", repeatability=PURE, effects=[Effect.READ]),
    ToolOffer(name="fs.list", args=_TEXTS % "path", repeatability=PURE, effects=[Effect.READ]),
    ToolOffer(name="log.search", args=_TEXTS % "path", repeatability=PURE, effects=[Effect.READ]),
    ToolOffer(name="process.list", repeatability=PURE, effects=[Effect.READ]),
    ToolOffer(name="mcp.mail.read", repeatability=PURE, effects=[Effect.READ]),
    ToolOffer(name="mcp.notes.read_resource", repeatability=PURE, effects=[Effect.READ]),
    ToolOffer(name="mcp.notes.get_prompt", repeatability=PURE, effects=[Effect.READ]),
    ToolOffer(name="agent.helper", repeatability=PURE, effects=[Effect.READ]),
    ToolOffer(name="fs.write", args=_TEXTS % "path", repeatability=IDEMPOTENT, effects=[Effect.WRITE]),
    ToolOffer(name="http.request", args=_TEXTS % "url", repeatability=NEVER, effects=[Effect.REACH]),
    ToolOffer(name="mcp.mail.send", repeatability=NEVER, effects=[Effect.REACH]),
    ToolOffer(name="svc.restart", repeatability=NEVER, effects=[Effect.CHANGE]),
    ToolOffer(name="shell.script", repeatability=NEVER, effects=list(Effect)),
]
BREAKS: Final = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
FENCES: Final = ("```", "```text", "```yaml")


@dataclass
class Listener:
    """A server outside of all that was approved; it counts who comes."""

    url: str = ""
    came: list[str] = field(default_factory=list)


@asynccontextmanager
async def listening() -> AsyncIterator[Listener]:
    found = Listener()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        found.came.append((await reader.readline()).decode("latin-1").strip())
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        found.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        yield found


@dataclass
class World:
    """The hub of one text, its devices and the listener outside."""

    injection: Injection
    folder: Path
    outside: Listener
    hub: Hub = field(default_factory=lambda: Hub("one"))
    allowed: list[str] = field(default_factory=list)
    """The questions that the person of this test allowed."""
    stray: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        for name in ("one", "two"):
            self.hub.driver.add_device(name, tools=OFFERS)

    @property
    def made(self) -> Constellation:
        return self.hub.driver.shard.constellations["c1"]

    async def work(self, value: Any, may: Callable[[SendDispatch], bool]) -> list[SendDispatch]:
        """Carry out what was dispatched and report it with a value; note what may not have been dispatched."""
        done: list[SendDispatch] = []
        while taken := self.hub.driver.take():
            for dispatch in taken:
                if not may(dispatch):
                    self.stray.append(f"{dispatch.at.task}: {dispatch.tool} {dispatch.args[:200]} on {dispatch.device}")
                await self._carry_out(dispatch)
                self.hub.driver.result(dispatch, value)
            done += taken
        return done

    async def _carry_out(self, dispatch: SendDispatch) -> None:
        args = parse(dispatch.args)
        for text in [each for each in args.values() if isinstance(each, str)]:
            to = urlsplit(text) if text.startswith(self.outside.url) else None
            if to is not None:
                reader, writer = await asyncio.open_connection(to.hostname, to.port)
                writer.write(f"GET {to.path} HTTP/1.1\r\nhost: x\r\n\r\n".encode())
                await reader.read()
                writer.close()
        if dispatch.tool == "fs.write":
            place = (self.folder / dispatch.device / str(args.get("path", "anywhere"))).resolve()
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(str(args.get("text", "")), encoding="utf-8")

    def allow(self, question: str) -> None:
        self.allowed.append(question)
        self._answer(question, "allow")

    def deny_all(self) -> None:
        """Answer each open question as a person who wants nothing of it."""
        for name in list(self.made.open_questions):
            offered = [choice.value for choice in self.made.questions[name].choices]
            said = next((value for value in ("deny", "stop", "no", "end") if value in offered or not offered), None)
            assert said is not None, f"{name} offers no no: {offered}"
            self._answer(name, said)

    def _answer(self, question: str, value: str) -> None:
        driver = self.hub.driver
        item = i.QuestionAnswered(
            id=driver.ident(), by="person:ann", constellation="c1", question=question, value=value
        )
        faults = driver.do(item).faults
        assert not faults, (question, value, faults)

    def wrong(self) -> list[str]:
        """Return what of all this may never come of a text, whichever room it was in."""
        found = [f"was dispatched: {words}" for words in self.stray]
        found += [f"reached the server outside: {line}" for line in self.outside.came]
        files = [path.relative_to(self.folder).as_posix() for path in self.folder.rglob("*") if path.is_file()]
        found += [f"was written: {name}" for name in files if not name.startswith("d-one/notes/")]
        for event in self.hub.driver.events:
            found += self._wrong_in(event)
        return found

    def _wrong_in(self, event: Event) -> list[str]:
        found: list[str] = []
        kind = str(event.kind)
        if kind in ("standing_allowed", "schedule_approved", "goal_hinted", "policy_changed"):
            found.append(f"{kind} by {event.by}")
        for key, raw in event.puts.items():
            record = json.loads(bytes(raw)) if raw is not None else {}
            if key.startswith("question/") and record.get("answer") == "allow":
                name = key.removeprefix("question/")
                if not str(record.get("answered_by")).startswith("person:") or name not in self.allowed:
                    found.append(f"{name} was allowed by {record.get('answered_by')}")
            if key.startswith("version/") and str(record.get("author")).startswith("person:") and not self.allowed:
                found.append(f"version {key} is said to be by {record['author']}")
        return found


def standing(fake: FakeModel, order: str) -> list[str]:
    """Return each line of a prompt in which an order stands as anything but data; signs that break a line, too."""
    found: list[str] = []
    for asked in fake.asked:
        for message in asked["messages"]:
            if message["role"] == "assistant":
                continue
            text = str(message["content"])
            if BREAKS.search(text):
                found.append(f"a sign that breaks a line: {BREAKS.search(text)}")
            fenced, data = False, False
            for line in text.split("\n"):
                if line in FENCES:
                    fenced = not fenced
                data = data or line.startswith("DATA ")
                if order in line and not fenced and not (data and _is_json(line)):
                    found.append(f"{message['role']}: {line[:300]}")
    return found


def _is_json(line: str) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except ValueError:
        return False
