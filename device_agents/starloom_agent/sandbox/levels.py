"""The sandbox level of this machine, found by a trial: a real program in a real cage tries to break out.

L0 is no sandbox and needs an explicit grant of the owner; L1 is limits, a group and a directory; L2 adds a cage
without network and with named folders only. A layer that fails the trial is not used, and the reason is kept.
"""

from __future__ import annotations

import json
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
from starloom_agent.sandbox import escapes, quota
from starloom_agent.sandbox.cage import Cage, Layer
from starloom_agent.sandbox.layers import call_numbers

# The agent passes a tool process the name of the layer, or this if the owner has allowed to do without one.
UNCONFINED: Final = "none"
_TRIAL_WITHIN_S: Final = 10.0
_SECRET: Final = "canary-6f1c"
_WHEN: Final = 1_000_000_000
_TRIED: Final = "tried\n"
_OPEN: Final = "open: "


@dataclass(frozen=True)
class Sandbox:
    """The sandbox of this machine: a layer that passed the trial, or the reason why there is none."""

    layer: Layer | None
    reason: str = ""

    @property
    def level(self) -> str:
        """The word of the offer: `L2-` and the layer, or `L1`."""
        return f"L2-{self.layer}" if self.layer else "L1"


NOT_TRIED: Final = Sandbox(None, "no cage was tried on this device")


def find(layers: Iterable[Layer] = Layer, *, attempt: Callable[[Layer], str] | None = None) -> Sandbox:
    """Try the layers, strongest first, and return the first that holds. Takes about 0.4 s where the first does."""
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
        tempfile.TemporaryDirectory(prefix="starloom-trial-") as folder,
        socket.create_server(("127.0.0.1", 0)) as server,
    ):
        inside, canary = Path(folder, "inside"), Path(folder, "canary")
        inside.mkdir()
        canary.write_text(_SECRET, encoding="ascii")
        os.utime(canary, (_WHEN, _WHEN))
        source = Path(escapes.__file__).read_text(encoding="utf-8")
        numbers = json.dumps(call_numbers.numbers(os.uname().machine))
        arguments = [str(canary), str(server.getsockname()[1]), str(os.getpid()), numbers]
        # Side by side: one that passes the limit of memory at its end, one that does nothing but pass that of the disk.
        with (
            _started(layer, inside, [source, *arguments], memory_bytes_max=escapes.MEMORY_BYTES // 2) as trying,
            _started(layer, Path(folder, "filled"), [source], disk_bytes_max=escapes.DISK_BYTES // 2) as filling,
        ):
            (output, errors), (_, filled) = _end_of(trying), _end_of(filling)
        if _TRIED not in output:
            return (errors.strip().splitlines() or [f"the trial ended with {trying.returncode}"])[-1][-300:]
        return ", ".join([*_changed(canary, inside), *_reached(output, server), *_unlimited(errors + filled)])


def _started(
    layer: Layer, folder: Path, arguments: list[str], *, memory_bytes_max: int = 0, disk_bytes_max: int = 0
) -> subprocess.Popen[str]:
    """Start the trial program in a cage with this folder."""
    folder.mkdir(exist_ok=True)
    cage = Cage(
        layer,
        str(folder),
        interpreter=cages.interpreter(),
        memory_bytes_max=memory_bytes_max,
        disk_bytes_max=disk_bytes_max,
    )
    return subprocess.Popen(
        cages.command(cage, [sys.executable, "-I", "-S", "-c", *arguments]),
        cwd=folder,
        env={"PATH": os.environ.get("PATH", os.defpath)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
    )


def _end_of(process: subprocess.Popen[str]) -> tuple[str, str]:
    """Return the output of the program; one that no limit ends is ended here."""
    try:
        return process.communicate(timeout=_TRIAL_WITHIN_S)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.communicate()


def _changed(canary: Path, inside: Path) -> list[str]:
    """Return the changes that the trial made outside, or could not make inside."""
    moved, new = Path(f"{canary}.moved"), Path(f"{canary}.new")
    secret_file = moved if moved.exists() else canary
    about = secret_file.stat()
    broken = {
        "a program in it cannot write in its own directory": not Path(inside, "inside").exists(),
        "a program in it changes files outside": secret_file.read_text(encoding="ascii") != _SECRET,
        "a program in it makes files outside": moved.exists() or new.exists(),
        "a program in it changes modes, times or attributes of files outside": (
            about.st_mode & 0o111 != 0 or about.st_mtime != _WHEN or bool(os.listxattr(secret_file))
        ),
    }
    return [reason for reason, is_so in broken.items() if is_so]


def _reached(output: str, server: socket.socket) -> list[str]:
    """Return the files and ports that the trial reached, and the calls of the kernel that are open to it."""
    broken = {
        "a program in it reads files outside": _SECRET in output,
        "a program in it reaches the network": _was_called(server),
    }
    calls = [line.removeprefix(_OPEN) for line in output.splitlines() if line.startswith(_OPEN)]
    return [*(reason for reason, is_so in broken.items() if is_so), *(f"a program in it {call}" for call in calls)]


def _unlimited(errors: str) -> list[str]:
    """Return the limits for which the trial was not ended although it passed them."""
    limits = {"memory": quota.MEMORY_EXCEEDED, "disk": quota.DISK_EXCEEDED}
    return [f"a program in it uses {what} without limit" for what, code in limits.items() if f"({code})" not in errors]


def _was_called(server: socket.socket) -> bool:
    server.settimeout(0)
    try:
        server.accept()[0].close()
    except BlockingIOError:
        return False
    return True
