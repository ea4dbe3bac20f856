"""The hub's artifacts as a worker reads and keeps them: results of tasks, and the texts of calls of a model.

A worker without the hub's folder has none; then nothing is kept, and only values in the log can be read.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from starloom.store.blobs.artifacts import BlobRefused, FileBlobs

OWNER: Final = "model"
"""The owner for whom the texts of a model count, so that they cannot fill the store alone."""
_log = logging.getLogger(__name__)


def blobs_of(environment: Mapping[str, str]) -> Path | None:
    """Return the hub's folder of artifacts by a worker's variables, or None if they name no home."""
    home = environment.get("STARLOOM_SHARED") or environment.get("STARLOOM_HOME")
    return Path(home).expanduser() / "blobs" if home else None


class HubArtifacts:
    """The artifacts in one folder, or none if `folder` is None."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._blobs: FileBlobs | None = None

    async def keep(self, text: str) -> str | None:
        """Keep a text and return its hash, or None if it cannot be kept, which is logged."""
        if self._folder is None:
            return None
        return await asyncio.to_thread(self._keep, self._folder, text)

    async def read(self, sha256: str, bytes_most: int) -> bytes | None:
        """Return an artifact, or None if it is not here or larger than `bytes_most`."""
        if self._folder is None:
            return None
        return await asyncio.to_thread(self._read, self._folder, sha256, bytes_most)

    def _store(self, folder: Path) -> FileBlobs:
        # Opened at first use: it reads its folder once, and most workers never ask a model.
        self._blobs = self._blobs or FileBlobs(folder)
        return self._blobs

    def _keep(self, folder: Path, text: str) -> str | None:
        try:
            return self._store(folder).put_bytes(text.encode("utf-8", "replace"), owner=OWNER)
        except (BlobRefused, OSError) as error:
            _log.warning("a text of the model could not be kept: %s", error)
            return None

    def _read(self, folder: Path, sha256: str, bytes_most: int) -> bytes | None:
        try:
            with self._store(folder).open(sha256) as file:
                raw = file.read(bytes_most + 1)
        except (BlobRefused, OSError) as error:
            _log.warning("the artifact %s could not be read: %s", sha256[:12], error)
            return None
        return raw if len(raw) <= bytes_most else None
