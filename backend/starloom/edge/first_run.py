"""The first owner and this machine's own token: made once, kept in a 0600 file with the hub's keys.

Who can read the hub's folder owns the hub; nobody else gets a right without a person's doing. While the hub runs,
`run/local.json` says how this user reaches it; a clean stop removes it.
"""

from __future__ import annotations

import asyncio
import getpass
import json
import logging
import os
import secrets
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator
from pathlib import Path

import msgspec
import psutil

from starloom.core.state import inputs
from starloom.edge.access import issue
from starloom.edge.access.callers import BEARER, AccessView
from starloom.edge.access.credentials import TOKEN_PREFIX, new_id, split
from starloom.edge.listeners.own_sockets import OwnPaths
from starloom.edge.web.problems import Problem, accepted
from starloom.engine.ports import Inbox, Overloaded
from starloom.process import private_files
from starloom.store.port import Unavailable
from starloom.store.sql.dump import HISTORY_ID_FILE, RESTORED_FILE
from starloom_protocol.stream.authors import ENGINE
from starloom_protocol.vocabulary import Role

LOCAL_FILE = Path("run") / "local.json"
TOKEN_FILE = Path("keys") / "local.json"
HUB_ID_FILE = Path("run") / "hub.id"
LOCAL_LABEL = "this machine"
ELSEWHERE_LABEL = "another machine"
"""The label of a local token that is not of this home: one from before a restore, or of another hub beside this."""
RENEWAL_PAUSE_S = 60.0
"""The pause before a renewal that failed is tried again: a full disk or a missing owner of the shard stays a while."""
_log = logging.getLogger("starloom.edge.first_run")


async def ensure_local_token(home: Path, access: AccessView, inbox: Inbox, now_ms: int) -> str:
    """Return the local token, making owner, token and file where they are missing.

    Raises:
        Problem: if the engine refused.
        OSError: if the file cannot be written.
    """
    owner = access.owner()
    if owner is None:
        owner = issue.owner(_user_name(), now_ms)
        item = inputs.PrincipalAdded(by=ENGINE, id=new_id(), principal=owner, scope="local")
        accepted(await inbox.ask(item))
    path = home / TOKEN_FILE
    # Where an older version kept it.
    token = _known_token(path, access) or _known_token(home / LOCAL_FILE, access)
    if token is None:
        issued = issue.bearer(owner.id, Role.OWNER, now_ms, label=LOCAL_LABEL, scopes=[])
        accepted(await inbox.ask(inputs.TokenAdded(by=ENGINE, id=new_id(), scope="local", token=issued.token)))
        token = issued.text
    write_private(path, {"token": token})
    return token


class LocalToken:
    """This machine's own token while the hub runs. One that ends is replaced at once.

    The commands and processes of this machine have no other way in. A token that leaked is of no use afterwards.
    """

    def __init__(self, home: Path, text: str, access: AccessView, make: Callable[[], Awaitable[str]]) -> None:
        self.text = text
        self._home = home
        self._make = make
        self._ended = asyncio.Event()
        access.on_revoked.append(self._hear)

    def _hear(self, token: str) -> None:
        if token == _id_of(self.text):
            self._ended.set()

    async def keep(self) -> None:
        """Replace the token whenever it has ended, until cancelled."""
        while True:
            await self._ended.wait()
            try:
                self.text = await self._make()
                _replace_local(self._home, self.text)
            except (Overloaded, Unavailable, Problem, OSError) as error:
                _log.warning("event=local_token_not_renewed reason=%s", error)
                await asyncio.sleep(RENEWAL_PAUSE_S)
            else:
                self._ended.clear()
                _log.warning("event=local_token_renewed token=%s", _id_of(self.text))


def marks_of_a_restore(homes: Iterable[Path]) -> Iterator[inputs.HistoryRestored]:
    """Yield what `starloom restore` left for the first start, in one of the data folders, if it did.

    The engine takes it before its timers, so that nothing begins by a right that has ended, and once more when the
    owner of the shard answers, which may be another hub.
    """
    for home in homes:
        try:
            raw = (home / RESTORED_FILE).read_bytes()
        except FileNotFoundError:
            continue
        mark = msgspec.json.decode(raw, type=inputs.HistoryRestored | int)
        if isinstance(mark, int):  # the time of the backup: the restore of an earlier version left nothing else
            mark = inputs.HistoryRestored(by=ENGINE, id=f"restored-{mark}", made_ms=mark, scope="local")
        yield mark


async def tell_restored(homes: Collection[Path], inbox: Inbox) -> None:
    """Tell the engine once that its history was put back from a backup, if `starloom restore` left its mark.

    Raises:
        Overloaded, Unavailable: no owner has answered; the mark stays.
        OSError: the mark cannot be removed.
    """
    for home in homes:
        for mark in marks_of_a_restore([home]):
            accepted(await inbox.ask(mark))
            (home / RESTORED_FILE).unlink(missing_ok=True)  # a hub beside this one may have told it as well


def write_local(home: Path, url: str, token: str, places: OwnPaths) -> None:
    """Say how this user reaches the running hub. The process is named by its id and its start, so that a file that a
    killed hub left is known as such.
    """
    document: dict[str, object] = {
        "pid": os.getpid(),
        "socket": str(places.hub),
        "started_s": psutil.Process().create_time(),
        "token": token,
        "tunnel": {"pin": places.tunnel_pin, "socket": str(places.tunnel)},
        "url": url,
    }
    write_private(home / LOCAL_FILE, document)


def _replace_local(home: Path, token: str) -> None:
    """Write a new token into the file of the running hub, if it stands."""
    path = home / LOCAL_FILE
    if path.exists():
        write_private(path, {**json.loads(path.read_text(encoding="utf-8")), "token": token})


def hub_id(home: Path) -> str:
    """Return the id of the hub on this folder: by it a restarted hub is known to be the same. Made at first start."""
    return _kept_id(home / HUB_ID_FILE)


def history_id(shared: Path) -> str:
    """Return the id of the history of all hubs on this folder: after a restore it is another one."""
    return _kept_id(shared / HISTORY_ID_FILE)


def _kept_id(path: Path) -> str:
    if path.exists() and (identity := path.read_text(encoding="ascii").strip()):
        return identity
    new_id_text = secrets.token_hex(6)
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    path.write_text(new_id_text, encoding="ascii")
    return new_id_text


def local_token_id(home: Path) -> str:
    """Return the id of the token that this home keeps for its own commands; empty where it keeps none."""
    return _id_of(_kept_token(home / TOKEN_FILE))


def _kept_token(path: Path) -> str:
    try:
        fields = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return ""
    token = fields.get("token") if isinstance(fields, dict) else None
    return token if isinstance(token, str) else ""


def _id_of(text: str) -> str:
    parts = split(text, TOKEN_PREFIX)
    return parts[0] if parts else ""


def _user_name() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "owner"


def _known_token(path: Path, access: AccessView) -> str | None:
    token = _kept_token(path)
    caller = access.caller(token, BEARER) if token else None
    return token if caller is not None and caller.role is Role.OWNER else None


def write_private(path: Path, document: dict[str, object]) -> None:
    """Replace a JSON file whole, readable by its owner only."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    private_files.write_private(path, json.dumps(document).encode())
