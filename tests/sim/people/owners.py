"""Calls that wait for a person: at the hub, or at a device, whose owner is asked before each call of one tool.

The questions of a device are kept as `starloom_agent.policy.approvals` does: an answer counts for one question, is
used up by one call, and is taken from the hub only where the owner has said so. All of it survives the agent's process.
"""

from __future__ import annotations

import random
from typing import Any

from starloom_agent.work import core
from starloom_protocol.records.approvals import OwnerAsk
from starloom_protocol.records.entities import ToolOffer
from starloom_protocol.vocabulary import Code, Effect, Repeatability
from starloom_protocol.wire.frames import AsksFrame, Dispatch, OwnerAnswer

ASKS = ToolOffer(name="t.reach", repeatability=Repeatability.NEVER, effects=[Effect.CHANGE])
"""A tool whose calls a person allows."""
ASKED = ToolOffer(name="t.asked", repeatability=Repeatability.NEVER, effects=[Effect.WRITE])
"""A tool whose calls the owner of each device allows."""
ANSWER_WITHIN_S = 24 * 3600
HERE_CHANCES = {"here": 0.2, "hub": 0.02}
"""How likely its owner answers on the device within five seconds; a question that is old for the hub only there."""


class DeviceOwner:
    """`given` has the answers that came from the hub and counted, `violations` those that should not have come."""

    def __init__(self, device: str, chance: random.Random) -> None:
        self.answers = chance.choice(["hub", "hub", "here"])
        self.given: list[OwnerAnswer] = []
        self.violations: list[str] = []
        self._chance = chance
        self._device = device
        self._made = self.answered = 0
        self._open: dict[tuple[str, str, str], OwnerAsk] = {}
        self._allowed: dict[tuple[str, str, str], bool] = {}

    def refusal(self, dispatch: Dispatch) -> Code | None:
        """Return why a call does not begin; an answer is used up."""
        if dispatch.tool != ASKED.name:
            return None
        key = dispatch.at.constellation, dispatch.at.task, core.digest_of(dispatch)
        if key in self._allowed:
            return None if self._allowed.pop(key) else Code.POLICY_REFUSED
        if key not in self._open:
            self._made += 1
            self._open[key] = OwnerAsk(
                action=f"{self._device}-{self._made}",
                constellation=key[0],
                id=f"{self._made:08x}",
                left_s=ANSWER_WITHIN_S,
                task=key[1],
                tool=dispatch.tool,
            )
        return Code.NEEDS_APPROVAL

    def beside_alive(self) -> list[Any]:
        if self._open and self._chance.random() < HERE_CHANCES[self.answers]:
            self._answer(next(iter(self._open)), allow=True)
        frames: list[Any] = [AsksFrame(answers=self.answers, open=list(self._open.values()))] if self._made else []
        # Its offer shows that something was answered, so that what waits is placed again.
        return [*frames, "offer"] if self.answered else frames

    def take(self, answer: OwnerAnswer) -> None:
        if self.answers != "hub":
            self.violations.append(f"{self._device} is answered there, and the hub sends an answer of {answer.by}")
            return
        for key, ask in self._open.items():
            if (ask.id, ask.action) == (answer.ask, answer.action):
                self.given.append(answer)
                self._answer(key, allow=answer.allow)
                return

    def _answer(self, key: tuple[str, str, str], *, allow: bool) -> None:
        del self._open[key]
        self._allowed[key] = allow
        self.answered += 1
