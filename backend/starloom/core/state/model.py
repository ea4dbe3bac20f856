"""The model of the shard in memory: entities by kind and id, and indexes derived from them.

Only `apply` writes here. Indexes are functions of the entities: never stored, never hashed, rebuilt on load.
Nothing iterates a set; maps keep insertion order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple, cast

from starloom.core.state.tool_sets import ToolSets
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
    """The counts of a constellation's tasks that ended, without those by which the planner looked."""

    __slots__ = ("broken", "checked", "devices", "ended", "failed", "hedges", "looks", "paces", "reused", "succeeded")

    def __init__(self) -> None:
        self.ended = 0
        self.succeeded = 0
        self.checked = 0
        self.failed: dict[str, None] = {}
        self.devices: dict[str, int] = {}
        """By device, how many tasks succeeded on it."""
        self.paces: dict[str, tuple[int, int]] = {}
        """By tool, how many of its tasks succeeded, and the milliseconds that they took together."""
        self.hedges = 0
        """The tasks that have a hedge."""
        self.looks = 0
        """The tasks by which the planner looked."""
        self.reused = 0
        """The tasks that took over an earlier result."""
        self.broken = 0
        """The attempts that ended in a timeout or in an error that may pass."""


class Constellation(Stream):
    """A constellation's entities, and the indexes that `apply` derives from them."""

    __slots__ = (
        "approved",
        "approved_keys",
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
        """The constellation's own record, present from its first event on."""
        self.approved: dict[tuple[str, bytes], frozenset[str]] = {}
        """The devices that were approved for a tool and a selector."""
        self.approved_keys: dict[frozenset[str], bytes] = {}
        """A digest of each set of approved devices, which stands for the set in the keys of demands."""
        self.outgoing: dict[str, dict[str, Dependency]] = {}
        self.incoming: dict[str, dict[str, Dependency]] = {}
        self.gate: dict[str, GateState] = {}
        """The state of each dependency."""
        self.undecided: dict[str, int] = {}
        """By task, how many of its gates are undecided."""
        self.shut: dict[str, int] = {}
        """By task, how many of its gates are shut."""
        self.choosing: dict[str, None] = {}
        """The tasks that have other calls."""
        self.children: dict[str, dict[str, None]] = {}
        """By group, its tasks and groups, in order."""
        self.families: dict[str, dict[str, None]] = {}
        """By root, the groups and tasks that are made for the items of one list."""
        self.tally: dict[str, Tally] = {}
        self.parked: dict[str, dict[str, None]] = {}
        """By group, the ready tasks that wait for room in it."""
        self.progress = Progress()
        self.rank: dict[str, int] = {}
        """By task, the length of the longest path that begins with it (`tasks.graph`)."""
        self.tool_ms: dict[str, int] = {}
        """The expected milliseconds of each tool, as the head has them."""
        self.ready = 0
        """The tasks in the state `ready`."""
        self.held = 0
        """The slots that tasks hold."""
        self.demands: dict[tuple[str, bytes], Demand] = {}
        """The demands in which tasks wait."""
        self.served = 0
        """The shard's `order` when a task last got a slot, or when the first one joined a queue."""
        self.relisting: dict[str, None] = {}
        """The roots of families whose list is being made again."""
        self.returning: dict[str, None] = {}
        """The groups that wait for devices to come back."""
        self.moments: dict[str, None] = {}
        """The ready tasks that wait for a moment."""
        self.tapped: dict[str, None] = {}
        """The running tasks that wait for a tap."""
        self.lists: dict[str, dict[str, Dependency]] = {}
        """By source, the dependencies whose families are made from its output."""
        self.read: dict[str, dict[str, Dependency]] = {}
        """By source, the dependencies for which the core reads a part of its result."""
        self.rules_by_task: dict[str, dict[str, None]] = {}
        """By task, the rules of the plan that wait for one of its events."""
        self.open_attempts: dict[str, None] = {}
        self.open_questions: dict[str, None] = {}
        self.unknown: dict[str, None] = {}
        """The tasks of which nobody knows whether they ran."""
        self.awaiting_facts: dict[str, None] = {}
        """The dependencies that need a fact of a finished result which only its device can read."""
        self.unfinished_top = 0
        """The unfinished tasks and groups that are in no group."""

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
    """The devices with their offers, the schedules and the recipes, and the indexes over them."""

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
        """By pace, the number of its last change, in the order of the changes."""
        self.pace_number = 0
        """The number of the last change of any pace."""
        self.pace_index: Any = None
        """The index over the paces; `placement.pace` makes and owns it."""
        self.spendings = cast(dict[str, Spending], self.tables["spending"])
        self.stopping = cast(dict[str, Stopping], self.tables["stopping"])
        self.stop_waits: dict[str, str] = {}
        """By attempt for whose end a stop-all waits, its device."""
        self.faults = 0
        """The sum of all devices' faults."""
        self.hedges: dict[str, dict[tuple[str, str], None]] = {}
        """By device, the tasks of which it runs a hedge."""
        self.by_name: dict[str, str] = {}
        self.by_former_name: dict[str, str] = {}
        """The device that was called so before."""
        self.gone: dict[str, dict[str, None]] = {}
        """By name, the revoked devices that had it."""
        self.tools: dict[str, Mapping[str, ToolOffer]] = {}
        """By device, its offer of each tool, held once for all devices that offer the same (`tool_sets`)."""
        self.tool_sets = ToolSets()
        self.used: dict[str, int] = {}
        """By device, the slots that tasks hold."""
        self.slots_changed: list[str] = []
        """The devices of the newest changes of `used`, the newest at the end."""
        self.slots_number = 0
        """The number of all changes of `used`."""
        self.freed = 0
        """The number of slots that became free."""
        self.holders: dict[str, dict[tuple[str, str], int]] = {}
        """By device, the tasks that hold its slots, each with the moment at which it should end (0: unknown)."""
        self.revision = 0
        """The number of changes of a device or its offer."""
        self.changed: dict[str, int] = {}
        """By device, the revision of its last change, in the order of the changes."""
        self.reordered = 0
        """The revision of the last change that may have moved a device among the others."""
        self.looks: dict[str, int] = {}
        """How many names in `by_name` look like this (`look_of`)."""
        self.asking: dict[tuple[str, str], str] = {}
        """By the code that several devices share and the device: the enrollment that waits for a person."""
        self.expected: dict[str, None] = {}
        """The devices that were connected when their hub ended, and have not connected since."""

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
        """Rises when a secret is set, removed or gets other receivers."""

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


UsualKey = tuple[int, int, int, int, str]
"""The key that orders the constellations of one owner (`queues.usual_key`); it ends with the name."""


QueueEntry = tuple[int, int, str]
"""A task that waits: minus its rank, the shard's `order` when it joined, and its name; the smallest comes first."""


class Feasible(NamedTuple):
    """A device that could do the work of a demand when free, and its slots.

    It `is_spared` for its owner or not; `idle_rank` orders idle devices where nothing else tells them apart.
    """

    device: str
    slots: int
    is_spared: bool
    idle_rank: int


class Demand:
    """The ready tasks of one owner that want the same: the same tool, selector and secrets."""

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
        "secrets_seen",
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
        self.lines: dict[str, list[QueueEntry]] = {}
        """By constellation, its tasks as a heap. An entry whose task left the queue is dropped when it is met."""
        self.usual: list[UsualKey] = []
        """A heap over the constellations where several wait, kept by `queues`."""
        self.pushed: dict[str, UsualKey] = {}
        """By constellation, its newest entry in `usual`."""
        self.longest: list[tuple[int, str]] = []
        """A second heap over them, by the time since they were served."""
        self.aged: set[str] = set()
        """The constellations that have an entry in `longest`."""
        self.feasible: list[Feasible] = []
        """The devices that could do the work when free, in order of name."""
        self.free: set[int] = set()
        """The places in `feasible` of devices with a free slot, in no order."""
        self.free_seen = -1
        """The fleet's `slots_number` of which `free` is."""
        self.held_seen: tuple[int, int] | None = None
        """The revisions at which the demand waited for devices that were approved, and for no others."""
        self.spares = False
        """Whether a feasible device is spared for its owner."""
        self.secrets_seen = 0
        """The revision of the secrets of which `feasible` is."""
        self.fleet_seen = -1
        """The fleet's revision of which `feasible` is; -1 before it was made."""
        self.paced: dict[int, Any] = {}
        """By size class, the expected times on the feasible devices (`placement.finish.Paced`)."""
        self.people: frozenset[str] = frozenset()
        """The persons whose devices are feasible."""
        self.places: dict[str, int] = {}
        """By device, its place in `feasible`."""
        self.rested: tuple[int, ...] = ()
        """The fleet's numbers when all tasks were found to wait for better devices than the free ones."""
        self.rests_until_ms = 0
        """The moment until which the tasks wait so at most."""


class Shard:
    """The state that one engine loop owns: all streams, the queues, and the notes of the step that is under way."""

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
        """The constellations that have not ended."""
        self.pointed: dict[str, None] = {}
        """The live constellations whose plan has points of review."""
        self.demands: dict[tuple[str, bytes], Demand] = {}
        self.shares: dict[str, int] = {}
        """By owner, the slots that their tasks hold."""
        self.turns: dict[str, int] = {}
        """By owner, the `order` at which a task of theirs last got a slot."""
        self.in_a_row: dict[str, int] = {}
        """By owner, the grants in the usual order since the longest waiting constellation got one."""
        self.queued: dict[tuple[str, str], tuple[str, bytes]] = {}
        """By constellation and task, the key of the demand in which it waits."""
        self.queued_now: dict[tuple[str, str], bool] = {}
        """The tasks that joined a queue in this step; True: one need not wait there, as it is optional or has other
        calls."""
        self.order = 0
        """Rises with every task that joins a queue, and with every slot that is given."""
        self.touched: dict[tuple[str, str], None] = {}
        """The tasks and groups whose gates or children moved in this step, in order."""
        self.settled: dict[str, None] = {}
        """The constellations of which a part ended in this step."""
        self.ended_stops: dict[str, None] = {}
        """The attempts that ended in this step and for which a stop-all waited."""
        self.other_calls_revision = -1
        """The fleet's revision for which all tasks with other calls were last judged."""
        self.journal: list[tuple[Stream, str, str, Any, int]] = []
        """The records that `apply` replaced in this batch, so that a refused input can be undone."""

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
