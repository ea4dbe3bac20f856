"""The frames of AIP, one frozen class each. `session` says which may come when, `version` since which version.

On the wire a message is `{"n": number, "f": [frames]}`: numbered within a connection, one or more frames each.
Reports carry the agent's outbox number; orders are idempotent by (incarnation, task, attempt). Strict on both
sides: an unknown field or tag is a protocol error, a field that the peer's version cannot know is left out.
`at` of a lease names it: constellation, task, attempt, incarnation. `ProtocolFault` reports an error of the peer, as a
stable code and a sentence; `session` decides when a connection closes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import Annotated, Final

import msgspec

from starloom_protocol.bounds import (
    ASKS_MOST,
    ENTRIES_MOST,
    FACTS_MOST,
    LEASES_MOST,
    LEDGER_MOST,
    AskedText,
    Counter,
    Line,
    Long,
    Output,
    TaskName,
    Word,
)
from starloom_protocol.records.approvals import OwnerAsk
from starloom_protocol.records.entities import FileOut, Offer
from starloom_protocol.stream.feed import StreamName
from starloom_protocol.values import canonical
from starloom_protocol.vocabulary import CODES, Code, EffectSeen, Outcome, Profile, Resume


class Part(msgspec.Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """The base of every part of a frame: frozen and strict."""


class Frame(Part, frozen=True, kw_only=True, tag_field="t"):
    """The base of every frame."""


class LeaseRef(Part, frozen=True, kw_only=True):
    """Names one attempt; (incarnation, attempt) is its fence."""

    attempt: Counter
    constellation: StreamName
    incarnation: Counter
    task: TaskName


class Hello(Frame, frozen=True, kw_only=True, tag="hello"):
    """First frame of an agent. `next_report` is the outbox number its next report will carry.

    `key_share` is an X25519 public key made for this connection (base64): the agent's nonce. Since version 3.
    """

    device: str
    instance: str
    key: str
    key_share: str = ""
    ledger: str
    next_report: int
    version: str
    versions: list[int]


class Challenge(Frame, frozen=True, kw_only=True, tag="challenge"):
    """`hub` is the hub's key id. Since version 3 it has the hub's key share and its signature of `channel.hub_proof`.

    The agent signs `channel.device_proof`.
    """

    hub: str
    key_share: str = ""
    nonce: str
    signature: str = ""
    version: int


class Prove(Frame, frozen=True, kw_only=True, tag="prove"):
    """The signature of the agent over the handshake, by the key that its `hello` named."""

    signature: str


class Welcome(Frame, frozen=True, kw_only=True, tag="welcome"):
    """The connection is open from here; `received` is the highest report number that the hub has durably.

    `http_token` names this session in requests for artifacts; since version 3 it opens nothing without the proof that
    `channel.request_proof` makes.
    """

    alive_interval_s: float
    device_name: str
    http_token: str
    hub_time_ms: int
    lease_grace_s: float
    lease_ttl_s: float
    received: int
    session: int


class Refuse(Frame, frozen=True, kw_only=True, tag="refuse"):
    """The connection is refused; `retry_after_s` 0 means that trying again will not help."""

    code: Code
    fix: str
    reason: str
    retry_after_s: float = 0


class OfferFrame(Frame, frozen=True, kw_only=True, tag="offer"):
    """The present offer of this device with its profile; it replaces the offer before it."""

    offer: Offer
    os: Line
    policy_digest: Word
    profile: Profile


class Alive(Frame, frozen=True, kw_only=True, tag="alive"):
    """The attempts this agent is running; the hub renews those that it still grants."""

    running: Annotated[list[LeaseRef], msgspec.Meta(max_length=LEASES_MOST)]
    sent_ms: int


class Started(Frame, frozen=True, kw_only=True, tag="started"):
    """An attempt has begun on this device; a report."""

    at: LeaseRef
    report: int


class ResultFrame(Frame, frozen=True, kw_only=True, tag="result"):
    """How an attempt ended. `value` is canonical text up to 16 KiB, else `artifact` names its bytes.

    `facts` answer the pointers of the dispatch's `wants` (canonical text); a pointer that found nothing is left
    out. `tail` is the last 4 KiB of output.
    """

    artifact: Word | None = None
    at: LeaseRef
    bytes: Counter = 0
    code: Code | None = None
    detail: Long = ""
    effect: EffectSeen = EffectSeen.NONE
    facts: Annotated[dict[Long, Output], msgspec.Meta(max_length=FACTS_MOST)] = {}
    facts_too_big: Annotated[dict[Long, Counter], msgspec.Meta(max_length=FACTS_MOST)] = {}
    outcome: Outcome
    report: int
    tail: Long = ""
    value: Output | None = None  # `codec` counts its bytes
    verified: bool = False


class Receipt(Frame, frozen=True, kw_only=True, tag="receipt"):
    """A cancel is done: the process group has ended (or the attempt is not known here)."""

    at: LeaseRef
    effect: EffectSeen = EffectSeen.NONE
    known: bool = True
    report: int


class LogChunk(Frame, frozen=True, kw_only=True, tag="log"):
    """Output of an attempt; `offset` counts bytes from its beginning, so that loss is visible."""

    at: LeaseRef
    offset: Counter
    stream: Word
    text: Output


class Progress(Frame, frozen=True, kw_only=True, tag="progress"):
    """`fraction_1000` is thousandths, -1 if unknown."""

    at: LeaseRef
    done_bytes: int = 0
    fraction_1000: int = -1
    note: Output = ""


DISK_FULL: Final = "full"
DISK_OK: Final = "ok"


class ConditionFrame(Frame, frozen=True, kw_only=True, tag="condition"):
    """Facts by their `DeviceFact`, all texts; the latest wins. A session begins with a `disk` that is `ok`."""

    facts: Annotated[dict[Word, Line], msgspec.Meta(max_length=ENTRIES_MOST)]


VITALS_EVERY_S: Final = 20.0
"""The interval of an agent's figures: shorter than that of the hub's points, so that a late frame misses none."""


class VitalsFrame(Frame, frozen=True, kw_only=True, tag="vitals"):
    """The vital figures of this device, on which no decision depends; -1: unknown. Since version 3.

    `load_percent` is the load of the last minute in percent of all its processors, `disk_percent` and `memory_percent`
    are the used shares, `battery_percent` is the charge.
    """

    battery_percent: int = -1
    disk_percent: int = -1
    load_percent: int = -1
    memory_percent: int = -1


class AsksFrame(Frame, frozen=True, kw_only=True, tag="asks"):
    """The open questions of this device to its owner; the latest frame wins. Since version 2.

    `answers`: `hub` if its policy takes the answer of a person there, `here` if only one typed on the device counts.
    """

    answers: Word
    open: Annotated[list[OwnerAsk], msgspec.Meta(max_length=ASKS_MOST)] = []


BEGUN: Final = "begun"


class LedgerEntry(Part, frozen=True, kw_only=True):
    """The state of one attempt in an agent's ledger: unknown, accepted, started, finished.

    `begun` is sent without a query: work that must not be repeated began here. A hub that lacks this attempt has an
    older history; a hub that does not know the word ignores it.
    """

    at: LeaseRef
    state: Word


class LedgerReport(Frame, frozen=True, kw_only=True, tag="ledger"):
    """The answer to `query`: an entry for each attempt asked, in the same order; and after each welcome, `begun`.

    `calls` has the `call_digest` of each entry, in the same order; an empty text is of a call that nobody noted. Since
    version 4.
    """

    calls: Annotated[list[Word], msgspec.Meta(max_length=LEDGER_MOST)] = []
    entries: Annotated[list[LedgerEntry], msgspec.Meta(max_length=LEDGER_MOST)]


class FactsFrame(Frame, frozen=True, kw_only=True, tag="facts"):
    """The answer to `fetch_facts`; a pointer that found nothing is in neither map.

    `kept` False: this device does not have the value any more (or it is an artifact), so no pointer was followed.
    """

    at: LeaseRef
    facts: Annotated[dict[Long, Output], msgspec.Meta(max_length=FACTS_MOST)] = {}
    facts_too_big: Annotated[dict[Long, Counter], msgspec.Meta(max_length=FACTS_MOST)] = {}
    kept: bool = True


class Bye(Frame, frozen=True, kw_only=True, tag="bye"):
    """The agent ends the connection on purpose, for this reason."""

    reason: Line


class InputPart(Part, frozen=True, kw_only=True):
    """One source of an input: canonical text, or an artifact holding it; `output` points into it."""

    artifact: str | None = None
    output: str = ""
    value: str | None = None


class DispatchInput(Part, frozen=True, kw_only=True):
    """`many` gives the list of all parts in order, `flatten` joins the lists; else the single part, or null."""

    flatten: bool = False
    many: bool = False
    name: str
    parts: list[InputPart] = []


class Dispatch(Frame, frozen=True, kw_only=True, tag="dispatch"):
    """Run one tool. `args` is canonical text, values resolved; `secrets` are scrubbed from everything that leaves.

    `wants` are the pointers whose facts the result must carry. `fence_after_s` 0 means no fence: `wait` work. Since
    version 4 a fence comes later by a tenth of the time that the attempt has run, `patience_most_s` at most.
    `asked_by` is the author of the constellation and `asked_words` the beginning of its request, for the person at a
    browser tab to read: they are text, and give no right. Since version 4.
    """

    args: str
    asked_by: AskedText = ""
    asked_words: AskedText = ""
    at: LeaseRef
    attempt_of_max: int = 0
    fence_after_s: float
    files_out: list[FileOut] = []
    inputs: list[DispatchInput] = []
    patience_most_s: float = 0
    repeatability: str
    secrets: dict[str, str] = {}
    start_to_close_s: float
    tool: str
    wants: list[str] = []


def call_digest(tool: str, args: str, inputs: Sequence[DispatchInput], handles: Iterable[str] = ()) -> str:
    """Return the hash by which both sides tell two calls of one name apart: tool, arguments and what they read.

    A value counts by its own hash, so that one that leaves as an artifact is the same; a secret counts by its name,
    whatever its handle in this dispatch.
    """
    for handle in handles:
        args = args.replace(canonical(handle), canonical(handle.rpartition("#")[0]))
    read = []
    for one in inputs:
        parts = [[part.artifact or _hash(part.value or ""), part.output] for part in one.parts]
        read.append([one.name, one.many, one.flatten, parts])
    return _hash(canonical([tool, args, read]))


def _hash(text: str) -> str:
    return sha256(text.encode()).hexdigest()


class Cancel(Frame, frozen=True, kw_only=True, tag="cancel"):
    """Stop an attempt; a `receipt` answers when its process group has ended."""

    at: LeaseRef
    reason: str


class Renew(Frame, frozen=True, kw_only=True, tag="renew"):
    """Answers one `alive`: the leases that go on, and those that this agent no longer has.

    An idle agent needs to send `alive` only every `idle_s`, since version 3; 0: as in the welcome.
    """

    gone: list[LeaseRef] = []
    granted: list[LeaseRef]
    idle_s: float = 0
    sent_ms: int


class Ack(Frame, frozen=True, kw_only=True, tag="ack"):
    """`received` has reached the hub, `durable` is in its SQL log: forget results up to there."""

    durable: int
    received: int


class PlanEntry(Part, frozen=True, kw_only=True):
    """The action for one open attempt."""

    action: Resume
    at: LeaseRef


class ResumePlan(Frame, frozen=True, kw_only=True, tag="resume_plan"):
    """Restates every attempt that the hub holds open for this device, after each `welcome`."""

    entries: list[PlanEntry]


class DrainFrame(Frame, frozen=True, kw_only=True, tag="drain"):
    """Whether this device drains, and why: the hub gives it no new work meanwhile."""

    draining: bool
    reason: str


class Query(Frame, frozen=True, kw_only=True, tag="query"):
    """Ask for the state of attempts in the ledger; a `ledger` frame answers."""

    attempts: list[LeaseRef]


class FetchFacts(Frame, frozen=True, kw_only=True, tag="fetch_facts"):
    """Pointers asked of a finished attempt after the event; answered by a `facts` frame."""

    at: LeaseRef
    wants: list[str]


class OwnerAnswer(Frame, frozen=True, kw_only=True, tag="answer"):
    """A person's answer to a question of the device, bound to that one question. Since version 2.

    Idempotent by `action`: sent again after each `asks` that still has it. The device's policy decides whether it
    counts.
    """

    action: str
    allow: bool
    ask: str
    by: str
    reason: str = ""


class HintFrame(Frame, frozen=True, kw_only=True, tag="hint"):
    """A person's words for the agent that carries out a call. Since version 3.

    `number` counts the hints of an attempt, so that one that is sent again is given once.
    """

    at: LeaseRef
    by: str
    number: int
    text: str


class OverFrame(Frame, frozen=True, kw_only=True, tag="over"):
    """A constellation has ended: the device ends what it keeps for it. Since version 3."""

    constellation: str


class NameFrame(Frame, frozen=True, kw_only=True, tag="name"):
    """The name of this device from now on; the welcome has the first one. Since version 4."""

    name: str


class UpdateAvailable(Frame, frozen=True, kw_only=True, tag="update_available"):
    """The hub hands out a newer agent. Only the owner of the device installs it."""

    version: str


class Goaway(Frame, frozen=True, kw_only=True, tag="goaway"):
    """The hub ends this connection; the agent connects again after `retry_after_s`, and its attempts go on."""

    reason: str
    retry_after_s: float


class Ping(Frame, frozen=True, kw_only=True, tag="ping"):
    """Ask the other side for a `pong` with the same `at_ms`."""

    at_ms: int


class Pong(Frame, frozen=True, kw_only=True, tag="pong"):
    """The answer to a `ping`."""

    at_ms: int


class ErrorFrame(Frame, frozen=True, kw_only=True, tag="error"):
    """The peer broke the protocol; the connection closes after it."""

    code: Code
    reason: Line


AgentFrame = (
    Hello
    | Prove
    | OfferFrame
    | Alive
    | Started
    | ResultFrame
    | Receipt
    | LogChunk
    | Progress
    | ConditionFrame
    | VitalsFrame
    | AsksFrame
    | LedgerReport
    | FactsFrame
    | Bye
    | Ping
    | Pong
    | ErrorFrame
)
HubFrame = (
    Challenge
    | Welcome
    | Refuse
    | Dispatch
    | Cancel
    | Renew
    | Ack
    | ResumePlan
    | DrainFrame
    | Query
    | FetchFacts
    | OwnerAnswer
    | HintFrame
    | OverFrame
    | NameFrame
    | UpdateAvailable
    | Goaway
    | Ping
    | Pong
    | ErrorFrame
)
ReportFrame = Started | ResultFrame | Receipt


class AgentMessage(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Message `n` of an agent on one connection."""

    f: list[AgentFrame]
    n: int


class HubMessage(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Message `n` of the hub on one connection."""

    f: list[HubFrame]
    n: int


class ProtocolFault(Exception):
    """Bytes or frames that this side cannot accept or send; the connection ends with it.

    `reason` is one sentence for people; `fix` is the way out, by default the code's own hint.
    """

    def __init__(self, code: Code, reason: str, fix: str | None = None) -> None:
        super().__init__(f"{code}: {reason}")
        self.code = code
        self.reason = reason
        self.fix = CODES[code].hint if fix is None else fix
