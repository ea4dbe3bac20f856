"""The port that a hub had before its present one, kept in the data folder for the devices that know only that one.

The hub does not know which address a device dials. One that was not seen since the change may dial the former port;
one that comes by the hub's sockets, as by a tunnel, needs no port.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from starloom.process.private_files import write_private
from starloom.process.settings import port_in
from starloom_protocol.text.wording import counted

if TYPE_CHECKING:
    from starloom_protocol.api.fleet import DeviceRow

FILE = "former-port"
NAMED_MOST = 5
"""The devices that are named; the list of all is `starloom devices`."""


@dataclass(frozen=True, slots=True)
class FormerPort:
    """The port until `until_s`, and the one since."""

    port: int
    present: int
    until_s: float

    def warning(self, devices: Iterable[DeviceRow]) -> tuple[str, str] | None:
        """Return what to say of the devices that are away and were not seen since, and the way out; None without."""
        names = [str(item["name"]) for item in devices if self._may_know_it(item)]
        if not names:
            return None
        unseen = ", ".join(names[:NAMED_MOST])
        if len(names) > NAMED_MOST:
            unseen += f" and {counted(len(names) - NAMED_MOST, 'other')}"
        old, new = (f"http://127.0.0.1:{port}" for port in (self.port, self.present))
        until = f"{datetime.fromtimestamp(self.until_s, UTC):%Y-%m-%d %H:%M} UTC"
        sentence = (
            f"this hub had {old} until {until} and now has {new}; not seen since: {unseen}. A device that joined by "
            "the old address without a tunnel looks for the hub there"
        )
        way = f"Start the hub with its old port: starloom up --port {self.port}. Or type on the device: "
        return sentence, f"{way}starloom-agent start --hub {new}"

    def _may_know_it(self, device: DeviceRow) -> bool:
        if device["revoked"] or device["link"] == "online":
            return False
        since = device["link_since"]
        return since is None or datetime.fromisoformat(since).timestamp() < self.until_s


def note(home: Path, port: int) -> None:
    """Keep the port that the hub had until now; whatever is in the place of the file is not written through."""
    with contextlib.suppress(IsADirectoryError):
        write_private(home / FILE, f"{port}\n".encode())


def former_port(home: Path, present: int) -> FormerPort | None:
    """Return the port of a home before its present one, None where it had no other."""
    port = port_in(home / FILE)
    if port is None or port == present:
        return None
    return FormerPort(port, present, (home / FILE).lstat().st_mtime)
