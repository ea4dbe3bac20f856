"""Starts the agent with the computer: a systemd user unit, a launchd agent or a task of the Windows scheduler.

Pure functions make the files and the system's own commands from the platform's name; `install`, `start`, `stop` and
`remove` carry them out and print each step. One service for each home.

The systemd unit has as much protection as its owner's policy permits. A policy that keeps all work inside named folders
gives a unit that can write nowhere else. Commands, scripts and opened programs of the owner may write wherever the
owner may; they keep the protection that does not depend on places.
"""

from __future__ import annotations

import hashlib
import plistlib
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from xml.sax.saxutils import escape

from starloom_agent.home.directory import AgentHome
from starloom_agent.install.environments import starting_python
from starloom_agent.policy.commands import PolicyFault
from starloom_agent.policy.file import read_policy
from starloom_agent.policy.policy import NET_REACH, Policy
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


Say = Callable[[str], None]
Argv = tuple[str, ...]
EXIT_REFUSED = 3
"""The exit code if the hub refuses this device for good: no service may start it again."""


class ServiceFault(Exception):
    """The system's own service manager failed; the text has its message and the remedy."""


@dataclass(frozen=True)
class Service:
    """One service of one platform: its file, and the system's commands for each act on it."""

    path: Path
    data: bytes
    to_install: tuple[Argv, ...]
    """Make the file known to the system, and start the service."""
    to_stop: tuple[Argv, ...]
    to_start: tuple[Argv, ...]
    """Start an installed service that was stopped."""
    to_remove: tuple[Argv, ...]
    """They may fail where nothing runs."""
    to_restart: tuple[Argv, ...] = ()
    """Have a running service take a file that has changed."""
    to_outlast_sign_out: tuple[Argv, ...] = ()
    """They may fail; the words of a failure are shown with the line to type."""


def name_of(home: AgentHome, user_home: Path) -> str:
    """Return the service's name: a plain one for the usual home, one with a mark for any other."""
    if home.root == (user_home / ".starloom-agent").resolve():
        return "starloom-agent"
    return "starloom-agent-" + hashlib.sha256(str(home.root).encode()).hexdigest()[:8]


def command(home: AgentHome, slots: int, python: str = "") -> list[str]:
    """Return the argument list that runs the agent, with the environment of this home if no other Python is named.

    A service starts in the home of its user, where tasks may write: with `-P` no file there is imported.
    """
    return [
        python or starting_python(home),
        "-P",
        "-m",
        "starloom_agent",
        "run",
        "--home",
        str(home.root),
        "--slots",
        str(slots),
    ]


def plist_bytes(label: str, argv: Sequence[str], log: Path) -> bytes:
    """Return the launchd property list."""
    return plistlib.dumps(
        {
            "Label": label,
            "ProgramArguments": list(argv),
            "RunAtLoad": True,
            "KeepAlive": {"SuccessfulExit": False},
            "ThrottleInterval": 10,
            "StandardOutPath": str(log),
            "StandardErrorPath": str(log),
        }
    )


def task_xml(argv: Sequence[str]) -> bytes:
    """Return the task of the Windows scheduler: at sign-in of this user, once, started again when it fails."""
    program, arguments = escape(argv[0]), escape(subprocess.list2cmdline(argv[1:]))
    return (
        '<?xml version="1.0" encoding="UTF-16"?>\n'
        '<Task version="1.2" xmlns="http://schemas.microsoft.com/windows/2004/02/mit/task">\n'
        "  <RegistrationInfo><Description>Starloom agent</Description></RegistrationInfo>\n"
        "  <Triggers><LogonTrigger><Enabled>true</Enabled></LogonTrigger></Triggers>\n"
        '  <Principals><Principal id="owner"><LogonType>InteractiveToken</LogonType>'
        "<RunLevel>LeastPrivilege</RunLevel></Principal></Principals>\n"
        "  <Settings>\n"
        "    <MultipleInstancesPolicy>IgnoreNew</MultipleInstancesPolicy>\n"
        "    <DisallowStartIfOnBatteries>false</DisallowStartIfOnBatteries>\n"
        "    <StopIfGoingOnBatteries>false</StopIfGoingOnBatteries>\n"
        "    <ExecutionTimeLimit>PT0S</ExecutionTimeLimit>\n"
        "    <RestartOnFailure><Interval>PT1M</Interval><Count>255</Count></RestartOnFailure>\n"
        "  </Settings>\n"
        f'  <Actions Context="owner"><Exec><Command>{program}</Command><Arguments>{arguments}</Arguments></Exec>'
        "</Actions>\n"
        "</Task>\n"
    ).encode("utf-16")


def service_of(home: AgentHome, slots: int, *, system: str = sys.platform, user_home: Path | None = None) -> Service:
    """Return the service of this home on a platform (`sys.platform`'s names)."""
    around = user_home or Path.home()
    name, argv = name_of(home, around), command(home, slots)
    if system == "darwin":
        label = name.replace("-", ".", 1)
        path = around / "Library" / "LaunchAgents" / f"{label}.plist"
        load, unload = ("launchctl", "load", "-w", str(path)), ("launchctl", "unload", "-w", str(path))
        return Service(
            path,
            plist_bytes(label, argv, home.run / "agent.log"),
            to_install=(load,),
            to_stop=(unload,),
            to_start=(load,),
            to_remove=(unload,),
        )
    if system == "win32":
        path = home.root / f"{name}.xml"
        create = ("schtasks", "/Create", "/F", "/TN", name, "/XML", str(path))
        run, end = ("schtasks", "/Run", "/TN", name), ("schtasks", "/End", "/TN", name)
        delete = ("schtasks", "/Delete", "/F", "/TN", name)
        return Service(
            path, task_xml(argv), to_install=(create, run), to_stop=(end,), to_start=(run,), to_remove=(end, delete)
        )
    unit = f"{name}.service"
    path = around / ".config" / "systemd" / "user" / unit
    user = ("systemctl", "--user")
    return Service(
        path,
        unit_text(argv, protection_for(_policy_of(home), home.root), exit_refused=EXIT_REFUSED).encode(),
        to_install=((*user, "daemon-reload"), (*user, "enable", "--now", unit)),
        to_stop=((*user, "stop", unit),),
        to_start=((*user, "start", unit),),
        to_remove=((*user, "disable", "--now", unit),),
        to_restart=((*user, "restart", unit),),
        to_outlast_sign_out=(("loginctl", "enable-linger"),),
    )


def _policy_of(home: AgentHome) -> Policy:
    """Return the policy in force: that of an unreadable file is `observe`."""
    try:
        return read_policy(home.policy)
    except PolicyFault:
        return Policy()


def is_stale(home: AgentHome, slots: int = 1) -> bool:
    """Return whether an installed systemd unit protects less or more than the current policy requires."""
    service = service_of(home, slots)
    if sys.platform != "linux" or not service.path.exists():
        return False
    old = [line for line in service.path.read_text(encoding="utf-8").splitlines() if not line.startswith("ExecStart=")]
    new = [line for line in service.data.decode().splitlines() if not line.startswith("ExecStart=")]
    return old != new


def is_installed(home: AgentHome) -> bool:
    """Return whether a service was installed for this home."""
    return service_of(home, 1).path.exists()


def install(home: AgentHome, say: Say, *, slots: int) -> None:
    """Write the file and start the service.

    Raises:
        ServiceFault: it cannot be started; the file is taken away again, so that nothing half done is left.
    """
    service = service_of(home, slots)
    service.path.parent.mkdir(parents=True, exist_ok=True)
    changed = service.path.exists() and service.path.read_bytes() != service.data
    service.path.write_bytes(service.data)
    say(f"wrote {service.path}")
    try:
        # What runs already goes on under its old file until it is started again.
        _all((*service.to_install, *(service.to_restart if changed else ())), say)
    except ServiceFault:
        service.path.unlink()
        say(f"removed {service.path}")
        raise
    for argv in service.to_outlast_sign_out:
        fault = _run(argv)
        if fault is not None:
            say(f"it ends when you sign out, because this did not work: {shlex.join(argv)} ({fault})")


def start(home: AgentHome, say: Say) -> None:
    """Start the installed service.

    Raises:
        ServiceFault: it cannot be started.
    """
    _all(service_of(home, 1).to_start, say)


def stop(home: AgentHome, say: Say) -> None:
    """Stop the installed service, so that it is not started again until the next start of the computer.

    Raises:
        ServiceFault: it cannot be stopped.
    """
    _all(service_of(home, 1).to_stop, say)


def remove(home: AgentHome, say: Say) -> bool:
    """Undo `install`; says so and returns False where no service was installed."""
    service = service_of(home, 1)
    if not service.path.exists():
        return False
    for argv in service.to_remove:
        fault = _run(argv)
        say(f"done: {shlex.join(argv)}" if fault is None else f"{shlex.join(argv)}: {fault}")
    service.path.unlink()
    say(f"removed {service.path}")
    return True


def _all(commands: Sequence[Argv], say: Say) -> None:
    for argv in commands:
        fault = _run(argv)
        if fault is not None:
            raise ServiceFault(
                f"{shlex.join(argv)}: {fault}. Run it without a service: starloom-agent start (until the computer "
                "stops), or starloom-agent run (in the foreground)"
            )
        say(f"done: {shlex.join(argv)}")


def _run(argv: Argv) -> str | None:
    """Run one of the system's commands; return None if it worked, else its message."""
    if shutil.which(argv[0]) is None:
        return f"{argv[0]} is not on this computer"
    done = subprocess.run(argv, check=False, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60)
    if done.returncode == 0:
        return None
    lines = (done.stderr or done.stdout).strip().splitlines()
    return lines[0] if lines else f"exit code {done.returncode}"
