"""Commits of the engine: made through outages, with the record of their inputs. Decides no input.

`Recording` keeps the inputs that decided a commit, and marks of what was loaded before, so that the commit can be
decided again (`redeciding`). An input that decided nothing leaves only a mark. The order in which entities are loaded
influences decisions, so they are sorted wherever they are loaded.

`Committing` repeats a commit, and takes the shard again if no other hub has it. It decides the meaning of a refusal: a
replaced Redis is taken again, a later term of another hub ends this engine. The state in memory belongs to the loop and
is reached through `Holding`. `Counts` counts the engine's work for `/metrics`; no behaviour depends on it.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from typing import Final, Protocol, get_args

import msgspec
from msgspec.structs import replace

from starloom.core.state.inputs import AnyInput
from starloom.core.state.model import Shard
from starloom.core.state.orders import DURABLE
from starloom.core.state.settings import ShardSettings
from starloom.core.state.work import Work
from starloom.engine.inputs.inbox import EngineInbox, obstacle_of
from starloom.engine.ownership import Owning
from starloom.engine.ports import Clock
from starloom.store.port import Commit, CommitPort, Ownership, Refused, Unavailable
from starloom_protocol.records.entities import Fault
from starloom_protocol.vocabulary import Code


class ShardLoaded(msgspec.Struct, frozen=True, kw_only=True, tag_field="k", tag="taken"):
    """A mark: the whole shard was loaded just before, under these settings."""

    incarnation: int
    settings: dict[str, int]


class ShardRegained(msgspec.Struct, frozen=True, kw_only=True, tag_field="k", tag="regained"):
    """A mark: the shard was taken again with its state, under this incarnation; earlier inputs had another one."""

    incarnation: int


class ConstellationLoaded(msgspec.Struct, frozen=True, kw_only=True, tag_field="k", tag="brought"):
    """A mark: a finished constellation was loaded back just before."""

    constellation: str


class QueuesExamined(msgspec.Struct, frozen=True, kw_only=True, tag_field="k", tag="looked"):
    """A mark: inputs that decided nothing were stepped; the queues were examined nevertheless."""


class QueuesPruned(msgspec.Struct, frozen=True, kw_only=True, tag_field="k", tag="pruned"):
    """A mark: tasks that no longer wait were dropped from the queues just before."""


class Foreign(msgspec.Struct, frozen=True, kw_only=True):
    """An input of a kind unknown to this version, kept by an older or newer one. `kind` is its tag."""

    kind: str


class _Tagged(msgspec.Struct):
    k: str


Mark = ShardLoaded | ShardRegained | ConstellationLoaded | QueuesExamined | QueuesPruned
_LOOKED: Final = b'{"k":"looked"}'
_PRUNED: Final = b'{"k":"pruned"}'
_MARKS: Final = (b'{"k":"taken"', b'{"k":"regained"', b'{"k":"brought"', _LOOKED, _PRUNED)
_encode: Final = msgspec.json.Encoder().encode
_decoder: Final = msgspec.json.Decoder(AnyInput)
_marks: Final = msgspec.json.Decoder(Mark)
_kinds: Final = frozenset(str(kind.__struct_config__.tag) for kind in get_args(AnyInput))


def decode_kept(raw: bytes) -> AnyInput | Mark | Foreign:
    """Return an input or a mark of its bytes.

    Raises:
        msgspec.ValidationError: its kind is known and the bytes are not of that kind.
    """
    mark: Mark
    if raw.startswith(_MARKS):
        mark = _marks.decode(raw)
        return mark
    try:
        item: AnyInput = _decoder.decode(raw)
    except msgspec.ValidationError:
        kind = msgspec.json.decode(raw, type=_Tagged).k
        if kind in _kinds:
            raise
        return Foreign(kind=kind)
    return item


class Recording:
    """The inputs stepped and the marks of loading since the last commit, in order."""

    def __init__(self) -> None:
        self._inputs: list[bytes] = []

    def shard_loaded(self, shard: Shard) -> None:
        """Note that the shard was loaded: all earlier notes are void."""
        self._inputs = [_encode(ShardLoaded(incarnation=shard.incarnation, settings=settings_of(shard.settings)))]

    def shard_regained(self, shard: Shard) -> None:
        """Note that the shard was taken again with its state unchanged."""
        self._inputs.append(_encode(ShardRegained(incarnation=shard.incarnation)))

    def constellation_loaded(self, constellation: str) -> None:
        """Note that a constellation was loaded back."""
        self._inputs.append(_encode(ConstellationLoaded(constellation=constellation)))

    def queues_pruned(self) -> None:
        """Note that the queues were pruned."""
        self._once(_PRUNED)

    def stepped(self, item: AnyInput, *, decided: bool) -> None:
        """Note a stepped input; one that `decided` something, or whose decisions were undone, is kept whole."""
        if decided:
            self._inputs.append(_encode(item))
        else:
            self._once(_LOOKED)

    def finished(self) -> list[bytes]:
        """Return the record for the commit and start an empty one."""
        inputs, self._inputs = self._inputs, []
        return inputs

    def _once(self, mark: bytes) -> None:
        """Keep a mark, unless it is the newest entry already."""
        if not self._inputs or self._inputs[-1] is not mark:
            self._inputs.append(mark)


def settings_of(settings: ShardSettings) -> dict[str, int]:
    """Return the settings by which the core decides, by name."""
    return {name: getattr(settings, name) for name in ShardSettings.__slots__}


def with_settings(recorded: dict[str, int]) -> ShardSettings:
    """Return the settings of a record; a setting that no longer exists is left out.

    A setting that the record lacks gets its default, with fourteen exceptions: they are 0, as the hub that wrote the
    record did not have what they bound or turn on, so its decisions must be made again without it.
    """
    settings = ShardSettings()
    settings.pace_rows_most = settings.hedge_at_p90 = settings.kept_results_most = 0
    settings.keeps_reopenings = settings.binds_approvals = settings.names_pauses = settings.restarts_waits = 0
    settings.patience_most_ms = settings.fences_most = settings.grows_patience = 0
    settings.proposals_most = settings.trial_runs = settings.spending_rows_most = settings.keeps_courses = 0
    for name in ShardSettings.__slots__:
        if name in recorded:
            setattr(settings, name, recorded[name])
    return settings


@dataclass(slots=True)
class Counts:
    """The counters of the engine's work, for `/metrics`."""

    commits: int = 0
    inputs: int = 0
    events: int = 0
    slow_steps: int = 0
    failed_steps: int = 0
    retaken: int = 0
    ignored: dict[str, int] = field(default_factory=dict)


class Measured(Protocol):
    """A monotonic clock for measuring spans, in seconds."""

    def __call__(self) -> float: ...


log = logging.getLogger("starloom.engine")
RETRY_MS = 200
"""An outage is seen to end within this time; five tries a second cost nothing."""
TAKEN_OVER = Fault(
    code=Code.UNSETTLED,
    reason="this hub lost the shard before this was safe; it may or may not have been done",
    hint="Ask again with the same Idempotency-Key.",
)


class Holding(Protocol):
    """The state that the loop holds in memory."""

    def held(self) -> list[str]:
        """Return the names of the constellations in memory; a rebuilt Redis must have them."""
        ...

    def retaken(self, ownership: Ownership) -> None:
        """Continue with the held state under a new term."""
        ...

    def lose(self, reason: str = ...) -> None:
        """Give up the held state: another hub has the shard, or the log differs from it."""
        ...


class Committing:
    """The engine's commits to the store; one call at a time, under the loop's turn."""

    def __init__(
        self,
        store: CommitPort,
        clock: Clock,
        owner: str,
        owning: Owning,
        inbox: EngineInbox,
        counts: Counts,
        holding: Holding,
    ) -> None:
        self._store = store
        self._clock = clock
        self._owner = owner
        self._owning = owning
        self._inbox = inbox
        self._counts = counts
        self._holding = holding

    async def commit(self, commit: Commit) -> bool:
        """Commit, through outages; False if the shard was lost, and this batch with it."""
        while True:
            try:
                await self._store.commit(commit)
            except Unavailable as error:
                self._inbox.refusing = obstacle_of(error, "the store does not answer")
                log.warning("event=commit_unavailable pos=%d reason=%s", commit.pos, error)
                if await self._was_applied(commit):
                    self._inbox.refusing = None
                    return True
            except Refused as refused:
                log.warning("event=commit_refused pos=%d reason=%s", commit.pos, refused)
                retaken = await self._retake(commit)
                if retaken is None:
                    return False
                commit = retaken
            else:
                self._inbox.refusing = None
                return True

    async def _was_applied(self, commit: Commit) -> bool:
        while True:
            await self._clock.wait(RETRY_MS)
            try:
                pos, term, _run = await self._store.position()
            except Unavailable:
                continue
            # Under another term the position says nothing about this commit; the next try is refused.
            return term == commit.term and pos >= commit.pos

    async def _retake(self, commit: Commit) -> Commit | None:
        """Take the shard again after a refusal; return the commit under the new term, or None if it was lost.

        A replaced Redis is rebuilt from the history. The history has every acknowledged commit of this owner, so the
        refused one follows the last.
        """
        ownership = await self.regain(commit.pos - 1)
        if ownership is None:
            return None
        return replace(commit, incarnation=ownership.incarnation, term=ownership.term)

    async def check_ownership(self, pos_here: int, *, renewed: bool) -> None:
        """Check between commits, as a commit would, whether another hub has the shard or Redis was replaced."""
        ownership = self._owning.own
        if renewed and ownership is not None:
            try:
                _pos, _term, run = await self._store.position()
            except Unavailable:
                return
            if run == ownership.run_id:
                return
        await self.regain(pos_here)

    async def regain(self, pos_here: int) -> Ownership | None:
        """Take the shard again; lose it and return None if another hub has it or the log does not end at `pos_here`."""
        self._counts.retaken += 1
        assert self._owning.own is not None  # noqa: S101 - only an owner commits
        while True:
            try:
                ownership = await self._store.take(
                    self._owner, self._clock.now_ms(), self._holding.held(), over=self._owning.own.term
                )
                pos, _term, _run = await self._store.position()
                break
            except (Unavailable, Refused) as error:
                if isinstance(error, Refused) and error.why == "held":
                    self._holding.lose()
                    return None
                # `Damaged` is not caught: Redis and history do not match, and only a person can say which counts.
                unavailable = error if isinstance(error, Unavailable) else Unavailable(str(error))
                self._inbox.refusing = obstacle_of(unavailable, "the shard cannot be taken again")
                log.warning("event=retake_failed reason=%s", error)
                await self._clock.wait(RETRY_MS)
        if pos != pos_here:
            # Viewers have seen events that the log does not have; the follower that starts next resets them.
            self._holding.lose(f"the log ends at commit {pos}, what is held at {pos_here}")
            return None
        self._owning.own, self._inbox.refusing = ownership, None
        self._holding.retaken(ownership)
        return ownership


def is_waited_for(work: Work) -> bool:
    """Tell whether an effect or an answer of this batch waits until the history has it."""
    # Loops: `any` would enter a generator once for each order of a batch.
    for order in work.orders:
        if order.after == DURABLE:
            return True
    for answer in work.answers:  # noqa: SIM110
        if answer.after == DURABLE and not answer.faults:
            return True
    return False
