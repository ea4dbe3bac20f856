"""The constants of a plan that may become parameters, and the hash of a plan in which these are open. Pure.

Owns which constant is a device, a path, an address, a number or a command, and which looks secret. Writes no recipe.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from hashlib import sha256
from typing import Any, Final

import msgspec

from starloom_protocol.records.entities import Dependency, TaskSpec
from starloom_protocol.values import canonical, parse

_ADDRESS: Final = re.compile(r"https?://")
_PATH_NAMES: Final = frozenset(
    {"cwd", "dir", "directory", "file", "folder", "from", "path", "paths", "root", "strip", "target", "to", "under"}
)
_PATH: Final = re.compile(r"(~|\.{0,2}/)")
_SECRET_NAMES: Final = re.compile(
    r"pass(word|phrase)?|secret|token|api_?key|private_?key|authorization|credential|cookie", re.IGNORECASE
)
_SECRET_VALUES: Final = re.compile(
    r"(Bearer |Basic |ghp_|github_pat_|sk-|xox[abp]-|AKIA|-----BEGIN)|[A-Za-z0-9+/_-]{40,}={0,2}$"
)
_HASH: Final = re.compile(r"[0-9a-f]{64}$")
_TASK_FIELDS: Final = frozenset({"family", "id", "same", "source", "target", "task"})
"""Fields that hold names of tasks, which a shape has by their place in the plan."""
_OPEN: Final = "?"
"""A name or id of a device in a shape."""


def slot_type(name: str, value: Any, answers: Collection[str] = ()) -> str | None:
    """Return the type that an argument has as a parameter; None for one that stays as it is.

    A text that stands in an answer of its person is a parameter, whatever it is.
    """
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return "integer" if isinstance(value, int) else "number"
    if isinstance(value, str):
        if _ADDRESS.match(value):
            return "url"
        if value and (name in _PATH_NAMES or _PATH.match(value)):
            return "path"
        return "text" if value.strip() and is_said(value, answers) else None
    if isinstance(value, list) and value and all(isinstance(one, str) for one in value):
        return name if name in ("argv", "hosts") else None
    return None


def is_said(value: Any, texts: Iterable[str]) -> bool:
    """Tell whether a value occurs as words of its own in one of these texts."""
    text = str(value).strip()
    pattern = re.compile(rf"(?<!\w){re.escape(text)}(?!\w)", re.IGNORECASE)
    return not text or any(pattern.search(one) is not None for one in texts)


def looks_secret(name: str, value: Any) -> bool:
    """Return whether a value, or one within it, has the name or the form of a secret. A `secret` node is none."""
    if isinstance(value, Mapping):
        return set(value) != {"secret"} and any(looks_secret(str(key), one) for key, one in value.items())
    if isinstance(value, list):
        return any(looks_secret(name, one) for one in value)
    if not isinstance(value, str) or not value or _HASH.match(value):
        return False
    return _SECRET_NAMES.search(name) is not None or _SECRET_VALUES.match(value) is not None


def words_look_secret(words: str) -> bool:
    """Return whether a word has the form of a secret."""
    return any(_SECRET_VALUES.match(word.strip("\"'`,;()")) is not None for word in words.split())


def shape_of(specs: Iterable[TaskSpec], dependencies: Iterable[Dependency], answers: Collection[str] = ()) -> str:
    """Return the hash of a plan in which devices, paths, addresses, numbers, answers and names of tasks are open."""
    listed = list(specs)
    numbers = {spec.id: f"#{at}" for at, spec in enumerate(listed)}
    plain = [{**msgspec.to_builtins(spec), "args": _args_opened(spec.args, answers)} for spec in listed]
    tasks = [_opened(task, numbers) for task in plain]
    edges = sorted(canonical(_opened(msgspec.to_builtins(edge), numbers)) for edge in dependencies)
    return sha256(canonical({"edges": edges, "tasks": tasks}).encode()).hexdigest()


def _args_opened(args: str, answers: Collection[str]) -> dict[str, Any]:
    return {name: slot_type(name, value, answers) or value for name, value in parse(args).items()}


def _opened(value: Any, numbers: Mapping[str, str], name: str = "") -> Any:
    if isinstance(value, dict):
        return {
            key: _OPEN if name in ("any", "device", "devices") and key in ("id", "name") and one else one
            for key, one in ((key, _opened(one, numbers, key)) for key, one in value.items() if key != "changed_in")
        }
    if isinstance(value, list):
        return [_opened(one, numbers, name) for one in value]
    return numbers.get(value, value) if isinstance(value, str) and name in _TASK_FIELDS else value
