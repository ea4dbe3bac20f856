"""Which level of sandbox this machine gives, found by trying: a real program in a real cage that tries to break out.

L0 is no sandbox and is used by the owner's explicit grant alone; L1 is limits, a group and a directory; L2 adds a cage
without network and with named folders only. A layer that does not hold in the trial is not used, and the reason kept.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from starloom_agent.sandbox import cage as cages
from starloom_agent.sandbox.cage import Cage, Layer

# What the agent tells a tool process: the layer's name, or that the owner has allowed to do without.
UNCONFINED: Final = "none"
_TRIAL_WITHIN_S: Final = 10.0
_SECRET: Final = "canary-6f1c"
# Tries to break out and says what it could read; what it could change or reach is seen from outside.
_TRIAL: Final = """
import socket, sys
canary, port = sys.argv[1], int(sys.argv[2])
def read():
    print(open(canary).read())
def reach():
    socket.create_connection(("127.0.0.1", port), 2).close()
for attempt in (read, reach, lambda: open(canary, "a").write("x"), lambda: open(canary + ".new", "w").close()):
    try:
        attempt()
    except OSError:
        pass
open("inside", "w").close()
"""


@dataclass(frozen=True)
class Sandbox:
    """What the machine gives: a layer that held, or the reason why there is none."""

    layer: Layer | None
    reason: str = ""

    @property
    def level(self) -> str:
        """The word of the offer: `L2-` and the layer, or `L1`."""
        return f"L2-{self.layer}" if self.layer else "L1"


NOT_TRIED: Final = Sandbox(None, "no cage was tried on this device")


def find(layers: Iterable[Layer] = Layer, *, attempt: Callable[[Layer], str] | None = None) -> Sandbox:
    """Try the layers, strongest first, and return the first that holds. Takes about 0.2 s where the first does."""
    if not sys.platform.startswith("linux"):
        return Sandbox(None, f"there is no cage for {sys.platform} yet")
    reasons = []
    for layer in layers:
        reason = (attempt or trial)(layer)
        if not reason:
            return Sandbox(layer)
        reasons.append(f"{layer}: {reason}")
    return Sandbox(None, "; ".join(reasons) or NOT_TRIED.reason)


def trial(layer: Layer) -> str:
    """Run the trial program in a cage of this layer; return why the layer does not hold here, or nothing."""
    with (
        tempfile.TemporaryDirectory(prefix="starloom-trial-") as made,
        socket.create_server(("127.0.0.1", 0)) as server,
    ):
        inside, canary = Path(made, "inside"), Path(made, "canary")
        inside.mkdir()
        canary.write_text(_SECRET, encoding="ascii")
        cage = Cage(layer, str(inside), interpreter=tuple(cages.interpreter()))
        program = [sys.executable, "-I", "-S", "-c", _TRIAL, str(canary), str(server.getsockname()[1])]
        try:
            ran = subprocess.run(
                cages.command(cage, program),
                cwd=inside,
                env={"PATH": os.environ.get("PATH", os.defpath)},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=_TRIAL_WITHIN_S,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return f"the trial did not end well: {error}"
        if ran.returncode:
            return (ran.stderr.strip().splitlines() or [f"the trial ended with {ran.returncode}"])[-1][-300:]
        broken = {
            "a program in it cannot write in its own directory": not Path(inside, "inside").exists(),
            "a program in it reads files outside": _SECRET in ran.stdout,
            "a program in it changes files outside": canary.read_text(encoding="ascii") != _SECRET,
            "a program in it makes files outside": Path(made, "canary.new").exists(),
            "a program in it reaches the network": _was_called(server),
        }
        return ", ".join(reason for reason, found in broken.items() if found)


def _was_called(server: socket.socket) -> bool:
    server.settimeout(0)
    try:
        server.accept()[0].close()
    except BlockingIOError:
        return False
    return True
