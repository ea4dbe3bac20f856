"""The first thing in the process of another agent: it gives up all files but those named, and the rights of root, then
becomes the program.

Run by `launch` as a program of its own, without `site`. Standard library only. Where the device cannot confine it,
nothing is started: exit code 125 and a line on stderr.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from typing import Final

from starloom_agent.sandbox import confinement

NOT_CONFINED: Final = 125
"""With 127 the codes by which `env` and `timeout` say the same: no program of its own was run."""
_NOT_STARTED: Final = 127


def main(argv: list[str]) -> int:
    """Confine this process to the folders of `argv[1]` (JSON) and execute the rest; returns only if that fails."""
    folders, program = json.loads(argv[1]), argv[2:]
    try:
        is_confined = confinement.confine(read=folders["read"], write=folders["write"], foreign=True)
    except OSError as error:
        is_confined = False
        print(f"starloom: {error}", file=sys.stderr)
    if not is_confined:
        print("starloom: this device could not confine the agent to its folders", file=sys.stderr)
        return NOT_CONFINED
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    try:
        os.execvpe(program[0], program, os.environ)  # noqa: S606 - no shell is wanted
    except OSError as error:
        print(f"starloom: {program[0]} could not be started: {error}", file=sys.stderr)
    return _NOT_STARTED
