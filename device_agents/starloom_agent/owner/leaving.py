"""Leaving the hub: inform it, end the agent and its service, delete the key, and everything else on request."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

from starloom_agent.home.directory import AgentHome, NotJoined
from starloom_agent.home.identity import load_or_make
from starloom_agent.install import background, linking, service
from starloom_agent.policy.commands import PolicyFault
from starloom_agent.policy.file import read_policy, seal_key
from starloom_agent.toolkit.beneath import TRASH, Beneath
from starloom_agent.toolkit.files.emptying import entries_of
from starloom_agent.wire import joining, signed_requests
from starloom_agent.wire.dialling import BadRoute

Say = Callable[[str], None]


def leave(home: AgentHome, say: Say, ask: Callable[[str], str], *, purge: bool) -> None:
    """End the agent, inform the hub, forget it here. With a purge, or if `ask` says yes, remove all the agent's files.

    An unreachable hub does not prevent the leave: the line for its owner is shown instead.
    """
    background.stop(home, say)
    service.remove(home, say)
    _tell(home, say)
    # The policy names the folders, and no command finds a trash without it.
    trashes = _trashes(home, say)
    for path in (home.hub, home.key, home.limit, home.policy, seal_key(home.policy)):
        path.unlink(missing_ok=True)
    for folder in (home.run, home.work):
        shutil.rmtree(folder, ignore_errors=True)
    say("This device has left its hub; its key and its policy are gone.")
    remains = _remains(home)
    if remains and (purge or _yes(home, remains, ask)):
        linking.unlink_program(home.root)
        _remove(home, remains)
        remains = [path for path in _remains(home) if path.exists()]
    if home.root.is_dir() and not any(home.root.iterdir()):
        home.root.rmdir()
    if home.root.exists():
        left = remains or sorted(home.root.iterdir())
        say("Kept: " + ", ".join(str(path) for path in left))
    else:
        say(f"{home.root} is gone.")
    _tell_of_trashes(trashes, say)


def _trashes(home: AgentHome, say: Say) -> dict[Path, int]:
    """Return the trash of each granted folder that holds something, with the number of its tickets."""
    try:
        roots = read_policy(home.policy).folders(home.workspace).write
    except PolicyFault:
        say(f"The policy is not in force, so its folders were not searched for a trash ({TRASH}).")
        return {}
    trashes: dict[Path, int] = {}
    for root in roots:
        try:
            tickets = len(entries_of(Beneath((), (root,)), root))
        except OSError:
            tickets = 0  # a folder that is gone or shut has no trash that a command could show either
        if tickets:
            trashes[root / TRASH] = tickets
    return trashes


def _tell_of_trashes(trashes: dict[Path, int], say: Say) -> None:
    if not trashes:
        return
    places = ", ".join(f"{path} ({count} ticket{'s' if count != 1 else ''})" for path, count in trashes.items())
    say(f"Files that tasks put into the trash stay: {places}.")
    say("Each lies there in a folder of its own, beside from.json, which names its place: move it back by hand.")
    for path in trashes:
        say(f"To remove them for good: rm -r {shlex.quote(str(path))}")


def _tell(home: AgentHome, say: Say) -> None:
    try:
        joined = home.joined()
    except NotJoined as fault:
        say(str(fault))
        return
    name = joined.name
    try:
        signed_requests.leave(joined, load_or_make(home.key))
    except (joining.JoinRefused, BadRoute, ValueError) as fault:
        say(f"The hub could not be told: {fault}")
        say(f"On its computer type: starloom device revoke {name}")
    else:
        say(f"The hub {joined.hub} knows that {name} has left.")


def _remains(home: AgentHome) -> list[Path]:
    """Return the agent's remaining files; a workspace with files in it belongs to the owner."""
    ledger = ("ledger.sqlite", "ledger.sqlite-wal", "ledger.sqlite-shm")
    names = (*ledger, "mcp.toml", "mcp_known.json", "agents.toml", "asks", "venv")
    paths = [home.root / name for name in names]
    paths += sorted(home.root.glob("venv-*"))
    if home.workspace.is_dir():
        paths.append(home.workspace)
    return [path for path in paths if path.exists() or path.is_symlink()]


def _yes(home: AgentHome, remains: list[Path], ask: Callable[[str], str]) -> bool:
    what = ", ".join(path.name for path in remains)
    return ask(f"Remove what is left in {home.root} too ({what})? [y/N]: ").strip().lower() in ("y", "yes")


def _remove(home: AgentHome, remains: list[Path]) -> None:
    for path in remains:
        if path == home.workspace:
            if not any(path.iterdir()):
                path.rmdir()
        elif path.is_symlink() or path.is_file():
            path.unlink()
        elif not (os.name == "nt" and Path(sys.prefix).is_relative_to(path)):  # a running program cannot go there
            shutil.rmtree(path)
