"""Walks every order in which a small world can go on: `python -m tests.sim.explorer [--faults N] [--states N]`.

Two agents, three tasks and a budget of faults - a connection dropped with all on it, a message duplicated, an agent
crashed, a lease expired, an edit - over the shipped core, agent core and outbox. A state is what the entities, the
agents and the messages under way say, hashed; each is gone on from once. Every step of the hub begins from its stored
entities alone, so that all of this is also a restart of the hub between any two steps.

Ends with one line of JSON {states, steps, complete, violations}; the way to a violation is printed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from tests.sim.small_agent import SmallAgent
from tests.sim.small_hub import SmallHub, Violation

KINDS = ("drop", "duplicate", "crash", "expire", "edit")


@dataclass
class Small:
    """A whole small world. `left` is how many faults may still come, of each kind and in all."""

    hub: SmallHub
    agents: dict[str, SmallAgent]
    left: dict[str, int]
    budget: int
    begun: dict[str, int] = field(default_factory=dict)

    def copy(self) -> Small:
        agents = {name: agent.copy() for name, agent in self.agents.items()}
        return Small(self.hub.copy(), agents, dict(self.left), self.budget, dict(self.begun))

    def key(self) -> bytes:
        parts = [self.hub.key(), *(agent.key() for agent in self.agents.values())]
        text = f"{parts}{sorted(self.left.items())}{self.budget}{sorted(self.begun.items())}"
        return hashlib.blake2b(text.encode(), digest_size=12).digest()

    def moves(self) -> Iterator[tuple[str, str]]:
        """Yield (what, whom) of everything that can happen now; a timer only where nothing else can."""
        any_other = False
        for name, agent in self.agents.items():
            if agent.to_agent:
                any_other = True
                yield "to_agent", name
            if agent.to_hub:
                any_other = True
                yield "to_hub", name
            if not agent.connected:
                any_other = True
                yield "connect", name
            for at in agent.calls:
                any_other = True
                yield f"end {at.task}/{at.attempt}", name
        if not any_other and self.hub.timers():
            yield "timer", ""
        if self.budget > 0:
            yield from self._faults()

    def _faults(self) -> Iterator[tuple[str, str]]:
        left = self.left
        for name, agent in self.agents.items():
            if left["drop"] and agent.connected and (agent.to_agent or agent.to_hub or agent.calls):
                yield "drop", name
            if left["duplicate"] and agent.to_agent:
                yield "duplicate to_agent", name
            if left["duplicate"] and agent.to_hub:
                yield "duplicate to_hub", name
            if left["crash"] and agent.connected and (agent.calls or agent.outbox.pending or agent.to_agent):
                yield "crash", name
        if left["expire"]:
            for at in self.hub.leases():
                yield "expire", at
        if left["edit"]:
            yield "edit", "add"
            yield "edit", "remove"

    def do(self, what: str, whom: str) -> None:
        """Let one thing happen.

        Raises:
            Violation: a promise does not hold after it.
        """
        kind, _, more = what.partition(" ")
        if kind in KINDS:
            self.left[kind] -= 1
            self.budget -= 1
        agent = self.agents.get(whom)
        if agent is not None:
            self._of_agent(kind, more, agent)
        elif kind == "expire":
            self._expire(whom)
        elif kind == "edit":
            self.hub.edit(whom)
        else:
            self.hub.fire()
        self._carry()
        self._judge()

    def _of_agent(self, kind: str, more: str, agent: SmallAgent) -> None:
        match kind:
            case "to_agent":
                agent.receive(agent.to_agent.pop(0))
            case "to_hub":
                durable = self.hub.take(agent.device, agent.to_hub.pop(0))
                agent.noted(durable)
            case "end":
                agent.end(more)
            case "connect":
                agent.connect(self.hub.connect(agent.device, agent.ledger.id))
            case "drop":
                agent.cut()
            case "duplicate":
                queue = agent.to_agent if more == "to_agent" else agent.to_hub
                queue.insert(1, queue[0])
            case "crash":
                agent.crash()
                self.hub.disconnect(agent.device)
            case _:
                raise AssertionError(kind)

    def _expire(self, lease: str) -> None:
        """Silence has lasted: whatever had a fence was ended on its device before the hub gave it away."""
        at, device = self.hub.lease(lease)
        self.agents[device].fence(at)
        self.hub.expire(at)

    def _carry(self) -> None:
        for device, frames in self.hub.taken().items():
            agent = self.agents[device]
            if agent.connected:
                agent.to_agent.extend(frames)
        for agent in self.agents.values():
            for task, _attempt in agent.began():
                self.begun[task] = self.begun.get(task, 0) + 1

    def _judge(self) -> None:
        for task, count in self.begun.items():
            if count > 1 and self.hub.is_never(task):
                raise Violation(f"{task} may not be repeated and was begun {count} times")
        for agent in self.agents.values():
            for at in agent.acknowledged:
                self.hub.must_know(at)

    def rests(self) -> None:
        """Nothing more can happen by itself.

        Raises:
            Violation: something was forgotten.
        """
        self.hub.must_be_over()
        for agent in self.agents.values():
            if agent.outbox.pending:
                raise Violation(f"{agent.device} still has {list(agent.outbox.pending.values())}")


def beginning(faults: int, each: int = 1) -> Small:
    """Return the world with its plan submitted and nothing done."""
    hub = SmallHub()
    agents = {device: SmallAgent(device) for device in hub.devices}
    small = Small(hub, agents, dict.fromkeys(KINDS, each), faults)
    hub.submit()
    small._carry()
    return small


@dataclass(frozen=True)
class Found:
    """What a walk saw. `complete`: nothing was left unvisited."""

    states: int
    steps: int
    complete: bool
    violations: tuple[str, ...] = ()
    way: tuple[tuple[str, str], ...] = ()


def explore(start: Small, states_most: int = 1_000_000, within_s: float = 3_600.0) -> Found:
    """Visit every state that can be reached, breadth first, so that the way to a violation is a shortest one."""
    begun = time.monotonic()
    came: dict[bytes, tuple[bytes, tuple[str, str]]] = {}
    first = start.key()
    seen = {first: 0}
    waiting: deque[tuple[bytes, Small]] = deque([(first, start)])
    found = Found(1, 0, True)
    steps = 0

    def way_to(key: bytes, last: tuple[str, str]) -> tuple[tuple[str, str], ...]:
        way = [last]
        while key in came:
            key, move = came[key]
            way.append(move)
        return tuple(reversed(way))

    while waiting:
        if len(seen) >= states_most or time.monotonic() - begun > within_s:
            return replace(found, states=len(seen), steps=steps, complete=False)
        key, small = waiting.popleft()
        moves = list(small.moves())
        try:
            if not moves or all(what.partition(" ")[0] in KINDS for what, _ in moves):
                small.rests()
        except Violation as violation:
            way = way_to(key, ("rest", ""))
            return Found(len(seen), steps, False, (str(violation),), way)
        for move in moves:
            steps += 1
            following = small.copy()
            try:
                following.do(*move)
            except (Violation, AssertionError) as violation:
                return Found(len(seen), steps, False, (f"{violation}",), way_to(key, move))
            reached = following.key()
            if reached not in seen:
                seen[reached] = len(seen)
                came[reached] = (key, move)
                waiting.append((reached, following))
    return replace(found, states=len(seen), steps=steps)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--faults", type=int, default=2, help="how many faults a walk may have in all")
    parser.add_argument("--each", type=int, default=1, help="and of each kind")
    parser.add_argument("--states", type=int, default=1_000_000)
    parser.add_argument("--within-s", type=float, default=3_600.0)
    options = parser.parse_args()
    begun = time.monotonic()
    found = explore(beginning(options.faults, options.each), options.states, options.within_s)
    for what, whom in found.way:
        print(f"  {what} {whom}")
    for words in found.violations:
        print(f"broken: {words}")
    whole = "all of them" if found.complete else "not all of them"
    print(f"{found.states} states, {whole}, in {time.monotonic() - begun:.0f} s.")
    document = {"states": found.states, "steps": found.steps, "complete": found.complete}
    print(json.dumps({**document, "violations": len(found.violations)}))
    return 1 if found.violations else 0


if __name__ == "__main__":
    sys.exit(main())
