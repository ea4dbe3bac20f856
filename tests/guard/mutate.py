"""Seeded damage to JSON documents and to their text, by structure: what a fuzzer of real inputs is made of.

Owns the kinds of damage; what the damaged input does is judged by `frames`, `documents` and `sockets`. The same
random generator gives the same damage, so that a seed tells a case whole.
"""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable
from typing import Any

ODD_TEXTS = (
    "",
    "\x00",
    "a\x00b",
    "\u202etxt.exe",
    "\ud800",
    "e\u0301",
    "\ufeff",
    "../../etc/passwd",
    "..\\..\\boot.ini",
    "a" * 5000,
    "\U0001f4a5" * 300,
    "{{7*7}}",
    "${jndi:ldap://x}",
    "'; DROP TABLE events;--",
    "<script>alert(1)</script>",
    "$(id)",
    "`id`",
    "\r\nSet-Cookie: a=b",
    "null",
    "-1",
    "1e400",
)
ODD_VALUES: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    -1,
    2**31,
    2**53,
    2**63,
    2**64,
    -(2**63) - 1,
    10**40,
    0.1,
    1e308,
    [],
    {},
    [[]],
    [None],
    {"": ""},
    {"t": "bye"},
    {"secret": "x"},
    {"param": "x"},
    {"from": "x"},
)


def damage(random_: random.Random, document: Any, others: list[Any]) -> str:
    """Return the text of a document after one to three changes; now and then the text itself is damaged too.

    `others` are documents of the same family, from which parts are taken.
    """
    made = copy.deepcopy(document)
    for _ in range(random_.choice((1, 1, 1, 1, 2, 3))):
        made = random_.choice(_CHANGES)(random_, made, others)
    text = json.dumps(made, ensure_ascii=random_.random() < 0.5)
    return cut(random_, text) if random_.random() < 0.12 else text


def cut(random_: random.Random, text: str) -> str:
    """Return text that is cut off, doubled, or changed in some characters."""
    at = random_.randrange(len(text) + 1)
    match random_.randrange(5):
        case 0:
            return text[:at]
        case 1:
            return text + text[:at]
        case 2:
            return text[:at] + random_.choice(ODD_TEXTS) + text[at:]
        case 3:
            end = min(len(text), at + random_.randrange(1, 6))
            return text[:at] + text[end:]
        case _:
            return text[:at] + random_.choice('{}[]",:\\0 \t\n\x7f') + text[at + 1 :]


def places(document: Any) -> list[tuple[Any, Any]]:
    """Return every (container, key) within a document."""
    found: list[tuple[Any, Any]] = []
    waiting = [document]
    while waiting:
        node = waiting.pop()
        keys = list(node) if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else ()
        for key in keys:
            found.append((node, key))
            waiting.append(node[key])
    return found


def _value(random_: random.Random, document: Any, others: list[Any]) -> Any:
    found = places(document)
    if found:
        node, key = random_.choice(found)
        node[key] = copy.deepcopy(random_.choice(ODD_TEXTS if random_.random() < 0.4 else ODD_VALUES))
    return document


def _nudge(random_: random.Random, document: Any, others: list[Any]) -> Any:
    """A value becomes another of its type, so that what is refused is refused for its meaning."""
    found = [(node, key) for node, key in places(document) if not isinstance(node[key], (dict, list))]
    if found:
        node, key = random_.choice(found)
        value = node[key]
        if isinstance(value, bool):
            node[key] = not value
        elif isinstance(value, (int, float)):
            node[key] = value + random_.choice((-1, 1, 1000))
        elif isinstance(value, str):
            node[key] = value + random_.choice(("x", "-2", " ", "\u00e9"))
    return document


def _swap(random_: random.Random, document: Any, others: list[Any]) -> Any:
    """Two values change their places."""
    found = places(document)
    if len(found) > 1:
        (one, a), (two, b) = random_.sample(found, 2)
        one[a], two[b] = copy.deepcopy(two[b]), copy.deepcopy(one[a])
    return document


def _type(random_: random.Random, document: Any, others: list[Any]) -> Any:
    """A value says the same in another type."""
    found = places(document)
    if found:
        node, key = random_.choice(found)
        value = node[key]
        node[key] = random_.choice((str(value), [value], {"value": value}, len(str(value)), float(len(str(value)))))
    return document


def _drop(random_: random.Random, document: Any, others: list[Any]) -> Any:
    found = places(document)
    if found:
        node, key = random_.choice(found)
        del node[key]
    return document


def _add(random_: random.Random, document: Any, others: list[Any]) -> Any:
    maps = [node for node in [document, *(node[key] for node, key in places(document))] if isinstance(node, dict)]
    if maps:
        name = random_.choice(("extra", "__class__", "t", "id", "$ref", ""))
        random_.choice(maps)[name] = copy.deepcopy(random_.choice(ODD_VALUES))
    return document


def _graft(random_: random.Random, document: Any, others: list[Any]) -> Any:
    """A part of another document takes the place of a part of this one."""
    mine, theirs = places(document), places(random_.choice(others))
    if mine and theirs:
        (node, key), (other, place) = random_.choice(mine), random_.choice(theirs)
        node[key] = copy.deepcopy(other[place])
    return document


def _double(random_: random.Random, document: Any, others: list[Any]) -> Any:
    lists = [node[key] for node, key in places(document) if isinstance(node[key], list) and node[key]]
    if lists:
        chosen = random_.choice(lists)
        chosen.extend(copy.deepcopy(chosen) * random_.choice((1, 2, 50)))
    return document


def _shuffle(random_: random.Random, document: Any, others: list[Any]) -> Any:
    lists = [node[key] for node, key in places(document) if isinstance(node[key], list)]
    if lists:
        random_.shuffle(random_.choice(lists))
    return document


def _deepen(random_: random.Random, document: Any, others: list[Any]) -> Any:
    found = places(document)
    if found:
        node, key = random_.choice(found)
        inner: Any = node[key]
        for _ in range(random_.choice((2, 31, 33, 200))):
            inner = [inner] if random_.random() < 0.5 else {"a": inner}
        node[key] = inner
    return document


def _grow(random_: random.Random, document: Any, others: list[Any]) -> Any:
    """A text, or a map, becomes large."""
    found = [(node, key) for node, key in places(document) if isinstance(node[key], str)]
    if found:
        node, key = random_.choice(found)
        node[key] = (node[key] or "x") * random_.choice((10, 1000, 20_000))
        node[key] = node[key][:100_000]
    return document


_CHANGES: tuple[Callable[[random.Random, Any, list[Any]], Any], ...] = (
    _value,
    _nudge,
    _nudge,
    _nudge,
    _swap,
    _type,
    _drop,
    _add,
    _graft,
    _double,
    _shuffle,
    _deepen,
    _grow,
)
