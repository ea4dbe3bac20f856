"""`starloom secret rm`: the removal asks, since the value is nowhere else."""

from __future__ import annotations

from typing import Any

import pytest

from starloom.cli import invocation
from tests.cli.owner.test_schedules import AtATerminal
from tests.cli.test_commands import StubHub, starloom

DELETE = ("DELETE", "/secrets/db")


@pytest.fixture
def hub(hub: StubHub) -> StubHub:
    row: dict[str, Any] = {"name": "db", "version": 1, "devices": [], "tools": [], "recipes": []}
    hub.answers["GET", "/secrets"] = (200, {"items": [row], "next": None})
    hub.answers[DELETE] = (200, {"name": "db"})
    return hub


def removed(hub: StubHub) -> bool:
    return any((method, path) == DELETE for method, path, _ in hub.asked)


def test_the_removal_of_a_secret_asks_first(hub: StubHub, monkeypatch: pytest.MonkeyPatch) -> None:
    code, said = starloom(hub, "secret", "rm", "db")
    assert (code, "this removes the secret db" in said, "starloom secret rm db --yes" in said) == (2, True, True)
    monkeypatch.setattr(invocation, "sys", AtATerminal())
    answers = [False, True]
    monkeypatch.setattr("typer.confirm", lambda *_, **__: answers.pop(0))
    assert starloom(hub, "secret", "rm", "db") == (0, "Nothing was removed.\n")
    assert not removed(hub)
    assert starloom(hub, "secret", "rm", "db") == (0, "db removed\n")
    assert removed(hub)


def test_the_removal_of_a_secret_with_yes_asks_nothing(hub: StubHub) -> None:
    assert starloom(hub, "secret", "rm", "db", "--yes") == (0, "db removed\n")
    assert removed(hub)


def test_the_removal_of_a_misspelt_secret_names_the_one_that_was_meant(hub: StubHub) -> None:
    code, said = starloom(hub, "secret", "rm", "dbb")
    assert (code, "no secret is called dbb" in said, "Did you mean db?" in said) == (2, True, True)
