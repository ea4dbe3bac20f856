"""The archive opens, has every log of both servers line by line, and no address stands in it."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator
from typing import Final

from starloom.lab.nebula.world.checked_world import CheckedWorld, Checkpoint
from starloom.lab.nebula.world.devices import SERVERS

ADDRESS: Final = re.compile(r"\b\d{1,3}(?:\.\d{1,3}){3}\b")


def checks(world: CheckedWorld) -> Iterator[Checkpoint]:
    logs = {
        (server, path): data for server in SERVERS for path, data in world.below(server, "logs/*", before=True).items()
    }
    with zipfile.ZipFile(io.BytesIO(world.file("desk", "Reports/logs.zip") or b"")) as opened:
        texts = {name: opened.read(name).decode() for name in opened.namelist() if not name.endswith("/")}
    yield "as many files", len(texts) == len(logs), 1
    yield "no address", bool(texts) and not any(ADDRESS.search(text) for text in texts.values()), 2
    for (server, path), data in sorted(logs.items()):
        redacted = ADDRESS.sub("x.x.x.x", data.decode())
        mine = [text for name, text in texts.items() if server in name and path.rpartition("/")[2] in name]
        yield f"{path} of {server}", mine == [redacted], 1
