"""Effects to actions: assembles dispatches from the shard by reference, hands frames to connections, wakes workers.

An effect is judged against state once more before it leaves: an order about a closed lease says nothing any more.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

from starloom.core.effects import (
    AnyEffect,
    ArmTimer,
    CloseDevice,
    CloseToken,
    InputPlan,
    InputSource,
    SendCancel,
    SendDispatch,
    SendFetch,
    SendResume,
    StartJob,
)
from starloom.core.model import Constellation, Shard
from starloom.engine.leases import Leases
from starloom.engine.ports import DeviceSender, JobSender, LiveSink, ValueStore
from starloom.engine.timers import Timers
from starloom_protocol.frames import Cancel, Dispatch, DispatchInput, FetchFacts, InputPart, PlanEntry, ResumePlan
from starloom_protocol.values import MISSING, canonical, parse, point
from starloom_protocol.vocabulary import Code

log = logging.getLogger("starloom.engine")
DISPATCH_VALUES_BYTES_MAX = 256 * 1024


class Pump:
    """Carries out effects whose events are safe enough."""

    def __init__(
        self,
        *,
        sender: DeviceSender,
        live: LiveSink,
        jobs: JobSender,
        leases: Leases,
        timers: Timers,
        values: ValueStore,
        secrets: Callable[[str], str | None] = lambda _name: None,
    ) -> None:
        self._sender = sender
        self._live = live
        self._jobs = jobs
        self._leases = leases
        self._timers = timers
        self._values = values
        self._secrets = secrets
        self._tasks: set[asyncio.Task[None]] = set()
        self.shard: Shard | None = None

    def act(self, effect: AnyEffect) -> None:
        """Carry out one effect."""
        match effect:
            case SendDispatch():
                self._dispatch(effect)
            case SendCancel():
                self._sender.send(effect.device, [Cancel(at=effect.at, reason=effect.reason)])
            case SendFetch():
                self._sender.send(effect.device, [FetchFacts(at=effect.at, wants=effect.wants)])
            case SendResume():
                entry = PlanEntry(action=effect.action, at=effect.at)
                self._sender.send(effect.device, [ResumePlan(entries=[entry])])
            case ArmTimer():
                self._timers.arm(effect)
            case StartJob():
                self._jobs.wake(effect.kind, effect.constellation, effect.job)
            case CloseDevice():
                self._sender.close(effect.device, effect.session, effect.code, effect.reason)
            case CloseToken():
                self._live.close_token(effect.token)

    # -- dispatches

    def _dispatch(self, order: SendDispatch) -> None:
        constellation = self.shard.constellations.get(order.at.constellation) if self.shard else None
        attempt = constellation.attempts.get(f"{order.at.task}/{order.at.attempt}") if constellation else None
        if constellation is None or attempt is None or attempt.end is not None:
            return
        inputs = [self._input(constellation, item) for item in order.inputs]
        size = sum(len(part.value or "") for item in inputs for part in item.parts)
        if size + len(order.args) > DISPATCH_VALUES_BYTES_MAX:
            task = asyncio.get_running_loop().create_task(self._dispatch_big(order, inputs))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
            return
        self._send(order, inputs)

    async def _dispatch_big(self, order: SendDispatch, inputs: list[DispatchInput]) -> None:
        """Put inputs that no frame can carry into the artifact store first."""
        moved = []
        for item in inputs:
            parts = []
            for part in item.parts:
                if part.value is not None and len(part.value) > 1024:
                    digest = await asyncio.to_thread(self._values.put_bytes, part.value.encode())
                    parts.append(InputPart(artifact=digest, output=part.output))
                else:
                    parts.append(part)
            moved.append(DispatchInput(name=item.name, many=item.many, flatten=item.flatten, parts=parts))
        self._send(order, moved)

    def _send(self, order: SendDispatch, inputs: list[DispatchInput]) -> None:
        args = order.args
        secrets: dict[str, str] = {}
        if '"each"' in args or '"secret"' in args:
            item = parse(order.item) if order.item is not None else None
            filled = self._fill(parse(args), item, secrets)
            args = canonical(filled)
        frame = Dispatch(
            args=args,
            at=order.at,
            attempt_of_max=order.attempt_of_max,
            fence_after_s=order.fence_after_ms / 1000,
            files_out=order.files_out,
            inputs=inputs,
            repeatability=order.repeatability,
            secrets=secrets,
            start_to_close_s=order.start_to_close_s,
            tool=order.tool,
            wants=order.wants,
        )
        if self._sender.send(order.device, [frame]):
            self._leases.begin(order.at)

    def _input(self, constellation: Constellation, item: InputPlan) -> DispatchInput:
        parts = [self._part(constellation, source, shrink=item.many) for source in item.sources]
        return DispatchInput(name=item.name, many=item.many, flatten=item.flatten, parts=parts)

    @staticmethod
    def _part(constellation: Constellation, source: InputSource, *, shrink: bool) -> InputPart:
        if source.text is not None:
            return InputPart(value=source.text, output=source.output)
        attempt = constellation.attempts[f"{source.task}/{source.attempt}"]
        known = attempt.facts.get(source.output)
        if known is not None:
            return InputPart(value=known)
        if attempt.artifact is not None:
            return InputPart(artifact=attempt.artifact, output=source.output)
        text = attempt.value if attempt.value is not None else "null"
        if shrink and source.output:
            found = point(parse(text), source.output)
            return InputPart(value="null" if found is MISSING else canonical(found))
        return InputPart(value=text, output=source.output)

    def _fill(self, value: Any, item: Any, secrets: dict[str, str]) -> Any:
        if isinstance(value, dict):
            if value.keys() == {"each"}:
                found = point(item, value["each"])
                return None if found is MISSING else found
            if value.keys() == {"secret"}:
                name = value["secret"]
                known = self._secrets(name)
                if known is None:
                    log.warning("event=secret_missing name=%s code=%s", name, Code.NOT_FOUND)
                    return None
                secrets[name] = known
                return known
            return {key: self._fill(part, item, secrets) for key, part in value.items()}
        if isinstance(value, list):
            return [self._fill(part, item, secrets) for part in value]
        return value
