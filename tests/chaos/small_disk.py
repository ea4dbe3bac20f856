"""A disk of a few megabytes of its own for a process, so that a test can fill it: a tmpfs in its mount namespace.

Needs Linux, and root or user namespaces. What lies on the disk is seen from outside through the process's `/proc`.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

_MOUNT = """\
set -e
mkdir -p "$1"
kept=$(mktemp -d)
cp -a "$1/." "$kept"
mount -t tmpfs -o "size=$2,mode=700" starloom-test "$1"
cp -a "$kept/." "$1"
rm -rf "$kept"
shift 2
exec "$@"
"""


def on_small_disk(argv: Sequence[str], folder: Path, size: str) -> list[str]:
    """Return a command that is the given one with a disk of this size in place of a folder, and with what it holds."""
    apart = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--map-root-user", "--mount"]
    return [*apart, "sh", "-c", _MOUNT, "sh", str(folder), size, *argv]


def seen(pid: int, folder: Path) -> Path:
    """Return how a folder of such a process is reached from here."""
    return Path(f"/proc/{pid}/root{folder}")


def copied(database: Path, to: Path) -> Path:
    """Return a copy of a SQLite file that is at rest: SQLite follows links, and what is seen through `/proc` is one."""
    shutil.rmtree(to, ignore_errors=True)
    to.mkdir(parents=True)
    for path in database.parent.glob(f"{database.name}*"):
        if not path.name.endswith("-shm"):
            shutil.copyfile(path, to / path.name)
    return to / database.name


@contextmanager
def full(folder: Path) -> Iterator[Path]:
    """Fill the disk below a folder to its last byte while the body runs."""
    filler = folder / "filler"
    try:
        with filler.open("wb", buffering=0) as file:
            for size in (1024 * 1024, 4096, 1):
                with contextlib.suppress(OSError):
                    while file.write(b"\0" * size):
                        pass
        _must_be_full(folder)
        yield filler
    finally:
        filler.unlink(missing_ok=True)


def _must_be_full(folder: Path) -> None:
    probe = folder / "probe"
    try:
        probe.write_bytes(b"one page")
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
    else:
        raise AssertionError(f"{folder} still takes files")
    finally:
        with contextlib.suppress(OSError):
            probe.unlink()
