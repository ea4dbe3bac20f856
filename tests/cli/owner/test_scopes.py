"""The scopes to which people and tokens are limited, on the command line."""

from __future__ import annotations

from typing import Any

from tests.cli.test_commands import DAY, StubHub, starloom


def test_a_limited_right_tells_its_scopes(hub: StubHub) -> None:
    row = {"kind": "person", "name": "lo", "role": "operator", "sessions": 1, "tokens": 0, "last_used_at": DAY}
    rows = [{**row, "revoked_at": None, "scopes": scopes} for scopes in (["read", "run"], [])]
    hub.answers["GET", "/people"] = (200, {"items": rows})
    limited, whole = starloom(hub, "person", "ls")[1].splitlines()
    assert ("only read, run" in limited, "only" in whole) == (True, False)
    token: dict[str, Any] = {"kind": "bearer", "role": "operator", "for": None, "id": "t-1", "label": "lo"}
    token |= {"revoked_at": None}
    token |= {"expires_at": DAY, "link_until": None, "created_at": DAY, "last_used_at": None, "scopes": ["read", "run"]}
    hub.answers["GET", "/tokens"] = (200, {"items": [token]})
    assert "only read, run" in starloom(hub, "token", "ls")[1]
