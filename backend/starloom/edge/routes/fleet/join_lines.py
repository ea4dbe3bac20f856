"""Join lines, which a person pastes or scans to add a device: for a terminal, and for a phone as a QR code. Pure.

In a phone's address the code comes only after the `#`, which no browser sends and no server logs.
"""

from __future__ import annotations

import shlex
from typing import Final
from urllib.parse import urlsplit

from starloom.edge.listeners.local_network import WARNING, LanState
from starloom.process.settings import is_loopback
from starloom_protocol.api.fleet import JoinWays, PhoneWay
from starloom_protocol.api.service import QrCode

_BORDER = 2
OPEN_LAN: Final = "Start it with: starloom up --lan"
OWN_NAME: Final = "Give the hub a name of your own (docs/reach.md), or start it with --lan in a private network."


def line(url: str, code: str, pin: str = "") -> str:
    """Return the line for a POSIX shell. With a pin, no authority is trusted: the key alone counts."""
    trust = f"-k --pinnedpubkey {pin} " if pin else ""
    option = f" --pin {pin}" if pin else ""
    # Some shells take the brackets of an IPv6 address for a pattern of file names.
    script, hub = shlex.quote(f"{url}/agent/join.py"), shlex.quote(url)
    return f"curl -fsS {trust}{script} -o join.py && python3 join.py {hub} {code}{option}"


def windows_line(url: str, code: str, pin: str = "") -> str:
    """Return the line for PowerShell and cmd, whose `curl` is `curl.exe`."""
    trust = f"-k --pinnedpubkey {pin} " if pin else ""
    option = f" --pin {pin}" if pin else ""
    return f"curl.exe -fsS {trust}{url}/agent/join.py -o join.py; python join.py {url} {code}{option}"


def ways(url: str, code: str, lan: LanState) -> JoinWays:
    """Return every way to use a code: at `url`, in the local network where that is open, on a phone, by ssh."""
    all_ways: JoinWays = {
        "code": code,
        "url": url,
        "line": line(url, code),
        "windows_line": windows_line(url, code),
        "agent_line": f"starloom-agent join {shlex.quote(url)} {code}",
        "ssh_line": "starloom enroll --ssh user@host",
        "lan": None,
        "phone": phone(url, code, lan),
    }
    if lan.leaf is not None:
        pin = lan.leaf.pin
        all_ways["lan"] = {
            "url": lan.url,
            "pin": pin,
            "words": lan.leaf.words,
            "line": line(lan.url, code, pin),
            "windows_line": windows_line(lan.url, code, pin),
            "agent_line": f"starloom-agent join {shlex.quote(lan.url)} {code} --pin {shlex.quote(pin)}",
        }
    return all_ways


def phone(url: str, code: str, lan: LanState) -> PhoneWay:
    """Return the address that a phone opens with its QR code, or why there is none.

    A name of one's own over HTTPS needs no warning; else the local network's listener.
    """
    parts = urlsplit(url)
    has_own_name = parts.scheme == "https" and not is_loopback(parts.hostname or "")
    base = url if has_own_name else lan.url if lan.leaf is not None else ""
    if not base:
        why = lan.fault or "a phone reaches the hub only over HTTPS in the local network, which is not open"
        way_out = OWN_NAME if lan.fault else OPEN_LAN
        return {"url": "", "why": why, "way_out": way_out, "qr": None, "words": "", "warning": ""}
    target = f"{base}/tab/#join={code}"
    warns = base == lan.url and lan.leaf is not None
    return {
        "url": target,
        "why": "",
        "qr": qr(target),
        "words": lan.leaf.words if warns and lan.leaf else "",
        "warning": WARNING if warns else "",
    }


def qr(text: str) -> QrCode:
    """Return a QR code as the side of its square and one SVG path over it, a quiet border included."""
    import segno  # here, for a start does not need it

    code = segno.make(text, error="m", micro=False)
    width = code.symbol_size(border=_BORDER)[0]
    parts = []
    for y, row in enumerate(bytes(cells) for cells in code.matrix_iter(border=_BORDER)):
        x = 0
        while x < width:
            run = 0
            while x + run < width and row[x + run]:
                run += 1
            if run:
                parts.append(f"M{x} {y}h{run}v1h-{run}z")
            x += max(run, 1)
    return {"size": int(width), "path": "".join(parts)}
