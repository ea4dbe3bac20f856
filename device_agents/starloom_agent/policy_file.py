"""`policy.toml`: reads and writes the owner's policy; 0600, one step at a time, never from the network."""

from __future__ import annotations

import json
import stat
import tomllib
from pathlib import Path
from typing import Any

from starloom_agent.home import write_private
from starloom_agent.policy import Policy, PolicyFault, exposed_by, policy_of

_HEAD = "# What this device allows. Change it with `starloom-agent grant | ungrant | policy`, or here.\n"


def read_policy(path: Path) -> Policy:
    """Return the policy of the file; without a file, the default `observe`.

    Raises:
        PolicyFault: if it cannot be read, is wrong, or others may write it: nothing is allowed then.
    """
    try:
        mode = path.stat().st_mode
        data = path.read_bytes()
    except FileNotFoundError:
        return Policy()
    except OSError as error:
        raise PolicyFault(f"{path} cannot be read: {error}") from error
    if mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise PolicyFault(f"{path} may be written by others; type: chmod 600 {path}")
    try:
        return checked(policy_of(tomllib.loads(data.decode())), path.parent)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise PolicyFault(f"{path} is not TOML: {error}") from error
    except PolicyFault as fault:
        raise PolicyFault(f"{path}: {fault}") from fault


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
    """Replace the file by a valid policy.

    Raises:
        PolicyFault: if it would open the agent's own files; nothing is written then.
    """
    write_private(path, (_HEAD + to_toml(checked(policy, path.parent))).encode())


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
