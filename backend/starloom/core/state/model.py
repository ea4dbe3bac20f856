"""The model of the shard in memory: entities by kind and id, and indexes derived from them.

Only `apply` writes here. Indexes are functions of the entities: never stored, never hashed, rebuilt on load.
Nothing iterates a set; maps keep insertion order. An offer with all built-in tools takes half a megabyte as records,
and the devices of a fleet offer much the same, so each tool is held once (`ToolSets`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

import msgspec
from msgspec.structs import replace

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
from starloom_protocol.records.schedules import Schedule, ScheduledPlan
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


class Tally:
    """The counts of a group's children by state."""

    __slots__ = ("children", "excused", "held_slots", "hopeless", "succeeded", "unfinished")

    def __init__(self) -> None:
        self.children = 0
        self.unfinished = 0
        self.succeeded = 0
        self.excused = 0
        self.hopeless = 0
        self.held_slots = 0


class Progress:
    """The counts of ended tasks of a constellation; `devices` counts the successful ones by device.

    `paces` has, by tool, how many of its tasks succeeded and the milliseconds that they took together; `hedges` counts
    tasks that had a hedge, `broken` attempts that ended in a timeout or an error that may pass. `looks` counts the
    tasks by which the planner looked, which are in no other count; `reused` those that took over an earlier result.
    """

    __slots__ = ("broken", "checked", "devices", "ended", "failed", "hedges", "looks", "paces", "reused", "succeeded")

    def __init__(self) -> None:
        self.ended = 0
        self.succeeded = 0
        self.checked = 0
        self.failed: dict[str, None] = {}
        self.devices: dict[str, int] = {}
        self.paces: dict[str, tuple[int, int]] = {}
        self.hedges = 0
        self.looks = 0
        self.reused = 0
        self.broken = 0


class Constellation(Stream):
    """A constellation's entities and indexes.

    Gates: `undecided` and `shut` count gates of a task; `gate` has the state of each dependency; `unasked` those that
    need a fact of a finished result that only its device can read. `head` is the constellation's own record, present
    from its first event on. `relisting` has the roots of families whose list is being made again; `lists` has, by
    source, the gates of the families made from its output, `read` the gates for which the core reads a part of its
    result; `ready` counts tasks in that state, `held` the slots that its tasks hold; `tool_ms` is that of its head;
    `demands` has those in which its tasks wait; `served` is the shard's `order` when it last got a slot, or when its
    first task joined a queue. `choosing` has the tasks with other calls.
    `moments` has the ready tasks that wait for a moment, `returning` the groups that wait for devices, `tapped` the
    running tasks that wait for a tap. `approved` has the devices that were approved for a tool and a selector;
    `approved_keys` has a digest of each such set, which stands for it in the keys of demands.
    """

    __slots__ = (
        "approved",
        "approved_keys",
        "attempts",
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
        "unasked",
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
        self.unasked: dict[str, None] = {}
        self.unfinished_top = 0

    def record(self, name: str) -> TaskRecord | GroupRecord:
        """Return the record of a task or a group."""
        return self.tasks.get(name) or self.groups[name]

    def within(self, group: str) -> list[str]:
        """Return all tasks and groups inside a group in order, each group before its content."""
        found: list[str] = []
        stack = list(reversed(self.children.get(group, {})))
        while stack:
            name = stack.pop()
            found.append(name)
            stack.extend(reversed(self.children.get(name, {})))
        return found

    def leaves(self, group: str) -> list[str]:
        """Return the tasks of a group in order, including those of nested groups."""
        return [name for name in self.within(group) if name in self.tasks]

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
    """Devices with their offers, and schedules; `used` counts slots, `tools` is each device's offer by tool name, held
    once for all devices that offer the same (`tool_sets`).

    `faults` is the sum of all devices' faults; `hedges` has, by device, the tasks of which it runs a hedge; `freed`
    rises with every slot that becomes free; `slots_changed` has the devices of the newest changes of `used`, the
    last one at its end, and `slots_number` counts them all; `holders` has, by device, the tasks that hold its slots,
    each with the moment at which it should end (0: unknown); `pace_changed` has the number of the last change of
    each pace, in order of the changes, of which `pace_number` is the last, and `pace_index` is what `placement.pace`
    makes of the paces; `stop_waits` has the device of each attempt for whose end a stop-all waits; `revision` rises
    with every change of a device or its offer, `changed` has the last one of each device, in order, and `reordered` is
    the last one that may have moved a device among others; `looks` counts the names in `by_name` by what they look
    like; `by_former_name` has the device that was called so before, `gone` the revoked ones of a name; `asking` has
    the pairing that waits for a person, by the code that several devices share and the device; `expected` has the
    devices that a hub lost by its own end and that have not connected since.
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
        "looks",
        "offers",
        "pace_changed",
        "pace_index",
        "pace_number",
        "paces",
        "recipe_runs",
        "recipes",
        "reordered",
        "revision",
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
        self.schedules = cast(dict[str, Schedule], self.tables["schedule"])
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
        self.looks: dict[str, int] = {}
        self.asking: dict[tuple[str, str], str] = {}
        self.expected: dict[str, None] = {}

    def named(self, name: str) -> Device | None:
        """Return the device that has this name, or had it before."""
        return self.devices.get(self.by_name.get(name) or self.by_former_name.get(name, ""))

    def name_of(self, device: str | None) -> str:
        """Return the name of a device, its id if it is not known here, and nothing for none."""
        known = self.devices.get(device or "")
        return known.name if known is not None else device or ""


class Access(Stream):
    """Principals, tokens, sign-in links, idempotency keys, records of secrets, kept results, proposals of recipes.

    Never streamed live: a proposal is for its owner alone.

    `secrets_revision` rises when a secret is set, removed or gets other receivers.
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
        found: list[Token] = []
        ahead = [token]
        while ahead:
            below = children.pop(ahead.pop(), [])
            found += below
            ahead += [one.id for one in below]
        return found

    def right_was_taken(self, holder: Principal | None, token: str) -> bool:
        """Tell whether somebody may run work no more, or not with this token.

        A session, which has its time, does not bind what was done in it; the invitation of that session does.
        """
        used = self.tokens.get(token)
        if used is not None and used.kind == "session":
            used = self.tokens.get(used.parent)
        low = holder is not None and ROLE_RANK[holder.role] < ROLE_RANK[Role.OPERATOR]
        return low or (used is not None and used.revoked_ms > 0)

    def right_was_taken_from(self, author: str) -> bool:
        """Tell whether an author may run work no more; a part of the hub always may."""
        used = self.tokens.get(token_of(author))
        holder = self.principals.get(used.principal) if used is not None else None
        if holder is None:
            named = (one for one in self.principals.values() if author_of(one.kind, one.name) == who(author))
            holder = next(named, None)
        return self.right_was_taken(holder, token_of(author))


class Demand:
    """Ready tasks of one owner that want the same: by constellation a heap of (-rank, order, task), lazily pruned.

    `feasible` are the capable devices, in order of name: each with its slots, whether it is spared for its owner
    (`spares`: any is), and its rank while idle where nothing else distinguishes devices (`placement`), as of the
    fleet's revision `fleet_seen`; `free` are the positions of those with a free slot, in no order, as of the
    fleet's `slots_number` `free_seen`. If several constellations wait, `usual` and `longest` are heaps over them, kept
    by `queues`; `pushed` has the newest entry of each in `usual`, `aged` those with an entry in `longest`.

    `people` are those of whom the feasible devices are, `places` has the positions of these, `paced`, by size class,
    their expected times. While all of its
    tasks wait for better devices than the free ones, `rested` describes the fleet at that time, until `rests_until_ms`
    at most. `held_seen` is the `revision` at which it waited for devices that were approved, and for no others.
    """

    __slots__ = (
        "aged",
        "feasible",
        "fleet_seen",
        "free",
        "free_seen",
        "held_seen",
        "key",
        "lines",
        "longest",
        "needs",
        "owner",
        "paced",
        "people",
        "places",
        "pushed",
        "rested",
        "rests_until_ms",
        "revision",
        "selector",
        "spares",
        "tool",
        "usual",
    )

    def __init__(self, key: tuple[str, bytes], tool: str, selector: Any, needs: Any = None, owner: str = "") -> None:
        self.owner = owner
        self.key = key
        self.tool = tool
        self.selector = selector
        self.needs = needs
        self.lines: dict[str, list[tuple[int, int, str]]] = {}
        self.usual: list[tuple[int, int, int, int, str]] = []
        self.pushed: dict[str, tuple[int, int, int, int, str]] = {}
        self.longest: list[tuple[int, str]] = []
        self.aged: set[str] = set()
        self.feasible: list[tuple[str, int, bool, int]] = []
        self.free: set[int] = set()
        self.free_seen = -1
        self.held_seen = -1
        self.spares = False
        self.revision = -1
        self.fleet_seen = -1
        self.paced: dict[int, Any] = {}
        self.people: frozenset[str] = frozenset()
        self.places: dict[str, int] = {}
        self.rested: tuple[int, ...] = ()
        self.rests_until_ms = 0


class Shard:
    """The state that one engine loop owns.

    `touched` collects tasks and groups whose gates or children moved, in order, for the step's agenda; `queued_now` has
    tasks that joined a queue since the step began, each with whether it need not wait there (it is optional, or has
    other calls), `ended_stops` ended attempts for which a stop-all waited, `journal` the records that `apply` replaced
    since then, so that a refused input can be undone. `pointed` names the live
    constellations whose plan has points of review. `other_calls_revision` is the fleet's revision for which all tasks
    with other calls were last judged.
    """

    __slots__ = (
        "access",
        "constellations",
        "demands",
        "ended_stops",
        "fleet",
        "in_a_row",
        "incarnation",
        "journal",
        "live",
        "order",
        "other_calls_revision",
        "pointed",
        "queued",
        "queued_now",
        "settings",
        "settled",
        "shares",
        "touched",
        "turns",
    )

    def __init__(self, settings: ShardSettings | None = None) -> None:
        self.settings = settings or ShardSettings()
        self.incarnation = 1
        self.fleet = Fleet("fleet")
        self.access = Access("access")
        self.constellations: dict[str, Constellation] = {}
        self.live: dict[str, None] = {}
        self.pointed: dict[str, None] = {}
        self.demands: dict[tuple[str, bytes], Demand] = {}
        self.shares: dict[str, int] = {}
        self.turns: dict[str, int] = {}
        self.in_a_row: dict[str, int] = {}
        self.queued: dict[tuple[str, str], tuple[str, bytes]] = {}
        self.queued_now: dict[tuple[str, str], bool] = {}
        self.order = 0
        self.touched: dict[tuple[str, str], None] = {}
        self.settled: dict[str, None] = {}
        self.ended_stops: dict[str, None] = {}
        self.other_calls_revision = -1
        self.journal: list[tuple[Stream, str, str, Any, int]] = []

    def stream(self, name: str) -> Stream:
        """Return a stream by name; make a new constellation if there is none."""
        if name == "fleet":
            return self.fleet
        if name == "access":
            return self.access
        found = self.constellations.get(name)
        if found is None:
            found = self.constellations[name] = Constellation(name)
        return found


PATIENCE_MOST_MS: Final = 120_000
"""Longer than a hub is away that is upgraded or restarted with its computer."""

TRIAL_RUNS: Final = 3
"""After so many clean runs in a row words start a recipe that was kept from a proposal."""


class ShardSettings:
    """The limits and durations that decisions need; durations in milliseconds."""

    __slots__ = (
        "absence_margin_ms",
        "approval_ms",
        "backoff_first_ms",
        "backoff_most_ms",
        "binds_approvals",
        "dependencies_most",
        "fences_most",
        "grace_ms",
        "grows_patience",
        "hedge_after_ms",
        "hedge_at_p90",
        "hedge_times",
        "keeps_reopenings",
        "kept_results_most",
        "names_pauses",
        "pace_rows_most",
        "patience_most_ms",
        "probe_first_ms",
        "probe_most_ms",
        "proposals_most",
        "quarantine_at",
        "random_placement",
        "refusals_most",
        "restarts_waits",
        "return_ms",
        "rule_firings_most",
        "schedule_apart_ms",
        "schedules_most",
        "spending_rows_most",
        "standing_most",
        "suspect_at",
        "tasks_most",
        "trial_runs",
        "ttl_ms",
    )

    def __init__(
        self,
        *,
        ttl_ms: int = 15_000,
        grace_ms: int = 5_000,
        absence_margin_ms: int = 2_000,
        backoff_first_ms: int = 1_000,
        backoff_most_ms: int = 30_000,
        schedule_apart_ms: int = 60_000,
        schedules_most: int = 200,
        approval_ms: int = 86_400_000,
    ) -> None:
        self.ttl_ms = ttl_ms
        self.grace_ms = grace_ms
        self.absence_margin_ms = absence_margin_ms
        self.backoff_first_ms = backoff_first_ms
        self.backoff_most_ms = backoff_most_ms
        self.schedule_apart_ms = schedule_apart_ms
        self.schedules_most = schedules_most
        self.approval_ms = approval_ms
        self.binds_approvals = 2
        self.standing_most = 500
        self.suspect_at = 3
        self.quarantine_at = 6
        self.probe_first_ms = 30_000
        self.probe_most_ms = 600_000
        self.grows_patience = 1
        self.hedge_after_ms = 10_000
        self.hedge_at_p90 = 1
        self.hedge_times = 3
        self.keeps_reopenings = 1
        self.kept_results_most = 1_000
        self.names_pauses = 1
        self.pace_rows_most = 2_000
        self.patience_most_ms = PATIENCE_MOST_MS
        self.proposals_most = 20
        self.spending_rows_most = 500
        self.trial_runs = TRIAL_RUNS
        self.random_placement = 0
        self.refusals_most = 10
        self.restarts_waits = 1
        self.fences_most = 10
        self.return_ms = 10_000
        self.rule_firings_most = 100
        self.tasks_most = 10_000
        self.dependencies_most = 100_000


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
        known = self._sets.get(digests)
        if known is not None:
            return replace(offer, tools=known.tools)
        tools = [
            self._tools[digest][0] if digest in self._tools else tool
            for digest, tool in zip(digests, offer.tools, strict=True)
        ]
        return replace(offer, tools=tools)

    def take(self, device: str, tools: list[ToolOffer]) -> Mapping[str, ToolOffer]:
        """Note that a device offers these tools, and none of those that it offered before; return them by name."""
        found = self._by_id.get(id(tools))
        if found is None:
            digests = _digests(tools)
            found = self._sets.get(digests) or self._add(digests, tools)
        before = self._by_device.get(device)
        if before is not found:
            found.devices[device] = None
            self._by_device[device] = found
            if before is not None:
                self._leave(before, device)
        return found.by_name

    def leave(self, device: str) -> None:
        """Note that a device offers nothing any more."""
        found = self._by_device.pop(device, None)
        if found is not None:
            self._leave(found, device)

    def _leave(self, found: _ToolSet, device: str) -> None:
        """Take a device from a set; a set that no device offers is dropped."""
        del found.devices[device]
        if found.devices:
            return
        del self._sets[found.digests], self._by_id[id(found.tools)]
        for digest in found.digests:
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
        return (device for found in self._sets.values() if tool in found.by_name for device in found.devices)

    def different(self) -> Iterator[Mapping[str, ToolOffer]]:
        """Yield each different set once, by name of tool."""
        return (found.by_name for found in self._sets.values())

    def _add(self, digests: Digests, tools: list[ToolOffer]) -> _ToolSet:
        shared = []
        for digest, tool in zip(digests, tools, strict=True):
            held, same, sets = self._tools.get(digest, (tool, digest, 0))
            self._tools[digest] = (held, same, sets + 1)
            shared.append(same)
        # A list that is held here stays alive, so its identity is a valid key.
        found = self._sets[tuple(shared)] = self._by_id[id(tools)] = _ToolSet(tuple(shared), tools)
        return found


def _digests(tools: list[ToolOffer]) -> Digests:
    return tuple(hashlib.blake2b(_encode_tool(tool), digest_size=16).digest() for tool in tools)
