"""Runs a module whose wall clock is wrong by what a file says: `python -m starloom.lab.shifted FILE MODULE ARGS...`.

The file holds one number of eight bytes, in seconds; who writes it moves the clock while the program runs. Only this
process is fooled: not its children, and no monotonic clock, as on a machine whose owner set the date.
"""

from __future__ import annotations

import mmap
import runpy
import struct
import sys
import time
from pathlib import Path
from typing import Final

_NUMBER: Final = struct.Struct("<d")


def set_clock(path: Path, by_s: float) -> None:
    """Move the clock of whoever runs with this file; makes the file if there is none."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(_NUMBER.pack(by_s))
        return
    with path.open("r+b") as file:
        file.write(_NUMBER.pack(by_s))


def fool(path: Path) -> None:
    """Make `time.time` and `time.time_ns` of this process wrong by what the file says from now on."""
    with path.open("rb") as file:
        view = mmap.mmap(file.fileno(), _NUMBER.size, access=mmap.ACCESS_READ)
    real, real_ns = time.time, time.time_ns

    def wrong() -> float:
        return real() + float(_NUMBER.unpack_from(view)[0])

    def wrong_ns() -> int:
        return real_ns() + int(_NUMBER.unpack_from(view)[0] * 1e9)

    time.time, time.time_ns = wrong, wrong_ns


def main() -> None:
    """Fool this process, then be the module."""
    path, module, *rest = sys.argv[1:]
    fool(Path(path))
    sys.argv = [module, *rest]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
