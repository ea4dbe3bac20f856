"""The questions of one running call: the policy in force judges each as a call of its own, and the owner answers.

A call may ask about the tools that it declares and no others. A question that is open may be put again until the owner
has answered; what is still open goes with the call. Decides nothing beside the policy, and starts nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

import msgspec

from starloom_agent.allowance import Allowance
from starloom_agent.calls import Asking, Permit
from starloom_agent.judging import lease_name
from starloom_agent.ledger import DecisionRow
from starloom_agent.policy import action_of, ask_id
from starloom_agent.toolkit.interface import Tool
from starloom_protocol.frames import Dispatch
from starloom_protocol.vocabulary import Effect

QUESTIONS_MOST: Final = 500
"""More than this in one call, and the rest is refused: nobody reads so many, and each is a file."""


class CallQuestions:
    """The questions of the call of a dispatch, from its start to `end`. `written` makes lines that work when pasted."""

    def __init__(
        self,
        allowance: Allowance,
        dispatch: Dispatch,
        tool: Tool,
        tools: Mapping[str, Tool],
        note: Callable[[DecisionRow], None],
        written: Callable[[str], str],
    ) -> None:
        self._allowance = allowance
        self._dispatch = dispatch
        self._tool = tool
        self._tools = tools
        self._note = note
        self._written = written
        self._open: set[str] = set()
        self._asked = 0

    def answer(self, asked: Asking) -> Permit:
        """Return the decision on a question; a new one for the owner is kept until the owner answers."""
        tool = self._tools.get(asked.tool)
        if tool is None or tool.name not in self._tool.asks_within:
            return Permit(reason=f"{self._tool.name} may not ask about {asked.tool[:60]}")
        try:
            args: Any = msgspec.json.decode(asked.args)
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
            self._asked += 1
        if self._asked > QUESTIONS_MOST:
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
        return Permit(allowed=decision.allowed, open=decision.asks, reason=self._written(decision.detail))

    def end(self) -> None:
        """Drop the questions that are still open: the call that needs their answers is over."""
        for identity in self._open:
            self._allowance.withdraw(identity)
        self._open.clear()
