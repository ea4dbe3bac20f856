"""The discovery of a client's hub: address, token, and the source of both. Reads files only.

Order: `--hub`, `STARLOOM_URL`, `STARLOOM_HOME`, `.starloom/` here or in a parent if this user has started a hub on it,
the default home, `~/.config/starloom/hubs.toml`. A running hub writes `run/local.json` (0600) beside its data and
removes it at its end; it names the hub's Unix socket, and a hub found this way is reached by that socket alone.
"""

from __future__ import annotations

import fcntl
import json
import os
import shlex
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from starloom.client.own_homes import NEAR_NAME, has_data, is_own
from starloom.client.problems import Problem, unreachable, usage

HUBS_FILE = Path(".config") / "starloom" / "hubs.toml"
LOCAL_FILE = Path("run") / "local.json"
LOCK_FILE = "up.lock"
"""Locked by `starloom up` while it runs on the data folder; it holds the number of its process."""
_PID_CHARS = 20
SAME_START_S = 2.0
"""Tolerance for the start time of a process, whose clock may have been set; no pid is reused this quickly."""
DEFAULT_HOME = Path(".local") / "share" / "starloom"


@dataclass(frozen=True, slots=True)
class OwnHub:
    """A hub of this computer by its own `file`: its socket, the socket for tunnels with its pin, its process."""

    file: Path
    socket: Path
    tunnel_socket: Path
    tunnel_pin: str
    pid: int
    started_s: float

    def has_ended(self) -> bool:
        """Return whether the process that wrote the file has ended; its pid may have been reused."""
        import psutil

        try:
            process = psutil.Process(self.pid)
            same = abs(process.create_time() - self.started_s) <= SAME_START_S
            return not same or process.status() == psutil.STATUS_ZOMBIE
        except psutil.NoSuchProcess:
            return True

    @property
    def home(self) -> Path:
        """The hub's data folder."""
        return self.file.parents[len(LOCAL_FILE.parts) - 1]


def kept_by(home: Path) -> str:
    """Return the process of the `starloom up` that runs on a data folder, empty if none does."""
    try:
        with (home / LOCK_FILE).open() as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except OSError:
                return file.read(_PID_CHARS).strip() or "unknown"
    except OSError:
        return ""
    return ""


@dataclass(frozen=True, slots=True)
class HubAddress:
    """The address of a hub. `ca` is a file of extra certificates to trust; `own` the hub's file on this computer.

    `renews`: the token is that of this file, in which the hub puts another one when it ends. `token_from` names the
    place where a person gave the token.
    """

    url: str
    token: str | None
    source: str
    ca: Path | None = None
    own: OwnHub | None = None
    renews: bool = False
    token_from: str = ""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The surroundings that discovery reads; tests pass their own."""

    environment: Mapping[str, str]
    here: Path
    user_home: Path

    @classmethod
    def actual(cls) -> Surroundings:
        return cls(os.environ, Path.cwd(), Path.home())


def homes(around: Surroundings) -> list[Path]:
    """Return the data folders where a hub of this machine may have left its address, nearest first."""
    folders: list[Path] = []
    if around.environment.get("STARLOOM_HOME"):
        folders.append(Path(around.environment["STARLOOM_HOME"]).expanduser())
    folders.extend(home for home in _near(around) if is_own(home, around.user_home))
    folders.append(around.user_home / DEFAULT_HOME)
    return folders


def _near(around: Surroundings) -> list[Path]:
    return [folder / NEAR_NAME for folder in (around.here, *around.here.parents)]


def strange_home(around: Surroundings) -> Path | None:
    """Return the nearest data folder here or above that may be of somebody else, None if one of the user is nearer."""
    for home in _near(around):
        if is_own(home, around.user_home):
            return None
        if has_data(home):
            return home
    return None


def strange(home: Path, around: Surroundings) -> Problem:
    """Return the refusal of a data folder that may be of somebody else."""
    usual = around.user_home / DEFAULT_HOME
    return usage(
        f"you have started no hub on {home}, and such a folder may come from somebody else with its settings",
        f"If it is yours, name it once: starloom up --home {shlex.quote(str(home))}. "
        f"The usual one is --home {shlex.quote(str(usual))}.",
    )


def hub_option(home: Path) -> str:
    """Return the option, after a space, that a command in another terminal of this folder needs to find a hub."""
    around = Surroundings.actual()
    variables = {name: value for name, value in around.environment.items() if name != "STARLOOM_HOME"}
    folders = [folder.resolve() for folder in homes(replace(around, environment=variables))]
    return "" if home.resolve() in folders else f" --hub {shlex.quote(str(home))}"


def read_local(home: Path) -> HubAddress | None:
    """Return the file that a running hub wrote beside its data, or None.

    Raises:
        Problem: the file is there and cannot be used.
    """
    path = home / LOCAL_FILE
    try:
        fields = json.loads(path.read_text())
        url, tunnel = _clean(str(fields["url"])), fields.get("tunnel")
        if tunnel is None:  # a version without sockets left it: any program may have its port now
            return None
        own_hub = OwnHub(
            path,
            Path(fields["socket"]),
            Path(tunnel["socket"]),
            str(tunnel["pin"]),
            int(fields["pid"]),
            float(fields["started_s"]),
        )
        return HubAddress(url=url, token=fields.get("token"), source=str(path), own=own_hub, renews=True)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except PermissionError as error:
        raise usage(
            f"{path} may not be read by this user",
            "Run it as the user who runs the hub, or set STARLOOM_URL and TOKEN.",
        ) from error
    except (AttributeError, OSError, ValueError, KeyError, TypeError) as error:
        raise usage(
            f"{path} is not a hub's address: {error}", "Start the hub again; it writes the file again."
        ) from error


def find(hub: str | None, around: Surroundings | None = None) -> HubAddress:
    """Return the hub that the command addresses. `hub` is a URL, a data folder, or a name in hubs.toml.

    Raises:
        Problem: none is found (exit code 5), or the named one does not exist (2).
    """
    around = around or Surroundings.actual()
    token = around.environment.get("STARLOOM_TOKEN") or None
    address = _address(hub, token, around)
    return replace(address, token_from="STARLOOM_TOKEN") if token and address.token == token else address


def _address(hub: str | None, token: str | None, around: Surroundings) -> HubAddress:
    if hub:
        return _address_named(hub, token, around, said_by="--hub")
    if around.environment.get("STARLOOM_URL"):
        return _address_named(around.environment["STARLOOM_URL"], token, around, said_by="STARLOOM_URL")
    searched: list[str] = []
    for home in homes(around):
        local = read_local(home)
        if local is not None:
            return _with_token(local, token)
        searched.append(str(home))
    hubs = _hubs(around)
    default = hubs.get("default")
    if isinstance(default, str):
        return _address_named(default, token, around, said_by="hubs.toml")
    raise _nothing_found(searched, around)


def _with_token(local: HubAddress, token: str | None) -> HubAddress:
    """Return the address with the token that was given, if one was."""
    return replace(local, token=token, renews=False) if token else local


def renewed_token(address: HubAddress) -> str | None:
    """Return the token that the same hub has put in the place of the one of this address, if it has.

    Raises:
        Problem: its file cannot be used.
    """
    if not address.renews or address.own is None:
        return None
    # The file is at `LOCAL_FILE` below the home.
    present = read_local(address.own.file.parent.parent)
    same = present is not None and present.own is not None and present.own.socket == address.own.socket
    return present.token if present is not None and same and present.token != address.token else None


def _nothing_found(searched: list[str], around: Surroundings) -> Problem:
    stranger = strange_home(around)
    if stranger is not None and not around.environment.get("STARLOOM_HOME"):
        return strange(stranger, around)
    first = searched[0] if len(searched) > 1 else around.here / NEAR_NAME
    places = f"no hub left its address under {first} or its parents, in {searched[-1]}"
    return unreachable(
        f"{places}, nor in {around.user_home / HUBS_FILE}",
        "Start one with `starloom up` (or `make run`), or name it: --hub URL, or STARLOOM_URL and STARLOOM_TOKEN.",
    )


def _address_named(hub: str, token: str | None, around: Surroundings, *, said_by: str) -> HubAddress:
    if "://" in hub:
        url = _clean(hub)
        local_hub = _address_here(url, around)
        if local_hub is not None:
            return replace(_with_token(local_hub, token), source=said_by)
        return HubAddress(url, token, said_by)
    entry = _hubs(around).get("hubs", {}).get(hub)
    if isinstance(entry, dict) and isinstance(entry.get("url"), str):
        secret = entry.get("token")
        if secret is None and isinstance(entry.get("token_file"), str):
            secret = Path(entry["token_file"]).expanduser().read_text().strip()
        ca = Path(entry["ca"]).expanduser() if isinstance(entry.get("ca"), str) else None
        return HubAddress(_clean(entry["url"]), token or secret, f"hubs.toml [{hub}]", ca)
    folder = Path(hub).expanduser()
    if folder.is_dir():
        for home in (folder, folder / ".starloom"):
            local = read_local(home)
            if local is not None:
                return _with_token(local, token)
        start = f"starloom up --home {shlex.quote(str(folder))}"
        raise unreachable(f"no hub runs on the data in {folder}", f"Start it: {start}")
    raise usage(
        f"{said_by} says {hub}, which is no URL, no data folder and no name in {around.user_home / HUBS_FILE}",
        "Give a URL like http://127.0.0.1:8470.",
    )


def _address_here(url: str, around: Surroundings) -> HubAddress | None:
    """Return the hub of this machine whose own address is named."""
    for home in homes(around):
        local = read_local(home)
        if local is not None and local.url == url:
            return local
    return None


def _hubs(around: Surroundings) -> dict[str, Any]:
    path = around.user_home / HUBS_FILE
    try:
        return tomllib.loads(path.read_text())
    except FileNotFoundError:
        return {}
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise usage(f"{path} cannot be read: {error}", "Correct it or remove it.") from error


def _clean(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise usage(f"{url} is not an http(s) address", "Give a URL like http://127.0.0.1:8470.")
    return f"{parts.scheme}://{parts.netloc}"
