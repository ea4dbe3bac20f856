"""The reports on the device itself: its offer, its owner's open questions, its condition and its vital figures.

Owns what the hub heard last, so that it hears changes alone. Reports no call, and decides none.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Final

from starloom_agent.home.directory import AgentHome
from starloom_agent.platforms import presence, processes
from starloom_agent.policy.allowance import Allowance
from starloom_agent.policy.policy import NO_RULE
from starloom_agent.toolkit.interface import Tool
from starloom_agent.toolkit.running import display
from starloom_agent.wire.link import Link
from starloom_agent.work.device_conditions import Conditions
from starloom_agent.work.vitals import VitalClock, read_vitals
from starloom_protocol.wire.frames import Frame, VitalsFrame

_DISPLAY_EVERY_S: Final = 15.0
"""A person logs in or out seldom, and looking starts a small program on some systems."""


class DeviceReports:
    """Tells a connected hub of the device; without a connection it only looks, and the next welcome tells all."""

    def __init__(self, home: AgentHome, allowance: Allowance, link: Link, say: Callable[[str], None]) -> None:
        self._folder = home.root
        self._allowance = allowance
        self._link = link
        self._say = say
        self._conditions = Conditions(processes.awake_clock_s, home.root)
        allowance.refusal = self._conditions.refusal
        self._vitals = VitalClock(processes.awake_clock_s)
        self._figures: VitalsFrame | None = None
        self._display: str | None = None
        self._display_due_at = 0.0
        self._reported_questions: tuple[str, tuple[str, ...]] | None = None

    def greeting(self, hub_time_ms: int) -> list[Frame]:
        """Return what a hub hears that has just welcomed this device at this time."""
        self._conditions.take_hub_time(hub_time_ms)
        self._reported_questions = None
        self._vitals.begin()
        self._take_rule()
        return [self._allowance.offer(), *self._conditions.greeting()]

    def leaving(self) -> None:
        """Offer nothing any more, so that no new work comes while the agent stops."""
        self._link.push([self._allowance.last_offer()])

    def beside_alive(self) -> list[Frame]:
        """Return the figures that the next `alive` takes along; older ones are dropped."""
        figures, self._figures = self._figures, None
        return [figures] if figures is not None else []

    def offer_only(self, tools: Iterable[Tool]) -> None:
        """Offer these tools from now on."""
        self._allowance.offer_only(tools)
        self._offer_again()

    def read_policy(self) -> bool:
        """Notice a policy that its owner has changed, and tell it; return whether it has changed."""
        changed = self._allowance.read_again()
        if changed and self._link.connection is not None:
            offer = self._allowance.offer()
            self._link.push([offer])
            self._say(f"the policy changed: profile {offer.profile}, grants {', '.join(offer.offer.grants) or 'none'}")
        self._tell_questions()
        return changed

    async def look(self) -> None:
        """Look at display, owner and figures as often as each is due, and tell what has changed."""
        await self._look_around()
        if self._link.connection is not None and self._vitals.is_due():
            self._figures = await asyncio.to_thread(read_vitals, self._folder)
        self._tell_conditions()

    @property
    def clock_ahead_s(self) -> int:
        """The seconds that the clock of this device is ahead of its hub's; 0 if they are few."""
        return self._conditions.clock_ahead_s

    @property
    def disk_is_full(self) -> bool:
        """Whether the last write of the ledger found no room."""
        return self._conditions.unwritten

    def disk_filled(self) -> None:
        """Tell that a write found no room."""
        self._conditions.unwritten = True
        self._tell_conditions()

    def disk_took_a_write(self) -> None:
        """Note that there is room again; the next look tells it."""
        self._conditions.unwritten = False

    def _offer_again(self) -> None:
        if self._link.connection is not None:
            self._link.push([self._allowance.offer()])

    def _take_rule(self) -> None:
        rule = self._allowance.policy.courtesy
        self._conditions.rule = rule if rule != NO_RULE else None

    def _tell_conditions(self) -> None:
        self._take_rule()
        if self._link.connection is not None and (changes := self._conditions.changed()):
            self._link.push([*changes])

    async def _look_around(self) -> None:
        """Offer again when a desktop appears or goes (an agent may start before it); see whether the owner is here."""
        now = processes.awake_clock_s()
        if now < self._display_due_at:
            return
        self._display_due_at = now + _DISPLAY_EVERY_S
        self._conditions.owner_is_here = await asyncio.to_thread(presence.owner_is_here)
        session = await asyncio.to_thread(display.session)
        if self._display is not None and session != self._display and self._link.connection is not None:
            self._offer_again()
            self._say(f"the display is {session}" if session else "the display is gone")
        self._display = session

    def _tell_questions(self) -> None:
        """Send the open questions if they have changed."""
        if self._link.connection is None:
            return
        frame = self._allowance.asks()
        questions = (frame.answers, tuple(ask.action for ask in frame.open))
        if questions != self._reported_questions and self._link.push([frame]):
            self._reported_questions = questions
