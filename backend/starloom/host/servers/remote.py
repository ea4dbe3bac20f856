"""The shell texts that run on a server added by ssh, sent on the standard input of `sh -s`. Pure.

A text carries everything, so no secret is in a command line that other users of the server could read, and nothing
depends on the person's login shell there.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

NO_PYTHON, OLD_PYTHON = 42, 43
NEEDED_BYTES = 250 * 1000 * 1000
STOPPED_THERE, LEFT_THERE = 44, 45
"""The owner of the server has stopped the agent; the agent has left its hub."""
UP = "starloom-tunnel-up"
_STOPPED_MARK = "run/stopped-by-owner"
_STOPPED_WORDS = '"reason":"stopped by its owner"'
"""The words in the status file of an agent that was told to end, also of a release that leaves no mark."""
_PYTHONS = "python3 python3.14 python3.13 python3.12 python3.11"
_END = "STARLOOM_END_OF_TEXT"

_FIND = f"""
found= python=
for one in {_PYTHONS}; do
  command -v "$one" >/dev/null 2>&1 || continue
  found="$one"
  if "$one" -c 'import sys; sys.exit(sys.version_info < (3, 11))' </dev/null 2>/dev/null; then python="$one"; break; fi
done
if [ -z "$found" ]; then echo "no python3 in $PATH"; exit {NO_PYTHON}; fi
if [ -z "$python" ]; then "$found" -V; exit {OLD_PYTHON}; fi
"""

_PROBE = """
import importlib.util, json, os, shutil, socket, sys
from pathlib import Path
home = Path(sys.argv[1]).expanduser().resolve()
there = home
while not there.exists():
    there = there.parent
def free(port):
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return 0
        return probe.getsockname()[1]
def read(path):
    try:
        found = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
joined, status = read(home / "hub.json"), read(home / "run" / "status.json")
print(json.dumps({
    "python": sys.version.split()[0],
    "venv": all(importlib.util.find_spec(name) for name in ("venv", "ensurepip")),
    "home": str(home),
    "writable": os.access(there, os.W_OK),
    "free_bytes": shutil.disk_usage(there).free,
    "port": free(int(sys.argv[2])) or free(0),
    "name": socket.gethostname().partition(".")[0],
    "system": sys.platform,
    "joined": joined.get("hub", ""),
    "joined_as": joined.get("name", ""),
    "joined_device": status.get("device", "") if joined else "",
    "no_folders": [one for one in sys.argv[3:] if not Path(one).expanduser().is_dir()],
}))
"""


class Server(msgspec.Struct, frozen=True, kw_only=True):
    """The findings of the probe. `port` is free on the server's loopback address.

    `joined_device` is the device that the agent there last was; `no_folders` are wanted folders that it does not have.
    """

    python: str
    venv: bool
    home: str
    writable: bool
    free_bytes: int
    port: int
    name: str
    system: str
    joined: str = ""
    joined_as: str = ""
    joined_device: str = ""
    no_folders: list[str] = []


def _python(text: str, arguments: Sequence[str]) -> str:
    return (
        "umask 077\n"
        "file=$(mktemp) || exit 1\ntrap 'rm -f \"$file\"' EXIT\n"
        f"cat >\"$file\" <<'{_END}'\n{text}\n{_END}\n"
        f'"$python" -I "$file" {shlex.join(arguments)} </dev/null\n'
    )


def probe(home: str, port: int, folders: Sequence[str] = ()) -> str:
    """Return the text that prints a `Server` as JSON, or ends with `NO_PYTHON` or `OLD_PYTHON`."""
    return _FIND + _python(_PROBE, [home, str(port), *folders])


@dataclass(frozen=True)
class Joining:
    """The parameters of a server's join. `hub` is the hub's own address, `via` the end of the tunnel there, `pin` the
    key that the tunnel's certificate must carry.
    """

    hub: str
    code: str
    via: str
    home: str
    name: str
    profile: str
    folders: Sequence[str] = ()
    pin: str = ""


def join(script: str, joining: Joining) -> str:
    """Return the text that runs `join.py` there; the code travels in a variable, not in a command line."""
    arguments = [joining.hub, "-", "--via", joining.via, "--home", joining.home, "--name", joining.name]
    arguments += ["--pin", joining.pin] if joining.pin else []
    arguments += ["--no-start", "--profile", joining.profile, *joining.folders]
    code = f"STARLOOM_JOIN_CODE={shlex.quote(joining.code)}\nexport STARLOOM_JOIN_CODE\n"
    return _FIND + code + _python(script, arguments)


def agent(home: str, *arguments: str) -> str:
    """Return the text that runs the agent's own command there."""
    return f"{_agent(home, arguments)} </dev/null 2>&1\n"


def _agent(home: str, arguments: Sequence[str]) -> str:
    return shlex.join([f"{home}/venv/bin/starloom-agent", *arguments, "--home", home])


def revive(home: str) -> str:
    """Return the text that starts an agent that has died.

    It ends with `STOPPED_THERE` where the owner has stopped the agent, and with `LEFT_THERE` where it has left.
    """
    quoted_home = shlex.quote(home)
    return (
        f"[ -e {quoted_home}/hub.json ] || exit {LEFT_THERE}\n"
        f"[ ! -e {quoted_home}/{_STOPPED_MARK} ] || exit {STOPPED_THERE}\n"
        f"! grep -qs {shlex.quote(_STOPPED_WORDS)} {quoted_home}/run/status.json || exit {STOPPED_THERE}\n"
        f"{_agent(home, ['start'])} </dev/null 2>&1\n"
    )


def hold(home: str) -> list[str]:
    """Return the command that a tunnel runs: start the agent if it does not run, report that it is up, stay.

    An agent that its owner has stopped stays stopped. It ends when its standard input does, so nothing is left there
    when the tunnel is cut.
    """
    start, quoted_home = _agent(home, ["start"]), shlex.quote(home)
    unless = f"[ ! -e {quoted_home}/hub.json ] || [ -e {quoted_home}/{_STOPPED_MARK} ]"
    return ["sh", "-c", f"{unless} || {start} >/dev/null 2>&1 </dev/null; echo {UP}; exec cat"]
