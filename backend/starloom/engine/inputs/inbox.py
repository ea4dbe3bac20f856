"""The engine's inbox: a bounded queue of inputs, each with or without a future for its answer.

Requests are refused when the queue is long, the store does not answer or the history lags. Reports are never refused:
their agents hold the only other copy. A device with many of them is read no further until there is `room`.

A failing history raises errors. One that is stopped, or behind a connection that drops everything, raises none, so its
lag behind the commits (`Lag`) is also checked by the clock, not only when the history moves.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final

from starloom.core.state.inputs import AnyInput, ControlRequested, EditProposed, RequestReceived
from starloom.engine.inputs.leases import Leases
from starloom.engine.ownership import Owning
from starloom.engine.ports import Clock, Obstacle, Overloaded, Reply
from starloom.store.port import CommitPort, Corrupt, Unavailable
from starloom_protocol.records.entities import Fault
from starloom_protocol.vocabulary import Code
from starloom_protocol.wire.frames import LeaseRef, Renew

QUEUE_MOST = 10_000
"""They are worked off within seconds; more are refused as `overloaded`, but a control always passes."""
BATCH_MOST = 256
"""The answer to the first input of a commit waits for the last one: with so many, some ten milliseconds."""
_NEW_WORK = (RequestReceived, EditProposed)
_ALWAYS = (ControlRequested,)

CROWDED: Final = 1_000
"""A device with so many inputs is read no further while as many wait: four commits, worked off in a part of a second.
An honest agent sends them only as it comes back with its reports."""

ANSWER_MOST_MS: Final = 10_000
"""An outage keeps an asker waiting no longer: a database that is started again is back within it, and a person who has
to stop something is not told nothing."""
NOT_SAFE: Final = "it is taken, and not safe yet: {}"
NOT_SAFE_HINT: Final = (
    "It stands unless the hub or Redis is lost before that ends. See what became of it: starloom show."
)

Entry = tuple[AnyInput, "asyncio.Future[Reply] | None"]


class EngineInbox:
    """Implements `ports.Inbox`; the loop takes batches from it."""

    def __init__(self, leases: Leases, owning: Owning, clock: Clock) -> None:
        self._leases = leases
        self._owning = owning
        self._clock = clock
        self._queue: deque[Entry] = deque()
        self._waits: deque[tuple[int, asyncio.Future[Reply]]] = deque()
        self._filled = asyncio.Event()
        self._taken = 0
        self._waiting_for_room: deque[tuple[int, asyncio.Future[None]]] = deque()
        self.refusing: Obstacle | None = None
        self.behind: Obstacle | None = None
        self.closed = False

    @property
    def waits_for(self) -> Obstacle | None:
        """The reason why new work is refused: the live store (`refusing`) or the history (`behind`), each temporary."""
        return self.refusing or self.behind

    async def ask(self, item: AnyInput) -> Reply:
        """Queue an input and wait for its answer through every outage (see `ports.Inbox`)."""
        return await self._queued(item)

    async def ask_in_time(self, item: AnyInput) -> Reply:
        """Queue an input of a person or a program, who is answered in time also during an outage (`end_waits`)."""
        future = self._queued(item)
        self._waits.append((self._clock.now_ms(), future))
        return await future

    def _queued(self, item: AnyInput) -> asyncio.Future[Reply]:
        if self.closed:
            raise Overloaded(self.refusing.reason if self.refusing else "the hub is stopping", 1)
        if isinstance(item, _NEW_WORK) and (why := self.waits_for) is not None:
            raise Overloaded(why.reason, 2, why.code)
        if len(self._queue) >= QUEUE_MOST and not isinstance(item, _ALWAYS):
            raise Overloaded(f"{len(self._queue)} inputs are waiting", 1)
        future: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self._append(item, future)
        return future

    def end_waits(self) -> None:
        """Answer those whom an outage has kept waiting for too long; of them, nothing that is still queued is done."""
        waits, why, now_ms = self._waits, self.waits_for, self._clock.now_ms()
        while waits and (waits[0][1].done() or (why is not None and now_ms - waits[0][0] >= ANSWER_MOST_MS)):
            future = waits.popleft()[1]
            if why is None or future.done():
                continue
            queue = deque(entry for entry in self._queue if entry[1] is not future)
            if len(queue) < len(self._queue):
                self._queue = queue
                self._note_taken(1)
                future.set_exception(Overloaded(why.reason, 2, why.code))
            else:
                fault = Fault(code=Code.UNSETTLED, reason=NOT_SAFE.format(why.reason), hint=NOT_SAFE_HINT)
                future.set_result(Reply(faults=[fault]))

    def post(self, item: AnyInput) -> None:
        """Queue an input without an answer."""
        self._append(item, None)

    def room(self) -> asyncio.Future[None] | None:
        """Return when all that waits now will have been taken (see `ports.Inbox`)."""
        if len(self._queue) < CROWDED:
            return None
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting_for_room.append((self._taken + len(self._queue), future))
        return future

    def alive(self, device: str, running: Sequence[LeaseRef], sent_ms: int) -> Renew:
        """Renew leases at once, from memory."""
        renew, returned = self._leases.alive(device, running, sent_ms)
        for item in returned:
            self.post(item)
        return renew

    def when_proved(self, device: str, on_proved: Callable[[], object]) -> None:
        """Call `on_proved` once the shard is proved to be ours after this call (see `ports.Inbox`)."""
        self._owning.when_proved(device, on_proved)

    def close(self) -> list[Entry]:
        """Accept no more inputs and return those still queued; they will not be stepped here."""
        self.closed = True
        queued = list(self._queue)
        self._queue.clear()
        self._note_taken(len(queued))
        return queued

    def _append(self, item: AnyInput, future: asyncio.Future[Reply] | None) -> None:
        self._queue.append((item, future))
        self._filled.set()

    def put_back(self, items: Sequence[AnyInput]) -> None:
        """Put reports of a failed batch back in front: acknowledgements rely on their order."""
        self._queue.extendleft((item, None) for item in reversed(items))
        self._taken -= len(items)
        self._filled.set()

    def __len__(self) -> int:
        return len(self._queue)

    async def batch(self) -> list[Entry]:
        """Wait for at least one input and take all queued ones, up to a bound."""
        if self._queue:
            # Effects of the last commit are sent, and arrived inputs are read, before more is stepped.
            await asyncio.sleep(0)
        while not self._queue:
            self._filled.clear()
            await self._filled.wait()
        queue = self._queue
        batch = [queue.popleft() for _ in range(min(len(queue), BATCH_MOST))]
        self._note_taken(len(batch))
        return batch

    def _note_taken(self, count: int) -> None:
        self._taken += count
        while self._waiting_for_room and self._waiting_for_room[0][0] <= self._taken:
            future = self._waiting_for_room.popleft()[1]
            if not future.done():
                future.set_result(None)

    def wake(self) -> None:
        """Wake a waiting `batch`."""
        self._filled.set()


LAG_MOST_MS = 2_000
"""New work is refused while SQL lags by more, so that the durable history stays close behind the live state."""
LOOK_MS = 250
"""The lag is noticed within an eighth of its bound."""


class Lag:
    """Sets the inbox's obstacle while the history is too far behind, and ends waits that an obstacle makes too long."""

    def __init__(self, store: CommitPort, clock: Clock, inbox: EngineInbox) -> None:
        self._store = store
        self._clock = clock
        self._inbox = inbox

    def failed(self, error: Unavailable) -> None:
        """Note that the history could not be written; `note_written` clears it."""
        self._inbox.behind = obstacle_of(error, "the history does not answer")

    def note_written(self) -> None:
        """Note that the history was written: it answers, however far behind it is."""
        self._inbox.behind = self._too_much()

    async def watch(self) -> None:
        """Check regularly for a history that has not moved for too long, until cancelled."""
        while True:
            await self._clock.wait(LOOK_MS)
            self._inbox.behind = self._too_much() or self._inbox.behind
            self._inbox.end_waits()

    def _too_much(self) -> Obstacle | None:
        if damage := self._store.damage:
            # Work accepted now would be lost when a backup replaces the history.
            return Obstacle(damage, Corrupt.code)
        lag_ms = self._store.lag_ms(self._clock.now_ms())
        if lag_ms <= LAG_MOST_MS:
            return None
        earlier = self._inbox.behind
        return (
            earlier
            if earlier is not None and earlier.code is not Code.OVERLOADED
            else Obstacle(f"the history is {lag_ms} ms behind")
        )


def obstacle_of(error: Unavailable, otherwise: str) -> Obstacle:
    """Return why no new work is accepted after a failure of the store; `otherwise` is the reason of an unnamed one."""
    return Obstacle(otherwise) if type(error) is Unavailable else Obstacle(str(error), error.code)
