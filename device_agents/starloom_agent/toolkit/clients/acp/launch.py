"""The start of another agent's program: its variables, its home, and the folders that it is confined to.

The confinement is that of this device's file tools: the kernel refuses every other file, whatever the program or its
model wants. The network stays: such an agent talks to its model.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import starloom_agent
from starloom_agent.sandbox import cage
from starloom_agent.toolkit.clients.acp.wire import AcpFault
from starloom_agent.toolkit.running.programs import quiet_environment

_RUN: Final = (
    "import sys; sys.path.insert(0, sys.argv.pop(1)); from starloom_agent.toolkit.clients.acp import confined; "
    "sys.exit(confined.main(sys.argv))"
)
_TEMPORARY: Final = "tmp"
# Programs such as Node and Bun end without it. The kernel shows a confined process no memory, environment, folder or
# open file of a process outside; names and command lines it does show.
_PROCESSES: Final = "/proc"


def program_of(command: str, cwd: Path | None = None) -> str | None:
    """Return the absolute path of a program, or None where there is none; one with a slash may lie below `cwd`."""
    path = Path(command).expanduser()
    return shutil.which(str(path if cwd is None or len(path.parts) == 1 else cwd / path))


@dataclass(frozen=True)
class Ground:
    """The place of one session: `own` is a folder of this call, `home` the home of its programs, then further paths.

    All programs of the session stand on it, the agent and those that it asks for: they may run what the agent wrote.
    """

    own: Path
    home: Path
    read: tuple[str, ...] = ()
    write: tuple[str, ...] = ()
    confined: bool = True

    def argv(self, words: list[str], cwd: Path) -> list[str]:
        """Return the whole command line of a program.

        Raises:
            AcpFault: there is no such program.
        """
        program = program_of(words[0], cwd)
        if program is None:
            raise AcpFault(f"there is no program {words[0]} on this device")
        whole = [program, *words[1:]]
        if not self.confined:
            return whole
        code = str(Path(starloom_agent.__file__).resolve().parents[1])
        beside = [program, str(Path(program).resolve().parent), *cage.interpreter(), _PROCESSES, *self.read]
        folders = json.dumps({"read": beside, "write": [str(self.own), *self.write]})
        return [sys.executable, "-I", "-S", "-c", _RUN, code, folders, *whole]

    def variables(self, more: Mapping[str, str]) -> dict[str, str]:
        temporary = self.own / _TEMPORARY
        temporary.mkdir(parents=True, exist_ok=True, mode=0o700)
        return {**quiet_environment(), "HOME": str(self.home), "TMPDIR": str(temporary), **more}


def start(
    words: list[str], ground: Ground, *, env: Mapping[str, str], cwd: Path, apart: bool = False
) -> subprocess.Popen[bytes]:
    """Start the program of an agent; `apart`: in a process group of its own, for a caller without a runner.

    Raises:
        AcpFault: it cannot be started.
    """
    try:
        return subprocess.Popen(
            ground.argv(words, cwd),
            cwd=cwd,
            env=ground.variables(env),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=apart,
        )
    except (OSError, ValueError) as error:
        raise AcpFault(f"{words[0]} could not be started: {error}") from error
