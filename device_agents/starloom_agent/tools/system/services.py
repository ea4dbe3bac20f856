"""`service.status`, `service.restart`: the services of systemd or launchd, by name; nothing else of them is touched."""

from __future__ import annotations

import os
import re
import shutil
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, TypedDict

import msgspec

from starloom_agent.toolkit.interface import Args, Tool, ToolContext, ToolFailed
from starloom_agent.toolkit.results import Finding, Named, Summary, of_device
from starloom_agent.toolkit.running.programs import run_program, said_by
from starloom_protocol.text.wording import counted, quoted
from starloom_protocol.vocabulary import Code, Effect, Repeatability

_NAME = re.compile(r"[A-Za-z0-9@._:-]{1,128}")
_RUNNING_SYSTEMD = frozenset({"initializing", "starting", "running", "degraded", "maintenance", "stopping"})
_RUNS = frozenset({"active", "refreshing", "reloading"})
_LOOK_EVERY_S = 0.2
"""Each look starts a program."""
_PROPERTIES = "Id,Description,LoadState,ActiveState,SubState,NRestarts"


class Status(Args, frozen=True, kw_only=True):
    """Without `names`: the services that failed; none where there is no service manager, which `note` then says, and
    `unseen` of the summary. Those in `down_before` are not `down`.
    """

    names: tuple[str, ...] = ()
    down_before: tuple[str, ...] = ()
    device_name: str = ""


class ServiceRow(Named):
    detail: str
    known: bool
    restarts: int
    service: str
    state: str
    title: str


class ServiceStatus(TypedDict):
    """`down` are the names of those that do not run."""

    down: list[str]
    findings: list[Finding]
    note: str
    rows: list[ServiceRow]
    summary: Summary


def units_from(text: str) -> list[ServiceRow]:
    """Return rows from `systemctl show`: blocks of NAME=VALUE lines."""
    rows: list[ServiceRow] = []
    for block in text.strip().split("\n\n"):
        properties = dict(line.split("=", 1) for line in block.splitlines() if "=" in line)
        if "Id" in properties:
            rows.append(
                {
                    "service": properties["Id"],
                    "title": properties.get("Description", ""),
                    "known": properties.get("LoadState") == "loaded",
                    "state": properties.get("ActiveState", ""),
                    "detail": properties.get("SubState", ""),
                    "restarts": int(properties.get("NRestarts") or 0),
                }
            )
    return rows


def failed_from(text: str) -> list[str]:
    """Return unit names from `systemctl list-units --state=failed --plain --no-legend`."""
    return [line.split()[0] for line in text.splitlines() if line.split()]


def launchd_from(text: str, names: Sequence[str]) -> list[ServiceRow]:
    """Return rows from `launchctl list`: PID, last exit status, label."""
    rows: list[ServiceRow] = []
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
    if Path("/run/systemd/system").is_dir():
        return ""
    state = run_program(["systemctl", "is-system-running"], timeout_s=5).stdout.strip()
    return "" if state in _RUNNING_SYSTEMD else "systemd is installed but does not run here (a container?)"


def _systemd(names: list[str]) -> list[ServiceRow]:
    if not names:
        listed = run_program(
            ["systemctl", "list-units", "--state=failed", "--plain", "--no-legend", "--no-pager"], timeout_s=20
        )
        if listed.exit_code:
            raise ToolFailed(Code.TOOL_FAILED, f"systemctl does not answer: {listed.stderr.strip()[:300]}")
        names = failed_from(listed.stdout)
        if not names:
            return []
    ran = run_program(["systemctl", "show", "--no-pager", f"--property={_PROPERTIES}", "--", *names], timeout_s=20)
    if ran.exit_code:
        raise ToolFailed(Code.TOOL_FAILED, f"systemctl does not answer: {ran.stderr.strip()[:300]}")
    return units_from(ran.stdout)


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name) or name.startswith("-"):
        raise ToolFailed(Code.BAD_ARGUMENTS, f"{quoted(name)} is not the name of a service", effect=False)


def status(_context: ToolContext, args: Status) -> ServiceStatus:
    for name in args.names:
        _check_name(name)
    note = _missing()
    if note and args.names:
        raise ToolFailed(Code.TOOL_UNAVAILABLE, f"{', '.join(args.names)}: {note}", effect=False)
    if note:
        rows = []
    elif sys.platform == "darwin":
        rows = launchd_from(run_program(["launchctl", "list"], timeout_s=20).stdout, args.names)
    else:
        rows = _systemd(list(args.names))
    down = [row["service"] for row in rows if row["state"] not in _RUNS and row["service"] not in args.down_before]
    device = of_device(args.device_name)
    on = f" on {args.device_name}" if args.device_name else ""
    unseen = f"could not look at the services{on} ({note})" if note else ""
    why = f"not running: {', '.join(down[:5])}{' ...' if len(down) > 5 else ''}" if down else ""
    return {
        "rows": [{**device, **row} for row in rows],
        "down": down,
        "note": note,
        "summary": {**device, "severity": 2 if down else 0, "weight": 2 if down else 0, "why": why, "unseen": unseen},
        "findings": [{**device, "looked_at": "services", "severity": 2, "why": why}] if why else [],
    }


class Restart(Args, frozen=True, kw_only=True):
    """It has to be running again, and still be after `steady_s`, within `within_s`: else the task fails."""

    name: str
    steady_s: Annotated[float, msgspec.Meta(ge=0, le=60)] = 1
    within_s: Annotated[float, msgspec.Meta(gt=0, le=600)] = 60
    device_name: str = ""


def _look(name: str) -> ServiceRow:
    """Return the state of one service now; an unknown one has the state `unknown`."""
    if sys.platform == "darwin":
        rows = launchd_from(run_program(["launchctl", "list"], timeout_s=20).stdout, [name])
    else:
        rows = _systemd([name])
    service = next((row for row in rows if row["known"]), None)
    unknown: ServiceRow = {
        "service": name,
        "title": "",
        "known": False,
        "state": "unknown",
        "detail": "",
        "restarts": 0,
    }
    return service or unknown


def _restart_argv(name: str) -> list[str]:
    if sys.platform == "darwin":
        return ["launchctl", "kickstart", "-k", f"gui/{os.getuid()}/{name}"]
    return ["systemctl", "restart", "--", name]


class ServiceRestart(Named):
    """`before` and `after` are states."""

    after: str
    before: str
    service: str
    took_s: float


def restart(
    context: ToolContext,
    args: Restart,
    *,
    clock: Callable[[], float] = time.monotonic,
    pause: Callable[[float], None] = time.sleep,
) -> ServiceRestart:
    _check_name(args.name)
    note = _missing()
    if note:
        raise ToolFailed(Code.TOOL_UNAVAILABLE, f"{args.name}: {note}", effect=False)
    before = _look(args.name)
    if before["state"] == "unknown":
        hint = "see the names with: systemctl list-units --type=service"
        raise ToolFailed(Code.BAD_ARGUMENTS, f"there is no service {args.name} on this device; {hint}", effect=False)
    begin = clock()
    context.log(f"{args.name} is {before['state']} ({before['detail']}); restarting it")
    ran = run_program(_restart_argv(args.name), timeout_s=args.within_s)
    if ran.exit_code:
        words = said_by(ran, 400)
        raise ToolFailed(Code.EXIT_CODE, f"{args.name} did not restart ({ran.exit_code}): {words}")
    steady_from = None
    now = last = first = _look(args.name)
    while True:
        if now["state"] in ("failed", "inactive"):
            raise ToolFailed(Code.TOOL_FAILED, f"{args.name} is {now['state']} after its restart ({now['detail']})")
        # By default systemd starts one that crashed again within a tenth of a second: each look may find it `active`.
        if now["state"] != "active" or now["restarts"] != last["restarts"]:
            steady_from = None
        if now["state"] == "active":
            steady_from = clock() if steady_from is None else steady_from
            if clock() - steady_from >= args.steady_s:
                break
        if clock() - begin > args.within_s:
            again = now["restarts"] - first["restarts"]
            state = (
                f"does not stay up, and began again {counted(again, 'time')}" if again else f"is still {now['state']}"
            )
            raise ToolFailed(Code.TIMED_OUT, f"{args.name} {state} after {args.within_s:g} s")
        pause(_LOOK_EVERY_S)
        last, now = now, _look(args.name)
    device = of_device(args.device_name)
    took_s = round(clock() - begin, 1)
    return {**device, "service": args.name, "before": before["state"], "after": now["state"], "took_s": took_s}


def _probe() -> str | None:
    return "the services of Windows are not read yet" if sys.platform == "win32" else None


def _restart_probe() -> str | None:
    return _probe() or _missing() or None


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
    Tool(
        name="service.restart",
        title="Restart a service and see it run again",
        args=Restart,
        run=restart,
        effects=(Effect.CHANGE,),
        repeatability=Repeatability.NEVER,
        grant="service:restart",
        asks_by=("name",),
        probe=_restart_probe,
    ),
)
