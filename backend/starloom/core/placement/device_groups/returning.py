"""Groups over devices: they wait for those that are expected back before they make their list.

Owns which devices are expected back, how long a group waits for them, and when it continues. After the end of a hub
that is each of its devices (`ShardSettings.return_ms`: an agent's first tries to connect take less), and at any time
one whose connection has just dropped (`DROPPED_MS`): its agent may have been restarted. Never waits for another one.
The hub's own calls ask here, too, before they tell or decide something about devices that the hub itself lost.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final

from msgspec.structs import replace

from starloom.core.placement.feasible import selects
from starloom.core.state.inputs import TimerFired
from starloom.core.state.model import Constellation, Fleet
from starloom.core.state.orders import ArmTimer
from starloom.core.state.work import Work
from starloom_protocol.records.entities import Device, Selector
from starloom_protocol.stream.authors import ENGINE
from starloom_protocol.stream.events import EventKind
from starloom_protocol.text.wording import few
from starloom_protocol.vocabulary import DeviceLink, GroupState

TIMER: Final = "devices_return"
DROPPED_MS: Final = 15_000
"""A device that is off for less is expected back: its agent was killed and starts again, or a link was cut."""
_NAMED_MOST: Final = 3


def defer(work: Work, constellation: Constellation, root: str, selector: Selector, *, needs_all: bool = False) -> bool:
    """Let a family's root wait for matching devices that are expected back; False if there are none.

    Only a group that `needs_all` waits for one that has just dropped; the others go on with what there is.
    """
    record = constellation.groups[root]
    dropped_ms = DROPPED_MS if needs_all else 0
    away = _expected(work.shard.fleet, selector, work.at_ms, dropped_ms)
    if not away or record.state is not GroupState.WAITING:
        return False
    until_ms = max(_until_ms(device, dropped_ms) for device in away)
    work.order(_timer(constellation, root, until_ms))
    if record.until_ms != until_ms:
        after = replace(record, until_ms=until_ms)
        work.emit(constellation, EventKind.GROUP_WAITS, root, [("group", root, after)], by=ENGINE, note=waits_for(away))
    return True


def expected_after_restart(fleet: Fleet, now_ms: int, names: Collection[str] = ()) -> list[Device]:
    """Return the devices that a hub lost by its own end and that may still connect again; of these names, if given."""
    away = (fleet.devices[name] for name in fleet.expected)
    return [
        device
        for device in away
        if device.expected_until_ms > now_ms and (not names or device.name in names or device.id in names)
    ]


def came_back(work: Work) -> None:
    """Check every group that waits for devices again, after one has connected."""
    for name in work.shard.live:
        constellation = work.shard.constellations[name]
        for group in constellation.returning:
            work.shard.touched[(name, group)] = None


def on_timer(work: Work, item: TimerFired) -> None:
    """Make a group's list of the devices that are connected by now."""
    constellation = work.shard.constellations.get(item.constellation)
    if constellation is None or item.entity not in constellation.returning:
        work.ignore("the timer is stale")
        return
    work.shard.touched[(constellation.name, item.entity)] = None


def due_moments(constellation: Constellation) -> Iterator[ArmTimer]:
    """Yield a timer for each group that waits for devices."""
    for group in constellation.returning:
        yield _timer(constellation, group, constellation.groups[group].until_ms)


def _until_ms(device: Device, dropped_ms: int) -> int:
    """Return until when a device that is off is expected back."""
    return device.expected_until_ms or device.link_since_ms + dropped_ms


def _expected(fleet: Fleet, selector: Selector, now_ms: int, dropped_ms: int) -> list[Device]:
    return [
        device
        for device in fleet.devices.values()
        if _until_ms(device, dropped_ms) > now_ms
        and device.link is DeviceLink.OFFLINE
        and not device.revoked
        and selects(selector, device, fleet.tools.get(device.id, {}))
    ]


def _timer(constellation: Constellation, group: str, due_ms: int) -> ArmTimer:
    return ArmTimer(constellation=constellation.name, due_ms=due_ms, entity=group, kind=TIMER)


def waits_for(away: list[Device]) -> str:
    """Return in words which devices are waited for, and why."""
    names = sorted(device.name for device in away)
    hub_ended = all(device.expected_until_ms for device in away)
    why = "as the hub has just started" if hub_ended else "since the connection has just dropped"
    return f"waits for {few(names, _NAMED_MOST)} to connect again, {why}"
