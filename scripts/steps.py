"""Says what a command does while it does it: one line per step with its seconds, and plain failures.

Owns the printing of `make run` and `make test` before any package is installed, so it is standard library only.
"""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

_lock = threading.Lock()


class Unable(Exception):
    """A step cannot be done. `fix` is the line or the sentence that gets past it."""

    def __init__(self, what: str, fix: str) -> None:
        super().__init__(what)
        self.what = what
        self.fix = fix


def say(text: str) -> None:
    """Print one line, whole, from any thread."""
    with _lock:
        print(text, flush=True)


@contextmanager
def step(title: str) -> Iterator[None]:
    """Print the title, and when it ends how long it took."""
    began = time.monotonic()
    if sys.stdout.isatty():
        say(f"  {title} ...")
    try:
        yield
    except BaseException:
        say(f"  {title}: failed after {time.monotonic() - began:.1f} s")
        raise
    say(f"  {title}: {time.monotonic() - began:.1f} s")


def run(
    argv: Sequence[str],
    *,
    cwd: Path,
    failed: Callable[[str], Unable],
    environment: Mapping[str, str] | None = None,
) -> str:
    """Run a command to its end and return what it printed.

    Raises:
        Unable: made by `failed` from the last lines of its output, if it does not end with 0.
    """
    done = subprocess.run(
        list(argv), cwd=cwd, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
    )
    if done.returncode != 0:
        raise failed(excerpt(done.stdout))
    return done.stdout


def excerpt(output: str, first: int = 10, last: int = 15) -> str:
    """Return the beginning and the end of an output, indented: some programs say first what is wrong, some last."""
    lines = [f"    {line}" for line in output.strip().splitlines() if line.strip()]
    if len(lines) <= first + last:
        return "\n".join(lines)
    return "\n".join([*lines[:first], "    ...", *lines[-last:]])
