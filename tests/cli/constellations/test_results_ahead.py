"""The answer of a constellation that has not ended, on the command line."""

from __future__ import annotations

from tests.cli.test_commands import StubHub, starloom


def test_a_result_that_is_not_there_yet_says_so(hub: StubHub) -> None:
    for state, told in (("awaiting_approval", "waits for an approval"), ("active", "is active")):
        answer = {"state": "provisional", "sentence": "", "items": [], "constellation_state": state}
        hub.answers["GET", "/constellations/c-1/result"] = (200, answer)
        hub.answers["GET", "/constellations/c-1"] = (200, {"state": state, "fault": None})
        hub.answers["GET", "/devices"] = (200, {"items": []})
        code, said = starloom(hub, "result", "c-1")
        assert (code, f"It {told} and has no final answer yet. More: " in said) == (4, True), said
