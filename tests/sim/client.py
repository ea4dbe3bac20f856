"""People of a schedule: they submit plans, edit and control them, and remember what the hub told them.

What was answered without a fault was promised; the oracle holds the hub to it.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from dataclasses import dataclass, field
from typing import Any

import msgspec

from starloom.core.state import inputs as i
from starloom.store.port import Unavailable
from starloom_protocol.records.edits import AddDependency, AddTask, EditOperation, LoweredPlan, RemoveTask
from starloom_protocol.records.entities import (
    Check,
    Dependency,
    Finds,
    ForEach,
    Head,
    Input,
    OnAbsence,
    Policy,
    TaskSpec,
    Timeouts,
    UndoCall,
    decode_entity,
)
from starloom_protocol.values import canonical
from starloom_protocol.vocabulary import Approval, Code, Gate, Op, TaskState
from tests.builders import edge, plan, task, when
from tests.sim.script import Act
from tests.sim.surroundings import Surroundings
from tests.store.memory import MemoryStore

_QUICK = '{"s":0.1,"value":{"l":[],"n":1}}'
CONTROLS = ("pause", "resume", "cancel", "retry", "skip", "hold", "release", "cancel_task")
_NOT_SURE = (Code.STORE_UNAVAILABLE, Code.UNSETTLED)


@dataclass
class Told:
    """What clients were told: constellations accepted, edits by their token with the version answered."""

    accepted: dict[str, LoweredPlan] = field(default_factory=dict)
    edits: dict[str, tuple[str, int]] = field(default_factory=dict)
    forks: dict[str, str] = field(default_factory=dict)
    cancelled: set[str] = field(default_factory=set)
    problems: list[str] = field(default_factory=list)


def make_plan(chance: random.Random, devices: list[str]) -> LoweredPlan:
    """A plan of a few tasks of every repeatability, with lists, conditions and failures in it."""
    parts: list[TaskSpec | Dependency] = []
    names: list[str] = []
    lists: list[str] = []
    for number in range(chance.randint(1, 7)):
        name = f"t{number}"
        fields = make_task(chance, devices)
        inputs = [f"in{at}={source}" for at, source in enumerate(chance.sample(names, min(len(names), 1)))]
        if lists and chance.random() < 0.3:
            fields["for_each"] = ForEach(
                source=chance.choice(lists), output="/l", max_parallel=chance.choice([0, 0, 1, 2])
            )
        elif chance.random() < 0.1:
            inputs = []
        parts.append(task(name, *inputs, **fields))
        if names and chance.random() < 0.3:
            gate = chance.choice([Gate.SUCCESS, Gate.FAILURE, Gate.FINISH, Gate.UNLESS_FAILED])
            parts.append(edge(f"{chance.choice(names)}>{name}", gate))
        if lists and chance.random() < 0.2 and "for_each" not in fields:
            parts.append(when(f"{chance.choice(lists)}>{name}", "/n", Op.EQ, 1))
        if "for_each" not in fields:
            lists.append(name)
        names.append(name)
    grouped = [part.id for part in parts if isinstance(part, TaskSpec) and part.for_each is not None]
    if grouped:
        # Drawn from nothing, so that every known seed keeps its plan.
        over = ForEach(source=grouped[-1], output="/l", flatten=True)
        parts.append(task("over", for_each=over, args='{"s":0.1,"value":{"l":[],"n":1}}'))
    parts += _findings(parts, names)
    if chance.random() < 0.1:
        # Many alike and one that takes much longer: worth a second attempt on another device.
        parts += [task(f"w{number}", args='{"s":0.5,"value":{"l":[],"n":1}}') for number in range(6)]
        parts.append(task("slow", args='{"s":60,"value":{"l":[],"n":1}}'))
    return plan(*parts, policy=Policy(approval=Approval.NEVER, partial=chance.random() < 0.5))


def _findings(parts: list[TaskSpec | Dependency], names: list[str]) -> list[TaskSpec | Dependency]:
    """Let the first task that only looks publish, and return tasks that take its topic once the last one has ended.

    Drawn from nothing, so that every known seed keeps the rest of its plan.
    """
    for at, part in enumerate(parts):
        if isinstance(part, TaskSpec) and part.tool == "t.pure" and part.for_each is None and part.undo is None:
            parts[at] = msgspec.structs.replace(part, finds=Finds(output="/n", topic="n"))
            takes = {
                "fresh": Input(fresh_s=5, name="n", otherwise="0", source="", topic="n"),
                "any": Input(name="n", source="", topic="n"),
            }
            made: list[TaskSpec | Dependency] = [
                msgspec.structs.replace(task(f"takes-{name}", args=_QUICK, optional=True), inputs=[given])
                for name, given in takes.items()
            ]
            if names[-1] != part.id:
                made += [edge(f"{names[-1]}>takes-{name}", Gate.FINISH) for name in takes]
            return made
    return []


def without(made: LoweredPlan, names: tuple[str, ...]) -> LoweredPlan:
    """Return a plan with some tasks left out, and what needed them mended."""
    if not names:
        return made
    gone = dict.fromkeys(names)
    lost = {spec.finds.topic for spec in made.specs if spec.finds is not None and spec.id in gone}
    specs = []
    for spec in made.specs:
        if spec.id in gone:
            continue
        inputs = [item for item in spec.inputs if item.source not in gone and item.topic not in lost]
        each = None if spec.for_each is not None and spec.for_each.source in gone else spec.for_each
        family = spec.family if each is not None else None
        specs.append(msgspec.structs.replace(spec, inputs=inputs, for_each=each, family=family))
    dependencies = [edge for edge in made.dependencies if edge.source not in gone and edge.target not in gone]
    return msgspec.structs.replace(made, specs=specs, dependencies=dependencies)


def make_task(chance: random.Random, devices: list[str]) -> dict[str, Any]:
    args: dict[str, Any] = {
        "s": chance.choice([0.1, 0.5, 2.0, 12.0]),
        "fails": chance.choice([0, 0, 0, 0, 1, 2]),
        "transient": chance.random() < 0.8,
        "value": {"n": chance.randint(1, 2), "l": list(range(chance.randint(0, 3)))},
    }
    fields: dict[str, Any] = {"tool": chance.choice(["t.pure", "t.idem", "t.never"])}
    if args["s"] == 12.0 and not args["transient"]:
        # It outlasts its time and its device does not end it: the hub must, and some do not even listen.
        args |= {"s": 90.0, "deaf": args["fails"] > 0}
        fields["timeouts"] = Timeouts(start_to_close_s=5)
    fields["args"] = canonical(args)
    if chance.random() < 0.3:
        fields["device"] = chance.choice(devices)
    if chance.random() < 0.2:
        fields["on_absence"] = OnAbsence(after_s=20, then=chance.choice(["fail", "wait"]))
    if chance.random() < 0.1:
        fields["checks"] = [Check(output="/n", op=Op.EQ, value="1")]
    if chance.random() < 0.03:
        fields["args"] = canonical(args | {"kills": True, "s": 0.5})
    if chance.random() < 0.3:
        fields["undo"] = UndoCall(tool="t.idem", args='{"s":0.2}')
    fields["optional"] = chance.random() < 0.15
    return fields


class Client:
    """One person doing one thing. Several of them race."""

    def __init__(self, site: Surroundings, act: Act, told: Told) -> None:
        self.site = site
        self.by = f"person:{act.person}"
        self.name = act.person
        self._act = act
        self._chance = act.chance()
        self._told = told

    async def do(self) -> None:
        """Do what the act says."""
        match self._act.kind:
            case "submit":
                await self.submit()
            case "edit":
                await self.edit("")
            case "race":
                # Two edits of the same version at once: one of them wins, or both fit.
                async with asyncio.TaskGroup() as group:
                    group.create_task(self.edit("a"))
                    group.create_task(self.edit("b"))
            case "control":
                await self.control()
            case "return":
                await self.return_to()
            case "drain":
                await self.drain()
            case "undo":
                await self.undo()
            case "fork":
                await self.fork()
            case "read":
                await self.read()
            case kind:
                raise AssertionError(f"nobody does {kind}")

    def _token(self, more: str = "") -> str:
        return f"{self.name}-{self._act.number}{more}"

    def _planned(self) -> LoweredPlan:
        return without(make_plan(self._chance, [device[2:] for device in self.site.agents]), self._act.without)

    async def submit(self) -> None:
        """Submit under an idempotency key and try again until told; a second acceptance must name the same one."""
        made = self._planned()
        key = self._token()
        for attempt in range(200):
            reply = await self.site.ask(
                i.RequestReceived(
                    id=self.site.ident(),
                    by=self.by,
                    constellation=f"c-{key}-{attempt}",
                    plan=made,
                    caller=self.name,
                    idempotency=(key, key),
                )
            )
            if reply is not None and not reply.faults:
                name = reply.value["id"]
                self._told.accepted[name] = made
                if name not in self.site.history.streams:
                    self._told.problems.append(f"{name} was accepted before it was durable")
                if self._chance.random() < 0.8:
                    return
            await asyncio.sleep(self._chance.uniform(0.2, 2.0))
            if (
                reply is not None
                and reply.faults
                and reply.faults[0].code not in ("store_unavailable", "unsettled", "conflict", "overloaded")
            ):
                self._told.problems.append(f"a plan was refused: {reply.faults}")
                return

    def _some(self) -> Any:
        engine = self.site.engine
        names = [name for name in self._told.accepted if engine and name in engine.shard.live]
        if engine is None or not names:
            return None
        return engine.shard.constellations[self._chance.choice(names)]

    async def edit(self, more: str) -> None:
        """Add a task before something, or remove one, against the version this person last saw."""
        found = self._some()
        if found is None or not found.specs:
            return
        base, names = found.head.version, [name for name, spec in found.specs.items() if spec.group is None]
        await asyncio.sleep(self._chance.choice([0.0, 0.0, 0.5]))
        token = self._token(more)
        some = self._chance.choice(names)
        operations: list[EditOperation] = [AddTask(spec=task(f"x-{token}", tool="t.pure", args='{"s":0.5}'))]
        if self._chance.random() < 0.5:
            operations.append(AddDependency(dependency=edge(f"x-{token}>{some}", Gate.FINISH)))
        elif self._chance.random() < 0.3:
            operations = [RemoveTask(id=some)]
        reply = await self.site.ask(
            i.EditProposed(
                id=self.site.ident(),
                by=self.by,
                constellation=found.name,
                base_version=base,
                operations=operations,
                reason=token,
            )
        )
        if reply is not None and not reply.faults:
            self._told.edits[token] = (found.name, reply.value["version"])

    async def control(self) -> None:
        found = self._some()
        if found is None:
            return
        action = self._chance.choice(CONTROLS)
        names = [*found.tasks, *found.groups]
        of_task = action not in ("pause", "resume", "cancel")
        if of_task and not names:
            return
        if action == "cancel" and self._chance.random() < 0.7:
            return
        reply = await self.site.ask(
            i.ControlRequested(
                id=self.site.ident(),
                by=self.by,
                constellation=found.name,
                action="cancel" if action == "cancel_task" else action,
                task=self._chance.choice(names) if of_task else None,
            )
        )
        if action == "cancel" and reply is not None and not reply.faults:
            self._told.cancelled.add(found.name)

    async def return_to(self) -> None:
        """Read one that has ended, whether it is still held or not, and perhaps do something of it again."""
        store, name = self.site.store, self._ended()
        if store is None or name is None:
            return
        specs = self._told.accepted[name].specs
        with contextlib.suppress(Unavailable):
            await self._read(store, name)
        await asyncio.sleep(self._chance.choice([0.0, 0.0, 1.0]))
        names = [spec.id for spec in specs]
        if names and self._chance.random() < 0.6:
            await self._do(name, self._chance.choice(["retry", "retry_from", "mark"]), self._chance.choice(names))

    async def _read(self, store: MemoryStore, name: str) -> None:
        found = await store.entities(name)
        if found is None:
            if name in self._told.accepted:
                self._told.problems.append(f"{name} was accepted and cannot be read")
        elif self.site.store is store and found[1] != await store.entities_at(name, found[0]):
            self._told.problems.append(f"what is read of {name} is not the fold of its log")

    async def read(self) -> None:
        """Read whatever was accepted, live or not."""
        store = self.site.store
        names = list(self._told.accepted)
        if store is not None and names:
            with contextlib.suppress(Unavailable):
                await self._read(store, self._chance.choice(names))

    async def drain(self) -> None:
        """Take a device out of service for a while; what may be repeated is moved at the deadline."""
        device = self._chance.choice(list(self.site.agents))
        deadline_s = self._chance.choice([-1, 0, 5])
        await self._of_device(device, "drain", deadline_s)
        await asyncio.sleep(self._chance.choice([1.0, 10.0, 25.0]))
        for _ in range(600):
            if self.site.engine is not None and await self._of_device(device, "resume", -1):
                return
            await asyncio.sleep(1.0)
        self._told.problems.append(f"{device} could not be taken back into service")

    async def _of_device(self, device: str, action: str, deadline_s: int) -> bool:
        reply = await self.site.ask(
            i.DeviceControlled(
                id=self.site.ident(),
                by="person:ann",
                action=action,
                deadline_s=deadline_s,
                device=device,
                reason="maintenance",
            )
        )
        return reply is not None and all(fault.code not in _NOT_SURE for fault in reply.faults)

    def _ended(self) -> str | None:
        engine = self.site.engine
        names = [name for name in self._told.accepted if engine and name not in engine.shard.live]
        return self._chance.choice(names) if names else None

    async def undo(self) -> None:
        """Have finished work taken back."""
        name = self._ended()
        if name is not None:
            await self.site.ask(i.UndoRequested(id=self.site.ident(), by=self.by, constellation=name))

    async def fork(self) -> None:
        """Begin anew from where one stands."""
        store, names = self.site.store, list(self._told.accepted)
        if store is None or not names:
            return
        origin, token = self._chance.choice(names), self._token()
        specs = self._told.accepted[origin].specs
        with contextlib.suppress(Unavailable):
            found = await store.entities(origin)
            if found is None:
                if origin in self._told.accepted:
                    self._told.problems.append(f"{origin} was accepted and cannot be read")
                return
            seq, records = found
            head = decode_entity("head", records["head"])
            assert isinstance(head, Head)
            tasks = [spec.id for spec in specs]
            reply = await self.site.ask(
                i.ForkRequested(
                    id=self.site.ident(),
                    by=self.by,
                    constellation=f"f-{token}",
                    idempotency=(token, token),
                    origin=origin,
                    caller=self.name,
                    records={key: msgspec.Raw(raw) for key, raw in records.items()},
                    seq=seq,
                    task=self._chance.choice([None, *tasks]) if tasks else None,
                    version=head.version,
                )
            )
            if reply is not None and not reply.faults:
                self._told.forks[reply.value["id"]] = origin

    async def finish(self) -> None:
        """One round of a patient person after the chaos: let go of what is held, say what became of the unknown."""
        engine = self.site.engine
        if engine is None:
            return
        for device in list(engine.shard.fleet.devices.values()):
            if device.draining:
                # Asked of a hub that was stopped in time, and carried out when that went on.
                await self._of_device(device.id, "resume", -1)
        for name in list(engine.shard.live):
            found = engine.shard.constellations.get(name)
            if found is None:
                continue  # what had ended left memory while something else was asked
            if found.head.state == "paused":
                await self._do(name, "resume", None)
            for task_id, record in list(found.tasks.items()):
                if record.held and record.state in (TaskState.WAITING, TaskState.READY):
                    await self._do(name, "release", task_id)
                elif record.state is TaskState.UNKNOWN:
                    await self._do(name, "mark", task_id)

    async def _do(self, name: str, action: str, task_id: str | None) -> None:
        await self.site.ask(
            i.ControlRequested(
                id=self.site.ident(),
                by=self.by,
                constellation=name,
                action=action,
                task=task_id,
                value=_marked(task_id) if action == "mark" else None,
            )
        )


def _marked(task_id: str | None) -> str:
    """Return the result that a person writes for a task; a choice takes the first call of its vote."""
    base, choice, rest = (task_id or "").rpartition("-choice")
    return canonical(f"{base}-calls.1") if choice and not rest else '{"l":[],"n":1}'
