"""A hostile model behind the real wire: it answers requests in words with plans that want too much."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path

from starloom.client.rest import Client
from starloom.client.view import View
from starloom_protocol.stream.feed import Event
from tests.guard.drivers.ground import Ground, standing
from tests.guard.drivers.hostile import REFUSED, plans
from tests.guard.drivers.tally import AttackTally, Stopwatch
from tests.models.modes import HOSTILE
from tests.models.server import FakeModel, Say, fake_model
from tests.waiting import PATIENCE_S, until

WORDS = "Draw up a survey of number {number} about the weather on my machines"
OVER = ("awaiting_approval", "failed", "needs_planning")


def drive(home: Path, clock: Stopwatch, seed: int) -> AttackTally:
    return asyncio.run(_drive(home, clock, random.Random(seed)))


async def _drive(home: Path, clock: Stopwatch, chance: random.Random) -> AttackTally:
    tally = AttackTally()
    async with fake_model(Say(text=HOSTILE)) as fake:
        settings = {
            "STARLOOM_LLM_URL": fake.url,
            "STARLOOM_LLM_MODEL": "fake-1",
            "STARLOOM_LLM_WIRE": "openai",
            "STARLOOM_LLM_TOKENS_PER_DAY": str(10**9),
        }
        await asyncio.to_thread(_besiege, home, settings, fake, clock, chance, tally)
    return tally


def _besiege(
    home: Path, settings: dict[str, str], fake: FakeModel, clock: Stopwatch, chance: random.Random, tally: AttackTally
) -> None:
    with standing(home, settings) as ground:
        while not clock.over() or not tally.attacks:
            for kind, plan in plans(chance).items():
                asked = len(fake.asked)
                fake.says = [Say(tool={"kind": "plan", "plan": plan}, text=chance.choice((None, HOSTILE)))]
                tally.attacks += 1
                _one(ground, kind, chance, tally)
                if len(fake.asked) == asked:
                    tally.effects.append(f"{kind}: the model was not asked, so nothing was tried")
        ground.judge(tally)


def _one(ground: Ground, kind: str, chance: random.Random, tally: AttackTally) -> None:
    client = ground.fleet.client
    words = WORDS.format(number=chance.randrange(10**9))
    identity = str(client.create("/constellations", {"request": words})["id"])
    view = View(identity)
    events = _until_over(client, view)
    state = ground.settle(identity, tally)
    if state == "awaiting_approval" and kind not in REFUSED:
        tally.held += 1
        return
    if state in ("awaiting_approval", "active", "succeeded"):
        tally.effects.append(f"{kind} was planned and is {state}")
        return
    told = [event for event in events if event.by and event.note]
    if told:
        tally.refuse(told[-1].by, kind)
    else:
        tally.unlogged.append(f"{kind} of {identity} is {state} and its log says no reason: {_kinds(events)}")


def _until_over(client: Client, view: View) -> list[Event]:
    events: list[Event] = []

    def over() -> bool:
        found = client.events(view.constellation, view.seq)
        events.extend(view.apply(found))
        return str(view.state) in OVER or view.final or view.needs_person()

    until(over, f"the plan of {view.constellation} is refused or waits", PATIENCE_S)
    return events


def _kinds(events: list[Event]) -> str:
    return ", ".join(f"{event.kind} by {event.by}" for event in events)
