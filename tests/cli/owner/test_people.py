"""`starloom person role`: a new role, and the way in which what was made before gets it."""

from __future__ import annotations

import pytest

from tests.cli.test_commands import StubHub, starloom


@pytest.mark.parametrize(("sessions", "told"), [(1, True), (0, False)])
def test_a_new_role_says_how_to_invite_again(hub: StubHub, sessions: int, told: bool) -> None:
    hub.answers["PATCH", "/people/jonas"] = (200, {"role": "approver", "sessions": sessions, "tokens": 0})
    _, said = starloom(hub, "person", "role", "jonas", "approver")
    assert "jonas is approver now" in said
    assert ("starloom person invite jonas --role approver" in " ".join(said.split())) is told
