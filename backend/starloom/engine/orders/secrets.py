"""Gives secrets to attempts when their dispatch leaves, and remembers them so that reports can be cleaned of them.

A value is here from the moment its dispatch leaves until long after the attempt: in memory alone, never in an order,
an event, a log line or the store. The core has decided which secrets an attempt may have.
"""

from __future__ import annotations

import logging
import secrets
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Protocol

from msgspec.structs import replace

from starloom.core.state.inputs import ResultReported
from starloom.core.state.model import Constellation, Shard
from starloom.core.state.orders import SendDispatch
from starloom.engine.ports import Clock, Inbox
from starloom.store.port import Unavailable
from starloom_protocol.records.entities import Secret
from starloom_protocol.stream.authors import ENGINE
from starloom_protocol.text.scrubbing import Scrubber
from starloom_protocol.values import canonical, parse
from starloom_protocol.vocabulary import Code, Outcome, TaskState
from starloom_protocol.wire.frames import FactsFrame, LeaseRef, LogChunk, Progress, ResultFrame

log = logging.getLogger("starloom.engine")
RETRY_MS = 500
"""The attempt waits for the database; two tries a second find it soon without loading it."""
GIVEN_MOST = 1_000
"""More than the attempts with secrets that are open together; the report of a forgotten one is not cleaned here."""
_Place = tuple[str, str, int, int]
"""A lease as a key: constellation, task, attempt, incarnation."""


class SecretSource(Protocol):
    """The source of secrets' values."""

    async def read(self, record: Secret) -> str | None:
        """Return the value of a secret, None if it cannot be opened.

        Raises:
            Unavailable: the store does not answer.
        """
        ...


class NoSecrets:
    """The source of a hub without a vault: no secret can be opened."""

    async def read(self, record: Secret) -> str | None:
        log.error("event=secret_unreadable name=%s reason=no vault is open", record.name)
        return None


class DispatchedSecrets:
    """The values given to open and recently ended attempts; bounded, the oldest is forgotten first.

    Where `by_lease` is empty, no report has anything to be cleaned of.
    """

    def __init__(self) -> None:
        self.by_lease: OrderedDict[_Place, Scrubber] = OrderedDict()

    def __len__(self) -> int:
        return len(self.by_lease)

    def note(self, at: LeaseRef, values: list[str]) -> None:
        self.by_lease[_place(at)] = Scrubber(values)
        while len(self.by_lease) > GIVEN_MOST:
            self.by_lease.popitem(last=False)

    def result(self, frame: ResultFrame) -> ResultFrame:
        """Return a result without the values that its attempt was given."""
        scrubber = self._of(frame.at)
        if scrubber is None:
            return frame
        return replace(
            frame,
            detail=scrubber.text(frame.detail),
            facts=_clean_facts(frame.facts, scrubber),
            tail=scrubber.text(frame.tail),
            value=None if frame.value is None else canonical(scrubber.value(parse(frame.value))),
        )

    def facts(self, frame: FactsFrame) -> FactsFrame:
        scrubber = self._of(frame.at)
        return frame if scrubber is None else replace(frame, facts=_clean_facts(frame.facts, scrubber))

    def log_chunk(self, frame: LogChunk) -> LogChunk:
        scrubber = self._of(frame.at)
        return frame if scrubber is None else replace(frame, text=scrubber.text(frame.text))

    def progress(self, frame: Progress) -> Progress:
        scrubber = self._of(frame.at)
        return frame if scrubber is None else replace(frame, note=scrubber.text(frame.note))

    def _of(self, at: LeaseRef) -> Scrubber | None:
        return self.by_lease.get(_place(at)) if self.by_lease else None


def _place(at: LeaseRef) -> _Place:
    return at.constellation, at.task, at.attempt, at.incarnation


def _clean_facts(facts: dict[str, str], scrubber: Scrubber) -> dict[str, str]:
    return {pointer: canonical(scrubber.value(parse(text))) for pointer, text in facts.items()}


class SecretDelivery:
    """Collects the secrets of a dispatch, and reports to the engine those that cannot leave."""

    def __init__(self, source: SecretSource, dispatched: DispatchedSecrets, inbox: Inbox, clock: Clock) -> None:
        self._source = source
        self._dispatched = dispatched
        self._inbox = inbox
        self._clock = clock
        self._count = 0

    async def values(self, order: SendDispatch, present_shard: Callable[[], Shard | None]) -> dict[str, str] | None:
        """Return the values by name; None if the order is void, or was given back because a value is unavailable.

        `present_shard` returns the present shard: it may change, or be replaced, while the store is asked.
        """
        while (shard := still_wanted(present_shard(), order)) is not None:
            values: dict[str, str] = {}
            try:
                for name in order.secrets:
                    record = shard.access.secrets.get(name)
                    value = None if record is None else await self._source.read(record)
                    if value is None and _record_of(present_shard(), name) != record:
                        break  # it was replaced or removed meanwhile: try again
                    if value is None:
                        detail = f"the secret {name} {'was removed' if record is None else 'cannot be opened'}"
                        code = None if record is None else Code.SECRET_UNREADABLE
                        self.give_back(order, f"{detail}; set it again: starloom secret set {name}", code)
                        return None
                    values[name] = value
                else:
                    if still_wanted(present_shard(), order) is None:
                        return None
                    self._dispatched.note(order.at, list(values.values()))
                    return values
            except Unavailable as error:
                log.warning("event=secret_unavailable task=%s reason=%s", order.at.task, error)
                await self._clock.wait(RETRY_MS)
        return None

    async def recall(self, shard: Shard) -> None:
        """Remember the values that open attempts were given before this process owned the shard."""
        try:
            for name in list(shard.live):
                constellation = shard.constellations[name]
                for key in list(constellation.open_attempts):
                    await self._recall_one(shard, constellation, key)
        except Unavailable as error:
            # The device cleans its own reports; this is the second check, and work does not wait for it.
            log.warning("event=secrets_not_recalled reason=%s", error)

    async def _recall_one(self, shard: Shard, constellation: Constellation, key: str) -> None:
        task, _, number = key.rpartition("/")
        spec, attempt = constellation.specs.get(task), constellation.attempts[key]
        records = [shard.access.secrets.get(name) for name in spec.secrets] if spec is not None else []
        values = [await self._source.read(record) for record in records if record is not None]
        if values:
            at = LeaseRef(
                attempt=int(number), constellation=constellation.name, incarnation=attempt.incarnation, task=task
            )
            self._dispatched.note(at, [value for value in values if value is not None])

    def give_back(self, order: SendDispatch, detail: str, code: Code | None) -> None:
        """Report that the attempt never began: the task waits again, or fails with a hint for a person."""
        self.end(order, Outcome.NEVER_STARTED, code, detail)

    def end(self, order: SendDispatch, outcome: Outcome, code: Code | None, detail: str) -> None:
        """Report to the engine how an attempt ended whose order cannot leave."""
        frame = ResultFrame(at=order.at, code=code, detail=detail, outcome=outcome, report=0)
        self._count += 1
        identity = f"giving/{order.at.constellation}/{order.at.task}/{order.at.attempt}/{self._count}"
        self._inbox.post(ResultReported(by=ENGINE, device=order.device, frame=frame, id=identity, scope=ENGINE))


def still_wanted(shard: Shard | None, order: SendDispatch) -> Shard | None:
    """Return the shard if a delayed order may still leave: its attempt is open and was not asked to stop."""
    constellation = shard.constellations.get(order.at.constellation) if shard is not None else None
    attempt = constellation.attempts.get(f"{order.at.task}/{order.at.attempt}") if constellation else None
    if constellation is None or attempt is None or attempt.end is not None:
        return None
    record = constellation.tasks.get(order.at.task)
    return shard if record is not None and record.state is not TaskState.CANCELLING else None


def _record_of(shard: Shard | None, name: str) -> Secret | None:
    return shard.access.secrets.get(name) if shard is not None else None


def with_handles(args: Any, values: dict[str, str]) -> tuple[Any, dict[str, str]]:
    """Return arguments and values with the names of secrets replaced by unguessable handles.

    Items and outputs that are filled in later may look like the node of a secret; with handles they cannot be one.
    """
    handles = {name: f"{name}#{secrets.token_hex(6)}" for name in values}
    return _with_handles(args, handles), {handles[name]: value for name, value in values.items()}


def _with_handles(value: Any, handles: dict[str, str]) -> Any:
    if isinstance(value, dict):
        if value.keys() == {"secret"} and value["secret"] in handles:
            return {"secret": handles[value["secret"]]}
        return {key: _with_handles(part, handles) for key, part in value.items()}
    if isinstance(value, list):
        return [_with_handles(part, handles) for part in value]
    return value
