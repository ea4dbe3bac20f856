"""Runs a lowered plan on folders of this machine with the real tools: no hub, no processes, one task after another.

It shows that the shapes which recipes and tools hand each other fit; order, faults and leases are the engine's tests.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sqlite3
import subprocess
import time
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import msgspec
import yaml

from starloom.planner.fleet import FleetSnapshot
from starloom_agent.sandbox.levels import UNCONFINED
from starloom_agent.toolkit.beneath import Beneath
from starloom_agent.toolkit.files import packing
from starloom_agent.toolkit.files.walking import Walk
from starloom_agent.toolkit.interface import Folders, Sent, Tool, ToolContext
from starloom_agent.toolkit.pictures.png import encode
from starloom_agent.toolkit.results import Stored
from starloom_agent.work.registry import all_tools
from starloom_protocol.records.edits import LoweredPlan
from starloom_protocol.records.entities import Dependency, Device, Input, Offer, Selector, TaskSpec, ToolOffer
from starloom_protocol.values import MISSING, canonical, holds, parse, point
from starloom_protocol.vocabulary import DeviceLink, Effect, Gate, Repeatability
from tests.planner.drawing import speckled
from tests.waiting import PATIENCE_S


class CameraArgs(msgspec.Struct, forbid_unknown_fields=True):
    """What `camera.capture` takes."""

    text: str = ""
    facing: str = "environment"


def _take(context: ToolContext, args: CameraArgs) -> dict[str, Any]:
    assert args.text
    picture = context.workdir / "picture.png"
    picture.write_bytes(encode(speckled(7)))
    file = context.put(picture, media="image/png")
    return {"file": file, "files": [file]}


class PickArgs(msgspec.Struct, forbid_unknown_fields=True):
    """What `file.pick` takes."""

    text: str = "Choose the files to send"
    kinds: list[str] = []
    many: bool = False


def _pick(context: ToolContext, args: PickArgs) -> dict[str, Any]:
    names = ("first.png", "second.png") if args.many else ("first.png",)
    files = []
    for number, name in enumerate(names):
        picture = context.workdir / name
        picture.write_bytes(encode(speckled(20 + number)))
        files.append(context.put(picture, media="image/png"))
    return {"files": files, "count": len(files)}


class SaveArgs(msgspec.Struct, forbid_unknown_fields=True):
    """What `file.save` takes."""

    files: list[dict[str, Any]]
    text: str = "Save on this device"


def _save(context: ToolContext, args: SaveArgs) -> dict[str, Any]:
    for file in args.files:
        context.artifacts.fetch(file["artifact"], context.workdir)
    names = [file["name"] for file in args.files]
    return {"saved": names, "count": len(names)}


class AskArgs(msgspec.Struct, forbid_unknown_fields=True):
    """What `ask` takes; here its first choice is tapped."""

    text: str
    choices: list[str]


def _ask(_context: ToolContext, args: AskArgs) -> dict[str, Any]:
    assert args.text
    return {"answer": args.choices[0]}


class ReadArgs(msgspec.Struct, forbid_unknown_fields=True):
    """What `browser.read` takes; no browser is started here."""

    url: str


def _read(_context: ToolContext, args: ReadArgs) -> dict[str, Any]:
    links = [{"text": "More", "href": f"{args.url}/more"}]
    page = {"title": "News", "text": "It is sunny.", "url": args.url, "links": links}
    return {**page, "blocked_hosts": [], "complete": True}


# A phone's tab has the camera, and no Python; its own tests and a real browser hold it to this shape.
CAMERA = Tool(
    name="camera.capture",
    title="Take a picture with the device's camera",
    args=CameraArgs,
    run=_take,
    effects=(Effect.CONTROL,),
    repeatability=Repeatability.NEVER,
)
PICK = Tool(
    name="file.pick",
    title="Let the person pick files",
    args=PickArgs,
    run=_pick,
    effects=(Effect.READ,),
    repeatability=Repeatability.NEVER,
)
SAVE = Tool(
    name="file.save",
    title="Save files on the device",
    args=SaveArgs,
    run=_save,
    effects=(Effect.WRITE,),
    repeatability=Repeatability.NEVER,
)
ASK = Tool(
    name="ask",
    title="Ask the person at the device",
    args=AskArgs,
    run=_ask,
    effects=(Effect.READ,),
    repeatability=Repeatability.NEVER,
)
READ = Tool(
    name="browser.read",
    title="Read a page as a browser shows it",
    args=ReadArgs,
    run=_read,
    effects=(Effect.READ, Effect.REACH),
    repeatability=Repeatability.IDEMPOTENT,
)
TOOLS = {tool.name: tool for tool in (*all_tools(), ASK, CAMERA, PICK, READ, SAVE)}
ROOT = Path(__file__).resolve().parents[2]


def write_database(tables: dict[str, int], target: Path) -> None:
    """Write a SQLite file whose tables have so many rows."""
    with closing(sqlite3.connect(target)) as made, made:
        for table, count in tables.items():
            made.execute(f"CREATE TABLE {table} (id INTEGER PRIMARY KEY)")
            made.executemany(f"INSERT INTO {table} VALUES (?)", [(n,) for n in range(count)])  # noqa: S608 - a fixture


def write_archive(files: dict[str, str], target: Path, scratch: Path) -> None:
    """Write a backup as `archive.pack` makes it."""
    shutil.rmtree(scratch, ignore_errors=True)
    for path, text in files.items():
        (scratch / path).parent.mkdir(parents=True, exist_ok=True)
        (scratch / path).write_text(text, encoding="utf-8")
    door = Beneath(read=(), write=(scratch, target.parent))
    packing.write_archive(Walk(door, scratch), target, lambda *_: None, door)


@dataclass
class Store:
    """Artifacts as files, by hash."""

    folder: Path

    def put(self, file: BinaryIO, *, name: str, media: str, sent: Sent | None = None) -> Stored:
        data = file.read()
        digest = hashlib.sha256(data).hexdigest()
        (self.folder / digest).write_bytes(data)
        if sent is not None:
            sent(len(data))
        return {"artifact": digest, "bytes": len(data), "name": name, "media": media}

    def fetch(self, sha256: str, into: Path) -> Path:
        target = into / f"fetched-{sha256[:16]}"
        shutil.copyfile(self.folder / sha256, target)
        return target


@dataclass
class Silent:
    """Takes progress and log lines; keeps the lines."""

    lines: list[str] = field(default_factory=list)

    def progress(self, *, done_bytes: int, fraction: float | None, note: str) -> None:
        assert fraction is None or 0 <= fraction <= 1
        assert done_bytes >= 0

    def log(self, text: str) -> None:
        self.lines.append(text)


@dataclass
class Machine:
    """One device: its granted folder, its name and labels, and the tools that it offers."""

    name: str
    folder: Path
    labels: list[str]
    tools: frozenset[str]


class Fleet:
    """Machines below one temporary folder, made from a fixture's `fleet.yaml`."""

    def __init__(self, home: Path, fixture: Path) -> None:
        described = yaml.safe_load((fixture / "fleet.yaml").read_text(encoding="utf-8"))
        self.store = Store(home / "artifacts")
        self.store.folder.mkdir(parents=True)
        self.machines: dict[str, Machine] = {}
        self._home = home
        self._calls = 0
        for item in described["devices"]:
            folder = home / "devices" / item["name"]
            folder.mkdir(parents=True)
            self.machines[item["name"]] = Machine(
                item["name"], folder, item.get("labels", []), frozenset(item.get("tools", TOOLS))
            )
            for path, content in item.get("files", {}).items():
                target = folder / path
                target.parent.mkdir(parents=True, exist_ok=True)
                if isinstance(content, dict) and "archive" in content:
                    write_archive(content["archive"], target, home / "packed")
                    os.utime(target, (time.time() - 86_400 * content.get("age_days", 0),) * 2)
                elif isinstance(content, dict) and "database" in content:
                    write_database(content["database"], target)
                elif isinstance(content, dict):
                    target.write_bytes(encode(speckled(content["picture"])))
                    os.utime(target, (time.time() - 86_400 * content.get("age_days", 0),) * 2)
                else:
                    target.write_text(content, encoding="utf-8")
            for path in item.get("repositories", []):
                subprocess.run(["git", "init", "-q", str(folder / path)], check=True, timeout=PATIENCE_S)

    def context(self, machine: str) -> ToolContext:
        self._calls += 1
        workdir = self._home / "attempts" / str(self._calls)
        workdir.mkdir(parents=True)
        folder = str(self.machines[machine].folder)
        return ToolContext(
            workdir=workdir,
            artifacts=self.store,
            output=Silent(),
            folders=Folders.of(write=[folder]),
            hosts=("*",),
            cage=UNCONFINED,
            # Nobody is before these devices: a notice is looked at in the log.
            unattended=True,
        )

    def view(self) -> FleetSnapshot:
        """Return the fleet as the planner sees it."""
        offers = [
            ToolOffer(name=tool.name, effects=list(tool.effects), repeatability=tool.repeatability, grant=tool.grant)
            for tool in TOOLS.values()
            if not tool.lab_only
        ]
        grants = sorted({tool.grant for tool in TOOLS.values() if tool.grant})
        devices = {
            f"d-{name}": Device(
                id=f"d-{name}",
                joined_ms=1,
                key="k",
                labels=machine.labels,
                link=DeviceLink.ONLINE,
                name=name,
                os="linux",
            )
            for name, machine in self.machines.items()
        }
        return FleetSnapshot.of(
            devices,
            {
                f"d-{name}": Offer(
                    digest="x",
                    grants=grants,
                    slots=3,
                    tools=[offer for offer in offers if offer.name in machine.tools],
                )
                for name, machine in self.machines.items()
            },
        )


@dataclass
class Done:
    """What a task or a group gave; `skipped` means that a gate was shut."""

    value: Any = None
    skipped: bool = False
    children: dict[str, Any] | None = None

    def shown(self, output: str) -> Any:
        """Return what a result takes from it: of a group, a list of what each child has."""
        if self.children is None:
            return point(self.value, output)
        return [point(value, output) for value in self.children.values()]


class Run:
    """One run of one plan."""

    def __init__(self, fleet: Fleet, plan: LoweredPlan) -> None:
        self.fleet = fleet
        self.plan = plan
        self.done: dict[str, Done] = {}
        self.calls: list[tuple[str, str]] = []
        self.finished: list[tuple[TaskSpec, str, Any]] = []
        self._items: dict[str, dict[str, Any]] = {}
        self._specs = {spec.id: spec for spec in plan.specs}

    def all(self) -> dict[str, Done]:
        while len(self.done) < len(self._specs):
            before = len(self.done)
            for spec in self.plan.specs:
                gates = [gate for gate in self.plan.dependencies if gate.target == spec.id]
                if spec.id not in self.done and all(gate.source in self.done for gate in gates):
                    self.done[spec.id] = self._step(spec, gates)
            assert len(self.done) > before, "nothing can move"
        return self.done

    def undo(self) -> list[str]:
        """Take back, last first, what says how; return which tasks did."""
        undone = []
        for spec, machine, value in reversed(self.finished):
            if spec.undo is not None:
                tool = TOOLS[spec.undo.tool]
                args = {**parse(spec.undo.args), **{name: point(value, at) for name, at in spec.undo.outputs.items()}}
                tool.run(self.fleet.context(machine), msgspec.convert(args, tool.args))
                undone.append(spec.id)
        return undone

    def _step(self, spec: TaskSpec, gates: list[Dependency]) -> Done:
        if not all(self._open(gate) for gate in gates):
            return Done(skipped=True)
        if spec.person is not None:
            return Done(value={"value": spec.choices[0].value if spec.choices else "done"})
        if spec.for_each is None:
            value = self._call(spec, self._machine(spec.device), None, None)
            self._rules(spec.id, value)
            return Done(value=value)
        children = {
            key: self._call(spec, item["name"] if self._over_devices(spec) else self._machine(spec.device), key, item)
            for key, item in self._family(spec).items()
        }
        return Done(value=list(children.values()), children=children)

    def _open(self, gate: Dependency) -> bool:
        source = self.done[gate.source]
        if gate.gate is Gate.FAILURE:
            return False  # a task that fails ends the run
        if gate.gate is Gate.OUTPUT and gate.condition is not None:
            wanted = parse(gate.condition.value) if gate.condition.value is not None else None
            found = point(source.value, gate.condition.output)
            return not source.skipped and holds(gate.condition.op, found, wanted)
        return not source.skipped or gate.gate in (Gate.UNLESS_FAILED, Gate.FINISH) or gate.optional

    def _over_devices(self, spec: TaskSpec) -> bool:
        root = self._specs[spec.family or spec.id]
        return root.for_each is not None and root.for_each.devices is not None

    def _family(self, spec: TaskSpec) -> dict[str, Any]:
        root = self._specs[spec.family or spec.id]
        assert root.for_each is not None
        if root.id not in self._items:
            if root.for_each.devices is not None:
                names = self._fitting(root.for_each.devices)
                self._items[root.id] = {name: {"id": f"d-{name}", "name": name, "os": "linux"} for name in names}
            else:
                found = point(self.done[root.for_each.source or ""].value, root.for_each.output)
                assert isinstance(found, list)
                self._items[root.id] = {str(number): item for number, item in enumerate(found)}
        return self._items[root.id]

    def _rules(self, task: str, value: Any) -> None:
        for rule in self.plan.rules:
            if rule.task != task or rule.condition is None or rule.event != "succeeded":
                continue
            if holds(rule.condition.op, point(value, rule.condition.output), None):
                for operation in parse(rule.operations):
                    keys = parse(operation["keys"])
                    dropped = point(value, keys["output"]) if isinstance(keys, dict) else keys
                    family = self._family(self._specs[operation["of"]])
                    for key in dropped:
                        family.pop(str(key))

    def _fitting(self, selector: Selector) -> list[str]:
        if selector.any:
            return sorted({name for part in selector.any for name in self._fitting(part)})
        return [name for name in sorted(self.fleet.machines) if selector.name in (None, name)]

    def _machine(self, selector: Selector | None) -> str:
        return self._fitting(selector or Selector())[0]

    def _call(self, spec: TaskSpec, machine: str, key: str | None, item: Any) -> Any:
        tool = TOOLS[spec.tool or ""]
        args = _resolved(parse(spec.args), item)
        args.update({given.name: self._input(given, spec, key) for given in spec.inputs})
        context = self.fleet.context(machine)
        self.calls.append((spec.id, machine))
        value = parse(canonical(tool.run(context, msgspec.convert(args, tool.args))))
        for check in spec.checks:
            wanted = parse(check.value) if check.value is not None else None
            assert holds(check.op, point(value, check.output), wanted), (spec.id, check, value)
        self.finished.append((spec, machine, value))
        for file in spec.files_out:
            ref = point(value, file.output)
            target = self.fleet.machines[machine].folder / file.to
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(self.fleet.store.folder / ref["artifact"], target)
        return value

    def _input(self, given: Input, spec: TaskSpec, key: str | None) -> Any:
        source = self.done[given.source]
        if source.skipped:
            assert given.optional
            return None
        of_family = self._specs[given.source].for_each is not None and spec.for_each is not None
        if source.children is not None and not (of_family and not given.all):
            parts = [point(value, given.output) for value in source.children.values()]
            return [item for part in parts for item in part] if given.flatten else parts
        value = source.children[key or ""] if source.children is not None else source.value
        found = point(value, given.output)
        assert found is not MISSING, (spec.id, given)
        return found


def _resolved(value: Any, item: Any) -> Any:
    if isinstance(value, dict):
        if set(value) == {"each"}:
            return point(item, value["each"])
        return {name: _resolved(part, item) for name, part in value.items()}
    return [_resolved(part, item) for part in value] if isinstance(value, list) else value


def fits(found: Any, expected: Any) -> bool:
    """Say whether a value has what is expected: maps may have more, a list of maps must have each in any place."""
    if isinstance(expected, dict):
        return isinstance(found, dict) and all(
            name in found and fits(found[name], part) for name, part in expected.items()
        )
    if isinstance(expected, list):
        return (
            isinstance(found, list)
            and len(found) == len(expected)
            and all(any(fits(item, part) for item in found) for part in expected)
        )
    return type(found) is type(expected) and bool(found == expected)
