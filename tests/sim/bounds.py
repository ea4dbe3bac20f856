"""How soon things must happen once nothing is broken any more: L2 work is placed, L3 results are acknowledged.

A task may wait for a better device than a free one whose pace is known, but for no more than twice the time that it
would have there. Looks once a second of virtual time. L1 (everything ends or asks) and L4 (outboxes drain) are judged
at the end.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from starloom.core.placement.pace import index_of, inputs_of, size_of
from starloom.core.placement.selection import avoided
from starloom.core.state.model import Constellation, Shard
from starloom.core.state.task_needs import approved_for
from starloom_protocol.records.entities import Selector
from starloom_protocol.vocabulary import ConstellationState, Courtesy, DeviceFact, DeviceLink, TaskState
from tests.sim.surroundings import Surroundings

PLACED_WITHIN_S = 2.0
ACKNOWLEDGED_WITHIN_S = 5.0
EVERY_S = 0.5


class Bounds:
    """Watches a site whose faults are mended, until it is cancelled."""

    def __init__(self, site: Surroundings) -> None:
        self._site = site
        self.violations: list[str] = []
        self._since: dict[str, float] = {}

    async def watch(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(EVERY_S)
            now, seen = loop.time(), dict(self._look())
            for what, within_s in seen.items():
                since = self._since.setdefault(what, now)
                if now - since > within_s + EVERY_S:
                    self.violations.append(f"late: {what}, for more than {within_s:g} s")
                    self._since[what] = float("inf")
            self._since = {what: since for what, since in self._since.items() if what in seen}

    def _look(self) -> Iterator[tuple[str, float]]:
        engine = self._site.engine
        if engine is None or not engine.ready:
            return
        shard = engine.shard
        for name in list(shard.live):
            constellation = shard.constellations[name]
            if constellation.head.state is not ConstellationState.ACTIVE:
                continue
            for task, record in constellation.tasks.items():
                if record.state is not TaskState.READY or record.reason is not None or record.held or record.review:
                    continue
                if _waits_its_turn(constellation, task):
                    continue
                if devices := list(_free(shard, constellation, task)):
                    words = f"{name}/{task}, attempt {record.attempt}, is ready and {devices[0]} is free"
                    # It would take the best of them, and waits by the pace of that one.
                    known_s = max(_known_s(shard, constellation, task, device) for device in devices)
                    # A wait for a better device is measured in hub time. It stands still here until a clock that was
                    # set back has caught up, which the clock of a real hub does not do while its process lives.
                    if not known_s or engine._now_ms <= self._site.clock.now_ms():
                        yield words, PLACED_WITHIN_S + 2 * known_s
        for device, agent in self._site.agents.items():
            if agent.alive and agent.push is not None:
                for number in agent.outbox.pending:
                    yield f"report {number} of {device} is not acknowledged", ACKNOWLEDGED_WITHIN_S


def _known_s(shard: Shard, constellation: Constellation, task: str, name: str) -> float:
    """Return the seconds that a task should take on a device; 0 if its pace is not known, for nothing waits then."""
    index, spec = index_of(shard.fleet), constellation.specs[task]
    size = size_of(sum(size for _count, size in inputs_of(constellation, spec).values()))
    tool, device = spec.tool or "", shard.fleet.by_name[name]
    known = device in index.sure.get((tool, size), ()) or index.least(tool, size, device)
    return index.expected(tool, size, device) / 1000 if known else 0.0


def _waits_its_turn(constellation: Constellation, task: str) -> bool:
    """Whether a list lets only so many of its items go at a time."""
    group = constellation.specs[task].group
    if group is None:
        return False
    each = constellation.specs[group].for_each
    return each is not None and each.max_parallel > 0


def _free(shard: Shard, constellation: Constellation, task: str) -> Iterator[str]:
    """Yield the devices that could take a task at once, as far as these plans go: every device has every tool.

    One where it has failed before is not meant: it waits for another one as long as there is any.
    """
    fleet, spec = shard.fleet, constellation.specs[task]
    selector = spec.device
    approved = approved_for(constellation, spec)
    avoid = avoided(constellation, task, constellation.tasks[task])
    for device in fleet.devices.values():
        offer = fleet.offers.get(device.id)
        away = device.link is not DeviceLink.ONLINE or device.quarantined or device.draining
        away = away or (approved is not None and device.id not in approved) or (device.reserved and selector is None)
        away = away or device.condition.get(DeviceFact.COURTESY) == Courtesy.NO
        if away or offer is None or device.id in avoid:
            continue
        if isinstance(selector, Selector) and not (
            selector.name in (None, device.name) and selector.id in (None, device.id)
        ):
            continue
        recipe = constellation.head.recipe or ""
        if not all(_may_receive(shard, name, device.id, spec.tool or "", recipe) for name in spec.secrets):
            continue
        if fleet.used.get(device.id, 0) < offer.slots:
            yield device.name


def _may_receive(shard: Shard, name: str, device: str, tool: str, recipe: str) -> bool:
    secret = shard.access.secrets.get(name)
    if secret is None:
        return False
    one_of = ((device, secret.devices), (tool, secret.tools), (recipe, secret.recipes))
    return all(receiver in (receivers or [receiver]) for receiver, receivers in one_of)
