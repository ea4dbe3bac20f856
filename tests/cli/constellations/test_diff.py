"""`starloom diff` shows each field of a task that changed, before and after."""

from __future__ import annotations

import pytest

from tests.cli.test_commands import StubHub, starloom


def test_a_changed_task_is_shown_with_its_fields(hub: StubHub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    change = {
        "kind": "task",
        "id": "after",
        "before": {"args": '{"text":"nap one done"}', "optional": None},
        "after": {"args": '{"text":"edited\x1b[2J"}', "optional": True},
    }
    versions = [{"number": 2, "author": "person:ann", "reason": "", "trigger": "edit"}]
    found = {"versions": versions, "added": [], "removed": [], "changed": [change]}
    hub.answers["GET", "/constellations/c-1/diff"] = (200, found)
    code, said = starloom(hub, "diff", "1", "2", "c-1")
    assert code == 0, said
    assert '~ after\n      args: {"text":"nap one done"} -> {"text":"edited' in said
    assert "optional: - -> true" in said
    assert "\x1b" not in said
