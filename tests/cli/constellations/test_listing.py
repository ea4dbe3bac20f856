"""`starloom ls`: which constellations it asks for, and the words of their states."""

from __future__ import annotations

import pytest

from tests.cli.test_commands import NEWEST, StubHub, hub, starloom

__all__ = ["hub"]

ROW = {"version": 1, "created_at": "2026-11-28T09:00:00Z", "request": "", "attention": [], "id": "c-1", "name": "Copy"}


def test_several_states_are_asked_for_at_once(hub: StubHub) -> None:
    hub.answers[NEWEST] = (200, {"items": [{**ROW, "state": "failed"}], "next": None})
    assert starloom(hub, "ls", "--state", "failed", "--state", "partial")[0] == 0
    assert [url.partition("?")[2] for url in hub.urls] == ["state=failed&state=partial&limit=20"]


@pytest.mark.parametrize(
    ("state", "undone_from", "words"),
    [
        ("succeeded", None, "c-1 succeeded 1"),
        ("succeeded", "succeeded", "c-1 taken back, in part or whole 1"),
        ("partial", "succeeded", "c-1 partial 1"),
        ("active", "succeeded", "c-1 active 1"),
    ],
)
def test_a_run_whose_work_was_taken_back_is_not_called_succeeded(
    hub: StubHub, state: str, undone_from: str | None, words: str
) -> None:
    hub.answers[NEWEST] = (200, {"items": [{**ROW, "state": state, "undone_from": undone_from}], "next": None})
    assert words in " ".join(starloom(hub, "ls")[1].split())


def test_a_misspelt_device_is_answered_with_the_nearest(hub: StubHub) -> None:
    device = {"id": "d-1", "name": "Polar licht", "revoked": False}
    hub.answers["GET", "/devices"] = (200, {"items": [device], "next": None})
    hub.answers["GET", "/constellations"] = (200, {"items": [], "next": None})
    code, said = starloom(hub, "ls", "--device", "Polr licht")
    assert (code, "Did you mean Polar licht?" in said) == (2, True)
