"""Inputs of the hub: requests, reports, timers. State changes only when one of these is stepped.

Time, ids and randomness arrive inside an input: `at_ms` is stamped by the engine when it is taken (never read from a
peer), `id` names it, `by` is the author (the connection's identity and nothing else; of a report that of its device),
`scope` is the role under which it was accepted.
"""

from __future__ import annotations

from typing import Final

import msgspec

from starloom_protocol.records.approvals import OwnerAsk
from starloom_protocol.records.edits import EditOperation, LoweredPlan
from starloom_protocol.records.entities import Budget, Cite, Enrollment, Fault, Offer, Principal, Read, SignIn, Token
from starloom_protocol.records.lab import FaultKind, FaultTarget
from starloom_protocol.records.models import ModelBudget, ModelCall
from starloom_protocol.records.schedules import Schedule
from starloom_protocol.vocabulary import Code, Priority, Profile, Role, Sharing
from starloom_protocol.wire.frames import FactsFrame, LeaseRef, Receipt, ResultFrame, Started

CALLER: Final = "principal"
"""The name of `caller` in kept inputs."""


class Input(msgspec.Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True, tag_field="k"):
    """`roll` is a random number 0..2^32-1 for jitter; the engine fills `at_ms` and `roll`."""

    at_ms: int = 0
    by: str
    id: str
    roll: int = 0
    scope: str = ""


class RequestReceived(Input, frozen=True, kw_only=True, tag="request"):
    """A new constellation. With `plan` it is lowered already; else `request` or `recipe` is planned by a job.

    `approves` here and in other inputs: the author may answer approvals, and so waive or exceed one. `controls`: the
    author may control devices. `caller` is the token or session to which the key of `idempotency` belongs.
    """

    approves: bool = True
    budget: Budget | None = None
    caller: str = msgspec.field(default="", name=CALLER)
    constellation: str
    controls: bool = False
    deadline_s: int = 0
    hold: bool = False
    idempotency: tuple[str, str] | None = None
    labels: dict[str, str] = {}
    name: str = ""
    params: str = "{}"
    plan: LoweredPlan | None = None
    plan_hash: str | None = None
    priority: Priority | None = None
    recipe: str | None = None
    request: str = ""
    sharing: Sharing | None = None


class JobClaimed(Input, frozen=True, kw_only=True, tag="job_claimed"):
    """A worker claims a job or renews its claim; answered by whether it may continue.

    `takes_ms` is the longest time for which the job may wait for its model: the limit of a call for each try. One that
    `renews` is refused once the claim is over: its worker has not seen what became of the job since. `tiers` are those
    of a goal by the worker's settings, the smallest first, where each has an endpoint of its own.
    """

    constellation: str
    job: str
    renews: bool = False
    takes_ms: int = 0
    tiers: list[str] = []
    ttl_ms: int
    worker: str


class PlanProposed(Input, frozen=True, kw_only=True, tag="plan_proposed"):
    """The planner's plan for version 0, a question that must be answered first, or the reason why there is neither.

    `by_model`: a model wrote the plan, which then has fewer rights than a person's. `choices` are answers that the
    question offers, `usual` the one of them that the planner would take. `words` with `cites` are the answer where
    looks have shown all of it. `withdrawn`: the person's answer to a question takes the request back.
    """

    by_model: bool = False
    choices: list[str] = []
    cites: list[Cite] = []
    constellation: str
    fault: Fault | None = None
    job: str
    plan: LoweredPlan | None = None
    question: str = ""
    struck: list[str] = []
    usual: str = ""
    withdrawn: bool = False
    words: str = ""
    worker: str


class LookCall(msgspec.Struct, frozen=True, kw_only=True):
    """One call by which a model looks; `device` is a name or an id, `args` canonical text."""

    args: str = "{}"
    device: str
    tool: str


class FoundPart(msgspec.Struct, frozen=True, kw_only=True):
    """A finding that a goal would publish: the part at `pointer` of what its own call `task` gave, as it stands."""

    pointer: str = ""
    task: str
    topic: str


class EachOf(msgspec.Struct, frozen=True, kw_only=True):
    """The list over which a step of a goal makes its one call: at `pointer` in what `task` gave."""

    pointer: str = ""
    task: str


class LooksProposed(Input, frozen=True, kw_only=True, tag="looks_proposed"):
    """A planner's or reviewer's wish to look first: calls that only read, and parts of results that it has already."""

    calls: list[LookCall] = []
    constellation: str
    job: str
    reads: list[Read] = []
    shown: list[str] = []
    why: str = ""
    worker: str


class ModelUsed(Input, frozen=True, kw_only=True, tag="model_used"):
    """A worker calls a model (`calls`), or reports the cost: `micros` are millionths of a dollar.

    `call` is the record of the call that is reported, and `number` the one that the answer before the call gave it; 0
    is the newest of the job. A call that is to be made within `budget` may cost `tokens_most` and `micros_most`, and
    takes at most `takes_ms`.
    """

    budget: ModelBudget | None = None
    call: ModelCall | None = None
    calls: int = 0
    constellation: str
    job: str
    micros: int = 0
    micros_most: int = 0
    number: int = 0
    takes_ms: int = 0
    tokens: int = 0
    tokens_most: int = 0
    worker: str


class AnswerWorded(Input, frozen=True, kw_only=True, tag="answer_worded"):
    """The answer of a model in words with its evidence, or the `reason` why there is none.

    `struck` are its sentences that the worker took out, because no cited value holds a figure or name in them.
    """

    cites: list[Cite] = []
    constellation: str
    job: str
    reason: str = ""
    struck: list[str] = []
    words: str = ""
    worker: str


class GoalProposed(Input, frozen=True, kw_only=True, tag="goal_proposed"):
    """The turn of a model in a goal: `kind` is step, answer, hand_over or give_up, or nothing, for the reason `fault`.

    `value` is the canonical text of an answer; `note` says why, in words of the model. `to` is next_tier or person.
    A step or an answer may come with `finds`. With `each_of`, the one call of a step is made for each entry of a list.
    `turns` is how many turns, hints apart, the model had seen; -1 where it saw none, as no model was asked.
    """

    calls: list[LookCall] = []
    cites: list[Cite] = []
    constellation: str
    each_of: EachOf | None = None
    fault: Fault | None = None
    finds: list[FoundPart] = []
    job: str
    kind: str
    note: str = ""
    to: str = ""
    turns: int = -1
    value: str | None = None
    worker: str


class VerdictGiven(Input, frozen=True, kw_only=True, tag="verdict"):
    """The verdict of a judge on a result: `holds` is yes, no or unclear, or empty where no model gave one."""

    because: str = ""
    cites: list[Cite] = []
    constellation: str
    holds: str = ""
    job: str
    worker: str


class ReviewProposed(Input, frozen=True, kw_only=True, tag="review_proposed"):
    """The reviewer's edit of the plan; without operations, no change.

    `wish` is a text for a person: the change that the reviewer would make if it were allowed to. `ask`: an edit that is
    wider than the approved plan is put to a person instead of being refused. `give_up`: no edit reaches the aim, for
    this reason.
    """

    ask: bool = False
    base_version: int = 0
    constellation: str
    give_up: bool = False
    job: str
    operations: list[EditOperation] = []
    reason: str = ""
    wish: str = ""
    worker: str


class EditProposed(Input, frozen=True, kw_only=True, tag="edit"):
    """A batch of operations. The tasks of `retry` get a new round first; `confirm` names work that may run again."""

    approves: bool = True
    base_version: int
    caller: str = msgspec.field(default="", name=CALLER)
    confirm: list[str] = []
    constellation: str
    idempotency: tuple[str, str] | None = None
    operations: list[EditOperation]
    reason: str = ""
    retry: list[str] = []
    trigger: str = "edit"


class DraftOpened(Input, frozen=True, kw_only=True, tag="draft"):
    """The author is editing these tasks; repeated within `ttl_s`, the draft continues."""

    approves: bool = True
    constellation: str
    tasks: list[str]
    ttl_s: int


class DraftClosed(Input, frozen=True, kw_only=True, tag="draft_closed"):
    constellation: str


class ControlRequested(Input, frozen=True, kw_only=True, tag="control"):
    """`action`: pause resume cancel | (task) retry retry_from skip mark cancel hold release | (goal) hint.

    `value` and `state` belong to `mark`; `confirm` names work that a person lets run again.
    """

    action: str
    approves: bool = True
    confirm: list[str] = []
    constellation: str
    reason: str = ""
    state: str = "succeeded"
    task: str | None = None
    value: str | None = None


class PartLeftOut(Input, frozen=True, kw_only=True, tag="left_out"):
    """The hub leaves an optional task or group out: the chance to end in time, in hundredths, has become too small."""

    chance: int
    constellation: str
    task: str


class StopAllRequested(Input, frozen=True, kw_only=True, tag="stop_all"):
    """Cancel every live constellation; each device that has work confirms."""

    reason: str = ""


class QuestionAnswered(Input, frozen=True, kw_only=True, tag="answer"):
    """`value` is a choice's value; for approvals allow, deny or always.

    `anyway` approves a plan though devices that it names are gone.
    """

    anyway: bool = False
    constellation: str
    question: str
    reason: str = ""
    value: str


class StandingRevoked(Input, frozen=True, kw_only=True, tag="standing_revoked"):
    """A person revokes a standing allowance."""

    reason: str = ""
    standing: str


# Devices, and decisions of people about them; `by` is the device of the connection.


class EnrollmentOpened(Input, frozen=True, kw_only=True, tag="enrollment_opened"):
    enrollment: Enrollment


class EnrollmentAsked(Input, frozen=True, kw_only=True, tag="enrollment_asked"):
    """A device redeems a code with its key; wrong codes never reach the core."""

    device: str
    enrollment: str
    key: str
    labels: list[str] = []
    name: str
    os: str
    profile: Profile
    words: str


class EnrollmentDecided(Input, frozen=True, kw_only=True, tag="enrollment_decided"):
    allow: bool
    enrollment: str
    reason: str = ""


class DeviceConnected(Input, frozen=True, kw_only=True, tag="device_connected"):
    """A device proved its key on a new connection; answered with session number and resume plan."""

    device: str
    instance: str
    ledger: str
    version: str


class DeviceDisconnected(Input, frozen=True, kw_only=True, tag="device_disconnected"):
    """The connection of a session is gone. `hub_ended`: its hub has ended, so the device is not at fault."""

    device: str
    hub_ended: bool = False
    reason: str
    session: int


class DeviceRefused(Input, frozen=True, kw_only=True, tag="device_refused"):
    """An agent that named a device was refused, because it and the hub share no version of the protocol."""

    code: Code
    device: str
    reason: str


class OfferReceived(Input, frozen=True, kw_only=True, tag="offer"):
    device: str
    offer: Offer
    os: str
    profile: Profile
    session: int


class ConditionReceived(Input, frozen=True, kw_only=True, tag="condition"):
    device: str
    facts: dict[str, str]
    session: int


class AsksReceived(Input, frozen=True, kw_only=True, tag="asks"):
    """The open questions of a device to its owner, and whose answers its policy accepts."""

    answers: str
    device: str
    open: list[OwnerAsk] = []
    session: int


class OwnerAskAnswered(Input, frozen=True, kw_only=True, tag="ask_answered"):
    """A person answers a question of a device on the hub; `action` names the question that they saw."""

    action: str
    allow: bool
    ask: str
    device: str
    reason: str = ""


class StartedReported(Input, frozen=True, kw_only=True, tag="started"):
    device: str
    frame: Started


class ResultReported(Input, frozen=True, kw_only=True, tag="result"):
    """`device` is the one that the connection proved, whatever the frame says."""

    device: str
    frame: ResultFrame


class ReceiptReported(Input, frozen=True, kw_only=True, tag="receipt"):
    device: str
    frame: Receipt


class LedgerReported(Input, frozen=True, kw_only=True, tag="ledger"):
    """The state of one attempt in a device's ledger: unknown, accepted, started, finished, or, unasked, begun.

    `call` is the digest of the call that the ledger has under this name; empty where the device did not say it.
    """

    at: LeaseRef
    call: str = ""
    device: str
    state: str


class ProgressReported(Input, frozen=True, kw_only=True, tag="progress"):
    """The newest value that the program of an attempt reports, as canonical text, and the reports since the last one.

    Read from the program's output, thinned, and only for tasks whose plan has a rule on it.
    """

    at: LeaseRef
    device: str
    lines: int
    value: str


class FactsReported(Input, frozen=True, kw_only=True, tag="facts"):
    """A device answers the pointers into an ended attempt's result for which it was asked."""

    device: str
    frame: FactsFrame


class DeviceControlled(Input, frozen=True, kw_only=True, tag="device_control"):
    """`action`: rename drain resume reserve share revoke forget leave label seen.

    `deadline_s` of a drain: when repeatable work is moved to other devices; 0 is at once, -1 never. `labels` are set
    together with the new name of a `rename`.
    """

    action: str
    deadline_s: int = -1
    device: str
    labels: list[str] | None = None
    reason: str = ""
    value: str = ""


class SecretSet(Input, frozen=True, kw_only=True, tag="secret_set"):
    """A new value of a secret; its ciphertext, not included, is stored as `cipher` and bound to `version`.

    `base_version` is the version that its writer saw, 0 for none, absent for any.
    """

    base_version: int | None = None
    cipher: str
    devices: list[str] = []
    name: str
    recipes: list[str] = []
    tools: list[str] = []
    version: int


class SecretRemoved(Input, frozen=True, kw_only=True, tag="secret_removed"):
    name: str


class RecipeSaved(Input, frozen=True, kw_only=True, tag="recipe_saved"):
    """A recipe whose text was checked at the door; `base_version` is the version that its writer saw, 0 for none.

    `secrets` are those that it names, `unapproved` tells that its policy sets approval aside, `says` that it has
    sentences for its answer. `proposal` is the one that its writer keeps by it.
    """

    approves: bool = True
    base_version: int = 0
    name: str
    proposal: str = ""
    reason: str = ""
    says: bool = False
    secrets: list[str] = []
    text: str
    title: str
    unapproved: bool = False


class RecipeRemoved(Input, frozen=True, kw_only=True, tag="recipe_removed"):
    """`anyway` also removes a recipe that schedules run."""

    anyway: bool = False
    approves: bool = True
    name: str
    reason: str = ""


class RecipeSeen(Input, frozen=True, kw_only=True, tag="recipe_seen"):
    """A person has read that the hub went back a version of a recipe."""

    name: str


class RecipeProposalDismissed(Input, frozen=True, kw_only=True, tag="recipe_proposal_dismissed"):
    """A person does not want this plan as a recipe, now or later."""

    proposal: str


class ScheduleSaved(Input, frozen=True, kw_only=True, tag="schedule"):
    """A schedule, new or (`change`) in place of the one with its id; `plan` is what it would run today.

    Of `schedule` only the fields that a person chooses count. `keep_plan`: it runs this very plan instead of planning
    its words or recipe at each firing. `plan_hash` approves the plan of the preview.

    `given` names the fields that a change sets; without it all are set. `base` is the digest of the work that the
    change builds on; without it the change brings its own. `caller` has the key of `idempotency`, under which a new
    schedule is made once.
    """

    approves: bool = True
    base: str | None = None
    caller: str = msgspec.field(default="", name=CALLER)
    change: bool = False
    given: list[str] | None = None
    idempotency: tuple[str, str] | None = None
    keep_plan: bool = False
    plan: LoweredPlan
    plan_hash: str | None = None
    schedule: Schedule


class ScheduleControlled(Input, frozen=True, kw_only=True, tag="schedule_control"):
    """`action`: pause resume run seen remove. A person who resumes a schedule owns it from then on."""

    action: str
    approves: bool = True
    owner: str = ""
    reason: str = ""
    schedule: str
    token: str | None = None


class TimerFired(Input, frozen=True, kw_only=True, tag="timer"):
    """A timer computed from state; judged against state, so a stale one does nothing."""

    attempt: int = 0
    constellation: str
    entity: str
    kind: str
    round: int = 0


class LeaseExpired(Input, frozen=True, kw_only=True, tag="lease_expired"):
    """No `alive` named this attempt for ttl + grace: it is absent, not lost. `silent`: its device sent none at all."""

    at: LeaseRef
    silent: bool = False


class PrincipalAdded(Input, frozen=True, kw_only=True, tag="principal"):
    principal: Principal
    token: Token | None = None


class RoleGiven(Input, frozen=True, kw_only=True, tag="role_given"):
    """A principal is to have another role."""

    principal: str
    role: Role


class TokenAdded(Input, frozen=True, kw_only=True, tag="token"):
    """A new token; its text is not included, so a repeated request gets only the id of the token that it made."""

    caller: str = ""
    idempotency: tuple[str, str] | None = None
    token: Token


class TokenRevoked(Input, frozen=True, kw_only=True, tag="token_revoked"):
    token: str


class SignInOpened(Input, frozen=True, kw_only=True, tag="signin"):
    signin: SignIn


class SignInUsed(Input, frozen=True, kw_only=True, tag="signin_used"):
    """A sign-in link is exchanged for a session; answered by whether it was still valid."""

    signin: str
    token: Token


class FaultNoted(Input, frozen=True, kw_only=True, tag="fault"):
    """The lab injected a fault; it becomes an event in the constellation, so that a reader sees the cause."""

    constellation: str
    note: str


class LabFaultAsked(Input, frozen=True, kw_only=True, tag="lab_fault_asked"):
    """A person asks for a fault. `held`: a program of the lab runs the device now, `able`: it can inject this fault."""

    able: bool
    device: str
    fault: str
    for_ms: int
    held: bool
    kind: FaultKind
    size_ms: int
    target: FaultTarget


class LabFaultHealAsked(Input, frozen=True, kw_only=True, tag="lab_fault_heal_asked"):
    """A person asks to heal a fault before its time."""

    fault: str


class LabFaultBegan(Input, frozen=True, kw_only=True, tag="lab_fault_began"):
    """The lab injected a fault; `note` describes it."""

    fault: str
    note: str


class LabFaultEnded(Input, frozen=True, kw_only=True, tag="lab_fault_ended"):
    """The lab healed a fault, or `failed` to inject it, with the reason."""

    failed: bool
    fault: str
    note: str


# Going back in a history, and refusals at the doors.


class ForkRequested(Input, frozen=True, kw_only=True, tag="fork"):
    """A new constellation from the state of `origin` after its event `seq` (`records`, by key), at `version`.

    With `task`, that task and its dependents run again. `args` are whole arguments of tasks, as canonical text;
    `confirm` names work that a person allows to run again. `preview`: only the plan of what would run is wanted.
    """

    approves: bool = True
    args: dict[str, str] = {}
    caller: str = msgspec.field(default="", name=CALLER)
    confirm: list[str] = []
    constellation: str
    idempotency: tuple[str, str] | None = None
    name: str = ""
    origin: str
    preview: bool = False
    reason: str = ""
    records: dict[str, msgspec.Raw]
    seq: int
    task: str | None = None
    version: int


class UndoRequested(Input, frozen=True, kw_only=True, tag="undo"):
    """The effects of these finished tasks must be undone, or those of all that declare an undo.

    `preview`: only the answer is wanted.
    """

    approves: bool = True
    constellation: str
    preview: bool = False
    reason: str = ""
    tasks: list[str] = []


ENDED: Final = "it ended when a backup was restored"
"""The note of an event by which a right of a backup ends."""


class Receivers(msgspec.Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """Who may receive a secret: devices by id, recipes and tools; an empty list means any."""

    devices: list[str] = []
    recipes: list[str] = []
    tools: list[str] = []


class EndedRights(msgspec.Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """The rights of a backup that end with its restore, by id.

    `devices` has `left`, `revoked`, or `unknown` to the history until then; `tokens` has the time at which each was
    revoked, 0 if that is not known; `roles` has the new ones, which are lower. Devices in `reserved` take only work
    that names them, and `schedules` begin nothing more unasked. `secrets` has the receivers that are left, or null
    where nobody may receive one.
    """

    devices: dict[str, str] = {}
    enrollments: list[str] = []
    reserved: list[str] = []
    roles: dict[str, Role] = {}
    schedules: list[str] = []
    secrets: dict[str, Receivers | None] = {}
    signins: list[str] = []
    standing: list[str] = []
    tokens: dict[str, int] = {}


class HistoryRestored(Input, frozen=True, kw_only=True, tag="history_restored"):
    """The hub starts for the first time on a history restored from a backup made at `made_ms`.

    Without `ended`, which earlier versions did not know, all rights are those of the backup. `incarnation` is that
    of the restored history: one with a lower incarnation is another. 0: an earlier version did not note it.
    """

    ended: EndedRights | None = None
    incarnation: int = 0
    made_ms: int


class DateWentBack(Input, frozen=True, kw_only=True, tag="date_went_back"):
    """The hub was started at an earlier time than that of the last commit, which is `newest_ms`."""

    newest_ms: int


class RefusalNoted(Input, frozen=True, kw_only=True, tag="refusal"):
    """A caller was refused at a door (`api sign_in connect join`), `times` in a row; `by` names it, if known."""

    address: str = ""
    code: str
    door: str
    reason: str
    times: int = 1


AnyInput = (
    RequestReceived
    | JobClaimed
    | PlanProposed
    | LooksProposed
    | ReviewProposed
    | ModelUsed
    | AnswerWorded
    | GoalProposed
    | VerdictGiven
    | EditProposed
    | ControlRequested
    | PartLeftOut
    | StopAllRequested
    | ForkRequested
    | UndoRequested
    | DraftOpened
    | DraftClosed
    | QuestionAnswered
    | StandingRevoked
    | EnrollmentOpened
    | EnrollmentAsked
    | EnrollmentDecided
    | DeviceConnected
    | DeviceDisconnected
    | DeviceRefused
    | OfferReceived
    | ConditionReceived
    | AsksReceived
    | OwnerAskAnswered
    | StartedReported
    | ResultReported
    | ReceiptReported
    | LedgerReported
    | FactsReported
    | ProgressReported
    | DeviceControlled
    | SecretSet
    | SecretRemoved
    | RecipeSaved
    | RecipeRemoved
    | RecipeSeen
    | RecipeProposalDismissed
    | ScheduleSaved
    | ScheduleControlled
    | TimerFired
    | LeaseExpired
    | PrincipalAdded
    | RoleGiven
    | TokenAdded
    | TokenRevoked
    | SignInOpened
    | SignInUsed
    | RefusalNoted
    | HistoryRestored
    | DateWentBack
    | FaultNoted
    | LabFaultAsked
    | LabFaultHealAsked
    | LabFaultBegan
    | LabFaultEnded
)
