"""The engine's loop: take all that queued, step each, one commit, then act. Nothing else owns state.

One commit is in flight at a time and no timer stands on that path. Events leave the loop only once committed;
answers and effects that promise durability wait for the history's watermark. If a commit's fate is unknown, its
position is read back before anything else; if the shard was lost, it is taken again and state is reloaded.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any

import msgspec
from msgspec.structs import replace

from starloom.core.apply import load
from starloom.core.effects import DURABLE, Answer, AnyEffect, ArmTimer, OutboxEffect
from starloom.core.inputs import (
    AnyInput,
    DeviceConnected,
)
from starloom.core.invariants import Violated, check
from starloom.core.model import Shard, ShardSettings
from starloom.core.retire import missing
from starloom.core.step import step
from starloom.core.timers import due_moments, is_stale
from starloom.core.work import Work
from starloom.engine.acks import REPORTS, Acknowledgements
from starloom.engine.counts import Counts, Measured
from starloom.engine.inbox import EngineInbox, Entry
from starloom.engine.jobs import JOB_SWEEP_MS, unworked
from starloom.engine.leases import Leases
from starloom.engine.ports import Clock, DeviceSender, JobSender, LiveSink, Reply, ValueStore
from starloom.engine.pump import Pump
from starloom.engine.remote import take_remote
from starloom.engine.retiring import Retiring, decode_entities
from starloom.engine.settings import EngineSettings
from starloom.engine.timers import Timers
from starloom.store.port import Commit, CommitPort, Damaged, InboxPort, Ownership, Refused, Unavailable
from starloom_protocol.entities import Fault
from starloom_protocol.vocabulary import CODES, Code

log = logging.getLogger("starloom.engine")

SLOW_STEP_MS = 50
LAG_MOST_MS = 2_000
RETRY_MS = 200
OWNER_RENEW_MS = 5_000
RETIRE_SWEEP_MS = 1_000

_encode_effect = msgspec.json.Encoder().encode
_decode_effect = msgspec.json.Decoder(OutboxEffect)


class Engine:
    """Owns the shard from `start` to `stop`."""

    def __init__(
        self,
        *,
        store: CommitPort,
        remote: InboxPort | None,
        clock: Clock,
        sender: DeviceSender,
        live: LiveSink,
        jobs: JobSender,
        values: ValueStore,
        settings: EngineSettings,
        chance: random.Random | None = None,
        secret: Callable[[str], str | None] = lambda _name: None,
        measure: Measured | None = None,
    ) -> None:
        self._store = store
        self._remote = remote
        self._clock = clock
        self._sender = sender
        self._live = live
        self._jobs = jobs
        self._settings = settings
        self._chance = chance or random.Random()  # noqa: S311 - jitter, no secret
        self._measure = measure
        self._leases = Leases(clock, ttl_ms=settings.lease_ttl_ms, grace_ms=settings.lease_grace_ms)
        self.inbox = EngineInbox(self._leases)
        self._timers = Timers(clock, self.inbox.post, lambda timer: is_stale(self._shard, timer))
        self._pump = Pump(
            sender=sender, live=live, jobs=jobs, leases=self._leases, timers=self._timers, values=values, secrets=secret
        )
        self._shard = Shard()
        self._own: Ownership | None = None
        self._pos = 0
        self._sent_pos = 0
        self._watermark = 0
        self._now_ms = 0
        self._later: deque[tuple[int, list[AnyEffect], list[tuple[asyncio.Future[Reply], Reply]]]] = deque()
        self._acks = Acknowledgements(sender)
        self.retiring = Retiring(store, clock, settings.keeping, self._acks)
        self._turn = asyncio.Lock()  # one at a time: a batch with its commit, or what leaves and comes back
        self._tasks: list[asyncio.Task[None]] = []
        self._committed = asyncio.Event()
        self.counts = Counts()
        self.ready = False

    @property
    def shard(self) -> Shard:
        """The shard, for tests and for the invariant monitor; nobody else reads it."""
        return self._shard

    def received(self, device: str) -> int:
        """Return the highest report number of a device that is durable, as far as this hub knows."""
        return self._acks.durable(device)

    # -- start and stop

    async def start(self) -> None:
        """Take the shard, load it, arm its timers, open for inputs."""
        await self._take_and_load()
        self._spawn(self._run(), "loop")
        self._spawn(self._follow_history(), "history")
        self._spawn(self._timers.run(), "timers")
        self._spawn(self._sweep_leases(), "leases")
        self._spawn(self._sweep_jobs(), "jobs")
        self._spawn(self._keep_owning(), "owner")
        self._spawn(self._sweep_finished(), "finished")
        if self._remote is not None:
            self._spawn(take_remote(self._remote, self.inbox, self._clock, self._bring), "remote")
        self.ready = True

    async def stop(self) -> None:
        """Take no more, commit what is queued, wait until it is durable, end."""
        self.ready = False
        self.inbox.closed = True
        for _ in range(50):
            if not len(self.inbox) and not self._later:
                break
            await self._clock.wait(100)
        for task in self._tasks:
            task.cancel()
        for task in self._tasks:
            with contextlib.suppress(asyncio.CancelledError):
                await task
        self._tasks.clear()

    def _spawn(self, work: Coroutine[Any, Any, None], name: str) -> None:
        task = asyncio.get_running_loop().create_task(work, name=f"engine-{name}")
        task.add_done_callback(self._ended)
        self._tasks.append(task)

    def _ended(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and task.exception() is not None:
            self.ready = False
            self.inbox.refusing = f"the engine's {task.get_name()} has stopped"
            log.critical("event=engine_task_died task=%s", task.get_name(), exc_info=task.exception())

    async def _take_and_load(self) -> None:
        """Start of an owner, in the order of engine.md; also after the shard was lost."""
        own = await self._store.take(self._settings.owner, self._clock.now_ms())
        loaded = await self._store.load()
        settings = self._settings
        shard = Shard(
            ShardSettings(
                ttl_ms=settings.lease_ttl_ms,
                grace_ms=settings.lease_grace_ms,
                absence_margin_ms=min(2_000, settings.lease_ttl_ms // 8),
                backoff_first_ms=settings.backoff_first_ms,
                backoff_most_ms=settings.backoff_most_ms,
            )
        )
        shard.incarnation = own.incarnation
        order = sorted(loaded.entities, key=lambda name: (name not in ("fleet", "access"), name))
        for stream in order:
            load(shard, stream, loaded.heads.get(stream, 0), decode_entities(loaded.entities[stream]))
        shard.touched.clear()
        shard.settled.clear()
        self._own = own
        self._shard = self._leases.shard = self._pump.shard = shard
        self._pos = loaded.pos
        self._sent_pos = loaded.sent_pos
        self._watermark = own.watermark
        self.retiring.reload(shard, loaded.pos)
        self._leases.grant_all()
        self._timers.replace(due_moments(shard))
        for _pos, raw in loaded.outbox:
            self._pump.act(_decode_effect.decode(raw))
        self._sent_pos = loaded.pos
        log.info(
            "event=shard_taken term=%d incarnation=%d pos=%d constellations=%d",
            own.term,
            own.incarnation,
            loaded.pos,
            len(shard.live),
        )

    # -- the loop

    async def _run(self) -> None:
        while True:
            batch = await self.inbox.batch()
            async with self._turn:
                if away := missing(self._shard, (item for item, _future in batch)):
                    batch = await self._bring_for(away, batch)
                work = self._step_all(batch)
                if work.events:
                    await self._commit(work, batch)
                else:
                    self._shard.journal.clear()
                    self._act(work, batch)

    def _step_all(self, batch: list[Entry]) -> Work:
        shard = self._shard
        work = Work(shard)
        self._now_ms = now = max(self._now_ms, self._clock.now_ms())
        for item, _future in batch:
            if isinstance(item, DeviceConnected):
                self._acks.note_ledger(item)
            begun = self._measure() if self._measure else 0.0
            self._step_one(work, replace(item, at_ms=now, roll=self._chance.getrandbits(32)))
            if self._measure and (self._measure() - begun) * 1000 > SLOW_STEP_MS:
                self.counts.slow_steps += 1
                log.warning("event=slow_step input=%s ms=%d", type(item).__name__, (self._measure() - begun) * 1000)
        self.counts.inputs += len(batch)
        for reason, count in work.ignored.items():
            self.counts.ignored[reason] = self.counts.ignored.get(reason, 0) + count
        return work

    def _step_one(self, work: Work, item: AnyInput) -> None:
        """Step one input; a fault of ours costs that input alone, is told to its asker and logged whole."""
        marks, answers = work.marks(), len(work.answers)
        try:
            step(work, item)
        except Exception:
            log.exception("event=step_failed input=%s id=%s", type(item).__name__, item.id)
            self.counts.failed_steps += 1
            work.back_to(marks)
            del work.answers[answers:]
            info = CODES[Code.INTERNAL]
            fault = Fault(
                code=Code.INTERNAL, reason=f"{type(item).__name__} {item.id} was not carried out", hint=info.hint
            )
            work.answers.append(Answer(input_id=item.id, faults=[fault]))

    async def _commit(self, work: Work, batch: list[Entry]) -> None:
        assert self._own is not None  # noqa: S101 - the loop runs only after `start` took the shard
        published = []
        events: list[bytes] = []
        entities: dict[tuple[str, str], bytes | None] = {}
        heads: dict[str, int] = {}
        for drafted in work.events:
            event, raw, flat = drafted.finished()
            published.append((event, raw))
            events.append(raw)
            heads[event.stream] = event.seq
            for stream, key, record in flat:
                entities[(stream, key)] = record
        commit = Commit(
            at_ms=self._now_ms,
            entities=[(stream, key, raw) for (stream, key), raw in entities.items()],
            events=events,
            heads=list(heads.items()),
            incarnation=self._own.incarnation,
            outbox=[_encode_effect(effect) for effect in work.effects if not isinstance(effect, ArmTimer)],
            pos=self._pos + 1,
            sent_pos=self._sent_pos,
            term=self._own.term,
            waited_for=_is_waited_for(work),
        )
        if not await self._make_durable_in_redis(commit):
            self._drop(batch)
            return
        self._pos += 1
        self._shard.journal.clear()
        self.retiring.note(self._shard, heads, self._pos, self._now_ms)
        self.counts.commits += 1
        self.counts.events += len(events)
        if self._settings.check_every and self._pos % self._settings.check_every == 0:
            self._check()
        # Orders first: devices wait for them. Who asked wakes after this turn, and then the read models have it too.
        self._act(work, batch)
        self._live.publish(self._pos, published)

    async def _make_durable_in_redis(self, commit: Commit) -> bool:
        """Commit, through outages; False if another owner has the shard and this batch is void."""
        while True:
            try:
                await self._store.commit(commit)
            except Unavailable as error:
                self.inbox.refusing = "the store does not answer"
                log.warning("event=commit_unavailable pos=%d reason=%s", commit.pos, error)
                if await self._was_applied(commit):
                    self.inbox.refusing = None
                    return True
            except Refused as refused:
                log.warning("event=commit_refused pos=%d reason=%s", commit.pos, refused)
                retaken = await self._retake(commit)
                if retaken is None:
                    return False
                commit = retaken
            else:
                self.inbox.refusing = None
                return True

    async def _was_applied(self, commit: Commit) -> bool:
        while True:
            await self._clock.wait(RETRY_MS)
            try:
                pos, _term, _run = await self._store.position()
            except Unavailable:
                continue
            return pos >= commit.pos

    async def _retake(self, commit: Commit) -> Commit | None:
        """Take the shard again after a refusal; return the commit under the new term, or None if state moved on.

        A replaced Redis was rebuilt from the history, which has every commit that this owner was told of: the
        refused one follows on it. If another owner has committed meanwhile, what was stepped here is void.
        """
        own = await self._regain(commit.pos - 1)
        if own is None:
            return None
        return replace(commit, incarnation=own.incarnation, term=own.term)

    async def _regain(self, pos_here: int) -> Ownership | None:
        """Take the shard again; None if the log is not at `pos_here`, and the shard was loaded anew."""
        self.counts.retaken += 1
        while True:
            try:
                held = list(self._shard.constellations)
                own = await self._store.take(self._settings.owner, self._clock.now_ms(), held)
                pos, _term, _run = await self._store.position()
                break
            except (Unavailable, Refused) as error:
                # `Damaged` is not caught: Redis and history do not belong together, and only a person can say which.
                log.warning("event=retake_failed reason=%s", error)
                await self._clock.wait(RETRY_MS)
        if pos != pos_here:
            await self._take_and_load()
            return None
        self._own = own
        self._shard.incarnation = own.incarnation
        self.retiring.retaken(self._shard, own.heads)
        self._leases.grant_all()
        return own

    def _drop(self, batch: list[Entry]) -> None:
        lost = Fault(
            code=Code.STORE_UNAVAILABLE,
            reason="another hub took over before this was committed",
            hint=CODES[Code.STORE_UNAVAILABLE].hint,
        )
        for _item, future in batch:
            if future is not None and not future.done():
                future.set_result(Reply(faults=[lost]))
        # Nobody else will say these again while the connection stands.
        self.inbox.put_back([item for item, future in batch if future is None and isinstance(item, REPORTS)])

    def _act(self, work: Work, batch: list[Entry]) -> None:
        """Effects and answers of a commit: now, or when the history has it."""
        futures = {item.id: future for item, future in batch if future is not None}
        effects_later: list[AnyEffect] = []
        answers_later: list[tuple[asyncio.Future[Reply], Reply]] = []
        durable = self._watermark >= self._pos
        for effect in work.effects:
            if effect.after == DURABLE and not durable:
                effects_later.append(effect)
            else:
                self._pump.act(effect)
        for answer in work.answers:
            future = futures.get(answer.input_id)
            if future is None or future.done():
                continue
            reply = Reply(faults=answer.faults, value=answer.value)
            if answer.after == DURABLE and not answer.faults and not durable:
                answers_later.append((future, reply))
            else:
                future.set_result(reply)
        if effects_later or answers_later:
            self._later.append((self._pos, effects_later, answers_later))
        elif not self._later:
            self._sent_pos = self._pos
        if self._acks.note(self._pos, (item for item, _future in batch)) and self._watermark >= self._pos:
            self._acks.send(self._watermark)
        self._committed.set()

    # -- what follows the history

    async def _follow_history(self) -> None:
        while True:
            if self._watermark >= self._pos:
                self._acks.send(self._watermark)
                self._committed.clear()
                if self._watermark >= self._pos:
                    await self._committed.wait()
                continue
            try:
                self._watermark = max(self._watermark, await self._store.watermark(self._watermark))
            except Unavailable as error:
                log.warning("event=history_unavailable reason=%s", error)
                self.inbox.refusing = "the history does not answer"
                await self._clock.wait(RETRY_MS)
                continue
            lag_ms = self._store.lag_ms(self._clock.now_ms())
            self.inbox.refusing = f"the history is {lag_ms} ms behind" if lag_ms > LAG_MOST_MS else None
            self._release()

    def _release(self) -> None:
        later = self._later
        while later and later[0][0] <= self._watermark:
            pos, effects, answers = later.popleft()
            for effect in effects:
                self._pump.act(effect)
            for future, reply in answers:
                if not future.done():
                    future.set_result(reply)
            self._sent_pos = max(self._sent_pos, pos)
        if not later:
            self._sent_pos = self._pos
        self._acks.send(self._watermark)

    # -- sweeps

    async def _sweep_leases(self) -> None:
        while True:
            await self._clock.wait(self._leases.sweep_ms)
            for item in self._leases.expired():
                self.inbox.post(item)

    async def _sweep_jobs(self) -> None:
        """Wake a worker again for every job that nobody works on: a message may be lost."""
        while True:
            await self._clock.wait(JOB_SWEEP_MS)
            for name, job in unworked(self._shard, self._clock.now_ms()):
                self._jobs.wake(job.kind, name, job.id)

    async def _keep_owning(self) -> None:
        while True:
            await self._clock.wait(OWNER_RENEW_MS)
            if self._own is None:
                continue
            try:
                still = await self._store.renew(self._settings.owner, self._own.term, self._clock.now_ms())
            except Unavailable as error:
                log.warning("event=owner_renew_unavailable reason=%s", error)
                continue
            if not still:
                # The next commit fails on its term and takes the shard again, or finds what the other did.
                log.warning("event=owner_lost term=%d", self._own.term)

    # -- finished constellations

    async def _sweep_finished(self) -> None:
        """Let finished constellations go; memory and Redis hold what is live and a bounded rest."""
        while True:
            await self._clock.wait(RETIRE_SWEEP_MS)
            self.inbox.put_back(self.retiring.take_waiting())
            some = True
            while some:
                async with self._turn:
                    try:
                        some = await self.retiring.let_go(self._shard, min(self._watermark, self._sent_pos))
                    except Refused as refused:
                        log.warning("event=retire_refused reason=%s", refused)
                        some = refused.why != "term" and await self._regain(self._pos) is not None

    async def _bring(self, name: str) -> None:
        async with self._turn:
            await self.retiring.bring(self._shard, [name], self._pos)

    async def _bring_for(self, away: list[str], batch: list[Entry]) -> list[Entry]:
        """Have in the shard what a batch is about, and return what can be stepped now."""
        try:
            await self.retiring.bring(self._shard, away, self._pos)
        except Refused as refused:
            log.warning("event=recall_refused reason=%s", refused)
            await self._regain(self._pos)
            batch = await self.retiring.bring_for(self._shard, batch, self._pos)
        except (Unavailable, Damaged) as error:
            batch = self.retiring.without(self._shard, batch, error)
        return batch

    def _check(self) -> None:
        try:
            check(self._shard)
        except Violated:
            log.exception("event=invariant_violated pos=%d", self._pos)
            raise


def _is_waited_for(work: Work) -> bool:
    """Whether anything of this batch is held back until the history has it."""
    return any(effect.after == DURABLE for effect in work.effects) or any(
        answer.after == DURABLE and not answer.faults for answer in work.answers
    )
