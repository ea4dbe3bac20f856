"""The agent's wheels that this hub hands to joining devices: found in one folder, named with their hashes.

`build` makes the hub's own two from a checkout; nothing is ever fetched on a device's request.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from starloom.edge.web.problems import Problem
from starloom_protocol.api.fleet import WheelRow
from starloom_protocol.vocabulary import Code
from starloom_protocol.wire.version import release_numbers

_log = logging.getLogger(__name__)
OWN = ("starloom_protocol", "starloom_agent")


class Wheels:
    """The wheels in a folder; their hashes are computed once for each version of a file.

    With `sources` (the folders of a checkout) missing or older wheels are built when a code for a device is made.
    """

    def __init__(self, folder: Path, sources: Sequence[Path] = ()) -> None:
        self._folder = folder
        self._sources = tuple(sources)
        self._building: asyncio.Task[None] | None = None
        self._hashes: dict[tuple[str, int, int], str] = {}

    def prepare(self) -> None:
        """Begin to build what is missing or older than its source; returns at once."""
        if self._sources and (self._building is None or self._building.done()):
            self._building = asyncio.create_task(self._build(), name="agent-wheels")

    async def _build(self) -> None:
        stale = await asyncio.to_thread(_stale, self._sources, self._folder)
        if not stale:
            return
        try:
            await asyncio.to_thread(build, stale, self._folder)
        except (RuntimeError, OSError) as error:
            # A request for the wheels is answered that there are none; the reason is in this log.
            _log.warning("the agent's wheels could not be built: %s", error)

    async def listing(self) -> list[WheelRow]:
        """Return `{name, version, file, sha256, bytes}` of each wheel; in a checkout, build stale ones first.

        The hub's own two have their newest version alone. Other packages may have one file for each platform.

        Raises:
            Problem: if the hub has none to give.
        """
        self.prepare()
        if self._building is not None:
            await asyncio.shield(self._building)
        rows = await asyncio.to_thread(self._list)
        names = {item["name"] for item in rows}
        missing = [name for name in OWN if name not in names]
        if missing:
            lacking = " and ".join(missing)
            # Anybody may ask, so only the log says where the hub keeps its data.
            _log.warning("no agent to hand out: there is no wheel of %s in %s", lacking, self._folder)
            raise Problem(
                Code.NOT_FOUND,
                f"this hub has no agent to hand out: it has no wheel of {lacking}",
                hint="Install the hub from its wheel or run it from a checkout, or put both wheels into the folder "
                "that the hub's log names; a phone's browser joins without them.",
            )
        return [item for item in rows if item["name"] not in OWN or item is _newest(item["name"], rows)]

    async def path_of(self, file: str) -> Path:
        """Return the path of a listed wheel.

        Raises:
            Problem: if it is not one of them.
        """
        for item in await asyncio.to_thread(self._list):
            if item["file"] == file:
                return self._folder / file
        raise Problem(Code.NOT_FOUND, f"there is no wheel {file[:100]}", hint="See /agent/wheels.json.")

    def _list(self) -> list[WheelRow]:
        if not self._folder.is_dir():
            return []
        rows: list[WheelRow] = []
        for path in sorted(self._folder.glob("*.whl")):
            parts = path.name.split("-")
            if len(parts) < 5 or not path.is_file():
                continue
            stat = path.stat()
            mark = (path.name, stat.st_mtime_ns, stat.st_size)
            if mark not in self._hashes:
                with path.open("rb") as file:
                    self._hashes[mark] = hashlib.file_digest(file, "sha256").hexdigest()
            rows.append(
                {
                    "name": parts[0],
                    "version": parts[1],
                    "file": path.name,
                    "sha256": self._hashes[mark],
                    "bytes": stat.st_size,
                }
            )
        return rows


def _stale(sources: Sequence[Path], folder: Path) -> list[Path]:
    """Return the sources whose wheel is missing or older than any of their files."""
    stale = []
    for source in sources:
        wheels = [path.stat().st_mtime for name in OWN for path in folder.glob(f"{name}-*.whl") if _of(name, source)]
        changed = max((path.stat().st_mtime for path in source.rglob("*.py")), default=0.0)
        if not wheels or max(wheels) < changed:
            stale.append(source)
    return stale


def _newest(name: str, listed: Sequence[WheelRow]) -> WheelRow:
    return max((item for item in listed if item["name"] == name), key=lambda item: release_numbers(item["version"]))


def _of(name: str, source: Path) -> bool:
    return (source / name).is_dir()


def build(sources: Sequence[Path], folder: Path) -> None:
    """Build wheels of these source folders into `folder`, with the build tools of this environment; blocks.

    Raises:
        RuntimeError: with the output of the build backend, if it failed.
    """
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    for source in sources:
        # The backend itself: an environment made by uv has no pip.
        command = [sys.executable, "-P", "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
        result = subprocess.run(command, cwd=source, check=False, capture_output=True, text=True)
        if result.returncode != 0:
            output = (result.stderr or result.stdout).strip()[-2000:]
            raise RuntimeError(f"hatchling ended with {result.returncode}: {output}")
