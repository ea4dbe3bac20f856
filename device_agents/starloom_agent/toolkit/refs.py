"""The records that travel between tools: files, folders of files, rows of a table.

They are lenient where a tool's own arguments are strict: one tool's output is another one's input, so fields that
a tool does not use pass through unread.
"""

from __future__ import annotations

import mimetypes
from pathlib import PurePath
from typing import Annotated, Any

import msgspec

Sha256 = Annotated[str, msgspec.Meta(pattern="^([0-9a-f]{64})?$")]
Row = dict[str, Any]


class FileRef(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A file: `path` of a device, or `artifact`."""

    # The class's own words stand in the schema of every tool that takes files, so they are few.
    artifact: Sha256 = ""
    below: str = ""
    """The path from the folder that was asked for on, that folder's name first."""
    bytes: int = 0
    device: str = ""
    """The name of the device it was found on, where that was asked for."""
    media: str = ""
    mode: int = 0
    """The permission bits; 0 where they are not known."""
    mtime_s: int = 0
    """The time of its last change; 0 where it is not known."""
    name: str = ""
    path: str = ""
    replaced: str = ""
    """The ticket of the file that was there, now in the trash."""
    sha256: Sha256 = ""
    source: str = ""
    """The first path."""

    @property
    def hash(self) -> str:
        """The hash of the bytes: an artifact is named by it."""
        return self.artifact or self.sha256

    @property
    def shown_name(self) -> str:
        return self.name or PurePath(self.path).name or self.hash[:12] or "file"


class AddedRef(FileRef, frozen=True, kw_only=True, omit_defaults=True):
    """An item that a call added: `wrote` is the hash of its file, or it made a `folder`, which `holds` its files.

    `holds` is the hash of the names and contents of these files; "" of a folder that was made empty. One made `on_way`
    to a file stays where it holds other files by now. `files` is how many came with it.
    """

    files: int = 0
    folder: bool = False
    holds: Sha256 = ""
    on_way: bool = False
    wrote: Sha256 = ""


class MovedRef(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An item that `was` elsewhere and lies at `path`, in this `state`; so many folders above it were `made` for it."""

    made: int = 0
    path: str
    state: str
    was: str


class FolderRef(msgspec.Struct, frozen=True, kw_only=True):
    """A folder and the files directly in it."""

    path: str
    files: list[FileRef] = []
    bytes: int = 0
    below: str = ""


def media_of(name: str) -> str:
    """Return the media type that a name speaks of."""
    return mimetypes.guess_type(name, strict=False)[0] or "application/octet-stream"
