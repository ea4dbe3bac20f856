"""Texts of devices on the owner's terminal: no command that shows them passes on a sign that steers it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cli.test_commands import StubHub, hub, starloom

__all__ = ["hub"]

STEERS = "done\x1b]0;title\x07\x1b[2J\x1b]8;;https://evil.example\x1b\\\x9b31m\u202e\u2066\u200bgpj.exe"
HERE = "/constellations/c-1"
TASK = {"id": "a", "attempt": 1, "state": "failed"}
RESULT = {
    "constellation_state": "succeeded",
    "items": [{"title": STEERS, "value": [{"name": STEERS, STEERS: 1}], "from": {"task": "a"}}],
    "sentence": STEERS,
    "state": "final",
    "words": STEERS,
}
WHY = {
    "task": "a",
    "sentence": f"a failed: {STEERS}",
    "candidates": [{"name": "nas", "reason": STEERS}],
    "warning": STEERS,
}
DIFF = {"versions": [{"number": 2, "author": "model", "reason": STEERS}], "added": [], "removed": [], "changed": []}


@pytest.mark.parametrize(
    ("words", "answers"),
    [
        (("result", "c-1"), {"": {"state": "succeeded", "fault": None}, "/result": RESULT}),
        (("why", "a", "c-1"), {"/why": WHY}),
        (("diff", "1", "2", "c-1"), {"/diff": DIFF}),
        (("logs", "a", "c-1"), {"": {"tasks": [TASK]}, "/tasks/a/attempts/1/log": {"text": f"{STEERS}\n\t{STEERS}"}}),
    ],
    ids=lambda given: given[0] if isinstance(given, tuple) else "",
)
def test_t113_no_text_of_a_device_steers_the_terminal(
    hub: StubHub, words: tuple[str, ...], answers: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "400")
    hub.answers["GET", "/devices"] = (200, {"items": []})
    for path, document in answers.items():
        hub.answers["GET", HERE + path] = (200, document)
    code, said = starloom(hub, *words)
    assert code == 0, said
    assert "gpj.exe" in said
    assert not [sign for sign in said if sign not in "\n\t" and not sign.isprintable()]


def test_an_output_is_printed_as_it_was_written_where_its_reader_asks(hub: StubHub) -> None:
    hub.answers["GET", HERE] = (200, {"tasks": [TASK]})
    hub.answers["GET", f"{HERE}/tasks/a/attempts/1/log"] = (200, {"text": "\x1b[32mgreen\x1b[0m"})
    assert "\x1b[32mgreen" in starloom(hub, "logs", "a", "c-1", "--raw")[1]
    assert "\x1b" not in starloom(hub, "logs", "a", "c-1")[1]
