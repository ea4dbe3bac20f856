"""A token of each scope: it tries what its scope does not open, and to make more of itself."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import httpx

from starloom.edge.access.callers import Scope
from starloom.edge.access.guard import ROUTES, Door, Row
from starloom_protocol.vocabulary import Role
from tests.edge.test_guard import concrete
from tests.guard.drivers.tally import AttackTally, Stopwatch, differences, state_of, unlogged
from tests.installation import Installation
from tests.waiting import PATIENCE_S

KINDS_MOST = 12
"""Of one token, so that all of them fit into what the log takes in a minute."""
API = "/api/v1"
READ = {"id": "look", "tool": "system.info"}
NEVER = {"plan": {"starloom": 1, "tasks": [READ], "policy": {"approval": "never"}}}
Attack = tuple[str, str, dict[str, Any] | None]


def closed(row: Row, role: Role, scope: Scope) -> bool:
    """Return whether a route must refuse this token; those of the lab are not there without it."""
    return (
        row.door is Door.CALLER
        and row.scope is not Scope.LAB
        and not (role in row.roles and row.scope in (None, scope))
    )


def attacks(role: Role, scope: Scope, chance: random.Random) -> list[Attack]:
    """Return what this token tries: routes that are closed to it, and every way up."""
    ways = [(method, path) for (method, path), row in ROUTES.items() if method != "WS" and closed(row, role, scope)]
    body = {"POST", "PUT", "PATCH"}
    found: list[Attack] = [
        (method, path, {} if method in body else None)
        for method, path in chance.sample(ways, min(len(ways), KINDS_MOST - 2))
    ]
    if scope is not Scope.ACCESS:
        found.append(("POST", f"{API}/tokens", {"role": "owner", "scopes": []}))
    if scope is not Scope.APPROVE:
        found.append(("POST", f"{API}/constellations", NEVER))
    return found


def drive(home: Path, clock: Stopwatch, seed: int) -> AttackTally:
    hub, tally, chance = Installation(home), AttackTally(), random.Random(seed)
    try:
        hub.up("--no-agent")
        callers = []
        for scope in Scope:
            asked = {"role": "owner", "scopes": [str(scope)], "for": f"{scope}@example.org"}
            made = hub.client.post("/tokens", asked)
            headers = {"Authorization": f"Bearer {made['token']}"}
            http = httpx.Client(base_url=hub.client.address.url, headers=headers, trust_env=False, timeout=PATIENCE_S)
            callers.append((f"{scope}@example.org#{made['id']}", http, attacks(Role.OWNER, scope, chance)))
        before = state_of(hub.client)
        while not clock.over() or not tally.attacks:
            for who, http, ways in chance.sample(callers, len(callers)):
                for method, path, body in chance.sample(ways, len(ways)):
                    answer = http.request(method, concrete(path), json=body)
                    if answer.status_code == 503:  # under load the hub takes nothing from anybody
                        continue
                    tally.attacks += 1
                    if answer.status_code == 403:
                        tally.refuse(who, f"forbidden: {method} {path}: ")
                    else:
                        tally.effects.append(f"{who} {method} {path} was answered {answer.status_code} {answer.text}")
        for _, http, _ in callers:
            http.close()
        tally.effects += differences(before, state_of(hub.client))
        tally.unlogged = unlogged(hub.client, tally)
    finally:
        hub.close()
    return tally
