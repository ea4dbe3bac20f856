"""The engine's loop: takes all queued inputs, steps each, makes one commit, then acts. Nothing else owns state.

One commit is in flight at a time and no timer is on that path. Events leave the loop only once committed; answers and
orders that promise durability wait for the history's watermark. If a commit's fate is unknown, its position is read
back before anything else; if the shard was lost, it is taken again and state is reloaded.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import msgspec
from msgspec.structs import replace

from starloom.core.clock.retirement import missing
from starloom.core.clock.timers import due_moments, is_stale
from starloom.core.placement.queue_position import Held, Position, held_by_others, position
from starloom.core.state.apply import load
from starloom.core.state.inputs import AnyInput, DateWentBack, DeviceConnected, ResultReported
from starloom.core.state.invariants import Violated, check
from starloom.core.state.model import Shard
from starloom.core.state.orders import DURABLE, Answer, AnyOrder, ArmTimer, OutboxOrder
from starloom.core.state.work import Work
from starloom.core.step import step
from starloom.engine.commits import TAKEN_OVER, Committing, Counts, Measured, Recording, is_waited_for
from starloom.engine.inputs.inbox import EngineInbox, Entry, Lag
from starloom.engine.inputs.leases import Leases
from starloom.engine.inputs.remote import take_remote
from starloom.engine.inputs.timers import Timers
from starloom.engine.orders.pump import REPORTS, Acknowledgements, Pump, sweep_jobs
from starloom.engine.orders.secrets import DispatchedSecrets, NoSecrets, SecretDelivery, SecretSource
from starloom.engine.ownership import Owning, gone_with_their_hub
from starloom.engine.ports import Clock, DeviceSender, JobSender, LiveSink, Obstacle, Reply, ValueStore
from starloom.engine.retention.pruning import KeptFiles, Retention
from starloom.engine.retention.retiring import Retiring, decode_entities
from starloom.engine.settings import EngineSettings
from starloom.process.ending import end_tasks
from starloom.store.port import Commit, Damaged, InboxPort, Ownership, OwnerStore, Refused, Unavailable
from starloom_protocol.records.entities import Fault
from starloom_protocol.stream.authors import ENGINE
from starloom_protocol.stream.feed import Event
from starloom_protocol.vocabulary import CODES, Code, EffectSeen, Outcome
from starloom_protocol.wire.frames import ResultFrame

log = logging.getLogger("starloom.engine")

SLOW_STEP_MS = 50
"""A step takes less than a millisecond as a rule; one of so many delays every device, and is logged."""
RETRY_MS = 200
"""An outage is seen to end within this time; five tries a second cost nothing."""
STOP_WITHIN_MS = 5_000
"""A history that answers takes less to write what is queued; one that does not must not hold up the end of a hub."""
STOP_LOOK_MS = 100
RETIRE_SWEEP_MS = 1_000
"""Finished constellations leave in small portions between steps; a rarer sweep would have to stop the loop longer."""

_encode_order = msgspec.json.Encoder().encode
_decode_order = msgspec.json.Decoder(OutboxOrder)


def _not_taken(frame: ResultFrame) -> ResultFrame:
    """Return the failure that stands for a result which the hub failed to take; the work may have been done."""
    return ResultFrame(
        at=frame.at,
        code=Code.INTERNAL,
        detail=f"the hub has a fault and did not take the result ({frame.outcome}); its log says where",
        effect=EffectSeen.MAYBE,
        outcome=Outcome.ERROR,
        report=frame.report,
        tail=frame.tail,
    )


class Deferred(msgspec.Struct, frozen=True):
    """The part of a commit that waits until the history has it."""

    pos: int
    orders: list[AnyOrder]
    answers: list[tuple[asyncio.Future[Reply], Reply]]


class Engine:
    """Owns the shard from `start` to `stop`. `on_refused(device, door, reason)` is called with each refusal of a
    device's report, `on_pruned` with the constellations that left the history. `first_inputs` gives the inputs that are
    decided before any timer of a shard that was just taken.
    """

    def __init__(
        self,
        *,
        store: OwnerStore,
        remote: InboxPort | None,
        clock: Clock,
        sender: DeviceSender,
        live: LiveSink,
        jobs: JobSender,
        values: ValueStore,
        settings: EngineSettings,
        chance: random.Random | None = None,
        secrets: SecretSource | None = None,
        dispatched_secrets: DispatchedSecrets | None = None,
        measure: Measured | None = None,
        on_refused: Callable[[str, str, str], None] | None = None,
        kept_files: KeptFiles | None = None,
        on_pruned: Callable[[list[str]], None] | None = None,
        first_inputs: Callable[[], list[AnyInput]] = list,
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
        self._on_refused = on_refused
        self._first_inputs = first_inputs
        self._leases = Leases(clock, ttl_ms=settings.lease_ttl_ms, grace_ms=settings.lease_grace_ms)
        self._owning = Owning(store, clock, settings)
        self.inbox = EngineInbox(self._leases, self._owning, clock)
        self._lag = Lag(store, clock, self.inbox)
        self.timers = Timers(clock, self.inbox.post, lambda timer: is_stale(self._shard, timer))
        self.dispatched_secrets = DispatchedSecrets() if dispatched_secrets is None else dispatched_secrets
        self._secret_delivery = SecretDelivery(secrets or NoSecrets(), self.dispatched_secrets, self.inbox, clock)
        self._pump = Pump(
            sender=sender,
            live=live,
            jobs=jobs,
            leases=self._leases,
            timers=self.timers,
            values=values,
            secret_delivery=self._secret_delivery,
        )
        self._shard = Shard()
        self._pos = 0
        self._sent_pos = 0
        self._watermark = 0
        self._now_ms = 0
        self._newest_ms = 0
        self._deferred: deque[Deferred] = deque()
        self._acks = Acknowledgements(sender)
        self._recording = Recording()
        self.retiring = Retiring(store, clock, settings.keeping, self._acks, self._recording)
        self._turn = asyncio.Lock()  # one at a time: a batch with its commit, retiring, or loading back
        self.retention = Retention(
            store,
            clock,
            settings.history,
            self._turn,
            lambda: self._shard,
            self.retiring.in_redis,
            kept_files,
            on_pruned,
        )
        self._tasks: list[asyncio.Task[None]] = []
        self._committed = asyncio.Event()
        self.counts = Counts()
        self._committing = Committing(store, clock, settings.owner, self._owning, self.inbox, self.counts, self)
        self.ready = False
        self.last: list[bytes] | None = None  # the events of the last commit, if there was one
        self._unpublished: tuple[int, list[tuple[Event, bytes]]] | None = None

    @property
    def shard(self) -> Shard:
        """The shard, for reading only."""
        return self._shard

    def received(self, device: str) -> int:
        """Return the highest report number of a device that is durable, as far as this hub knows."""
        return self._acks.durable(device)

    def position(self, constellation: str, task: str) -> Position | None:
        """Return where a ready task stands in the queues; None if it waits in none."""
        return position(self._shard, constellation, task)

    def held_by_others(self, constellation: str) -> list[Held]:
        """Return the slots that other constellations hold."""
        return held_by_others(self._shard, constellation)

    async def start(self, loaded: Callable[[int], Awaitable[None]] | None = None) -> None:
        """Take the shard, load it, arm its timers, open for inputs; `loaded` is awaited with the log's end before that.

        Raises:
            Refused: `held`, if the shard is to be taken politely and another hub has it.
        """
        settings = self._settings
        owned = await self._store.take(settings.owner, self._clock.now_ms(), polite=settings.polite)
        await self._load(owned)
        if loaded is not None:
            await loaded(self._pos)
        for item in (*self._went_back(owned), *self._first_inputs(), *gone_with_their_hub(self._shard, owned.term)):
            self.inbox.post(item)
        self._spawn(self._run(), "loop")
        self._spawn(self._follow_history(), "history")
        self._spawn(self._acks.run(self._clock, lambda: self._watermark), "acks")
        self._spawn(self._lag.watch(), "lag")
        self._spawn(self.timers.run(), "timers")
        self._spawn(self._sweep_leases(), "leases")
        self._spawn(sweep_jobs(self._clock, lambda: self._shard, self._jobs), "jobs")
        self._spawn(self._owning.keep(lambda: self.ready, self._look_after), "owner")
        self._spawn(self._owning.prove(), "proofs")
        self._spawn(self._sweep_finished(), "finished")
        self._spawn(self.retention.run(settings.prune_every_ms), "retention")
        if self._remote is not None:
            self._spawn(
                take_remote(self._remote, self.inbox, self._clock, self._bring, lambda: self.inbox.closed), "remote"
            )
        self.ready = True

    async def stop(self) -> None:
        """Accept no more inputs, commit the queued ones, wait until they are durable, 5 s at most, end."""
        self.ready = False
        self.inbox.closed = True
        for _ in range(STOP_WITHIN_MS // STOP_LOOK_MS):
            if self.lost.is_set() or (not len(self.inbox) and not self._deferred):
                break
            await self._clock.wait(STOP_LOOK_MS)
        # The error of a failed task was logged when it failed.
        await end_tasks(self._tasks)
        self._tasks.clear()
        self._drop(self.inbox.close())
        self._refuse_deferred()
        self._publish()
        try:
            await self._store.leave(release=not self.lost.is_set())
        except Unavailable as error:
            log.warning("event=release_unavailable reason=%s", error)

    @property
    def lost(self) -> asyncio.Event:
        """Set permanently when another hub has the shard or a task of ours has failed: this engine must be stopped."""
        return self._owning.lost

    @property
    def pos(self) -> int:
        """The position of the last commit."""
        return self._pos

    @property
    def term(self) -> int:
        """The term under which the shard is held; 0 before it was taken."""
        return self._owning.own.term if self._owning.own else 0

    def _spawn(self, work: Coroutine[Any, Any, None], name: str) -> None:
        task = asyncio.get_running_loop().create_task(work, name=f"engine-{name}")
        task.add_done_callback(self._note_end)
        self._tasks.append(task)

    def _note_end(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and task.exception() is not None:
            log.critical("event=engine_task_died task=%s", task.get_name(), exc_info=task.exception())
            self.lose(f"the task {task.get_name()} has died; its state is loaded again")

    def _went_back(self, ownership: Ownership) -> list[DateWentBack]:
        """Return what tells the core, before anything else, that the log has a later time than now."""
        now_ms = self._clock.now_ms()
        if self._newest_ms <= now_ms:
            return []
        log.warning("event=date_went_back by_ms=%d", self._newest_ms - now_ms)
        return [DateWentBack(by=ENGINE, id=f"date-{ownership.term}", newest_ms=self._newest_ms)]

    async def _load(self, ownership: Ownership) -> None:
        """Load the live streams: `access` and `fleet`, then the others by name. The order influences decisions.

        Raises:
            Damaged: a record is of a later version; nothing is written.
        """
        loaded = await self._store.load()
        shard = Shard(self._settings.shard_settings())
        shard.incarnation = ownership.incarnation
        order = sorted(loaded.entities, key=lambda name: (name not in ("fleet", "access"), name))
        for stream in order:
            load(shard, stream, loaded.heads.get(stream, 0), decode_entities(loaded.entities[stream]))
        shard.touched.clear()
        shard.settled.clear()
        self._owning.own = ownership
        self._shard = self._leases.shard = self._pump.shard = shard
        self._pos, self.last, self._newest_ms = loaded.pos, None, loaded.at_ms
        self._sent_pos = loaded.sent_pos
        self._watermark = ownership.watermark
        self.retiring.reload(shard, loaded.pos)
        self._recording.shard_loaded(shard)
        self._leases.grant_all()
        self.timers.replace(due_moments(shard))
        await self._secret_delivery.recall(shard)
        for _pos, raw in loaded.outbox:
            self._pump.act(_decode_order.decode(raw))
        self._sent_pos = loaded.pos
        log.info(
            "event=shard_taken term=%d incarnation=%d pos=%d constellations=%d",
            ownership.term,
            ownership.incarnation,
            loaded.pos,
            len(shard.live),
        )

    async def _run(self) -> None:
        while not self.lost.is_set():
            batch = await self.inbox.batch()
            try:
                async with self._turn:
                    if self.lost.is_set():
                        self._drop(batch)
                        return
                    await self._carry_out(batch)
            except BaseException:
                self._drop(batch)
                raise

    async def _carry_out(self, batch: list[Entry]) -> None:
        if absent := missing(self._shard, [item for item, _future in batch]):
            self._publish()
            batch = await self._bring_for(absent, batch)
        work = self._step_all(batch)
        if work.events:
            await self._commit(work, batch)
        else:
            self._publish()
            self._shard.journal.clear()
            self._act(work, batch)

    def _step_all(self, batch: list[Entry]) -> Work:
        shard = self._shard
        work = Work(shard)
        self._now_ms = now = max(self._now_ms, self._clock.now_ms())
        for item, _future in batch:
            if isinstance(item, DeviceConnected):
                self._acks.note_ledger(item)
            began_s = self._measure() if self._measure else 0.0
            undos, item = work.undos, replace(item, at_ms=now, roll=self._chance.getrandbits(32))
            item = self._step_one(work, item)
            self._recording.stepped(item, decided=len(work.events) != work.input_marks.events or work.undos != undos)
            if self._measure and (self._measure() - began_s) * 1000 > SLOW_STEP_MS:
                self.counts.slow_steps += 1
                log.warning("event=slow_step input=%s ms=%d", type(item).__name__, (self._measure() - began_s) * 1000)
        self.counts.inputs += len(batch)
        for reason, count in work.ignored.items():
            self.counts.ignored[reason] = self.counts.ignored.get(reason, 0) + count
        if self._on_refused is not None:
            for device, door, reason in work.refusals:
                self._on_refused(device, door, reason)
        return work

    def _step_one(self, work: Work, item: AnyInput) -> AnyInput:
        """Step one input and return it; an internal error affects that input alone and is logged in full.

        Its asker gets the fault. A result was acknowledged and does not come again, so the failure of its attempt is
        stepped and returned in its place, and its task ends.
        """
        try:
            step(work, item)
        except Exception:
            log.exception("event=step_failed input=%s id=%s", type(item).__name__, item.id)
            self.counts.failed_steps += 1
            work.undo_input()
            if isinstance(item, ResultReported) and item.frame.code is not Code.INTERNAL:
                return self._step_one(work, replace(item, frame=_not_taken(item.frame)))
            info = CODES[Code.INTERNAL]
            fault = Fault(
                code=Code.INTERNAL, reason=f"{type(item).__name__} {item.id} was not carried out", hint=info.hint
            )
            work.answers.append(Answer(input_id=item.id, faults=[fault]))
        return item

    async def _commit(self, work: Work, batch: list[Entry]) -> None:
        own = self._owning.own
        assert own is not None  # noqa: S101 - the loop runs only after `start` took the shard
        published = []
        events: list[bytes] = []
        entities: dict[str, dict[str, bytes | None]] = {}
        heads: dict[str, int] = {}
        for pending in work.events:
            event, raw, puts = pending.encoded()
            published.append((event, raw))
            events.append(raw)
            heads[event.stream] = event.seq
            entities.setdefault(event.stream, puts).update(puts)
        commit = Commit(
            at_ms=self._now_ms,
            entities=entities,
            events=events,
            heads=list(heads.items()),
            incarnation=own.incarnation,
            outbox=[_encode_order(order) for order in work.orders if not isinstance(order, ArmTimer)],
            pos=self._pos + 1,
            sent_pos=self._sent_pos,
            term=own.term,
            waited_for=is_waited_for(work),
            inputs=self._recording.finished(),
            told=[event for event, _raw in published],
        )
        if self._unpublished is not None:
            # It runs once this commit is on its way, in the time that Redis takes for it.
            asyncio.get_running_loop().call_soon(self._publish)
        if not await self._committing.commit(commit):
            self._drop(batch)
            return
        self._publish()
        self._pos += 1
        self._shard.journal.clear()
        self.retiring.note(self._shard, heads, self._pos, self._now_ms)
        self.counts.commits += 1
        self.counts.events += len(events)
        if self._settings.check_every and self._pos % self._settings.check_every == 0:
            self._check()
        # Orders first: devices wait for them. Askers wake after this turn, when the read models have the commit too.
        self._act(work, batch)
        self.last = events
        self._unpublished = (self._pos, published)
        if not len(self.inbox) or any(future is not None for _item, future in batch):
            self._publish()

    def _publish(self) -> None:
        """Pass the last commit on to the live sink, if that is still to be done.

        While inputs wait that nobody asked for, such as results, it is done beside the next commit.
        """
        if self._unpublished is not None:
            unpublished, self._unpublished = self._unpublished, None
            self._live.publish(*unpublished)

    def held(self) -> list[str]:
        """Return the names of the constellations in memory."""
        return list(self._shard.constellations)

    def retaken(self, ownership: Ownership) -> None:
        """Continue under a new term with the state in memory."""
        self._shard.incarnation = ownership.incarnation
        self._recording.shard_regained(self._shard)
        self.retiring.retaken(self._shard, ownership.heads)
        self._leases.grant_all()

    async def _look_after(self, renewed: bool) -> None:
        if renewed and self._turn.locked():
            return  # a commit is under way and makes the same check
        async with self._turn:
            if not self.lost.is_set():
                await self._committing.check_ownership(self._pos, renewed=renewed)

    def lose(self, reason: str = "another hub has taken over") -> None:
        """Give up the state in memory and answer all waiting askers."""
        log.warning("event=shard_lost term=%d pos=%d reason=%s", self.term, self._pos, reason)
        self.ready = False
        self._publish()
        self._owning.lost.set()
        self.inbox.refusing = Obstacle(reason)
        self._drop(self.inbox.close())
        self._refuse_deferred()
        self.inbox.wake()

    def _refuse_deferred(self) -> None:
        """Answer with a fault all that waits for the history: another owner decides whether it becomes durable."""
        self._acks.forget()
        while self._deferred:
            for future, _reply in self._deferred.pop().answers:
                if not future.done():
                    future.set_result(Reply(faults=[TAKEN_OVER]))

    def _drop(self, batch: list[Entry]) -> None:
        for _item, future in batch:
            if future is not None and not future.done():
                future.set_result(Reply(faults=[TAKEN_OVER]))
        if self.lost.is_set():
            return
        # Devices do not repeat these reports while their connection is open.
        self.inbox.put_back([item for item, future in batch if future is None and isinstance(item, REPORTS)])

    def _act(self, work: Work, batch: list[Entry]) -> None:
        """Carry out orders and answers of a commit: now, or once the history has it."""
        futures = {item.id: future for item, future in batch if future is not None}
        deferred = Deferred(self._pos, [], [])
        durable = self._watermark >= self._pos
        for order in work.orders:
            if order.after == DURABLE and not durable:
                deferred.orders.append(order)
            else:
                self._pump.act(order)
        self._sender.flush()
        for answer in work.answers:
            future = futures.get(answer.input_id)
            if future is None or future.done():
                continue
            reply = Reply(faults=answer.faults, value=answer.value)
            if answer.after == DURABLE and not answer.faults and not durable:
                deferred.answers.append((future, reply))
            else:
                future.set_result(reply)
        if deferred.orders or deferred.answers:
            self._deferred.append(deferred)
        elif not self._deferred:
            self._sent_pos = self._pos
        if self._acks.note(self._pos, [item for item, _future in batch]) and self._watermark >= self._pos:
            self._acks.due()
        self._committed.set()

    async def _follow_history(self) -> None:
        while True:
            if self._watermark >= self._pos:
                self._acks.due()
                self._committed.clear()
                if self._watermark >= self._pos:
                    await self._committed.wait()
                continue
            try:
                self._watermark = max(self._watermark, await self._store.watermark(self._watermark))
            except Unavailable as error:
                log.warning("event=history_unavailable reason=%s", error)
                self._lag.failed(error)
                await self._clock.wait(RETRY_MS)
                continue
            self._lag.note_written()
            self._release()

    def _release(self) -> None:
        deferred = self._deferred
        while deferred and deferred[0].pos <= self._watermark:
            durable = deferred.popleft()
            for order in durable.orders:
                self._pump.act(order)
            for future, reply in durable.answers:
                if not future.done():
                    future.set_result(reply)
            self._sent_pos = max(self._sent_pos, durable.pos)
        self._sender.flush()
        if not deferred:
            self._sent_pos = self._pos
        self._acks.due()

    async def _sweep_leases(self) -> None:
        while True:
            await self._clock.wait(self._leases.sweep_ms)
            for item in self._leases.expired():
                self.inbox.post(item)

    async def _sweep_finished(self) -> None:
        """Retire finished constellations; memory and Redis hold the live ones and a bounded rest."""
        while True:
            await self._clock.wait(RETIRE_SWEEP_MS)
            self.inbox.put_back(self.retiring.take_waiting())
            some = True
            while some and not self.lost.is_set():
                async with self._turn:
                    try:
                        some = await self.retiring.let_go(self._shard, min(self._watermark, self._sent_pos))
                    except Refused as refused:
                        log.warning("event=retire_refused reason=%s", refused)
                        some = await self._committing.regain(self._pos) is not None

    async def _bring(self, name: str) -> None:
        async with self._turn:
            await self.retiring.bring(self._shard, [name], self._pos)

    async def _bring_for(self, absent: list[str], batch: list[Entry]) -> list[Entry]:
        """Load the constellations that a batch is about, and return the inputs that can be stepped now."""
        try:
            await self.retiring.bring(self._shard, absent, self._pos)
        except Refused as refused:
            log.warning("event=recall_refused reason=%s", refused)
            await self._committing.regain(self._pos)
            if self.lost.is_set():
                self._drop(batch)
                return []
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
