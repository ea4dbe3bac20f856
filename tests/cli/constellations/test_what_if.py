"""`what-if` on a hub that answers as told: both fleets, the chance, and a question without a change."""

from __future__ import annotations

from pathlib import Path

from tests.cli.test_commands import StubHub, starloom

COURSE = {"expected_ms": 40_400, "low_ms": 25_100, "high_ms": 59_000, "chance": 0.9, "plays": 200}


def test_both_fleets_stand_beside_each_other(hub: StubHub, tmp_path: Path) -> None:
    file = tmp_path / "plan.yaml"
    file.write_text("starloom: 1\n", encoding="utf-8")
    hub.answers["POST", "/what-if"] = (
        200,
        {
            "name": "x",
            "plan_hash": "h",
            "change": "Without srv-a",
            "within_ms": 60_000,
            "now": COURSE,
            "then": {**COURSE, "expected_ms": 90_000, "high_ms": 200_000, "chance": 0.1},
            "said": "Without srv-a, the plan takes about 123% longer.",
        },
    )
    code, said = starloom(hub, "what-if", str(file), "--without", "srv-a", "--within", "1m")
    assert (code, said.splitlines()) == (
        0,
        [
            "Now: about 40 s (25-59); within 1 min 0 s with 90%",
            "Without srv-a: about 1 min 30 s (25.1 s to 3 min 20 s); within 1 min 0 s with 10%",
            "Without srv-a, the plan takes about 123% longer.",
        ],
    )


def test_a_question_without_a_change_is_refused(hub: StubHub, tmp_path: Path) -> None:
    code, said = starloom(hub, "what-if", str(tmp_path / "plan.yaml"))
    assert code == 2
    assert "there is no change to ask about" in said
    code, said = starloom(hub, "what-if", "c-x", "--words", "how are my machines", "--without", "a")
    assert code == 2
    assert "only one of them" in said


AT_MS = 1_790_000_000_000
TASK = {"task": "a", "device": "d1", "begin_ms": AT_MS, "end_ms": AT_MS + 40_000}
REST = {
    "end_ms": AT_MS + 40_000,
    "low_ms": AT_MS + 30_000,
    "high_ms": AT_MS + 60_000,
    "chance": 0.9,
    "plays": 200,
    "tasks": [TASK],
    "more": 0,
}
RUN = {
    "id": "c-x",
    "seq": 7,
    "at_ms": AT_MS,
    "change": "Without srv-a",
    "by_ms": AT_MS + 90_000,
    "now": REST,
    "then": {**REST, "end_ms": AT_MS + 80_000, "chance": 0.5, "tasks": [{**TASK, "device": "d2"}]},
    "said": "Without srv-a, it should end about 40 s later.",
}


def test_a_running_constellation_is_asked_about_by_its_id(hub: StubHub) -> None:
    hub.answers["POST", "/constellations/c-x/what-if"] = 200, RUN
    hub.answers["GET", "/devices"] = 200, {"items": [{"id": "d1", "name": "srv-a"}, {"id": "d2", "name": "srv-b"}]}
    code, said = starloom(hub, "what-if", "c-x", "--without", "srv-a")
    assert (code, said.splitlines()) == (
        0,
        [
            "Now: ends in about 40.0 s (30.0 s to 1 min 0 s); within 1 min 30 s with 90%",
            "Without srv-a: ends in about 1 min 20 s (30.0 s to 1 min 0 s); within 1 min 30 s with 50%",
            "Without srv-a, it should end about 40 s later.",
            "  a: on srv-b instead of srv-a",
        ],
    )
    (body,) = (body for method, _path, body in hub.asked if method == "POST")
    assert body == {"without": ["srv-a"], "with_copy_of": []}


def test_a_running_constellation_is_asked_about_as_it_is(hub: StubHub) -> None:
    hub.answers["GET", "/constellations/c-x/what-if"] = 200, {**RUN, "change": "", "then": None, "said": "It goes on."}
    hub.answers["GET", "/devices"] = 200, {"items": []}
    code, said = starloom(hub, "what-if", "c-x")
    assert (code, said.splitlines()) == (
        0,
        ["Now: ends in about 40.0 s (30.0 s to 1 min 0 s); within 1 min 30 s with 90%", "It goes on."],
    )


def test_without_an_id_the_newest_is_meant(hub: StubHub) -> None:
    rows = [{"id": "c-s-1", "name": "nightly", "schedule": "s-1"}, {"id": "c-x", "name": "copy", "schedule": None}]
    hub.answers["GET", "/constellations"] = 200, {"items": rows}
    hub.answers["GET", "/constellations/c-x/what-if"] = 200, {**RUN, "change": "", "then": None, "said": "It goes on."}
    hub.answers["GET", "/devices"] = 200, {"items": []}
    code, said = starloom(hub, "what-if")
    assert code == 0
    assert said.splitlines()[-1] == "It goes on."


def test_a_constellation_is_meant_by_its_name(hub: StubHub) -> None:
    rows = [
        {"id": "c-new", "name": "Copy photos", "state": "succeeded"},
        {"id": "c-x", "name": "Copy photos", "state": "active"},
        {"id": "c-other", "name": "Copy photos again", "state": "active"},
    ]
    hub.answers["GET", "/constellations"] = 200, {"items": rows}
    hub.answers["POST", "/constellations/c-x/what-if"] = 200, RUN
    hub.answers["GET", "/devices"] = 200, {"items": []}
    code, said = starloom(hub, "what-if", "copy photos", "--without", "srv-a")
    assert code == 0
    assert "Without srv-a, it should end about 40 s later." in said


def test_an_edit_belongs_to_a_constellation(hub: StubHub, tmp_path: Path) -> None:
    file = tmp_path / "plan.yaml"
    file.write_text("starloom: 1\n", encoding="utf-8")
    code, said = starloom(hub, "what-if", str(file), "--edit", str(file))
    assert code == 2
    assert "--edit belongs to a constellation" in said


def test_a_word_that_is_neither_a_plan_nor_a_constellation_is_refused(hub: StubHub) -> None:
    hub.answers["GET", "/constellations"] = 200, {"items": [], "next": None}
    code, said = starloom(hub, "what-if", "plann", "--without", "srv-a")
    assert (code, "there is no file plann here, and no constellation of that name" in said) == (2, True)
