"""A command or a name that is not there, and the one that was probably meant: near by its letters, or another word."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from starloom.client.problems import Problem, usage

_OTHER_WORDS: Final = {
    "abort": ("cancel", "stop-all"),
    "add": ("enroll", "add", "import", "create", "invite", "set"),
    "agents": ("devices",),
    "answer": ("result", "answer"),
    "ask": ("submit",),
    "computers": ("devices",),
    "connect": ("enroll",),
    "constellations": ("ls",),
    "create": ("submit", "add", "create"),
    "delete": ("rm", "revoke"),
    "do": ("submit",),
    "exec": ("submit",),
    "files": ("artifacts",),
    "find": ("ls",),
    "fleet": ("devices",),
    "get": ("show", "get"),
    "health": ("doctor",),
    "help": ("--help",),
    "history": ("log",),
    "hosts": ("devices",),
    "inbox": ("approvals",),
    "info": ("show",),
    "jobs": ("ls",),
    "join": ("enroll",),
    "kill": ("cancel", "stop-all"),
    "list": ("ls",),
    "login": ("open",),
    "logs": ("log",),
    "ls": ("show",),
    "machines": ("devices",),
    "new": ("create", "add", "invite"),
    "nodes": ("devices",),
    "pair": ("enroll",),
    "people": ("person",),
    "phone": ("enroll", "open"),
    "plan": ("submit",),
    "plans": ("ls",),
    "preview": ("submit",),
    "ps": ("ls",),
    "qr": ("open",),
    "questions": ("approvals",),
    "queue": ("ls",),
    "redo": ("again",),
    "remove": ("rm", "revoke"),
    "rerun": ("again",),
    "run": ("submit", "run"),
    "search": ("ls",),
    "serve": ("up",),
    "settings": ("config",),
    "start": ("up",),
    "status": ("show", "ls"),
    "stop": ("cancel", "stop-all"),
    "tasks": ("ls", "show"),
    "users": ("person",),
    "view": ("show",),
    "workers": ("devices",),
}
"""Words that people type, and the commands that they may mean."""
_GROUPS_MOST: Final = 2


def meant_by(typed: str, inside: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the commands that an unknown word may mean; `inside` has the commands of each group, none for a command.

    Where it is like none, and the group shows one thing by its name, the word is probably such a name.
    """
    typed = typed.casefold()
    synonyms = [word for word in _OTHER_WORDS.get(typed, ()) if word in inside or word.startswith("-")]
    paths: dict[str, list[str]] = {}
    for name, words in inside.items():
        for word in words:
            paths.setdefault(word, []).append(f"{name} {word}")
    # A word of many groups, such as `rm`, points at none of them.
    telling = {word: names for word, names in paths.items() if len(names) <= _GROUPS_MOST}
    exact = synonyms or telling.get(typed, [])
    if exact:
        return exact
    near = difflib.get_close_matches(typed, inside, n=2)
    near = near or [path for word in difflib.get_close_matches(typed, telling, n=2) for path in telling[word]]
    return near or ([f"show {typed}"] if "show" in inside and "ls" in inside and not any(inside.values()) else [])


def unknown(fault: str, name: str, names: Iterable[str], see: str) -> Problem:
    """Return the mistake that a name is none of these, with the one that is nearly the same, else where they stand."""
    by_letters = {each.casefold(): each for each in sorted(names)}
    near = [by_letters[each] for each in difflib.get_close_matches(name.casefold(), by_letters, n=1)]
    return usage(f"{fault} {name}", f"Did you mean {near[0]}?" if near else f"See `{see}`.")
