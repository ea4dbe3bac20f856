"""Three figures of editing: `python -m tests.sim.figures [--edits N] [--racing N]`; ends with one line of JSON.

An edit of a graph of 2,000 tasks, asked and answered by the engine over a real Redis and SQLite; edits that race for
the same plans in virtual time, of which none may be lost; and what a review of one branch costs an independent one,
beside a hold of the whole graph.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import random
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from starloom.core.state import inputs as i
from starloom.engine.loop import Engine
from starloom.engine.settings import EngineSettings
from starloom.process.clock import HubClock
from starloom.store.opening import open_store
from starloom.store.redis.embedded import EmbeddedRedis
from starloom_protocol.records.edits import (
    AddDependency,
    AddTask,
    EditOperation,
    LoweredPlan,
    RemoveDependency,
    RemoveTask,
    UpdateTask,
)
from starloom_protocol.vocabulary import Gate
from tests.builders import edge, plan, task
from tests.sim.hub import Nothing
from tests.sim.network import Network, Sockets
from tests.sim.review_cost import review_cost
from tests.sim.virtual import SimClock, run
from tests.store.memory import MemoryStore

LAYERS, WIDE = 20, 100
EDITORS = 8


def big_plan(chance: random.Random) -> LoweredPlan:
    """2,000 tasks in layers, each after two of the layer before."""
    parts: list[Any] = []
    for layer in range(LAYERS):
        for number in range(WIDE):
            parts.append(task(f"t{layer}-{number}", tool="t.pure"))
            if layer:
                before = chance.sample(range(WIDE), 2)
                parts.extend(edge(f"t{layer - 1}-{one}>t{layer}-{number}", Gate.FINISH) for one in before)
    return plan(*parts)


def an_edit(chance: random.Random, number: int, put_in: dict[str, str]) -> list[EditOperation]:
    """One of the edits that people make: put a task in between, change one, take one out again.

    `put_in` remembers before which task each new one stands.
    """
    layer, at = chance.randrange(1, LAYERS), chance.randrange(WIDE)
    target = f"t{layer}-{at}"
    match number % 3:
        case 0:
            put_in[f"x{number}"] = target
            return [
                AddTask(spec=task(f"x{number}", tool="t.pure")),
                AddDependency(dependency=edge(f"t{layer - 1}-{chance.randrange(WIDE)}>x{number}", Gate.FINISH)),
                AddDependency(dependency=edge(f"x{number}>{target}", Gate.FINISH)),
            ]
        case 1:
            return [UpdateTask(changes={"args": msgspec.Raw(b'"{\\"s\\":%d}"' % number)}, id=target)]
        case _:
            gone = f"x{number - 2}"
            return [RemoveDependency(id=f"{gone}>{put_in.pop(gone)}:finish"), RemoveTask(id=gone)]


def _engine(store: Any, clock: Any, sockets: Sockets) -> Engine:
    return Engine(
        store=store,
        remote=None,
        clock=clock,
        sender=sockets,
        live=Nothing(),
        jobs=Nothing(),
        values=Nothing(),
        settings=EngineSettings(owner="figures"),
        chance=random.Random(1),
    )


def _request(name: str, made: LoweredPlan) -> i.RequestReceived:
    return i.RequestReceived(id=f"r-{name}", by="person:ann", constellation=name, plan=made)


def _edit(name: str, token: str, base: int, operations: list[EditOperation]) -> i.EditProposed:
    return i.EditProposed(
        id=token, by="person:ann", base_version=base, constellation=name, operations=operations, reason=token
    )


async def edit_times(edits: int) -> list[tuple[float, float]]:
    """Return milliseconds from asking for an edit to its answer, and of processor, one after the other."""
    with tempfile.TemporaryDirectory(prefix="sl-fig-") as home:
        redis = EmbeddedRedis(Path(home))
        await redis.start()
        store = await open_store(redis.url, f"sqlite:///{home}/history.db")
        engine = _engine(store, HubClock(), Sockets(Network(random.Random(0))))
        try:
            await engine.start()
            chance = random.Random(7)
            reply = await engine.inbox.ask(_request("big", big_plan(chance)))
            assert not reply.faults, reply.faults
            spent = []
            put_in: dict[str, str] = {}
            for number in range(edits):
                version = engine.shard.constellations["big"].head.version
                item = _edit("big", f"e{number}", version, an_edit(chance, number, put_in))
                begun, used = time.perf_counter(), time.process_time()
                reply = await engine.inbox.ask(item)
                spent.append(((time.perf_counter() - begun) * 1000, (time.process_time() - used) * 1000))
                assert not reply.faults, reply.faults
            return spent
        finally:
            await engine.stop()
            await store.close()
            await redis.stop()


async def _race(edits: int, plans: int) -> tuple[int, int, list[str]]:
    """Let editors race; return how many edits were taken, how many refused, and what was lost."""
    chance = random.Random(11)
    store = MemoryStore()
    engine = _engine(store, SimClock(), Sockets(Network(chance)))
    await engine.start()
    names = [f"c{number}" for number in range(plans)]
    for name in names:
        await engine.inbox.ask(_request(name, plan(task("a"), task("b"), edge("a>b", Gate.FINISH))))
    taken: dict[tuple[str, int], str] = {}
    lost: list[str] = []
    refused = 0
    left = edits

    async def editor(own: int) -> None:
        nonlocal left, refused
        mine: list[tuple[str, str]] = []
        while left > 0:
            left -= 1
            token = f"x{own}-{left}"
            name = chance.choice(names)
            base = engine.shard.constellations[name].head.version
            await asyncio.sleep(chance.choice([0.0, 0.001, 0.01]))
            operations: list[EditOperation]
            if mine and chance.random() < 0.5:
                name, old = mine.pop()
                base = engine.shard.constellations[name].head.version
                operations = [RemoveDependency(id=f"{old}>b:finish"), RemoveTask(id=old)]
            else:
                # Two of these at once do not both fit: they change what `b` waits for.
                operations = [AddTask(spec=task(token)), AddDependency(dependency=edge(f"{token}>b", Gate.FINISH))]
            reply = await engine.inbox.ask(_edit(name, token, base, operations))
            if reply.faults:
                refused += 1
                continue
            version = reply.value["version"]
            if taken.setdefault((name, version), token) != token:
                lost.append(f"{token} and {taken[name, version]} were both answered version {version} of {name}")
            if isinstance(operations[0], AddTask):
                mine.append((name, token))

    await asyncio.gather(*(editor(own) for own in range(EDITORS * 8)))
    for (name, version), token in taken.items():
        if engine.shard.constellations[name].versions[str(version)].reason != token:
            lost.append(f"{token} was answered version {version} of {name}, which is another's")
    for name in names:
        made = engine.shard.constellations[name].head.version
        if made - 1 != sum(1 for found, _ in taken if found == name):
            lost.append(f"{name} has {made} versions, which are not those that were answered")
    await engine.stop()
    return len(taken), refused, lost


def _middle_and_late(times: Sequence[float]) -> tuple[float, float]:
    ordered = sorted(times)
    return ordered[len(ordered) // 2], ordered[min(len(ordered) - 1, len(ordered) * 99 // 100)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--edits", type=int, default=1_000)
    parser.add_argument("--racing", type=int, default=100_000)
    parser.add_argument("--plans", type=int, default=500)
    options = parser.parse_args()
    logging.disable(logging.CRITICAL)
    spent = asyncio.run(edit_times(options.edits))
    (p50, p99), (cpu_p50, cpu_p99) = (_middle_and_late(column) for column in zip(*spent, strict=True))
    print(f"{len(spent)} edits of a graph of {LAYERS * WIDE} tasks: p50 {p50:.1f} ms, p99 {p99:.1f} ms;")
    print(f"of processor p50 {cpu_p50:.1f} ms, p99 {cpu_p99:.1f} ms.")
    (taken, refused, lost), faults = run(_race(options.racing, options.plans))
    lost = [*lost, *faults]
    print(f"{options.racing} racing edits: {taken} taken, {refused} refused whole, {len(lost)} lost.")
    for words in lost[:10]:
        print(f"  {words}")
    cost = review_cost()
    print(f"An independent branch ends after {cost.branch_s:.0f} s beside a review, {cost.alone_s:.0f} s without one;")
    print(f"with a hold of the whole graph it would be {cost.whole_s:.0f} s.")
    document = {
        "edit_p50_ms": round(p50, 2),
        "edit_p99_ms": round(p99, 2),
        "edit_cpu_p50_ms": round(cpu_p50, 2),
        "edit_cpu_p99_ms": round(cpu_p99, 2),
        "racing": options.racing,
        "taken": taken,
        "lost": len(lost),
        "branch_s": cost.branch_s,
        "branch_alone_s": cost.alone_s,
        "branch_whole_hold_s": cost.whole_s,
    }
    print(json.dumps(document))
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
