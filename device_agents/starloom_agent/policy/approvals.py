"""Questions to the owner of this device, and the answers typed here: one small file each in the agent's home.

The agent asks and takes answers; `starloom-agent approve` and `deny` give them. An answer from the hub counts only if
the policy says so, and then for one question, identified by a nonce. A question is answered once, the call that takes
an allowance uses it up, and a question without an answer is denied after a day. The policy, not this module, decides
which calls ask.
"""

from __future__ import annotations

import dataclasses
import hashlib
import re
import secrets
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec

from starloom_agent.home.directory import write_private
from starloom_agent.home.locking import hold_folder
from starloom_agent.policy.policy import Always, Decision
from starloom_protocol.records.approvals import OwnerAsk
from starloom_protocol.stream.authors import name_of
from starloom_protocol.values import canonical
from starloom_protocol.vocabulary import Code
from starloom_protocol.wire.frames import OwnerAnswer

ANSWER_WITHIN_S: Final = 24 * 3600.0
"""After this time a question counts as denied, and an unused allowance expires."""
TOLD_MOST: Final = 100
"""The most questions that are reported to the hub, the oldest first."""
_OPEN_MOST: Final = 500
_TOLD_CHARS: Final = 2_000
"""The hub shows a call on one screen; the owner sees the whole at the device."""
_BY_CHARS: Final = 100
"""The name of a person or program, as the hub gives it."""
_REASON_CHARS: Final = 500
"""A reason is a sentence or two, kept in the file of the question."""
_GRAIN_NS: Final = 1_000_000_000
_NAME: Final = re.compile(r"[0-9a-f]{8}")


class Ask(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One question. `answer` is empty until the owner has typed `allow` or `deny`; times are those of this device.

    `by` is the person who answered at the hub, empty for an answer typed here; `shown` are the arguments without
    secrets; `nonce` distinguishes repetitions of the same question.
    """

    id: str
    tool: str
    args: str
    task: str
    asked_s: float
    answer: str = ""
    answered_s: float = 0.0
    by: str = ""
    nonce: str = ""
    reason: str = ""
    shown: str = ""

    def over(self, now_s: float) -> bool:
        """Whether its time has passed, counted from the answer where there is one.

        One from more than that ahead was written by a clock that was wrong; its time would hardly ever pass.
        """
        return abs(now_s - max(self.asked_s, self.answered_s)) > ANSWER_WITHIN_S

    @property
    def action(self) -> str:
        """The hash of this question, to which an answer from the hub is bound."""
        return hashlib.sha256(canonical([self.tool, self.args, self.task, self.nonce]).encode()).hexdigest()


class CannotAnswer(Exception):
    """The open question does not exist; the text says what to type instead."""


class Asks:
    """The questions of one home. Faulty files are ignored."""

    def __init__(self, folder: Path, clock: Callable[[], float] = time.time) -> None:
        self._folder = folder
        self._clock = clock
        self._asks: list[Ask] = []
        self._read_at = 0

    def all(self) -> list[Ask]:
        """Return every question that is kept, the oldest first; read again only where the folder has changed."""
        try:
            changed_ns = self._folder.stat().st_mtime_ns
        except FileNotFoundError:
            return []
        if self._read_at != changed_ns:
            asks = [ask for path in self._folder.glob("*.json") if (ask := _read(path)) is not None]
            self._asks = sorted(asks, key=lambda ask: (ask.asked_s, ask.id))
            # A change within the clock's grain of this reading has the same time, so the folder is read once more.
            settled = time.time_ns() - changed_ns > _GRAIN_NS
            self._read_at = changed_ns if settled else 0
        return self._asks

    def open(self) -> list[Ask]:
        """Return the open questions, the oldest first."""
        now = self._clock()
        return [ask for ask in self.all() if not ask.answer and not ask.over(now)]

    @property
    def digest(self) -> str:
        """A short hash of the questions answered by now, by a person or by time; empty if there are none."""
        now = self._clock()
        decided = [f"{ask.id}{ask.answer}{ask.over(now)}" for ask in self.all() if ask.answer or ask.over(now)]
        return hashlib.sha256("\n".join(decided).encode()).hexdigest()[:16] if decided else ""

    def settle(self, decision: Decision, identity: str, action: Always, task: str, shown: str = "") -> Decision:
        """Return the decision by the owner's answer: an allowing one is used up; without an answer, ask.

        `shown` are the arguments as the hub may see them.
        """
        path = self._path(identity)
        ask = _read(path)
        now = self._clock()
        if ask is None:
            nonce = secrets.token_hex(16)
            self._ask(
                Ask(id=identity, tool=action.tool, args=action.args, task=task, asked_s=now, nonce=nonce, shown=shown)
            )
            return decision
        if (ask.tool, ask.args, ask.task) != (action.tool, action.args, task):
            # The author of two calls can choose arguments that give both this short name: an answer counts for one.
            reason = f"it waits until another question of this device that is called {identity}, too, is answered"
            return dataclasses.replace(decision, reason=reason, line="")
        if ask.answer == "allow" and not ask.over(now):
            path.unlink(missing_ok=True)
            whose = f"{name_of(ask.by)} approved it at the hub" if ask.by else "its owner approved it here"
            return Decision(True, f"{whose} ({identity})")
        if ask.answer == "deny" or ask.over(now):
            whose = f"{name_of(ask.by)} denied it at the hub" if ask.by else "its owner denied it here"
            denied = f"{whose}{f': {ask.reason}' if ask.reason else ''}"
            late = f"its owner did not approve it within {ANSWER_WITHIN_S / 3600:g} hours"
            path.unlink(missing_ok=True)
            return Decision(False, denied if ask.answer == "deny" else late, Code.POLICY_REFUSED)
        return decision

    def answer(self, identity: str, answer: str, reason: str = "") -> Ask:
        """Answer an open question, once; return it.

        Raises:
            CannotAnswer: if there is none of this name, or its time is over.
        """
        open_ask = _read(self._path(identity)) if _NAME.fullmatch(identity) else None
        waiting = ", ".join(ask.id for ask in self.open()) or "none"
        if open_ask is None:
            raise CannotAnswer(f"no call that waits here is called {identity}; waiting: {waiting}")
        if open_ask.answer or open_ask.over(self._clock()):
            how = f"was answered {open_ask.answer}" if open_ask.answer else "waited too long and counts as denied"
            raise CannotAnswer(f"{identity} {how}; waiting: {waiting}")
        answered = self._answer(open_ask, answer=answer, reason=reason)
        if answered is None:
            raise CannotAnswer(f"{identity} was answered or withdrawn meanwhile; waiting: {waiting}")
        return answered

    def withdraw(self, identity: str) -> None:
        """Drop a question whose call has ended, answered or not."""
        self._path(identity).unlink(missing_ok=True)

    def offered(self) -> list[OwnerAsk]:
        """Return the open questions as they are reported to the hub."""
        now = self._clock()
        open_asks = []
        for ask in self.open()[:TOLD_MOST]:
            constellation, _, task = ask.task.partition("/")
            args = ask.shown if len(ask.shown) <= _TOLD_CHARS else ask.shown[:_TOLD_CHARS] + "..."
            left_s = max(1, int(ask.asked_s + ANSWER_WITHIN_S - now))
            open_asks.append(
                OwnerAsk(
                    action=ask.action,
                    args=args,
                    constellation=constellation,
                    id=ask.id,
                    left_s=left_s,
                    task=task,
                    tool=ask.tool,
                )
            )
        return open_asks

    def take(self, order: OwnerAnswer) -> Ask | None:
        """Note an answer from the hub, which the caller found to count; None if no open question is meant."""
        ask = _read(self._path(order.ask)) if _NAME.fullmatch(order.ask) else None
        if ask is None or ask.answer or ask.over(self._clock()) or ask.action != order.action:
            return None
        answer = "allow" if order.allow else "deny"
        by, reason = order.by[:_BY_CHARS], order.reason[:_REASON_CHARS]
        return self._answer(ask, answer=answer, by=by, reason=reason)

    def _answer(self, ask: Ask, **answer: str) -> Ask | None:
        """Keep the answer to an open question; None if another process has answered it since it was read."""
        with hold_folder(self._folder):
            if _read(self._path(ask.id)) != ask:
                return None
            answered = msgspec.structs.replace(ask, answered_s=self._clock(), **answer)
            self._write(answered)
            return answered

    def _ask(self, ask: Ask) -> None:
        asks = self.all()
        now = self._clock()
        # A hub with endless calls must not fill the disk: the oldest question goes; its call will ask again.
        surplus = asks[: max(0, len(asks) + 1 - _OPEN_MOST)]
        for old in (*surplus, *(item for item in asks if item.over(now))):
            self._path(old.id).unlink(missing_ok=True)
        self._write(ask)

    def _write(self, ask: Ask) -> None:
        self._folder.mkdir(exist_ok=True, mode=0o700)
        write_private(self._path(ask.id), msgspec.json.encode(ask))

    def _path(self, identity: str) -> Path:
        return self._folder / f"{identity}.json"


def _read(path: Path) -> Ask | None:
    try:
        return msgspec.json.decode(path.read_bytes(), type=Ask)
    except (OSError, msgspec.DecodeError):
        return None
