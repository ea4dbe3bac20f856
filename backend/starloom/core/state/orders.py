"""Orders of the core to the edge, which leave after their events are committed.

`after` says how safe the events must be first: `commit` (in Redis) or `durable` (in SQL). Orders are kept in the
commit's outbox and sent again after a crash, except `ArmTimer` and `Answer`: timers are computed from state, and the
asker is gone.
"""

from __future__ import annotations

from typing import Any

import msgspec

from starloom_protocol.records.entities import Fault, FileOut
from starloom_protocol.vocabulary import Repeatability, Resume
from starloom_protocol.wire.frames import LeaseRef

COMMIT = "commit"
DURABLE = "durable"


class Order(msgspec.Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True, tag_field="k"):
    after: str = COMMIT


class InputSource(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The source of one part of an input: the attempt of a task, or a person's answer or mark (`text`)."""

    attempt: int = 0
    output: str = ""
    task: str = ""
    text: str | None = None


class InputPlan(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    flatten: bool = False
    many: bool = False
    name: str
    sources: list[InputSource] = []


class SendDispatch(Order, frozen=True, kw_only=True, tag="dispatch"):
    """Assemble and send a dispatch: values are read from the shard by reference just before sending.

    `args` may still hold `{"each": pointer}` (resolved with `item`) and `{"secret": name}` nodes. Only the secrets in
    `secrets` are given, by the pump when it sends: a value is never part of an order.
    """

    args: str
    at: LeaseRef
    attempt_of_max: int
    device: str
    fence_after_ms: int
    files_out: list[FileOut] = []
    inputs: list[InputPlan] = []
    item: str | None = None
    patience_most_ms: int = 0
    repeatability: Repeatability
    secrets: list[str] = []
    start_to_close_s: int
    tool: str
    wants: list[str] = []


class SendCancel(Order, frozen=True, kw_only=True, tag="cancel"):
    at: LeaseRef
    device: str
    reason: str


class SendFetch(Order, frozen=True, kw_only=True, tag="fetch"):
    """Ask a device for facts of an attempt that it finished."""

    at: LeaseRef
    device: str
    wants: list[str]


class SendResume(Order, frozen=True, kw_only=True, tag="resume"):
    """Restate one open attempt to its device, which answers with its state; `action` as in a resume plan."""

    action: Resume
    at: LeaseRef
    device: str


class SendDrain(Order, frozen=True, kw_only=True, tag="drain"):
    """Tell a device that it gets no new work, or gets work again."""

    device: str
    draining: bool
    reason: str


class SendQuery(Order, frozen=True, kw_only=True, tag="query"):
    """Ask a device's ledger for the state of attempts."""

    attempts: list[LeaseRef]
    device: str


class SendAnswer(Order, frozen=True, kw_only=True, tag="answer"):
    """Give a device a person's answer to its question; `action` names the question asked."""

    action: str
    allow: bool
    ask: str
    by: str
    device: str
    reason: str = ""


class SendHint(Order, frozen=True, kw_only=True, tag="hint"):
    """Give a person's words to the agent that carries out an attempt; `number` tells two hints apart."""

    at: LeaseRef
    by: str
    device: str
    number: int
    text: str


class SendOver(Order, frozen=True, kw_only=True, tag="over"):
    """Tell a device that a constellation has ended, so that it ends what it keeps for it."""

    constellation: str
    device: str


class SendName(Order, frozen=True, kw_only=True, tag="name"):
    """Tell a connected device its new name."""

    device: str
    name: str


class CloseDevice(Order, frozen=True, kw_only=True, tag="close_device"):
    """Cut the device's open connection (revoked, or taken over by a newer one when `session` is given)."""

    code: str
    device: str
    reason: str
    session: int = 0


class CloseToken(Order, frozen=True, kw_only=True, tag="close_token"):
    """Cut every socket that was opened with this token."""

    token: str


class StartJob(Order, frozen=True, kw_only=True, tag="job"):
    constellation: str
    job: str
    kind: str


class ArmTimer(Order, frozen=True, kw_only=True, tag="timer"):
    attempt: int = 0
    constellation: str
    due_ms: int
    entity: str
    kind: str
    round: int = 0


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """The only reply to an input; with `faults` it was refused and changed nothing."""

    after: str = COMMIT
    faults: list[Fault] = []
    input_id: str
    value: Any = None


OutboxOrder = (
    SendAnswer
    | SendHint
    | SendOver
    | SendDispatch
    | SendCancel
    | SendFetch
    | SendResume
    | SendDrain
    | SendName
    | SendQuery
    | CloseDevice
    | CloseToken
    | StartJob
)
AnyOrder = OutboxOrder | ArmTimer
