"""The text of the agent's systemd unit, with as much protection as its owner's policy permits. Pure.

A policy that keeps all work inside named folders gives a unit that can write nowhere else. Commands, scripts and
opened programs of the owner may write wherever the owner may; they keep the protection that does not depend on places.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from starloom_agent.policy import NET_REACH, Policy
from starloom_protocol.tools.profiles import PROFILE_GRANTS
from starloom_protocol.vocabulary import Profile

# What these allow writes in granted folders and in the agent's home alone, or not at all.
_IN_FOLDERS: Final = PROFILE_GRANTS[Profile.WORK] | {NET_REACH, "screen:view"}
# Programs that take another user's rights, for which they must be able to gain rights.
_GAIN_RIGHTS: Final = frozenset({"sudo", "doas", "su", "pkexec", "run0"})
_ALWAYS: Final = ("LockPersonality=yes", "RestrictRealtime=yes", "RestrictSUIDSGID=yes")
_TEMPORARY: Final = ("/tmp", "/var/tmp")  # noqa: S108 - the machine's, as they are


def unit_text(argv: Sequence[str], protection: Iterable[str], *, exit_refused: int) -> str:
    """Return the unit; it is not started again after `exit_refused`."""
    # In a unit, % and $ are special even inside quotes.
    line = shlex.join(argv).replace("%", "%%").replace("$", "$$")
    return (
        "[Unit]\nDescription=Starloom agent\nAfter=network-online.target\n\n"
        f"[Service]\nExecStart={line}\nRestart=always\nRestartSec=2\nRestartPreventExitStatus={exit_refused}\n"
        "KillMode=mixed\nTimeoutStopSec=20\n" + "".join(f"{item}\n" for item in protection) + "\n"
        "[Install]\nWantedBy=default.target\n"
    )


def protection_for(policy: Policy, home: Path) -> list[str]:
    """Return the lines of the `[Service]` section that take rights from the agent of this home."""
    programs = {Path(rule.words[0].literal or "").name for rule in policy.commands}
    if programs & _GAIN_RIGHTS:
        # Each of the lines below would also take the way to more rights.
        return []
    if not policy.allowed <= _IN_FOLDERS:
        return ["NoNewPrivileges=yes", *_ALWAYS]
    folders = [home, *(Path(folder).expanduser() for folder in policy.write), *map(Path, _TEMPORARY)]
    places = [_quoted(f"-{folder}") for folder in dict.fromkeys(folders)]
    return [
        "NoNewPrivileges=yes",
        *_ALWAYS,
        "SystemCallArchitectures=native",
        "ProtectSystem=strict",
        f"ReadWritePaths={' '.join(places)}",
    ]


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%") + '"'
