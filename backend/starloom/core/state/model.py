"""The model of the shard in memory: entities by kind and id, and indexes derived from them.

Only `apply` writes here. Indexes are functions of the entities: never stored, never hashed, rebuilt on load.
Nothing iterates a set; maps keep insertion order. An offer with all built-in tools takes half a megabyte as records,
and the devices of a fleet offer much the same, so each tool is held once (`ToolSets`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import msgspec
from msgspec.structs import replace

from starloom.core.state.settings import ShardSettings
from starloom_protocol.records.approvals import DeviceAsks, Standing
from starloom_protocol.records.entities import (
    Attempt,
    Dependency,
    Device,
    Draft,
    Enrollment,
    Finding,
    GroupRecord,
    Head,
    Idempotency,
    Item,
    Job,
    KeptResult,
    Offer,
    Principal,
    Question,
    RecipeProposal,
    RecipeRuns,
    RecipeVersion,
    Record,
    RuleRecord,
    Secret,
    SignIn,
    TaskRecord,
    TaskSpec,
    Token,
    ToolOffer,
    Version,
)
from starloom_protocol.records.fleet import Health, Pace, Stopping
from starloom_protocol.records.lab import LabFault
from starloom_protocol.records.models import Spending
from starloom_protocol.records.schedules import Schedule, ScheduleCourse, ScheduledPlan
from starloom_protocol.stream.authors import author_of, token_of, who
from starloom_protocol.vocabulary import ROLE_RANK, GateState, Role
from starloom_protocol.wire.frames import LeaseRef

CONSTELLATION_KINDS = (
    "head",
    "answer",
    "spec",
    "task",
    "group",
    "item",
    "dep",
    "attempt",
    "finding",
    "rule",
    "question",
    "version",
    "job",
    "call",
    "draft",
    "approved",
)
FLEET_KINDS = (
    "device",
    "offer",
    "enrollment",
    "schedule",
    "schedule_course",
    "scheduled_plan",
    "recipe",
    "recipe_runs",
    "standing",
    "health",
    "pace",
    "stopping",
    "asks",
    "model_day",
    "spending",
    "lab_fault",
)
ACCESS_KINDS = ("principal", "token", "signin", "idem", "secret", "kept", "proposal")


class Stream:
    """One stream's entities: `tables[kind][id]`, and the number of its last event."""

    __slots__ = ("name", "seq", "tables")

    def __init__(self, name: str, kinds: tuple[str, ...]) -> None:
        self.name = name
        self.seq = 0
        self.tables: dict[str, dict[str, Any]] = {kind: {} for kind in kinds}

    def records(self) -> Iterator[tuple[str, str, Record]]:
        """Yield (kind, id, record) of every entity."""
        for kind, table in self.tables.items():
            for key, record in table.items():
                yield kind, key, record


@dataclass(slots=True, eq=False)
class Tally:
    """The counts of a group's children by state."""

    children: int = 0
    unfinished: int = 0
    succeeded: int = 0
    excused: int = 0
    hopeless: int = 0
    held_slots: int = 0


@dataclass(slots=True, eq=False)
class Progress:
    """The counts of a constellation's tasks that ended, without those by which the planner looked.

    devices  by device, how many tasks succeeded on it
    paces    by tool, how many of its tasks succeeded, and the milliseconds that they took together
    hedges   the tasks that have a hedge
    looks    the tasks by which the planner looked
    reused   the tasks that took over an earlier result
    broken   the attempts that ended in a timeout or in an error that may pass
    """

    ended: int = 0
    succeeded: int = 0
    checked: int = 0
    failed: dict[str, None] = field(default_factory=dict)
    devices: dict[str, int] = field(default_factory=dict)
    paces: dict[str, tuple[int, int]] = field(default_factory=dict)
    hedges: int = 0
    looks: int = 0
    reused: int = 0
    broken: int = 0


class Constellation(Stream):
    """A constellation's entities, and the indexes that `apply` derives from them.

    head            the constellation's own record, present from its first event on
    approved        the devices that were approved for a tool and a selector
    approved_keys   A digest of each set of approved devices, which stands for the set in the keys of demands
    gate            the state of each dependency
    undecided       by task, how many of its gates are undecided
    shut            by task, how many of its gates are shut
    asking          the questions that name who answers them
    choosing        the tasks that have other calls
    children        by group, its tasks and groups, in order
    families        by root, the groups and tasks that are made for the items of one list
    parked          by group, the ready tasks that wait for room in it
    rank            by task, the length of the longest path that begins with it (`tasks.graph`)
    tool_ms         the expected milliseconds of each tool, as the head has them
    ready           the tasks in the state `ready`
    held            the slots that tasks hold
    demands         the demands in which tasks wait
    served          the shard's `order` when a task last got a slot, or when the first one joined a queue
    relisting       the roots of families whose list is being made again
    returning       the groups that wait for devices to come back
    moments         the ready tasks that wait for a moment
    tapped          the running tasks that wait for a tap
    lists           by source, the dependencies whose families are made from its output
    read            by source, the dependencies for which the core reads a part of its result
    rules_by_task   by task, the rules of the plan that wait for one of its events
    unknown         the tasks of which nobody knows whether they ran
    awaiting_facts  the dependencies that need a fact of a finished result which only its device can read
    unfinished_top  the unfinished tasks and groups that are in no group
    """

    __slots__ = (
        "approved",
        "approved_keys",
        "asking",
        "attempts",
        "awaiting_facts",
        "children",
        "choosing",
        "demands",
        "deps",
        "drafts",
        "families",
        "findings",
        "gate",
        "groups",
        "head",
        "held",
        "incoming",
        "items",
        "jobs",
        "lists",
        "moments",
        "open_attempts",
        "open_questions",
        "outgoing",
        "parked",
        "progress",
        "questions",
        "rank",
        "read",
        "ready",
        "relisting",
        "returning",
        "rules",
        "rules_by_task",
        "served",
        "shut",
        "specs",
        "tally",
        "tapped",
        "tasks",
        "tool_ms",
        "undecided",
        "unfinished_top",
        "unknown",
        "versions",
    )

    def __init__(self, name: str) -> None:
        super().__init__(name, CONSTELLATION_KINDS)
        tables = self.tables
        self.specs = cast(dict[str, TaskSpec], tables["spec"])
        self.tasks = cast(dict[str, TaskRecord], tables["task"])
        self.groups = cast(dict[str, GroupRecord], tables["group"])
        self.items = cast(dict[str, Item], tables["item"])
        self.deps = cast(dict[str, Dependency], tables["dep"])
        self.attempts = cast(dict[str, Attempt], tables["attempt"])
        self.findings = cast(dict[str, Finding], tables["finding"])
        self.rules = cast(dict[str, RuleRecord], tables["rule"])
        self.questions = cast(dict[str, Question], tables["question"])
        self.versions = cast(dict[str, Version], tables["version"])
        self.jobs = cast(dict[str, Job], tables["job"])
        self.drafts = cast(dict[str, Draft], tables["draft"])
        self.head: Head
        self.approved: dict[tuple[str, bytes], frozenset[str]] = {}
        self.approved_keys: dict[frozenset[str], bytes] = {}
        self.outgoing: dict[str, dict[str, Dependency]] = {}
        self.incoming: dict[str, dict[str, Dependency]] = {}
        self.gate: dict[str, GateState] = {}
        self.undecided: dict[str, int] = {}
        self.shut: dict[str, int] = {}
        self.asking: dict[str, None] = {}
        self.choosing: dict[str, None] = {}
        self.children: dict[str, dict[str, None]] = {}
        self.families: dict[str, dict[str, None]] = {}
        self.tally: dict[str, Tally] = {}
        self.parked: dict[str, dict[str, None]] = {}
        self.progress = Progress()
        self.rank: dict[str, int] = {}
        self.tool_ms: dict[str, int] = {}
        self.ready = 0
        self.held = 0
        self.demands: dict[tuple[str, bytes], Demand] = {}
        self.served = 0
        self.relisting: dict[str, None] = {}
        self.returning: dict[str, None] = {}
        self.moments: dict[str, None] = {}
        self.tapped: dict[str, None] = {}
        self.lists: dict[str, dict[str, Dependency]] = {}
        self.read: dict[str, dict[str, Dependency]] = {}
        self.rules_by_task: dict[str, dict[str, None]] = {}
        self.open_attempts: dict[str, None] = {}
        self.open_questions: dict[str, None] = {}
        self.unknown: dict[str, None] = {}
        self.awaiting_facts: dict[str, None] = {}
        self.unfinished_top = 0

    def record(self, name: str) -> TaskRecord | GroupRecord:
        """Return the record of a task or a group."""
        return self.tasks.get(name) or self.groups[name]

    def contents_of(self, group: str) -> list[str]:
        """Return all tasks and groups inside a group in order, each group before its content."""
        names: list[str] = []
        stack = list(reversed(self.children.get(group, {})))
        while stack:
            name = stack.pop()
            names.append(name)
            stack.extend(reversed(self.children.get(name, {})))
        return names

    def leaves(self, group: str) -> list[str]:
        """Return the tasks of a group in order, including those of nested groups."""
        return [name for name in self.contents_of(group) if name in self.tasks]

    def attempt(self, task: str, number: int) -> Attempt:
        """Return attempt `number` of a task."""
        return self.attempts[f"{task}/{number}"]

    def tried(self, task: str, number: int, in_round: int) -> Iterator[Attempt]:
        """Yield the attempts of a task in one round from attempt `number` down, the newest first."""
        while (attempt := self.attempts.get(f"{task}/{number}")) is not None and attempt.round == in_round:
            yield attempt
            number -= 1

    def last_attempt(self, task: str) -> Attempt | None:
        """Return the newest attempt of a task, None if it never had one."""
        record = self.tasks.get(task)
        return self.attempts.get(f"{task}/{record.attempt}") if record and record.attempt else None

    def lease_ref(self, task: str, number: int, attempt: Attempt) -> LeaseRef:
        """Return the name of an attempt in frames."""
        return LeaseRef(attempt=number, constellation=self.name, incarnation=attempt.incarnation, task=task)


class Fleet(Stream):
    """The devices with their offers, the schedules and the recipes, and the indexes over them.

    pace_changed    by pace, the number of its last change, in the order of the changes
    pace_number     the number of the last change of any pace
    pace_index      the index over the paces; `placement.pace` makes and owns it
    schedules       the schedules with their courses
    stop_waits      by attempt for whose end a stop-all waits, its device
    faults          the sum of all devices' faults
    hedges          by device, the tasks of which it runs a hedge
    by_former_name  the device that was called so before
    gone            by name, the revoked devices that had it
    tools           by device, its offer of each tool, held once for all devices that offer the same (`tool_sets`)
    used            by device, the slots that tasks hold
    slots_changed   the devices of the newest changes of `used`, the newest at the end
    slots_number    the number of all changes of `used`
    freed           the number of slots that became free
    holders         by device, the tasks that hold its slots, each with the moment at which it should end (0: unknown)
    revision        the number of changes of a device or its offer
    changed         by device, the revision of its last change, in the order of the changes
    reordered       the revision of the last change that may have moved a device among the others
    look_counts     how many names in `by_name` look like this (`look_of`)
    asking          by the code that several devices share and the device: the enrollment that waits for a person
    expected        the devices that were connected when their hub ended, and have not connected since
    """

    __slots__ = (
        "asking",
        "asks",
        "by_former_name",
        "by_key",
        "by_name",
        "changed",
        "devices",
        "enrollments",
        "expected",
        "faults",
        "freed",
        "gone",
        "health",
        "hedges",
        "holders",
        "lab_faults",
        "look_counts",
        "offers",
        "pace_changed",
        "pace_index",
        "pace_number",
        "paces",
        "recipe_runs",
        "recipes",
        "reordered",
        "revision",
        "schedule_courses",
        "scheduled_plans",
        "schedules",
        "slots_changed",
        "slots_number",
        "spendings",
        "standing",
        "stop_waits",
        "stopping",
        "tool_sets",
        "tools",
        "used",
    )

    def __init__(self, name: str) -> None:
        super().__init__(name, FLEET_KINDS)
        self.devices = cast(dict[str, Device], self.tables["device"])
        self.offers = cast(dict[str, Offer], self.tables["offer"])
        self.enrollments = cast(dict[str, Enrollment], self.tables["enrollment"])
        self.recipe_runs = cast(dict[str, RecipeRuns], self.tables["recipe_runs"])
        self.recipes = cast(dict[str, RecipeVersion], self.tables["recipe"])
        self.schedules: dict[str, Schedule] = {}
        self.schedule_courses = cast(dict[str, ScheduleCourse], self.tables["schedule_course"])
        self.scheduled_plans = cast(dict[str, ScheduledPlan], self.tables["scheduled_plan"])
        self.standing = cast(dict[str, Standing], self.tables["standing"])
        self.asks = cast(dict[str, DeviceAsks], self.tables["asks"])
        self.health = cast(dict[str, Health], self.tables["health"])
        self.lab_faults = cast(dict[str, LabFault], self.tables["lab_fault"])
        self.paces = cast(dict[str, Pace], self.tables["pace"])
        self.pace_changed: dict[str, int] = {}
        self.pace_number = 0
        self.pace_index: Any = None
        self.spendings = cast(dict[str, Spending], self.tables["spending"])
        self.stopping = cast(dict[str, Stopping], self.tables["stopping"])
        self.stop_waits: dict[str, str] = {}
        self.faults = 0
        self.hedges: dict[str, dict[tuple[str, str], None]] = {}
        self.by_name: dict[str, str] = {}
        self.by_former_name: dict[str, str] = {}
        self.gone: dict[str, dict[str, None]] = {}
        self.tools: dict[str, Mapping[str, ToolOffer]] = {}
        self.tool_sets = ToolSets()
        self.used: dict[str, int] = {}
        self.slots_changed: list[str] = []
        self.slots_number = 0
        self.freed = 0
        self.holders: dict[str, dict[tuple[str, str], int]] = {}
        self.revision = 0
        self.changed: dict[str, int] = {}
        self.reordered = 0
        self.look_counts: dict[str, int] = {}
        self.asking: dict[tuple[str, str], str] = {}
        self.expected: dict[str, None] = {}

    def named(self, name: str) -> Device | None:
        """Return the device that has this name, or had it before."""
        return self.devices.get(self.by_name.get(name) or self.by_former_name.get(name, ""))

    def name_of(self, device: str | None) -> str:
        """Return the name of a device, its id if it is not known here, and nothing for none."""
        record = self.devices.get(device or "")
        return record.name if record is not None else device or ""


class Access(Stream):
    """Principals, tokens, sign-in links, idempotency keys, records of secrets, kept results, proposals of recipes.

    Never streamed live: a proposal is for its owner alone.

    secrets_revision  rises when a secret is set, removed or gets other receivers
    """

    __slots__ = ("idempotency", "kept", "principals", "proposals", "secrets", "secrets_revision", "signins", "tokens")

    def __init__(self, name: str) -> None:
        super().__init__(name, ACCESS_KINDS)
        self.principals = cast(dict[str, Principal], self.tables["principal"])
        self.tokens = cast(dict[str, Token], self.tables["token"])
        self.signins = cast(dict[str, SignIn], self.tables["signin"])
        self.idempotency = cast(dict[str, Idempotency], self.tables["idem"])
        self.secrets = cast(dict[str, Secret], self.tables["secret"])
        self.kept = cast(dict[str, KeptResult], self.tables["kept"])
        self.proposals = cast(dict[str, RecipeProposal], self.tables["proposal"])
        self.secrets_revision = 0

    def descendants(self, token: str) -> list[Token]:
        """Return the descendants of a token: its children, and theirs."""
        children: dict[str, list[Token]] = {}
        for one in self.tokens.values():
            children.setdefault(one.parent, []).append(one)
        descendants: list[Token] = []
        ahead = [token]
        while ahead:
            below = children.pop(ahead.pop(), [])
            descendants += below
            ahead += [one.id for one in below]
        return descendants

    def binding(self, token: str) -> Token | None:
        """Return the token with which what was done with this one ends.

        A session, which has its time, does not bind what was done in it, nor does one from which it was opened; the
        invitation of these sessions does.
        """
        bound_by = self.tokens.get(token)
        while bound_by is not None and bound_by.kind == "session":
            bound_by = self.tokens.get(bound_by.parent)
        return bound_by

    def right_was_taken(self, holder: Principal | None, token: str) -> bool:
        """Tell whether somebody may no longer run work, or not by what binds this token."""
        bound_by = self.binding(token)
        low = holder is not None and ROLE_RANK[holder.role] < ROLE_RANK[Role.OPERATOR]
        return low or (bound_by is not None and bound_by.revoked_ms > 0)

    def right_was_taken_from(self, author: str) -> bool:
        """Tell whether an author may no longer run work; a part of the hub always may."""
        sign_in = self.tokens.get(token_of(author))
        holder = self.principals.get(sign_in.principal) if sign_in is not None else None
        if holder is None:
            principals = (one for one in self.principals.values() if author_of(one.kind, one.name) == who(author))
            holder = next(principals, None)
        return self.right_was_taken(holder, token_of(author))


UsualKey = tuple[int, int, int, int, str]
"""The key that orders the constellations of one owner (`queues.usual_key`); it ends with the name."""


QueueEntry = tuple[int, int, str]
"""A task that waits: minus its rank, the shard's `order` when it joined, and its name; the smallest comes first."""


class Feasible(msgspec.Struct, frozen=True, gc=False):
    """A device that could do the work of a demand when free, and its slots.

    It `is_spared` for its owner or not; `idle_rank` orders idle devices where nothing else tells them apart.
    """

    device: str
    slots: int
    is_spared: bool
    idle_rank: int


@dataclass(slots=True, eq=False)
class Demand:
    """The ready tasks of one owner that want the same: the same tool, selector and secrets.

    lines           by constellation, its tasks as a heap. An entry whose task left the queue is dropped when it is met
    usual           A heap over the constellations where several wait, kept by `queues`
    pushed          by constellation, its newest entry in `usual`
    longest         A second heap over them, by the time since they were served
    aged            the constellations that have an entry in `longest`
    feasible        the devices that could do the work when free, in order of name
    free            the places in `feasible` of devices with a free slot, in no order
    free_seen       the fleet's `slots_number` of which `free` is
    held_seen       the revisions at which the demand waited for devices that were approved, and for no others
    spares          whether a feasible device is spared for its owner
    secrets_seen    the revision of the secrets of which `feasible` is
    fleet_seen      the fleet's revision of which `feasible` is; -1 before it was made
    paced           by size class, the expected times on the feasible devices (`placement.finish.Paced`)
    people          the persons whose devices are feasible
    places          by device, its place in `feasible`
    rested          the fleet's numbers when all tasks were found to wait for better devices than the free ones
    rests_until_ms  the moment until which the tasks wait so at most
    """

    key: tuple[str, bytes]
    tool: str
    selector: Any
    needs: Any = None
    owner: str = ""
    lines: dict[str, list[QueueEntry]] = field(default_factory=dict)
    usual: list[UsualKey] = field(default_factory=list)
    pushed: dict[str, UsualKey] = field(default_factory=dict)
    longest: list[tuple[int, str]] = field(default_factory=list)
    aged: set[str] = field(default_factory=set)
    feasible: list[Feasible] = field(default_factory=list)
    free: set[int] = field(default_factory=set)
    free_seen: int = -1
    held_seen: tuple[int, int] | None = None
    spares: bool = False
    secrets_seen: int = 0
    fleet_seen: int = -1
    paced: dict[int, Any] = field(default_factory=dict)
    people: frozenset[str] = frozenset()
    places: dict[str, int] = field(default_factory=dict)
    rested: tuple[int, ...] = ()
    rests_until_ms: int = 0


@dataclass(slots=True, eq=False)
class Shard:
    """The state that one engine loop owns: all streams, the queues, and the notes of the step that is under way.

    live                  the constellations that have not ended
    pointed               the live constellations whose plan has points of review
    shares                by owner, the slots that their tasks hold
    turns                 by owner, the `order` at which a task of theirs last got a slot
    in_a_row              by owner, the grants in the usual order since the longest waiting constellation got one
    queued                by constellation and task, the key of the demand in which it waits
    queued_now            the tasks that joined a queue in this step; True: one need not wait there, as it is optional
                          or has other calls
    order                 rises with every task that joins a queue, and with every slot that is given
    touched               the tasks and groups whose gates or children moved in this step, in order
    settled               the constellations of which a part ended in this step
    ended_stops           the attempts that ended in this step and for which a stop-all waited
    other_calls_revision  the fleet's revision for which all tasks with other calls were last judged
    journal               the records that `apply` replaced in this batch, so that a refused input can be undone
    """

    settings: ShardSettings = field(default_factory=ShardSettings)
    incarnation: int = 1
    fleet: Fleet = field(default_factory=lambda: Fleet("fleet"))
    access: Access = field(default_factory=lambda: Access("access"))
    constellations: dict[str, Constellation] = field(default_factory=dict)
    live: dict[str, None] = field(default_factory=dict)
    pointed: dict[str, None] = field(default_factory=dict)
    demands: dict[tuple[str, bytes], Demand] = field(default_factory=dict)
    shares: dict[str, int] = field(default_factory=dict)
    turns: dict[str, int] = field(default_factory=dict)
    in_a_row: dict[str, int] = field(default_factory=dict)
    queued: dict[tuple[str, str], tuple[str, bytes]] = field(default_factory=dict)
    queued_now: dict[tuple[str, str], bool] = field(default_factory=dict)
    order: int = 0
    touched: dict[tuple[str, str], None] = field(default_factory=dict)
    settled: dict[str, None] = field(default_factory=dict)
    ended_stops: dict[str, None] = field(default_factory=dict)
    other_calls_revision: int = -1
    journal: list[tuple[Stream, str, str, Any, int]] = field(default_factory=list)

    def stream(self, name: str) -> Stream:
        """Return a stream by name; make a new constellation if there is none."""
        if name == "fleet":
            return self.fleet
        if name == "access":
            return self.access
        constellation = self.constellations.get(name)
        if constellation is None:
            constellation = self.constellations[name] = Constellation(name)
        return constellation


_encode_tool = msgspec.json.Encoder(order="deterministic").encode
Digests = tuple[bytes, ...]


class _ToolSet:
    """One set: as a list, by name, and the devices that offer it."""

    __slots__ = ("by_name", "devices", "digests", "tools")

    def __init__(self, digests: Digests, tools: list[ToolOffer]) -> None:
        self.digests = digests
        self.tools = tools
        self.by_name: Mapping[str, ToolOffer] = {tool.name: tool for tool in tools}
        self.devices: dict[str, None] = {}


class ToolSets:
    """The different sets of a fleet, in the order in which each was first offered."""

    def __init__(self) -> None:
        self._sets: dict[Digests, _ToolSet] = {}
        self._by_id: dict[int, _ToolSet] = {}
        self._tools: dict[bytes, tuple[ToolOffer, bytes, int]] = {}  # the tool, its digest, the number of its sets
        self._by_device: dict[str, _ToolSet] = {}

    def __len__(self) -> int:
        return len(self._sets)

    def share(self, offer: Offer) -> Offer:
        """Return the offer with its tools replaced by equal ones that other devices hold already."""
        if id(offer.tools) in self._by_id:
            return offer
        digests = _digests(offer.tools)
        same = self._sets.get(digests)
        if same is not None:
            return replace(offer, tools=same.tools)
        tools = [
            self._tools[digest][0] if digest in self._tools else tool
            for digest, tool in zip(digests, offer.tools, strict=True)
        ]
        return replace(offer, tools=tools)

    def take(self, device: str, tools: list[ToolOffer]) -> Mapping[str, ToolOffer]:
        """Note that a device offers these tools, and none of those that it offered before; return them by name."""
        tool_set = self._by_id.get(id(tools))
        if tool_set is None:
            digests = _digests(tools)
            tool_set = self._sets.get(digests) or self._add(digests, tools)
        previous = self._by_device.get(device)
        if previous is not tool_set:
            tool_set.devices[device] = None
            self._by_device[device] = tool_set
            if previous is not None:
                self._leave(previous, device)
        return tool_set.by_name

    def leave(self, device: str) -> None:
        """Note that a device offers nothing any more."""
        tool_set = self._by_device.pop(device, None)
        if tool_set is not None:
            self._leave(tool_set, device)

    def _leave(self, tool_set: _ToolSet, device: str) -> None:
        """Take a device from a set; a set that no device offers is dropped."""
        del tool_set.devices[device]
        if tool_set.devices:
            return
        del self._sets[tool_set.digests], self._by_id[id(tool_set.tools)]
        for digest in tool_set.digests:
            tool, same, sets = self._tools.pop(digest)
            if sets > 1:
                self._tools[digest] = (tool, same, sets - 1)

    def clear(self) -> None:
        self._sets.clear()
        self._by_id.clear()
        self._tools.clear()
        self._by_device.clear()

    def offering(self, tool: str) -> Iterator[str]:
        """Yield the devices that offer a tool, in no order that means anything; no other device is looked at."""
        return (device for one in self._sets.values() if tool in one.by_name for device in one.devices)

    def different(self) -> Iterator[Mapping[str, ToolOffer]]:
        """Yield each different set once, by name of tool."""
        return (one.by_name for one in self._sets.values())

    def _add(self, digests: Digests, tools: list[ToolOffer]) -> _ToolSet:
        shared = []
        for digest, tool in zip(digests, tools, strict=True):
            first, same, sets = self._tools.get(digest, (tool, digest, 0))
            self._tools[digest] = (first, same, sets + 1)
            shared.append(same)
        # A list that is held here stays alive, so its identity is a valid key.
        added = self._sets[tuple(shared)] = self._by_id[id(tools)] = _ToolSet(tuple(shared), tools)
        return added


def _digests(tools: list[ToolOffer]) -> Digests:
    return tuple(hashlib.blake2b(_encode_tool(tool), digest_size=16).digest() for tool in tools)
