"""The small files by which the kernel tells and takes values: read and written whole, without a text layer.

A tool's process is forked, so each page of memory that it touches is copied first: text files of the library touch two
hundred, which takes longer than all else that `limits` does. Standard library only. Decides nothing.
"""

from __future__ import annotations

import os
from typing import Final

_READ_BYTES: Final = 16 * 1024


def read(path: str) -> bytes:
    """Return the content of a file.

    Raises:
        OSError: as the system says.
    """
    descriptor = os.open(path, os.O_RDONLY)
    try:
        content = part = os.read(descriptor, _READ_BYTES)
        while part:
            part = os.read(descriptor, _READ_BYTES)
            content += part
        return content
    finally:
        os.close(descriptor)


def write(path: str, content: bytes) -> None:
    """Write a value into a file that is there.

    Raises:
        OSError: as the system says.
    """
    descriptor = os.open(path, os.O_WRONLY)
    try:
        os.write(descriptor, content)
    finally:
        os.close(descriptor)
