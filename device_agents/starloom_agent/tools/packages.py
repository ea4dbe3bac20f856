"""`package.updates`: what the system's package manager could update, from its own last list; nothing is fetched or
installed.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from typing import Any

from starloom_agent.tools.interface import Args, Tool, ToolContext, ToolFailed
from starloom_agent.tools.programs import run_program
from starloom_protocol.vocabulary import Code, Effect, Repeatability


class Updates(Args, frozen=True, kw_only=True):
    """`device_name` becomes the field `device` of the answer."""

    device_name: str = ""


Row = dict[str, Any]
_BREW = re.compile(r"(\S+) \(([^)]*)\) [<!]=? (\S+)")
_APT = re.compile(r"^Inst (\S+)(?: \[([^\]]*)\])? \((\S+) ([^)]*)\)")


def from_apt(text: str) -> list[Row]:
    """Return rows from `apt-get -s upgrade`."""
    found = [match for line in text.splitlines() if (match := _APT.match(line))]
    return [
        {
            "name": match[1],
            "current": match[2] or "",
            "available": match[3],
            "security": "-security" in match[4].lower() or "security:" in match[4].lower(),
        }
        for match in found
    ]


def from_dnf(text: str) -> list[Row]:
    """Return rows from `dnf -q --cacheonly check-update`."""
    rows: list[Row] = []
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


def from_pacman(text: str) -> list[Row]:
    """Return rows from `pacman -Qu`: name old -> new."""
    lines = [line.split() for line in text.splitlines()]
    return [
        {"name": parts[0], "current": parts[1], "available": parts[3], "security": False}
        for parts in lines
        if len(parts) >= 4 and parts[2] == "->"
    ]


def from_apk(text: str) -> list[Row]:
    """Return rows from `apk version -l <`: name-old < new."""
    rows: list[Row] = []
    for line in text.splitlines():
        left, sign, right = line.partition("<")
        found = re.match(r"(.+)-(\d[^-]*(?:-r\d+)?)\s*$", left.strip())
        if sign and found:
            rows.append({"name": found[1], "current": found[2], "available": right.strip(), "security": False})
    return rows


def from_brew(text: str) -> list[Row]:
    """Return rows from `brew outdated --verbose`: name (old) < new."""
    found = [match for line in text.splitlines() if (match := _BREW.match(line))]
    return [{"name": match[1], "current": match[2], "available": match[3], "security": False} for match in found]


# program, arguments, parser, exit codes that mean an answer
_MANAGERS: tuple[tuple[str, tuple[str, ...], Callable[[str], list[Row]], tuple[int, ...]], ...] = (
    ("apt-get", ("-s", "-o", "Debug::NoLocking=1", "upgrade"), from_apt, (0,)),
    ("dnf", ("-q", "--cacheonly", "check-update"), from_dnf, (0, 100)),
    ("pacman", ("-Qu",), from_pacman, (0, 1)),
    ("apk", ("version", "-l", "<"), from_apk, (0,)),
    ("brew", ("outdated", "--verbose"), from_brew, (0, 1)),
)


def updates(_context: ToolContext, args: Updates) -> dict[str, Any]:
    named = {"device": args.device_name} if args.device_name else {}
    for program, arguments, parser, good in _MANAGERS:
        if shutil.which(program):
            ran = run_program([program, *arguments], timeout_s=120, kept_bytes=1024 * 1024)
            if ran.exit_code not in good:
                raise ToolFailed(Code.TOOL_FAILED, f"{program} does not answer: {ran.stderr.strip()[:300]}")
            rows = parser(ran.stdout)
            security = [row["name"] for row in rows if row["security"]]
            count, kind = len(security) or len(rows), "security update" if security else "update"
            why = f"{count} {kind} waits" if count == 1 else f"{count} {kind}s wait" if count else ""
            return {
                "manager": program,
                "rows": [{**named, **row} for row in rows],
                "count": len(rows),
                "security_count": len(security),
                "note": "",
                "summary": {**named, "severity": 2 if security else 0, "why": why},
            }
    return {
        "manager": "",
        "rows": [],
        "count": 0,
        "security_count": 0,
        "note": "none of the known package managers is here (apt, dnf, pacman, apk, brew)",
        "summary": {**named, "severity": 0, "why": ""},
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
