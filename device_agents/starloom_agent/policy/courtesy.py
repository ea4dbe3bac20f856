"""Courtesy: the owner's rule on work while somebody uses this device, on battery, and in quiet hours. Pure.

Only new work is meant: a task that runs is never ended by courtesy. The hub hears the outcome and its cause, not who
sits here. Without a rule the hub's own habit holds: a device in use, or nearly empty, is asked last.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from starloom_agent.policy.commands import PolicyFault
from starloom_protocol.text.wording import quoted
from starloom_protocol.vocabulary import Courtesy, CourtesyCause

_HOURS: Final = re.compile(r"([01][0-9]|2[0-3]):([0-5][0-9])-([01][0-9]|2[0-3]):([0-5][0-9])")
QUIET_HOURS_OFF: Final = "off"
_FIELDS: Final = ("when_in_use", "on_battery_below", "quiet_hours")


@dataclass(frozen=True)
class CourtesyRule:
    """`on_battery_below` is a charge in percent, 0 for none; `quiet_hours` is `HH:MM-HH:MM` by this device's clock."""

    when_in_use: Courtesy = Courtesy.LESS
    on_battery_below: int = 0
    quiet_hours: str = ""

    def plain(self) -> dict[str, str]:
        """Return the rule as the policy file holds it."""
        return {
            "when_in_use": self.when_in_use.value,
            "on_battery_below": str(self.on_battery_below),
            "quiet_hours": self.quiet_hours,
        }


@dataclass(frozen=True)
class Seen:
    """The present condition of the device; None where it cannot be known, which counts as nothing."""

    in_use: bool | None = None
    battery_percent: int | None = None
    charging: bool | None = None


def rule_of(plain: Any) -> CourtesyRule:
    """Read the form that `CourtesyRule.plain` writes; a number may be one.

    Raises:
        PolicyFault: naming the first field that is wrong.
    """
    if not isinstance(plain, Mapping):
        raise PolicyFault(f"courtesy: a map of {', '.join(_FIELDS)} is expected")
    for name in plain:
        if name not in _FIELDS:
            raise PolicyFault(f"courtesy.{name}: there is no such field; there are {', '.join(_FIELDS)}")
    in_use = plain.get("when_in_use", Courtesy.LESS)
    if in_use not in list(Courtesy):
        raise PolicyFault(f"courtesy.when_in_use: {quoted(str(in_use))} is none of {', '.join(Courtesy)}")
    below = str(plain.get("on_battery_below", 0)).removesuffix("%")
    if not (below.isascii() and below.isdigit() and int(below) <= 100):
        raise PolicyFault(f"courtesy.on_battery_below: {quoted(below)} is no percentage from 0 to 100")
    hours = plain.get("quiet_hours", "")
    hours = "" if hours == QUIET_HOURS_OFF else hours
    if not isinstance(hours, str) or (hours and not _HOURS.fullmatch(hours)):
        reason = f'{quoted(str(hours))} is not like 22:00-07:00, nor {QUIET_HOURS_OFF} or "" for none'
        raise PolicyFault(f"courtesy.quiet_hours: {reason}")
    return CourtesyRule(Courtesy(in_use), int(below), hours)


def courtesy_now(rule: CourtesyRule, seen: Seen, minute: int) -> tuple[Courtesy, CourtesyCause | None]:
    """Return how much work the device takes, and why; `minute` is that of the day by this device's own clock."""
    if _is_quiet(rule.quiet_hours, minute):
        return Courtesy.NO, CourtesyCause.QUIET_HOURS
    on_battery = seen.battery_percent is not None and seen.charging is False
    if on_battery and seen.battery_percent is not None and seen.battery_percent < rule.on_battery_below:
        return Courtesy.NO, CourtesyCause.BATTERY
    if seen.in_use and rule.when_in_use is not Courtesy.YES:
        return rule.when_in_use, CourtesyCause.IN_USE
    return Courtesy.YES, None


def quiet_until(rule: CourtesyRule) -> str:
    """Return the time of day at which the quiet hours of a rule end, such as `07:00`; empty where it has none."""
    return rule.quiet_hours.partition("-")[2].strip()


def _is_quiet(hours: str, minute: int) -> bool:
    match = _HOURS.fullmatch(hours)
    if match is None:
        return False
    begin, end = (int(match[at]) * 60 + int(match[at + 1]) for at in (1, 3))
    return begin <= minute < end if begin <= end else minute >= begin or minute < end
