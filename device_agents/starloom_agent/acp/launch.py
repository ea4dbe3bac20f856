"""The start of another agent's program: its variables, its home, and the folders that it is confined to.

The confinement is that of this device's file tools: the kernel refuses every other file, whatever the program or its
model wants. The network stays: such an agent talks to its model.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from starloom_agent.acp.wire import AcpFault
from starloom_agent.sandbox import cage
from starloom_agent.toolkit.running.programs import quiet_environment

_RUN: Final = (
    "import sys; sys.path.insert(0, sys.argv.pop(1)); from starloom_agent.acp import confined; "
    "sys.exit(confined.main(sys.argv))"
)
_TEMPORARY: Final = "tmp"
# Programs such as Node and Bun end without it. The kernel shows a confined process no memory, environment, folder or
# open file of a process outside; names and command lines it does show.
_PROCESSES: Final = "/proc"


def program_of(command: str) -> str | None:
    """Return the whole path of a program, or None where there is none."""
    return shutil.which(str(Path(command).expanduser()))


def start(
    argv: list[str],
    *,
    env: Mapping[str, str],
    cwd: Path,
    own: Path,
    read: Iterable[str] = (),
    write: Iterable[str] = (),
    confined: bool = True,
) -> subprocess.Popen[bytes]:
    """Start the program; `own` is a folder of this call that becomes its home where the owner names none.

    Raises:
        AcpFault: it cannot be started.
    """
    program = program_of(argv[0])
    if program is None:
        raise AcpFault(f"there is no program {argv[0]} on this device")
    temporary = own / _TEMPORARY
    temporary.mkdir(parents=True, exist_ok=True, mode=0o700)
    variables = {**quiet_environment(), "HOME": str(own), "TMPDIR": str(temporary), **env}
    whole = [program, *argv[1:]]
    if confined:
        code = str(Path(__file__).resolve().parents[2])
        beside = [program, str(Path(program).resolve().parent), *cage.interpreter(), _PROCESSES, *read]
        folders = json.dumps({"read": beside, "write": [str(own), *write]})
        whole = [sys.executable, "-I", "-S", "-c", _RUN, code, folders, *whole]
    try:
        return subprocess.Popen(
            whole,
            cwd=cwd,
            env=variables,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
    except (OSError, ValueError) as error:
        raise AcpFault(f"{program} could not be started: {error}") from error
