"""`starloom token revoke`: asks and counts where the tokens of others, or schedules, rest on the one that ends."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.cli.test_commands import StubHub, starloom


def row(name: str, made_with: str, holder: str, kind: str = "bearer", **more: Any) -> dict[str, Any]:
    fields = {"id": name, "made_with": made_with, "for": {"name": holder, "kind": "person"}, "kind": kind}
    return {"revoked_at": None, "expires_at": None, "schedules": 0, **fields, **more}


ROWS = [
    row("machine", "", "root"),
    row("page", "machine", "root", "session"),
    row("asa", "page", "\u00c5sa", "invitation"),
    row("asa-page", "asa", "\u00c5sa", "session"),
    row("lindqvist", "machine", "lindqvist", schedules=1),
    row("gone", "machine", "zoe", revoked_at="2026-01-01T00:00:00Z", schedules=5),
    row("prometheus", "machine", "root"),
    row("other", "elsewhere", "jonas"),
]


@pytest.fixture
def tokens(hub: StubHub) -> StubHub:
    hub.answers["GET", "/tokens"] = (200, {"items": ROWS})
    for one in ROWS:
        hub.answers["DELETE", f"/tokens/{one['id']}"] = (200, {"id": one["id"], "revoked": True})
    return hub


def revoked(hub: StubHub) -> list[str]:
    return [path for method, path, *_ in hub.asked if method == "DELETE"]


def test_t327_a_token_on_which_others_rest_is_not_revoked_unasked(tokens: StubHub) -> None:
    code, said = starloom(tokens, "token", "revoke", "machine")
    said = " ".join(said.split())
    assert code == 2
    assert "this also ends 1 session, 2 tokens, 1 invitation (among them those of lindqvist and \u00c5sa)" in said
    assert "and 1 schedule, made with machine" in said
    assert "starloom token revoke machine --yes" in said
    assert revoked(tokens) == []


def test_an_agreed_revocation_says_what_went_with_it(tokens: StubHub) -> None:
    code, said = starloom(tokens, "token", "revoke", "machine", "--yes")
    assert (code, "machine revoked, and with it 1 session, 2 tokens" in " ".join(said.split())) == (0, True)
    assert revoked(tokens) == ["/tokens/machine"]
    code, said = starloom(tokens, "token", "revoke", "machine", "--yes", "--json")
    ended = json.loads(said)["ended"]
    assert sorted(ended["tokens"]) == ["asa", "asa-page", "lindqvist", "prometheus"]
    assert (ended["people"], ended["schedules"]) == (["lindqvist", "\u00c5sa"], 1)


@pytest.mark.parametrize("name", ["other", "asa", "prometheus", "gone"])
def test_a_token_that_stands_alone_is_revoked_at_once(tokens: StubHub, name: str) -> None:
    """The session of an invitation is the same person's, and no other."""
    code, said = starloom(tokens, "token", "revoke", name)
    assert (code, said.strip()) == (0, f"{name} revoked")
    assert revoked(tokens) == [f"/tokens/{name}"]
