"""The permissions and limits of a caged program, as one record between the agent and the cage's own process.

Standard library only: it is imported in a process without third-party packages.
"""

from __future__ import annotations

import functools
import json
import os
import re
import signal
import sys
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

SYSTEM: Final = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
# Files that programs look up and that contain no secret.
ETC: Final = (
    "/etc/alternatives", "/etc/fonts", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/localtime",
    "/etc/mime.types", "/etc/ssl/certs", "/etc/ssl/openssl.cnf", "/etc/timezone",
)  # fmt: skip
DEVICES: Final = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
TEMPORARY: Final = ".tmp"
INSIDE: Final = "--inside"
# How the watch says on stderr which limit was passed; the code is one of the protocol's.
_PASSED: Final = re.compile(r"^starloom: ended \((memory_exceeded|disk_exceeded|exit_code)\): (.+)$", re.MULTILINE)
_RUN: Final = (
    "import sys; sys.path.insert(0, sys.argv.pop(1)); from starloom_agent.sandbox import confine; "
    "sys.exit(confine.main(sys.argv))"
)


class Layer(StrEnum):
    """The layer that confines a caged program; each denies the network and all files except named ones."""

    NAMESPACES = "namespaces"
    BUBBLEWRAP = "bubblewrap"
    LANDLOCK = "landlock"


@dataclass(frozen=True)
class Cage:
    """One caged program: `workdir` is the only place that it may change. Sizes and counts are for all of it.

    `memory_bytes_max` bounds its memory at any time, `disk_bytes_max` the total it may write; 0 is no limit.
    `files_max` is for its own folder.
    `variables` names the environment variables that it gets beside the usual ones; their values are never part of this.
    """

    layer: Layer
    workdir: str
    interpreter: tuple[str, ...] = ()
    read: tuple[str, ...] = ()
    memory_bytes_max: int = 0
    disk_bytes_max: int = 0
    processes_max: int = 256
    files_max: int = 100_000
    variables: tuple[str, ...] = ()

    @property
    def temporary(self) -> str:
        return f"{self.workdir}/{TEMPORARY}"

    def text(self) -> str:
        """Return the form that `of` reads."""
        return json.dumps(asdict(self))

    @staticmethod
    def of(text: str) -> Cage:
        plain = json.loads(text)
        lists = {name: tuple(value) for name, value in plain.items() if isinstance(value, list)}
        return Cage(**{**plain, **lists, "layer": Layer(plain["layer"])})


@functools.cache
def interpreter() -> tuple[str, ...]:
    """Return the paths that this Python needs: parts of its prefixes, never a whole one, which may be a home."""
    paths: dict[str, None] = {}
    # Asked in the agent: in the cage's process, which starts without `site`, a virtual environment is not seen.
    for prefix in dict.fromkeys((sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix)):
        for part in ("bin", "lib", "lib64", "pyvenv.cfg", "Python", "Resources"):
            path = f"{prefix}/{part}"
            if os.path.lexists(path) and not within(path, SYSTEM):
                paths[path] = None
    return tuple(paths)


def package() -> str:
    """Return the folder of the sandbox's own code."""
    return str(Path(__file__).resolve().parent)


def command(cage: Cage, program: list[str], *more: str) -> list[str]:
    """Return the argument list that runs a program in a cage.

    The cage's process starts isolated and without `site`: fast, and no code of the agent's surroundings runs in it.
    """
    code = str(Path(__file__).resolve().parents[2])
    return [sys.executable, "-I", "-S", "-c", _RUN, code, *more, cage.text(), *program]


def within(path: str, roots: Iterable[str]) -> bool:
    return any(map(Path(path).is_relative_to, roots))


def environment(cage: Cage, before: dict[str, str]) -> dict[str, str]:
    """Return the variables of a caged program: those it had, with every path moved into the cage."""
    names = ("PATH", "LANG", "LC_ALL", "STARLOOM_FENCE", "TZ", *cage.variables)
    passed = {name: value for name, value in before.items() if name in names}
    return {**passed, "HOME": cage.workdir, "TMPDIR": cage.temporary, "USER": "starloom", "LOGNAME": "starloom"}


def passed_line(code: str, sentence: str) -> str:
    """Return the line by which the watch reports that it ended the program; `passed_limit` reads it."""
    return f"starloom: ended ({code}): {sentence}\n"


def passed_limit(exit_code: int, stderr: str) -> tuple[str, str] | None:
    """Return the code and the sentence of the limit for which a caged program was ended, or None.

    A program may print such a line itself, which only harms that program.
    """
    matches = _PASSED.findall(stderr) if exit_code == 128 + signal.SIGKILL else []
    return (matches[-1][0], matches[-1][1]) if matches else None
