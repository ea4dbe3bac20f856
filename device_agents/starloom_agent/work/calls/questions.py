"""The questions and hints of one running call. The policy in force judges each question as a call of its own.

A call may ask about the tools that it declares and no others. A question that is open may be put again until the owner
has answered; what is still open goes with the call. Decides nothing beside the policy, and starts nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

import msgspec

from starloom_agent.policy.allowance import Allowance
from starloom_agent.policy.policy import action_of, ask_id
from starloom_agent.toolkit.interface import Tool
from starloom_agent.toolkit.messages import Asking, Heard, Listening, Permit
from starloom_agent.work.calls.judging import lease_name
from starloom_agent.work.ledger import DecisionRow
from starloom_protocol.vocabulary import Effect
from starloom_protocol.wire.frames import Dispatch

QUESTIONS_MOST: Final = 500
"""More than this in one call, and the rest is refused: nobody reads so many, and each is a file."""
HINTS_MOST: Final = 20
"""Each hint may be one more turn of an agent, so their number bounds the turns of a call."""


class CallQuestions:
    """The questions of the call of a dispatch, from its start to `end`.

    `pasteable` returns a text whose commands work when pasted on this device.
    """

    def __init__(
        self,
        allowance: Allowance,
        dispatch: Dispatch,
        tool: Tool,
        tools: Mapping[str, Tool],
        note: Callable[[DecisionRow], None],
        pasteable: Callable[[str], str],
    ) -> None:
        self._allowance = allowance
        self._dispatch = dispatch
        self._tool = tool
        self._tools = tools
        self._note = note
        self._pasteable = pasteable
        self._open: set[str] = set()
        self._asked_count = 0
        self._hints: dict[int, str] = {}
        self._heard_to = 0

    def reply(self, message: Asking | Listening) -> Permit | Heard:
        """Return the answer to a line of the call that waits for one."""
        return self.answer(message) if isinstance(message, Asking) else self._outcome(message.after)

    def hinted(self, number: int, text: str) -> bool:
        """Keep a person's hint for the call; False where its tool reads none, or has too many."""
        if not self._tool.hears or len(self._hints) >= HINTS_MOST:
            return False
        self._hints.setdefault(number, text)
        return True

    @property
    def unheard(self) -> int:
        """How many hints the call has not asked for."""
        return sum(number > self._heard_to for number in self._hints)

    def _outcome(self, after: int) -> Heard:
        fresh = sorted(number for number in self._hints if number > after)
        self._heard_to = max([self._heard_to, *fresh])
        return Heard(last=max([after, *fresh]), texts=[self._hints[number] for number in fresh])

    def answer(self, question: Asking) -> Permit:
        """Return the decision on a question; a new one for the owner is kept until the owner answers."""
        tool = self._tools.get(question.tool)
        if tool is None or tool.name not in self._tool.asks_within:
            return Permit(reason=f"{self._tool.name} may not ask about {question.tool[:60]}")
        try:
            args: Any = msgspec.json.decode(question.args)
        except msgspec.DecodeError:
            args = None
        if not isinstance(args, dict):
            return Permit(reason="a question has arguments")
        if tool is self._tool:
            # A question of the call about itself always goes to the owner, whatever the call as a whole may do.
            tool = replace(tool, effects=(*tool.effects, Effect.CONTROL))
        at = self._dispatch.at
        task = f"{at.constellation}/{at.task}"
        identity = ask_id(action_of(tool, args), task)
        is_new = identity not in self._open
        if is_new:
            self._asked_count += 1
        if self._asked_count > QUESTIONS_MOST:
            return Permit(reason=f"{self._tool.name} has asked {QUESTIONS_MOST} questions in this call")
        decision = self._allowance.decide(tool, args, writes=None, task=task, hide=self._dispatch.secrets.values())
        if decision.asks:
            self._open.add(identity)
        else:
            self._open.discard(identity)
        if is_new or not decision.asks:
            profile = self._allowance.policy.profile
            name = lease_name(at)
            row = DecisionRow(
                time.time(), name, tool.name, decision.allowed, decision.reason, profile, asked=decision.asks
            )
            self._note(row)
        return Permit(allowed=decision.allowed, open=decision.asks, reason=self._pasteable(decision.detail))

    def end(self) -> None:
        """Drop the questions that are still open: the call that needs their answers is over."""
        for identity in self._open:
            self._allowance.withdraw(identity)
        self._open.clear()
