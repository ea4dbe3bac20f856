"""The condition of this device beside its offer: battery in steps, owner's presence, courtesy, full disk, wrong clock.

Read from the system where that is cheap (Linux). A device without a battery and a screen and with disk space reports
nothing. The hub chooses a device last if its battery is nearly empty or its owner is using it, and never if its disk is
full.
"""

from __future__ import annotations

import errno
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from starloom_agent.platforms import batteries
from starloom_agent.policy.courtesy import CourtesyRule, Seen, courtesy_now, quiet_until
from starloom_protocol.vocabulary import CLOCK_OFF_S, Courtesy, CourtesyCause, DeviceFact
from starloom_protocol.wire.frames import DISK_FULL, DISK_OK, ConditionFrame

READ_EVERY_S: Final = 30.0
"""A battery loses a tenth in minutes; reading it more often changes no decision."""
STEP_PERCENT: Final = 10
"""A fact is an event in the log of the hub, so a battery that drains makes ten of them, not a hundred."""
HEARD_WITHIN_S: Final = 60.0
"""Work that comes within this time after a no of courtesy was on its way; it is done."""
LEAST_FREE_BYTES: Final = 64 * 1024
"""With less, no file of the agent can grow: its ledger needs some pages for each attempt."""


def minute_of_day() -> int:
    """Return the minute of the day by this device's own clock and zone."""
    now = time.localtime()
    return now.tm_hour * 60 + now.tm_min


class Conditions:
    """The last reported condition, so that only changes are reported. `folder` is where the agent writes."""

    def __init__(
        self,
        clock: Callable[[], float],
        folder: Path,
        supplies: Path = batteries.SUPPLIES,
        minute: Callable[[], int] = minute_of_day,
        wall: Callable[[], float] = lambda: time.time(),
    ) -> None:
        self._clock = clock
        self._minute = minute
        self._wall = wall
        self._hub_at_zero: float | None = None
        """The time of the hub when `clock` was 0; None before the first welcome."""
        self._clock_off: dict[str, str] = {}
        self._courtesy: dict[str, str] = {}
        self._refuses_since: float | None = None
        self.rule: CourtesyRule | None = None
        """The rule of the owner; None where the policy has none, so that the habit of the hub holds."""
        self._folder = folder
        self._supplies = supplies
        self._read_at: float | None = None
        self._battery: dict[str, str] = {}
        self._disk: dict[str, str] = {}
        self._owner: dict[str, str] = {}
        self.owner_is_here: bool | None = None
        """Whether the owner is at this device, by the last `platforms.presence`; None where this cannot be known."""
        self.unwritten = False
        """Whether the last write of the ledger failed because the disk was full."""

    def take_hub_time(self, hub_time_ms: int) -> None:
        """Note the clock of the hub, as its welcome has it."""
        self._hub_at_zero = hub_time_ms / 1000 - self._clock() if hub_time_ms > 0 else None

    @property
    def clock_ahead_s(self) -> int:
        """The seconds that the clock of this device is ahead of its hub's, as reported last; 0 if they are few."""
        return int(self._clock_off.get(DeviceFact.CLOCK) or 0)

    def greeting(self) -> list[ConditionFrame]:
        """Return the condition for a hub that has just welcomed this device."""
        self._read_at = self._clock()
        self._battery = battery(self._supplies)
        self._disk = self._room() if self.is_full else {}
        self._owner = self._presence()
        # This hub hears of a no only now: what it gave at the welcome was on its way, and a refusal would fail it.
        self._refuses_since = None
        self._courtesy = self._courtesy_facts()
        self._clock_off = {}
        facts = {**self._battery, **self._disk, **self._owner, **self._courtesy, **self._changed_clock()}
        return [ConditionFrame(facts=facts)] if facts else []

    def changed(self) -> list[ConditionFrame]:
        """Return the changes to report now; usually there are none."""
        facts = {**self._changed_disk(), **self._changed_battery(), **self._changed_owner()}
        facts |= self._changed_courtesy() | self._changed_clock()
        return [ConditionFrame(facts=facts)] if facts else []

    @property
    def is_full(self) -> bool:
        """Whether the folder of the agent has no room for a write."""
        return self.unwritten or free_bytes(self._folder) < LEAST_FREE_BYTES

    def _changed_clock(self) -> dict[str, str]:
        if self._hub_at_zero is None:
            return {}
        ahead_s = round(self._wall() - self._hub_at_zero - self._clock())
        # Between the two bounds the last report stands; a clock that runs off slowly makes one for each minute of it.
        bound_s = CLOCK_OFF_S / 2 if self._clock_off.get(DeviceFact.CLOCK) else CLOCK_OFF_S
        if abs(ahead_s) > bound_s and self._clock_off and abs(ahead_s - self.clock_ahead_s) < CLOCK_OFF_S:
            return {}
        facts: dict[str, str] = {DeviceFact.CLOCK: str(ahead_s) if abs(ahead_s) > bound_s else ""}
        if facts == (self._clock_off or {DeviceFact.CLOCK: ""}):
            return {}
        self._clock_off = facts
        return facts

    def _changed_disk(self) -> dict[str, str]:
        room = self._room()
        if room == (self._disk or {DeviceFact.DISK: DISK_OK}):
            return {}
        self._disk = room
        return room

    def _room(self) -> dict[str, str]:
        if not self.is_full:
            return {DeviceFact.DISK: DISK_OK}
        return {DeviceFact.DISK: DISK_FULL, DeviceFact.DISK_FOLDER: str(self._folder)}

    def _presence(self) -> dict[str, str]:
        if self.owner_is_here is None:
            return {}
        return {DeviceFact.OWNER_PRESENT: "true" if self.owner_is_here else "false"}

    def _changed_owner(self) -> dict[str, str]:
        # Once the presence cannot be known any more, an earlier presence of the owner no longer counts.
        owner = self._presence() or ({DeviceFact.OWNER_PRESENT: "false"} if self._owner else {})
        if owner == self._owner:
            return {}
        self._owner = owner
        return owner

    def refusal(self) -> str:
        """Return why a new task is refused here; empty if it is not, or if the hub may not have heard of it yet."""
        since = self._refuses_since
        if since is None or self._clock() - since < HEARD_WITHIN_S:
            return ""
        return f"the owner of this device wants no new work now ({self._courtesy.get(DeviceFact.COURTESY_WHY, '')})"

    def _courtesy_facts(self) -> dict[str, str]:
        if self.rule is None:
            self._refuses_since = None
            return {}
        percent = self._battery.get(DeviceFact.BATTERY)
        charging = self._battery.get(DeviceFact.CHARGING)
        seen = Seen(
            self.owner_is_here,
            int(percent) if percent is not None else None,
            charging == "true" if charging is not None else None,
        )
        now, cause = courtesy_now(self.rule, seen, self._minute())
        if now is not Courtesy.NO:
            self._refuses_since = None
        elif self._refuses_since is None:
            self._refuses_since = self._clock()
        facts: dict[str, str] = {
            DeviceFact.COURTESY: now.value,
            DeviceFact.COURTESY_WHY: cause.value if cause is not None else "",
        }
        return facts | (
            {DeviceFact.COURTESY_UNTIL: quiet_until(self.rule)} if cause is CourtesyCause.QUIET_HOURS else {}
        )

    def _changed_courtesy(self) -> dict[str, str]:
        facts = self._courtesy_facts()
        if facts == self._courtesy:
            return {}
        # The hub keeps the latest value of each fact, so an outdated fact is sent as an empty text.
        changes = dict.fromkeys(self._courtesy, "") | facts
        self._courtesy = facts
        return changes

    def _changed_battery(self) -> dict[str, str]:
        now = self._clock()
        if self._read_at is not None and now - self._read_at < READ_EVERY_S:
            return {}
        self._read_at = now
        facts = battery(self._supplies)
        if not facts or facts == self._battery:
            return {}
        self._battery = facts
        return facts


def free_bytes(folder: Path) -> int:
    """Return the bytes that may still be written below a folder; an unreadable folder counts as having room."""
    try:
        return shutil.disk_usage(folder).free
    except OSError:
        return LEAST_FREE_BYTES


def has_no_room(error: BaseException) -> bool:
    """Return whether a system call failed because the disk, or its user's share of it, is full."""
    return isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)


def full_words(folder: Path) -> str:
    """Return the sentence about a folder with no room for a write."""
    return f"the disk of {folder} is full ({free_bytes(folder) / 1_000_000:.1f} MB free); free some space there"


def battery(supplies: Path = batteries.SUPPLIES) -> dict[str, str]:
    """Return the charge of the machine's own battery in steps and whether it charges; empty without one."""
    own_battery = batteries.own_battery(supplies)
    if own_battery is None:
        return {}
    step = own_battery.percent // STEP_PERCENT * STEP_PERCENT
    return {DeviceFact.BATTERY: str(step), DeviceFact.CHARGING: "true" if own_battery.charging else "false"}
