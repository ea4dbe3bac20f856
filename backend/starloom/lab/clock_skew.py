"""A module run with a wall clock shifted by a file: `python -m starloom.lab.clock_skew FILE MODULE ARGS...`.

The file holds one number of eight bytes, in seconds; writing it moves the clock while the program runs. Only this
process is affected: not its children, and no monotonic clock, as on a machine whose owner set the date.
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
    """Move the clock of the process that runs with this file; make the file if there is none."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(_NUMBER.pack(by_s))
        return
    with path.open("r+b") as file:
        file.write(_NUMBER.pack(by_s))


def shift(path: Path) -> None:
    """Shift `time.time` and `time.time_ns` of this process by the content of the file from now on."""
    with path.open("rb") as file:
        view = mmap.mmap(file.fileno(), _NUMBER.size, access=mmap.ACCESS_READ)
    real, real_ns = time.time, time.time_ns

    def shifted() -> float:
        return real() + float(_NUMBER.unpack_from(view)[0])

    def shifted_ns() -> int:
        return real_ns() + int(_NUMBER.unpack_from(view)[0] * 1e9)

    time.time, time.time_ns = shifted, shifted_ns


def main() -> None:
    """Shift the clock of this process, then run the module."""
    path, module, *rest = sys.argv[1:]
    shift(Path(path))
    sys.argv = [module, *rest]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
