"""`system.info`: the facts and the current figures of a machine, with findings on its health, in one row."""

from __future__ import annotations

import os
import platform
import shutil
import socket
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NotRequired

from starloom_agent.platforms.batteries import own_battery
from starloom_agent.toolkit.files import filling
from starloom_agent.toolkit.interface import Args, Tool, ToolContext
from starloom_agent.toolkit.results import Finding, Named
from starloom_protocol.text.wording import clock_words
from starloom_protocol.vocabulary import DISK_NEARLY_FULL_PERCENT, Effect, Repeatability

_PROC = Path("/proc")


class Info(Args, frozen=True, kw_only=True):
    """`device_name` becomes the field `device` of the answer, to merge those of several devices. `severity` is that of
    the worst trouble, `weight` that of all of it together.
    """

    device_name: str = ""


def _proc(name: str) -> str:
    """Return a file of /proc; empty where the system has none (that is its way of saying so)."""
    try:
        return (_PROC / name).read_text(encoding="utf-8")
    except OSError:
        return ""


def memory_from(meminfo: str) -> tuple[int, int] | None:
    """Return total and available bytes from the text of /proc/meminfo."""
    sizes: dict[str, int] = {}
    for line in meminfo.splitlines():
        name, _, rest = line.partition(":")
        number = rest.split()
        if number and number[0].isdigit():
            sizes[name] = int(number[0]) * 1024
    if "MemTotal" not in sizes or "MemAvailable" not in sizes:
        return None
    return sizes["MemTotal"], sizes["MemAvailable"]


def memory_bytes() -> tuple[int, int] | None:
    """Return total and available bytes of this machine, or None where the system does not tell."""
    if text := _proc("meminfo"):
        return memory_from(text)
    try:
        page = os.sysconf("SC_PAGE_SIZE")
        return page * os.sysconf("SC_PHYS_PAGES"), page * os.sysconf("SC_AVPHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None  # neither Windows nor macOS tells both this way; the fields are left out


def os_title(release: str) -> str:
    """Return the name of a Linux distribution from the text of os-release, or empty."""
    for line in release.splitlines():
        if line.startswith("PRETTY_NAME="):
            return line.partition("=")[2].strip().strip('"')
    return ""


def _title() -> str:
    try:
        title = os_title(Path("/etc/os-release").read_text(encoding="utf-8"))
    except OSError:
        title = ""
    return title or f"{platform.system()} {platform.release()}"


def trouble(facts: Mapping[str, Any], clock_ahead_s: int = 0) -> list[tuple[str, int, str]]:
    """Return the findings on the health of a machine, from the facts and its clock: subject, severity, reason.

    1 is worth a look, 2 soon, 3 now.
    """
    findings: list[tuple[str, int, str]] = []
    used = facts.get("disk_used_percent", 0)
    if used >= DISK_NEARLY_FULL_PERCENT:
        why = f"disk {used} % full (nearly full from {DISK_NEARLY_FULL_PERCENT} % on)"
        findings.append(("disk", 3 if used >= 97 else 2, why))
    total, free = facts.get("memory_total_bytes", 0), facts.get("memory_available_bytes", 0)
    if total and free * 100 < total * 8:
        findings.append(("memory", 2, f"memory {100 - free * 100 // total} % used"))
    load, cpus = facts.get("load_5m_percent", 0), facts.get("cpus", 1)
    if load >= 200:
        findings.append(("load", 2 if load >= 400 else 1, f"load {load} % of {cpus} processors"))
    if facts.get("reboot_required"):
        findings.append(("system", 1, "a restart is due"))
    if clock_ahead_s:
        findings.append(("clock", 2, f"its clock is {clock_words(clock_ahead_s)}"))
    battery = facts.get("battery_percent")
    if battery is not None and battery <= 15:
        findings.append(("battery", 1, f"battery at {battery} %"))
    return findings


class SystemFacts(Named):
    """Figures that a system does not tell are left out."""

    arch: str
    battery_percent: NotRequired[int]
    cpus: int
    disk_free_bytes: int
    disk_total_bytes: int
    disk_used_percent: int
    hostname: str
    kernel: str
    load_5m_percent: NotRequired[int]
    memory_available_bytes: NotRequired[int]
    memory_total_bytes: NotRequired[int]
    python: str
    reboot_required: NotRequired[bool]
    system: str
    uptime_s: NotRequired[int]


class SystemInfo(SystemFacts):
    """The facts, and the findings on the health of the machine."""

    findings: list[Finding]
    severity: int
    weight: int
    why: str


def info(context: ToolContext, args: Info) -> SystemInfo:
    disk = shutil.disk_usage(Path.home())
    facts: SystemFacts = {
        "device": args.device_name or socket.gethostname(),
        "hostname": socket.gethostname(),
        "system": _title(),
        "kernel": platform.release(),
        "arch": platform.machine(),
        "python": platform.python_version(),
        "cpus": os.cpu_count() or 1,
        "disk_total_bytes": disk.total,
        "disk_free_bytes": disk.free,
        "disk_used_percent": filling.used_percent(disk.used, disk.free),
    }
    memory = memory_bytes()
    if memory is not None:
        facts["memory_total_bytes"], facts["memory_available_bytes"] = memory
    if hasattr(os, "getloadavg"):
        facts["load_5m_percent"] = round(100 * os.getloadavg()[1] / facts["cpus"])
    uptime = _proc("uptime").split()
    if uptime:
        facts["uptime_s"] = int(float(uptime[0]))
    if sys.platform == "linux":
        facts["reboot_required"] = Path("/run/reboot-required").exists()
    battery = own_battery()
    if battery is not None:
        facts["battery_percent"] = battery.percent
    findings: list[Finding] = [
        {"device": facts["device"], "looked_at": looked_at, "severity": severity, "why": why}
        for looked_at, severity, why in trouble(facts, context.clock_ahead_s)
    ]
    return {
        **facts,
        "severity": max((finding["severity"] for finding in findings), default=0),
        "weight": sum(finding["severity"] for finding in findings),
        "why": "; ".join(finding["why"] for finding in findings),
        "findings": findings,
    }


TOOLS = (
    Tool(
        name="system.info",
        title="What a machine is and how it is",
        args=Info,
        run=info,
        effects=(Effect.READ,),
        repeatability=Repeatability.PURE,
    ),
)
