"""Calls of every port of the store, drawn from a seed: as an engine makes them, and deliberately wrong ones.

A call is data that both worlds carry out, so its arguments are relative to what is there: the n-th store, the term of
its ownership and one more, the position after the last.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

STREAMS = ("c1", "c2", "c3", "fleet")
KINDS = {
    "take": 8,
    "take_again": 4,
    "commit": 34,
    "commit_lost": 5,
    "commit_wrong": 7,
    "repeat": 4,
    "renew": 3,
    "owns": 2,
    "leave": 3,
    "position": 4,
    "retire": 6,
    "recall": 5,
    "watermark": 2,
    "post": 4,
    "settle": 4,
    "cipher": 4,
    "events": 6,
    "entities": 4,
    "entities_at": 4,
    "list": 4,
    "record": 4,
    "activity": 4,
    "follow": 4,
    "silence": 2,
    "redis_restart": 2,
    "redis_cut": 2,
    "redis_wipe": 1,
    "history_down": 2,
    "lost_taking": 2,
}
STATES = ("active", "active", "active", "paused", "succeeded", "failed", "cancelled")


@dataclass(frozen=True)
class Call:
    """One call at store `at` (0 and 1 are hubs, 2 only reads)."""

    kind: str
    at: int
    more: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        more = ", ".join(f"{name}={value!r}" for name, value in self.more.items())
        return f"{self.kind}({'ab?'[self.at]}{', ' if more else ''}{more})"


def draw_calls(seed: int, count: int) -> list[Call]:
    """Return the calls of a seed."""
    chance = random.Random(seed)
    kinds, weights = list(KINDS), list(KINDS.values())
    calls = [Call("take", 0, {"polite": False, "keep": []})]
    owner = 0
    for _ in range(count):
        kind = chance.choices(kinds, weights)[0]
        at = owner if chance.random() < 0.8 else 1 - owner
        call = Call(kind, at, _arguments(kind, chance))
        if kind == "take" and not call.more["polite"]:
            owner = at
        calls.append(call)
    return calls


def _arguments(kind: str, chance: random.Random) -> dict[str, Any]:
    some = chance.sample([*STREAMS, "nobody"], chance.randint(0, 4))
    match kind:
        case "take":
            return {"polite": chance.random() < 0.4, "keep": some}
        case "take_again":
            return {"over": chance.choice([0, 0, 0, -1, 1]), "keep": some}
        case "commit" | "commit_lost" | "commit_wrong":
            found: dict[str, Any] = {"parts": _parts(chance), "sent": chance.choice([0, 1, 1, 2, 99])}
            found["outbox"] = [f"send {chance.randint(0, 9)}" for _ in range(chance.choice([0, 0, 1, 2]))]
            if kind == "commit_lost":
                found["lost"] = chance.choice(["request_lost", "reply_lost"])
            if kind == "commit_wrong":
                found[chance.choice(["term", "incarnation", "pos"])] = chance.choice([-2, -1, 1, 2])
            return found
        case "renew" | "owns":
            return {"term": chance.choice([0, 0, 0, -1, 1])}
        case "leave":
            return {"release": chance.random() < 0.7}
        case "retire":
            return {"streams": [(name, chance.choice([0, 0, 0, -1, 1])) for name in some]}
        case "recall":
            return {"streams": some}
        case "watermark":
            return {"after": chance.randint(1, 4)}
        case "post":
            return {"raw": f"input {chance.randint(0, 99)}", "answered": chance.random() < 0.4}
        case "settle":
            return {"count": chance.randint(1, 3), "settled": [chance.random() < 0.7 for _ in range(3)]}
        case "cipher":
            what = chance.choice(["put", "put", "get", "remove", "sweep"])
            return {"what": what, "key": f"k{chance.randint(0, 3)}", "ms": chance.randint(0, 9)}
        case "events" | "entities_at" | "entities":
            stream = chance.choice([*STREAMS, "nobody"])
            return {"stream": stream, "after": chance.randint(0, 9), "limit": chance.choice([0, 1, 2, 100])}
        case "list":
            cursor = (chance.randint(0, 4), chance.choice(STREAMS)) if chance.random() < 0.3 else None
            return {
                "states": tuple(chance.sample([*STATES, "nothing"], chance.choice([0, 0, 1, 1, 2]))),
                "text": chance.choice([None, None, "c1", "NAME", "100% of", "_", "\\", "nowhere"]),
                "device": chance.choice([None, None, "d1", "d2", "d9"]),
                "before": cursor,
                "limit": chance.choice([1, 2, 50]),
            }
        case "record":
            stream = chance.choice([*STREAMS, "nobody"])
            return {"stream": stream, "seq": chance.randint(0, 6), "pos": chance.randint(1, 12)}
        case "activity":
            before = (chance.randint(1, 9), chance.randint(0, 2)) if chance.random() < 0.4 else None
            wanted: dict[str, Any] = {}
            for name, values in (
                ("stream", ["c1", "fleet"]),
                ("about", ["a", "d1"]),
                ("by", ["engine", "person:ann"]),
                ("text", ["c1", "ready", "%"]),
                ("kinds", [["task_changed"], ["task_changed", "device_joined"], ["nothing"]]),
                ("without", [["task_changed"], ["nothing"]]),
            ):
                if chance.random() < 0.25:
                    wanted[name] = chance.choice(values)
            return {"wanted": wanted, "before": before, "limit": chance.choice([1, 2, 100])}
        case "follow":
            return {"after": chance.randint(-4, 1), "pos": chance.randint(0, 20)}
        case "redis_cut":
            return {"marks": chance.randint(0, 3)}
        case _:
            return {}


def _parts(chance: random.Random) -> list[tuple[str, list[tuple[str, str]]]]:
    """Return what a commit puts: for some streams, keys with a word each; a word of nothing removes."""
    parts = []
    for stream in chance.sample(STREAMS, chance.choice([0, 1, 1, 1, 2, 3])):
        puts = [(f"task/t{chance.randint(0, 3)}", chance.choice(["ready", "running", ""])) for _ in range(2)]
        if stream != "fleet" and chance.random() < 0.6:
            puts.append(("head", chance.choice(STATES)))
        if stream != "fleet" and chance.random() < 0.2:
            puts.append(("answer", chance.choice(["said", ""])))
        if stream != "fleet" and chance.random() < 0.3:
            puts.append((f"attempt/t0/{chance.randint(1, 3)}", f"d{chance.randint(1, 2)}"))
        parts.append((stream, list(dict(puts).items())))
    return parts
