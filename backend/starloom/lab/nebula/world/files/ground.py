"""The ground on which a world is laid out: folders of devices, states of their own tools, draws by seed. No clock."""

from __future__ import annotations

import json
import os
import random
import struct
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from importlib import resources
from pathlib import Path
from typing import Any, Final

FILES: Final = "files"
WORLD: Final = "world"
PRIVATE_MODE: Final = 0o700
FRIDAY: Final = 4
"""As `date.weekday` counts."""


@dataclass(frozen=True)
class Facts:
    """The parts of a world that are given from outside: its seed, its day, and its sites."""

    seed: int
    day: date
    sites: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """By server the addresses of its site, without and with TLS."""
    certificate_until: str = ""
    clock_s: float = 0
    """The time of this machine at which a run was given its world; 0 where there is no run."""

    @property
    def noon_s(self) -> float:
        """The world's present, in seconds: noon of its day. Its logs end there."""
        return datetime.combine(self.day, time(12), UTC).timestamp()

    @property
    def run_s(self) -> float:
        """The time to which a run's own times are relative: that of this machine, noon where there is no run."""
        return self.clock_s or self.noon_s

    def day_after(self, days: int) -> str:
        return (self.day + timedelta(days=days)).isoformat()

    def words(self) -> dict[str, str]:
        """Return what stands for `@{...}` in a request or a plan: days, `site.SERVER`, `tls.SERVER` and the like."""
        friday = (FRIDAY - self.day.weekday() - 1) % 7 + 1
        near = {"today": 0, "tomorrow": 1, "yesterday": -1, "friday": friday, "monday": friday + 3}
        return {
            **{name: self.day_after(days) for name, days in near.items()},
            **{f"site.{server}": url for server, (url, _) in self.sites.items()},
            **{f"port.{server}": url.rpartition(":")[2] for server, (url, _) in self.sites.items()},
            **{f"tls.{server}": url for server, (_, url) in self.sites.items()},
            "certificate-until": self.certificate_until,
        }


def program(name: str) -> str:
    """Return the text of a program that lies in the world, such as `train`; none of them is run by this package."""
    return (resources.files(__package__) / "data" / f"{name}.txt").read_text()


class Ground:
    """Writes below `root/DEVICE/files` and `root/DEVICE/world`. Times of files are set, never taken from the clock."""

    def __init__(self, root: Path, facts: Facts) -> None:
        self.root = root
        self.facts = facts

    def draw(self, part: str) -> random.Random:
        """Return a generator of its own for a part of the world, so that parts do not depend on their order."""
        return random.Random(f"{self.facts.seed}/{part}")  # noqa: S311 - a made-up world, the same for the same seed

    def files(self, device: str) -> Path:
        return self.root / device / FILES

    def write(self, device: str, path: str, content: str | bytes, *, age_s: float = 3600.0) -> Path:
        """Write a file that is `age_s` older than the world's present."""
        target = self.files(device) / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content.encode() if isinstance(content, str) else content)
        self.dated(target, age_s)
        return target

    def dated(self, target: Path, age_s: float) -> None:
        at_s = self.facts.noon_s - age_s
        os.utime(target, (at_s, at_s))

    def read(self, device: str, path: str) -> str:
        return (self.files(device) / path).read_text()

    def folder(self, device: str, path: str) -> Path:
        target = self.files(device) / path
        target.mkdir(parents=True, exist_ok=True)
        return target

    def state(self, device: str, area: str) -> dict[str, Any]:
        """Return the state behind a device's own tools of an area."""
        return dict(json.loads((self._world(device) / f"{area}.json").read_text()))

    def set_state(self, device: str, area: str, document: Mapping[str, Any]) -> None:
        (self._world(device) / f"{area}.json").write_text(json.dumps(document, indent=1, sort_keys=True))

    def _world(self, device: str) -> Path:
        folder = self.root / device / WORLD
        folder.mkdir(parents=True, exist_ok=True, mode=PRIVATE_MODE)
        return folder


WIDTH: Final = 96
HEIGHT: Final = 64


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(draw: random.Random, width: int = WIDTH, height: int = HEIGHT) -> bytes:
    """Return a picture of bands in drawn colours."""
    bands = [bytes(draw.randrange(256) for _ in range(3)) for _ in range(8)]
    rows = b"".join(b"\x00" + bands[y * len(bands) // height] * width for y in range(height))
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", head) + _chunk(b"IDAT", zlib.compress(rows)) + _chunk(b"IEND", b"")
