"""The name of a task as people read it. Pure over the model."""

from __future__ import annotations

from starloom.core.state.model import Constellation, Fleet


def called(constellation: Constellation, fleet: Fleet, task: str) -> str:
    """Return what people call a task: a child for a device has the device's name where its id has the device's id."""
    spec = constellation.specs.get(task)
    device = fleet.devices.get(spec.key) if spec is not None and spec.key is not None else None
    return f"{spec.group} on {device.name}" if spec is not None and device is not None else task
