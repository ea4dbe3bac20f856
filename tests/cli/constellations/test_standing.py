"""A new constellation says at once for what it waits."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from starloom.client.terminal.typed import typed
from tests.cli.test_commands import StubHub, starloom

QUESTION = {
    "id": "c-1:approve-plan",
    "by": "the hub, before the plan begins",
    "text": "Run Fleet health? It may read.",
    "values": ["allow", "deny"],
    "task": None,
    "words": False,
    "yours": True,
}
AWAY = "find on demo-phone waits: demo-phone is offline since 10:00."


@pytest.fixture
def hub(hub: StubHub) -> StubHub:
    hub.answers["POST", "/constellations"] = (202, {"id": "c-1", "state": "active", "version": 1})
    return hub


def stands(hub: StubHub, state: str, items: list[dict[str, Any]], questions: list[dict[str, Any]]) -> None:
    shown = {"state": state, "items": items, "questions": questions, "attention": [], "more": 0}
    hub.answers["GET", "/constellations/c-1/why"] = (200, shown)


def waiting(task: str, reason: str, sentence: str) -> dict[str, Any]:
    return {"task": task, "state": "ready", "reason": reason, "sentence": sentence, "candidates": []}


def test_words_that_wait_for_an_approval_say_so(hub: StubHub) -> None:
    stands(hub, "awaiting_approval", [waiting("info", "approval", "info waits")], [QUESTION])
    for words in (["submit", "how are my machines"], ["recipe", "run", "fleet-health"]):
        code, said = starloom(hub, *words)
        assert code == 0
        assert "It waits for an approval:" in said
        ways = "To answer: starloom approve c-1:approve-plan - or: starloom deny c-1:approve-plan"
        assert typed(ways) in said
        assert "info waits" not in said


def test_a_question_for_others_names_no_command_that_answers_it(hub: StubHub) -> None:
    stands(hub, "awaiting_approval", [], [{**QUESTION, "yours": False}])
    code, said = starloom(hub, "submit", "how are my machines")
    assert (code, "starloom approve" in said) == (0, False)
    assert "Only somebody who may approve can answer; your sign-in or token may not." in said


def test_a_question_for_named_people_names_them(hub: StubHub) -> None:
    stands(hub, "active", [], [{**QUESTION, "only": ["asa", "zoe"], "yours": False}])
    code, said = starloom(hub, "submit", "how are my machines")
    assert (code, "starloom approve" in said) == (0, False)
    assert "Only the answer of asa and zoe counts." in said


def test_a_device_that_is_off_is_named_at_once(hub: StubHub, tmp_path: Path) -> None:
    (tmp_path / "plan.yaml").write_text("starloom: 1\n")
    away = waiting("find", "device_away", AWAY) | {"actions": ["reassign"]}
    stands(hub, "active", [away, waiting("next", "busy", "next is in the queue")], [])
    _, said = starloom(hub, "submit", "-f", str(tmp_path / "plan.yaml"))
    assert AWAY in said
    assert "starloom reassign find c-1 --device NAME" in said
    assert "in the queue" not in said


def test_json_has_the_question_and_what_waits(hub: StubHub) -> None:
    stands(hub, "awaiting_approval", [waiting("find", "device_away", AWAY)], [QUESTION])
    code, said = starloom(hub, "submit", "how are my machines", "--json")
    found = json.loads(said)
    assert (code, found["id"], found["state"]) == (0, "c-1", "awaiting_approval")
    assert [question["id"] for question in found["questions"]] == ["c-1:approve-plan"]
    assert [row["sentence"] for row in found["waiting"]] == [AWAY]


def test_one_that_cannot_be_looked_at_is_accepted_nevertheless(hub: StubHub) -> None:
    code, said = starloom(hub, "submit", "how are my machines", "--json")
    assert (code, json.loads(said)["state"]) == (0, "active")


def test_a_token_that_may_not_read_is_told_the_way_to_its_answer(hub: StubHub) -> None:
    hub.answers["GET", "/constellations/c-1/why"] = (403, {"code": "forbidden", "title": "Not allowed"})
    code, said = starloom(hub, "submit", "how are my machines")
    assert (code, "starloom watch" in said, "--wait" in said) == (0, False, True)
    stands(hub, "active", [], [])
    code, said = starloom(hub, "submit", "how are my machines")
    assert (code, typed("starloom watch") in said, "--wait" in said) == (0, True, False)
