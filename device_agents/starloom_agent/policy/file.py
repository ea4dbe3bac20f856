"""`policy.toml`: reads and writes the owner's policy; 0600, one step at a time, never from the network.

Its last line is a seal by a key of this home. A file that anything but the agent's own command wrote is not in force.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
from dataclasses import replace
from pathlib import Path
from typing import Any

from starloom_agent.home.directory import write_private
from starloom_agent.home.owner_files import OwnerFileFault, parsed_toml, read_owner_file
from starloom_agent.policy.commands import PolicyFault
from starloom_agent.policy.policy import Policy, exposed_by, policy_of
from starloom_protocol.text.folder_grants import ACCEPT_LINE

_HEAD = "# What this device allows. Change it with `starloom-agent grant | ungrant | policy`.\n"
_SEAL = b"# seal: "
_KEY_BYTES = 32


def read_policy(path: Path) -> Policy:
    """Return the policy of the file; without a file, the default `observe`.

    Raises:
        PolicyFault: if it cannot be read, is wrong, others may write it, or this agent's own command did not write it:
            nothing is allowed then.
    """
    data = _bytes_of(path)
    if data is None:
        return Policy()
    body, _, seal = data.rpartition(_SEAL)
    key = _key(path)
    if key is None or not hmac.compare_digest(_sealed(body, key), seal.strip()):
        raise PolicyFault(
            f"{path} was not written by starloom-agent, so nothing in it is in force. "
            f"Look at it; to take it over as it stands, type: {ACCEPT_LINE}"
        )
    return checked(_parsed(path, data), path.parent)


def accept_policy(path: Path) -> Policy:
    """Accept a file that its owner edited, and return its policy.

    Raises:
        PolicyFault: if it is wrong, or its path to a folder contains a link, which could be changed later.
    """
    data = _bytes_of(path)
    if data is None:
        raise PolicyFault(f"{path} does not exist: there is nothing to accept")
    policy = _parsed(path, data)
    policy = replace(policy, read=tuple(map(_real, policy.read)), write=tuple(map(_real, policy.write)))
    write_policy(path, policy)
    return policy


def adopt_policy(path: Path) -> None:
    """Seal the file of an agent that had no seals yet; a home with a key has been through this.

    Raises:
        PolicyFault: as `accept_policy`.
    """
    if _key(path) is None and path.exists():
        accept_policy(path)


def _bytes_of(path: Path) -> bytes | None:
    try:
        return read_owner_file(path)
    except OwnerFileFault as fault:
        raise PolicyFault(str(fault)) from fault


def _parsed(path: Path, data: bytes) -> Policy:
    try:
        return policy_of(parsed_toml(path, data))
    except OwnerFileFault as fault:
        raise PolicyFault(str(fault)) from fault
    except PolicyFault as fault:
        raise PolicyFault(f"{path}: {fault}") from fault


def _real(folder: str) -> str:
    path = Path(folder).expanduser()
    if not path.is_absolute():
        raise PolicyFault(f"{folder}: an absolute path is expected, from / on")
    real = path.resolve()
    if real != Path(os.path.normpath(path)):
        raise PolicyFault(f"{folder} leads through a link to {real}; name that folder itself if it is meant")
    return str(real)


def seal_key(path: Path) -> Path:
    """Return the path of the key of the seals beside a policy file."""
    return path.with_name("policy.key")


def _key(path: Path) -> bytes | None:
    """Return the key of this home's seals, or None. No tool can read or write it."""
    try:
        return seal_key(path).read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise PolicyFault(f"{seal_key(path)} cannot be read: {error}") from error


def _made_key(path: Path) -> bytes:
    key = _key(path)
    if key is None:
        key = secrets.token_bytes(_KEY_BYTES)
        write_private(seal_key(path), key)
    return key


def _sealed(body: bytes, key: bytes) -> bytes:
    return hmac.new(key, body, hashlib.sha256).hexdigest().encode()


def checked(policy: Policy, home: Path) -> Policy:
    """Return the policy if no folder of it holds the agent's own files: else a request could change the policy.

    Raises:
        PolicyFault: naming the folder.
    """
    folder = exposed_by(policy, home.resolve())
    if folder:
        raise PolicyFault(
            f"{folder} holds this agent's own key and policy, which no request may reach; name folders beside {home}"
        )
    return policy


def write_policy(path: Path, policy: Policy) -> None:
    """Replace the file by a valid policy, sealed, so that it is known as written by this agent's own command.

    Raises:
        PolicyFault: if it would open the agent's own files; nothing is written then.
    """
    body = (_HEAD + to_toml(checked(policy, path.parent))).encode()
    write_private(path, body + _SEAL + _sealed(body, _made_key(path)) + b"\n")


def to_toml(policy: Policy) -> str:
    """Return the policy as TOML; JSON strings are TOML strings, so they are written by `json`."""
    plain = policy.plain()
    commands, always = plain.pop("commands"), plain.pop("always")
    lines = [f"{name} = {_toml(value)}" for name, value in plain.items()]
    for rule in commands:
        lines += ["", "[[commands]]", *(f"{name} = {_toml(value)}" for name, value in rule.items())]
    for item in always:
        lines += ["", "[[always]]", f"tool = {_toml(item['tool'])}", f"args = {_toml(item['args'])}"]
    return "\n".join(lines) + "\n"


def _toml(value: Any) -> str:
    if isinstance(value, list):
        return "[" + ", ".join(_toml(item) for item in value) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name} = {_toml(item)}" for name, item in value.items()) + "}"
    # TOML forbids DEL raw, JSON does not
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")
