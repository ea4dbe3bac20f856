"""Work that is started from a terminal: `--wait` with a token that may not read it, and a plan that is no YAML."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from starloom.client.exits import Exit
from starloom.client.problems import Problem
from starloom.client.watching import OUTAGE_S, ended_or_stuck, outcome_unread
from starloom_protocol.plan import DocumentRefused, read_document
from starloom_protocol.records.entities import Head, Question
from starloom_protocol.stream.feed import encode_event
from starloom_protocol.text.wording import place_words
from starloom_protocol.vocabulary import Attention, ConstellationState
from tests.cli.events import CONSTELLATION, Log
from tests.cli.test_commands import StubHub, hub, starloom

__all__ = ["hub"]
READ = ("GET", "/constellations/c-1/events")
CREATE = ("POST", "/constellations")
FORBIDDEN = {"code": "forbidden", "title": "Not allowed", "reason": "your token lacks the scope read", "hint": ""}
ANSWER = {"state": "final", "sentence": "Two machines are well.", "items": []}


def unreadable(hub: StubHub, state: str, **more: Any) -> None:
    hub.answers[READ] = (403, FORBIDDEN)
    hub.answers[CREATE] = (202, {"id": "c-1", "state": state, "version": 1, **more})


@pytest.mark.parametrize(
    ("state", "code"), [("succeeded", 0), ("failed", 1), ("partial", 3), ("cancelled", 6)], ids=lambda one: str(one)
)
@pytest.mark.parametrize("words", [("submit", "-r", "look"), ("recipe", "run", "look")], ids=lambda one: one[0])
def test_who_may_not_read_waits_by_the_creating_request(
    hub: StubHub, words: tuple[str, ...], state: str, code: int
) -> None:
    unreadable(hub, state, answer=ANSWER)
    ended, said = starloom(hub, *words, "--wait")
    assert (ended, "Two machines are well." in said) == (code, True), said
    posts = [body for method, path, body in hub.asked if (method, path) == CREATE]
    assert len(posts) == 2
    assert posts[0] == posts[1]
    assert len({key for key in hub.keys if key}) == 1
    assert any("wait_s=20" in url for url in hub.urls)


def test_who_may_not_read_hears_that_a_person_is_needed(hub: StubHub) -> None:
    unreadable(hub, "awaiting_approval", attention=["question_open"], running=0)
    code, said = starloom(hub, "submit", "-r", "look", "--wait")
    assert code == 4
    assert "c-1 needs a person (question open); this token may not read it." in said
    code, said = starloom(hub, "submit", "-r", "look", "--wait", "--json")
    assert (code, json.loads(said)["id"]) == (4, "c-1")


class Answers:
    """A client whose creating requests are answered in order."""

    def __init__(self, *answers: Any) -> None:
        self.left = list(answers)
        self.at = 0.0

    def create(self, _call: Any, _body: Any, *, wait_s: float = 0, key: str | None = None) -> Any:
        assert key == "k"
        self.at += wait_s
        found = self.left.pop(0)
        if isinstance(found, Problem):
            raise found
        return {"id": "c-1", "version": 1, **found}

    def pause(self, pause_s: float) -> None:
        self.at += pause_s


def away(code: str = "hub_unreachable", exits: Exit = Exit.UNREACHABLE) -> Problem:
    return Problem(code, "away", "", "", exits)


def test_the_wait_goes_on_while_tasks_run_or_the_hub_is_away() -> None:
    asked = {"state": "active", "attention": ["question_open"], "running": 0}
    source = Answers(
        {"state": "planning"},
        asked | {"running": 2},
        asked,
        away(),
        {"state": "active", "attention": ["takes_long"], "running": 0},
        away("rate_limited", Exit.FAILED),
        asked,
        asked,
    )
    assert outcome_unread(ended_or_stuck(source, {}, "k", now=lambda: source.at)) is Exit.ATTENTION
    assert source.left == []


def test_a_hub_that_stays_away_ends_the_wait_as_unreachable() -> None:
    source = Answers(*[away() for _ in range(100)])
    with pytest.raises(Problem) as ended:
        ended_or_stuck(source, {}, "k", now=lambda: source.at)
    assert ended.value.exit_code is Exit.UNREACHABLE
    assert source.at >= OUTAGE_S


def test_the_path_of_a_plan_is_no_request_in_words(hub: StubHub, tmp_path: Path) -> None:
    plan = tmp_path / "my plan.yaml"
    plan.write_text("starloom: 1\n", encoding="utf-8")
    code, said = starloom(hub, "submit", str(plan))
    assert (code, hub.asked) == (2, [])
    assert f"submit -f '{plan}'" in said
    starloom(hub, "submit", "what is in plan.yaml")
    assert hub.asked


@pytest.mark.parametrize("approves", [True, False])
def test_a_watch_names_commands_only_to_who_may_answer(hub: StubHub, approves: bool) -> None:
    log = Log()
    asked = Question(id="q-1", kind="person", opened_ms=1, text="Really?", task="ask")
    stuck = [Attention.QUESTION_OPEN]
    head = Head(author="person:me", created_ms=1, id="c-1", name="x", state=ConstellationState.ACTIVE, attention=stuck)
    log.add("asked", head=head, question__q=asked)
    path = f"/constellations/{CONSTELLATION}"
    events = [json.loads(encode_event(event)) for event in log.events(CONSTELLATION, 0)]
    hub.answers["GET", f"{path}/events"] = (200, {"items": events})
    hub.answers["GET", "/devices"] = (200, {"items": []})
    hub.answers["GET", "/session"] = (200, {"role": "owner", "scopes": [], "approves": approves})
    for command in ("watch", "show"):
        _, said = starloom(hub, command, CONSTELLATION)
        assert "Really?" in said
        told = " ".join(said.split())
        assert ("starloom approve" in told, "your sign-in or token may not" in told) == (approves, not approves)


def test_a_text_that_is_no_yaml_is_refused_with_its_line(hub: StubHub, tmp_path: Path) -> None:
    (tmp_path / "plan.yaml").write_text("starloom: 1\ntasks: [\n")
    with pytest.raises(DocumentRefused) as refused:
        read_document((tmp_path / "plan.yaml").read_text())
    fault = refused.value.fault
    assert fault.place == "line 3, column 1"
    faults = [{"place": fault.place, "where": place_words(fault.place), "code": fault.code, "reason": fault.reason}]
    refusal = {"code": fault.code, "title": "The plan has faults", "reason": fault.reason, "errors": faults}
    hub.answers["POST", "/constellations"] = (422, refusal)
    code, said = starloom(hub, "submit", "-f", str(tmp_path / "plan.yaml"))
    assert code == 2
    assert said.splitlines()[1] == f"  {fault.place}"


def test_a_list_of_a_device_that_nobody_has_is_refused(hub: StubHub) -> None:
    hub.answers["GET", "/constellations"] = (200, {"items": [], "next": None})
    hub.answers["GET", "/devices"] = (200, {"items": [{"id": "d-1", "name": "nas"}]})
    status, said = starloom(hub, "ls", "--device", "nsa")
    assert status == 2
    assert said == "This cannot be done as written: no device is called nsa\nThe way out: Did you mean nas?\n"
    assert starloom(hub, "ls", "--device", "quite-another")[1].endswith("starloom devices`.\n")
    assert starloom(hub, "ls", "--device", "nas") == (0, "No such constellation.\n")
