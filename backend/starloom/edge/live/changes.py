"""Changes of the lists that the REST API answers, said to every page beside the fleet's stream.

A page reads a list once, and again when the list has changed, so that it polls nothing. A change has no content: a page
that hears it reads the list with its own rights. Keeps nothing; a page that connects reads all its lists again.
"""

from __future__ import annotations

from typing import Final

import msgspec

from starloom.access.refusals import Refusals, Refused
from starloom.edge.live.fanout import Fanout
from starloom_protocol.stream.feed import CHANGED, FLEET, Beside, Event
from starloom_protocol.vocabulary import Topic

OF_ENTITY: Final = {
    "attempt": Topic.TASKS,
    "group": Topic.TASKS,
    "head": Topic.CONSTELLATIONS,
    "question": Topic.APPROVALS,
    "recipe": Topic.RECIPES,
    "schedule": Topic.SCHEDULES,
    "task": Topic.TASKS,
}
"""The list that an entity belongs to, by the kind of its key; every entity of the fleet belongs to its devices, too."""
_NOTHING: Final = msgspec.Raw(b"null")


class Changes:
    """Hears every committed event and every refusal of a device."""

    def __init__(self, fanout: Fanout, refusals: Refusals) -> None:
        self._fanout = fanout
        fanout.listeners.append(self.hear)
        refusals.heard.append(self.hear_refusal)

    def hear(self, event: Event) -> None:
        """Say which lists an event changes."""
        if not self._fanout.watches(FLEET):  # almost all events of a hub that nobody looks at
            return
        kinds = {key.partition("/")[0] for key in event.puts}
        for topic in sorted({OF_ENTITY[kind] for kind in kinds if kind in OF_ENTITY}):
            self.say(topic)
        if event.stream == FLEET:
            self.say(Topic.DEVICES)
        self.say(Topic.ACTIVITY)

    def hear_refusal(self, refused: Refused) -> None:
        """Say that a device was refused with a join code."""
        if refused.enrollment:
            self.say(Topic.REFUSALS)

    def say(self, topic: Topic) -> None:
        """Tell every page that a list has changed."""
        if self._fanout.watches(FLEET):
            self._fanout.beside_here(Beside(about=topic, kind=CHANGED, stream=FLEET, value=_NOTHING))
