"""`starloom person role` and `rm`: a new role for what was made before, and the end of all that lets a person in."""

from __future__ import annotations

import pytest

from tests.cli.test_commands import StubHub, starloom


@pytest.mark.parametrize(("sessions", "told"), [(1, True), (0, False)])
def test_a_new_role_says_how_to_invite_again(hub: StubHub, sessions: int, told: bool) -> None:
    hub.answers["PATCH", "/people/jonas"] = (200, {"role": "approver", "sessions": sessions, "tokens": 0})
    _, said = starloom(hub, "person", "role", "jonas", "approver")
    assert "jonas is approver now" in said
    assert ("starloom person invite jonas --role approver" in " ".join(said.split())) is told


TOKEN = {"for": {"name": "bert"}, "revoked_at": None, "expires_at": None, "ends_asker": False, "kind": "session"}
TOKENS = [
    {**TOKEN, "id": "s-1", "ends_asker": True},
    {**TOKEN, "id": "t-1", "kind": "bearer", "expires_at": "2999-01-01T00:00:00Z"},
    {**TOKEN, "id": "s-2", "revoked_at": "2026-01-01T00:00:00Z"},
    {**TOKEN, "id": "s-3", "expires_at": "2026-01-01T00:00:00Z"},
    {**TOKEN, "id": "s-4", "for": {"name": "anna"}},
    {**TOKEN, "id": "s-5", "for": None},
]


OWNERS = [
    {"name": "bert", "kind": "person", "role": "owner", "revoked_at": None},
    {"name": "anna", "kind": "person", "role": "owner", "revoked_at": None},
    {"name": "cron", "kind": "program", "role": "owner", "revoked_at": None},
]


def test_a_person_is_removed_by_the_end_of_all_that_lets_them_in(hub: StubHub) -> None:
    hub.answers["GET", "/tokens"] = (200, {"items": TOKENS})
    hub.answers["GET", "/people"] = (200, {"items": OWNERS})
    hub.answers["GET", "/constellations"] = (200, {"items": [{"id": "c-1"}], "next": None})
    for token in ("s-1", "t-1"):
        hub.answers["DELETE", f"/tokens/{token}"] = (200, {"id": token})
    code, said = starloom(hub, "person", "rm", "bert")
    assert code == 2
    assert "this ends 1 session and 1 token of bert, with their join codes" in said
    assert "starloom person rm bert --yes" in said
    assert not [asked for asked in hub.asked if asked[0] == "DELETE"]
    code, said = starloom(hub, "person", "rm", "bert", "--yes")
    assert (code, "bert is removed: 1 session and 1 token ended." in said) == (0, True)
    assert "constellations of bert go on. To stop all of it: " in said
    assert "starloom cancel --of bert" in said
    assert [asked[1] for asked in hub.asked if asked[0] == "DELETE"] == ["/tokens/t-1", "/tokens/s-1"]


def test_a_person_who_holds_nothing_is_not_removed(hub: StubHub) -> None:
    hub.answers["GET", "/tokens"] = (200, {"items": TOKENS[2:]})
    code, said = starloom(hub, "person", "rm", "bert", "--yes")
    assert (code, "bert has no session, token or invitation that is good now" in said) == (2, True)


def test_the_only_owner_is_not_removed(hub: StubHub) -> None:
    hub.answers["GET", "/tokens"] = (200, {"items": TOKENS})
    hub.answers["GET", "/people"] = (200, {"items": [OWNERS[0], {**OWNERS[1], "revoked_at": "2026-01-01"}, OWNERS[2]]})
    code, said = starloom(hub, "person", "rm", "bert", "--yes")
    assert (code, "bert is the only owner" in said, "--role owner" in said) == (2, True, True)
    assert not [asked for asked in hub.asked if asked[0] == "DELETE"]


def test_a_removal_counts_what_rests_on_the_person(hub: StubHub) -> None:
    anna = {**TOKEN, "id": "a-1", "for": {"name": "anna"}, "kind": "invitation", "made_with": "t-1", "schedules": 2}
    hub.answers["GET", "/tokens"] = (200, {"items": [*TOKENS, anna]})
    hub.answers["GET", "/people"] = (200, {"items": OWNERS})
    _, said = starloom(hub, "person", "rm", "bert")
    assert "and 1 invitation (among them those of anna) and 2 schedules that rest on them" in " ".join(said.split())
