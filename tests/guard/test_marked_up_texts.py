"""T239: the name of a device, of a piece of work or of a file has markup, and the terminal shows a link or a sign."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cli.test_commands import StubHub, hub, starloom

__all__ = ["hub"]

MARKED = "[link=https://evil.example]nas[/link] [red]:warning: x[/]\\[b]"
DEVICE = {"demo": False, "id": "d-1", "link": "online", "load": MARKED, "name": MARKED, "os": MARKED, "profile": "own"}
WORK = {"author": "person:ann", "created_at": "2026-01-01T00:00:00Z", "id": "c-1", "request": "", "version": 1}
TOOL = {"devices": [{"name": MARKED, "unavailable": ""}], "effects": ["read"], "grant": "", "title": MARKED}
ITEM = {"title": MARKED, "value": [{"name": MARKED, MARKED: MARKED}], "bytes": 0}
ANSWER = {"constellation_state": "succeeded", "items": [ITEM], "sentence": MARKED, "state": "final"}


@pytest.mark.parametrize(
    ("words", "answers"),
    [
        (("devices",), {"/devices": {"items": [{**DEVICE, "condition": {}, "facts": {}, "tools": ["t"]}]}}),
        (("ls",), {"/constellations": {"items": [{**WORK, "name": MARKED, "state": "succeeded"}]}}),
        (("tools", "ls"), {"/capabilities": {"items": [{**TOOL, "tool": "t.read"}]}}),
        (("result", "c-1"), {"/constellations/c-1": {"state": "succeeded"}, "/constellations/c-1/result": ANSWER}),
    ],
    ids=lambda given: " ".join(given) if isinstance(given, tuple) else "",
)
def test_t239_no_text_of_others_is_read_as_markup(
    hub: StubHub, words: tuple[str, ...], answers: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "500")
    monkeypatch.setenv("FORCE_COLOR", "1")
    hub.answers["GET", "/devices"] = (200, {"items": []})
    for path, document in answers.items():
        hub.answers["GET", path] = (200, document)
    code, said = starloom(hub, *words)
    assert code == 0, said
    assert MARKED in said
    assert "\x1b]8" not in said
