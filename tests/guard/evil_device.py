"""A joined device that lies: it sends every frame of the protocol about the work, the secrets and the bytes of others.

It joined as *observe* and has one open attempt of a task that only reads. `Lies` makes the messages, `Stage` sets up a
hub in this process and judges from the log and the entities of the engine what came of each. A case is its seed.
"""

from __future__ import annotations

import copy
import json
import random
from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from starloom_protocol.records.entities import encode_entity
from starloom_protocol.stream.feed import ACCESS, FLEET, Event, decode_event
from starloom_protocol.wire import frames as f
from starloom_protocol.wire.codec import Side, tag_of
from starloom_protocol.wire.frames import LeaseRef
from tests.edge.world import Agent, World, an_offer, settle
from tests.guard.sockets import Attacker, with_attempt
from tests.protocol.frames_sample import BY_SIDE

SECRET: Final = "k3y-of-the-victim"
MESSAGES_MOST: Final = 8
"""Messages of one connection before the next one."""

_EDGE: Final = {"changed_in": 1, "source": "look", "target": "after"}
OPERATIONS: Final[list[dict[str, Any]]] = [
    {"op": "add_task", "spec": {"changed_in": 1, "id": "planted", "secrets": ["key"], "tool": "t.dump"}},
    {"op": "remove_task", "id": "after"},
    {"op": "update_task", "id": "after", "changes": {"args": '{"x":1}'}},
    {"op": "reassign", "id": "dump", "device": {"name": "evil"}},
    {"op": "add_dependency", "dependency": {**_EDGE, "gate": "finish"}},
    {"op": "remove_dependency", "id": "look>after:success"},
    {"op": "update_dependency", "id": "look>after:success", "dependency": {**_EDGE, "gate": "failure"}},
    {"op": "expand", "id": "each"},
    {"op": "add_items", "to": "each", "items": "[1]"},
    {"op": "drop_items", "of": "each", "keys": "[0]"},
    {"op": "set_policy", "policy": {"approval": "never"}},
    {"op": "supersede", "task": "dump", "by": "look"},
]


def removed(operation: dict[str, Any], at: dict[str, Any]) -> dict[str, Any]:
    """Return the frame `propose` as the first draft of the protocol had it."""
    text = json.dumps([operation])
    return {"t": "propose", "at": at, "base_version": 1, "operations": text, "reason": "found more", "report": 1}


class Lies:
    """Frames by name, and the references that they are sent with."""

    def __init__(self, own: LeaseRef, others: list[LeaseRef], artifact: str) -> None:
        self.own = own
        self.artifact = artifact
        self.others = [
            *others,
            *(msgspec.structs.replace(own, incarnation=own.incarnation + step) for step in (-1, 1, 99)),
            *(msgspec.structs.replace(own, attempt=number) for number in (0, 2, 99)),
            LeaseRef(attempt=1, constellation="", incarnation=1, task=""),
            LeaseRef(attempt=1, constellation=FLEET, incarnation=1, task="look"),
            LeaseRef(attempt=2**53, constellation="c-none", incarnation=2**53, task="look"),
        ]
        self._frames = [(side, msgspec.to_builtins(frame)) for side in Side for frame in BY_SIDE[side]]

    def first(self, number: int, chance: random.Random) -> dict[str, Any]:
        """Return the frame that a connection begins with: each kind in turn, the removed ones too."""
        rows: list[dict[str, Any]] = [frame for _, frame in self._frames]
        rows += [removed(operation, msgspec.to_builtins(self.own)) for operation in OPERATIONS]
        rows += [self._ready()]
        frame = rows[number % len(rows)]
        return frame if frame["t"] == "propose" else dict(with_attempt(frame, self._other(chance)))

    def _other(self, chance: random.Random) -> dict[str, Any]:
        found: dict[str, Any] = msgspec.to_builtins(chance.choice(self.others))
        return found

    def _ready(self) -> dict[str, Any]:
        return {"t": "artifact_ready", "bytes": 1, "media": "x", "name": "n", "report": 1, "sha256": self.artifact}

    def message(self, chance: random.Random, *, over: bool) -> dict[str, Any]:
        """Return one frame. While its own attempt is not `over`, no frame that ends work names that attempt."""
        at = self._other(chance)
        pick = chance.random()
        if pick < 0.04:
            return removed(chance.choice(OPERATIONS), at)
        agents = [frame for side, frame in self._frames if side is Side.AGENT and frame["t"] not in ("hello", "prove")]
        frame = copy.deepcopy(chance.choice(agents))
        begins = frame["t"] in ("started", "alive", "log", "progress", "facts")
        if chance.random() < 0.2 and (over or begins):
            at = msgspec.to_builtins(self.own)
        frame = with_attempt(frame, at)
        if frame["t"] == "result":
            frame["artifact"] = chance.choice((None, self.artifact))
        if "report" in frame:
            frame["report"] = chance.choice((0, 1, 7, 2**40))
        return dict(frame)


def refs_in(frame: Any) -> Iterator[dict[str, Any]]:
    """Yield every attempt that a frame names."""
    if isinstance(frame, dict):
        if {"attempt", "constellation", "incarnation", "task"} <= set(frame):
            yield frame
        for value in frame.values():
            yield from refs_in(value)
    elif isinstance(frame, list):
        for item in frame:
            yield from refs_in(item)


SILENT: Final = frozenset({"offer", "condition", "asks", "ping", "pong", "bye", "error", "alive"})
"""What a device may say of itself; an answer, if there is one, is no refusal."""


class EvilDevice(Attacker):
    """Joined as *observe* at most."""

    def ask(self, code: str) -> dict[str, Any]:
        return super().ask(code) | {"profile": "observe"}


class Stage:
    """One hub with an honest device, an evil one and their work. `wrong` holds what should not be, with its seed."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.evil = EvilDevice("evil")
        self.victim = Agent("victim")
        self.said: Counter[str] = Counter()
        self.tried: Counter[str] = Counter()
        self.wrong: list[tuple[int, str]] = []
        self.over = False
        self.lies: Lies
        self._dispatch: f.Dispatch
        self._work = ""

    async def open(self) -> None:
        """Join both, give each its work; the plan of the evil device's task also has a secret for the victim."""
        world, victim, evil = self.world, self.victim, self.evil
        async with world.client() as http:
            for agent in (victim, evil):
                most = "observe" if agent is evil else "operate"
                made = (await http.post("/api/v1/enrollments", json={"preapproved": True, "profile_most": most})).json()
                answer = await http.post("/agent/join", json=agent.ask(made["code"]))
                assert answer.json()["state"] == "approved", answer.text
            await victim.connect(world, offer=an_offer("t.dump", "t.make"))
            sealed = await http.put("/api/v1/secrets/key", json={"value": SECRET, "devices": ["victim"]})
            assert sealed.status_code == 201, sealed.text
        offer = an_offer("t.look")
        await evil.connect(world, offer=offer)
        artifact = world.hub.artifacts.put_bytes(b"of the victim", owner=f"device:{victim.id}")
        other = (await world.submit({"starloom": 1, "name": "other", "tasks": [_at_victim("make", "t.make")]}))["id"]
        made_by_victim = await victim.next(f.Dispatch)
        await victim.done(made_by_victim, '"made"', artifact=artifact, bytes=13)
        tasks = [
            {"id": "look", "tool": "t.look"},
            _at_victim("dump", "t.dump", args={"key": {"secret": "key"}}),
            _at_victim("after", "t.dump"),
            {**_at_victim("each", "t.dump"), "for_each": {"from": "look", "output": "/rows"}},
        ]
        plan = {
            "starloom": 1,
            "name": "reads",
            "tasks": tasks,
            "dependencies": [{"from": "look", "to": "after", "when": "success"}],
        }
        self._work = (await world.submit(plan))["id"]
        self._dispatch = await evil.next(f.Dispatch)
        dump = await victim.next(f.Dispatch)
        assert SECRET in dump.secrets.values()
        waiting = LeaseRef(attempt=1, constellation=self._work, incarnation=self._dispatch.at.incarnation, task="after")
        others = [made_by_victim.at, dump.at, waiting]
        assert all(ref.constellation in (other, self._work) for ref in others)
        self.lies = Lies(self._dispatch.at, others, artifact)
        await settle()
        assert evil.ws is not None
        await evil.ws.leave()

    async def besiege(self, connections: int, *, first: int) -> int:
        """Attack before its own result and after it, on so many connections each; return how much was sent."""
        await self.open()
        sent = 0
        for seed in range(first, first + connections):
            sent += await self.attack(seed)
        await self.finish()
        for seed in range(first, first + connections):
            sent += await self.attack(seed)
        return sent

    async def finish(self) -> None:
        """Have the evil device end its own attempt as it should; what follows is tried after its result."""
        await self.evil.connect(self.world, offer=an_offer("t.look"))
        await self.evil.done(self._dispatch, '{"rows":[1]}')
        await settle()
        self.over = True
        assert self.evil.ws is not None
        await self.evil.ws.leave()

    async def attack(self, seed: int) -> int:
        """Send messages on one connection until the hub ends it; return how many were sent."""
        chance, sent = random.Random(seed), 0
        await self.evil.connect(self.world, offer=an_offer("t.look"))
        for turn in range(MESSAGES_MOST):
            frame = self.lies.message(chance, over=self.over) if turn else self.lies.first(seed, chance)
            before, events = self._entities(), len(self._commits())
            visible = self._visible()
            closed = await self._send(frame)
            sent += 1
            self.tried[frame["t"]] += 1
            self._judge(seed, frame, before, events)
            if closed or self._visible() > visible:
                self.said["refused" if closed else "ignored"] += 1
            elif frame["t"] in SILENT or all(self._is_its_own(ref) for ref in refs_in(frame)):
                self.said["its own"] += 1
            else:
                self.wrong.append((seed, f"nobody sees that it sent {json.dumps(frame)[:300]}"))
            if closed:
                break
        if self.evil.ws is not None and self.evil.ws.task is not None:
            await self.evil.ws.leave()
        await settle()
        return sent

    def _is_its_own(self, ref: dict[str, Any]) -> bool:
        own = msgspec.to_builtins(self.lies.own)
        return all(ref[name] == own[name] for name in ("constellation", "task", "attempt"))

    async def _send(self, frame: dict[str, Any]) -> bool:
        """Send one message; return whether the hub has ended the connection."""
        ws = self.evil.ws
        assert ws is not None
        self.evil.session._sent += 1
        await ws.send(self.evil.sealed(json.dumps({"n": self.evil.session._sent, "f": [frame]})))
        await settle()
        while not ws._from_app.empty():
            if ws._from_app.get_nowait()["type"] == "websocket.close":
                return True
        return False

    def _judge(self, seed: int, frame: dict[str, Any], before: dict[str, bytes], events: int) -> None:
        after = self._entities()
        for key in sorted(before.keys() | after.keys()):
            if before.get(key) != after.get(key) and not self._is_own(key):
                self.wrong.append((seed, f"{frame['t']} changed {key}"))
        for event in self._events(events):
            puts = [f"{event.stream}/{key}" for key in event.puts]
            refusal = event.stream == ACCESS and event.kind == "refused" and not puts
            if not refusal and not (puts and all(self._is_own(key) for key in puts)):
                self.wrong.append((seed, f"{frame['t']} made the event {event.stream} {event.kind} {event.about}"))

    def _is_own(self, key: str) -> bool:
        stream, kind, name = (*key.split("/", 2), "")[:3]
        if stream == FLEET:
            return kind in ("device", "offer", "asks", "health") and name == self.evil.id
        own = self.lies.own
        return ((stream, kind) == (own.constellation, "attempt") and name == f"{own.task}/{own.attempt}") or (
            not self.over and (stream, kind, name) == (own.constellation, "task", own.task)
        )

    def _entities(self) -> dict[str, bytes]:
        shard = self.world.engine.shard
        streams = [shard.fleet, shard.access, *shard.constellations.values()]
        return {
            f"{stream.name}/{kind}/{key}": encode_entity(record)
            for stream in streams
            for kind, key, record in stream.records()
        }

    def _commits(self) -> list[Any]:
        commits: list[Any] = self.world.engine._store.history.commits  # type: ignore[attr-defined]
        return commits

    def _events(self, first: int) -> Iterator[Event]:
        for commit in self._commits()[first:]:
            yield from map(decode_event, commit.events)

    def refusals(self) -> list[Event]:
        """Return the refusals in the log that name the evil device."""
        who = f"device:{self.evil.id}"
        return [event for event in self._events(0) if event.kind == "refused" and event.by == who]

    def _visible(self) -> int:
        return sum(self.world.engine.counts.ignored.values()) + sum(self.world.edge.aip.faults.values())


def _at_victim(name: str, tool: str, **more: Any) -> dict[str, Any]:
    return {"id": name, "tool": tool, "device": {"name": "victim"}, **more}


TAGS: Final = {tag_of(frame) for side in Side for frame in BY_SIDE[side]} | {"propose", "artifact_ready"}
