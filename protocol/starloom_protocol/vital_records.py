"""Records of vital figures as the hub sends them: lines of the last hour, and the work of devices since a moment."""

from __future__ import annotations

import msgspec

from starloom_protocol.vocabulary import ConstellationState, Vital


class DeviceVitals(msgspec.Struct, frozen=True, kw_only=True):
    """The lines of one device. The last point of each is that of `Vitals.until_ms`; null: nothing was heard then.

    A line begins with its first point; one that was never heard is left out. `heard_ms` is 0 if nothing was.
    """

    device: str
    heard_ms: int
    lines: dict[Vital, list[int | None]]


class Vitals(msgspec.Struct, frozen=True, kw_only=True):
    """Lines as one hub has heard them, `step_s` between two points. It keeps them in memory alone.

    `since_ms` is the time of the first figure of any device (0: none yet): earlier figures are lost.
    `left_out` counts devices beyond the most that one answer holds.
    """

    hub: str
    items: list[DeviceVitals]
    left_out: int = 0
    since_ms: int
    slots: int
    step_s: int
    until_ms: int


class DeviceWork(msgspec.Struct, frozen=True, kw_only=True):
    """How many constellations that were asked for since a moment had work on a device, by their state now."""

    constellations: dict[ConstellationState, int]
    device: str
