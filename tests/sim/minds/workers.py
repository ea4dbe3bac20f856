"""Workers of a schedule: they claim jobs, ask a seeded mind, renew, and propose, as `starloom.jobs` does.

A mind is often right and sometimes wrong: it steps outside of the envelope, repeats itself, gives up, says nothing. A
worker can be killed at any moment, and stopped for longer than its claim holds.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from starloom.core.plan.goals.conversation import group_of
from starloom.core.plan.goals.tiers import TIERS
from starloom.core.state import inputs as i
from starloom.jobs.claiming import ClaimedReads
from starloom.store.port import Unavailable
from starloom_protocol.records.entities import Cite, Fault, Job, TaskRecord, TaskSpec, decode_entity
from starloom_protocol.records.models import ModelCall
from starloom_protocol.values import canonical
from starloom_protocol.vocabulary import Code
from tests.sim.minds.plans import FOLDER, NOTE, ONCE, READ, STRANGER

if TYPE_CHECKING:
    from tests.sim.surroundings import Surroundings

TTL_S: Final = 15.0
ANSWER_S: Final = 10.0
WORKERS: Final = 3
TIERED: Final = 0.5
"""The share of schedules whose goals have two tiers."""
TOKENS_MOST: Final = 600
"""What one call of a mind uses at most."""


@dataclass
class Proposal:
    """One turn that a worker proposed: what it had seen of the conversation, and whether it was told to be taken."""

    constellation: str
    job: str
    kind: str
    seen: int
    accepted: bool | None = None


@dataclass
class Said:
    """What all workers proposed, by the note of each."""

    proposals: dict[str, Proposal] = field(default_factory=dict)
    killed: int = 0
    stopped: int = 0


@dataclass
class TierMind:
    """The tiers that a worker's settings have, and how often its models hand over, also where they may not."""

    tiers: tuple[str, ...]
    chance: random.Random

    def drawn(self, job: Job) -> tuple[str, dict[str, Any]] | None:
        """Return a hand-over, or None for a turn like any other."""
        if job.goal is None or not job.goal.tiers or self.chance.random() > 0.12:
            return None
        return "hand_over", {"to": self.chance.choice(["next_tier", "next_tier", "person", "planner"])}


class NotOurs(Exception):
    """Another worker has the job, it is over, or no hub answers."""


class Workers:
    """Wakes a worker for a job; a message may be lost."""

    def __init__(self, site: Surroundings, chance: random.Random, seed: int) -> None:
        self.site = site
        self.said = Said()
        self._chance = chance
        # Whoever wakes it is a process of its own, whose end must not be that of the worker.
        self._context = contextvars.copy_context()
        # Of its own: the other half of the schedules is as it was before there were tiers.
        self._tier_chance = random.Random(f"tiers of {seed}")
        self._tiered = self._tier_chance.random() < TIERED
        self._workers = [self._made() for _ in range(WORKERS)]

    def _made(self) -> Worker:
        """Return a worker with the settings of now; those of a few were changed before or after."""
        chance = self._tier_chance
        both = self._tiered and chance.random() < 0.9
        mind = TierMind(TIERS if both else (), random.Random(chance.getrandbits(32)))
        return Worker(self.site, f"w{self.site.ident()}", random.Random(self._chance.getrandbits(32)), self.said, mind)

    def wake(self, kind: str, constellation: str, job: str) -> None:
        if self._chance.random() < 0.1 or self.site.closing:
            return
        for _ in range(self._chance.choice([1, 1, 1, 2])):
            delay_s = self._chance.choice([0.005, 0.1, 1.5])
            asyncio.get_running_loop().call_later(
                delay_s, self._arrive, kind, constellation, job, context=self._context
            )

    def _arrive(self, kind: str, constellation: str, job: str) -> None:
        if not self.site.closing:
            self._chance.choice(self._workers).woken(kind, constellation, job)

    def kill(self) -> None:
        """End one worker as SIGKILL does; another one starts in its place."""
        at = self._chance.randrange(len(self._workers))
        self._workers[at].end()
        self._workers[at] = self._made()
        self.said.killed += 1

    def stop(self, for_s: float) -> None:
        """Stop one worker for a while, and let it go on as if nothing had been."""
        self._chance.choice(self._workers).until_s = asyncio.get_running_loop().time() + for_s
        self.said.stopped += 1

    async def close(self) -> None:
        for worker in self._workers:
            worker.end()
        await asyncio.sleep(0)


class Worker:
    """One process. `until_s` is the end of a stop: before it nothing of it happens."""

    def __init__(self, site: Surroundings, name: str, chance: random.Random, said: Said, tier_mind: TierMind) -> None:
        self._tier_mind = tier_mind
        self._site = site
        self._name = name
        self._chance = chance
        self._said = said
        self._messages: dict[tuple[str, str], bool] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._count = 0
        self.until_s = 0.0

    def woken(self, kind: str, constellation: str, job: str) -> None:
        key = constellation, job
        ours = key not in self._messages
        self._messages[key] = True
        if ours:
            task = asyncio.get_running_loop().create_task(self._work(kind, constellation, job))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    def end(self) -> None:
        for task in list(self._tasks):
            task.cancel()

    async def _work(self, kind: str, constellation: str, job: str) -> None:
        key = constellation, job
        try:
            while self._messages[key]:
                self._messages[key] = False
                with contextlib.suppress(NotOurs):
                    await self._claimed(kind, constellation, job)
        finally:
            del self._messages[key]

    async def _awake(self) -> None:
        # A stop that is made longer meanwhile is the next one.
        await asyncio.sleep(max(0.0, self.until_s - asyncio.get_running_loop().time()))

    async def _ask(self, item: Any) -> Any:
        """Ask the engine, and return its value; an answer in doubt may have been carried out."""
        await self._awake()
        try:
            reply = await asyncio.wait_for(self._site.ask(item), ANSWER_S)
        except TimeoutError:
            reply = None
        await self._awake()
        if reply is None or reply.faults or not reply.value:
            raise NotOurs(reply.faults if reply is not None else "no answer")
        return reply.value

    async def _claim(self, constellation: str, job: str, *, renews: bool = False) -> int:
        """Claim a job and return the number of the event that says so."""
        item = i.JobClaimed(
            by=f"worker:{self._name}",
            constellation=constellation,
            id=self._site.ident(),
            job=job,
            renews=renews,
            tiers=[] if renews else list(self._tier_mind.tiers),
            ttl_ms=round(TTL_S * 1000),
            worker=self._name,
        )
        return int((await self._ask(item)).get("seq", 0))

    async def _claimed(self, kind: str, constellation: str, job: str) -> None:
        seq = await self._claim(constellation, job)
        thinking = asyncio.ensure_future(self._think(kind, constellation, job, seq))
        renewing = asyncio.ensure_future(self._renew(constellation, job))
        try:
            await asyncio.wait({thinking, renewing}, return_when=asyncio.FIRST_COMPLETED)
            if thinking.done():
                thinking.result()
        finally:
            both: list[asyncio.Future[None]] = [thinking, renewing]
            for one in both:
                one.cancel()
            await asyncio.gather(*both, return_exceptions=True)

    async def _renew(self, constellation: str, job: str) -> None:
        while True:
            await asyncio.sleep(TTL_S / 3)
            await self._claim(constellation, job, renews=True)

    async def _think(self, kind: str, constellation: str, job: str, seq: int) -> None:
        records = await self._read(constellation, seq)
        found = records.get(f"job/{job}")
        if not isinstance(found, Job):
            raise NotOurs(f"there is no job {job}")
        if kind == "goal":
            await self._turn(constellation, found, records)
        elif kind == "judge":
            await self._judge(constellation, found, records)
        else:
            raise AssertionError(f"nobody asked for {kind} of {constellation}/{job}")

    async def _read(self, constellation: str, seq: int) -> dict[str, Any]:
        await self._awake()
        store = self._site.store
        try:
            found = await ClaimedReads(store, constellation, seq).entities(constellation) if store is not None else None
        except Unavailable:
            found = None
        if found is None:
            raise NotOurs(f"{constellation} cannot be read")
        return {key: decode_entity(key, raw) for key, raw in found[1].items()}

    async def _use(self, constellation: str, job: str) -> None:
        """Think: the call of a model is counted before it, its cost after it."""
        used = {"constellation": constellation, "job": job, "worker": self._name, "by": f"worker:{self._name}"}
        counted = await self._ask(i.ModelUsed(id=self._site.ident(), calls=1, **used))  # type: ignore[arg-type]
        await asyncio.sleep(self._chance.choice([0.05, 0.5, 2.0, 9.0]))
        tokens = self._chance.randint(50, TOKENS_MOST)
        call = ModelCall(asked_ms=0, job=job, stage="turn")
        cost: dict[str, Any] = {"call": call, "number": counted["call"], "tokens": tokens, **used}
        await self._ask(i.ModelUsed(id=self._site.ident(), **cost))

    async def _turn(self, constellation: str, job: Job, records: dict[str, Any]) -> None:
        await self._use(constellation, job.id)
        spec = records[f"spec/{group_of(job)}"]
        assert isinstance(spec, TaskSpec)
        kind, told = self._tier_mind.drawn(job) or self._drawn(spec, job, records)
        self._count += 1
        if kind == "step":
            told["finds"] = self._finds(spec, records)
        note = f"{self._name}-{self._count}"
        turns = job.goal.turns if job.goal is not None else []
        seen = sum(turn.kind != "hint" for turn in turns)
        said = self._said.proposals[note] = Proposal(constellation, job.id, kind, seen)
        item = i.GoalProposed(
            by=f"worker:{self._name}",
            constellation=constellation,
            id=self._site.ident(),
            job=job.id,
            kind=kind,
            note=note,
            turns=seen,
            worker=self._name,
            **told,
        )
        said.accepted = (await self._ask(item))["accepted"]

    def _drawn(self, spec: TaskSpec, job: Job, records: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        """Return the kind and the fields of a turn, most often a sound one."""
        cites = [Cite(task=name) for name in self._results(spec, records)]
        roll = self._chance.random()
        if roll < 0.16 and (cites or roll < 0.04):
            return "answer", {"value": canonical({"cause": "it is so"}), "cites": cites[:3]}
        if roll < 0.2:
            wrong = self._chance.choice(['{"cause":""}', '{"other":1}', "nothing", '{"cause":3}'])
            return "answer", {"value": wrong, "cites": cites[:1]}
        if roll < 0.23:
            return "give_up", {}
        if roll < 0.29:
            code = self._chance.choice([Code.MODEL_ANSWER, Code.MODEL_ANSWER, Code.MODEL_ANSWER, Code.MODEL_BUDGET])
            return "nothing", {"fault": Fault(code=code, reason="the model said nothing of use")}
        return "step", {"calls": self._calls(spec, job), "cites": cites[:1] if roll < 0.8 else []}

    def _finds(self, spec: TaskSpec, records: dict[str, Any]) -> list[i.FoundPart]:
        """Publish the newest result of the goal in each third turn, and now and then what is none of its own."""
        own = [name for name in self._results(spec, records) if name.startswith(f"{spec.id}.")]
        topics = spec.goal.finds if spec.goal is not None else []
        if not own or not topics or self._count % 3:
            return []
        wrong = self._count % 5 == 0
        return [i.FoundPart(pointer="/n", task=own[-1], topic="of another" if wrong else topics[0])]

    def _results(self, spec: TaskSpec, records: dict[str, Any]) -> list[str]:
        names = [item.source for item in spec.inputs]
        for key, found in records.items():
            child = isinstance(found, TaskSpec) and found.group == spec.id and not found.id.endswith(".answer")
            if child:
                names.append(key.removeprefix("spec/"))
        tasks = {name: records.get(f"task/{name}") for name in names}
        return [name for name, found in tasks.items() if isinstance(found, TaskRecord) and found.state == "succeeded"]

    def _calls(self, spec: TaskSpec, job: Job) -> list[i.LookCall]:
        chance, names = self._chance, list(self._site.agents)
        own = spec.device.name if spec.device is not None and spec.device.name else ""
        device = own or chance.choice(names)
        fresh = {"q": chance.getrandbits(20), "s": chance.choice([0.1, 0.5, 3.0]), "value": {"n": chance.randint(1, 9)}}
        place = {"path": f"{FOLDER}/{chance.randint(1, 5)}", "q": chance.getrandbits(20), "s": 0.2}
        good = i.LookCall(args=canonical(fresh), device=device, tool=READ)
        roll = chance.random()
        if roll < 0.4:
            return [good]
        if roll < 0.5:
            return [i.LookCall(args=canonical({**fresh, "q": at}), device=device, tool=READ) for at in range(3)]
        if roll < 0.58:
            return [i.LookCall(args='{"q":1,"s":0.2}', device=device, tool=READ)]
        if roll < 0.68:
            return [i.LookCall(args=canonical(fresh), device=device, tool=STRANGER)]
        if roll < 0.78:
            return [i.LookCall(args=canonical(fresh), device=device, tool=ONCE)]
        if roll < 0.88:
            return [i.LookCall(args=canonical(place), device=device, tool=NOTE)]
        wrong = [
            i.LookCall(args=canonical({**place, "path": "elsewhere/1"}), device=device, tool=NOTE),
            i.LookCall(args=canonical(fresh), device=chance.choice(names), tool=READ),
            i.LookCall(args=canonical(fresh), device=device, tool="t.idem"),
            i.LookCall(args='{"x":{"secret":"key"}}', device=device, tool=READ),
            i.LookCall(args="[", device=device, tool=READ),
        ]
        return chance.choice([[chance.choice(wrong)], [], [good] * 5, [good, chance.choice(wrong)]])

    async def _judge(self, constellation: str, job: Job, records: dict[str, Any]) -> None:
        await self._use(constellation, job.id)
        task = job.tasks[0].rpartition("/")[0].rpartition("/")[0]
        holds = self._chance.choices(["yes", "no", "unclear", ""], [55, 20, 15, 10])[0]
        cited = [Cite(task=self._taken(task, records))] if holds == "yes" else []
        item = i.VerdictGiven(
            because="so it seems",
            by=f"worker:{self._name}",
            cites=cited,
            constellation=constellation,
            holds=holds,
            id=self._site.ident(),
            job=job.id,
            worker=self._name,
        )
        await self._ask(item)

    def _taken(self, task: str, records: dict[str, Any]) -> str:
        """Return the result that a yes cites: the judged one; of a vote one of its calls, or now and then the vote."""
        shows = records[f"spec/{task}"].shows
        if shows is None:
            return task
        calls = [found.id for found in records.values() if isinstance(found, TaskSpec) and found.group == shows.source]
        return self._chance.choice([*calls, *calls, *calls, task])
