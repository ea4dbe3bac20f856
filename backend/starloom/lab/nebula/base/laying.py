"""The whole base world: every device's files and states, and the profile that its own tools read."""

from __future__ import annotations

import json
from pathlib import Path

from starloom.lab.nebula.base import desk, others, servers
from starloom.lab.nebula.base.ground import Facts, Ground
from starloom.lab.nebula.devices import DEVICES
from starloom.lab.nebula.world_program import PROFILE


def lay_base(root: Path, facts: Facts) -> Ground:
    """Lay the base world out below an empty folder and return its ground."""
    ground = Ground(root, facts)
    desk.lay(ground)
    servers.lay(ground)
    others.lay(ground)
    for device in DEVICES:
        profile = {"seed": facts.seed, "device": device.name, "speed": device.speed}
        world = root / device.name / "world"
        world.mkdir(parents=True, exist_ok=True)
        (world / PROFILE).write_text(json.dumps(profile, sort_keys=True))
    return ground
