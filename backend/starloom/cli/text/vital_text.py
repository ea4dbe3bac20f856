"""A device as text for a terminal: its figures, now and over the last hour, and the one whose place it takes. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from starloom.client.terminal.style import clock
from starloom_protocol.vocabulary import DISK_NEARLY_FULL_PERCENT, Vital

if TYPE_CHECKING:
    from starloom.client.answers import VitalsJson
    from starloom_protocol.api.fleet import DeviceRow, EnrollmentRow

_TITLES: Final = {
    Vital.LOAD_PERCENT: ("load", "%"),
    Vital.MEMORY_PERCENT: ("memory", "%"),
    Vital.DISK_PERCENT: ("disk", "%"),
    Vital.BATTERY_PERCENT: ("battery", "%"),
    Vital.LATENCY_MS: ("latency", "ms"),
}
_FULL_PERCENT: Final = 100
"""The load of a device all of whose processors are busy."""
_NOW_WITHIN: Final = 2
"""A device says its figures within a step, so the last one may belong to the step before."""


def vital_lines(vitals: VitalsJson, device: str) -> list[str]:
    """Return a line for each figure that was heard, in the order in which the page shows them."""
    figures: dict[str, list[int | None]] = next(
        (item["lines"] for item in vitals["items"] if item["device"] == device), {}
    )
    lines = []
    for vital, (title, unit) in _TITLES.items():
        points = figures.get(vital) or []
        values = [value for value in points if value is not None]
        if not values:
            continue
        recent = [value for value in points[-_NOW_WITHIN:] if value is not None]
        present = f"{recent[-1]} {unit}" if recent else "not heard now"
        if vital is Vital.DISK_PERCENT and recent and recent[-1] >= DISK_NEARLY_FULL_PERCENT:
            present += f" (nearly full from {DISK_NEARLY_FULL_PERCENT} % on)"
        if vital is Vital.LOAD_PERCENT and recent and recent[-1] > _FULL_PERCENT:
            times = f"{round(recent[-1] / 100)} times" if recent[-1] >= 2 * _FULL_PERCENT else "more than"
            present += f" ({times} what its processors can do at once)"
        minutes = max(1, round(len(points) * vitals["step_s"] / 60))
        line = f"{title}: {present}, from {min(values)} to {max(values)} {unit} in {minutes} min"
        silent = len(points) - len(values) - (points[-1] is None)
        if silent > 0:
            line += f", nothing was heard for {max(1, round(silent * vitals['step_s'] / 60))} min of it"
        lines.append(line)
    return lines


def replaces_words(pairing: EnrollmentRow, devices: list[DeviceRow]) -> str:
    """Return what approving a device does to the one whose place it takes; empty where that is gone already."""
    for row in devices:
        if row["id"] == pairing.get("replaces") and not row["revoked"]:
            since = f"{row['link']} since {clock(row['link_since'])}" if row["session"] else "never connected"
            return f"Approving it revokes the device that is called {row['name']} now ({since}), for good."
    return ""
