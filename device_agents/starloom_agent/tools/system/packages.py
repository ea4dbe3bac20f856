"""`package.updates`: the updates that the system's package manager has, by its own last list; nothing is fetched or
installed. The answer has the age of that list.
"""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NotRequired, TypedDict

from starloom_agent.toolkit.interface import Args, Tool, ToolContext, ToolFailed
from starloom_agent.toolkit.results import Named, Summary, of_device
from starloom_agent.toolkit.running.programs import run_program
from starloom_protocol.vocabulary import Code, Effect, Repeatability


class Updates(Args, frozen=True, kw_only=True):
    """`device_name` becomes the field `device` of the answer."""

    device_name: str = ""


_BREW = re.compile(r"(\S+) \(([^)]*)\) [<!]=? (\S+)")
_APT = re.compile(r"^([^/\s]+)/(\S+) (\S+) \S+ \[upgradable from: ([^\]]+)\]")
_WITHIN_S = 20
_OLD_LIST_S = 14 * 86_400
"""Systems renew their lists daily or weekly: one of two weeks is no longer renewed."""


class Update(Named):
    available: str
    current: str
    name: str
    security: bool


class UpdateSummary(Summary):
    updates_as_of_s: NotRequired[int]


class PackageUpdates(TypedDict):
    """`as_of_s` is from when the list is; `note` says why there is none, or that none is marked as for security."""

    as_of_s: int | None
    count: int
    manager: str
    note: str
    rows: list[Update]
    security_count: int
    summary: UpdateSummary


def from_apt(text: str) -> list[Update]:
    """Return rows from `apt list --upgradable`, which takes a third of the time of a simulated upgrade."""
    matches = [match for line in text.splitlines() if (match := _APT.match(line))]
    return [
        {"name": match[1], "current": match[4], "available": match[3], "security": "-security" in match[2]}
        for match in matches
    ]


def from_dnf(text: str) -> list[Update]:
    """Return rows from `dnf -q --cacheonly check-update`."""
    rows: list[Update] = []
    for line in text.splitlines():
        parts = line.split()
        if line.startswith("Obsoleting"):
            break
        if len(parts) == 3 and "." in parts[0]:
            rows.append(
                {
                    "name": parts[0].rpartition(".")[0],
                    "current": "",
                    "available": parts[1],
                    "security": "security" in parts[2],
                }
            )
    return rows


def from_pacman(text: str) -> list[Update]:
    """Return rows from `pacman -Qu`: name old -> new."""
    lines = [line.split() for line in text.splitlines()]
    return [
        {"name": parts[0], "current": parts[1], "available": parts[3], "security": False}
        for parts in lines
        if len(parts) >= 4 and parts[2] == "->"
    ]


def from_apk(text: str) -> list[Update]:
    """Return rows from `apk version -l <`: name-old < new."""
    rows: list[Update] = []
    for line in text.splitlines():
        left, sign, right = line.partition("<")
        match = re.match(r"(.+)-(\d[^-]*(?:-r\d+)?)\s*$", left.strip())
        if sign and match:
            rows.append({"name": match[1], "current": match[2], "available": right.strip(), "security": False})
    return rows


def from_brew(text: str) -> list[Update]:
    """Return rows from `brew outdated --verbose`: name (old) < new."""
    matches = [match for line in text.splitlines() if (match := _BREW.match(line))]
    return [{"name": match[1], "current": match[2], "available": match[3], "security": False} for match in matches]


@dataclass(frozen=True)
class _Manager:
    """`good` are exit codes that mean an answer; `lists` is where its last list lies: its age is that of the answer.

    One that `tells_security` marks the updates for security in its list; of the others nobody knows.
    """

    program: str
    arguments: tuple[str, ...]
    parser: Callable[[str], list[Update]]
    good: tuple[int, ...]
    lists: str = ""
    tells_security: bool = False


_MANAGERS = (
    _Manager("apt", ("list", "--upgradable", "-qq"), from_apt, (0,), "/var/lib/apt/lists", tells_security=True),
    _Manager("dnf", ("-q", "--cacheonly", "check-update"), from_dnf, (0, 100), "/var/cache/dnf"),
    _Manager("pacman", ("-Qu",), from_pacman, (0, 1), "/var/lib/pacman/sync"),
    _Manager("apk", ("version", "-l", "<"), from_apk, (0,), "/var/cache/apk"),
    _Manager("brew", ("outdated", "--verbose"), from_brew, (0, 1)),
)


def list_of(folder: Path) -> int | None:
    """Return when the newest file of a folder was written, or None where there is none to be read."""
    try:
        times = [path.stat().st_mtime for path in folder.iterdir() if path.is_file() and path.stat().st_size]
    except OSError:
        return None  # not there, or not for this user: then the age is not known
    return int(max(times)) if times else None


def updates_words(count: int, security: int, as_of_s: int | None, now_s: float) -> str:
    """Return the findings: updates that wait, and a list too old to know of newer ones."""
    kind, number = ("security update", security) if security else ("update", count)
    parts = [f"{number} {kind} waits" if number == 1 else f"{number} {kind}s wait"] if number else []
    if as_of_s is not None and now_s - as_of_s > _OLD_LIST_S:
        parts.append(f"the list of updates is {int(now_s - as_of_s) // 86_400} days old")
    return "; ".join(parts)


def _summary(device_name: str, severity: int, why: str, *, unseen: str = "") -> UpdateSummary:
    summary: UpdateSummary = {"severity": severity, "weight": severity, "why": why}
    if device_name:
        summary["device"] = device_name
    if unseen:
        summary["unseen"] = unseen
    return summary


def updates(_context: ToolContext, args: Updates) -> PackageUpdates:
    device = of_device(args.device_name)
    manager = next((item for item in _MANAGERS if shutil.which(item.program)), None)
    if manager is None:
        note = f"none of the known package managers is here ({', '.join(item.program for item in _MANAGERS)})"
        on = f" on {args.device_name}" if args.device_name else ""
        unseen = f"could not look for updates{on} ({note})"
        return {
            "manager": "",
            "rows": [],
            "count": 0,
            "security_count": 0,
            "as_of_s": None,
            "note": note,
            "summary": _summary(args.device_name, 0, "", unseen=unseen),
        }
    as_of_s = list_of(Path(manager.lists)) if manager.lists else None
    argv = [manager.program, *manager.arguments]
    try:
        ran = run_program(argv, timeout_s=_WITHIN_S, kept_bytes=1024 * 1024)
    except ToolFailed as failure:
        if failure.code is not Code.TIMED_OUT:
            raise
        # A machine too busy to say is not a machine without updates.
        detail = f"updates are not known: {manager.program} did not answer within {_WITHIN_S} s; ask again later"
        raise ToolFailed(Code.TIMED_OUT, detail, effect=False) from failure
    if ran.exit_code not in manager.good:
        raise ToolFailed(Code.TOOL_FAILED, f"{manager.program} does not answer: {ran.stderr.strip()[:300]}")
    rows = manager.parser(ran.stdout)
    security = sum(bool(row["security"]) for row in rows)
    why = updates_words(len(rows), security, as_of_s, time.time())
    severity = 2 if security else 1 if why and not rows else 0
    summary = _summary(args.device_name, severity, why)
    if as_of_s is not None:
        summary["updates_as_of_s"] = as_of_s
    return {
        "manager": manager.program,
        "rows": [{**device, **row} for row in rows],
        "count": len(rows),
        "security_count": security,
        "as_of_s": as_of_s,
        "note": "" if manager.tells_security else f"{manager.program} does not say which updates are for security",
        "summary": summary,
    }


TOOLS = (
    Tool(
        name="package.updates",
        title="Updates that wait",
        args=Updates,
        run=updates,
        effects=(Effect.READ,),
        repeatability=Repeatability.PURE,
    ),
)
