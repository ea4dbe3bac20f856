"""Both folders hold the same files, each as it should be, and two conflicts are kept on both."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any

from starloom.lab.nebula.world.checked_world import CheckedWorld, Checkpoint
from starloom.lab.nebula.world.files.ground import Ground


def checks(world: CheckedWorld) -> Iterator[Checkpoint]:
    due = merged(world)
    for device in ("desk", "srv-a"):
        files = world.below(device, "Shared/*")
        mine = {path.rpartition("/")[2]: data for path, data in files.items() if ".last" not in path}
        yield f"every file on {device}", sorted(mine) == sorted(due), 1
        yield f"as it should be on {device}", mine == due, 2
    yield "two conflicts", all(len(world.below(device, "Shared/*.conflict")) == 2 for device in ("desk", "srv-a")), 1


def merged(world: CheckedWorld) -> dict[str, bytes]:
    last = json.loads(world.had("desk", "Shared/.last.json"))
    mine, theirs = (
        {path.rpartition("/")[2]: data for path, data in world.below(device, "Shared/*.txt", before=True).items()}
        for device in ("desk", "srv-a")
    )
    folder: dict[str, bytes] = {}
    for name in sorted({*mine, *theirs}):
        a, b = mine.get(name), theirs.get(name)
        if a is None or b is None or a == b:
            folder[name] = a if a is not None else b or b""
        elif hashlib.sha256(a).hexdigest() == last.get(name):
            folder[name] = b
        elif hashlib.sha256(b).hexdigest() == last.get(name):
            folder[name] = a
        else:
            folder[name], folder[f"{name}.conflict"] = a, b
    return folder


def lay(ground: Ground) -> dict[str, Any]:
    """Two folders that were the same: some files changed on one side, two on both, one is new on each."""
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
