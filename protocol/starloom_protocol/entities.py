"""The small records that events put; every state of Starloom is a map from key to one of these.

Each is frozen, its fields stand in alphabetical order and defaults are left out, so that the bytes of a record
are canonical and TypeScript folds to the same ones. State holds integers, strings, booleans, lists and maps; no
floats. Times are hub time in integer milliseconds. A value is canonical JSON text (`values`).

Keys in the stream of a constellation: `head`, `answer`, `spec/ID`, `task/ID`, `group/ID`, `item/FAMILY/KEY`,
`dep/FROM>TO:NAME`, `attempt/ID/N`, `rule/NAME`, `question/ID`, `version/N`, `job/ID`. In `fleet`: `device/ID`,
`offer/ID`, `enrollment/ID`. In `access`: `principal/ID`, `token/ID`, `signin/ID`, `idem/PRINCIPAL/KEY`.
"""

from __future__ import annotations

import msgspec

from starloom_protocol.vocabulary import (
    Approval,
    AttemptEnd,
    Attention,
    Code,
    ConstellationState,
    DeviceLink,
    Effect,
    EffectSeen,
    Gate,
    GroupState,
    Need,
    Op,
    Profile,
    Reason,
    Repeatability,
    Role,
    TaskState,
)


class Record(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """What every entity and its parts are: frozen, strict, defaults left out."""


# -- parts of a task's spec


class Condition(Record, frozen=True, kw_only=True):
    """`value` is canonical text; null where the operator needs none."""

    op: Op
    output: str
    value: str | None = None


class Check(Record, frozen=True, kw_only=True):
    """A condition on the own result; `exit_code` is written as a condition on `/exit_code`."""

    op: Op
    output: str
    value: str | None = None


class Choice(Record, frozen=True, kw_only=True):
    fails: bool = False
    label: str
    value: str


class Selector(Record, frozen=True, kw_only=True):
    """Which devices fit: every given field must hold, `any` needs one of its own."""

    any: list[Selector] = []
    id: str | None = None
    labels: list[str] = []
    name: str | None = None
    os: str | None = None
    tools: list[str] = []


class ForEach(Record, frozen=True, kw_only=True):
    """A group's list: `source`+`output` (a task's output), `devices` (a selector) or `same` (a family)."""

    devices: Selector | None = None
    max_parallel: int = 0
    need: Need = Need.ALL
    need_count: int = 0
    output: str = ""
    same: str | None = None
    source: str | None = None


class Input(Record, frozen=True, kw_only=True):
    """One data dependency of a task: the pointer `output` into what `source` gives, handed over as `name`."""

    all: bool = False
    flatten: bool = False
    name: str
    optional: bool = False
    output: str = ""
    source: str


class FileOut(Record, frozen=True, kw_only=True):
    output: str
    to: str


class Timeouts(Record, frozen=True, kw_only=True):
    heartbeat_s: int = 15
    schedule_to_close_s: int = 3600
    schedule_to_start_s: int = 300
    start_to_close_s: int = 600


class Retry(Record, frozen=True, kw_only=True):
    """`max_attempts` 0 means the default: 3 for pure and idempotent work, else 1."""

    max_attempts: int = 0
    on_check: bool = False


class OnAbsence(Record, frozen=True, kw_only=True):
    """What becomes of an attempt whose device is absent; `then` empty means the default of its repeatability."""

    after_s: int = 0
    then: str = ""


# -- entities of a constellation


class Policy(Record, frozen=True, kw_only=True):
    approval: Approval = Approval.RISKY
    partial: bool = False
    review: str = "never"


class ResultSpec(Record, frozen=True, kw_only=True):
    output: str = ""
    show: str = "value"
    source: str
    title: str


class Fault(Record, frozen=True, kw_only=True):
    """One thing that is wrong: a code, a sentence, the place, the way out."""

    code: Code
    hint: str = ""
    place: str = ""
    reason: str


class Head(Record, frozen=True, kw_only=True):
    """The constellation itself; `wall_ms` and the like are derived by whoever shows it."""

    attention: list[Attention] = []
    author: str
    cancelled_by: str | None = None
    created_ms: int
    deadline_s: int = 0
    ended_ms: int = 0
    fault: Fault | None = None
    hold: bool = False
    id: str
    labels: dict[str, str] = {}
    name: str
    params: str = "{}"
    plan_hash: str | None = None
    policy: Policy = Policy()
    recipe: str | None = None
    request: str = ""
    results: list[ResultSpec] = []
    state: ConstellationState
    version: int = 0


class AnswerItem(Record, frozen=True, kw_only=True):
    """One thing given back; `value` is canonical text, or `artifact` names bytes by hash."""

    artifact: str | None = None
    attempt: int = 0
    bytes: int = 0
    checked: bool = False
    device: str | None = None
    media: str | None = None
    show: str
    task: str
    title: str
    value: str | None = None


class Answer(Record, frozen=True, kw_only=True):
    """`state` is none, partial or final; the sentence is made by the core without a model."""

    items: list[AnswerItem] = []
    sentence: str = ""
    state: str = "none"


class TaskSpec(Record, frozen=True, kw_only=True):
    """What a task is to do; written by edits only. A group has `for_each`, a question has `person`."""

    args: str = "{}"
    changed_in: int
    checks: list[Check] = []
    choices: list[Choice] = []
    device: Selector | None = None
    family: str | None = None
    files_out: list[FileOut] = []
    for_each: ForEach | None = None
    group: str | None = None
    id: str
    inputs: list[Input] = []
    key: str | None = None
    on_absence: OnAbsence = OnAbsence()
    optional: bool = False
    person: str | None = None
    repeatability: Repeatability | None = None
    retry: Retry = Retry()
    timeouts: Timeouts = Timeouts()
    tool: str | None = None


class TaskRecord(Record, frozen=True, kw_only=True):
    """Where a task stands. `attempt` is its highest number ever, `started` counts those of this round.

    `cause` of a skip is the first task that failed or was cancelled on the way, or `not_chosen`.
    """

    absent_since_ms: int = 0
    attempt: int = 0
    cause: str | None = None
    checked: bool = False
    code: Code | None = None
    confirmed: bool = False
    device: str | None = None
    held: bool = False
    marked: str | None = None
    not_before_ms: int = 0
    reason: Reason | None = None
    refusals: int = 0
    round: int = 1
    since_ms: int
    started: int = 0
    state: TaskState


class GroupRecord(Record, frozen=True, kw_only=True):
    """Where a group stands; its children are the tasks whose spec names it."""

    cause: str | None = None
    code: Code | None = None
    count: int = 0
    reason: Reason | None = None
    round: int = 1
    since_ms: int
    state: GroupState


class Item(Record, frozen=True, kw_only=True):
    """One item of a family's list; `value` is canonical text."""

    key: str
    value: str


class Dependency(Record, frozen=True, kw_only=True):
    """One gate between two tasks; its identity is `FROM>TO:NAME` (a gate's word, its pointer, or an input)."""

    all: bool = False
    changed_in: int
    condition: Condition | None = None
    gate: Gate
    input: str | None = None
    optional: bool = False
    source: str
    target: str


class Attempt(Record, frozen=True, kw_only=True):
    """One try on one device. `facts` are pointers to canonical text; `value` or `artifact` is its output."""

    artifact: str | None = None
    bytes: int = 0
    cancel_by: str | None = None
    code: Code | None = None
    detail: str = ""
    device: str
    effect: EffectSeen | None = None
    end: AttemptEnd | None = None
    ended_ms: int = 0
    facts: dict[str, str] = {}
    incarnation: int
    late: str | None = None
    leased_ms: int
    others: list[str] = []
    repeatability: Repeatability
    round: int = 1
    started_ms: int = 0
    tail: str = ""
    value: str | None = None
    why: str = ""


class RuleRecord(Record, frozen=True, kw_only=True):
    """A rule and how often it fired; `operations` is canonical text of its edit.

    `fired_for` has the last round for which it fired, by task: once per rule, task and round.
    """

    attempts: Condition | None = None
    code: Code | None = None
    condition: Condition | None = None
    event: str
    fired: int = 0
    fired_for: dict[str, int] = {}
    name: str
    operations: str
    order: int
    reason: str
    task: str
    whole: bool = False


class Question(Record, frozen=True, kw_only=True):
    """A durable question to a person: a `person:` task, or an approval bound to the hash of an action."""

    action: str | None = None
    answer: str | None = None
    answered_by: str | None = None
    answered_ms: int = 0
    choices: list[Choice] = []
    effects: list[Effect] = []
    expires_ms: int = 0
    id: str
    kind: str
    opened_ms: int
    task: str | None = None
    text: str
    version: int = 0


class Version(Record, frozen=True, kw_only=True):
    """One version of a plan: who made it, why, and what it changed."""

    added: list[str] = []
    at_ms: int
    author: str
    changed: list[str] = []
    number: int
    operations: str = "[]"
    reason: str = ""
    removed: list[str] = []
    trigger: str = ""


class Job(Record, frozen=True, kw_only=True):
    """Work for a Celery worker, opened by an effect and claimed like an attempt; the broker only wakes."""

    claimed_by: str | None = None
    claims: int = 0
    expires_ms: int = 0
    fault: Fault | None = None
    id: str
    kind: str
    opened_ms: int
    state: str = "open"


# -- entities of the fleet


class ToolOffer(Record, frozen=True, kw_only=True):
    """One tool as a device offers it; `args` is the canonical text of its JSON schema."""

    args: str = "{}"
    effects: list[Effect] = []
    grant: str | None = None
    name: str
    repeatability: Repeatability = Repeatability.NEVER
    self_verified: bool = False
    title: str = ""
    unavailable: str | None = None


class Offer(Record, frozen=True, kw_only=True):
    """What a device says it can do now; `facts` are strings such as os, arch, python, disk_free_bytes."""

    digest: str
    facts: dict[str, str] = {}
    grants: list[str] = []
    slots: int = 1
    tools: list[ToolOffer] = []


class Device(Record, frozen=True, kw_only=True):
    """One device; its id is made from its key. `session` rises with each connection."""

    condition: dict[str, str] = {}
    demo: bool = False
    draining: bool = False
    id: str
    instance: str | None = None
    joined_ms: int
    key: str
    labels: list[str] = []
    ledger: str | None = None
    link: DeviceLink = DeviceLink.OFFLINE
    link_since_ms: int = 0
    name: str
    os: str = ""
    profile: Profile = Profile.OBSERVE
    quarantined: bool = False
    reports: int = 0
    revoked: bool = False
    session: int = 0
    version: str = ""


class Enrollment(Record, frozen=True, kw_only=True):
    """One pairing. State: open, asking, approved, denied, used, expired; `code_hash` is never the code."""

    attempts: int = 0
    code_hash: str
    created_ms: int
    demo: bool = False
    device: str | None = None
    expires_ms: int
    id: str
    key: str | None = None
    label: str = ""
    name: str = ""
    os: str = ""
    owner: str
    preapproved: bool = False
    profile_most: Profile = Profile.OPERATE
    reason: str = ""
    state: str = "open"
    words: str = ""


# -- entities of access


class Principal(Record, frozen=True, kw_only=True):
    created_ms: int
    id: str
    name: str
    role: Role


class Token(Record, frozen=True, kw_only=True):
    """A bearer token or a page's session; only the SHA-256 of its secret is kept."""

    created_ms: int
    csrf_hash: str | None = None
    expires_ms: int
    id: str
    kind: str
    label: str = ""
    principal: str
    revoked_ms: int = 0
    role: Role
    scopes: list[str] = []
    secret_hash: str


class SignIn(Record, frozen=True, kw_only=True):
    """A one-time sign-in link; only its secret's hash is kept, and it dies on use."""

    created_ms: int
    expires_ms: int
    id: str
    principal: str
    secret_hash: str
    used_ms: int = 0


class Idempotency(Record, frozen=True, kw_only=True):
    """What a key of a principal was used for: the hash of the body and the id that it made."""

    at_ms: int
    body_hash: str
    made: str


Entity = (
    Head
    | Answer
    | TaskSpec
    | TaskRecord
    | GroupRecord
    | Item
    | Dependency
    | Attempt
    | RuleRecord
    | Question
    | Version
    | Job
    | Device
    | Offer
    | Enrollment
    | Principal
    | Token
    | SignIn
    | Idempotency
)

KINDS: dict[str, type[Record]] = {
    "head": Head,
    "answer": Answer,
    "spec": TaskSpec,
    "task": TaskRecord,
    "group": GroupRecord,
    "item": Item,
    "dep": Dependency,
    "attempt": Attempt,
    "rule": RuleRecord,
    "question": Question,
    "version": Version,
    "job": Job,
    "device": Device,
    "offer": Offer,
    "enrollment": Enrollment,
    "principal": Principal,
    "token": Token,
    "signin": SignIn,
    "idem": Idempotency,
}

_encoder = msgspec.json.Encoder(order="deterministic")
_decoders = {kind: msgspec.json.Decoder(record) for kind, record in KINDS.items()}


def kind_of(key: str) -> str:
    """Return the part of a key that names its kind of entity."""
    return key.partition("/")[0]


def encode_entity(entity: Record) -> bytes:
    """Return the canonical bytes of a record."""
    return _encoder.encode(entity)


def decode_entity(key: str, raw: bytes | msgspec.Raw) -> Record:
    """Return the record of a key.

    Raises:
        KeyError: for an unknown kind of key.
        msgspec.ValidationError: for bytes that are not such a record.
    """
    decoded: Record = _decoders[kind_of(key)].decode(raw)
    return decoded


def dependency_id(dependency: Dependency) -> str:
    """Return the identity of a dependency, as it stands in its key and in edits."""
    if dependency.gate is Gate.DATA:
        name = dependency.input or ""
    elif dependency.condition is not None:
        name = f"{dependency.gate}:{dependency.condition.output}"
    else:
        name = str(dependency.gate)
    return f"{dependency.source}>{dependency.target}:{name}"
