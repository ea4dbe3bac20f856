"""Two folders that were the same: some files changed on one side, two on both, one is new on each."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from starloom.lab.nebula.base.ground import Ground


def lay(ground: Ground) -> dict[str, Any]:
    draw = ground.draw("shared")
    last = {f"note-{number:02d}.txt": f"Note {number}: {draw.randrange(10**9)}\n" for number in range(1, 13)}
    desk, other = dict(last), dict(last)
    for number in (1, 2):
        desk[f"note-{number:02d}.txt"] += "changed on desk\n"
        other[f"note-{number + 2:02d}.txt"] += "changed on srv-a\n"
        desk[f"note-{number + 4:02d}.txt"] += "changed on both, here on desk\n"
        other[f"note-{number + 4:02d}.txt"] += "changed on both, here on srv-a\n"
    desk["new-desk.txt"], other["new-srv-a.txt"] = "new on desk\n", "new on srv-a\n"
    for device, files in (("desk", desk), ("srv-a", other)):
        for name, text in files.items():
            ground.write(device, f"Shared/{name}", text)
    hashes = {name: hashlib.sha256(text.encode()).hexdigest() for name, text in last.items()}
    ground.write("desk", "Shared/.last.json", json.dumps(hashes))
    return {}
