"""What reaches the hub from devices, and what people decide about one. `by` is the device of the connection."""

from __future__ import annotations

from starloom.core.input_record import Input
from starloom_protocol.ask_records import OwnerAsk
from starloom_protocol.entities import Offer
from starloom_protocol.frames import FactsFrame, LeaseRef, Receipt, ResultFrame, Started
from starloom_protocol.vocabulary import Profile


class DeviceConnected(Input, frozen=True, kw_only=True, tag="device_connected"):
    """A device proved its key on a new connection; answered with session number and resume plan."""

    device: str
    instance: str
    ledger: str
    version: str


class DeviceDisconnected(Input, frozen=True, kw_only=True, tag="device_disconnected"):
    """The connection of a session is gone. `hub_ended`: with the hub that held it, so the device is not at fault."""

    device: str
    hub_ended: bool = False
    reason: str
    session: int


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
    """All that a device asks its owner now, and whose answer its policy takes."""

    answers: str
    device: str
    open: list[OwnerAsk] = []
    session: int


class OwnerAskAnswered(Input, frozen=True, kw_only=True, tag="ask_answered"):
    """A person here answers a question of a device; `action` is what they saw."""

    action: str
    allow: bool
    ask: str
    device: str
    reason: str = ""


class StartedReported(Input, frozen=True, kw_only=True, tag="started"):
    device: str
    frame: Started


class ResultReported(Input, frozen=True, kw_only=True, tag="result"):
    """`sender` is the device that the connection proved, whatever the frame says."""

    device: str
    frame: ResultFrame


class ReceiptReported(Input, frozen=True, kw_only=True, tag="receipt"):
    device: str
    frame: Receipt


class LedgerReported(Input, frozen=True, kw_only=True, tag="ledger"):
    """What a device's ledger says of one attempt: unknown, accepted, started, finished, or unasked begun."""

    at: LeaseRef
    device: str
    state: str


class FactsReported(Input, frozen=True, kw_only=True, tag="facts"):
    """A device answers pointers that were asked of an attempt after its end."""

    device: str
    frame: FactsFrame


class DeviceControlled(Input, frozen=True, kw_only=True, tag="device_control"):
    """`action`: rename drain resume revoke label seen.

    `deadline_s` of a drain: when what may be repeated is moved to other devices; 0 is at once, -1 never.
    """

    action: str
    deadline_s: int = -1
    device: str
    reason: str = ""
    value: str = ""
