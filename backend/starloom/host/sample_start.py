"""Signals of `starloom up` to the sample, which starts beside the hub: the hub is ready, and this computer's device.

They are files below the data folder, because the sample is a process of its own. Both sides use them here alone.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Final

LOOK_EVERY_S: Final = 0.05


def own_folder(home: Path) -> Path:
    """Return the folder that this computer grants beside the sample.

    An installation that has granted the folder of the first versions keeps it: its files are there.
    """
    earlier = home / "demo" / "desktop"
    return earlier if earlier.is_dir() else home / "files"


class SampleStart:
    """`forget` before the sample starts; then `hub_is_ready` and `desktop_is`, each once."""

    def __init__(self, home: Path) -> None:
        self._hub = home / "run" / "sample-hub"
        self._desktop = home / "run" / "sample-desktop"

    def forget(self) -> None:
        """Remove the signals of an earlier start."""
        self._hub.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        for path in (self._hub, self._desktop):
            path.unlink(missing_ok=True)

    def hub_is_ready(self) -> None:
        self._hub.touch()

    def desktop_is(self, device: str) -> None:
        """Signal the id of this computer's device, empty if it has none."""
        part = self._desktop.with_name(self._desktop.name + ".part")
        part.write_text(device)
        part.replace(self._desktop)

    async def until_hub(self) -> None:
        await _until(self._hub)

    async def until_desktop(self) -> str:
        """Return the id of this computer's device once it has joined, empty if it has none."""
        await _until(self._desktop)
        return self._desktop.read_text()


async def _until(path: Path) -> None:
    """Wait until a file is there; `starloom up` ends this process if it never comes."""
    while not path.exists():  # noqa: ASYNC110, ASYNC240 - another process makes it
        await asyncio.sleep(LOOK_EVERY_S)
