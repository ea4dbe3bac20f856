"""Inputs that go back in a history, and refusals that are to stand in it; part of `inputs.AnyInput`."""

from __future__ import annotations

import msgspec

from starloom.core.input_record import CALLER, Input


class ForkRequested(Input, frozen=True, kw_only=True, tag="fork"):
    """A new constellation from the state of `origin` after its event `seq` (`records`, by key), at `version`.

    With `task` that task and what follows it begins anew. `args` are whole arguments of tasks, as canonical text;
    `confirm` names work that a person lets run again.
    """

    approves: bool = True
    args: dict[str, str] = {}
    caller: str = msgspec.field(default="", name=CALLER)
    confirm: list[str] = []
    constellation: str
    idempotency: tuple[str, str] | None = None
    name: str = ""
    origin: str
    reason: str = ""
    records: dict[str, msgspec.Raw]
    seq: int
    task: str | None = None
    version: int


class UndoRequested(Input, frozen=True, kw_only=True, tag="undo"):
    """What these finished tasks have done is to be taken back, or that of all which declare how."""

    constellation: str
    reason: str = ""
    tasks: list[str] = []


class HistoryRestored(Input, frozen=True, kw_only=True, tag="history_restored"):
    """The hub starts for the first time on a history that was put back from a backup made at `made_ms`."""

    made_ms: int


class RefusalNoted(Input, frozen=True, kw_only=True, tag="refusal"):
    """Somebody was refused at a door (`api sign_in connect join`), `times` in a row; `by` whom, if that is known."""

    address: str = ""
    code: str
    door: str
    reason: str
    times: int = 1
