"""`service.status`: the services of systemd or launchd: those named, or those that failed; it starts and stops none."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from starloom_agent.tools.interface import Args, Tool, ToolContext, ToolFailed
from starloom_agent.tools.programs import run_program
from starloom_protocol.vocabulary import Code, Effect, Repeatability

_NAME = re.compile(r"[A-Za-z0-9@._:-]{1,128}")
_PROPERTIES = "Id,Description,LoadState,ActiveState,SubState,NRestarts"


class Status(Args, frozen=True, kw_only=True):
    """Without `names`: the services that failed; none where there is no service manager, which `note` then says."""

    names: tuple[str, ...] = ()
    device_name: str = ""


def units_from(text: str) -> list[dict[str, Any]]:
    """Return rows from `systemctl show`: blocks of NAME=VALUE lines."""
    rows: list[dict[str, Any]] = []
    for block in text.strip().split("\n\n"):
        found = dict(line.split("=", 1) for line in block.splitlines() if "=" in line)
        if "Id" in found:
            rows.append(
                {
                    "service": found["Id"],
                    "title": found.get("Description", ""),
                    "known": found.get("LoadState") == "loaded",
                    "state": found.get("ActiveState", ""),
                    "detail": found.get("SubState", ""),
                    "restarts": int(found.get("NRestarts") or 0),
                }
            )
    return rows


def failed_from(text: str) -> list[str]:
    """Return unit names from `systemctl list-units --state=failed --plain --no-legend`."""
    return [line.split()[0] for line in text.splitlines() if line.split()]


def launchd_from(text: str, names: Sequence[str]) -> list[dict[str, Any]]:
    """Return rows from `launchctl list`: PID, last exit status, label."""
    rows: list[dict[str, Any]] = []
    for line in text.splitlines()[1:]:
        parts = line.split("\t")
        if len(parts) != 3:
            continue
        pid, status, label = parts
        state = "active" if pid != "-" else "failed" if status not in ("0", "-") else "inactive"
        if label in names or (not names and state == "failed"):
            rows.append(
                {
                    "service": label,
                    "title": "",
                    "known": True,
                    "state": state,
                    "detail": f"last exit {status}",
                    "restarts": 0,
                }
            )
    return rows


def _missing() -> str:
    """Return why there is no service manager to ask here; empty where there is one."""
    if sys.platform == "darwin":
        return "" if shutil.which("launchctl") else "launchctl is missing"
    if not shutil.which("systemctl"):
        return "this system has no systemd"
    return "" if Path("/run/systemd/system").is_dir() else "systemd is installed but does not run here (a container?)"


def _systemd(names: list[str]) -> list[dict[str, Any]]:
    if not names:
        listed = run_program(
            ["systemctl", "list-units", "--state=failed", "--plain", "--no-legend", "--no-pager"], timeout_s=20
        )
        if listed.exit_code:
            raise ToolFailed(Code.TOOL_FAILED, f"systemctl does not answer: {listed.stderr.strip()[:300]}")
        names = failed_from(listed.stdout)
        if not names:
            return []
    shown = run_program(["systemctl", "show", "--no-pager", f"--property={_PROPERTIES}", "--", *names], timeout_s=20)
    if shown.exit_code:
        raise ToolFailed(Code.TOOL_FAILED, f"systemctl does not answer: {shown.stderr.strip()[:300]}")
    return units_from(shown.stdout)


def status(_context: ToolContext, args: Status) -> dict[str, Any]:
    for name in args.names:
        if not _NAME.fullmatch(name) or name.startswith("-"):
            raise ToolFailed(Code.BAD_ARGUMENTS, f"{name!r} is not the name of a service", effect=False)
    note = _missing()
    if note and args.names:
        raise ToolFailed(Code.TOOL_UNAVAILABLE, f"{', '.join(args.names)}: {note}", effect=False)
    if note:
        rows = []
    elif sys.platform == "darwin":
        rows = launchd_from(run_program(["launchctl", "list"], timeout_s=20).stdout, args.names)
    else:
        rows = _systemd(list(args.names))
    down = [row["service"] for row in rows if row["state"] != "active"]
    named = {"device": args.device_name} if args.device_name else {}
    why = f"not running: {', '.join(down[:5])}{' ...' if len(down) > 5 else ''}" if down else ""
    return {
        "rows": [{**named, **row} for row in rows],
        "down": down,
        "note": note,
        "summary": {**named, "severity": 2 if down else 0, "why": why},
    }


def _probe() -> str | None:
    return "the services of Windows are not read yet" if sys.platform == "win32" else None


TOOLS = (
    Tool(
        name="service.status",
        title="Services that failed, or the state of those named",
        args=Status,
        run=status,
        effects=(Effect.READ,),
        repeatability=Repeatability.PURE,
        probe=_probe,
    ),
)
